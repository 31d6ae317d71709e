package rules

import (
	"context"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// stockItems writes stock items, which are created and deleted with their products.
type stockItems struct{ readOnly }

// Update changes one stock item.
func (w stockItems) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update %s %d", w.schema.Resource, p.Key)
	return w.writeMirrored(ctx, op, func(tx Tx, mirror *mirroredWrite) error {
		current, err := w.lock(ctx, tx, p.Key, p.OwnerID)
		if err != nil {
			return err
		}
		change, err := runChange(p.Change, current)
		if err != nil {
			return err
		}
		next, err := update(ctx, tx, op, current, change)
		if err != nil {
			return err
		}
		mirror.changed(current, current, next, 0)
		if !changesSale(current, next) {
			return nil
		}
		// Only imports change what follows, so that the product need not be locked.
		product, err := tx.Get(ctx, adapter.Products, adapter.Key(current.Get("product_id").Int()))
		if err != nil {
			return err
		}
		return dropStockStatusAt(ctx, tx, product, 0)
	})
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

// updateStock changes the stock item of a product. mirror collects what other systems are to
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
	return dropStockStatusAt(ctx, tx, product, 0)
}

// onlyStockItem returns the only record in a value of stock_item.
func onlyStockItem(op string, v adapter.Value) (adapter.Record, error) {
	if v.Kind() != adapter.Records || len(v.Records()) != 1 {
		return adapter.Record{}, Invalid(op, "stock_item", fmt.Errorf("%w: want one record", ErrKind))
	}
	return v.Records()[0], nil
}
