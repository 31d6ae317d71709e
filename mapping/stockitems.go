package mapping

import (
	"context"
	"errors"
	"math"
	"net/http"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// stockItems is the resource behind /stockitems (stock_orders 2).
type stockItems struct {
	resource
	rules stockRules
	// batchLock serializes batch updates: overlapping batches have the same result as
	// some sequence of them. A channel lets a caller wait no longer than its context.
	batchLock chan struct{}
}

func newStockItems(d *contract.Dialect, fields *contract.Fields, backend *invalidatingAdapter, schemas *adapter.Schemas, settings Settings) (*stockItems, error) {
	base, err := newResource(d, fields.StockItems, backend, schemas, adapter.StockItems)
	if err != nil {
		return nil, err
	}
	items := &stockItems{resource: base, batchLock: make(chan struct{}, 1)}
	items.rules = newStockRules(&items.resource, settings)
	return items, nil
}

// getStockItem handles GET /stockitems/:id.
func (s *Service) getStockItem(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.parseTruncatedKey(c.Param("id"))
	if err != nil {
		return nil, err
	}
	rec, err := s.stock.store.Get(ctx, &adapter.GetParams{Key: key})
	if err != nil {
		return nil, err
	}
	return s.stock.singleReply(c, rec)
}

// listStockItems handles GET /stockitems.
func (s *Service) listStockItems(ctx context.Context, c *Call) (*Reply, error) {
	return s.stock.answerList(ctx, c, 0, s.limits)
}

// updateStockItem handles PUT /stockitems/:id. It looks up the record before it checks
// the fields, so an unknown id is a 404 whatever the body holds.
func (s *Service) updateStockItem(ctx context.Context, c *Call) (*Reply, error) {
	key, err := s.parseTruncatedKey(c.Param("id"))
	if err != nil {
		return nil, err
	}
	change := s.stock.rules.parseRecord(&c.Body)
	reference, err := s.stock.resolveItemID(ctx, key, &c.Body)
	if err != nil {
		return nil, err
	}
	err = s.stock.store.Update(ctx, &adapter.UpdateParams{Key: key, Change: func(current adapter.Record) (adapter.Record, error) {
		switch {
		case len(change.faults) > 0:
			return adapter.Record{}, append(change.faults, s.dialect.Fault(contract.PreValidation))
		case reference == otherItem:
			return adapter.Record{}, s.dialect.Fault(contract.InternalError)
		case reference == noItem:
			return adapter.NewRecord(current.Schema), nil
		}
		return s.stock.rules.apply(change, current), nil
	}})
	if err != nil {
		return nil, err
	}
	return &Reply{}, nil
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
func (items *stockItems) resolveItemID(ctx context.Context, key adapter.Key, body *codec.Node) (itemReference, error) {
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
	whole := toInt64(value)
	if whole < 1 {
		return noItem, nil
	}
	_, err := items.store.Get(ctx, &adapter.GetParams{Key: adapter.Key(whole)})
	switch {
	case err == nil:
		return otherItem, nil
	case adapter.KindOf(err) == adapter.NotFound:
		return noItem, nil
	default:
		return noItem, err
	}
}

// updateStockItems handles PUT /stockitems. It checks and saves the items one by one, in
// order; a failure neither stops nor undoes the others.
func (s *Service) updateStockItems(ctx context.Context, c *Call) (*Reply, error) {
	select {
	case s.stock.batchLock <- struct{}{}:
		defer func() { <-s.stock.batchLock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	batch := batchReply{idField: "item_id", successFirst: s.dialect.SuccessFirst}
	for i := range c.Body.Members {
		if err := s.updateBatchItem(ctx, c, &c.Body.Members[i].Value, &batch); err != nil {
			return nil, err
		}
	}
	if batch.crash != nil {
		return nil, *batch.crash
	}
	return &Reply{Status: http.StatusMultiStatus, Body: batch.body()}, nil
}

// updateBatchItem checks and saves one entry, and adds its outcome to batch. An error
// means that the call has been canceled or has timed out, or that the backend is
// unavailable and nothing has been saved. Then the whole call can be repeated.
func (s *Service) updateBatchItem(ctx context.Context, c *Call, entry *codec.Node, batch *batchReply) error {
	sent, ok := entry.Get("item_id")
	if !ok {
		sent = &codec.Node{}
	}
	id, fault := s.stock.parseBatchItemID(sent)
	if fault != nil {
		batch.fail(*sent, *fault)
		return nil
	}
	unknown := s.dialect.Fault(contract.ItemUnknown, id)
	if id < 1 {
		batch.fail(*sent, unknown)
		return nil
	}
	change := s.stock.rules.parseBatchEntry(entry)
	err := s.stock.store.Update(ctx, &adapter.UpdateParams{Key: adapter.Key(id), Change: func(current adapter.Record) (adapter.Record, error) {
		switch {
		case len(change.faults) > 0:
			return adapter.Record{}, change.faults
		case len(change.values) == 0:
			return adapter.NewRecord(current.Schema), nil
		}
		return s.stock.rules.apply(change, current), nil
	}})
	var refused contract.Faults
	switch {
	case err == nil:
		batch.succeed(id, s.dialect.Fault(contract.ItemUpdated))
	case errors.As(err, &refused):
		for _, fault := range refused {
			batch.fail(*sent, fault)
		}
	case adapter.KindOf(err) == adapter.NotFound:
		batch.fail(*sent, unknown)
	case ctx.Err() != nil:
		return ctx.Err()
	case adapter.KindOf(err) == adapter.Unavailable && !batch.succeeded():
		return err
	default:
		s.logFailure(ctx, c.Name(), "call failed", err)
		batch.fail(*sent, s.dialect.Fault(contract.InternalError))
	}
	return nil
}

// parseBatchItemID returns the item_id of a batch entry: the integer part of any number
// (stock_orders 2.4).
func (items *stockItems) parseBatchItemID(n *codec.Node) (int64, *contract.Fault) {
	key := contract.ItemIDInvalid
	whole, ok := integerPart(n)
	switch {
	case n.Kind == codec.Number && math.IsInf(numberLiteral(n), 0):
		key = contract.ItemIDInfinite
	case ok:
		return whole, nil
	case n.Kind == codec.Null:
		key = contract.ItemIDMissing
	case isEmptyValue(n):
		key = contract.ItemIDEmpty
	}
	fault := items.dialect.Fault(key)
	return 0, &fault
}

// parseKey parses an id in a path. One that is no id is not found.
func (s *Service) parseKey(id string) (adapter.Key, error) { return s.keyOrNotFound(numeric.ID(id)) }

// parseTruncatedKey is like parseKey, for calls where the original truncates a fractional
// id (wire 2).
func (s *Service) parseTruncatedKey(id string) (adapter.Key, error) {
	if s.dialect.TruncatesIDs {
		return s.keyOrNotFound(numeric.IDPart(id))
	}
	return s.parseKey(id)
}

func (s *Service) keyOrNotFound(n int64, ok bool) (adapter.Key, error) {
	if !ok {
		return 0, s.dialect.Fault(contract.NotFound)
	}
	return adapter.Key(n), nil
}
