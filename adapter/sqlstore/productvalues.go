package sqlstore

import (
	"context"
	"errors"
	"slices"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// effectiveProduct returns a product, given with the values of the default scope, with
// the values of a store view.
func (s *productTx) effectiveProduct(ctx context.Context, product adapter.Record, storeID int64) (adapter.Record, error) {
	records := []adapter.Record{product.Clone()}
	err := s.products.addParts(ctx, s.query, records, requestedParts{}, &adapter.ListParams{StoreID: storeID})
	return records[0], err
}

// siblingViews returns all store views of the website of storeID.
func (s *productTx) siblingViews(ctx context.Context, storeID int64) ([]int64, error) {
	views, err := s.queryIDs(ctx, "SELECT store_id FROM store WHERE website_id = (SELECT website_id FROM store WHERE store_id = ?) ORDER BY store_id", storeID)
	if err == nil && len(views) == 0 {
		err = &adapter.Error{Kind: adapter.Invalid, Op: "write at a store view", Field: "store_id", Err: errStoreView}
	}
	return views, err
}

var errStoreView = errors.New("no such store view")

// setValues stores the values of change at a store view; those of website scope at all
// store views of the website. A value Unset deletes the stored one.
func (s *productTx) setValues(ctx context.Context, product adapter.Key, storeID int64, change adapter.Record) error {
	views, err := s.siblingViews(ctx, storeID)
	if err != nil {
		return err
	}
	ofView, ofWebsite := valuesByScope(change)
	if err := s.replaceValues(ctx, product, []int64{storeID}, change, ofView); err != nil {
		return err
	}
	return s.replaceValues(ctx, product, views, change, ofWebsite)
}

// valuesByScope returns the schema indexes of the values of r that are of store view
// and of website scope.
func valuesByScope(r adapter.Record) (ofView, ofWebsite []int) {
	for at, a := range r.Schema.Attributes {
		if a.ReadOnly || r.Values[at].Kind() == adapter.Absent {
			continue
		}
		switch a.Scope {
		case adapter.ScopeStore:
			ofView = append(ofView, at)
		case adapter.ScopeWebsite:
			ofWebsite = append(ofWebsite, at)
		}
	}
	return ofView, ofWebsite
}

// replaceValues replaces the values that store views have for some attributes by those
// of r.
func (s *productTx) replaceValues(ctx context.Context, product adapter.Key, views []int64, r adapter.Record, indexes []int) error {
	if len(indexes) == 0 || len(views) == 0 {
		return nil
	}
	names := make([]any, len(indexes))
	for i, place := range indexes {
		names[i] = r.Schema.Attributes[place].Name
	}
	sb := s.db.engine.flavor.NewDeleteBuilder().DeleteFrom("product_value")
	text, arguments := sb.Where(sb.Equal("product_id", int64(product)), sb.In("store_id", distinctArguments(views)...), sb.In("attribute", names...)).Build()
	// There are too many different statements to prepare them.
	if _, err := s.db.exec(ctx, s.tx, text, arguments...); err != nil {
		return err
	}
	ib := s.db.engine.flavor.NewInsertBuilder().InsertInto("product_value").Cols("product_id", "store_id", "attribute", "value", "value_folded")
	return s.insertValues(ctx, ib, product, views, r, indexes)
}

func (s *productTx) insertValues(ctx context.Context, ib *sqlbuilder.InsertBuilder, product adapter.Key, views []int64, r adapter.Record, indexes []int) error {
	some := false
	for _, place := range indexes {
		a, v := &r.Schema.Attributes[place], r.Values[place]
		if v.Kind() == adapter.Unset {
			continue
		}
		value, folded, err := s.db.engine.valueTexts(a, v)
		if err != nil {
			return &adapter.Error{Kind: adapter.Invalid, Op: "write a scoped value", Field: a.Name, Err: err}
		}
		for _, view := range views {
			ib.Values(int64(product), view, a.Name, value, folded)
			some = true
		}
	}
	if !some {
		return nil
	}
	text, arguments := ib.Build()
	_, err := s.db.exec(ctx, s.tx, text, arguments...)
	return err
}

// freezeValues stores at a store view the values that a product shows there, those of
// website scope at all store views of the website (product_parts 2.7), so that later
// changes of the default scope do not affect them.
func (s *productTx) freezeValues(ctx context.Context, product adapter.Record, storeID int64) error {
	shown, err := s.effectiveProduct(ctx, product, storeID)
	if err != nil {
		return err
	}
	return s.setValues(ctx, keyOf(product), storeID, shown)
}

// copyStoreView copies the values that product and its images show from one store view
// to another (product_parts 3.5). With ofWebsite it also copies values of website
// scope, to all store views of the target's website.
func (s *productTx) copyStoreView(ctx context.Context, product adapter.Record, from, to int64, ofWebsite bool) error {
	shown, err := s.effectiveProduct(ctx, product, from)
	if err != nil {
		return err
	}
	views, err := s.siblingViews(ctx, to)
	if err != nil {
		return err
	}
	here, everywhere := valuesByScope(shown)
	if err := s.replaceValues(ctx, keyOf(product), []int64{to}, shown, here); err != nil {
		return err
	}
	if ofWebsite {
		if err := s.replaceValues(ctx, keyOf(product), views, shown, everywhere); err != nil {
			return err
		}
	}
	return s.copyImages(ctx, keyOf(product), from, to)
}

// keyOf returns the key of a record.
func keyOf(r adapter.Record) adapter.Key { return adapter.Key(r.Get(r.Schema.Key).Int()) }

// distinctArguments returns ids, sorted and without duplicates, as arguments.
func distinctArguments(ids []int64) []any {
	list := make([]any, 0, len(ids))
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		list = append(list, id)
	}
	return list
}
