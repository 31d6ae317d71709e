package mapping

import (
	"context"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/mapping/calls"
	"github.com/portico-commerce/portico/mapping/customers"
	"github.com/portico-commerce/portico/mapping/orders"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/products"
	"github.com/portico-commerce/portico/mapping/products/assignments"
	"github.com/portico-commerce/portico/mapping/products/images"
	"github.com/portico-commerce/portico/mapping/products/writes"
	"github.com/portico-commerce/portico/mapping/stockitems"
)

// handlerSet holds the handlers of all resources.
type handlerSet struct {
	customers         *customers.Customers
	customerAddresses *customers.Addresses
	products          *products.Products
	productWrites     *writes.Writes
	productImages     *images.Images
	productWebsites   *assignments.Websites
	productCategories *assignments.Categories
	stockItems        *stockitems.Items
	orders            *orders.Orders
}

// table returns the method that handles each call in the route table, with the file of package
// rules that has what its writes entail, "" for none.
func (h *handlerSet) table() *handlerTable {
	t := &handlerTable{map[string]pipeline.Handler{}, map[string]string{}, map[string]string{}}
	register(t, h.customers, "records.go", map[string]method[*customers.Customers]{
		"getCustomer":    (*customers.Customers).GetCustomer,
		"listCustomers":  (*customers.Customers).ListCustomers,
		"createCustomer": (*customers.Customers).CreateCustomer,
		"updateCustomer": (*customers.Customers).UpdateCustomer,
		"deleteCustomer": (*customers.Customers).DeleteCustomer,
	})
	register(t, h.customerAddresses, "customers.go", map[string]method[*customers.Addresses]{
		"getCustomerAddress":    (*customers.Addresses).GetCustomerAddress,
		"listCustomerAddresses": (*customers.Addresses).ListCustomerAddresses,
		"createCustomerAddress": (*customers.Addresses).CreateCustomerAddress,
		"updateCustomerAddress": (*customers.Addresses).UpdateCustomerAddress,
		"deleteCustomerAddress": (*customers.Addresses).DeleteCustomerAddress,
	})
	register(t, h.products, "", map[string]method[*products.Products]{
		"getProduct":         (*products.Products).GetProduct,
		"listProducts":       (*products.Products).ListProducts,
		"getProductCategory": (*products.Products).GetProductCategory,
	})
	register(t, h.productWrites, "products.go", map[string]method[*writes.Writes]{
		"createProduct": (*writes.Writes).CreateProduct,
		"updateProduct": (*writes.Writes).UpdateProduct,
		"deleteProduct": (*writes.Writes).DeleteProduct,
	})
	register(t, h.productImages, "images.go", map[string]method[*images.Images]{
		"listProductImages":  (*images.Images).ListProductImages,
		"getProductImage":    (*images.Images).GetProductImage,
		"createProductImage": (*images.Images).CreateProductImage,
		"updateProductImage": (*images.Images).UpdateProductImage,
		"deleteProductImage": (*images.Images).DeleteProductImage,
	})
	register(t, h.productWebsites, "assignments.go", map[string]method[*assignments.Websites]{
		"listProductWebsites":   (*assignments.Websites).ListProductWebsites,
		"createProductWebsites": (*assignments.Websites).CreateProductWebsites,
		"deleteProductWebsite":  (*assignments.Websites).DeleteProductWebsite,
	})
	register(t, h.productCategories, "assignments.go", map[string]method[*assignments.Categories]{
		"listProductCategories": (*assignments.Categories).ListProductCategories,
		"createProductCategory": (*assignments.Categories).CreateProductCategory,
		"deleteProductCategory": (*assignments.Categories).DeleteProductCategory,
	})
	register(t, h.stockItems, "stock.go", map[string]method[*stockitems.Items]{
		"getStockItem":     (*stockitems.Items).GetStockItem,
		"listStockItems":   (*stockitems.Items).ListStockItems,
		"updateStockItem":  (*stockitems.Items).UpdateStockItem,
		"updateStockItems": (*stockitems.Items).UpdateStockItems,
	})
	register(t, h.orders, "orders.go", map[string]method[*orders.Orders]{
		"getOrder":           (*orders.Orders).GetOrder,
		"listOrders":         (*orders.Orders).ListOrders,
		"listOrderItems":     (*orders.Orders).ListOrderItems,
		"getOrderAddress":    (*orders.Orders).GetOrderAddress,
		"listOrderAddresses": (*orders.Orders).ListOrderAddresses,
		"getOrderComment":    (*orders.Orders).GetOrderComment,
		"listOrderComments":  (*orders.Orders).ListOrderComments,
		"createOrderComment": (*orders.Orders).CreateOrderComment,
	})
	return t
}

// A method is a method of a handler H that handles one call.
type method[H any] func(H, context.Context, *calls.Call) (*calls.Reply, error)

// A handlerTable holds the function that handles each call, its file and line, and the file of
// the rules of its writes, both relative to the root of the module.
type handlerTable struct {
	functions map[string]pipeline.Handler
	locations map[string]string
	rules     map[string]string
}

// register adds the calls that h handles to t. rule is the file in package rules.
func register[H any](t *handlerTable, h H, rule string, methods map[string]method[H]) {
	for call, handle := range methods {
		if rule != "" {
			t.rules[call] = "adapter/rules/" + rule
		}
		t.functions[call] = func(ctx context.Context, c *calls.Call) (*calls.Reply, error) { return handle(h, ctx, c) }
		f := runtime.FuncForPC(reflect.ValueOf(handle).Pointer())
		file, line := f.FileLine(f.Entry())
		if at := strings.LastIndex(file, "mapping/"); at >= 0 {
			file = file[at:]
		}
		t.locations[call] = file + ":" + strconv.Itoa(line)
	}
}

// Calls returns the names of all calls, sorted.
func Calls() []string { return slices.Sorted(maps.Keys(HandlerLocations())) }

// HandlerLocations returns the file and line of each call's handler, relative to the root
// of the module.
func HandlerLocations() map[string]string { return new(handlerSet).table().locations }

// RuleFiles returns, for each call, the file that has what the writes of its handler entail,
// relative to the root of the module. Calls of handlers that write nothing are absent.
func RuleFiles() map[string]string { return new(handlerSet).table().rules }
