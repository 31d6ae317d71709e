package rules

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strings"
)

// PriceLists names the attributes that list prices of a product. Clients write group and
// tier prices; only imports write the prices that follow from rules of the catalog.
func PriceLists() []string { return []string{"group_price", "tier_price", "rule_price"} }

// checkPriceLists fails with kind Invalid if a client's write has a price list that clients
// can only read.
func checkPriceLists(op string, r adapter.Record) error {
	for _, list := range ListsIn(r) {
		if at, _ := r.Schema.Index(list); r.Schema.Attributes[at].ReadOnly {
			return Invalid(op, list, ErrReadOnly)
		}
	}
	return nil
}

// ListsIn names the price lists that r has.
func ListsIn(r adapter.Record) []string {
	return slices.DeleteFunc(PriceLists(), func(list string) bool { return r.Get(list).Kind() == adapter.Absent })
}

var errSamePrice = errors.New("two prices have the same website, group and quantity or day")

// setPriceLists stores the price lists of r, a new product or a change of one, and returns the
// lists that have changed. Entries that exist already keep their keys, and so their order
// (products 5.6). product has the stored lists, or none if it is new.
//
// While prices are global, entries of single websites stay, unless the list has entries of the same
// website: clients read and write only the entries of all websites. Where prices differ between
// websites, a list that is written in the default scope replaces all entries. A list that is written at a
// store view replaces the entries of its website, and its own entries of all websites are dropped
// (configurations 4.4).
func setPriceLists(ctx context.Context, tx Tx, op string, key adapter.Key, product, r adapter.Record, website int64) (changed []string, err error) {
	byWebsite := r.Schema.PricesByWebsite()
	for _, list := range PriceLists() {
		v := r.Get(list)
		if v.Kind() == adapter.Absent {
			continue
		}
		if byWebsite && website != 0 && v.Kind() == adapter.Records {
			v = adapter.RecordsValue(slices.DeleteFunc(slices.Clone(v.Records()), func(entry adapter.Record) bool { return entry.Get("website_id").Int() == 0 }))
		}
		change, err := ComparePrices(op, list, product.Get(list), v)
		if err != nil {
			return nil, err
		}
		switch {
		case !byWebsite:
			change.keepOtherWebsites(product.Get(list), listedWebsites(v))
		case website != 0:
			change.keepOtherWebsites(product.Get(list), map[int64]bool{website: true})
		}
		if change.IsEmpty() {
			continue
		}
		changed = append(changed, list)
		change.Product = key
		if err := tx.SetPrices(ctx, list, change); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// listedWebsites returns 0, and the websites of which a list has entries.
func listedWebsites(list adapter.Value) map[int64]bool {
	listed := map[int64]bool{0: true}
	for _, entry := range list.Records() {
		listed[entry.Get("website_id").Int()] = true
	}
	return listed
}

// keepOtherWebsites keeps the stored entries of all websites but some.
func (c *PriceChange) keepOtherWebsites(stored adapter.Value, listed map[int64]bool) {
	kept := map[adapter.Key]bool{}
	for _, entry := range stored.Records() {
		kept[entry.Key()] = !listed[entry.Get("website_id").Int()]
	}
	c.Removed = slices.DeleteFunc(c.Removed, func(key adapter.Key) bool { return kept[key] })
}

// IsEmpty reports whether c changes nothing.
func (c *PriceChange) IsEmpty() bool { return len(c.Added)+len(c.Changed)+len(c.Removed) == 0 }

// ComparePrices returns the change that makes a price list have the entries of v.
func ComparePrices(op, list string, stored, v adapter.Value) (change PriceChange, err error) {
	if v.Kind() != adapter.Records && v.Kind() != adapter.Null {
		return change, Invalid(op, list, ErrKind)
	}
	had := map[string]adapter.Record{}
	for _, entry := range stored.Records() {
		had[priceIdentity(entry)] = entry
	}
	seen := map[string]bool{}
	for _, entry := range v.Records() {
		entry = entry.Clone()
		err := Canonicalize(op, entry)
		if err == nil {
			err = CheckRequired(op, entry)
		}
		identity := priceIdentity(entry)
		if err == nil && seen[identity] {
			err = errSamePrice
		}
		if err != nil {
			return change, Invalid(op, list, err)
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
			change.Removed = append(change.Removed, entry.Key())
		}
	}
	slices.Sort(change.Removed)
	return change, nil
}

// withoutKeys returns r without the keys of its prices, which clients cannot choose.
func withoutKeys(r adapter.Record) adapter.Record {
	r = r.Clone()
	for _, list := range PriceLists() {
		v := r.Get(list)
		if v.Kind() != adapter.Records {
			continue
		}
		var entries []adapter.Record
		for _, entry := range v.Records() {
			entry = entry.Clone()
			entry.Set(entry.Schema.Key, adapter.Value{})
			entries = append(entries, entry)
		}
		r.Set(list, adapter.RecordsValue(entries))
	}
	return r
}

// priceIdentity returns a text of everything but the price that distinguishes an entry from
// the other entries of its list.
func priceIdentity(r adapter.Record) string {
	var b strings.Builder
	for i, a := range r.Schema.Attributes {
		if a.Name != r.Schema.Key && a.Name != "price" {
			fmt.Fprintf(&b, "%s ", r.Values[i].Text())
		}
	}
	return b.String()
}
