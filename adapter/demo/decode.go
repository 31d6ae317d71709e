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

// MaxSize is the greatest data set Decode reads, in bytes.
const MaxSize = 256 << 20

// object is one JSON object whose members are read later, by schema.
type object map[string]jsontext.Value

// directory is the outermost object of the directory.
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

// Decode reads a data set of the form of the demo store's, JSON in UTF-8 of at
// most MaxSize bytes, into records of schemas. A file that is no such data set fails
// with [Faults]; other errors are those of in.
func Decode(in io.Reader, schemas *adapter.Schemas) (*adapter.Dataset, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	if len(text) > MaxSize {
		return nil, fmt.Errorf("data set: larger than %d bytes", MaxSize)
	}
	d := decoder{schemas: schemas, places: map[adapter.Resource]map[int64]jsontext.Pointer{}, taken: map[string]bool{}, data: &adapter.Dataset{
		Records:   map[adapter.Resource][]adapter.Record{},
		Passwords: map[adapter.Key]string{},
		Stock:     adapter.DefaultStock(),
	}}
	if err := d.decodeDirectory(); err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, LineErrors{notJSON(text, err)}
	}
	d.decode(members)
	if len(d.faults) > 0 {
		return nil, locate(text, d.faults)
	}
	return d.data, nil
}

type decoder struct {
	schemas *adapter.Schemas
	data    *adapter.Dataset
	faults  []foundFault
	// places are those of the records that have a key, by it.
	places map[adapter.Resource]map[int64]jsontext.Pointer
	// references are looked up when all records are known.
	references []reference
	// taken are the values that no second record may have.
	taken map[string]bool
}

// fault adds what is wrong at a place.
func (d *decoder) fault(place jsontext.Pointer, format string, arguments ...any) {
	d.faults = append(d.faults, foundFault{place, fmt.Sprintf(format, arguments...)})
}

// decodeDirectory reads the countries and regions that every data set gets. Its error
// is a fault of the build.
func (d *decoder) decodeDirectory() error {
	var dir directory
	if err := json.Unmarshal(directoryJSON, &dir, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	for i, country := range dir.Countries {
		country["country_number"] = integer(int64(i + 1))
		d.add(adapter.Countries, "", country)
	}
	for _, region := range dir.Regions {
		d.add(adapter.Regions, "", region)
	}
	if len(d.faults) > 0 {
		return locate(directoryJSON, d.faults)
	}
	return nil
}

// decode reads the members of the outermost object.
func (d *decoder) decode(members map[string]jsontext.Value) {
	adding := func(r adapter.Resource) func(jsontext.Pointer, object) {
		return func(place jsontext.Pointer, o object) { d.add(r, place, o) }
	}
	for _, list := range []struct {
		resource adapter.Resource
		add      func(place jsontext.Pointer, o object)
	}{
		{adapter.Websites, adding(adapter.Websites)},
		{adapter.Stores, adding(adapter.Stores)},
		{adapter.CustomerGroups, adding(adapter.CustomerGroups)},
		{adapter.Categories, d.addCategory},
		{adapter.TaxRates, adding(adapter.TaxRates)},
		{adapter.Admins, adding(adapter.Admins)},
		{adapter.Customers, d.addCustomer},
		{adapter.CustomerAddresses, d.addCustomerAddress},
		{adapter.Products, d.addProduct},
		{adapter.Orders, d.addOrder},
	} {
		name := string(list.resource)
		place := jsontext.Pointer("").AppendToken(name)
		for i, o := range d.objects(place, members[name]) {
			if o != nil {
				list.add(entry(place, i), o)
			}
		}
		delete(members, name)
	}
	for _, r := range []adapter.Resource{adapter.Websites, adapter.Stores} {
		if len(d.data.Records[r]) == 0 && len(d.faults) == 0 {
			d.fault("", "the list %q is missing or empty: a store has at least one", r)
		}
	}
	d.addCredentials(members["credentials"])
	delete(members, "credentials")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d.fault(jsontext.Pointer("").AppendToken(name), "a data set has no such list")
	}
	d.checkReferences()
}

// objects returns the records of a list, nil in the place of what is none.
func (d *decoder) objects(place jsontext.Pointer, raw jsontext.Value) []object {
	if raw == nil || raw.Kind() == 'n' {
		return nil
	}
	var values []jsontext.Value
	if err := json.Unmarshal(raw, &values); err != nil {
		d.fault(place, "want a list of records")
		return nil
	}
	list := make([]object, len(values))
	for i, v := range values {
		if err := json.Unmarshal(v, &list[i]); err != nil || list[i] == nil {
			list[i] = nil
			d.fault(entry(place, i), "want a record")
		}
	}
	return list
}

