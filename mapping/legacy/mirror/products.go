package mirror

import (
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// productFields returns the fields of a product that clients can write, except stock_data.
func productFields(schema *adapter.Schema, table *contract.FieldTable) ([]field, error) {
	fields := []field{{name: "type_id", value: scalar, createOnly: true}, {name: "attribute_set_id", value: scalar, createOnly: true}}
	added, err := addedFields(schema, table)
	for _, rule := range table.Rules.With(added...) {
		if rule.Check.Stored() {
			fields = append(fields, productField(&rule))
		}
	}
	for _, name := range []string{"group_price", "tier_price"} {
		fields = append(fields, field{name: name, value: priceList, null: asEmptyList})
	}
	return slices.DeleteFunc(fields, func(f field) bool { return !isWritable(table, f.name) }), err
}

// productField returns how a field of a product is written (products 5.2 and 8): null stores null,
// and false removes the scope's own value.
//
// Some states have no form: a required field cannot be removed or emptied; the original does
// not let an option be removed, only be set to null; and a url_key that is removed becomes
// one made from the name, as does one that is null unless the product is in no website.
func productField(rule *contract.Rule) field {
	f := field{name: rule.Field, value: scalar, null: asNull, absent: asFalse}
	switch {
	case rule.Required:
		f.null, f.absent = noForm, noForm
	case rule.Check == contract.Option:
		f.absent = noForm
	}
	switch rule.Field {
	case "special_from_date":
		f.null = asZero // null would start the special price now
		f.fresh = asFalse
	case "url_key":
		f.null, f.absent = asDash, noForm
	case "options_container":
		f.fresh = asEmptyList // it has a default otherwise
	}
	return f
}

// priceList writes a list of prices, without the prices of single websites: clients can neither
// read nor write these, and replacing the list leaves them unchanged (products 5.6).
func priceList(v adapter.Value) (n codec.Node, ok bool) {
	if v.Kind() != adapter.Records {
		return n, false
	}
	var entries []codec.Node
	for _, price := range v.Records() {
		if price.Get("website_id").Int() != 0 {
			continue
		}
		entry := codec.RecordNode()
		for _, name := range []string{"website_id", "cust_group", "price_qty", "price"} {
			if value, ok := scalar(price.Get(name)); ok {
				entry.Members = append(entry.Members, codec.Member{Key: name, Value: value})
			}
		}
		entries = append(entries, entry)
	}
	return codec.ListNode(entries), true
}

// productBody adds the fields of a product, and those without which the original would
// change others (products 5.6): the start of a special price, a url_key, and the flags of the
// stock item. The original generates a missing url_key from the name whatever is sent, unless the
// product is in no website.
func (u *update) productBody(fields []field, types []contract.ProductType) {
	inapplicable := inapplicableFields(types, u.record.Get("type_id").Text())
	for _, f := range fields {
		isInapplicable := slices.Contains(inapplicable, f.name)
		if isInapplicable { // a value would be refused, even false
			f.null, f.absent = asNull, noForm
		}
		switch {
		case f.createOnly:
		case u.asks(f.name):
			u.add(&f)
		case f.name == "special_from_date" && u.lacksSpecialFrom() && !isInapplicable:
			n, _ := f.node(u.record.Get(f.name))
			u.put(f.name, n)
		case f.name == "url_key" && u.lacksURLKey():
			n, _ := f.null.node()
			u.put(f.name, n)
		}
	}
	if item, ok := partOf(u.of, adapter.StockItems); ok {
		if data, needed := unchangedStock(item); needed {
			u.put("stock_data", data)
		}
	}
}

// inapplicableFields names the fields that products of a type do not have.
func inapplicableFields(types []contract.ProductType, code string) []string {
	for _, t := range types {
		if t.Code == code {
			return t.Inapplicable
		}
	}
	return nil
}

// lacksSpecialFrom reports whether saving the product in the default scope could start its
// special price now. The product may have no special price any more: the original keeps the
// one it has until another request removes it.
func (u *update) lacksSpecialFrom() bool {
	return u.storeID == 0 && u.record.Get("special_from_date").Empty()
}

// lacksURLKey reports whether saving the product in the scope would make a url_key from its name.
func (u *update) lacksURLKey() bool {
	key := u.record.Get("url_key")
	if key.Kind() == adapter.Absent {
		key = u.of.Record.Get("url_key")
	}
	return key.Text() == ""
}

// productMembers returns the body that creates a product.
func productMembers(fields []field, stockData []contract.Rule, record adapter.Record) []codec.Member {
	members := newMembers(fields, record)
	if items := record.Get("stock_item").Records(); len(items) > 0 {
		members = append(members, codec.Member{Key: "stock_data", Value: newStock(stockData, items[0])})
	}
	return members
}
