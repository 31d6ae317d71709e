package handlers

import (
	"context"
	"log/slog"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// StockItems is the resource behind /stockitems (stock_orders 2).
type StockItems struct {
	resource.Resource
	Rules     stockRules
	batchLock BatchLock
	log       *slog.Logger
}

// A BatchLock serializes the batch updates of a process: overlapping batches have the same
// result as some sequence of them, also where the backend knows no batches. A backend with
// batches orders the batches of all processes. A channel lets a caller wait no longer than
// its context.
type BatchLock chan struct{}

// NewBatchLock returns a lock that is free.
func NewBatchLock() BatchLock { return make(BatchLock, 1) }

// NewStockItems returns the handler of stock items. now returns the current time. Batch updates hold
// batches.
func NewStockItems(d *contract.Dialect, fields *contract.Fields, backend *resource.Backend, settings StockSettings, now func() time.Time, batches BatchLock, log *slog.Logger) (*StockItems, error) {
	base, err := resource.NewResource(d, fields.StockItems, backend, adapter.StockItems)
	if err != nil {
		return nil, err
	}
	items := &StockItems{Resource: base, batchLock: batches, log: log}
	items.Rules = newStockRules(&items.Resource, settings, now)
	return items, nil
}

// GetStockItem handles GET /stockitems/:id.
func (items *StockItems) GetStockItem(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	key, err := resource.ParseTruncatedKey(items.Dialect, c.Param("id"))
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
func (items *StockItems) ListStockItems(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	return items.AnswerList(ctx, c, 0)
}
