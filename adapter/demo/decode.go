package demo

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/adapter"
)

// MaxSize bounds the size of a data set that Decode reads, in bytes.
const MaxSize = 256 << 20

// object is a JSON object whose members are decoded later, by schema.
type object map[string]jsontext.Value

// directory is the top-level object of directory.json.
type directory struct {
	Countries []object `json:"countries"`
	Regions   []object `json:"regions"`
}

type credential struct {
	Key        string `json:"key"`
	Token      string `json:"token"`
	Secret     string `json:"secret"`
	AdminID    int64  `json:"admin_id"`
	CustomerID int64  `json:"customer_id"`
}

// Decode reads a data set in the format of the demo store's: JSON in UTF-8, at most MaxSize
// bytes. Its records have the given schemas. An invalid file fails with [adapter.LineErrors]; other
// errors are those of in.
func Decode(in io.Reader, schemas *adapter.Schemas) (*adapter.Dataset, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	if len(text) > MaxSize {
		return nil, fmt.Errorf("data set: larger than %d bytes", MaxSize)
	}
	d := decoder{schemas: schemas, pointers: map[adapter.Resource]map[int64]jsontext.Pointer{}, uniqueValues: map[string]bool{}, data: &adapter.Dataset{
		Records:   map[adapter.Resource][]adapter.Record{},
		Passwords: map[adapter.Key]string{},
		Stock:     adapter.DefaultStock(),
	}}
	if err := d.decodeDirectory(); err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, adapter.LineErrors{jsonError(text, err)}
	}
	d.decodeDataset(members)
	if len(d.errors) > 0 {
		return nil, withLines(text, d.errors)
	}
	return d.data, nil
}

type decoder struct {
	schemas *adapter.Schemas
	data    *adapter.Dataset
	errors  []locatedError
	// pointers are the positions of the records that have a key, by resource and key.
	pointers map[adapter.Resource]map[int64]jsontext.Pointer
	// references are checked once all records are known.
	references []reference
	// uniqueValues are the values that no other record may have.
	uniqueValues map[string]bool
}

// addError adds an error at a position.
func (d *decoder) addError(pointer jsontext.Pointer, format string, arguments ...any) {
	d.errors = append(d.errors, locatedError{pointer, fmt.Sprintf(format, arguments...)})
}

// decodeDirectory reads the countries and regions, which every data set gets. It only fails
// if the build is broken.
func (d *decoder) decodeDirectory() error {
	var dir directory
	if err := json.Unmarshal(directoryJSON, &dir, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	for i, country := range dir.Countries {
		country["country_number"] = integerJSON(int64(i + 1))
		d.add(adapter.Countries, "", country)
	}
	for _, region := range dir.Regions {
		d.add(adapter.Regions, "", region)
	}
	if len(d.errors) > 0 {
		return withLines(directoryJSON, d.errors)
	}
	return nil
}

// decodeDataset decodes the members of the top-level object.
func (d *decoder) decodeDataset(members map[string]jsontext.Value) {
	special := map[adapter.Resource]func(jsontext.Pointer, object){
		adapter.Categories: d.addCategory, adapter.Customers: d.addCustomer, adapter.CustomerAddresses: d.addCustomerAddress,
		adapter.Products: d.addProduct, adapter.Orders: d.addOrder,
	}
	for _, r := range adapter.Resources() {
		add := special[r]
		if add == nil {
			if d.schemas.Of(r).Root != "" || d.data.Records[r] != nil {
				continue // records that come with others, and the directory
			}
			add = func(pointer jsontext.Pointer, o object) { d.add(r, pointer, o) }
		}
		name := string(r)
		pointer := jsontext.Pointer("").AppendToken(name)
		for i, o := range d.decodeObjects(pointer, members[name]) {
			if o != nil {
				add(elementPointer(pointer, i), o)
			}
		}
		delete(members, name)
	}
	for _, r := range []adapter.Resource{adapter.Websites, adapter.Stores} {
		if len(d.data.Records[r]) == 0 && len(d.errors) == 0 {
			d.addError("", "the list %q is missing or empty: at least one is required", r)
		}
	}
	d.addCredentials(members["credentials"])
	delete(members, "credentials")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d.addError(jsontext.Pointer("").AppendToken(name), "unknown list")
	}
	d.checkReferences()
}

// decodeObjects returns the elements of a list, nil for each that is not an object.
func (d *decoder) decodeObjects(pointer jsontext.Pointer, raw jsontext.Value) []object {
	if raw == nil || raw.Kind() == 'n' {
		return nil
	}
	var values []jsontext.Value
	if err := json.Unmarshal(raw, &values); err != nil {
		d.addError(pointer, "must be a list of records")
		return nil
	}
	list := make([]object, len(values))
	for i, v := range values {
		if err := json.Unmarshal(v, &list[i]); err != nil || list[i] == nil {
			list[i] = nil
			d.addError(elementPointer(pointer, i), "must be a record")
		}
	}
	return list
}

