package adapter

// A Resource names a kind of record.
type Resource string

// The resources of the contract, and those that its rules refer to.
const (
	Websites          Resource = "websites"
	Stores            Resource = "stores"
	CustomerGroups    Resource = "customer_groups"
	Categories        Resource = "categories"
	TaxRates          Resource = "tax_rates"
	Countries         Resource = "countries"
	Regions           Resource = "regions"
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

// Resources returns all resources. Those that a record refers to come before it.
func Resources() []Resource {
	return []Resource{
		Websites, Stores, CustomerGroups, Categories, TaxRates, Countries, Regions, Admins, Customers, CustomerAddresses,
		Products, ProductImages, ProductWebsites, ProductCategories, StockItems, Orders, OrderItems, OrderAddresses, OrderComments,
	}
}

// A Key is the integer id by which the contract addresses a record, its legacy id. Keys are
// positive, except that of the customer group of guests, and are never reused.
type Key int64