// add reads o as a record of resource and adds it.
func (d *decoder) add(resource adapter.Resource, place jsontext.Pointer, o object) adapter.Record {
	schema := d.schemas.Of(resource)
	r := d.record(schema, place, o)
	for _, name := range required(resource) {
		if _, given := o[name]; !given {
			d.fault(place.AppendToken(name), "missing")
		}
	}
	for name, to := range references(resource) {
		if v := r.Get(name); !v.Empty() {
			d.references = append(d.references, reference{place.AppendToken(name), to, v.Int()})
		}
	}
	if key := r.Get(schema.Key); key.Kind() != adapter.Absent && resource != adapter.StockItems { // which have those of products
		d.addKey(resource, place.AppendToken(schema.Key), key.Int())
	}
	d.checkUnique(resource, place, r)
	d.data.Records[resource] = append(d.data.Records[resource], r)
	return r
}

// checkUnique refuses values that another record of the resource has.
func (d *decoder) checkUnique(resource adapter.Resource, place jsontext.Pointer, r adapter.Record) {
	names := unique(resource)
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
	if d.taken[values] {
		d.fault(place, "another record has the same %s", strings.Join(names, " and "))
	}
	d.taken[values] = true
}

// unique returns the attributes of a resource that no two records have alike.
func unique(resource adapter.Resource) []string {
	return map[adapter.Resource][]string{
		adapter.Admins:            {"username"},
		adapter.Customers:         {"website_id", "email"},
		adapter.ProductCategories: {"product_id", "category_id"},
		adapter.ProductWebsites:   {"product_id", "website_id"},
	}[resource]
}

// addKey notes where the record of a key is.
func (d *decoder) addKey(resource adapter.Resource, place jsontext.Pointer, key int64) {
	if _, twice := d.places[resource][key]; twice {
		d.fault(place, "%d is there twice", key)
		return
	}
	if d.places[resource] == nil {
		d.places[resource] = map[int64]jsontext.Pointer{}
	}
	d.places[resource][key] = place
}

