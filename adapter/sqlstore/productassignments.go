package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// assignments is the store of the assignments of products to websites or to categories.
// Creating or deleting an assignment also saves the product in the default scope.
type assignments struct {
	*store
	target    string // attribute with the id of the website or the category
	targetSQL string // finds the website or the category
}

func newAssignments(db *DB, r, to adapter.Resource) assignments {
	s := assignments{store: newStore(db, db.table(r))}
	s.target = s.table.unique[len(s.table.unique)-1]
	t := db.table(to)
	sb := db.engine.flavor.NewSelectBuilder()
	s.targetSQL, _ = sb.Select("1").From(t.name).Where(sb.Equal(t.keyColumn(), nil)).Build()
	return s
}

var (
	errNoTarget = errors.New("no such record")
	errForeign  = errors.New("the store view belongs to another website")
)

// firstPosition is the position of a product in a category unless the caller chooses
// one.
const firstPosition = 1

// Create assigns a product to a website or a category.
func (s assignments) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	op := "create " + string(s.table.schema.Resource)
	var key adapter.Key
	err := s.db.products.save(ctx, op, func(tx *productTx) error {
		if err := runCheck(p.Check); err != nil {
			return err
		}
		product, err := tx.lockProduct(ctx, adapter.Key(p.Record.Get("product_id").Int()), 0)
		if errors.Is(err, sql.ErrNoRows) {
			err = s.invalid(op, "product_id", errProduct)
		}
		if err != nil {
			return err
		}
		key, err = s.createAssignment(ctx, tx, op, product, p.Record)
		return err
	})
	if err != nil {
		return 0, err
	}
	return key, nil
}

func (s assignments) invalid(op, field string, err error) error {
	return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: field, Err: err}
}

// createAssignment stores an assignment of a locked product, together with the copies
// of values that it asks for.
func (s assignments) createAssignment(ctx context.Context, tx *productTx, op string, product, r adapter.Record) (adapter.Key, error) {
	r = r.Clone()
	if at, ok := s.table.schema.Index("position"); ok && r.Values[at].Kind() == adapter.Absent {
		r.Values[at] = adapter.IntegerValue(firstPosition)
	}
	copies, err := s.extractCopies(op, r)
	if err != nil {
		return 0, err
	}
	there, err := tx.rowExists(ctx, s.targetSQL, r.Get(s.target).Int())
	if err == nil && !there {
		err = s.invalid(op, s.target, errNoTarget)
	}
	if err != nil {
		return 0, err
	}
	if err := s.checkCopies(ctx, tx, op, r, copies.entries); err != nil {
		return 0, err
	}
	tx.executed = append(tx.executed, s.insertSQL)
	key, err := s.create(ctx, tx.tx, op, r)
	if err != nil {
		return 0, err
	}
	for _, entry := range copies.entries {
		if err := tx.copyStoreView(ctx, product, entry.Get("store_from").Int(), entry.Get("store_to").Int(), copies.ofWebsite); err != nil {
			return 0, err
		}
	}
	return key, tx.finishPartSave(ctx, keyOf(product), 0, 0)
}

// requestedCopies are the values that an assignment copies from store view to store
// view.
type requestedCopies struct {
	entries   []adapter.Record // each with store_from and store_to
	ofWebsite bool             // copy values of website scope as well
}

// extractCopies removes the attributes that are not stored from r and returns the
// copies they ask for.
func (s assignments) extractCopies(op string, r adapter.Record) (requestedCopies, error) {
	var copies requestedCopies
	for i, a := range s.table.schema.Attributes {
		if !a.WriteOnly {
			continue
		}
		v := r.Values[i]
		r.Values[i] = adapter.Value{}
		switch {
		case v.Kind() == adapter.Absent:
		case a.Nested != nil && v.Kind() == adapter.Records:
			copies.entries = v.Records()
		case a.Nested == nil && v.Kind() == adapter.Integer:
			copies.ofWebsite = v.Int() == 1
		default:
			return copies, s.invalid(op, a.Name, errKind)
		}
	}
	return copies, nil
}

// checkCopies allows copies only from store views of the product's websites, and only
// to those of the website that the product is assigned to.
func (s assignments) checkCopies(ctx context.Context, tx *productTx, op string, r adapter.Record, entries []adapter.Record) error {
	if len(entries) == 0 {
		return nil
	}
	sources, err := tx.queryIDs(ctx, "SELECT store.store_id FROM store JOIN product_website ON product_website.website_id = store.website_id WHERE product_website.product_id = ?", r.Get("product_id").Int())
	if err != nil {
		return err
	}
	targets, err := tx.queryIDs(ctx, "SELECT store_id FROM store WHERE website_id = ?", r.Get(s.target).Int())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains(sources, entry.Get("store_from").Int()) || !slices.Contains(targets, entry.Get("store_to").Int()) {
			return s.invalid(op, "copies", errForeign)
		}
	}
	return nil
}

// Update fails with kind Unsupported.
func (s assignments) Update(context.Context, *adapter.UpdateParams) error {
	return s.unsupported("update")
}

// Delete removes an assignment of a product. Like Create it locks the product first; an
// assignment never changes its product.
func (s assignments) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete %s %d", s.table.schema.Resource, p.Key)
	seen, err := s.Get(ctx, &adapter.GetParams{Key: p.Key, OwnerID: p.OwnerID})
	if err != nil {
		return err
	}
	product := adapter.Key(seen.Get("product_id").Int())
	return s.db.products.save(ctx, op, func(tx *productTx) error {
		if _, err := tx.lockProduct(ctx, product, 0); err != nil {
			return err
		}
		tx.executed = append(tx.executed, s.lockSQL)
		current, err := s.lockRecord(ctx, tx.tx, p.Key)
		if err == nil && current.Get("product_id").Int() != int64(product) {
			err = sql.ErrNoRows // Reset has given the key to another assignment
		}
		if err != nil {
			return err
		}
		if err := runRecordCheck(p.Check, current); err != nil {
			return err
		}
		if err := tx.exec(ctx, s.deleteSQL, int64(p.Key)); err != nil {
			return err
		}
		return tx.finishPartSave(ctx, product, 0, 0)
	})
}
