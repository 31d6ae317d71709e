package handlers

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// UpdateStockItem handles PUT /stockitems/:id. It looks up the record before it checks
// the fields, so an unknown id is a 404 whatever the body holds.
func (items *StockItems) UpdateStockItem(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	key, err := resource.ParseTruncatedKey(items.Dialect, c.Param("id"))
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
	return &resource.Reply{}, nil
}

// An itemReference is the item that the item_id in the body of a single update names.
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
func (items *StockItems) resolveItemID(ctx context.Context, key adapter.Key, body *codec.Node) (itemReference, error) {
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
		value = codec.LeadingNumber(id.String())
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
func (items *StockItems) UpdateStockItems(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	select {
	case items.batchLock <- struct{}{}:
		defer func() { <-items.batchLock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	entries := make([]batchEntry, len(c.Body.Members))
	var updates []adapter.UpdateParams
	for i := range entries {
		entry := &c.Body.Members[i].Value
		items.dropUnlisted(c, entry)
		if entries[i] = items.resolveBatchEntry(entry); entries[i].fault == nil {
			updates = append(updates, items.batchUpdate(entry, entries[i].id))
		}
	}
	failures, err := items.saveBatch(ctx, c, updates)
	if err != nil {
		return nil, err
	}
	batch := resource.Batch{IdField: "item_id", SuccessFirst: items.Dialect.SuccessFirst}
	for i := range entries {
		e := &entries[i]
		if e.fault != nil {
			batch.Fail(e.sent, *e.fault)
			continue
		}
		items.addOutcome(ctx, c, e, failures[0], &batch)
		failures = failures[1:]
	}
	if batch.Crash != nil {
		return nil, *batch.Crash
	}
	return &resource.Reply{Status: http.StatusMultiStatus, Body: batch.Body()}, nil
}

// dropUnlisted drops the fields of an entry that the field list of the caller does not name, except
// the item_id, which says what the entry is about.
func (items *StockItems) dropUnlisted(c *resource.Call, entry *codec.Node) {
	entry.Members = slices.DeleteFunc(entry.Members, func(m codec.Member) bool {
		at, known := items.Fields.Index(m.Key)
		return known && m.Key != "item_id" && items.Fields.Fields[at].Dropped(c.Principal.Role)
	})
}

// A batchEntry is an entry of a batch update.
type batchEntry struct {
	sent  codec.Node // its item_id
	id    int64
	fault *contract.Fault // of the item_id
}

// resolveBatchEntry finds out which item an entry names.
func (items *StockItems) resolveBatchEntry(entry *codec.Node) (e batchEntry) {
	if sent, ok := entry.Get("item_id"); ok {
		e.sent = *sent
	}
	if e.id, e.fault = items.parseBatchItemID(&e.sent); e.fault == nil && e.id < 1 {
		unknown := items.Dialect.Fault(contract.ItemUnknown, e.id)
		e.fault = &unknown
	}
	return e
}

// batchUpdate returns the update of an entry, whose faults are the error of its Change.
func (items *StockItems) batchUpdate(entry *codec.Node, id int64) adapter.UpdateParams {
	return adapter.UpdateParams{Key: adapter.Key(id), Change: func(current adapter.Record) (adapter.Record, error) {
		change := items.Rules.parseBatchEntry(entry)
		switch {
		case len(change.Faults) > 0:
			return adapter.Record{}, change.Faults
		case len(change.Values) == 0:
			return adapter.NewRecord(current.Schema), nil
		}
		return items.Rules.Apply(change, current), nil
	}}
}

// saveBatch saves items in one transaction if the backend can do so, and one by one otherwise. It
// returns the failure of each, or an error if the call has been canceled or has timed out, or the
// backend is unavailable, or takes no changes, and nothing has been saved.
func (items *StockItems) saveBatch(ctx context.Context, c *resource.Call, updates []adapter.UpdateParams) (failures []error, err error) {
	if len(updates) == 0 {
		return nil, nil
	}
	failures, err = adapter.UpdateBatch(ctx, items.Store, updates)
	switch {
	case err == nil:
		return failures, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case adapter.KindOf(err) == adapter.Unavailable:
		return nil, err
	case adapter.KindOf(err) != adapter.Unsupported:
		resource.LogFailure(ctx, items.log, c.Name(), "call failed", err)
		return slices.Repeat([]error{errNotSaved}, len(updates)), nil
	}
	failures, saved := make([]error, len(updates)), false
	for i := range updates {
		err := items.Store.Update(ctx, &updates[i])
		switch {
		case err == nil:
			saved = true
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !saved && slices.Contains([]adapter.ErrorKind{adapter.Unavailable, adapter.Unsupported}, adapter.KindOf(err)):
			return nil, err
		}
		failures[i] = err
	}
	return failures, nil
}

// errNotSaved is the failure of each item of a batch that failed as a whole, which is in the log.
var errNotSaved = errors.New("the batch was not saved")

// addOutcome adds the outcome of an entry to batch.
func (items *StockItems) addOutcome(ctx context.Context, c *resource.Call, e *batchEntry, failure error, batch *resource.Batch) {
	var refused contract.Faults
	switch {
	case failure == nil:
		batch.Succeed(resource.IntegerNode(items.Dialect, e.id), items.Dialect.Fault(contract.ItemUpdated))
	case errors.As(failure, &refused):
		for _, fault := range refused {
			batch.Fail(e.sent, fault)
		}
	case adapter.KindOf(failure) == adapter.NotFound:
		batch.Fail(e.sent, items.Dialect.Fault(contract.ItemUnknown, e.id))
	default:
		if !errors.Is(failure, errNotSaved) {
			resource.LogFailure(ctx, items.log, c.Name(), "call failed", failure)
		}
		batch.Fail(e.sent, items.Dialect.Fault(contract.InternalError))
	}
}

// parseBatchItemID returns the item_id of a batch entry: the integer part of any number
// (stock_orders 2.4).
func (items *StockItems) parseBatchItemID(n *codec.Node) (int64, *contract.Fault) {
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
