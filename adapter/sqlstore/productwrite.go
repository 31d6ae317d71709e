package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// Create stores a new product, its prices and its stock item, with values of the
// default scope.
func (s products) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	const op = "create products"
	var key adapter.Key
	err := s.save(ctx, op, func(tx *saving) error {
		if err := allow(p.Check); err != nil {
			return err
		}
		var err error
		key, err = tx.create(ctx, op, p.Record)
		return err
	})
	if err != nil {
		return 0, err
	}
	return key, nil
}

func (s *saving) create(ctx context.Context, op string, r adapter.Record) (adapter.Key, error) {
	if err := s.checkSKU(ctx, op, 0, r.Get("sku")); err != nil {
		return 0, err
	}
	s.texts = append(s.texts, s.products.insert)
	key, err := s.products.create(ctx, s.tx, op, s.products.row(r))
	if err != nil {
		return 0, err
	}
	if err := s.setParts(ctx, op, key, r); err != nil {
		return 0, err
	}
	if item := r.Values[s.products.stockItem]; item.Kind() != adapter.Absent {
		if err := s.createStock(ctx, op, key, item); err != nil {
			return 0, err
		}
	}
	if err := s.pointNowhere(ctx, key); err != nil {
		return 0, err
	}
	return key, s.settle(ctx, key, 0, 0)
}

// row returns r without what tables of its own hold.
func (s products) row(r adapter.Record) adapter.Record {
	row := r.Clone()
	for _, at := range []int{s.groupPrice, s.tierPrice, s.stockItem} {
		row.Values[at] = adapter.Value{}
	}
	return row
}

// setParts stores the lists of prices that r holds.
func (s *saving) setParts(ctx context.Context, op string, key adapter.Key, r adapter.Record) error {
	for _, list := range priceLists() {
		if v := r.Get(list.attribute); v.Kind() != adapter.Absent {
			if err := s.setPrices(ctx, op, key, list, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// Update saves one product at a level.
func (s products) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update products %d", p.Key)
	wanted, err := s.wanted(&adapter.Query{}, p.With)
	if err != nil {
		return err
	}
	if wanted.image {
		return &adapter.Error{Kind: adapter.Unsupported, Op: op, Field: "image_file"}
	}
	withStock := wanted.stockItem
	wanted.stockItem = false // it is locked when it is read
	return s.save(ctx, op, func(tx *saving) error {
		stored, err := tx.product(ctx, p.Key, p.OwnerID)
		if err != nil {
			return err
		}
		shown := []adapter.Record{stored.Clone()}
		err = s.addParts(ctx, tx.query, shown, wanted, &adapter.ListParams{StoreID: p.StoreID})
		if err == nil && withStock {
			err = s.addStock(ctx, tx.query, shown, s.db.engine.lock)
		}
		if err != nil {
			return err
		}
		change, err := p.Change(shown[0].Clone())
		if err != nil {
			return &callerError{err}
		}
		if err := tx.update(ctx, op, stored, change, p.StoreID); err != nil {
			return err
		}
		return tx.settle(ctx, p.Key, p.StoreID, 0)
	})
}

// update stores a change of a product at a level. Values that reach no further
// than the store view or its website are taken out of what the default scope
// gets.
func (s *saving) update(ctx context.Context, op string, stored, change adapter.Record, storeID int64) error {
	key := keyOf(stored)
	if sku := change.Get("sku"); sku.Kind() != adapter.Absent {
		if err := s.checkSKU(ctx, op, key, sku); err != nil {
			return err
		}
	}
	global := s.products.row(change)
	if storeID != 0 {
		ofView, ofWebsite := valuesByScope(change)
		for _, at := range append(ofView, ofWebsite...) {
			global.Values[at] = adapter.Value{}
		}
		if err := s.setValues(ctx, key, storeID, change); err != nil {
			return err
		}
	}
	text, err := s.products.write(ctx, s.tx, op, key, stored, global)
	if err != nil {
		return err
	}
	s.texts = append(s.texts, text)
	if err := s.setParts(ctx, op, key, change); err != nil {
		return err
	}
	if item := change.Values[s.products.stockItem]; item.Kind() != adapter.Absent {
		return s.updateStock(ctx, op, stored, item)
	}
	return nil
}

// Delete removes one product and what is its own. The database takes what refers
// to it.
func (s products) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete products %d", p.Key)
	return s.save(ctx, op, func(tx *saving) error {
		product, err := tx.product(ctx, p.Key, p.OwnerID)
		if err != nil {
			return err
		}
		if err := allowFor(p.Check, product); err != nil {
			return err
		}
		return tx.exec(ctx, s.remove, int64(p.Key))
	})
}

// checkSKU fails when a product other than that of key has the SKU. No index can
// tell: what is new counts without blanks and tabs around it, and what is stored
// as it is (products 4, sku). So the transactions that store a SKU take turns.
func (s *saving) checkSKU(ctx context.Context, op string, key adapter.Key, sku adapter.Value) error {
	if err := s.takeTurn(ctx, "sku"); err != nil {
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