// required returns the attributes that every record of a resource needs.
func required(resource adapter.Resource) []string {
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

// references returns the attributes of a resource that hold ids of other records, with
// the resource of those.
func references(resource adapter.Resource) map[string]adapter.Resource {
	return map[adapter.Resource]map[string]adapter.Resource{
		adapter.Stores:            {"website_id": adapter.Websites},
		adapter.CustomerAddresses: {"customer_id": adapter.Customers},
		adapter.ProductCategories: {"category_id": adapter.Categories},
		adapter.ProductWebsites:   {"website_id": adapter.Websites},
		adapter.Orders:            {"customer_id": adapter.Customers},
	}[resource]
}

// A reference is an id at a place that has to be that of a record.
type reference struct {
	place jsontext.Pointer
	to    adapter.Resource
	key   int64
}

// checkReferences looks for the records that others refer to.
func (d *decoder) checkReferences() {
	for _, r := range d.references {
		if _, found := d.places[r.to][r.key]; !found {
			d.fault(r.place, "there is no %d among the %s", r.key, r.to)
		}
	}
}

func (d *decoder) addCategory(place jsontext.Pointer, o object) {
	setDefault(o, "is_active", integer(1))
	d.add(adapter.Categories, place, o)
}

func (d *decoder) addCustomer(place jsontext.Pointer, o object) {
	password, given := o["password"]
	delete(o, "password")
	dropNulls(o)
	r := d.add(adapter.Customers, place, o)
	if !given {
		return
	}
	var text string
	if err := json.Unmarshal(password, &text); err != nil || text == "" {
		d.fault(place.AppendToken("password"), "want a text")
	}
	d.data.Passwords[adapter.Key(r.Get("entity_id").Int())] = text
}

// addCustomerAddress also finds the region's id: the directory's region of the
// country whose name or code the text is (Customer addresses, 6).
func (d *decoder) addCustomerAddress(place jsontext.Pointer, o object) {
	dropNulls(o)
	r := d.add(adapter.CustomerAddresses, place, o)
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

func (d *decoder) addProduct(place jsontext.Pointer, o object) {
	categories := d.objects(place.AppendToken("categories"), take(o, "categories"))
	websites := take(o, "websites")
	stock := take(o, "stock_data")
	// As every product that a service saved (Products, 5.6).
	setDefault(o, "special_from_date", jsontext.Value("null"))
	setDefault(o, "options_container", jsontext.Value(`"container1"`))
	id := o["entity_id"]
	if r := d.add(adapter.Products, place, o); r.Get("entity_id").Empty() {
		return // the product that parts belong to
	}
	for i, c := range categories {
		if c != nil {
			c["product_id"] = id
			d.add(adapter.ProductCategories, entry(place.AppendToken("categories"), i), c)
		}
	}
	d.addWebsites(place.AppendToken("websites"), id, websites)
	place = place.AppendToken("stock_data")
	var item object
	switch err := json.Unmarshal(stock, &item); {
	case stock == nil || stock.Kind() == 'n':
		d.fault(place, "missing")
	case err != nil:
		d.fault(place, "want a record")
	default:
		item["item_id"], item["product_id"] = id, id
		setDefault(item, "stock_id", integer(1))
		setDefault(item, "notify_stock_qty", jsontext.Value("null"))
		d.add(adapter.StockItems, place, item)
	}
}

// addWebsites adds the assignments of the product of an id to a list of websites.
func (d *decoder) addWebsites(place jsontext.Pointer, id, list jsontext.Value) {
	if list == nil {
		return
	}
	var websites []int64
	if err := json.Unmarshal(list, &websites); err != nil {
		d.fault(place, "want a list of website ids, as [1, 2]")
		return
	}
	for i, w := range websites {
		assignment := object{"product_id": id, "website_id": integer(w)}
		place := entry(place, i)
		r := d.record(d.schemas.Of(adapter.ProductWebsites), place, assignment)
		d.checkUnique(adapter.ProductWebsites, place, r)
		d.data.Records[adapter.ProductWebsites] = append(d.data.Records[adapter.ProductWebsites], r)
		d.references = append(d.references, reference{place, adapter.Websites, w})
	}
}

func (d *decoder) addOrder(place jsontext.Pointer, o object) {
	kinds := []struct {
		name     string
		resource adapter.Resource
		owner    string
		list     []object
	}{
		{name: "order_items", resource: adapter.OrderItems, owner: "order_id"},
		{name: "addresses", resource: adapter.OrderAddresses, owner: "parent_id"},
		{name: "comments", resource: adapter.OrderComments, owner: "parent_id"},
	}
	for i := range kinds {
		kinds[i].list = d.objects(place.AppendToken(kinds[i].name), take(o, kinds[i].name))
	}
	if r := d.add(adapter.Orders, place, o); r.Get("entity_id").Empty() {
		return
	}
	for _, p := range kinds {
		for i, part := range p.list {
			if part == nil {
				continue
			}
			part[p.owner] = o["entity_id"]
			if p.resource == adapter.OrderItems {
				// A line has its order's dates (Order items, 4).
				setDefault(part, "created_at", o["created_at"])
				setDefault(part, "updated_at", o["updated_at"])
			}
			d.add(p.resource, entry(place.AppendToken(p.name), i), part)
		}
	}
}

func (d *decoder) addCredentials(raw jsontext.Value) {
	if raw == nil {
		return
	}
	place := jsontext.Pointer("/credentials")
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		d.fault(place, "want an object with a consumer and tokens")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d.addCredential(place.AppendToken(name), name, members[name])
	}
	if len(d.data.Tokens) > 0 && members["consumer"] == nil {
		d.fault(place.AppendToken("consumer"), "missing")
	}
}

func (d *decoder) addCredential(place jsontext.Pointer, name string, raw jsontext.Value) {
	const consumerForm, tokenForm = "want a key and a secret", "want a token, a secret and either an admin_id or a customer_id"
	form := tokenForm
	if name == "consumer" {
		form = consumerForm
	}
	var c credential
	if err := json.Unmarshal(raw, &c, json.RejectUnknownMembers(true)); err != nil {
		var wrong *json.SemanticError
		if errors.As(err, &wrong) && errors.Is(err, json.ErrUnknownName) {
			place = place.AppendToken(wrong.JSONPointer.LastToken())
			form = "unknown"
		}
		d.fault(place, "%s", form)
		return
	}
	switch {
	case c.Secret == "":
		d.fault(place.AppendToken("secret"), "missing")
	case name == "consumer" && (c.Key == "" || c.Token != "" || c.AdminID != 0 || c.CustomerID != 0),
		name != "consumer" && (c.Token == "" || c.Key != "" || (c.AdminID == 0) == (c.CustomerID == 0)):
		d.fault(place, "%s", form)
	case name == "consumer":
		d.data.Consumer = adapter.Consumer{Name: "Data set", Key: c.Key, Secret: c.Secret}
	default:
		if c.AdminID != 0 {
			d.references = append(d.references, reference{place.AppendToken("admin_id"), adapter.Admins, c.AdminID})
		} else {
			d.references = append(d.references, reference{place.AppendToken("customer_id"), adapter.Customers, c.CustomerID})
		}
		d.data.Tokens = append(d.data.Tokens, adapter.Token{
			Type: adapter.AccessToken, Token: c.Token, Secret: c.Secret, AdminID: c.AdminID, CustomerID: c.CustomerID,
		})
	}
}

// take removes the member name from o and returns it, nil where there is none.
func take(o object, name string) jsontext.Value {
	value := o[name]
	delete(o, name)
	return value
}

// dropNulls removes what is null: the accounts of a store that has never been
// changed through the service hold no empty values (Customers, 5).
func dropNulls(o object) {
	maps.DeleteFunc(o, func(_ string, v jsontext.Value) bool { return v.Kind() == 'n' })
}

func setDefault(o object, name string, v jsontext.Value) {
	if _, given := o[name]; !given && v != nil {
		o[name] = v
	}
}

func integer(i int64) jsontext.Value { return strconv.AppendInt(nil, i, 10) }
