package rules

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strings"
)

// products writes products with their prices and stock items.
type products struct{ records }

// Create stores a new product with its prices and its stock item. The values belong to the
// default scope.
func (w products) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	const op = "create products"
	return w.writeNew(ctx, op, func(tx Tx) (adapter.Key, error) {
		if err := p.RunCheck(); err != nil {
			return 0, err
		}
		return w.create(ctx, tx, op, p.Record)
	})
}

func (w products) create(ctx context.Context, tx Tx, op string, r adapter.Record) (adapter.Key, error) {
	if err := checkPriceLists(op, r); err != nil {
		return 0, err
	}
	if err := checkSKU(ctx, tx, op, 0, r); err != nil {
		return 0, err
	}
	key, err := insert(ctx, tx, op, WithoutParts(r))
	if err != nil {
		return 0, err
	}
	if _, err := setPriceLists(ctx, tx, op, key, adapter.NewRecord(w.schema), withoutKeys(r), 0); err != nil {
		return 0, err
	}
	if item := r.Get("stock_item"); item.Kind() != adapter.Absent {
		if err := createStock(ctx, tx, op, key, item); err != nil {
			return 0, err
		}
	}
	if err := initTypes(ctx, tx, key); err != nil {
		return 0, err
	}
	return key, finishSave(ctx, tx, key, 0, 0)
}

// WithoutParts returns r without the attributes that are not stored with the product
// itself.
func WithoutParts(r adapter.Record) adapter.Record {
	row := r.Clone()
	for i := range row.Values {
		if a := &r.Schema.Attributes[i]; !IsStored(a) {
			row.Values[i] = adapter.Value{}
		}
	}
	return row
}

// Update changes one product at a scope.
func (w products) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update products %d", p.Key)
	if slices.Contains(p.With, "image_file") {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op, Field: "image_file"}
	}
	return w.writeMirrored(ctx, op, func(tx Tx, mirror *mirroredWrite) error {
		stored, err := lockProduct(ctx, tx, p.Key, p.OwnerID)
		if err != nil {
			return err
		}
		shown, err := tx.At(ctx, stored, p.StoreID, p.With...)
		if err != nil {
			return err
		}
		change, err := p.RunChange(shown)
		if err != nil {
			return err
		}
		change = withoutSameReadOnly(change, shown)
		if err := moveRequestPaths(ctx, tx, stored, change, p.StoreID, p.Everywhere); err != nil {
			return err
		}
		if err := updateProduct(ctx, tx, op, stored, change, p.StoreID, mirror); err != nil {
			return err
		}
		if p.Everywhere {
			if err := dropOwnValues(ctx, tx, p.Key, change); err != nil {
				return err
			}
		}
		// A status that is set everywhere may differ from that of a store view alone.
		if status := change.Get("status"); status.Kind() != adapter.Absent && (p.Everywhere || !Same(status, shown.Get("status"))) {
			if err := dropStockStatusAt(ctx, tx, stored, p.StoreID); err != nil {
				return err
			}
			if err := restockComposites(ctx, tx, stored); err != nil {
				return err
			}
		}
		return finishSave(ctx, tx, p.Key, p.StoreID, 0)
	})
}

// updateProduct stores the change of a product at a scope. At a store view, the values of
// store view and website scope are stored there and the others at the default scope. mirror
// collects the changes that other systems are to repeat.
func updateProduct(ctx context.Context, tx Tx, op string, stored, change adapter.Record, level int64, mirror *mirroredWrite) error {
	if sku := change.Get("sku"); sku.Kind() != adapter.Absent {
		if err := checkSKU(ctx, tx, op, stored.Key(), change); err != nil {
			return err
		}
	}
	global := WithoutParts(change)
	if level != 0 {
		for at := range global.Values {
			if a := &change.Schema.Attributes[at]; a.Scope != adapter.ScopeGlobal && !a.ReadOnly {
				global.Values[at] = adapter.Value{}
			}
		}
		own, err := mirror.ownValues(ctx, stored, level)
		if err != nil {
			return err
		}
		if err := setValues(ctx, tx, op, stored.Key(), level, change); err != nil {
			return err
		}
		mirror.changed(stored, own, scopedValues(change), level)
	}
	next, err := update(ctx, tx, op, stored, global)
	if err != nil {
		return err
	}
	mirror.changed(stored, stored, next, 0)
	if err := checkPriceLists(op, change); err != nil {
		return err
	}
	if lists := ListsIn(change); len(lists) > 0 {
		priced, err := tx.At(ctx, stored, 0, lists...)
		if err != nil {
			return err
		}
		website, err := websiteOf(ctx, tx, level)
		if err != nil {
			return err
		}
		changed, err := setPriceLists(ctx, tx, op, stored.Key(), priced, withoutKeys(change), website)
		if err != nil {
			return err
		}
		mirror.pricesChanged(priced, changed)
	}
	if item := change.Get("stock_item"); item.Kind() != adapter.Absent {
		return updateStock(ctx, tx, op, stored, item, mirror)
	}
	return nil
}

