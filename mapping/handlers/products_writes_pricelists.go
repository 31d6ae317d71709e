package handlers

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/input"
)

// maxPriceEntries limits the entries of one price list, since a single transaction stores
// them all. No shop needs as many.
const maxPriceEntries = 1000

// priceRecords returns the records of a valid price list, without the entries marked for
// deletion.
func (w *write) priceRecords(list *input.Rule) []adapter.Record {
	var records []adapter.Record
	schema := w.Schema.Attributes[list.At].Nested
	for _, m := range w.Entries(list.Field) {
		if input.IsSet(&m.Value, "delete") {
			continue
		}
		r := adapter.NewRecord(schema)
		for i, a := range schema.Attributes {
			n, ok := m.Value.Get(a.Name)
			if !ok || a.ReadOnly {
				continue
			}
			r.Values[i] = input.TypedValue(a.Kind, n, input.DateReader{})
		}
		records = append(records, r)
	}
	return records
}

// hasDuplicates reports whether two entries have the same website, group and quantity. An entry of all
// websites counts as one of each website that has the shop's base currency.
func (w *write) hasDuplicates(ctx context.Context, records []adapter.Record) (bool, error) {
	type slot struct {
		website, group int64
		qty            string
	}
	seen := make(map[slot]bool, len(records))
	for _, r := range records {
		at := slot{r.Get("website_id").Int(), r.Get("cust_group").Int(), r.Get("price_qty").Text()}
		if seen[at] {
			return true, nil
		}
		seen[at] = true
	}
	if !w.prices.ByWebsite {
		return false, nil
	}
	shop, err := w.finder.Shops.Current(ctx)
	if err != nil {
		return false, err
	}
	for at := range seen {
		website := at.website
		at.website = 0
		if website != 0 && seen[at] && !shop.ConvertsPrices(website) {
			return true, nil
		}
	}
	return false, nil
}
