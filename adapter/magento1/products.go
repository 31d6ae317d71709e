package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
)

func productTable() flatTable {
	return flatTable{
		part: Products, resource: adapter.Products, table: "catalog_product_entity", keyColumn: "entity_id",
		fallbacks: map[string]adapter.Value{"created_at": {}, "updated_at": {}},
	}
}

// maxRequestPath is the number of characters of a rewritten address that are read.
const maxRequestPath = 255

// A productReader reads products of all types with their assignments to websites and categories,
// and with their overrides for store views: the values stored there, the number of reviews where it
// differs from the default scope's number, and the stock status of the store view's website.
type productReader struct {
	entityReader
	tree *categoryTree
}

func (p *productReader) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	if p.tree, err = readCategoryTree(ctx, p.d.conn, tx); err != nil {
		return err
	}
	return p.entityReader.prepare(ctx, tx, productEntity(), productTable(), "price_type", "price_view")
}

func (p *productReader) next(ctx context.Context, tx *sql.Tx, w window) ([]adapter.Aggregate, int64, error) {
	read, last, err := p.entityReader.next(ctx, tx, w)
	if err != nil {
		return nil, w.after, err
	}
	if read == nil {
		return nil, w.after, p.skipOrphans(ctx, tx, w.after, w.through)
	}
	b := &productBatch{eavBatch: read, productReader: p, tx: tx, window: w.until(last)}
	for i := range b.aggregates {
		b.aggregates[i].PartsOf = []adapter.Resource{adapter.ProductWebsites, adapter.ProductCategories}
	}
	for _, step := range []func(context.Context) error{
		b.addWebsites, b.addCategories, b.setGroupPrices, b.setTierPrices, b.setRulePrices, b.setCustomOptions, b.setReviews, b.setStockStatus, b.setRequestPaths, b.setComponents, b.setPartsTaxClass, b.setFixedTaxes,
	} {
		if err := step(ctx); err != nil {
			return nil, w.after, err
		}
	}
	b.sortLevels()
	return b.aggregates, last, nil
}

