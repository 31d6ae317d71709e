package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// products is the store of products. The table product holds the values of the default
// scope. Added attributes, values of store views, and price lists are read after
// the products, by one statement, or together with a single product (productparts.go).
type products struct {
	*recordStore
	groupPrice, tierPrice, rulePrice, image, inCategory, stockItem int // schema indexes
	stockFlags                                                     []int
	listingTable                                                   *engine.Table

	stock *recordStore
}

func newProducts(own, stock *recordStore) products {
	t := own.Table
	s := products{recordStore: own, listingTable: newListingTable(t), stock: stock}
	s.groupPrice, _ = t.Schema.Index("group_price")
	s.tierPrice, _ = t.Schema.Index("tier_price")
	s.rulePrice, _ = t.Schema.Index("rule_price")
	s.image, _ = t.Schema.Index("image_file")
	s.inCategory, _ = t.Schema.Index("category_position")
	s.stockItem, _ = t.Schema.Index("stock_item")
	for _, name := range engine.StockFlagColumns() {
		at, _ := t.Schema.Index(engine.StockPrefix + name)
		s.stockFlags = append(s.stockFlags, at)
	}
	return s
}

// recordParts are the on-demand attributes that a call asks for.
type recordParts struct {
	groupPrices, tierPrices, rulePrices, image, pointers, stockFlags, StockItem bool
	// inlined receives the parts of one product from its own statement; nil: AddParts runs a parts statement.
	inlined *engine.Inlined
}

// prices reports whether any price list is asked for.
func (w *recordParts) prices() bool { return w.groupPrices || w.tierPrices || w.rulePrices }

// RequestedParts returns the on-demand attributes that a query or with names. It fails with
// kind Unsupported for an attribute that products do not have.
func (s products) RequestedParts(q *adapter.Query, with []string) (recordParts, error) {
	var w recordParts
	for _, name := range append(engine.QueriedAttributes(q), with...) {
		at, ok := s.Table.Schema.Index(name)
		if !ok {
			return w, &adapter.Error{Kind: adapter.Unsupported, Op: "query products", Field: name}
		}
		w.groupPrices = w.groupPrices || at == s.groupPrice
		w.tierPrices = w.tierPrices || at == s.tierPrice
		w.rulePrices = w.rulePrices || at == s.rulePrice
		w.image = w.image || at == s.image
		w.pointers = w.pointers || s.Table.Columns[at].Late
		w.stockFlags = w.stockFlags || slices.Contains(s.stockFlags, at)
		w.StockItem = w.StockItem || at == s.stockItem
	}
	return w, nil
}

// scopedTable returns the table as p sees it: the columns of the attributes that its query
// names are expressions for the value of the store view, or of the default scope if it has
// none. nulls is an expression for the combined list of nulls. It adds the necessary joins
// to sb.
func (s products) scopedTable(sb *sqlbuilder.SelectBuilder, p *productList) (scoped *engine.Table, nulls string) {
	nulls = s.Table.Name + ".nulls"
	added := s.Table.WithAdded(s.db.Engine, sb, &p.Query)
	if p.StoreID == 0 && !p.inCategory {
		return added, nulls
	}
	t := *added
	t.Columns = slices.Clone(added.Columns)
	if p.inCategory {
		t.Columns[s.inCategory].Name = categoryPosition
	}
	if p.StoreID == 0 {
		return &t, nulls
	}
	lists := []string{nulls}
	for _, name := range engine.QueriedAttributes(&p.Query) {
		at, ok := t.Schema.Index(name)
		if !ok || !hasLevels(&t.Schema.Attributes[at]) || t.Columns[at].Name == "" {
			continue
		}
		reads := p.Reads(&t.Schema.Attributes[at])
		if reads == adapter.ReadsNone {
			continue
		}
		own := "own_" + strconv.Itoa(at)
		sb.JoinWithOption(sqlbuilder.LeftJoin, "product_value AS "+own,
			own+".product_id = "+t.KeyColumn(), own+".attribute = "+sb.Var(name), own+".store_id = "+sb.Var(p.StoreID))
		c := &t.Columns[at]
		inherited := own + ".product_id IS NULL"
		if reads == adapter.ReadsOverrides {
			inherited += " OR " + s.neverStored(c, name)
		}
		if c.Null == "" {
			c.Null = c.Name + " IS NULL AND " + s.db.Engine.ListedAsNull(sb, nulls, name)
		}
		either := func(mine, theirs string) string {
			return "CASE WHEN " + inherited + " THEN " + theirs + " ELSE " + mine + " END"
		}
		c.Null = either(own+".value IS NULL", c.Null)
		if c.Folded != "" {
			c.Folded = either(own+".value_folded", c.Folded)
		}
		c.Name = either(s.db.Engine.Cast(own+".value", t.Schema.Attributes[at].Kind), c.Name)
		lists = append(lists, either("',"+name+",'", "''")) // counts only where the value is NULL
	}
	if len(lists) == 1 {
		return &t, nulls
	}
	return &t, "CONCAT(" + strings.Join(lists, ", ") + ")"
}

