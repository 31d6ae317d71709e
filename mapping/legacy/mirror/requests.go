package mirror

import (
	"errors"
	"fmt"
	"slices"

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

// encode returns a record as JSON.
func encode(members []codec.Member) []byte {
	record := codec.RecordNode(members...)
	return codec.Append(nil, contract.JSON, "", &record, false)
}
