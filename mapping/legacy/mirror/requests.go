package mirror

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A Request is a write in the form of the original's REST interface.
type Request struct {
	Method string // PUT, POST or DELETE
	Path   string // below /api/rest, such as /products/12/store/2
	// Body is JSON, nil for none. It may hold a password, so it must not be logged.
	Body []byte
	// Attributes names the requested attributes of an update that the request contains.
	Attributes []string
	// Omitted names the requested attributes that an update does not change, because the interface
	// has no form for their present state. For example, clients can set a customer's gender but not
	// remove it.
	Omitted []string
}

// Requests translates records into requests. It is safe for concurrent use.
type Requests struct {
	schemas   *adapter.Schemas
	routes    []*contract.Route
	customers []field
	addresses []field
	products  []field
	stock     []field
	stockData []contract.Rule // the members of stock_data
	images    []field
	types     []contract.ProductType
}

// NewRequests returns the translation for a shop with the given schemas and fields. It fails
// if clients may write a field whose attribute the schemas lack.
func NewRequests(schemas *adapter.Schemas, fields *contract.Fields) (*Requests, error) {
	customers, faultyCustomers := formFields(schemas.Of(adapter.Customers), fields.Customers)
	addresses, faultyAddresses := formFields(schemas.Of(adapter.CustomerAddresses), fields.CustomerAddresses)
	products, faultyProducts := productFields(schemas.Of(adapter.Products), fields.AdminProducts)
	if err := errors.Join(faultyCustomers, faultyAddresses, faultyProducts); err != nil {
		return nil, err
	}
	return &Requests{
		schemas: schemas, routes: contract.Routes(fields), types: contract.ProductTypes(),
		customers: customers, addresses: addresses, products: products, stock: stockFields(fields.StockItems),
		stockData: fields.AdminProducts.Rules.Of("stock_data").Members, images: imageFields(fields.ProductImages),
	}, nil
}

// Update returns the request that sets some attributes of a record in one scope to their present
// values. of is the root record with its parts and scopes, as [adapter.Exporter] returns it;
// resource and key identify the root or a part. ok is false if clients cannot write any of the
// attributes, so that there is nothing to send.
//
// Some attributes belong to another record than the one that shows them: the stock item of a
// product is a record of [adapter.StockItems], and the images that a product points to are the
// types of [adapter.ProductImages]. A new password of a customer cannot be sent at all: the
// original accepts one only for a new customer.
//
// The request has more than the requested attributes where the interface requires it or would
// otherwise change other attributes: the quantity of a stock item, the country and the region of an
// address, and the cases described at productBody. Still, every request about a product or its
// parts saves the product in the scope: the original sets updated_at, derives the stock status, and
// stores the shown values of the images in the scope. So an attribute of [adapter.ScopeWebsite]
// should be sent at one store view of the website only.
//
// States that the interface has no form for are described at formField, productField,
// stockFields and imageFields. A value that the original would refuse is sent all the same.
// Kinds: NotFound if of has no such record, Invalid if it is an image without a product.
func (r *Requests) Update(of adapter.Aggregate, resource adapter.Resource, key adapter.Key, storeID int64, attributes []string) (request Request, ok bool, err error) {
	if _, writable := callOf(resource, contract.PUT); !writable {
		return Request{}, false, nil
	}
	if resource == adapter.Products && slices.Contains(attributes, "stock_item") {
		return Request{}, false, fmt.Errorf("mirror: update products %d: stock_item is a record of its own: name its attributes in an update of %s", key, adapter.StockItems)
	}
	record, found := presentValues(&of, resource, key, storeID)
	if !found {
		return Request{}, false, &adapter.Error{Kind: adapter.NotFound, Op: fmt.Sprintf("mirror: update %s %d", resource, key)}
	}
	u := update{of: &of, record: record, storeID: storeID, attributes: attributes}
	method := contract.PUT
	switch resource {
	case adapter.Customers:
		u.addFields(r.customers)
	case adapter.CustomerAddresses:
		u.addressBody(r.addresses)
	case adapter.Products:
		u.productBody(r.products, r.types)
	case adapter.StockItems:
		u.stockItemBody(r.stock)
	case adapter.ProductImages:
		if method = u.imageBody(r.images); method == contract.DELETE {
			request, err = r.request(method, record, storeID, nil)
			return request, err == nil, err
		}
	}
	omitted := slices.DeleteFunc(u.omitted, func(name string) bool { return !slices.Contains(attributes, name) })
	if len(u.sent) == 0 {
		return Request{Omitted: omitted}, false, nil
	}
	request, err = r.request(method, record, storeID, u.members)
	request.Attributes, request.Omitted = u.sent, omitted
	return request, err == nil, err
}

