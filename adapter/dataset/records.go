package dataset

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// addRoot adds a record of a top-level list, with the data that belongs to it.
func (d *decoder) addRoot(n node) {
	if n.record.Schema.Resource == consumers {
		d.addConsumer(n)
		return
	}
	if n.record.Schema.Resource == roles {
		d.addRole(n)
		return
	}
	if !d.data.Verbatim {
		d.complete(n.record)
	}
	d.add(n)
	key := n.record.Get(n.record.Schema.Key)
	for _, l := range n.stores {
		l.Record.Set(n.record.Schema.Key, key)
		d.data.Levels = append(d.data.Levels, l)
	}
	switch n.record.Schema.Resource {
	case adapter.Customers:
		d.addPassword(n)
	case adapter.Products:
		d.addProduct(n)
	case adapter.Orders:
		for _, parts := range n.nested {
			d.addParts(n, parts)
		}
	}
}

// complete sets the values of a hand-written record that the store's rules determine.
func (d *decoder) complete(r adapter.Record) {
	switch r.Schema.Resource {
	case adapter.Customers, adapter.CustomerAddresses:
		// Accounts that were never changed through Portico have no null values (customers 5).
		for i, v := range r.Values {
			if v.Kind() == adapter.Null {
				r.Values[i] = adapter.Value{}
			}
		}
		if r.Schema.Resource == adapter.CustomerAddresses {
			d.setRegion(r)
		}
	case adapter.Products:
		// Every product saved through Portico has these values (products 5.6).
		setAbsent(r, "special_from_date", adapter.NullValue())
		setAbsent(r, "options_container", adapter.TextValue("container1"))
	}
}

// setAbsent sets a value unless the record has one.
func setAbsent(r adapter.Record, name string, v adapter.Value) {
	if r.Get(name).Kind() == adapter.Absent {
		r.Set(name, v)
	}
}

// setRegion sets the region_id of an address to the region of the country whose name or code
// equals the address's region (customers 6.1).
func (d *decoder) setRegion(r adapter.Record) {
	if r.Get("region").Empty() || !r.Get("region_id").Empty() {
		return
	}
	wanted := adapter.Fold(r.Get("region").Text())
	for _, region := range d.data.Records[adapter.Regions] {
		if region.Get("country_id").Text() != r.Get("country_id").Text() {
			continue
		}
		if adapter.Fold(region.Get("name").Text()) == wanted || adapter.Fold(region.Get("code").Text()) == wanted {
			r.Set("region_id", region.Get("region_id"))
			r.Set("region", region.Get("name"))
			break
		}
	}
}

// add adds a record to the data set.
func (d *decoder) add(n node) {
	schema := n.record.Schema
	if key := n.record.Get(schema.Key); !key.Empty() && schema.Resource != adapter.StockItems { // a stock item has the key of its product
		d.addKey(schema.Resource, n.pointer.AppendToken(schema.Key), key.Int())
	}
	d.checkUnique(n.pointer, n.record)
	d.data.Records[schema.Resource] = append(d.data.Records[schema.Resource], n.record)
}

// addKey records the position of a key.
func (d *decoder) addKey(resource adapter.Resource, pointer jsontext.Pointer, key int64) {
	if _, twice := d.pointers[resource][key]; twice {
		d.addError(pointer, "id %d is used twice", key)
		return
	}
	if d.pointers[resource] == nil {
		d.pointers[resource] = map[int64]jsontext.Pointer{}
	}
	d.pointers[resource][key] = pointer
}

// checkUnique adds an error if another record of the resource has the same unique values.
func (d *decoder) checkUnique(pointer jsontext.Pointer, r adapter.Record) {
	names := r.Schema.Unique
	switch r.Schema.Resource {
	case adapter.Products:
		names = []string{"sku"}
	case adapter.ProductImages:
		names = []string{"file"}
	}
	if len(names) == 0 {
		return
	}
	values := string(r.Schema.Resource)
	for _, name := range names {
		v := r.Get(name)
		if v.Empty() {
			return
		}
		values += "\x00" + adapter.Fold(strings.Trim(v.Text(), " \t"))
	}
	if d.uniqueValues[values] {
		d.addError(pointer, "another record has the same %s", strings.Join(names, " and "))
	}
	d.uniqueValues[values] = true
}

// A reference is an id that must be the key of a record.
type reference struct {
	pointer  jsontext.Pointer
	resource adapter.Resource
	key      int64
}

// checkReferences adds an error for each reference to a record that does not exist.
func (d *decoder) checkReferences() {
	for _, r := range d.references {
		if _, found := d.pointers[r.resource][r.key]; !found {
			d.addError(r.pointer, "%s %d does not exist", r.resource, r.key)
		}
	}
}

