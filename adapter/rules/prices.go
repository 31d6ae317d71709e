package rules

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// PriceLists names the attributes that list prices of a product.
func PriceLists() []string { return []string{"group_price", "tier_price"} }

var errSamePrice = errors.New("two prices have the same website, group and quantity")

// SetPriceLists stores the price lists that r, a new product or a change of one, has.
func SetPriceLists(ctx context.Context, tx Tx, op string, product adapter.Record, r adapter.Record) error {
	for _, list := range PriceLists() {
		if v := r.Get(list); v.Kind() != adapter.Absent {
			if err := setPrices(ctx, tx, op, product, list, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// setPrices replaces a price list. Entries that exist already keep their keys, and so
// their order (products 5.6).
func setPrices(ctx context.Context, tx Tx, op string, product adapter.Record, list string, v adapter.Value) error {
	if v.Kind() != adapter.Records && v.Kind() != adapter.Null {
		return invalid(op, list, errKind)
	}
	stored, err := tx.At(ctx, product, 0, list)
	if err != nil {
		return err
	}
	had := map[string]adapter.Record{}
	for _, entry := range stored.Get(list).Records() {
		had[priceIdentity(entry)] = entry
	}
	var change PriceChange
	seen := map[string]bool{}
	for _, entry := range v.Records() {
		entry = entry.Clone()
		entry.Set(entry.Schema.Key, adapter.Value{})
		err := canonicalize(op, entry)
		identity := priceIdentity(entry)
		if err == nil && seen[identity] {
			err = errSamePrice
		}
		if err != nil {
			return invalid(op, list, err)
		}
		seen[identity] = true
		was, there := had[identity]
		switch {
		case !there:
			change.Added = append(change.Added, entry)
		case !was.Get("price").Equal(entry.Get("price")):
			entry.Set(entry.Schema.Key, was.Get(entry.Schema.Key))
			change.Changed = append(change.Changed, entry)
		}
	}
	for identity, entry := range had {
		if !seen[identity] {
			change.Removed = append(change.Removed, keyOf(entry))
		}
	}
	return tx.SetPrices(ctx, keyOf(product), list, change)
}

// priceIdentity returns a text of everything but the price that distinguishes an entry
// from the others of its list.
func priceIdentity(r adapter.Record) string {
	var b strings.Builder
	for i, a := range r.Schema.Attributes {
		if a.Name != r.Schema.Key && a.Name != "price" {
			fmt.Fprintf(&b, "%s ", r.Values[i].Text())
		}
	}
	return b.String()
}
