package rules

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// stockItems writes stock items, which are created and deleted with their products.
type stockItems struct{ readOnly }

// Update changes one stock item.
func (w stockItems) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := w.updateOp(p)
	return w.writeMirrored(ctx, op, func(tx Tx, mirror *mirroredWrite) error {
		current, change, err := w.lockForChange(ctx, tx, p)
		if err != nil {
			return err
		}
		next, err := changeItem(ctx, tx, op, current, change)
		if err != nil {
			return err
		}
		mirror.changed(current, current, next, 0)
		return nil
	})
}

// UpdateBatch changes several stock items in one transaction. It locks all of them first, in the
// order of their keys, so that batches which overlap wait for each other and never for both.
func (w stockItems) UpdateBatch(ctx context.Context, batch []adapter.UpdateParams) ([]error, error) {
	keys := make([]adapter.Key, len(batch))
	for i := range batch {
		keys[i] = batch[i].Key
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	failures := make([]error, len(batch))
	op := fmt.Sprintf("update %d %s", len(keys), w.schema.Resource)
	err := w.writeMirroredEach(ctx, op, func(tx Tx, mirrorOf func(adapter.Key) *mirroredWrite) error {
		clear(failures) // the transaction may be repeated
		locked, err := w.lockAll(ctx, tx, keys)
		if err != nil {
			return err
		}
		for i := range batch {
			if failures[i], err = w.updateOne(ctx, tx, &batch[i], locked, mirrorOf(batch[i].Key)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return failures, nil
}

// lockAll locks stock items and returns the existing ones. It needs one statement to lock and one to read
// them.
func (w stockItems) lockAll(ctx context.Context, tx Tx, keys []adapter.Key) (map[adapter.Key]adapter.Record, error) {
	if _, err := tx.Keys(ctx, w.schema.Resource, keys, true); err != nil {
		return nil, err
	}
	values := make([]adapter.Value, len(keys))
	for i, key := range keys {
		values[i] = adapter.IntegerValue(int64(key))
	}
	found, err := tx.Find(ctx, w.schema.Resource, w.schema.Key, values)
	locked := make(map[adapter.Key]adapter.Record, len(found))
	for _, item := range found {
		locked[item.Key()] = item
	}
	return locked, err
}

// updateOne changes one stock item of a batch, and removes it from locked, which holds the stock items that
// have not been changed yet. An err ends the whole transaction.
func (w stockItems) updateOne(ctx context.Context, tx Tx, p *adapter.UpdateParams, locked map[adapter.Key]adapter.Record, mirror *mirroredWrite) (failure, err error) {
	var change adapter.Record
	current, first := locked[p.Key]
	delete(locked, p.Key)
	if first {
		change, err = p.RunChange(current)
	} else {
		current, change, err = w.lockForChange(ctx, tx, p)
	}
	if _, refused := errors.AsType[*adapter.RefusedError](err); refused || isNotFound(err) {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	var next adapter.Record
	failure, err = tx.Try(ctx, func() (err error) {
		next, err = changeItem(ctx, tx, w.updateOp(p), current, change)
		return err
	})
	if failure == nil && err == nil {
		mirror.changed(current, current, next, 0)
	}
	return failure, err
}

// updateOp returns the operation for errors.
func (w stockItems) updateOp(p *adapter.UpdateParams) string {
	return fmt.Sprintf("update %s %d", w.schema.Resource, p.Key)
}

// lockForChange locks a stock item and returns it with its change.
func (w stockItems) lockForChange(ctx context.Context, tx Tx, p *adapter.UpdateParams) (current, change adapter.Record, err error) {
	if current, err = w.lock(ctx, tx, p.Key, p.OwnerID); err == nil {
		change, err = p.RunChange(current)
	}
	return current, change, err
}

// changeItem stores the change of a locked stock item, and its consequences. It returns the resulting record.
func changeItem(ctx context.Context, tx Tx, op string, current, change adapter.Record) (next adapter.Record, err error) {
	next, err = update(ctx, tx, op, current, change)
	if err != nil || !changesSale(current, next) {
		return next, err
	}
	// A save of the product, which may make it listed, must not miss the new stock.
	product, err := tx.Lock(ctx, adapter.Products, adapter.Key(current.Get("product_id").Int()))
	if err != nil {
		return next, err
	}
	if err := dropStockStatusAt(ctx, tx, product, 0); err != nil {
		return next, err
	}
	if err := restockComposites(ctx, tx, product); err != nil {
		return next, err
	}
	return next, tx.Restocked(ctx, product.Key())
}

// stockID is the id of the only stock.
const stockID = 1

var errNoStock = errors.New("the product has no stock item")

// createStock stores the stock item of a new product.
func createStock(ctx context.Context, tx Tx, op string, product adapter.Key, given adapter.Value) error {
	item, err := onlyStockItem(op, given)
	if err != nil {
		return err
	}
	for i, a := range item.Schema.Attributes {
		if a.ReadOnly && item.Values[i].Kind() != adapter.Absent {
			return Invalid(op, a.Name, ErrReadOnly)
		}
	}
	item = item.Clone()
	item.Set("product_id", adapter.IntegerValue(int64(product)))
	item.Set("stock_id", adapter.IntegerValue(stockID))
	if err := Canonicalize(op, item); err != nil {
		return err
	}
	if err := CheckRequired(op, item); err != nil {
		return err
	}
	_, err = tx.Insert(ctx, item)
	return err
}

// updateStock changes the stock item of a product. mirror collects the changes that other systems are to
// repeat.
func updateStock(ctx context.Context, tx Tx, op string, product adapter.Record, given adapter.Value, mirror *mirroredWrite) error {
	change, err := onlyStockItem(op, given)
	if err != nil {
		return err
	}
	locked, err := tx.At(ctx, product, 0, "stock_item")
	if err != nil {
		return err
	}
	items := locked.Get("stock_item").Records()
	if len(items) == 0 {
		return Invalid(op, "stock_item", errNoStock)
	}
	next, err := update(ctx, tx, op, items[0], change)
	if err != nil {
		return err
	}
	mirror.changed(items[0], items[0], next, 0)
	if !changesSale(items[0], next) {
		return nil
	}
	if err := dropStockStatusAt(ctx, tx, product, 0); err != nil {
		return err
	}
	return restockComposites(ctx, tx, product)
}

// onlyStockItem returns the only record in a value of stock_item.
func onlyStockItem(op string, v adapter.Value) (adapter.Record, error) {
	if v.Kind() != adapter.Records || len(v.Records()) != 1 {
		return adapter.Record{}, Invalid(op, "stock_item", fmt.Errorf("%w: want one record", ErrKind))
	}
	return v.Records()[0], nil
}

// The stock status of a product determines whether a website sells it. An import stores the
// status that another system computed from the product's status, its stock item and, for
// composite products, its parts. A client's write that changes the status or the stock item,
// or assigns the product to a website, therefore removes the stored one, so that it follows
// from the stock item. The stock status of composite products is computed again if their components
// are known (composites.go), and stays otherwise.

// dropStockStatus removes the stock status that a product has at some store views.
func dropStockStatus(ctx context.Context, tx Tx, product adapter.Record, views []int64) error {
	if !slices.Contains([]string{"simple", "virtual", "downloadable"}, product.Get("type_id").Text()) {
		return nil
	}
	values := adapter.NewRecord(product.Schema)
	values.Set("stock_status", adapter.UnsetValue())
	return replaceValues(ctx, tx, product.Key(), views, values)
}

// dropStockStatusAt removes the stock status of a product at the websites of a scope: at all
// websites for the default scope, at one for a store view.
func dropStockStatusAt(ctx context.Context, tx Tx, product adapter.Record, level int64) error {
	if level != 0 {
		views, err := siblingViews(ctx, tx, level)
		if err != nil {
			return err
		}
		return dropStockStatus(ctx, tx, product, views)
	}
	all, err := tx.StoreViews(ctx)
	if err != nil {
		return err
	}
	views := make([]int64, len(all))
	for i, v := range all {
		views[i] = v.ID
	}
	return dropStockStatus(ctx, tx, product, views)
}

// changesSale reports whether a change of a stock item may change whether its product can be
// bought.
func changesSale(before, after adapter.Record) bool {
	return slices.ContainsFunc(StockFlags(), func(name string) bool { return !Same(after.Get(name), before.Get(name)) })
}

// StockFlags names the attributes of a stock item that decide whether its product is in stock.
func StockFlags() []string {
	return []string{"is_in_stock", "manage_stock", "use_config_manage_stock"}
}
