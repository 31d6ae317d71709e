package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// products is the store of products. The table product holds the values of the
// default scope; those of store views, and the prices of groups and quantities,
// are read after the products, all in one statement (productparts.go).
type products struct {
	readOnly
	// scanners read what selectProducts selects.
	scanners                                 *sync.Pool
	groupPrice, tierPrice, image, inCategory int // places in the schema
}

func newProducts(db *DB) products {
	t := db.table(adapter.Products)
	s := products{readOnly: readOnly{newStore(db, t)}}
	s.groupPrice, _ = t.schema.Index("group_price")
	s.tierPrice, _ = t.schema.Index("tier_price")
	s.image, _ = t.schema.Index("image_file")
	s.inCategory, _ = t.schema.Index("category_position")
	s.scanners = newScanners(t, append(t.places(true), s.image, s.inCategory))
	return s
}

// List returns the products a query selects.
func (s products) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	if p.OwnerID != 0 {
		_, err := s.owner("list")
		return nil, err
	}
	sb := s.db.engine.flavor.NewSelectBuilder()
	wanted, err := s.wanted(&p.Query, p.With)
	if err != nil {
		return nil, err
	}
	t := s.scoped(sb, p)
	selected, err := selectRecords(s.db.engine, sb, t, &p.Query)
	if err != nil {
		return nil, err
	}
	sb.From(t.name).Where(selected.where...)
	keepTo(sb, &p.Products)
	if p.Count && !selected.partial {
		return s.count(ctx, sb.Select("COUNT(*)"))
	}
	if !selected.partial {
		sb.OrderBy(selected.order...)
		cut(sb, &p.Query)
	}
	records, err := s.read(ctx, sb, wanted, p)
	if err != nil {
		return nil, s.db.fault(ctx, "list products", err)
	}
	return &adapter.ListResult{Records: records, Partial: selected.partial}, nil
}

// Get returns one product.
func (s products) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	op := fmt.Sprintf("get products %d", p.Key)
	wanted, err := s.wanted(&adapter.Query{}, p.With)
	if err != nil {
		return adapter.Record{}, err
	}
	sb := s.db.engine.flavor.NewSelectBuilder()
	sb.From(s.table.name).Where(sb.Equal(s.table.key(), int64(p.Key)))
	keepTo(sb, &p.Products)
	records, err := s.read(ctx, sb, wanted, &adapter.ListParams{StoreID: p.StoreID, Products: p.Products})
	if err == nil && (len(records) == 0 || p.OwnerID != 0) {
		err = sql.ErrNoRows
	}
	if err != nil {
		return adapter.Record{}, s.db.fault(ctx, op, err)
	}
	return records[0], nil
}

// wantedParts says which attributes on demand the records get.
type wantedParts struct{ groupPrices, tierPrices, image bool }

// wanted returns the attributes on demand that a query or with names. It fails
// with kind Unsupported for an attribute products do not have.
func (s products) wanted(q *adapter.Query, with []string) (wantedParts, error) {
	var w wantedParts
	for _, name := range append(named(q), with...) {
		at, ok := s.table.schema.Index(name)
		if !ok {
			return w, &adapter.Error{Kind: adapter.Unsupported, Op: "query products", Field: name}
		}
		w.groupPrices = w.groupPrices || at == s.groupPrice
		w.tierPrices = w.tierPrices || at == s.tierPrice
		w.image = w.image || at == s.image
	}
	return w, nil
}

// named returns the attributes q names.
func named(q *adapter.Query) []string {
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

// scoped returns the table as p sees it: the columns of attributes its query names
// stand for the value of the store view, or else that of the default scope. It
// joins to sb what they need.
func (s products) scoped(sb *sqlbuilder.SelectBuilder, p *adapter.ListParams) *table {
	if p.StoreID == 0 && p.Products.CategoryID == 0 {
		return s.table
	}
	t := *s.table
	t.columns = slices.Clone(s.table.columns)
	if p.Products.CategoryID != 0 {
		t.columns[s.inCategory].name = categoryPosition
	}
	if p.StoreID == 0 {
		return &t
	}
	for _, name := range named(&p.Query) {
		at, ok := t.schema.Index(name)
		if !ok || !reaches(&t.schema.Attributes[at], p) {
			continue
		}
		own := "own_" + name
		sb.JoinWithOption(sqlbuilder.LeftJoin, "product_value AS "+own,
			own+".product_id = "+t.key(), own+".attribute = "+sb.Var(name), own+".store_id = "+sb.Var(p.StoreID))
		c := &t.columns[at]
		either := func(mine, theirs string) string {
			return "CASE WHEN " + own + ".product_id IS NULL THEN " + theirs + " ELSE " + mine + " END"
		}
		c.null = either(own+".value IS NULL", c.name+" IS NULL AND "+s.db.engine.listed(sb, t.name+".nulls", name))
		if c.folded != "" {
			c.folded = either(own+".value_folded", c.folded)
		}
		c.name = either(s.db.engine.read(own+".value", t.schema.Attributes[at].Kind), c.name)
	}
	return &t
}

// reaches reports whether values of a at the store view of p count.
func reaches(a *adapter.Attribute, p *adapter.ListParams) bool {
	return a.Scope == adapter.ScopeWebsite || a.Scope == adapter.ScopeStore && !p.Products.WebsiteScope
}

const categoryPosition = "product_category.position"

// keepTo adds the bounds of p to the statement.
func keepTo(sb *sqlbuilder.SelectBuilder, p *adapter.ProductParams) {
	if p.CategoryID != 0 {
		sb.Join("product_category", "product_category.product_id = product.entity_id", sb.Equal("product_category.category_id", p.CategoryID))
	}
	if p.WebsiteID == 0 {
		return
	}
	sold := "SELECT 1 FROM product_website WHERE product_website.product_id = product.entity_id"
	if p.WebsiteID != adapter.AnyWebsite {
		sold += " AND product_website.website_id = " + sb.Var(p.WebsiteID)
	}
	sb.Where("EXISTS (" + sold + ")")
}

// read runs a statement that says from where and which products, and returns
// them with their values at the scope of p.
func (s products) read(ctx context.Context, sb *sqlbuilder.SelectBuilder, wanted wantedParts, p *adapter.ListParams) ([]adapter.Record, error) {
	columns := make([]string, 0, len(s.table.columns)+1)
	for _, at := range s.table.places(true) {
		columns = append(columns, s.table.columns[at].name)
	}
	columns = append(columns, "NULL", "NULL", s.table.name+".nulls")
	if wanted.image {
		columns[len(columns)-3] = imageFile(sb, p)
	}
	if p.Products.CategoryID != 0 {
		columns[len(columns)-2] = categoryPosition
	}
	sb.Select(columns...)
	records, err := s.records(ctx, sb, s.scanners)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return records, s.addParts(ctx, records, wanted, p)
}

// imageFile returns an expression for the file of the image that the type image
// points to. A pointer to nothing at the store view hides the default scope's.
func imageFile(sb *sqlbuilder.SelectBuilder, p *adapter.ListParams) string {
	level := p.StoreID
	if p.Products.WebsiteScope {
		level = 0
	}
	return "(SELECT product_image.file FROM product_image_pointer LEFT JOIN product_image ON product_image.id = product_image_pointer.image_id" +
		" WHERE product_image_pointer.product_id = product.entity_id AND product_image_pointer.type = 'image'" +
		" AND product_image_pointer.store_id IN (0, " + sb.Var(level) + ") ORDER BY product_image_pointer.store_id DESC LIMIT 1)"
}
