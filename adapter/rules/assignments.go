package rules

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// assignments writes the assignments of products to websites or to categories, the
// targets. Creating or deleting an assignment also saves the product in the default scope.
type assignments struct {
	readOnly
	targets adapter.Resource
}

var (
	errNoTarget = errors.New("no such record")
	errForeign  = errors.New("the store view belongs to another website")
)

// firstPosition is the position of a product in a category unless the caller chooses one.
const firstPosition = 1

// Create assigns a product to a website or a category.
func (w assignments) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	op := "create " + string(w.schema.Resource)
	return w.writeNew(ctx, op, func(tx Tx) (adapter.Key, error) {
		if err := p.RunCheck(); err != nil {
			return 0, err
		}
		product, err := lockProduct(ctx, tx, adapter.Key(p.Record.Get("product_id").Int()), 0)
		if isNotFound(err) {
			err = Invalid(op, "product_id", errNoProduct)
		}
		if err != nil {
			return 0, err
		}
		return w.create(ctx, tx, op, product, p.Record)
	})
}

// target names the attribute with the key of the target.
func (w assignments) target() string { return w.schema.Unique[len(w.schema.Unique)-1] }

// create stores an assignment of a locked product, together with the copies of values that
// r requests.
func (w assignments) create(ctx context.Context, tx Tx, op string, product, r adapter.Record) (adapter.Key, error) {
	r = r.Clone()
	if at, ok := w.schema.Index("position"); ok && r.Values[at].Kind() == adapter.Absent {
		r.Values[at] = adapter.IntegerValue(firstPosition)
	}
	copies, err := w.extractCopies(op, r)
	if err != nil {
		return 0, err
	}
	target := r.Get(w.target()).Int()
	if _, err := tx.Get(ctx, w.targets, adapter.Key(target)); err != nil {
		if isNotFound(err) {
			err = Invalid(op, w.target(), errNoTarget)
		}
		return 0, err
	}
	if err := checkCopies(ctx, tx, op, product.Key(), target, copies.entries); err != nil {
		return 0, err
	}
	key, err := insert(ctx, tx, op, r)
	if err != nil {
		return 0, err
	}
	for _, entry := range copies.entries {
		if err := copyStoreView(ctx, tx, op, product, entry.Get("store_from").Int(), entry.Get("store_to").Int(), copies.ofWebsite); err != nil {
			return 0, err
		}
	}
	if w.targets == adapter.Websites {
		views, err := tx.StoreViews(ctx)
		if err == nil {
			err = dropStockStatus(ctx, tx, product, ViewsOf(views, target))
		}
		if err == nil {
			err = restockComposites(ctx, tx, product)
		}
		if err != nil {
			return 0, err
		}
	}
	return key, finishPartSave(ctx, tx, product, 0, 0)
}

// requestedCopies are the values that an assignment copies from store view to store view.
type requestedCopies struct {
	entries   []adapter.Record // each with store_from and store_to
	ofWebsite bool             // copy values of website scope as well
}

// extractCopies removes the attributes that are not stored from r and returns the
// requested copies.
func (w assignments) extractCopies(op string, r adapter.Record) (requestedCopies, error) {
	var copies requestedCopies
	for i, a := range w.schema.Attributes {
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
			return copies, Invalid(op, a.Name, ErrKind)
		}
	}
	return copies, nil
}

// checkCopies allows copies only from store views of the product's websites, and only to
// store views of the website that the product is assigned to.
func checkCopies(ctx context.Context, tx Tx, op string, product adapter.Key, website int64, entries []adapter.Record) error {
	if len(entries) == 0 {
		return nil
	}
	websites, err := tx.Websites(ctx, product)
	if err != nil {
		return err
	}
	all, err := tx.StoreViews(ctx)
	if err != nil {
		return err
	}
	sources, targets := ViewsOf(all, websites...), ViewsOf(all, website)
	for _, entry := range entries {
		if !slices.Contains(sources, entry.Get("store_from").Int()) || !slices.Contains(targets, entry.Get("store_to").Int()) {
			return Invalid(op, "copies", errForeign)
		}
	}
	return nil
}

// Delete removes an assignment of a product. Assignments have no owner, so an OwnerID
// other than 0 finds none.
func (w assignments) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	op := fmt.Sprintf("delete %s %d", w.schema.Resource, p.Key)
	return w.writeMirrored(ctx, op, func(tx Tx, mirror *mirroredWrite) error {
		seen, err := tx.Get(ctx, w.schema.Resource, p.Key)
		if err != nil {
			return err
		}
		product, err := lockProduct(ctx, tx, adapter.Key(seen.Get("product_id").Int()), p.OwnerID)
		if err != nil {
			return err
		}
		current, err := tx.Lock(ctx, w.schema.Resource, p.Key)
		if err == nil && !current.Get("product_id").Equal(seen.Get("product_id")) { // the database was reset
			err = &adapter.Error{Kind: adapter.NotFound, Op: op}
		}
		if err != nil {
			return err
		}
		if err := p.RunCheck(current); err != nil {
			return err
		}
		if err := tx.Delete(ctx, w.schema.Resource, p.Key); err != nil {
			return err
		}
		mirror.removed(current, 0, true)
		if w.targets == adapter.Websites {
			if err := restockComposites(ctx, tx, product); err != nil {
				return err
			}
		}
		return finishPartSave(ctx, tx, product, 0, 0)
	})
}