// Create returns the request that creates a record in a scope. record is as in
// [adapter.CreateParams], with its write-only attributes. Kinds: Unsupported if clients cannot
// create such records; Invalid, with Field, if record lacks the key of the record that it belongs
// to, or an image its bytes.
func (r *Requests) Create(record adapter.Record, storeID int64) (Request, error) {
	var members []codec.Member
	var err error
	switch record.Schema.Resource {
	case adapter.Customers:
		members = customerMembers(r.customers, record)
	case adapter.CustomerAddresses:
		members = newMembers(inCountry(r.addresses, record), record)
	case adapter.Products:
		members = productMembers(r.products, r.stockData, record)
	case adapter.ProductImages:
		members, err = imageMembers(r.images, record)
	case adapter.ProductWebsites:
		members = websiteMembers(record)
	case adapter.ProductCategories:
		members = integerMembers(record, "category_id") // the original chooses the position
	case adapter.OrderComments:
		members = commentMembers(record)
	}
	if err != nil {
		return Request{}, err
	}
	return r.request(contract.POST, record, storeID, members)
}

// Delete returns the request that deletes a record from a scope. record has at least its key and
// the keys of its parent or of the records that it assigns, such as product_id and website_id.
// Kinds: Unsupported if clients cannot delete such records; Invalid, with Field, if record lacks a
// key.
func (r *Requests) Delete(record adapter.Record, storeID int64) (Request, error) {
	return r.request(contract.DELETE, record, storeID, nil)
}

// request returns a call about a record with members as its body.
func (r *Requests) request(method contract.Method, record adapter.Record, storeID int64, members []codec.Member) (Request, error) {
	path, err := r.path(method, record, storeID)
	if err != nil {
		return Request{}, err
	}
	request := Request{Method: method.String(), Path: path}
	if method != contract.DELETE {
		request.Body = encode(members)
	}
	return request, nil
}

// encode returns a record as JSON. Its numbers keep their decimals, which [codec.Append] leaves out where
// they are 0.
func encode(members []codec.Member) []byte {
	if len(members) == 0 {
		return []byte("[]")
	}
	var body []byte
	for i := range members {
		key, value := codec.TextNode(members[i].Key), &members[i].Value
		body = append(codec.Append(append(body, "{,"[min(i, 1)]), contract.JSON, "", &key, false), ':')
		if value.Kind == codec.Number {
			body = append(body, value.Text...)
		} else {
			body = codec.Append(body, contract.JSON, "", value, false)
		}
	}
	return append(body, '}')
}

// A call is a write of the interface: its name in the route table, and the parts of its path.
type call struct {
	resource adapter.Resource
	method   contract.Method
	name     string
	params   []param
	// atStores: the call has a path for each store view, to which the values are written.
	atStores bool
}

// A param is a parameter of a path, and the attribute of the record that holds its value.
type param struct{ name, attribute string }

// calls returns the writes of records, except updateStockItems, which only makes several
// updates of the same kind.
func calls() []call {
	customer, item := param{"id", "entity_id"}, param{"id", "item_id"}
	product, sold := param{"id", "product_id"}, param{"product_id", "product_id"}
	image := []param{product, {"image", "id"}}
	return []call{
		{resource: adapter.Customers, method: contract.POST, name: "createCustomer"},
		{resource: adapter.Customers, method: contract.PUT, name: "updateCustomer", params: []param{customer}},
		{resource: adapter.Customers, method: contract.DELETE, name: "deleteCustomer", params: []param{customer}},
		{resource: adapter.CustomerAddresses, method: contract.POST, name: "createCustomerAddress", params: []param{{"customer_id", "customer_id"}}},
		{resource: adapter.CustomerAddresses, method: contract.PUT, name: "updateCustomerAddress", params: []param{{"id", "entity_id"}}},
		{resource: adapter.CustomerAddresses, method: contract.DELETE, name: "deleteCustomerAddress", params: []param{{"id", "entity_id"}}},
		{resource: adapter.Products, method: contract.POST, name: "createProduct"},
		{resource: adapter.Products, method: contract.PUT, name: "updateProduct", params: []param{{"id", "entity_id"}}, atStores: true},
		{resource: adapter.Products, method: contract.DELETE, name: "deleteProduct", params: []param{{"id", "entity_id"}}},
		{resource: adapter.StockItems, method: contract.PUT, name: "updateStockItem", params: []param{item}},
		{resource: adapter.ProductImages, method: contract.POST, name: "createProductImage", params: []param{product}, atStores: true},
		{resource: adapter.ProductImages, method: contract.PUT, name: "updateProductImage", params: image, atStores: true},
		{resource: adapter.ProductImages, method: contract.DELETE, name: "deleteProductImage", params: image, atStores: true},
		{resource: adapter.ProductWebsites, method: contract.POST, name: "createProductWebsites", params: []param{sold}},
		{resource: adapter.ProductWebsites, method: contract.DELETE, name: "deleteProductWebsite", params: []param{sold, {"website_id", "website_id"}}},
		{resource: adapter.ProductCategories, method: contract.POST, name: "createProductCategory", params: []param{product}},
		{resource: adapter.ProductCategories, method: contract.DELETE, name: "deleteProductCategory", params: []param{product, {"category_id", "category_id"}}},
		{resource: adapter.OrderComments, method: contract.POST, name: "createOrderComment", params: []param{{"id", "parent_id"}}},
	}
}

