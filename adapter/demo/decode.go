package demo

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/portico-commerce/portico/adapter"
)

// MaxSize is the greatest data set Decode reads, in bytes.
const MaxSize = 256 << 20

// object is one JSON object whose members are read later, by schema.
type object map[string]jsontext.Value

// file is the outermost object of a data set.
type file struct {
	Websites          []object              `json:"websites"`
	Stores            []object              `json:"stores"`
	CustomerGroups    []object              `json:"customer_groups"`
	Categories        []object              `json:"categories"`
	TaxRates          []object              `json:"tax_rates"`
	Products          []object              `json:"products"`
	Customers         []object              `json:"customers"`
	CustomerAddresses []object              `json:"customer_addresses"`
	Orders            []object              `json:"orders"`
	Admins            []object              `json:"admins"`
	Credentials       map[string]credential `json:"credentials"`
}

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
// most MaxSize bytes, into records of schemas. Errors name the place in the file
// and what is wrong.
func Decode(in io.Reader, schemas *adapter.Schemas) (*adapter.Dataset, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	if len(text) > MaxSize {
		return nil, fmt.Errorf("data set: larger than %d bytes", MaxSize)
	}
	var f file
	if err := strict(text, &f); err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	d := decoder{schemas: schemas, data: &adapter.Dataset{
		Records:   map[adapter.Resource][]adapter.Record{},
		Passwords: map[adapter.Key]string{},
		Stock:     adapter.DefaultStock(),
	}}
	if err := d.decode(&f); err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	return d.data, nil
}

func strict(text []byte, out any) error {
	return json.UnmarshalRead(bytes.NewReader(text), out, json.RejectUnknownMembers(true))
}

type decoder struct {
	schemas *adapter.Schemas
	data    *adapter.Dataset
}

func (d *decoder) decode(f *file) error {
	var dir directory
	if err := strict(directoryJSON, &dir); err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	for i, country := range dir.Countries {
		country["country_number"] = integer(int64(i + 1))
	}
	for _, list := range []struct {
		resource adapter.Resource
		objects  []object
		add      func(place string, o object) error
	}{
		{adapter.Countries, dir.Countries, nil},
		{adapter.Regions, dir.Regions, nil},
		{adapter.Websites, f.Websites, nil},
		{adapter.Stores, f.Stores, nil},
		{adapter.CustomerGroups, f.CustomerGroups, nil},
		{adapter.Categories, f.Categories, d.addCategory},
		{adapter.TaxRates, f.TaxRates, nil},
		{adapter.Admins, f.Admins, nil},
		{adapter.Customers, f.Customers, d.addCustomer},
		{adapter.CustomerAddresses, f.CustomerAddresses, d.addCustomerAddress},
		{adapter.Products, f.Products, d.addProduct},
		{adapter.Orders, f.Orders, d.addOrder},
	} {
		add := list.add
		if add == nil {
			add = func(place string, o object) error { _, err := d.add(list.resource, place, o); return err }
		}
		if err := noNulls(list.objects, string(list.resource)); err != nil {
			return err
		}
		for i, o := range list.objects {
			if err := add(fmt.Sprintf("%s[%d]", list.resource, i), o); err != nil {
				return err
			}
		}
	}
	for resource, records := range d.data.Records {
		if err := uniqueKeys(d.schemas.Of(resource), records); err != nil {
			return err
		}
	}
	return d.addCredentials(f.Credentials)
}

// add reads o as a record of resource and adds it.
func (d *decoder) add(resource adapter.Resource, place string, o object) (adapter.Record, error) {
	r, err := record(d.schemas.Of(resource), place, o)
	if err == nil {
		d.data.Records[resource] = append(d.data.Records[resource], r)
	}
	return r, err
}

func (d *decoder) addCategory(place string, o object) error {
	setDefault(o, "is_active", integer(1))
	_, err := d.add(adapter.Categories, place, o)
	return err
}

func (d *decoder) addCustomer(place string, o object) error {
	password, given := o["password"]
	delete(o, "password")
	dropNulls(o)
	r, err := d.add(adapter.Customers, place, o)
	if err != nil || !given {
		return err
	}
	var text string
	if err := json.Unmarshal(password, &text); err != nil || text == "" {
		return fmt.Errorf("%s.password: want a text", place)
	}
	d.data.Passwords[adapter.Key(r.Get("entity_id").Int())] = text
	return nil
}

