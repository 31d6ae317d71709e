package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// products is the store of products. The table product holds the values of the default
// scope. Added attributes, values of store views, and price lists are read after
// the products, by one statement (productparts.go).
type products struct {
	*store
	groupPrice, tierPrice, rulePrice, image, inCategory, stockItem int // schema indexes
	stockFlags                                                     []int
	listingTable                                                   *table
	partsStatements                                                *sync.Map // statements by partsShape
	selects                                                        *selectCache

	stock *store
}

func newProducts(own, stock *store) products {
	t := own.table
	s := products{store: own, partsStatements: new(sync.Map), selects: newSelectCache(), listingTable: newListingTable(t), stock: stock}
	s.groupPrice, _ = t.schema.Index("group_price")
	s.tierPrice, _ = t.schema.Index("tier_price")
	s.rulePrice, _ = t.schema.Index("rule_price")
	s.image, _ = t.schema.Index("image_file")
	s.inCategory, _ = t.schema.Index("category_position")
	s.stockItem, _ = t.schema.Index("stock_item")
	for _, name := range stockFlagColumns() {
		at, _ := t.schema.Index(stockPrefix + name)
		s.stockFlags = append(s.stockFlags, at)
	}
	return s
}

// stockFlagColumns lists the columns of stock items that products show as on-demand
// attributes, whose names begin with stockPrefix.
func stockFlagColumns() []string {
	return []string{"is_in_stock", "manage_stock", "use_config_manage_stock"}
}

const stockPrefix = "stock_"

// List returns the products that a query selects.
func (s products) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	if p.OwnerID != 0 {
		_, err := s.ownerColumn("list")
		return nil, err
	}
	list, err := s.newProductList(p)
	if err != nil {
		return nil, err
	}
	wanted, err := s.requestedParts(&p.Query, p.With)
	if err != nil {
		return nil, err
	}
	if found, ok, err := s.listFromListing(ctx, &list, wanted); ok || err != nil {
		return found, err
	}
	sb := s.db.engine.flavor.NewSelectBuilder()
	t, nulls := s.scopedTable(sb, &list)
	selected, err := selectRecords(s.db.engine, sb, t, &p.Query)
	if err != nil {
		return nil, err
	}
	sb.From(t.name).Where(selected.where...)
	list.restrict(sb)
	sc := s.scannerPool.Get().(*scanner)
	defer s.putScanner(sc)
	found, err := s.find(ctx, sb, selected, p, s.rowReader(sc, s.selectProducts(sb, t, nulls, wanted, &list)))
	if err != nil {
		return nil, err
	}
	if err := s.addParts(ctx, s.db.readStatements.query, found.Records, wanted, p); err != nil {
		return nil, s.db.wrapError(ctx, "list products", err)
	}
	return found, nil
}

// Get returns one product.
func (s products) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	op := fmt.Sprintf("get products %d", p.Key)
	wanted, err := s.requestedParts(&adapter.Query{}, p.With)
	if err != nil {
		return adapter.Record{}, err
	}
	list, err := s.newProductList(&adapter.ListParams{StoreID: p.StoreID, WebsiteScope: p.WebsiteScope, Filters: p.Filters, Only: p.Only})
	if err != nil {
		return adapter.Record{}, err
	}
	text, arguments, indexes := s.getStatement(p.Key, &list, wanted)
	sc := s.scannerPool.Get().(*scanner)
	defer s.putScanner(sc)
	var found postFilter
	err = s.eachRecordOf(ctx, s.db.readStatements.query, text, arguments, s.rowReader(sc, indexes), found.add)
	if err == nil && (len(found.records) == 0 || p.OwnerID != 0) {
		err = sql.ErrNoRows
	}
	if err == nil {
		err = s.addParts(ctx, s.db.readStatements.query, found.records, wanted, list.ListParams)
	}
	if err != nil {
		return adapter.Record{}, s.db.wrapError(ctx, op, err)
	}
	return found.records[0], nil
}

// requestedParts says which on-demand attributes a call asks for.
type requestedParts struct{ groupPrices, tierPrices, rulePrices, image, pointers, stockFlags, stockItem bool }

// prices reports whether any price list is asked for.
func (w *requestedParts) prices() bool { return w.groupPrices || w.tierPrices || w.rulePrices }

// requestedParts returns the on-demand attributes that a query or with names. It fails
// with kind Unsupported for an attribute that products do not have.
func (s products) requestedParts(q *adapter.Query, with []string) (requestedParts, error) {
	var w requestedParts
	for _, name := range append(queriedAttributes(q), with...) {
		at, ok := s.table.schema.Index(name)
		if !ok {
			return w, &adapter.Error{Kind: adapter.Unsupported, Op: "query products", Field: name}
		}
		w.groupPrices = w.groupPrices || at == s.groupPrice
		w.tierPrices = w.tierPrices || at == s.tierPrice
		w.rulePrices = w.rulePrices || at == s.rulePrice
		w.image = w.image || at == s.image
		w.pointers = w.pointers || s.table.columns[at].late
		w.stockFlags = w.stockFlags || slices.Contains(s.stockFlags, at)
		w.stockItem = w.stockItem || at == s.stockItem
	}
	return w, nil
}

// queriedAttributes returns the attributes that q names.
func queriedAttributes(q *adapter.Query) []string {
	var names []string
	if q.OrderBy != "" {
		names = append(names, q.OrderBy)
	}
	for _, condition := range q.Where {
		for _, test := range condition.Any {
			if !slices.Contains(names, test.Attribute) {
				names = append(names, test.Attribute)
			}
		}
	}
	return names
}