// add decodes a record and adds it to the data set.
func (d *decoder) add(resource adapter.Resource, pointer jsontext.Pointer, o object) adapter.Record {
	schema := d.schemas.Of(resource)
	r := d.decodeRecord(schema, pointer, o)
	for _, name := range requiredAttributes(resource) {
		if _, given := o[name]; !given {
			d.addError(pointer.AppendToken(name), "missing")
		}
	}
	for name, to := range referenceAttributes(resource) {
		if v := r.Get(name); !v.Empty() {
			d.references = append(d.references, reference{pointer.AppendToken(name), to, v.Int()})
		}
	}
	if key := r.Get(schema.Key); key.Kind() != adapter.Absent && resource != adapter.StockItems { // a stock item has the key of its product
		d.addKey(resource, pointer.AppendToken(schema.Key), key.Int())
	}
	d.checkUnique(resource, pointer, r)
	d.data.Records[resource] = append(d.data.Records[resource], r)
	return r
}

// checkUnique adds an error if another record of the resource has the same unique values.
func (d *decoder) checkUnique(resource adapter.Resource, pointer jsontext.Pointer, r adapter.Record) {
	names := r.Schema.Unique
	if len(names) == 0 {
		return
	}
	values := string(resource)
	for _, name := range names {
		v := r.Get(name)
		if v.Empty() {
			return
		}
		values += "\x00" + adapter.Fold(v.Text())
	}
	if d.uniqueValues[values] {
		d.addError(pointer, "another record has the same %s", strings.Join(names, " and "))
	}
	d.uniqueValues[values] = true
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

// requiredAttributes returns the attributes that every record of a resource must have.
func requiredAttributes(resource adapter.Resource) []string {
	return map[adapter.Resource][]string{
		adapter.Websites:          {"code", "name"},
		adapter.Stores:            {"website_id", "code", "name"},
		adapter.CustomerGroups:    {"name", "tax_class_id"},
		adapter.Categories:        {"parent_id", "name"},
		adapter.Admins:            {"username"},
		adapter.Customers:         {"website_id", "email", "group_id"},
		adapter.CustomerAddresses: {"customer_id"},
		adapter.Products:          {"entity_id", "sku", "type_id", "attribute_set_id"},
		adapter.ProductCategories: {"category_id"},
		adapter.Orders:            {"entity_id"},
	}[resource]
}

// referenceAttributes returns the attributes of a resource that hold ids of other records,
// with the resource of those.
func referenceAttributes(resource adapter.Resource) map[string]adapter.Resource {
	return map[adapter.Resource]map[string]adapter.Resource{
		adapter.Stores:            {"website_id": adapter.Websites},
		adapter.CustomerAddresses: {"customer_id": adapter.Customers},
		adapter.ProductCategories: {"category_id": adapter.Categories},
		adapter.ProductWebsites:   {"website_id": adapter.Websites},
		adapter.Orders:            {"customer_id": adapter.Customers},
	}[resource]
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

func (d *decoder) addCategory(pointer jsontext.Pointer, o object) {
	setDefault(o, "is_active", integerJSON(1))
	d.add(adapter.Categories, pointer, o)
}

func (d *decoder) addCustomer(pointer jsontext.Pointer, o object) {
	password, given := o["password"]
	delete(o, "password")
	dropNulls(o)
	r := d.add(adapter.Customers, pointer, o)
	if !given {
		return
	}
	var text string
	if err := json.Unmarshal(password, &text); err != nil || text == "" {
		d.addError(pointer.AppendToken("password"), "must be a text")
	}
	d.data.Passwords[adapter.Key(r.Get("entity_id").Int())] = text
}

// addCustomerAddress adds an address and sets its region_id: that of the directory's region of the
// country whose name or code equals the address's region (customers 6.1).
func (d *decoder) addCustomerAddress(pointer jsontext.Pointer, o object) {
	dropNulls(o)
	r := d.add(adapter.CustomerAddresses, pointer, o)
	if r.Get("region").Empty() {
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

func (d *decoder) addProduct(pointer jsontext.Pointer, o object) {
	categories := d.decodeObjects(pointer.AppendToken("categories"), takeMember(o, "categories"))
	websites := takeMember(o, "websites")
	stock := takeMember(o, "stock_data")
	// Every product saved through Portico has these values (products 5.6).
	setDefault(o, "special_from_date", jsontext.Value("null"))
	setDefault(o, "options_container", jsontext.Value(`"container1"`))
	id := o["entity_id"]
	if r := d.add(adapter.Products, pointer, o); r.Get("entity_id").Empty() {
		return // its parts need the id
	}
	for i, c := range categories {
		if c != nil {
			c["product_id"] = id
			d.add(adapter.ProductCategories, elementPointer(pointer.AppendToken("categories"), i), c)
		}
	}
	d.addWebsites(pointer.AppendToken("websites"), id, websites)
	pointer = pointer.AppendToken("stock_data")
	var item object
	switch err := json.Unmarshal(stock, &item); {
	case stock == nil || stock.Kind() == 'n':
		d.addError(pointer, "missing")
	case err != nil:
		d.addError(pointer, "must be a record")
	default:
		item["item_id"], item["product_id"] = id, id
		setDefault(item, "stock_id", integerJSON(1))
		setDefault(item, "notify_stock_qty", jsontext.Value("null"))
		d.add(adapter.StockItems, pointer, item)
	}
}

// addWebsites assigns a product to a list of websites.
func (d *decoder) addWebsites(pointer jsontext.Pointer, id, list jsontext.Value) {
	if list == nil {
		return
	}
	var websites []int64
	if err := json.Unmarshal(list, &websites); err != nil {
		d.addError(pointer, "must be a list of website ids, such as [1, 2]")
		return
	}
	for i, w := range websites {
		assignment := object{"product_id": id, "website_id": integerJSON(w)}
		pointer := elementPointer(pointer, i)
		r := d.decodeRecord(d.schemas.Of(adapter.ProductWebsites), pointer, assignment)
		d.checkUnique(adapter.ProductWebsites, pointer, r)
		d.data.Records[adapter.ProductWebsites] = append(d.data.Records[adapter.ProductWebsites], r)
		d.references = append(d.references, reference{pointer, adapter.Websites, w})
	}
}

func (d *decoder) addOrder(pointer jsontext.Pointer, o object) {
	kinds := []struct {
		name     string
		resource adapter.Resource
		list     []object
	}{
		{name: "order_items", resource: adapter.OrderItems},
		{name: "addresses", resource: adapter.OrderAddresses},
		{name: "comments", resource: adapter.OrderComments},
	}
	for i := range kinds {
		kinds[i].list = d.decodeObjects(pointer.AppendToken(kinds[i].name), takeMember(o, kinds[i].name))
	}
	if r := d.add(adapter.Orders, pointer, o); r.Get("entity_id").Empty() {
		return
	}
	for _, p := range kinds {
		for i, part := range p.list {
			if part == nil {
				continue
			}
			part[d.schemas.Of(p.resource).RootAttribute] = o["entity_id"]
			if p.resource == adapter.OrderItems {
				// A line without dates has those of its order (stock_orders 4).
				setDefault(part, "created_at", o["created_at"])
				setDefault(part, "updated_at", o["updated_at"])
			}
			d.add(p.resource, elementPointer(pointer.AppendToken(p.name), i), part)
		}
	}
}

func (d *decoder) addCredentials(raw jsontext.Value) {
	if raw == nil {
		return
	}
	pointer := jsontext.Pointer("/credentials")
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		d.addError(pointer, "must be an object with a consumer and tokens")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d.addCredential(pointer.AppendToken(name), name, members[name])
	}
	if len(d.data.Tokens) > 0 && members["consumer"] == nil {
		d.addError(pointer.AppendToken("consumer"), "missing")
	}
}

func (d *decoder) addCredential(pointer jsontext.Pointer, name string, raw jsontext.Value) {
	const consumerForm, tokenForm = "must have a key and a secret", "must have a token, a secret and either an admin_id or a customer_id"
	form := tokenForm
	if name == "consumer" {
		form = consumerForm
	}
	var c credential
	if err := json.Unmarshal(raw, &c, json.RejectUnknownMembers(true)); err != nil {
		var wrong *json.SemanticError
		if errors.As(err, &wrong) && errors.Is(err, json.ErrUnknownName) {
			pointer = pointer.AppendToken(wrong.JSONPointer.LastToken())
			form = "unknown"
		}
		d.addError(pointer, "%s", form)
		return
	}
	switch {
	case c.Secret == "":
		d.addError(pointer.AppendToken("secret"), "missing")
	case name == "consumer" && (c.Key == "" || c.Token != "" || c.AdminID != 0 || c.CustomerID != 0),
		name != "consumer" && (c.Token == "" || c.Key != "" || (c.AdminID == 0) == (c.CustomerID == 0)):
		d.addError(pointer, "%s", form)
	case name == "consumer":
		d.data.Consumer = adapter.Consumer{Name: "Data set", Key: c.Key, Secret: c.Secret}
	default:
		if c.AdminID != 0 {
			d.references = append(d.references, reference{pointer.AppendToken("admin_id"), adapter.Admins, c.AdminID})
		} else {
			d.references = append(d.references, reference{pointer.AppendToken("customer_id"), adapter.Customers, c.CustomerID})
		}
		d.data.Tokens = append(d.data.Tokens, adapter.Token{
			Type: adapter.AccessToken, Token: c.Token, Secret: c.Secret, AdminID: c.AdminID, CustomerID: c.CustomerID,
		})
	}
}

// takeMember deletes a member from o and returns it; nil if there is none.
func takeMember(o object, name string) jsontext.Value {
	value := o[name]
	delete(o, name)
	return value
}

// dropNulls deletes null members: accounts that were never changed through Portico have no
// null values (customers 5).
func dropNulls(o object) {
	maps.DeleteFunc(o, func(_ string, v jsontext.Value) bool { return v.Kind() == 'n' })
}

func setDefault(o object, name string, v jsontext.Value) {
	if _, given := o[name]; !given && v != nil {
		o[name] = v
	}
}

func integerJSON(i int64) jsontext.Value { return strconv.AppendInt(nil, i, 10) }
