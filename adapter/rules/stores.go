package rules

import (
	"context"
	"errors"
	"time"

	"github.com/portico-commerce/portico/adapter"
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

// A callerError carries the error of a caller's callback out of a transaction.
type callerError struct{ error }

// write runs f in a transaction. It returns errors of callbacks unchanged, and adds the
// operation to other errors that lack it.
func (w records) write(ctx context.Context, op string, f func(Tx) error) error {
	var refused *callerError
	err := w.db.Write(ctx, op, func(tx Tx) error {
		err := f(tx)
		refused, _ = err.(*callerError) //nolint:errorlint // never wrapped
		return err
	})
	if refused != nil {
		return refused.error
	}
	if fault, ok := errors.AsType[*adapter.Error](err); ok && fault.Op == "" {
		named := *fault
		named.Op = op
		return &named
	}
	return err
}

// runCheck runs the caller's check of a new record, if there is one.
func runCheck(check func() error) error {
	if check == nil {
		return nil
	}
	if err := check(); err != nil {
		return &callerError{err}
	}
	return nil
}

// runRecordCheck runs the caller's check of an existing record, if there is one.
func runRecordCheck(check func(adapter.Record) error, current adapter.Record) error {
	if check == nil {
		return nil
	}
	return runCheck(func() error { return check(current.Clone()) })
}

// runChange runs the caller's change of a record.
func runChange(change func(adapter.Record) (adapter.Record, error), current adapter.Record) (adapter.Record, error) {
	changed, err := change(current.Clone())
	if err != nil {
		return adapter.Record{}, &callerError{err}
	}
	return changed, nil
}

// Now returns the current time as the value of an attribute.
func Now() adapter.Value { return adapter.TextValue(time.Now().UTC().Format(time.DateTime)) }

// isNotFound reports whether err means that there is no such record.
func isNotFound(err error) bool { return err != nil && adapter.KindOf(err) == adapter.NotFound }
