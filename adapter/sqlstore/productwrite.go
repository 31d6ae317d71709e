package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// Create stores a new product with its prices and its stock item. The values are those
// of the default scope.
func (s products) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	const op = "create products"
	var key adapter.Key
	err := s.save(ctx, op, func(tx *productTx) error {
		if err := runCheck(p.Check); err != nil {
			return err
		}
		var err error
		key, err = tx.createProduct(ctx, op, p.Record)
		return err
	})
	if err != nil {
		return 0, err
	}
	return key, nil
}

func (s *productTx) createProduct(ctx context.Context, op string, r adapter.Record) (adapter.Key, error) {
	if err := s.checkSKU(ctx, op, 0, r.Get("sku")); err != nil {
		return 0, err
	}
	s.executed = append(s.executed, s.products.insertSQL)
	key, err := s.products.create(ctx, s.tx, op, s.products.withoutParts(r))
	if err != nil {
		return 0, err
	}
	if err := s.setPriceLists(ctx, op, key, r); err != nil {
		return 0, err
	}
	if item := r.Values[s.products.stockItem]; item.Kind() != adapter.Absent {
		if err := s.createStock(ctx, op, key, item); err != nil {
			return 0, err
		}
	}
	if err := s.initPointers(ctx, key); err != nil {
		return 0, err
	}
	return key, s.finishSave(ctx, key, 0, 0)
}

// withoutParts returns r without the attributes that tables of their own hold.
func (s products) withoutParts(r adapter.Record) adapter.Record {
	row := r.Clone()
	for _, at := range []int{s.groupPrice, s.tierPrice, s.stockItem} {
		row.Values[at] = adapter.Value{}
	}
	return row
}

// setPriceLists stores the price lists that r has.
func (s *productTx) setPriceLists(ctx context.Context, op string, key adapter.Key, r adapter.Record) error {
	for _, list := range priceLists() {
		if v := r.Get(list.attribute); v.Kind() != adapter.Absent {
			if err := s.setPrices(ctx, op, key, list, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// Update changes one product at a store view, or in the default scope at level 0.
func (s products) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update products %d", p.Key)
	wanted, err := s.requestedParts(&adapter.Query{}, p.With)
	if err != nil {
		return err
	}
	if wanted.image {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op, Field: "image_file"}
	}
	withStock := wanted.stockItem
	wanted.stockItem = false // read below, with a lock
	return s.save(ctx, op, func(tx *productTx) error {
		stored, err := tx.lockProduct(ctx, p.Key, p.OwnerID)
		if err != nil {
			return err
		}
		shown := []adapter.Record{stored.Clone()}
		err = s.addParts(ctx, tx.query, shown, wanted, &adapter.ListParams{StoreID: p.StoreID})
		if err == nil && withStock {
			err = s.addStock(ctx, tx.query, shown, s.db.engine.lockClause)
		}
		if err != nil {
			return err
		}
		change, err := p.Change(shown[0].Clone())
		if err != nil {
			return &callerError{err}
		}
		if err := tx.updateProduct(ctx, op, stored, change, p.StoreID); err != nil {
			return err
		}
		return tx.finishSave(ctx, p.Key, p.StoreID, 0)
	})
}

// updateProduct stores the change of a product at a level. At a store view, the values
// of store view and website scope go to the value tables and the others to the default
// scope.
func (s *productTx) updateProduct(ctx context.Context, op string, stored, change adapter.Record, storeID int64) error {
	key := keyOf(stored)
	if sku := change.Get("sku"); sku.Kind() != adapter.Absent {
		if err := s.checkSKU(ctx, op, key, sku); err != nil {
			return err
		}
	}
	global := s.products.withoutParts(change)
	if storeID != 0 {
		ofView, ofWebsite := valuesByScope(change)
		for _, at := range append(ofView, ofWebsite...) {
			global.Values[at] = adapter.Value{}
		}
		if err := s.setValues(ctx, key, storeID, change); err != nil {
			return err
		}
	}
	text, err := s.products.updateRow(ctx, s.tx, op, key, stored, global)
	if err != nil {
		return err
	}
	s.executed = append(s.executed, text)
	if err := s.setPriceLists(ctx, op, key, change); err != nil {
		return err
	}
	if item := change.Values[s.products.stockItem]; item.Kind() != adapter.Absent {
		return s.updateStock(ctx, op, stored, item)
	}
	return nil
}

// Delete deletes one product. Foreign keys make the database delete the rows that refer to
// it. Kinds: NotFound, and the error of p.Check.
func (s products) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete products %d", p.Key)
	return s.save(ctx, op, func(tx *productTx) error {
		product, err := tx.lockProduct(ctx, p.Key, p.OwnerID)
		if err != nil {
			return err
		}
		if err := runRecordCheck(p.Check, product); err != nil {
			return err
		}
		return tx.exec(ctx, s.deleteSQL, int64(p.Key))
	})
}

// checkSKU fails with kind Conflict when another product has the SKU. No unique index
// can decide that: blanks and tabs around a new SKU do not count, those of a stored one
// do (products 4, sku). So transactions that store a SKU run one after the other.
func (s *productTx) checkSKU(ctx context.Context, op string, key adapter.Key, sku adapter.Value) error {
	if err := s.lockNamed(ctx, "sku"); err != nil {
		return err
	}
	wanted := adapter.Fold(strings.Trim(sku.Text(), " \t"))
	rows, err := s.query(ctx, "SELECT entity_id FROM product WHERE sku_folded = ? AND entity_id <> ? LIMIT 1", wanted, int64(key))
	if err != nil {
		return err
	}
	var other int64
	switch err := scanOne(rows, &other); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	default:
		return &adapter.Error{Kind: adapter.Conflict, Op: op, Field: "sku", Err: fmt.Errorf("product %d has it", other)}
	}
}
