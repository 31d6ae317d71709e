package adapter

// A Resource names a kind of record.
type Resource string

// The resources of the contract, and the directories its rules refer to.
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

// A Key is the integer id by which the contract addresses a record. Keys are
// positive and never used again after their record is gone.
type Key int64
