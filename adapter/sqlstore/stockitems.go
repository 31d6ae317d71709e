package sqlstore

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
)

// stockItems is the store of stock items, which come and go with their products.
type stockItems struct{ *store }

// Create fails with kind Unsupported.
func (stockItems) Create(context.Context, *adapter.CreateParams) (adapter.Key, error) {
	return 0, &adapter.Error{Kind: adapter.Unsupported, Op: "create stock_items"}
}

// Delete fails with kind Unsupported.
func (stockItems) Delete(context.Context, *adapter.DeleteParams) error {
	return &adapter.Error{Kind: adapter.Unsupported, Op: "delete stock_items"}
}