// neverStored returns the condition that the default scope has no value of an attribute, not
// even null. It has no arguments, because it becomes part of a column expression.
func (s products) neverStored(c *engine.Column, attribute string) string {
	if c.Null != "" {
		return c.Name + " IS NULL AND NOT (" + c.Null + ")"
	}
	return c.Name + " IS NULL AND " + fmt.Sprintf(s.db.Engine.LikeFormat, s.Table.Name+".nulls", "NOT ", "'"+engine.InNulls(attribute)+"'")
}

// hasLevels reports whether products may have values of an attribute at store views.
func hasLevels(a *adapter.Attribute) bool { return !a.Static && !a.OnDemand }

const categoryPosition = "product_category.position"

// selectProducts adds the columns to read to the statement and returns the schema
// indexes of their attributes. t and nulls are results of scopedTable.
func (s products) selectProducts(sb *sqlbuilder.SelectBuilder, t *engine.Table, nulls string, wanted recordParts, p *productList) (indexes []int) {
	indexes = s.Table.RequestedIndexes(s.allIndexes, p.Only, &p.Query)
	columns := make([]string, 0, len(indexes)+3)
	for _, a := range indexes {
		columns = append(columns, t.Columns[a].Name)
	}
	if wanted.image {
		indexes, columns = append(slices.Clip(indexes), s.image), append(columns, imageFile(sb, p.ListParams))
	}
	if p.inCategory {
		indexes, columns = append(slices.Clip(indexes), s.inCategory), append(columns, categoryPosition)
	}
	if wanted.stockFlags {
		sb.JoinWithOption(sqlbuilder.LeftJoin, "stock_item", "stock_item.product_id = "+s.Table.KeyColumn())
		indexes = append(slices.Clip(indexes), s.stockFlags...)
		for _, name := range engine.StockFlagColumns() {
			columns = append(columns, "stock_item."+name)
		}
	}
	sb.Select(append(columns, nulls)...)
	return indexes
}

// rowReader returns a function that reads with sc the rows of a statement of
// selectProducts, which returned indexes.
func (s products) rowReader(sc *engine.Scanner, indexes []int) func(engine.Rows) (adapter.Record, error) {
	sc.SetColumns(s.Table, indexes)
	return func(rows engine.Rows) (adapter.Record, error) { return sc.Record(s.Table.Schema, rows) }
}

// imageFile returns an expression for the file of the image to which the type image points.
// A pointer to no image at the store view hides the pointer of the default scope.
func imageFile(sb *sqlbuilder.SelectBuilder, p *adapter.ListParams) string {
	return "(SELECT product_image.file FROM product_image_pointer LEFT JOIN product_image ON product_image.id = product_image_pointer.image_id" +
		" WHERE product_image_pointer.product_id = product.entity_id AND product_image_pointer.type = 'image'" +
		" AND product_image_pointer.store_id IN (0, " + sb.Var(imageLevel(p)) + ") ORDER BY product_image_pointer.store_id DESC LIMIT 1)"
}

// imageLevel returns the scope of imageFile.
func imageLevel(p *adapter.ListParams) int64 {
	if p.WebsiteScope {
		return 0
	}
	return p.StoreID
}

// partsBatch is the number of products whose parts one statement reads. Each of its up to
// five branches has all their ids as arguments.
const partsBatch = 128

var errPart = errors.New("the statement returned a row of another product")

// newListingTable returns a table with the only column that product_listing can provide for
// t: the key.
func newListingTable(t *engine.Table) *engine.Table {
	ids := *t
	ids.Columns, ids.Nulls = make([]engine.Column, len(t.Columns)), false
	ids.Column(t.Schema.Key).Name = listingProductID
	return &ids
}