// skipOrphans reports the rows of products with ids in (after, through], none of which exists.
func (p *productReader) skipOrphans(ctx context.Context, tx *sql.Tx, after, through int64) error {
	for _, of := range []struct{ table, column string }{
		{"catalog_product_website", "product_id"}, {"catalog_category_product", "product_id"}, {"catalog_product_entity_group_price", "entity_id"},
		{"catalog_product_entity_tier_price", "entity_id"}, {"catalogrule_product_price", "product_id"}, {"cataloginventory_stock_status", "product_id"},
		{"core_url_rewrite", "product_id"},
	} {
		err := p.d.conn.eachIfTable(ctx, tx, of.table, "SELECT "+of.column+" FROM "+p.d.conn.Table(of.table)+" WHERE "+between(of.column, after, through)+
			" ORDER BY "+of.column+" LIMIT "+formatID(maxOrphans), func(r row) error {
			p.d.conn.skip(Products, of.table, fmt.Sprintf("product %d", r.ID(0)), ReasonNoRecord)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A productBatch is a batch of products and the transaction that reads it.
type productBatch struct {
	*eavBatch
	*productReader
	tx     *sql.Tx
	window // of the products
}

// eachRow calls f for every row of a statement with the index of its product, whose id is
// the first column. table is one that may be missing; rows of unknown products are
// skipped.
func (b *productBatch) eachRow(ctx context.Context, table, text string, f func(i int, r row)) error {
	return b.d.conn.eachIfTable(ctx, b.tx, table, text, func(r row) error {
		if i, ok := b.index[r.ID(0)]; ok {
			f(i, r)
		} else {
			b.skip(table, fmt.Sprintf("product %d", r.ID(0)), ReasonNoRecord)
		}
		return nil
	})
}

func (b *productBatch) skip(table, key, reason string) { b.d.conn.skip(Products, table, key, reason) }

// isWebsite reports whether a website exists; if not, it skips the row.
func (b *productBatch) isWebsite(website int64, table, key string) bool {
	_, ok := b.views.viewsOf[website]
	if !ok {
		b.skip(table, fmt.Sprintf("%s, website %d", key, website), ReasonNoWebsite)
	}
	return ok
}

// addPart adds an assignment of a product.
func (b *productBatch) addPart(i int, resource adapter.Resource, values map[string]int64) {
	a := &b.aggregates[i]
	part := adapter.NewRecord(b.d.schemas.Of(resource))
	part.Set("product_id", a.Record.Get("entity_id"))
	for name, n := range values {
		part.Set(name, adapter.IntegerValue(n))
	}
	a.Parts = append(a.Parts, part)
}

func (b *productBatch) addWebsites(ctx context.Context) error {
	const table = "catalog_product_website"
	return b.eachRow(ctx, table, "SELECT product_id, website_id FROM "+b.d.conn.Table(table)+" WHERE "+b.has("product_id")+
		" ORDER BY product_id, website_id", func(i int, r row) {
		if b.isWebsite(r.ID(1), table, "product "+string(r[0])) {
			b.addPart(i, adapter.ProductWebsites, map[string]int64{"website_id": r.ID(1)})
		}
	})
}

func (b *productBatch) addCategories(ctx context.Context) error {
	const table = "catalog_category_product"
	return b.eachRow(ctx, table, "SELECT product_id, category_id, position FROM "+b.d.conn.Table(table)+" WHERE "+b.has("product_id")+
		" ORDER BY product_id, category_id", func(i int, r row) {
		if !b.tree.has(r.ID(1)) {
			b.skip(table, fmt.Sprintf("product %d, category %d", r.ID(0), r.ID(1)), ReasonNoRecord)
			return
		}
		b.addPart(i, adapter.ProductCategories, map[string]int64{"category_id": r.ID(1), "position": r.ID(2)})
	})
}

// nestedSchema returns the schema of the records of an attribute, or nil if the store has
// no such attribute.
func (b *productBatch) nestedSchema(name string) *adapter.Schema {
	schema := b.d.schemas.Of(adapter.Products)
	if at, ok := schema.Index(name); ok {
		return schema.Attributes[at].Nested
	}
	return nil
}

// A priceTable is a table of prices of products. Its columns are product, key of the entry,
// website, 1 if it is for all groups, group, and further ones.
type priceTable struct {
	table, attribute string
	columns          []string
	order            string
	entry            func(record adapter.Record, r row)
}

// setPrices sets a list of prices, also where it is empty.
func (b *productBatch) setPrices(ctx context.Context, p priceTable) error {
	nested := b.nestedSchema(p.attribute)
	if nested == nil {
		return nil
	}
	lists := make([][]adapter.Record, len(b.aggregates))
	text := "SELECT "
	for _, column := range p.columns {
		text += column + ", "
	}
	text = text[:len(text)-2] + " FROM " + b.d.conn.Table(p.table) + " WHERE " + b.has(p.columns[0]) + " ORDER BY " + p.order
	err := b.eachRow(ctx, p.table, text, func(i int, r row) {
		website, group := r.ID(2), r.ID(4)
		if website != 0 && !b.isWebsite(website, p.table, fmt.Sprintf("product %d, %s %d", r.ID(0), p.columns[1], r.ID(1))) {
			return
		}
		if r.ID(3) != 0 {
			group = adapter.AllGroupsID
		}
		entry := adapter.NewRecord(nested)
		entry.Set(nested.Key, adapter.IntegerValue(r.ID(1)))
		entry.Set("website_id", adapter.IntegerValue(website))
		entry.Set("cust_group", adapter.IntegerValue(group))
		p.entry(entry, r[5:])
		lists[i] = append(lists[i], entry)
	})
	for i, list := range lists {
		b.aggregates[i].Record.Set(p.attribute, adapter.RecordsValue(list))
	}
	return err
}

// setDecimal sets an attribute to a column that holds a number.
func (b *productBatch) setDecimal(r adapter.Record, name string, column sql.RawBytes) {
	v, _ := b.d.conn.valueOf(adapter.KindDecimal, column)
	r.Set(name, v)
}

func (b *productBatch) setGroupPrices(ctx context.Context) error {
	return b.setPrices(ctx, priceTable{
		table: "catalog_product_entity_group_price", attribute: "group_price",
		columns: []string{"entity_id", "value_id", "website_id", "all_groups", "customer_group_id", "value"}, order: "value_id",
		entry: func(entry adapter.Record, r row) { b.setDecimal(entry, "price", r[0]) },
	})
}

func (b *productBatch) setTierPrices(ctx context.Context) error {
	return b.setPrices(ctx, priceTable{
		table: "catalog_product_entity_tier_price", attribute: "tier_price",
		columns: []string{"entity_id", "value_id", "website_id", "all_groups", "customer_group_id", "value", "qty"}, order: "value_id",
		entry: func(entry adapter.Record, r row) {
			b.setDecimal(entry, "price", r[0])
			b.setDecimal(entry, "price_qty", r[1])
		},
	})
}

func (b *productBatch) setRulePrices(ctx context.Context) error {
	return b.setPrices(ctx, priceTable{
		table: "catalogrule_product_price", attribute: "rule_price",
		columns: []string{"product_id", "rule_product_price_id", "website_id", "0", "customer_group_id", "rule_price", "rule_date"}, order: "rule_product_price_id",
		entry: func(entry adapter.Record, r row) {
			b.setDecimal(entry, "price", r[0])
			day, _ := b.d.conn.valueOf(entry.Schema.Attributes[mustIndex(entry.Schema, "rule_date")].Kind, r[1])
			entry.Set("rule_date", day)
		},
	})
}

// mustIndex returns the index of an attribute that the schema has.
func mustIndex(s *adapter.Schema, name string) int {
	at, ok := s.Index(name)
	if !ok {
		panic("magento1: " + string(s.Resource) + " have no attribute " + name)
	}
	return at
}

// setCustomOptions sets has_custom_options of products that have some.
func (b *productBatch) setCustomOptions(ctx context.Context) error {
	columns, err := b.d.conn.ColumnsOf(ctx, b.tx, "catalog_product_entity")
	if err != nil {
		return err
	}
	if !columns["has_options"] {
		b.d.conn.missing("catalog_product_entity", "has_options")
		return nil
	}
	return b.eachRow(ctx, "catalog_product_option", "SELECT DISTINCT o.product_id FROM "+b.d.conn.Table("catalog_product_option")+" o JOIN "+b.d.conn.Table("catalog_product_entity")+
		" e ON e.entity_id = o.product_id AND e.has_options = 1 WHERE "+b.has("o.product_id"), func(i int, _ row) {
		b.aggregates[i].Record.Set("has_custom_options", adapter.IntegerValue(1))
	})
}

// setReviews sets reviews_count: the number of all approved reviews, and at each store view
// that shows another number that one.
func (b *productBatch) setReviews(ctx context.Context) error {
	stores, err := b.d.conn.ColumnsOf(ctx, b.tx, "review_store")
	if err != nil {
		return err
	}
	if stores == nil {
		b.d.conn.missing("review_store", "")
		return nil
	}
	type counts struct {
		all   int64
		views map[int64]int64
	}
	found := map[int]*counts{}
	approved := " FROM " + b.d.conn.Table("review") + " r JOIN " + b.d.conn.Table("review_entity") + " e ON e.entity_id = r.entity_id AND e.entity_code = 'product'"
	where := " WHERE r.status_id = 1 AND " + b.has("r.entity_pk_value")
	err = b.eachRow(ctx, "review", "SELECT r.entity_pk_value, 0, COUNT(*)"+approved+where+" GROUP BY r.entity_pk_value UNION ALL SELECT r.entity_pk_value, s.store_id, COUNT(*)"+
		approved+" JOIN "+b.d.conn.Table("review_store")+" s ON s.review_id = r.review_id AND s.store_id > 0"+where+" GROUP BY r.entity_pk_value, s.store_id", func(i int, r row) {
		if found[i] == nil {
			found[i] = &counts{views: map[int64]int64{}}
		}
		if store := r.ID(1); store == 0 {
			found[i].all = r.ID(2)
		} else {
			found[i].views[store] = r.ID(2)
		}
	})
	for i, c := range found {
		b.aggregates[i].Record.Set("reviews_count", adapter.IntegerValue(c.all))
		for store := range b.views.websiteOf {
			if c.views[store] != c.all {
				b.at(i, store).Set("reviews_count", adapter.IntegerValue(c.views[store]))
			}
		}
	}
	return err
}

// setStockStatus sets stock_status at the store views of every website for which the shop
// has computed it.
func (b *productBatch) setStockStatus(ctx context.Context) error {
	const table = "cataloginventory_stock_status"
	return b.eachRow(ctx, table, "SELECT product_id, website_id, stock_status FROM "+b.d.conn.Table(table)+" WHERE "+b.has("product_id")+
		" ORDER BY stock_id DESC", func(i int, r row) {
		if !b.isWebsite(r.ID(1), table, "product "+string(r[0])) {
			return
		}
		for _, store := range b.views.viewsOf[r.ID(1)] {
			b.at(i, store).Set("stock_status", adapter.IntegerValue(r.ID(2)))
		}
	})
}

// productIDPath returns the SQL of the id_path of the rewritten address of a product that is in no
// category, in rows of core_url_rewrite. column has the id of the product.
func productIDPath(column string) string { return "CONCAT('product/', " + column + ")" }

// setRequestPaths sets request_path at the store views for which the shop has a rewritten address of
// the product. As in the original, the address without a category counts, and of two such rows the
// one that the system has made (openmage 3). The original finds it by id_path alone: product_id may be
// null, as in rows that an extension has written. Changes of such a row alone are not followed.
func (b *productBatch) setRequestPaths(ctx context.Context) error {
	const table = "core_url_rewrite"
	schema := b.d.schemas.Of(adapter.Products)
	attribute := &schema.Attributes[mustIndex(schema, "request_path")]
	return b.eachRow(ctx, table, "SELECT e.entity_id, r.store_id, r.request_path FROM "+b.d.conn.Table(productTable().table)+" e JOIN "+b.d.conn.Table(table)+
		" r ON r.id_path = "+productIDPath("e.entity_id")+" WHERE "+b.has("e.entity_id")+" ORDER BY e.entity_id, r.store_id, r.is_system", func(i int, r row) {
		key := fmt.Sprintf("product %d, store %d", r.ID(0), r.ID(1))
		if _, ok := b.views.websiteOf[r.ID(1)]; !ok {
			b.skip(table, key, ReasonNoStore)
			return
		}
		path, problem := b.d.conn.valueOf(attribute.Kind, r[2])
		if utf8.RuneCountInString(path.Text()) > maxRequestPath {
			path, problem = adapter.NullValue(), ReasonLong
		}
		if problem != "" {
			b.skip(table, key, problem)
		}
		b.at(i, r.ID(1)).Set(attribute.Name, path)
	})
}
