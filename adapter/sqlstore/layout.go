package sqlstore

import (
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// A table says where the records of a resource are kept. The names are fixed
// here, and safe in a statement as they are.
type table struct {
	schema  *adapter.Schema
	name    string
	columns []column // one for each attribute of the schema
	// join and on are the table and the condition by which a statement reaches
	// joined columns.
	join, on string
	added    bool       // the schema has added attributes
	values   valueTable // of the added attributes
	// nulls: the column nulls lists the attributes stored as null.
	nulls bool
	// settles: with the next change what was stored as null counts as never stored.
	clearsNullsOnUpdate bool
	// unique names the attributes whose values together no two records share. The
	// last one is told to be at fault.
	unique []string
}

// A column holds one attribute.
type column struct {
	name   string // with its table; "" when tables of its own hold the attribute
	folded string // the column of the folded text, "" when there is none
	null   string // the condition that null is stored, "" for the usual one
	joined bool   // of the joined table, and only read
}

// layout returns the tables of all resources, owners before their parts.
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
	customer.values = valueTable{"customer_value", "customer_id"}
	address.values = valueTable{"customer_address_value", "address_id"}
	product.values = valueTable{"product_default_value", "product_id"}
	for _, name := range stockFlagColumns() {
		*product.column(stockPrefix + name) = column{}
	}
	customer.nulls, address.nulls, product.nulls = true, true, true
	customer.clearsNullsOnUpdate, address.clearsNullsOnUpdate = true, true
	customer.unique = []string{"website_id", "email"}

	image := newTable(schemas.Of(adapter.ProductImages), "product_image", "file", "media_type")
	for _, name := range []string{"label", "position", "exclude", "types"} {
		*image.column(name) = column{}
	}
	website, category := newTable(schemas.Of(adapter.ProductWebsites), "product_website"), newTable(schemas.Of(adapter.ProductCategories), "product_category")
	website.unique, category.unique = []string{"product_id", "website_id"}, []string{"product_id", "category_id"}
	return []*table{
		newTable(schemas.Of(adapter.Websites), "website"),
		newTable(schemas.Of(adapter.Stores), "store"),
		newTable(schemas.Of(adapter.CustomerGroups), "customer_group"),
		newTable(schemas.Of(adapter.Categories), "category"),
		newTable(schemas.Of(adapter.TaxRates), "tax_rate"),
		newTable(schemas.Of(adapter.Countries), "country"),
		newTable(schemas.Of(adapter.Regions), "region"),
		admin, customer, address, product,
		website, category, image, stock,
		newTable(schemas.Of(adapter.Orders), "sales_order"),
		newTable(schemas.Of(adapter.OrderItems), "order_item"),
		newTable(schemas.Of(adapter.OrderAddresses), "order_address"),
		newTable(schemas.Of(adapter.OrderComments), "order_comment"),
	}
}

// newTable returns the table name that holds schema in columns called as its
// attributes, added ones apart. Texts have a folded column, those named in unfolded apart.
func newTable(schema *adapter.Schema, name string, unfolded ...string) *table {
	t := &table{schema: schema, name: name, columns: make([]column, len(schema.Attributes))}
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

// column returns the column of the attribute called name, to be changed.
func (t *table) column(name string) *column {
	i, ok := t.schema.Index(name)
	if !ok {
		panic("sqlstore: " + t.name + " has no attribute " + name)
	}
	return &t.columns[i]
}

func (c *column) setJoined(name string) { *c = column{name: name, joined: true} }

// own reports whether the attribute is written to a column of the table.
func (c *column) isStored() bool { return c.name != "" && !c.joined }

// kind returns the kind of the attribute called name.
func (t *table) kind(name string) adapter.Kind {
	at, _ := t.schema.Index(name)
	return t.schema.Attributes[at].Kind
}

// kept returns the place of a time that the store keeps, or -1.
func (t *table) timestampIndex(name string) int {
	if at, ok := t.schema.Index(name); ok && t.schema.Attributes[at].ReadOnly && t.columns[at].isStored() {
		return at
	}
	return -1
}

// key returns the column of the key.
func (t *table) keyColumn() string { return t.column(t.schema.Key).name }

// places returns the attributes that columns hold, without those of the joined
// table unless joined.
func (t *table) columnIndexes(joined bool) []int {
	var indexes []int
	for i, c := range t.columns {
		if c.name != "" && (joined || !c.joined) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}
