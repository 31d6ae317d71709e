package sqlstore

import (
	"slices"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A table describes how the records of a resource are stored. All names in it are
// constants that are safe in a statement.
type table struct {
	schema  *adapter.Schema
	name    string
	columns []column // one for each attribute of the schema
	// join and on are the table and the condition of the join that reaches the joined
	// columns.
	join, on string
	added    bool       // the schema has added attributes
	values   valueTable // holds the added attributes
	// atViews has one row for each record and store view where the record has values of its
	// own, in columns named as the attributes of [adapter.ScopeStore]. Its name is "" if there
	// is no such table.
	atViews valueTable
	// nulls is true if the table has a column nulls, which lists the attributes that are
	// stored as null; other columns that are NULL were never stored.
	nulls bool
}

// A column describes how one attribute is stored.
type column struct {
	name   string // qualified by the table; "" if other tables hold the attribute
	folded string // column of the folded text, "" if there is none
	null   string // condition for a stored null, "" for the usual one
	joined bool   // belongs to the joined table, and cannot be written
	late   bool   // another statement reads it, after the rows of the table
}

// layout returns the tables of all resources, each before the tables of its parts.
func layout(schemas *adapter.Schemas) []*table {
	stock := newTable(schemas.Of(adapter.StockItems), "stock_item")
	stock.join, stock.on = "product", "product.entity_id = stock_item.product_id"
	stock.column("product_created_at").setJoined("product.created_at")
	stock.column("product_updated_at").setJoined("product.updated_at")

	admin := newTable(schemas.Of(adapter.Admins), "admin", "password_hash")
	customer := newTable(schemas.Of(adapter.Customers), "customer", "password_hash")
	address := newTable(schemas.Of(adapter.CustomerAddresses), "customer_address")
	address.join, address.on = "customer", "customer.entity_id = customer_address.customer_id"
	address.column("customer_group_id").setJoined("customer.group_id")
	product := newTable(schemas.Of(adapter.Products), "product")
	product.column("default_url_key").setJoined("product.url_key")
	product.column("default_url_key").folded = "product.url_key_folded"
	*product.column("image_file"), *product.column("category_position") = column{}, column{}
	for _, name := range rules.ImageTypes() {
		*product.column(rules.PointerTo(name)) = column{late: true}
	}
	customer.values = valueTable{"customer_value", "customer_id"}
	address.values = valueTable{"customer_address_value", "address_id"}
	product.values = valueTable{"product_default_value", "product_id"}
	for _, name := range stockFlagColumns() {
		*product.column(stockPrefix + name) = column{}
	}
	image := newTable(schemas.Of(adapter.ProductImages), "product_image", "file", "media_type")
	for _, name := range []string{"label", "position", "exclude", "types"} {
		*image.column(name) = column{}
	}
	category := newTable(schemas.Of(adapter.Categories), "category")
	category.atViews = valueTable{"category_value", "category_id"}
	return []*table{
		newTable(schemas.Of(adapter.Websites), "website"),
		newTable(schemas.Of(adapter.Stores), "store"),
		newTable(schemas.Of(adapter.CustomerGroups), "customer_group"),
		category,
		newTable(schemas.Of(adapter.TaxRates), "tax_rate"),
		newTable(schemas.Of(adapter.Countries), "country"),
		newTable(schemas.Of(adapter.Regions), "region"),
		admin, customer, address, product,
		newTable(schemas.Of(adapter.ProductWebsites), "product_website"),
		newTable(schemas.Of(adapter.ProductCategories), "product_category"),
		image, stock,
		newTable(schemas.Of(adapter.Orders), "sales_order"),
		newTable(schemas.Of(adapter.OrderItems), "order_item"),
		newTable(schemas.Of(adapter.OrderAddresses), "order_address"),
		newTable(schemas.Of(adapter.OrderComments), "order_comment"),
	}
}

// newTable returns a table whose columns are named as the attributes of schema. Added
// attributes have no column. Texts have a folded column as well, except those named in
// unfolded.
func newTable(schema *adapter.Schema, name string, unfolded ...string) *table {
	t := &table{schema: schema, name: name, columns: make([]column, len(schema.Attributes)), nulls: schema.DistinctNulls}
	for i, a := range schema.Attributes {
		t.added = t.added || a.Added
		if a.Kind == adapter.KindRecords || a.Added || a.WriteOnly {
			continue
		}
		t.columns[i].name = name + "." + a.Name
		if a.Kind == adapter.KindText && !slices.Contains(unfolded, a.Name) {
			t.columns[i].folded = t.columns[i].name + "_folded"
		}
	}
	return t
}

// column returns the column of an attribute, which the caller may change.
func (t *table) column(name string) *column {
	i, ok := t.schema.Index(name)
	if !ok {
		panic("sqlstore: " + t.name + " has no attribute " + name)
	}
	return &t.columns[i]
}

// setJoined makes c a column of the joined table.
func (c *column) setJoined(name string) { *c = column{name: name, joined: true} }

// keyColumn returns the column of the key.
func (t *table) keyColumn() string { return t.column(t.schema.Key).name }

// columnIndexes returns the schema indexes of the attributes that have a column, with
// or without those of the joined table.
func (t *table) columnIndexes(joined bool) []int {
	var indexes []int
	for i, c := range t.columns {
		if c.name != "" && (joined || !c.joined) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// atStoreView returns the table with the values that its records show at a store view, and
// adds the necessary join to sb.
func (t *table) atStoreView(sb *sqlbuilder.SelectBuilder, storeID int64) *table {
	if storeID == 0 || t.atViews.name == "" {
		return t
	}
	own := t.atViews.name
	sb.JoinWithOption(sqlbuilder.LeftJoin, own, own+"."+t.atViews.keyColumn+" = "+t.keyColumn(), sb.Equal(own+".store_id", storeID))
	view := *t
	view.columns = slices.Clone(t.columns)
	for i, a := range t.schema.Attributes {
		if a.Scope != adapter.ScopeStore {
			continue
		}
		c := &view.columns[i]
		c.name = "CASE WHEN " + own + ".store_id IS NULL THEN " + c.name + " ELSE " + own + "." + a.Name + " END"
		if c.folded != "" {
			c.folded = "CASE WHEN " + own + ".store_id IS NULL THEN " + c.folded + " ELSE " + own + "." + a.Name + "_folded END"
		}
	}
	return &view
}