// withoutSameReadOnly returns change without the read-only scoped values that equal the shown ones: a change
// may return the whole product that it was given.
func withoutSameReadOnly(change, shown adapter.Record) adapter.Record {
	rest := change.Clone()
	for i := range rest.Values {
		if a := &change.Schema.Attributes[i]; a.ReadOnly && a.Scope != adapter.ScopeGlobal && Same(rest.Values[i], shown.Values[i]) {
			rest.Values[i] = adapter.Value{}
		}
	}
	return rest
}

// scopedValues returns the values of a change that a store view can have of its own.
func scopedValues(change adapter.Record) adapter.Record {
	scoped := WithoutParts(change)
	for i := range scoped.Values {
		if change.Schema.Attributes[i].Scope == adapter.ScopeGlobal {
			scoped.Values[i] = adapter.Value{}
		}
	}
	return scoped
}

// Delete deletes one product and everything that belongs to it.
func (w products) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete products %d", p.Key)
	return w.writeMirrored(ctx, op, func(tx Tx, mirror *mirroredWrite) error {
		product, err := lockProduct(ctx, tx, p.Key, p.OwnerID)
		if err != nil {
			return err
		}
		if err := p.RunCheck(product); err != nil {
			return err
		}
		mirror.removed(product, 0, true)
		if err := tx.Delete(ctx, adapter.Products, p.Key); err != nil {
			return err
		}
		product.Set("components", adapter.Value{})
		return restockComposites(ctx, tx, product)
	})
}

// lockProduct locks a product and returns it with the values of the default scope.
// Products have no owner, so an ownerID other than 0 finds none.
func lockProduct(ctx context.Context, tx Tx, key adapter.Key, ownerID int64) (adapter.Record, error) {
	product, err := tx.Lock(ctx, adapter.Products, key)
	if err == nil && ownerID != 0 {
		err = &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("lock products %d of customer %d", key, ownerID)}
	}
	if err != nil {
		return adapter.Record{}, err
	}
	product.Set("default_url_key", product.Get("url_key"))
	return product, nil
}

// checkSKU fails with kind Conflict if another product has the SKU of r. No unique key can
// decide that: blanks and tabs around a new SKU do not count, but blanks and tabs around a
// stored one do (products 4, sku). Transactions that store a SKU therefore run one after
// the other.
func checkSKU(ctx context.Context, tx Tx, op string, key adapter.Key, r adapter.Record) error {
	if err := tx.LockName(ctx, "sku"); err != nil {
		return err
	}
	wanted := adapter.NewRecord(r.Schema)
	wanted.Set("sku", adapter.TextValue(strings.Trim(r.Get("sku").Text(), " \t")))
	other, err := tx.Other(ctx, wanted, key, "sku")
	if err == nil && other != 0 {
		err = &adapter.Error{Kind: adapter.Conflict, Op: op, Field: "sku", Err: fmt.Errorf("product %d has it", other)}
	}
	return err
}

// finishPartSave ends a save that changed parts of a product at a scope but not its row: it
// sets updated_at and calls finishSave.
func finishPartSave(ctx context.Context, tx Tx, product adapter.Record, level int64, except adapter.Key) error {
	change := adapter.NewRecord(product.Schema)
	change.Set("updated_at", Now())
	if err := tx.Update(ctx, product, change); err != nil {
		return err
	}
	return finishSave(ctx, tx, product.Key(), level, except)
}

// finishSave does the work that every save of a product at a scope requires: it stores the
// values that the images show at the scope, leaving out the image except (0 for none), and
// lets the database update the data that it derives from the product.
func finishSave(ctx context.Context, tx Tx, product adapter.Key, level int64, except adapter.Key) error {
	if err := freezeImages(ctx, tx, product, level, except); err != nil {
		return err
	}
	return tx.Saved(ctx, product)
}
