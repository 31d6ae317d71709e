package engine

import (
	"slices"
	"strings"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// A Table describes how the records of a resource are stored. All names in it are
// constants that are safe in a statement.
type Table struct {
	Schema  *adapter.Schema
	Name    string
	Columns []Column // one for each attribute of the schema
	// Join and on are the table and the condition of the join that reaches the joined
	// columns.
	Join, On string
	Added    bool       // the schema has added attributes
	Values   valueTable // holds the added attributes
	// AtViews has one row for each record and store view where the record has values of its
	// own, in columns named as the attributes of [adapter.ScopeStore]. Its name is "" if there
	// is no such table.
	AtViews valueTable
	// Nulls is true if the table has a column nulls, which lists the attributes that are
	// stored as null; other columns that are NULL were never stored.
	Nulls bool
}

// A Column describes how one attribute is stored.
type Column struct {
	Name   string // qualified by the table; "" if other tables hold the attribute
	Folded string // column of the folded text, "" if there is none
	Null   string // condition for a stored null, "" for the usual one
	Joined bool   // belongs to the joined table, and cannot be written
	Late   bool   // another statement reads it, after the rows of the table
}

// taxTexts names the settings of taxes that are texts and are never compared.
func taxTexts() []string {
	return []string{"tax_country", "tax_postcode", "tax_based_on", "origin_country", "origin_postcode"}
}

// Layout returns the tables of all resources, each before the tables of its parts.
func Layout(schemas *adapter.Schemas) []*Table {
	stock := newTable(schemas.Of(adapter.StockItems), "stock_item")
	stock.Join, stock.On = "product", "product.entity_id = stock_item.product_id"
	stock.Column("product_created_at").setJoined("product.created_at")
	stock.Column("product_updated_at").setJoined("product.updated_at")

	admin := newTable(schemas.Of(adapter.Admins), "admin", "password_hash")
	customer := newTable(schemas.Of(adapter.Customers), "customer", "password_hash")
	address := newTable(schemas.Of(adapter.CustomerAddresses), "customer_address")
	address.Join, address.On = "customer", "customer.entity_id = customer_address.customer_id"
	address.Column("customer_group_id").setJoined("customer.group_id")
	product := newTable(schemas.Of(adapter.Products), "product", "components", "component_of", "request_path")
	product.Column("default_url_key").setJoined("product.url_key")
	product.Column("default_url_key").Folded = "product.url_key_folded"
	*product.Column("image_file"), *product.Column("category_position") = Column{}, Column{}
	for _, name := range rules.ImageTypes() {
		*product.Column(rules.PointerTo(name)) = Column{Late: true}
	}
	customer.Values = valueTable{"customer_value", "customer_id"}
	address.Values = valueTable{"customer_address_value", "address_id"}
	product.Values = valueTable{"product_default_value", "product_id"}
	for _, name := range StockFlagColumns() {
		*product.Column(StockPrefix + name) = Column{}
	}
	image := newTable(schemas.Of(adapter.ProductImages), "product_image", "file", "media_type")
	for _, name := range []string{"label", "position", "exclude", "types"} {
		*image.Column(name) = Column{}
	}
	category := newTable(schemas.Of(adapter.Categories), "category")
	category.AtViews = valueTable{"category_value", "category_id"}
	return []*Table{
		newTable(schemas.Of(adapter.Websites), "website", append(taxTexts()[2:], "base_currency", "currency_rate")...),
		newTable(schemas.Of(adapter.Stores), "store", taxTexts()...),
		newTable(schemas.Of(adapter.CustomerGroups), "customer_group"),
		category,
		newTable(schemas.Of(adapter.TaxRates), "tax_rate"),
		newTable(schemas.Of(adapter.Countries), "country"),
		newTable(schemas.Of(adapter.Regions), "region"),
		newTable(schemas.Of(adapter.AttributeOptions), "attribute_option", "resource", "attribute", "label"),
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
// attributes have no column. Texts have a folded column as well, except the attributes in
// unfolded.
func newTable(schema *adapter.Schema, name string, unfolded ...string) *Table {
	t := &Table{Schema: schema, Name: name, Columns: make([]Column, len(schema.Attributes)), Nulls: schema.DistinctNulls}
	for i, a := range schema.Attributes {
		t.Added = t.Added || a.Added
		if a.Kind == adapter.KindRecords || a.Added || a.WriteOnly {
			continue
		}
		t.Columns[i].Name = name + "." + a.Name
		if a.Kind == adapter.KindText && !slices.Contains(unfolded, a.Name) {
			t.Columns[i].Folded = t.Columns[i].Name + "_folded"
		}
	}
	return t
}

// Column returns the column of an attribute, which the caller may change.
func (t *Table) Column(name string) *Column {
	i, ok := t.Schema.Index(name)
	if !ok {
		panic("sqlstore: " + t.Name + " has no attribute " + name)
	}
	return &t.Columns[i]
}

// setJoined makes c a column of the joined table.
func (c *Column) setJoined(name string) { *c = Column{Name: name, Joined: true} }

// KeyColumn returns the column of the key.
func (t *Table) KeyColumn() string { return t.Column(t.Schema.Key).Name }

// ColumnIndexes returns the schema indexes of the attributes that have a column, with or
// without the attributes of the joined table.
func (t *Table) ColumnIndexes(joined bool) []int {
	var indexes []int
	for i, c := range t.Columns {
		if c.Name != "" && (joined || !c.Joined) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// AtStoreView returns the table with the values that its records show at a store view, and
// adds the necessary join to sb.
func (t *Table) AtStoreView(sb *sqlbuilder.SelectBuilder, storeID int64) *Table {
	if storeID == 0 || t.AtViews.Name == "" {
		return t
	}
	own := t.AtViews.Name
	sb.JoinWithOption(sqlbuilder.LeftJoin, own, own+"."+t.AtViews.KeyColumn+" = "+t.KeyColumn(), sb.Equal(own+".store_id", storeID))
	view := *t
	view.Columns = slices.Clone(t.Columns)
	for i, a := range t.Schema.Attributes {
		if a.Scope != adapter.ScopeStore {
			continue
		}
		c := &view.Columns[i]
		c.Name = "CASE WHEN " + own + ".store_id IS NULL THEN " + c.Name + " ELSE " + own + "." + a.Name + " END"
		if c.Folded != "" {
			c.Folded = "CASE WHEN " + own + ".store_id IS NULL THEN " + c.Folded + " ELSE " + own + "." + a.Name + "_folded END"
		}
	}
	return &view
}

// SelectColumns returns the columns that a scanner reads: the columns of the attributes at the
// given schema indexes, then the list of nulls if the table has one.
func (t *Table) SelectColumns(indexes []int) []string {
	names := make([]string, 0, len(indexes)+1)
	for _, a := range indexes {
		names = append(names, t.Columns[a].Name)
	}
	if t.Nulls {
		names = append(names, t.Name+".nulls")
	}
	return names
}

// Unqualified returns a column's name without its table.
func Unqualified(column string) string { return column[strings.IndexByte(column, '.')+1:] }

// QueriedAttributes returns the attributes that q names.
func QueriedAttributes(q *adapter.Query) []string {
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

// StockFlagColumns lists the columns of stock items that products show as on-demand
// attributes, whose names begin with StockPrefix.
func StockFlagColumns() []string {
	return []string{"is_in_stock", "manage_stock", "use_config_manage_stock"}
}

// StockPrefix begins the names of the attributes of products that show columns of stock items.
const StockPrefix = "stock_"

// SortColumn returns the column that sorts as adapter.Apply sorts the attribute, or "".
func (c *Column) SortColumn(kind adapter.Kind) string {
	switch kind {
	case adapter.KindText:
		return c.Folded
	case adapter.KindTexts, adapter.KindRecords:
		return ""
	default:
		return c.Name
	}
}

// A valueTable stores the values of a table's added attributes, one row for each: the
// key of the record, the attribute, the value as text, and its folded form. Statements
// refer to it only if the schema has added attributes.
type valueTable struct {
	Name, KeyColumn string // KeyColumn holds the record's key
}
