package mapping

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Settings are the parts of the configuration that decide what calls answer.
type Settings struct {
	// BodyBytes and QueryBytes bound a request's body and query string.
	BodyBytes  int64
	QueryBytes int
	// MaxRows bounds a list without a limit.
	MaxRows int64
	// PublicURL is the base URL of the shop in answers; without one it is the
	// scheme and the Host header of each request.
	PublicURL string
	// JSONWithoutAccept answers calls that carry no Accept in JSON where the
	// dialect has no default format.
	JSONWithoutAccept bool
	// Stock holds the store's own stock settings.
	Stock StockSettings
	// Prices holds what prices depend on besides products and customers.
	Prices PriceSettings
	// Now is the clock.
	Now func() time.Time
}

// A Service answers the calls of the contract for one dialect and one upstream.
type Service struct {
	dialect  *contract.Dialect
	table    *contract.Table
	auth     *auth.Authenticator
	settings Settings
	log      *slog.Logger
	steps    []step
	handlers map[string]handler

	customers         *customers
	addresses         *customerAddresses
	stock             *stockItems
	products          *products
	productImages     resource
	productWebsites   resource
	productCategories resource
	orders            *orders
	// What the calls refer to: read, and not shown as it is.
	shops      *shops
	categories source
}

// A handler is what is special about a call. It returns a reply, or an error
// that faults.go knows: a contract fault, or an adapter's error.
type handler func(*Service, context.Context, *Call) (*Reply, error)

// handlers holds the handler of each call of the route table that is built.
// Calls without one answer 405, as what the contract does not implement.
func handlers() map[string]handler {
	return map[string]handler{
		"getCustomer":   (*Service).getCustomer,
		"listCustomers": (*Service).listCustomers,

		"getCustomerAddress":    (*Service).getCustomerAddress,
		"listCustomerAddresses": (*Service).listCustomerAddresses,

		"getProduct":            (*Service).getProduct,
		"listProducts":          (*Service).listProducts,
		"listProductImages":     (*Service).listProductImages,
		"getProductImage":       (*Service).getProductImage,
		"listProductWebsites":   (*Service).listProductWebsites,
		"listProductCategories": (*Service).listProductCategories,

		"getStockItem":     (*Service).getStockItem,
		"listStockItems":   (*Service).listStockItems,
		"updateStockItem":  (*Service).updateStockItem,
		"updateStockItems": (*Service).updateStockItems,

		"getOrder":           (*Service).getOrder,
		"listOrders":         (*Service).listOrders,
		"listOrderItems":     (*Service).listOrderItems,
		"getOrderAddress":    (*Service).getOrderAddress,
		"listOrderAddresses": (*Service).listOrderAddresses,
		"getOrderComment":    (*Service).getOrderComment,
		"listOrderComments":  (*Service).listOrderComments,
	}
}

// Sources returns, for each call that is built, the file and line of its
// handler below the project's folder.
func Sources() map[string]string {
	sources := map[string]string{}
	for call, h := range handlers() {
		f := runtime.FuncForPC(reflect.ValueOf(h).Pointer())
		file, line := f.FileLine(f.Entry())
		if at := strings.LastIndex(file, "mapping/"); at >= 0 {
			file = file[at:]
		}
		sources[call] = file + ":" + strconv.Itoa(line)
	}
	return sources
}

// New returns the service of dialect d on upstream. The upstream must have the
// resources whose calls are built.
func New(d *contract.Dialect, upstream adapter.Adapter, schemas *adapter.Schemas, authenticator *auth.Authenticator, settings Settings, log *slog.Logger) (*Service, error) {
	s := &Service{
		dialect:  d,
		table:    contract.NewTable(contract.Routes()),
		auth:     authenticator,
		settings: settings,
		log:      log,
		steps:    steps(),
		handlers: handlers(),
	}
	var err error
	if s.customers, err = newCustomers(d, upstream, schemas); err != nil {
		return nil, fmt.Errorf("customers: %w", err)
	}
	if s.addresses, err = newCustomerAddresses(d, upstream, schemas); err != nil {
		return nil, fmt.Errorf("customer addresses: %w", err)
	}
	if s.stock, err = newStockItems(d, upstream, schemas, settings); err != nil {
		return nil, fmt.Errorf("stock items: %w", err)
	}
	if s.products, err = newProducts(d, upstream, schemas, s.stock.source); err != nil {
		return nil, fmt.Errorf("products: %w", err)
	}
	if s.productImages, err = newProductImages(d, upstream, schemas, settings); err != nil {
		return nil, fmt.Errorf("product images: %w", err)
	}
	if s.productWebsites, err = newResource(d, contract.ProductWebsiteFields(), upstream, schemas, adapter.ProductWebsites); err != nil {
		return nil, fmt.Errorf("product websites: %w", err)
	}
	if s.productCategories, err = newResource(d, contract.ProductCategoryFields(), upstream, schemas, adapter.ProductCategories); err != nil {
		return nil, fmt.Errorf("product categories: %w", err)
	}
	if s.orders, err = newOrders(d, upstream, schemas); err != nil {
		return nil, fmt.Errorf("orders: %w", err)
	}
	if s.shops, err = newShops(upstream, schemas, settings.Now); err != nil {
		return nil, fmt.Errorf("shop: %w", err)
	}
	if s.categories, err = sourceOf(upstream, schemas, adapter.Categories); err != nil {
		return nil, fmt.Errorf("categories: %w", err)
	}
	return s, nil
}
