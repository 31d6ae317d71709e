package mirror

import (
	"encoding/base64"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

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
	if rule.Multiple {
		f.value = optionList
	}
	if rule.Default != "" {
		f.fresh = asEmptyList
	}
	switch rule.Field {
	case "special_from_date":
		f.null = asZero // null would start the special price now
		f.fresh = asFalse
	case "url_key":
		f.null, f.absent = asDash, noForm
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

// imageFields returns the fields of an image that clients can change. A position and an exclude
// flag cannot be removed from a scope.
func imageFields(table *contract.FieldTable) []field {
	fields := []field{
		{name: "label", value: scalar, null: asEmptyText, absent: asEmptyText},
		{name: "position", value: scalar},
		{name: "exclude", value: scalar},
		{name: "types", value: func(v adapter.Value) (codec.Node, bool) { return codec.TextsNode(v.Texts()), v.Kind() == adapter.Texts }},
	}
	return slices.DeleteFunc(fields, func(f field) bool { return !isWritable(table, f.name) })
}

// imageBody adds the fields of an image and returns the method of the request.
//
// An image that was removed from a store view, and nothing else, is deleted there. The original
// then deletes it everywhere unless another scope uses it. So if the default scope does not, the
// image loses its types at the store view instead; it is then also shown there with its present
// label, position and exclude flag, even if these change later in the default scope.
func (u *update) imageBody(fields []field) contract.Method {
	var types []string
	for _, use := range contract.ImageUses() {
		if u.imageOf(use, u.storeID) == u.record.Key() {
			types = append(types, use)
		}
	}
	u.record = u.record.Clone()
	u.record.Set("types", adapter.TextsValue(types))
	if u.asks("removed") {
		u.attributes = append([]string{"types"}, u.attributes...)
		usedByDefault := slices.ContainsFunc(contract.ImageUses(), func(use string) bool { return u.imageOf(use, 0) == u.record.Key() })
		changed := slices.ContainsFunc(fields, func(f field) bool { return f.name != "types" && u.asks(f.name) })
		if u.storeID != 0 && usedByDefault && !changed && len(types) == 0 {
			return contract.DELETE
		}
	}
	u.addFields(fields)
	return contract.PUT
}

// imageOf returns the image of the product that a type points to in a scope, or 0.
func (u *update) imageOf(use string, storeID int64) adapter.Key {
	for _, level := range []int64{storeID, 0} {
		for _, l := range u.of.Levels {
			if l.StoreID != level || l.Record.Schema.Resource != adapter.Products {
				continue
			}
			if pointer := l.Record.Get(use + "_id"); pointer.Kind() != adapter.Absent {
				return adapter.Key(pointer.Int())
			}
		}
	}
	return 0
}

var errNoContent = errors.New("an image is created with its bytes: set the attribute content")

// imageMembers returns the body that creates an image. The original decides its final file
// name, as a store of Portico does; the media type determines the extension.
func imageMembers(fields []field, record adapter.Record) ([]codec.Member, error) {
	content := record.Get("content").Text()
	if content == "" {
		return nil, &adapter.Error{Kind: adapter.Invalid, Op: "mirror: create " + string(record.Schema.Resource), Field: "content", Err: errNoContent}
	}
	file := path.Base(record.Get("file").Text())
	extension := path.Ext(file)
	return append(newMembers(fields, record),
		codec.Member{Key: "file_name", Value: codec.TextNode(strings.TrimSuffix(file, extension))},
		codec.Member{Key: "file_mime_type", Value: codec.TextNode(declaredType(record.Get("media_type").Text(), extension))},
		codec.Member{Key: "file_content", Value: codec.TextNode(base64.StdEncoding.EncodeToString([]byte(content)))},
	), nil
}

// declaredType returns the media type to declare so that the file gets an extension: if possible,
// the one that fits its bytes.
func declaredType(mediaType, extension string) string {
	all := contract.ImageTypes(contract.OpenMage())
	if slices.ContainsFunc(all, func(t contract.ImageType) bool { return t.MediaType == mediaType && "."+t.Extension == extension }) {
		return mediaType
	}
	for _, t := range all {
		if "."+t.Extension == extension {
			return t.MediaType
		}
	}
	return mediaType
}

// websiteMembers returns the body that assigns a product to a website, with the copies that
// the assignment makes. The original copies values of website scope as well, whatever the
// record says (product_parts 3.5).
func websiteMembers(record adapter.Record) []codec.Member {
	members := integerMembers(record, "website_id")
	var copies []codec.Node
	for _, entry := range record.Get("copies").Records() {
		copies = append(copies, codec.RecordNode(integerMembers(entry, "store_from", "store_to")...))
	}
	if len(copies) > 0 {
		members = append(members, codec.Member{Key: "copy_to_stores", Value: codec.ListNode(copies)})
	}
	return members
}

// commentMembers returns the body that adds a comment to an order, and sets the order's
// status unless the comment leaves it absent (stock_orders 6). If the comment says that the
// customer was notified, the original sends the e-mail.
func commentMembers(record adapter.Record) []codec.Member {
	members := integerMembers(record, "is_visible_on_front", "is_customer_notified")
	if comment := record.Get("comment"); !comment.Empty() {
		members = append(members, codec.Member{Key: "comment", Value: codec.TextNode(comment.Text())})
	}
	if status := record.Get("status"); status.Kind() != adapter.Absent { // an empty text for null
		members = append(members, codec.Member{Key: "status", Value: codec.TextNode(status.Text())})
	}
	return members
}

// integerMembers returns the integers among some values of a record.
func integerMembers(record adapter.Record, names ...string) (members []codec.Member) {
	for _, name := range names {
		if v := record.Get(name); v.Kind() == adapter.Integer {
			members = append(members, codec.Member{Key: name, Value: codec.NumberNode(v.Text())})
		}
	}
	return members
}

// stockFields returns the fields of a stock item that clients can write, except
// stock_status_changed_auto, which every save derives. None of them can be null: a
// notify_stock_qty cannot be removed.
//
// The interface refuses fractions in min_sale_qty, max_sale_qty and qty_increments, although
// stock_data of a product may hold them. Decimals except qty are JSON numbers: since 20.17 texts are
// refused (openmage 1). qty is a text, because a qty of 0.0000 would count as empty.
func stockFields(table *contract.FieldTable) (fields []field) {
	forms := map[string]func(adapter.Value) (codec.Node, bool){
		"min_qty": fraction, "notify_stock_qty": fraction, "min_sale_qty": whole, "max_sale_qty": whole, "qty_increments": whole,
	}
	for i := range table.Fields {
		name := table.Fields[i].Name
		if !isWritable(table, name) || name == "item_id" || name == "stock_status_changed_auto" {
			continue
		}
		f := field{name: name, value: scalar}
		if form, ok := forms[name]; ok {
			f.value = form
		}
		fields = append(fields, f)
	}
	return fields
}

// decimalPattern matches the form of decimals in records.
var decimalPattern = regexp.MustCompile(`^-?[0-9]+\.[0-9]{4}$`)

// fraction writes a decimal as a number with four decimals.
func fraction(v adapter.Value) (n codec.Node, ok bool) {
	if !decimalPattern.MatchString(v.Text()) {
		return scalar(v)
	}
	return codec.NumberNode(v.Text()), true
}

// whole writes a decimal as an integer, if it is one.
func whole(v adapter.Value) (n codec.Node, ok bool) {
	n, ok = fraction(v)
	n.Text = strings.TrimSuffix(n.Text, ".0000")
	return n, ok
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
