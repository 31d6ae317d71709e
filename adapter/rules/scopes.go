package rules

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
)

// setValues stores the values of r at a store view, and the values of website scope at
// all store views of the website. A value Unset deletes the stored one.
func setValues(ctx context.Context, tx Tx, op string, product adapter.Key, view int64, r adapter.Record) error {
	views, err := siblingViews(ctx, tx, view)
	if err != nil {
		return err
	}
	ofView, ofWebsite, err := valuesByScope(op, r)
	if err != nil {
		return err
	}
	if err := replaceValues(ctx, tx, product, []int64{view}, ofView); err != nil {
		return err
	}
	return replaceValues(ctx, tx, product, views, ofWebsite)
}

// dropOwnValues deletes the values that store views have of their own for the attributes that a
// change of the default scope sets. A legacy store that has one store view does the same of itself, so
// nothing is mirrored.
func dropOwnValues(ctx context.Context, tx Tx, product adapter.Key, change adapter.Record) error {
	all, err := tx.StoreViews(ctx)
	if err != nil {
		return err
	}
	views := make([]int64, len(all))
	for i, v := range all {
		views[i] = v.ID
	}
	own := scopedValues(change)
	for i := range own.Values {
		if own.Values[i].Kind() != adapter.Absent {
			own.Values[i] = adapter.UnsetValue()
		}
	}
	return replaceValues(ctx, tx, product, views, own)
}

// siblingViews returns all store views of the website of a store view.
func siblingViews(ctx context.Context, tx Tx, view int64) ([]int64, error) {
	all, err := tx.StoreViews(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		if v.ID == view {
			return ViewsOf(all, v.Website), nil
		}
	}
	return nil, Invalid("write at a store view", "store_id", ErrStoreView)
}

// websiteOf returns the website of a store view, 0 for the default scope.
func websiteOf(ctx context.Context, tx Tx, view int64) (int64, error) {
	if view == 0 {
		return 0, nil
	}
	all, err := tx.StoreViews(ctx)
	if err != nil {
		return 0, err
	}
	for _, v := range all {
		if v.ID == view {
			return v.Website, nil
		}
	}
	return 0, Invalid("write at a store view", "store_id", ErrStoreView)
}

// ViewsOf returns the store views of some websites.
func ViewsOf(all []StoreView, websites ...int64) []int64 {
	var views []int64
	for _, v := range all {
		for _, website := range websites {
			if v.Website == website {
				views = append(views, v.ID)
			}
		}
	}
	return views
}

// valuesByScope returns the values of r of store view scope and of website scope.
func valuesByScope(op string, r adapter.Record) (ofView, ofWebsite adapter.Record, err error) {
	ofView, ofWebsite = adapter.NewRecord(r.Schema), adapter.NewRecord(r.Schema)
	for at := range r.Schema.Attributes {
		a := &r.Schema.Attributes[at]
		if a.ReadOnly || a.Scope == adapter.ScopeGlobal {
			continue
		}
		v, err := a.Canonical(r.Values[at])
		if err != nil {
			return ofView, ofWebsite, Invalid(op, a.Name, err)
		}
		if a.Scope == adapter.ScopeStore {
			ofView.Values[at] = v
		} else {
			ofWebsite.Values[at] = v
		}
	}
	return ofView, ofWebsite, nil
}

// replaceValues is Tx.SetValues, unless there is nothing to do.
func replaceValues(ctx context.Context, tx Tx, product adapter.Key, views []int64, r adapter.Record) error {
	for _, v := range r.Values {
		if v.Kind() != adapter.Absent && len(views) > 0 {
			return tx.SetValues(ctx, product, views, r)
		}
	}
	return nil
}

// freezeValues stores at a store view the values that a product shows there, and the
// values of website scope at all store views of the website (product_parts 2.7), so that
// later changes of the default scope do not affect them.
func freezeValues(ctx context.Context, tx Tx, op string, product adapter.Record, view int64) error {
	shown, err := tx.At(ctx, product, view)
	if err != nil {
		return err
	}
	return setValues(ctx, tx, op, product.Key(), view, shown)
}

// copyStoreView copies the values that product and its images show from one store view
// to another (product_parts 3.5). With ofWebsite it also copies values of website scope,
// to all store views of the target's website.
func copyStoreView(ctx context.Context, tx Tx, op string, product adapter.Record, from, to int64, ofWebsite bool) error {
	shown, err := tx.At(ctx, product, from)
	if err != nil {
		return err
	}
	views, err := siblingViews(ctx, tx, to)
	if err != nil {
		return err
	}
	here, everywhere, err := valuesByScope(op, shown)
	if err != nil {
		return err
	}
	if err := replaceValues(ctx, tx, product.Key(), []int64{to}, here); err != nil {
		return err
	}
	if ofWebsite {
		if err := replaceValues(ctx, tx, product.Key(), views, everywhere); err != nil {
			return err
		}
	}
	return copyImages(ctx, tx, product.Key(), from, to)
}
