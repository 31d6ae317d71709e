package sqlstore

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
)

// stockItems is the store of stock items, which are created and deleted with their
// products.
type stockItems struct{ *store }

// Create fails with kind Unsupported.
func (s stockItems) Create(context.Context, *adapter.CreateParams) (adapter.Key, error) {
	return 0, s.unsupported("create")
}

// Delete fails with kind Unsupported.
func (s stockItems) Delete(context.Context, *adapter.DeleteParams) error {
	return s.unsupported("delete")
}
