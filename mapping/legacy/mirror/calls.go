package mirror

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

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
