package mapping

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/budget"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/ratelimit"
)

// Settings are the parts of the configuration that decide what calls answer.
type Settings struct {
	// BodyBytes and QueryBytes bound a request's body and query string. RequestBytes
	// bounds what those of all requests take at the same time, with what they are
	// decoded to.
	BodyBytes    int64
	QueryBytes   int
	RequestBytes int64
	// MaxRows is where a list without a limit ends. GuestMaxRows, unless 0, is the
	// number of records beyond which such a list is refused to a Guest.
	MaxRows, GuestMaxRows int64
	// ListsInFlight, unless 0, bounds how many lists that are longer than a batch are
	// read and sent at the same time.
	ListsInFlight int64
	// FiltersInFlight, unless 0, bounds how many lists with expensive conditions are
	// read from the store at the same time. FilterTimeout, unless 0, is how long each may take for
	// a batch, and MatchBytes, unless 0, the bytes of text that patterns are matched with
	// meanwhile outside a database.
	FiltersInFlight, MatchBytes int64
	FilterTimeout               time.Duration
	// ImagePixels bounds the pixels of an image that is created, and of all those
	// that are checked at the same time.
	ImagePixels int64
	// PublicURL is the base URL of the shop in answers; without one it is the
	// scheme and the Host header of each request.
	PublicURL string
	// ConsumerRate is how many calls per second one consumer may send in the long
	// run, 0 for any number, and ConsumerBurst how many at once. Guests, who are no
	// consumers, are not limited.
	ConsumerRate  float64
	ConsumerBurst int
	// PasswordCost is the bcrypt cost of customers' passwords that are set, 0 for
	// bcrypt.DefaultCost.
	PasswordCost int
	// JSONWithoutAccept answers calls that carry no Accept in JSON where the
	// dialect has no default format.
	JSONWithoutAccept bool
	// Stock holds the store's own stock settings.
	Stock StockSettings
	// Prices holds what prices depend on besides products and customers.
	Prices PriceSettings
	// Products holds what products may refer to.
	Products ProductSettings
	// Now is the clock. Its times should tell how much later one is than another
	// whatever the hands were set to meanwhile, as those of time.Now do.
	Now func() time.Time
	// Replies, unless nil, keeps replies to Guests. Fingerprint stands for all else
	// that replies depend on, such as the build and the configuration: services that
	// share replies have the same.
	ReplyCache  ReplyCache
	Fingerprint string
	// Legacy says how calls are signed that the old system answers. LegacySigner is for
	// OwnSignature. LegacyCache keeps its replies to Guests in Replies too.
	LegacyAuth   LegacyAuth
	LegacySigner *auth.Signer
	CacheLegacy  bool
}

// local returns t as the clocks of the store show it.
func (s *Settings) storeTime(t time.Time) time.Time {
	if s.Prices.TimeZone == nil {
		return t.UTC()
	}
	return t.In(s.Prices.TimeZone)
}

// A Service answers the calls of the contract for one dialect and one upstream.
type Service struct {
	dialect    *contract.Dialect
	table      *contract.Table
	auth       *auth.Authenticator
	settings   Settings
	log        *slog.Logger
	limits     rowLimits
	steps      []step
	handlers   map[string]handler
	listCache  *listCache
	rates      *ratelimit.Limiter[int64] // by client program
	requests   requestBudgets
	lists      listBudgets
	filters    *filterLimiter
	replyCache *replyCache // nil: none are kept

	customers         *customers
	addresses         *customerAddresses
	stock             *stockItems
	products          *products
	productImages     resource
	imageChecker      *imageChecker
	productWebsites   resource
	productCategories resource
	orders            *orders
	// What the calls refer to: read, and not shown as it is.
	shops      *shopConfigCache
	categories source
}

// A handler is what is special about a call. It returns a reply, or an error
// that faults.go knows: a contract fault, or an adapter's error.
type handler func(*Service, context.Context, *Call) (*Reply, error)

