package rules

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"time"
)

// A Reader reads the records of one resource, like [adapter.Store].
type Reader interface {
	List(context.Context, *adapter.ListParams) (*adapter.ListResult, error)
	Get(context.Context, *adapter.GetParams) (adapter.Record, error)
}

// A store reads by its Reader and writes by its writer.
type store struct {
	Reader
	writer
}

// A writer is the part of [adapter.Store] that writes.
type writer interface {
	Create(context.Context, *adapter.CreateParams) (adapter.Key, error)
	Update(context.Context, *adapter.UpdateParams) error
	Delete(context.Context, *adapter.DeleteParams) error
}

// Stores returns the store of each resource that can be read, which writes to db. Writes
// that the contract does not have fail with kind Unsupported.
func Stores(db Database, readers map[adapter.Resource]Reader) map[adapter.Resource]adapter.Store {
	stores := make(map[adapter.Resource]adapter.Store, len(readers))
	for r, reader := range readers {
		stores[r] = store{reader, newWriter(db, r)}
	}
	return stores
}

// UpdateBatch changes several records as described at [adapter.BatchUpdater].
func (s store) UpdateBatch(ctx context.Context, batch []adapter.UpdateParams) (failures []error, err error) {
	if w, ok := s.writer.(adapter.BatchUpdater); ok {
		return w.UpdateBatch(ctx, batch)
	}
	return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "update a batch"}
}

func newWriter(db Database, r adapter.Resource) writer {
	records := records{db: db, schema: db.Schemas().Of(r)}
	switch r {
	case adapter.Customers:
		return records
	case adapter.CustomerAddresses:
		records.afterWrite = records.finishAddress
		return records
	case adapter.StockItems:
		return stockItems{readOnly{records}}
	case adapter.Products:
		return products{records}
	case adapter.ProductImages:
		return images{records}
	case adapter.ProductWebsites:
		return assignments{readOnly{records}, adapter.Websites}
	case adapter.ProductCategories:
		return assignments{readOnly{records}, adapter.Categories}
	case adapter.OrderComments:
		return orderComments{records}
	default:
		return readOnly{records}
	}
}

// readOnly writes nothing.
type readOnly struct{ records }

// Create fails with kind Unsupported.
func (w readOnly) Create(context.Context, *adapter.CreateParams) (adapter.Key, error) {
	return 0, w.unsupported("create")
}

// Update fails with kind Unsupported.
func (w readOnly) Update(context.Context, *adapter.UpdateParams) error {
	return w.unsupported("update")
}

// Delete fails with kind Unsupported.
func (w readOnly) Delete(context.Context, *adapter.DeleteParams) error {
	return w.unsupported("delete")
}

// unsupported returns the error of an unsupported operation.
func (w records) unsupported(op string) error {
	return &adapter.Error{Kind: adapter.Unsupported, Op: op + " " + string(w.schema.Resource)}
}

// errRefused stands for the error of a caller's function in a transaction, so that the database
// does not mistake the wrapped error for its own reason to run f again.
var errRefused = errors.New("refused by the caller")

// write runs f in a transaction. It returns errors of the caller's functions unchanged, and
// adds the operation to other errors that lack it.
func (w records) write(ctx context.Context, op string, f func(Tx) error) error {
	var refused *adapter.RefusedError
	err := w.db.Write(ctx, op, func(tx Tx) error {
		err := f(tx)
		if refused, _ = errors.AsType[*adapter.RefusedError](err); refused != nil {
			return errRefused
		}
		return err
	})
	if refused != nil {
		return refused
	}
	if fault, ok := errors.AsType[*adapter.Error](err); ok && fault.Op == "" {
		named := *fault
		named.Op = op
		return &named
	}
	return err
}

// Now returns the current time as the value of an attribute.
func Now() adapter.Value { return adapter.TextValue(time.Now().UTC().Format(time.DateTime)) }

// isNotFound reports whether err means that there is no such record.
func isNotFound(err error) bool { return err != nil && adapter.KindOf(err) == adapter.NotFound }