// callOf returns the call that writes the records of a resource with a method.
func callOf(resource adapter.Resource, method contract.Method) (c call, ok bool) {
	for _, c := range calls() {
		if c.resource == resource && c.method == method {
			return c, true
		}
	}
	return call{}, false
}

// path returns the path of the call that writes a record with a method.
func (r *Requests) path(method contract.Method, record adapter.Record, storeID int64) (string, error) {
	op := fmt.Sprintf("mirror: %s %s", method, record.Schema.Resource)
	c, ok := callOf(record.Schema.Resource, method)
	if !ok {
		return "", &adapter.Error{Kind: adapter.Unsupported, Op: op}
	}
	values := map[string]string{}
	for _, p := range c.params {
		id := record.Get(p.attribute).Int()
		if id <= 0 {
			return "", &adapter.Error{Kind: adapter.Invalid, Op: op, Field: p.attribute, Err: fmt.Errorf("the path needs it: it must be positive")}
		}
		values[p.name] = strconv.FormatInt(id, 10)
	}
	if c.atStores && storeID != 0 {
		values["store"] = strconv.FormatInt(storeID, 10)
	}
	for _, route := range r.routes {
		if path, ok := fill(route.Path, values); ok && route.Calls[method] == c.name {
			return path, nil
		}
	}
	return "", &adapter.Error{Kind: adapter.Internal, Op: op, Err: fmt.Errorf("the route table has no call %s with the parameters %v", c.name, values)}
}

// fill replaces the parameters in a path of the route table. ok is false if the path's parameters
// and the keys of values differ.
func fill(path string, values map[string]string) (filled string, ok bool) {
	parts := strings.Split(path, "/")
	used := 0
	for i, part := range parts {
		name, isParam := strings.CutPrefix(part, ":")
		if !isParam {
			continue
		}
		value, ok := values[name]
		if !ok {
			return "", false
		}
		parts[i] = value
		used++
	}
	return strings.Join(parts, "/"), used == len(values)
}

// presentValues returns a record of an aggregate with its own values in a scope: absent ones are
// inherited. Global values, which clients cannot scope, have the default scope's value in every
// scope.
func presentValues(of *adapter.Aggregate, resource adapter.Resource, key adapter.Key, storeID int64) (record adapter.Record, found bool) {
	is := func(r adapter.Record) bool {
		return r.Schema != nil && r.Schema.Resource == resource && r.Key() == key
	}
	if is(of.Record) {
		record = of.Record
	} else if at := slices.IndexFunc(of.Parts, is); at >= 0 {
		record = of.Parts[at]
	} else {
		return record, false
	}
	if storeID == 0 && !record.Schema.PerLevel {
		return record, true
	}
	record = record.Clone()
	for i := range record.Values {
		if a := &record.Schema.Attributes[i]; !a.Static && a.Scope != adapter.ScopeGlobal {
			record.Values[i] = adapter.Value{}
		}
	}
	for _, l := range of.Levels {
		if l.StoreID != storeID || !is(l.Record) {
			continue
		}
		for i, a := range record.Schema.Attributes {
			if v := l.Record.Get(a.Name); v.Kind() != adapter.Absent && !a.Static && a.Scope != adapter.ScopeGlobal {
				record.Values[i] = v
			}
		}
	}
	return record, true
}

// partOf returns the first part of an aggregate that is a record of a resource.
func partOf(of *adapter.Aggregate, resource adapter.Resource) (part adapter.Record, found bool) {
	at := slices.IndexFunc(of.Parts, func(r adapter.Record) bool { return r.Schema.Resource == resource })
	if at < 0 {
		return part, false
	}
	return of.Parts[at], true
}

// An update collects the body of a request for the present values of a record.
type update struct {
	of         *adapter.Aggregate
	record     adapter.Record // with its own values in the scope
	storeID    int64
	attributes []string // the requested ones

	members       []codec.Member
	sent, omitted []string // of the requested attributes
}

// asks reports whether an attribute was requested.
func (u *update) asks(name string) bool { return slices.Contains(u.attributes, name) }

// addFields adds the requested fields.
func (u *update) addFields(fields []field) {
	for i := range fields {
		if u.asks(fields[i].name) && !fields[i].createOnly {
			u.add(&fields[i])
		}
	}
}

// add adds a requested field, if the interface has a form for its value.
func (u *update) add(f *field) {
	v := u.record.Get(f.name)
	n, ok := f.node(v)
	switch {
	case ok:
		u.sent = append(u.sent, f.name)
		u.put(f.name, n)
	case !f.onlySet:
		u.omitted = append(u.omitted, f.name)
	}
}

// put adds a member.
func (u *update) put(name string, n codec.Node) {
	u.members = append(u.members, codec.Member{Key: name, Value: n})
}
