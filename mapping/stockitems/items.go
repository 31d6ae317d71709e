package stockitems

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/calls"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/numeric"
	"github.com/portico-commerce/portico/mapping/records"
)

// Items is the resource behind /stockitems (stock_orders 2).
type Items struct {
	calls.Resource
	Rules Rules
	// batchLock serializes batch updates: overlapping batches have the same result as
	// some sequence of them. A channel lets a caller wait no longer than its context.
	batchLock chan struct{}
	log       *slog.Logger
}

// New returns the handler of stock items. now returns the current time.
func New(d *contract.Dialect, fields *contract.Fields, backend *records.Backend, settings Settings, now func() time.Time, log *slog.Logger) (*Items, error) {
	base, err := calls.NewResource(d, fields.StockItems, backend, adapter.StockItems)
	if err != nil {
		return nil, err
	}
	items := &Items{Resource: base, batchLock: make(chan struct{}, 1), log: log}
	items.Rules = NewRules(&items.Resource, settings, now)
	return items, nil
}

// GetStockItem handles GET /stockitems/:id.
func (items *Items) GetStockItem(ctx context.Context, c *calls.Call) (*calls.Reply, error) {
	key, err := calls.ParseTruncatedKey(items.Dialect, c.Param("id"))
	if err != nil {
		return nil, err
	}
	rec, err := items.Store.Get(ctx, &adapter.GetParams{Key: key})
	if err != nil {
		return nil, err
	}
	return items.SingleReply(c, rec)
}

// ListStockItems handles GET /stockitems.
func (items *Items) ListStockItems(ctx context.Context, c *calls.Call) (*calls.Reply, error) {
	return items.AnswerList(ctx, c, 0)
}

// UpdateStockItem handles PUT /stockitems/:id. It looks up the record before it checks
// the fields, so an unknown id is a 404 whatever the body holds.
func (items *Items) UpdateStockItem(ctx context.Context, c *calls.Call) (*calls.Reply, error) {
	key, err := calls.ParseTruncatedKey(items.Dialect, c.Param("id"))
	if err != nil {
		return nil, err
	}
	change := items.Rules.parseRecord(&c.Body)
	reference, err := items.resolveItemID(ctx, key, &c.Body)
	if err != nil {
		return nil, err
	}
	err = items.Store.Update(ctx, &adapter.UpdateParams{Key: key, Change: func(current adapter.Record) (adapter.Record, error) {
		switch {
		case len(change.Faults) > 0:
			return adapter.Record{}, change.Err()
		case reference == otherItem:
			return adapter.Record{}, items.Dialect.Fault(contract.InternalError)
		case reference == noItem:
			return adapter.NewRecord(current.Schema), nil
		}
		return items.Rules.Apply(change, current), nil
	}})
	if err != nil {
		return nil, err
	}
	return &calls.Reply{}, nil
}

// An itemReference says which item the item_id in the body of a single update names.
type itemReference uint8

const (
	sameItem  itemReference = iota // the item in the path, also without an item_id
	noItem                         // no item: the update succeeds and changes nothing
	otherItem                      // another item, or a value that cannot be an id
)

// resolveItemID resolves the item_id in the body of an update of the item key
// (stock_orders 2.3). Only the store knows whether the id belongs to another item. It can
// be asked before the update, outside the transaction, because nothing is changed in
// either case.
func (items *Items) resolveItemID(ctx context.Context, key adapter.Key, body *codec.Node) (itemReference, error) {
	id, sent := body.Get("item_id")
	if !sent {
		return sameItem, nil
	}
	var value float64
	switch {
	case id.Kind == codec.Null, id.Kind == codec.Struct && len(id.Members) == 0:
		return otherItem, nil
	case id.Kind == codec.Struct:
		value = 1 // a non-empty list counts as true
	default:
		value = numeric.Leading(id.String())
	}
	if value == float64(key) {
		return sameItem, nil
	}
	whole := input.Int64(value)
	if whole < 1 {
		return noItem, nil
	}
	_, err := items.Store.Get(ctx, &adapter.GetParams{Key: adapter.Key(whole)})
	switch {
	case err == nil:
		return otherItem, nil
	case adapter.KindOf(err) == adapter.NotFound:
		return noItem, nil
	default:
		return noItem, err
	}
}

// UpdateStockItems handles PUT /stockitems. It checks and saves the items one by one, in
// order; a failure neither stops nor undoes the others.
func (items *Items) UpdateStockItems(ctx context.Context, c *calls.Call) (*calls.Reply, error) {
	select {
	case items.batchLock <- struct{}{}:
		defer func() { <-items.batchLock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	batch := calls.Batch{IdField: "item_id", SuccessFirst: items.Dialect.SuccessFirst}
	for i := range c.Body.Members {
		if err := items.updateBatchItem(ctx, c, &c.Body.Members[i].Value, &batch); err != nil {
			return nil, err
		}
	}
	if batch.Crash != nil {
		return nil, *batch.Crash
	}
	return &calls.Reply{Status: http.StatusMultiStatus, Body: batch.Body()}, nil
}

// updateBatchItem checks and saves one entry, and adds its outcome to batch. An error
// means that the call has been canceled or has timed out, or that the backend is
// unavailable and nothing has been saved. Then the whole call can be repeated.
func (items *Items) updateBatchItem(ctx context.Context, c *calls.Call, entry *codec.Node, batch *calls.Batch) error {
	sent, ok := entry.Get("item_id")
	if !ok {
		sent = &codec.Node{}
	}
	id, fault := items.parseBatchItemID(sent)
	if fault != nil {
		batch.Fail(*sent, *fault)
		return nil
	}
	unknown := items.Dialect.Fault(contract.ItemUnknown, id)
	if id < 1 {
		batch.Fail(*sent, unknown)
		return nil
	}
	change := items.Rules.parseBatchEntry(entry)
	err := items.Store.Update(ctx, &adapter.UpdateParams{Key: adapter.Key(id), Change: func(current adapter.Record) (adapter.Record, error) {
		switch {
		case len(change.Faults) > 0:
			return adapter.Record{}, change.Faults
		case len(change.Values) == 0:
			return adapter.NewRecord(current.Schema), nil
		}
		return items.Rules.Apply(change, current), nil
	}})
	var refused contract.Faults
	switch {
	case err == nil:
		batch.Succeed(id, items.Dialect.Fault(contract.ItemUpdated))
	case errors.As(err, &refused):
		for _, fault := range refused {
			batch.Fail(*sent, fault)
		}
	case adapter.KindOf(err) == adapter.NotFound:
		batch.Fail(*sent, unknown)
	case ctx.Err() != nil:
		return ctx.Err()
	case adapter.KindOf(err) == adapter.Unavailable && !batch.Succeeded():
		return err
	default:
		calls.LogFailure(ctx, items.log, c.Name(), "call failed", err)
		batch.Fail(*sent, items.Dialect.Fault(contract.InternalError))
	}
	return nil
}

// parseBatchItemID returns the item_id of a batch entry: the integer part of any number
// (stock_orders 2.4).
func (items *Items) parseBatchItemID(n *codec.Node) (int64, *contract.Fault) {
	key := contract.ItemIDInvalid
	whole, ok := input.IntegerPart(n)
	switch {
	case n.Kind == codec.Number && math.IsInf(input.NumberLiteral(n), 0):
		key = contract.ItemIDInfinite
	case ok:
		return whole, nil
	case n.Kind == codec.Null:
		key = contract.ItemIDMissing
	case input.IsEmpty(n):
		key = contract.ItemIDEmpty
	}
	fault := items.Dialect.Fault(key)
	return 0, &fault
}