// handlers holds the handler of each call of the route table.
func handlers() map[string]handler {
	return map[string]handler{
		"getCustomer":    (*Service).getCustomer,
		"listCustomers":  (*Service).listCustomers,
		"createCustomer": (*Service).createCustomer,
		"updateCustomer": (*Service).updateCustomer,
		"deleteCustomer": (*Service).deleteCustomer,

		"getCustomerAddress":    (*Service).getCustomerAddress,
		"listCustomerAddresses": (*Service).listCustomerAddresses,
		"createCustomerAddress": (*Service).createCustomerAddress,
		"updateCustomerAddress": (*Service).updateCustomerAddress,
		"deleteCustomerAddress": (*Service).deleteCustomerAddress,

		"getProduct":            (*Service).getProduct,
		"listProducts":          (*Service).listProducts,
		"createProduct":         (*Service).createProduct,
		"updateProduct":         (*Service).updateProduct,
		"deleteProduct":         (*Service).deleteProduct,
		"listProductImages":     (*Service).listProductImages,
		"getProductImage":       (*Service).getProductImage,
		"createProductImage":    (*Service).createProductImage,
		"updateProductImage":    (*Service).updateProductImage,
		"deleteProductImage":    (*Service).deleteProductImage,
		"listProductWebsites":   (*Service).listProductWebsites,
		"createProductWebsites": (*Service).createProductWebsites,
		"deleteProductWebsite":  (*Service).deleteProductWebsite,
		"listProductCategories": (*Service).listProductCategories,
		"getProductCategory":    (*Service).getProductCategory,
		"createProductCategory": (*Service).createProductCategory,
		"deleteProductCategory": (*Service).deleteProductCategory,

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
		"createOrderComment": (*Service).createOrderComment,
	}
}

// Calls returns the names of all calls, in order.
func Calls() []string { return slices.Sorted(maps.Keys(handlers())) }

// Sources returns, for each call, the file and line of its handler below the
// project's folder.
func HandlerLocations() map[string]string {
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

// New returns the service of dialect d on the adapter behind it, whose records the
// fields show. The adapter must have all resources, and the schemas an attribute
// for every field that needs one.
func New(d *contract.Dialect, fields *contract.Fields, backend adapter.Adapter, schemas *adapter.Schemas, authenticator *auth.Authenticator, settings Settings, log *slog.Logger) (*Service, error) {
	s := &Service{
		dialect:      d,
		table:        contract.NewTable(contract.Routes(fields)),
		auth:         authenticator,
		settings:     settings,
		log:          log,
		limits:       rowLimits{total: settings.MaxRows, batch: batchRows},
		steps:        steps(),
		handlers:     handlers(),
		imageChecker: newImageChecker(settings.ImagePixels),
		replyCache:   newReplyCache(d, &settings),
		requests:     newRequestBudgets(settings.RequestBytes),
		lists:        newListBudgets(settings.ListsInFlight),
		filters:      newFilterLimiter(&settings),
	}
	var err error
	if s.listCache, err = newListCache(settings.Now); err != nil {
		return nil, err
	}
	if s.rates, err = ratelimit.New[int64](settings.ConsumerRate, settings.ConsumerBurst, settings.Now); err != nil {
		return nil, err
	}
	invalidating := &invalidatingAdapter{backend, s.listCache, settings.ReplyCache, s.filters}
	if s.shops, err = newShopConfigCache(invalidating, schemas, settings.Now); err != nil {
		return nil, fmt.Errorf("shop: %w", err)
	}
	if s.customers, err = newCustomers(d, fields, invalidating, schemas, s.shops); err != nil {
		return nil, fmt.Errorf("customers: %w", err)
	}
	if s.addresses, err = newCustomerAddresses(d, fields, invalidating, schemas); err != nil {
		return nil, fmt.Errorf("customer addresses: %w", err)
	}
	if s.stock, err = newStockItems(d, fields, invalidating, schemas, settings); err != nil {
		return nil, fmt.Errorf("stock items: %w", err)
	}
	if s.products, err = newProducts(d, fields, invalidating, schemas, s.stock, settings); err != nil {
		return nil, fmt.Errorf("products: %w", err)
	}
	if s.productImages, err = newProductImages(d, fields, invalidating, schemas, settings); err != nil {
		return nil, fmt.Errorf("product images: %w", err)
	}
	if s.productWebsites, err = newResource(d, fields.ProductWebsites, invalidating, schemas, adapter.ProductWebsites); err != nil {
		return nil, fmt.Errorf("product websites: %w", err)
	}
	if s.productCategories, err = newResource(d, fields.ProductCategories, invalidating, schemas, adapter.ProductCategories); err != nil {
		return nil, fmt.Errorf("product categories: %w", err)
	}
	if s.orders, err = newOrders(d, fields, invalidating, schemas); err != nil {
		return nil, fmt.Errorf("orders: %w", err)
	}
	if s.categories, err = newSource(invalidating, schemas, adapter.Categories); err != nil {
		return nil, fmt.Errorf("categories: %w", err)
	}
	return s, nil
}

// Table returns the table of routes, which tells what a request is for.
func (s *Service) Table() *contract.Table { return s.table }

// Budgets returns what bounds how much requests hold together, for metrics.
func (s *Service) Budgets() []*budget.Budget {
	return []*budget.Budget{s.requests.all, s.requests.guests, s.requests.forms, s.lists.all, s.lists.guests, s.filters.all, s.filters.guests}
}

// Forget ends what is remembered of the upstream's lists. It is for a store that
// has been replaced by other means than calls.
func (s *Service) InvalidateLists() { s.listCache.invalidate(nil) }
