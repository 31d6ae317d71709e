package magento1test

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/memstore"
)

// A store reads and writes the records of one resource. It implements [adapter.Store].
type store struct {
	a        *ShopAdapter
	resource adapter.Resource
}

// List reads the tables as they are.
func (s store) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	records, err := s.present(ctx)
	if err != nil {
		return nil, err
	}
	return records.List(ctx, p)
}

// Get reads the tables as they are.
func (s store) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	records, err := s.present(ctx)
	if err != nil {
		return adapter.Record{}, err
	}
	return records.Get(ctx, p)
}

// present returns the records that the tables hold now.
func (s store) present(ctx context.Context) (adapter.Store, error) {
	records, err := s.a.present(ctx)
	if err != nil {
		return nil, s.failed("read", err)
	}
	return records.Store(s.resource)
}

// Create adds a record with an id that the table chooses.
func (s store) Create(ctx context.Context, p *adapter.CreateParams) (key adapter.Key, err error) {
	var created adapter.Key
	saved, err := s.write(ctx, "create", s.locksOfNew(p.Record), func(records adapter.Store) (err error) {
		created, err = records.Create(ctx, p)
		return err
	})
	if err != nil {
		return 0, err
	}
	if to := assignedTo(s.resource); to != "" {
		return adapter.Key(assignmentKey(p.Record.Get("product_id").Int(), p.Record.Get(to).Int())), nil
	}
	return saved[created], nil
}

// Update changes a record.
func (s store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	_, err := s.write(ctx, "update", s.locks(p.Key), func(records adapter.Store) error { return records.Update(ctx, p) })
	return err
}

// Delete deletes a record.
func (s store) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	_, err := s.write(ctx, "delete", s.locks(p.Key), func(records adapter.Store) error { return records.Delete(ctx, p) })
	return err
}

// failed returns an error of the tables as one that stores return.
func (s store) failed(op string, err error) error {
	kind, field := adapter.Internal, ""
	if isServerError(err, duplicateEntry) && s.resource == adapter.Customers {
		kind, field = adapter.Conflict, "email"
	}
	return &adapter.Error{Kind: kind, Op: op + " " + string(s.resource), Field: field, Err: err}
}

// A lock is a statement that locks rows.
type lock struct {
	statement string
	key       adapter.Key
}

// lockProduct locks a product and its stock item.
func lockProduct(key adapter.Key) []lock {
	return []lock{
		{"SELECT entity_id FROM {p}catalog_product_entity WHERE entity_id = ? FOR UPDATE", key},
		{"SELECT item_id FROM {p}cataloginventory_stock_item WHERE product_id = ? FOR UPDATE", key},
	}
}

// lockCustomer locks a customer, with which the addresses change.
func lockCustomer(key adapter.Key) []lock {
	return []lock{{"SELECT entity_id FROM {p}customer_entity WHERE entity_id = ? FOR UPDATE", key}}
}

// locks returns the locks to take before a record is changed; nil if it is only read.
func (s store) locks(key adapter.Key) []lock {
	switch s.resource {
	case adapter.Products:
		return lockProduct(key)
	case adapter.ProductWebsites, adapter.ProductCategories:
		return lockProduct(assignedProduct(key))
	case adapter.StockItems:
		return []lock{{"SELECT item_id FROM {p}cataloginventory_stock_item WHERE item_id = ? FOR UPDATE", key}}
	case adapter.Customers:
		return lockCustomer(key)
	case adapter.CustomerAddresses:
		return []lock{{"SELECT c.entity_id FROM {p}customer_entity c JOIN {p}customer_address_entity a ON a.parent_id = c.entity_id WHERE a.entity_id = ? FOR UPDATE", key}}
	default:
		return nil
	}
}

// locksOfNew returns the locks to take before a record is created; nil if it is only read.
func (s store) locksOfNew(r adapter.Record) []lock {
	switch s.resource {
	case adapter.Products, adapter.Customers:
		return []lock{}
	case adapter.ProductWebsites, adapter.ProductCategories:
		return lockProduct(adapter.Key(r.Get("product_id").Int()))
	case adapter.CustomerAddresses:
		return lockCustomer(adapter.Key(r.Get("customer_id").Int()))
	default:
		return nil
	}
}

// write executes a write on the current records of the tables once the locks are held, and stores
// the changes. saved holds the ids that the tables have assigned, by the keys of the new records.
func (s store) write(ctx context.Context, op string, locks []lock, execute func(adapter.Store) error) (saved map[adapter.Key]adapter.Key, err error) {
	if locks == nil {
		return nil, &adapter.Error{Kind: adapter.Unsupported, Op: op + " " + string(s.resource), Err: errReadOnly}
	}
	var refused error
	err = s.a.shop.inTx(ctx, func(tx transaction) error {
		for _, l := range locks {
			if _, err := tx.ids(ctx, l.statement, int64(l.key)); err != nil {
				return err
			}
		}
		before, err := s.a.present(ctx)
		if err != nil {
			return err
		}
		snapshot, err := before.Snapshot()
		if err != nil {
			return err
		}
		after := memstore.New(memstore.Options{Schemas: s.a.schemas})
		if err := after.Restore(ctx, snapshot); err != nil {
			return err
		}
		records, err := after.Store(s.resource)
		if err != nil {
			return err
		}
		if refused = execute(records); refused != nil {
			return refused
		}
		saved, err = tx.save(ctx, before, after)
		return err
	})
	switch {
	case err == nil:
		return saved, nil
	case refused != nil:
		return nil, refused // the caller's own error must not change
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, s.failed(op, fmt.Errorf("write to the tables: %w", err))
	}
}
