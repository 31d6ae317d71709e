package mapping

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// maxPriceEntries limits the entries of one price list, since a single transaction stores
// them all. No shop needs as many.
const maxPriceEntries = 1000

// A priceList describes one of the two price lists of a product: group prices or tier
// prices.
type priceList struct {
	field          string
	attributeIndex int
	entrySchema    *adapter.Schema
	rules          []contract.SetRule
	duplicateFault contract.FaultKey
}

// newPriceList returns the rules for a field that is a list of prices. twice is the fault of
// two entries for the same customers and quantity.
func (p *productWrites) newPriceList(field string, rules []contract.SetRule, twice contract.FaultKey) priceList {
	at, ok := p.schema.Index(field)
	if !ok {
		panic("mapping: products have no attribute " + field)
	}
	return priceList{field: field, attributeIndex: at, entrySchema: p.schema.Attributes[at].Nested, rules: rules, duplicateFault: twice}
}

// entries returns the members of a field that was sent as a list or record, or nil for any
// other value.
func (w *productWrite) entries(field string) []codec.Member {
	n, ok := w.body.Get(field)
	if !ok {
		return nil
	}
	return n.Members
}

// checkPrices checks each entry of a price list (products 5.3, steps 4 and 5).
func (w *productWrite) checkPrices(list *priceList) {
	entries := w.entries(list.field)
	for i := range entries {
		set := list.field + ":" + entries[i].Key
		for j := range list.rules {
			rule := &list.rules[j]
			switch n, sent := presentMember(&entries[i].Value, rule.Field); {
			case !sent:
				w.addFault(contract.RequiredInSet, rule.Field, set)
			case !w.satisfies(rule, n):
				w.addFault(rule.Fault, rule.Field, set)
			}
		}
	}
}

// priceRecords returns the records of a valid price list, without the entries marked for
// deletion.
func (w *productWrite) priceRecords(list *priceList) []adapter.Record {
	var records []adapter.Record
	for _, m := range w.entries(list.field) {
		if isFlagSet(&m.Value, "delete") {
			continue
		}
		r := adapter.NewRecord(list.entrySchema)
		for i, a := range list.entrySchema.Attributes {
			n, ok := m.Value.Get(a.Name)
			if !ok || a.ReadOnly {
				continue
			}
			r.Values[i] = typedValue(a.Kind, n)
		}
		records = append(records, r)
	}
	return records
}

// hasDuplicates reports whether two entries have the same website, group and quantity.
func (list *priceList) hasDuplicates(records []adapter.Record) bool {
	type slot struct {
		website, group int64
		qty            string
	}
	seen := make(map[slot]bool, len(records))
	for _, r := range records {
		at := slot{r.Get("website_id").Int(), r.Get("cust_group").Int(), r.Get("price_qty").Text()}
		if seen[at] {
			return true
		}
		seen[at] = true
	}
	return false
}