// addCustomerAddress also finds the region's id: the directory's region of the
// country whose name or code the text is (Customer addresses, 6).
func (d *decoder) addCustomerAddress(place string, o object) error {
	dropNulls(o)
	r, err := d.add(adapter.CustomerAddresses, place, o)
	if err != nil || r.Get("region").Empty() {
		return err
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
	return nil
}

func (d *decoder) addProduct(place string, o object) error {
	categories, err := parts(o, place, "categories")
	if err != nil {
		return err
	}
	var websites []int64
	if err := part(o, place, "websites", &websites); err != nil {
		return err
	}
	var stock object
	if err := part(o, place, "stock_data", &stock); err != nil {
		return err
	}
	// As every product that a service saved (Products, 5.6).
	setDefault(o, "special_from_date", jsontext.Value("null"))
	setDefault(o, "options_container", jsontext.Value(`"container1"`))
	id := o["entity_id"]
	if _, err := d.add(adapter.Products, place, o); err != nil {
		return err
	}
	for i, c := range categories {
		c["product_id"] = id
		if _, err := d.add(adapter.ProductCategories, fmt.Sprintf("%s.categories[%d]", place, i), c); err != nil {
			return err
		}
	}
	for i, w := range websites {
		assignment := object{"product_id": id, "website_id": integer(w)}
		if _, err := d.add(adapter.ProductWebsites, fmt.Sprintf("%s.websites[%d]", place, i), assignment); err != nil {
			return err
		}
	}
	if stock == nil {
		return fmt.Errorf("%s.stock_data: missing", place)
	}
	stock["item_id"], stock["product_id"] = id, id
	setDefault(stock, "stock_id", integer(1))
	setDefault(stock, "notify_stock_qty", jsontext.Value("null"))
	_, err = d.add(adapter.StockItems, place+".stock_data", stock)
	return err
}

func (d *decoder) addOrder(place string, o object) error {
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
		list, err := parts(o, place, kinds[i].name)
		if err != nil {
			return err
		}
		kinds[i].list = list
	}
	if _, err := d.add(adapter.Orders, place, o); err != nil {
		return err
	}
	for _, p := range kinds {
		for i, entry := range p.list {
			entry[p.owner] = o["entity_id"]
			if p.resource == adapter.OrderItems {
				// A line has its order's dates (Order items, 4).
				setDefault(entry, "created_at", o["created_at"])
				setDefault(entry, "updated_at", o["updated_at"])
			}
			if _, err := d.add(p.resource, fmt.Sprintf("%s.%s[%d]", place, p.name, i), entry); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *decoder) addCredentials(credentials map[string]credential) error {
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		c := credentials[name]
		if c.Secret == "" {
			return fmt.Errorf("credentials.%s.secret: missing", name)
		}
		if name == "consumer" {
			if c.Key == "" || c.Token != "" || c.AdminID != 0 || c.CustomerID != 0 {
				return fmt.Errorf("credentials.consumer: want a key and a secret")
			}
			d.data.Consumer = adapter.Consumer{Name: "Data set", Key: c.Key, Secret: c.Secret}
			continue
		}
		if c.Token == "" || c.Key != "" || (c.AdminID == 0) == (c.CustomerID == 0) {
			return fmt.Errorf("credentials.%s: want a token, a secret and either an admin_id or a customer_id", name)
		}
		d.data.Tokens = append(d.data.Tokens, adapter.Token{
			Type: adapter.AccessToken, Token: c.Token, Secret: c.Secret, AdminID: c.AdminID, CustomerID: c.CustomerID,
		})
	}
	if len(d.data.Tokens) > 0 && d.data.Consumer.Key == "" {
		return fmt.Errorf("credentials.consumer: missing")
	}
	return nil
}

// part takes the member name out of o and reads it into out.
func part(o object, place, name string, out any) error {
	value, given := o[name]
	delete(o, name)
	if !given {
		return nil
	}
	if err := json.Unmarshal(value, out); err != nil {
		return fmt.Errorf("%s.%s: %w", place, name, err)
	}
	return nil
}

// parts takes the list of records called name out of o.
func parts(o object, place, name string) ([]object, error) {
	var list []object
	if err := part(o, place, name, &list); err != nil {
		return nil, err
	}
	return list, noNulls(list, place+"."+name)
}

func noNulls(list []object, place string) error {
	if i := slices.IndexFunc(list, func(o object) bool { return o == nil }); i >= 0 {
		return fmt.Errorf("%s[%d]: want a record", place, i)
	}
	return nil
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