// scopedTable returns the table as p sees it: the columns of the attributes that its
// query names are expressions for the value of the store view or else that of the
// default scope. nulls is an expression for the combined list of nulls. It adds the
// necessary joins to sb.
func (s products) scopedTable(sb *sqlbuilder.SelectBuilder, p *productList) (scoped *table, nulls string) {
	nulls = s.table.name + ".nulls"
	added := s.table.withAdded(s.db.engine, sb, &p.Query)
	if p.StoreID == 0 && !p.inCategory {
		return added, nulls
	}
	t := *added
	t.columns = slices.Clone(added.columns)
	if p.inCategory {
		t.columns[s.inCategory].name = categoryPosition
	}
	if p.StoreID == 0 {
		return &t, nulls
	}
	lists := []string{nulls}
	for _, name := range queriedAttributes(&p.Query) {
		at, ok := t.schema.Index(name)
		if !ok || !inScope(&t.schema.Attributes[at], p.ListParams) || t.columns[at].name == "" {
			continue
		}
		own := "own_" + strconv.Itoa(at)
		sb.JoinWithOption(sqlbuilder.LeftJoin, "product_value AS "+own,
			own+".product_id = "+t.keyColumn(), own+".attribute = "+sb.Var(name), own+".store_id = "+sb.Var(p.StoreID))
		c := &t.columns[at]
		inherited := own + ".product_id IS NULL"
		if p.OverridesOnly {
			inherited += " OR " + s.neverStored(c, name)
		}
		if c.null == "" {
			c.null = c.name + " IS NULL AND " + s.db.engine.listedAsNull(sb, nulls, name)
		}
		either := func(mine, theirs string) string {
			return "CASE WHEN " + inherited + " THEN " + theirs + " ELSE " + mine + " END"
		}
		c.null = either(own+".value IS NULL", c.null)
		if c.folded != "" {
			c.folded = either(own+".value_folded", c.folded)
		}
		c.name = either(s.db.engine.cast(own+".value", t.schema.Attributes[at].Kind), c.name)
		lists = append(lists, either("',"+name+",'", "''")) // counts only where the value is NULL
	}
	if len(lists) == 1 {
		return &t, nulls
	}
	return &t, "CONCAT(" + strings.Join(lists, ", ") + ")"
}

// neverStored returns the condition that the default scope has no value of an attribute, not
// even null. It has no arguments, as a part of what takes the place of a column.
func (s products) neverStored(c *column, attribute string) string {
	if c.null != "" {
		return c.name + " IS NULL AND NOT (" + c.null + ")"
	}
	return c.name + " IS NULL AND " + fmt.Sprintf(s.db.engine.likeFormat, s.table.name+".nulls", "NOT ", "'"+inNulls(attribute)+"'")
}

// inScope reports whether p, a list at a store view, shows the value of a that the store
// view may have.
func inScope(a *adapter.Attribute, p *adapter.ListParams) bool {
	return !a.Static && !a.OnDemand && (a.Scope == adapter.ScopeWebsite || !p.WebsiteScope)
}

const categoryPosition = "product_category.position"

// selectProducts adds the columns to read to the statement and returns the schema
// indexes of their attributes. t and nulls are results of scopedTable.
func (s products) selectProducts(sb *sqlbuilder.SelectBuilder, t *table, nulls string, wanted requestedParts, p *productList) (indexes []int) {
	indexes = s.table.requestedIndexes(s.allIndexes, p.Only, &p.Query)
	columns := make([]string, 0, len(indexes)+3)
	for _, a := range indexes {
		columns = append(columns, t.columns[a].name)
	}
	if wanted.image {
		indexes, columns = append(slices.Clip(indexes), s.image), append(columns, imageFile(sb, p.ListParams))
	}
	if p.inCategory {
		indexes, columns = append(slices.Clip(indexes), s.inCategory), append(columns, categoryPosition)
	}
	if wanted.stockFlags {
		sb.JoinWithOption(sqlbuilder.LeftJoin, "stock_item", "stock_item.product_id = "+s.table.keyColumn())
		indexes = append(slices.Clip(indexes), s.stockFlags...)
		for _, name := range stockFlagColumns() {
			columns = append(columns, "stock_item."+name)
		}
	}
	sb.Select(append(columns, nulls)...)
	return indexes
}

// rowReader returns a function that reads with sc the rows of a statement of
// selectProducts, which returned indexes.
func (s products) rowReader(sc *scanner, indexes []int) func(*sql.Rows) (adapter.Record, error) {
	sc.setColumns(s.table, indexes)
	return func(rows *sql.Rows) (adapter.Record, error) { return sc.record(s.table.schema, rows) }
}

// imageFile returns an expression for the file of the image to which the type image
// points. A pointer to no image at the store view hides that of the default scope.
func imageFile(sb *sqlbuilder.SelectBuilder, p *adapter.ListParams) string {
	return "(SELECT product_image.file FROM product_image_pointer LEFT JOIN product_image ON product_image.id = product_image_pointer.image_id" +
		" WHERE product_image_pointer.product_id = product.entity_id AND product_image_pointer.type = 'image'" +
		" AND product_image_pointer.store_id IN (0, " + sb.Var(imageLevel(p)) + ") ORDER BY product_image_pointer.store_id DESC LIMIT 1)"
}

// imageLevel returns the level of imageFile.
func imageLevel(p *adapter.ListParams) int64 {
	if p.WebsiteScope {
		return 0
	}
	return p.StoreID
}
