package mirror

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// stockFields returns the fields of a stock item that clients can write, except
// stock_status_changed_auto, which every save derives. None of them can be null: a
// notify_stock_qty cannot be removed.
//
// The interface refuses fractions in min_sale_qty, max_sale_qty and qty_increments, although
// stock_data of a product may hold them.
func stockFields(table *contract.FieldTable) (fields []field) {
	for i := range table.Fields {
		name := table.Fields[i].Name
		if isWritable(table, name) && name != "item_id" && name != "stock_status_changed_auto" {
			fields = append(fields, field{name: name, value: scalar})
		}
	}
	return fields
}

// stockItemBody adds the fields of a stock item, always with qty, which the original requires
// (stock_orders 2.3).
func (u *update) stockItemBody(fields []field) {
	for i := range fields {
		f := &fields[i]
		if u.asks(f.name) {
			u.add(f)
		} else if n, ok := f.node(u.record.Get(f.name)); ok && f.name == "qty" {
			u.put(f.name, n)
		}
	}
}

// unchangedStock returns the stock_data with which an update of a product leaves its stock item as
// it is now, without the quantity, which a checkout of the legacy store may change at the same time
// (products 5.6 and 7.2). needed is false if an update without stock_data does so: it sets three
// flags, and these are set already.
//
// One value may be lost: is_decimal_divided of an item that is not sold in fractions, where it has
// no meaning.
func unchangedStock(item adapter.Record) (data codec.Node, needed bool) {
	set := func(name string) bool { return item.Get(name).Int() != 0 }
	asShop, manages := set("use_config_manage_stock"), set("manage_stock")
	if asShop && set("use_config_min_sale_qty") && set("use_config_max_sale_qty") {
		return data, false
	}
	data.Kind = codec.Struct
	put := func(name string, is bool) {
		value := "0"
		if is {
			value = "1"
		}
		data.Members = append(data.Members, codec.Member{Key: name, Value: codec.NumberNode(value)})
	}
	if asShop {
		put("use_config_manage_stock", true)
	} else {
		put("manage_stock", manages) // otherwise the one that applies is stored
	}
	if (asShop || manages) && set("is_qty_decimal") && set("is_decimal_divided") { // otherwise the second is reset
		put("is_qty_decimal", true)
		put("is_decimal_divided", true)
	}
	return data, true
}

// newStock returns the stock_data that creates a stock item. A value that a flag replaces by
// the shop's setting is left out, as the original ignores it next to its flag.
func newStock(rules []contract.Rule, item adapter.Record) codec.Node {
	set := func(name string) bool { return item.Get(name).Int() != 0 }
	data := codec.Node{Kind: codec.Struct}
	for _, d := range rules {
		n, ok := scalar(item.Get(d.Field)) // none for the alias of a flag
		switch {
		case !ok:
			continue
		case d.Field == "manage_stock" && set("manage_stock"):
		case d.Field == "use_config_manage_stock" && set("manage_stock") && set("use_config_manage_stock"):
			continue // only without the flag is manage_stock stored, and the flag is set for new items
		case d.Config != "" && set(d.Config):
			continue
		}
		data.Members = append(data.Members, codec.Member{Key: d.Field, Value: n})
	}
	return data
}
