package adapter

// A Resource names a kind of record.
type Resource string

// The resources of the contract, and the resources that its rules refer to.
const (
	Websites          Resource = "websites"
	Stores            Resource = "stores"
	CustomerGroups    Resource = "customer_groups"
	Categories        Resource = "categories"
	TaxRates          Resource = "tax_rates"
	Countries         Resource = "countries"
	Regions           Resource = "regions"
	AttributeOptions  Resource = "attribute_options"
	Admins            Resource = "admins"
	Customers         Resource = "customers"
	CustomerAddresses Resource = "customer_addresses"
	Products          Resource = "products"
	ProductImages     Resource = "product_images"
	ProductWebsites   Resource = "product_websites"
	ProductCategories Resource = "product_categories"
	StockItems        Resource = "stock_items"
	Orders            Resource = "orders"
	OrderItems        Resource = "order_items"
	OrderAddresses    Resource = "order_addresses"
	OrderComments     Resource = "order_comments"
)

// Resources returns all resources. A resource comes after the resources that its records
// refer to.
func Resources() []Resource {
	return []Resource{
		Websites, Stores, CustomerGroups, Categories, TaxRates, Countries, Regions, AttributeOptions, Admins, Customers, CustomerAddresses,
		Products, ProductImages, ProductWebsites, ProductCategories, StockItems, Orders, OrderItems, OrderAddresses, OrderComments,
	}
}

// Schemas holds the schemas of all resources.
type Schemas struct{ of map[Resource]*Schema }

// NewSchemas returns the schemas of all resources.
func NewSchemas() *Schemas {
	all := &Schemas{of: map[Resource]*Schema{}}
	stock := stockItemSchema()
	for _, s := range []*Schema{
		websiteSchema(),
		storeSchema(),
		customerGroupSchema(),
		categorySchema(),
		taxRateSchema(),
		countrySchema(),
		regionSchema(),
		attributeOptionSchema(),
		adminSchema(),
		customerSchema(),
		customerAddressSchema(),
		productSchema(stock),
		productImageSchema(),
		productWebsiteSchema(),
		productCategorySchema(),
		stock,
		orderSchema(),
		orderItemSchema(),
		orderAddressSchema(),
		orderCommentSchema(),
	} {
		all.of[s.Resource] = s
	}
	return all
}

// Of returns the schema of r, or nil if r is not one of the constants of this package.
func (all *Schemas) Of(r Resource) *Schema { return all.of[r] }

// A Key is the integer id by which the contract addresses a record, its legacy id. Keys are
// positive, except the key of the customer group of guests, and are never reused.
type Key int64