// addPassword adds the password of a customer.
func (d *decoder) addPassword(n node) {
	password, given := n.texts["password"]
	if !given {
		return
	}
	pointer, key := n.pointer.AppendToken("password"), n.record.Get("entity_id")
	switch {
	case key.Empty():
		d.addError(pointer, "needs a customer with an entity_id")
	case !n.record.Get("password_hash").Empty():
		d.addError(pointer, "excludes password_hash: leave one of them out")
	}
	d.data.Passwords[adapter.Key(key.Int())] = password
}

// addParts adds parts of a record.
func (d *decoder) addParts(root node, parts []node) {
	key := root.record.Get(root.record.Schema.Key)
	if key.Empty() {
		return // its parts need the id, and its absence is an error already
	}
	for _, part := range parts {
		schema := part.record.Schema
		part.record.Set(schema.RootAttribute, key)
		if schema.Resource == adapter.OrderItems {
			// A line without dates has the dates of its order (stock_orders 4).
			setAbsent(part.record, "created_at", root.record.Get("created_at"))
			setAbsent(part.record, "updated_at", root.record.Get("updated_at"))
		}
		d.add(part)
	}
}

// addProduct adds the data that belongs to a product.
func (d *decoder) addProduct(n node) {
	id := n.record.Get("entity_id")
	d.addPointers(n.record)
	d.addParts(n, n.nested["categories"])
	for i, w := range n.keys["websites"] {
		r := adapter.NewRecord(d.schemas.Of(adapter.ProductWebsites))
		r.Set("website_id", adapter.IntegerValue(w))
		pointer := elementPointer(n.pointer.AppendToken("websites"), i)
		d.references = append(d.references, reference{pointer, adapter.Websites, w})
		d.addParts(n, []node{{pointer: pointer, record: r}})
	}
	for _, item := range n.nested["stock_data"] {
		setAbsent(item.record, "item_id", id)
		d.addParts(n, []node{item})
	}
	for _, image := range n.nested["images"] {
		d.images = append(d.images, imageNode{image, n.record})
	}
}

// addPointers moves the pointers to images out of a product to its default scope, which
// holds them as a store view does.
func (d *decoder) addPointers(product adapter.Record) {
	l := adapter.Level{Record: adapter.NewRecord(product.Schema)}
	l.Record.Set("entity_id", product.Get("entity_id"))
	some := false
	for _, name := range rules.ImageTypes() {
		v := product.Get(rules.PointerTo(name))
		l.Record.Set(rules.PointerTo(name), v)
		product.Set(rules.PointerTo(name), adapter.Value{})
		some = some || v.Kind() != adapter.Absent
	}
	if some {
		d.data.Levels = append(d.data.Levels, l)
	}
}

// An imageNode is an image of a product.
type imageNode struct {
	node
	product adapter.Record
}

// addImages adds the images of all products. Images without ids get the next ones.
func (d *decoder) addImages() {
	var greatest int64
	for _, i := range d.images {
		greatest = max(greatest, i.record.Get("id").Int())
	}
	for _, i := range d.images {
		if i.record.Get("id").Empty() {
			greatest++
			i.record.Set("id", adapter.IntegerValue(greatest))
		}
		d.media.add(d, i.node)
		d.addParts(node{record: i.product}, []node{i.node})
		own := adapter.Level{Record: adapter.NewRecord(i.record.Schema)}
		for _, name := range []string{"label", "position", "exclude", "types"} {
			own.Record.Set(name, i.record.Get(name))
			i.record.Set(name, adapter.Value{})
		}
		for _, l := range append([]adapter.Level{own}, i.stores...) {
			d.addImageLevel(i, l)
		}
	}
}

// addImageLevel adds the values of an image at a scope, and points its types there to the
// image.
func (d *decoder) addImageLevel(i imageNode, l adapter.Level) {
	types := l.Record.Get("types").Texts()
	l.Record.Set("types", adapter.Value{})
	l.Record.Set("id", i.record.Get("id"))
	d.data.Levels = append(d.data.Levels, l)
	if len(types) == 0 {
		return
	}
	to := adapter.Level{StoreID: l.StoreID, Record: adapter.NewRecord(i.product.Schema)}
	to.Record.Set("entity_id", i.product.Get("entity_id"))
	for _, name := range types {
		if !slices.Contains(rules.ImageTypes(), name) {
			d.addUnknown(i.pointer.AppendToken("types").AppendToken(name), "unknown type of image", rules.ImageTypes())
			continue
		}
		to.Record.Set(rules.PointerTo(name), i.record.Get("id"))
	}
	d.data.Levels = append(d.data.Levels, to)
}
