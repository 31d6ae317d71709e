package sqlstore

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
)

// readOnlyResources lists the resources that clients can only read.
func readOnlyResources() []adapter.Resource {
	return []adapter.Resource{
		adapter.Websites, adapter.Stores, adapter.CustomerGroups, adapter.Categories, adapter.TaxRates,
		adapter.Countries, adapter.Regions, adapter.Admins,
		adapter.Orders, adapter.OrderItems, adapter.OrderAddresses,
	}
}

// readOnly is a store whose records clients can only read.
type readOnly struct{ *store }

// Create fails with kind Unsupported.
func (s readOnly) Create(context.Context, *adapter.CreateParams) (adapter.Key, error) {
	return 0, s.unsupported("create")
}

// Update fails with kind Unsupported.
func (s readOnly) Update(context.Context, *adapter.UpdateParams) error {
	return s.unsupported("update")
}

// Delete fails with kind Unsupported.
func (s readOnly) Delete(context.Context, *adapter.DeleteParams) error {
	return s.unsupported("delete")
}
