package sqlstore

import "github.com/portico-commerce/portico/adapter"

// readOnlyResources lists the resources that clients can only read.
func readOnlyResources() []adapter.Resource {
	return []adapter.Resource{
		adapter.Websites, adapter.Stores, adapter.CustomerGroups, adapter.Categories, adapter.TaxRates,
		adapter.Countries, adapter.Regions, adapter.Admins,
		adapter.Orders, adapter.OrderItems, adapter.OrderAddresses,
	}
}
