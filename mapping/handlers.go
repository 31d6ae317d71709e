package mapping

import (
	"context"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/resource"
)

// handlerSet holds the handlers of all resources.
type handlerSet struct {
	customers         *handlers.Customers
	customerAddresses *handlers.Addresses
	products          *handlers.Products
	productWrites     *handlers.ProductWrites
	productImages     *handlers.Images
	productWebsites   *handlers.WebsiteAssignments
	productCategories *handlers.CategoryAssignments
	stockItems        *handlers.StockItems
	orders            *handlers.Orders
}

// table returns the handler of each call. Each resource is registered with the file of package rules
// that implements the side effects of its writes, or "" if it is only read.
func (h *handlerSet) table() *handlerTable {
	t := &handlerTable{map[string]pipeline.Handler{}, map[string]string{}, map[string]string{}}
	register(t, h.customers, "records.go", map[string]method[*handlers.Customers]{
		"getCustomer":    (*handlers.Customers).GetCustomer,
		"listCustomers":  (*handlers.Customers).ListCustomers,
		"createCustomer": (*handlers.Customers).CreateCustomer,
		"updateCustomer": (*handlers.Customers).UpdateCustomer,
		"deleteCustomer": (*handlers.Customers).DeleteCustomer,
	})
	register(t, h.customerAddresses, "customers.go", map[string]method[*handlers.Addresses]{
		"getCustomerAddress":    (*handlers.Addresses).GetCustomerAddress,
		"listCustomerAddresses": (*handlers.Addresses).ListCustomerAddresses,
		"createCustomerAddress": (*handlers.Addresses).CreateCustomerAddress,
		"updateCustomerAddress": (*handlers.Addresses).UpdateCustomerAddress,
		"deleteCustomerAddress": (*handlers.Addresses).DeleteCustomerAddress,
	})
	register(t, h.products, "", map[string]method[*handlers.Products]{
		"getProduct":         (*handlers.Products).GetProduct,
		"listProducts":       (*handlers.Products).ListProducts,
		"getProductCategory": (*handlers.Products).GetProductCategory,
	})
	register(t, h.productWrites, "products.go", map[string]method[*handlers.ProductWrites]{
		"createProduct": (*handlers.ProductWrites).CreateProduct,
		"updateProduct": (*handlers.ProductWrites).UpdateProduct,
		"deleteProduct": (*handlers.ProductWrites).DeleteProduct,
	})
	register(t, h.productImages, "images.go", map[string]method[*handlers.Images]{
		"listProductImages":  (*handlers.Images).ListProductImages,
		"getProductImage":    (*handlers.Images).GetProductImage,
		"createProductImage": (*handlers.Images).CreateProductImage,
		"updateProductImage": (*handlers.Images).UpdateProductImage,
		"deleteProductImage": (*handlers.Images).DeleteProductImage,
	})
	register(t, h.productWebsites, "assignments.go", map[string]method[*handlers.WebsiteAssignments]{
		"listProductWebsites":   (*handlers.WebsiteAssignments).ListProductWebsites,
		"createProductWebsites": (*handlers.WebsiteAssignments).CreateProductWebsites,
		"deleteProductWebsite":  (*handlers.WebsiteAssignments).DeleteProductWebsite,
	})
	register(t, h.productCategories, "assignments.go", map[string]method[*handlers.CategoryAssignments]{
		"listProductCategories": (*handlers.CategoryAssignments).ListProductCategories,
		"createProductCategory": (*handlers.CategoryAssignments).CreateProductCategory,
		"deleteProductCategory": (*handlers.CategoryAssignments).DeleteProductCategory,
	})
	register(t, h.stockItems, "stock.go", map[string]method[*handlers.StockItems]{
		"getStockItem":     (*handlers.StockItems).GetStockItem,
		"listStockItems":   (*handlers.StockItems).ListStockItems,
		"updateStockItem":  (*handlers.StockItems).UpdateStockItem,
		"updateStockItems": (*handlers.StockItems).UpdateStockItems,
	})
	register(t, h.orders, "orders.go", map[string]method[*handlers.Orders]{
		"getOrder":           (*handlers.Orders).GetOrder,
		"listOrders":         (*handlers.Orders).ListOrders,
		"listOrderItems":     (*handlers.Orders).ListOrderItems,
		"getOrderAddress":    (*handlers.Orders).GetOrderAddress,
		"listOrderAddresses": (*handlers.Orders).ListOrderAddresses,
		"getOrderComment":    (*handlers.Orders).GetOrderComment,
		"listOrderComments":  (*handlers.Orders).ListOrderComments,
		"createOrderComment": (*handlers.Orders).CreateOrderComment,
	})
	return t
}

// A method is a method of a handler H that handles one call.
type method[H any] func(H, context.Context, *resource.Call) (*resource.Reply, error)

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
		t.functions[call] = func(ctx context.Context, c *resource.Call) (*resource.Reply, error) { return handle(h, ctx, c) }
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

// RuleFiles returns the file of package rules that implements the side effects of each call's writes,
// relative to the root of the module. Calls to resources that are only read are absent.
func RuleFiles() map[string]string { return new(handlerSet).table().rules }
