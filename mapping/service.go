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

// Settings are the parts of the configuration that affect the answers to calls.
type Settings struct {
	// BodyBytes and QueryBytes limit the body and the query string of a request, in
	// bytes. RequestBytes limits the memory for those of all concurrent requests,
	// including their decoded forms.
	BodyBytes    int64
	QueryBytes   int
	RequestBytes int64
	// MaxRows is the length at which a list without a limit ends. GuestMaxRows, unless 0,
	// is the length above which such a list is refused to a Guest.
	MaxRows, GuestMaxRows int64
	// ListsInFlight, unless 0, limits how many lists longer than one batch are read and
	// sent at the same time.
	ListsInFlight int64
	// FiltersInFlight, unless 0, limits how many lists with expensive conditions are read
	// from the store at the same time. FilterTimeout, unless 0, limits the time for one
	// batch of such a list. MatchBytes, unless 0, limits the text that is matched with
	// patterns for it outside a database, in bytes.
	FiltersInFlight, MatchBytes int64
	FilterTimeout               time.Duration
	// ImagePixels limits the pixels of a new image, and of all images that are checked at
	// the same time.
	ImagePixels int64
	// PublicURL is the base URL of the shop in replies. If it is empty, replies use the
	// scheme and the Host header of each request.
	PublicURL string
	// ConsumerRate is the number of calls per second that one consumer may send on
	// average, 0 for no limit, and ConsumerBurst the number it may send at once. Guests
	// are not consumers and not limited by it.
	ConsumerRate  float64
	ConsumerBurst int
	// PasswordCost is the bcrypt cost for new passwords of customers, or 0 for
	// bcrypt.DefaultCost.
	PasswordCost int
	// JSONWithoutAccept answers calls without an Accept header in JSON, in the dialect
	// without default formats.
	JSONWithoutAccept bool
	// Stock holds the shop's stock settings.
	Stock StockSettings
	// Prices holds the settings that prices depend on.
	Prices PriceSettings
	// Products holds the values that products may refer to.
	Products ProductSettings
	// Now returns the current time. It should return times with a monotonic clock
	// reading, as time.Now does.
	Now func() time.Time
	// ReplyCache, unless nil, caches replies to Guests. Fingerprint identifies everything
	// else that replies depend on, such as the build and the configuration: only services
	// with the same fingerprint share replies.
	ReplyCache  ReplyCache
	Fingerprint string
	// AwaitChanges, unless nil, is called before each call that the backend answers. It
	// returns when [Service.InvalidateChanged] has been called for everything that other
	// processes have changed before, or when that cannot be known.
	AwaitChanges func(context.Context) bool
	// LegacyAuth says how calls for the legacy system are signed. LegacySigner is the
	// signer for AdminSignature. CacheLegacy also caches replies of the legacy system to
	// Guests in ReplyCache.
	LegacyAuth   LegacyAuth
	LegacySigner *auth.Signer
	CacheLegacy  bool
}

// storeTime returns t in the shop's time zone.
func (s *Settings) storeTime(t time.Time) time.Time {
	if s.Prices.TimeZone == nil {
		return t.UTC()
	}
	return t.In(s.Prices.TimeZone)
}

// A Service answers the calls of the contract in one dialect from one backend. It is safe
// for concurrent use.
type Service struct {
	dialect    *contract.Dialect
	table      *contract.Table
	notOffered map[*contract.Route]bool // routes whose resource the adapter does not offer
	auth       *auth.Authenticator
	settings   Settings
	log        *slog.Logger
	limits     rowLimits
	steps      []step
	handlers   map[string]handler
	listCache  *listCache
	rates      *ratelimit.Limiter[int64] // by consumer
	requests   requestBudgets
	lists      listBudgets
	filters    *filterLimiter
	replyCache *guestReplyCache // nil: replies are not cached
	// limits of lists with expensive conditions, by caller
	callerFilters, guestFilters *filterLimits

	customers         *customers
	addresses         *customerAddresses
	stock             *stockItems
	products          *products
	productImages     resource
	imageChecker      *imageChecker
	productWebsites   resource
	productCategories resource
	orders            *orders
	// data that calls refer to but do not return
	shops      *shopConfigCache
	categories source
}

// A handler does what is specific to one call. It returns a reply, or an error that
// faultsOf can translate: a fault of the contract or an error of the adapter.
type handler func(*Service, context.Context, *Call) (*Reply, error)

// handlers returns the handler of each call in the route table.
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

// Calls returns the names of all calls, sorted.
func Calls() []string { return slices.Sorted(maps.Keys(handlers())) }

// HandlerLocations returns the file and line of each call's handler, relative to the root
// of the module.
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

// New returns a service for dialect d on a backend. Replies show the given fields. The
// schemas must have an attribute for every field that is not computed. See [Offers] for
// resources that the backend has no store for.
func New(d *contract.Dialect, fields *contract.Fields, backend adapter.Adapter, schemas *adapter.Schemas, authenticator *auth.Authenticator, settings Settings, log *slog.Logger) (*Service, error) {
	routes := contract.Routes(fields)
	s := &Service{
		dialect:      d,
		table:        contract.NewTable(routes),
		notOffered:   notOffered(backend, routes),
		auth:         authenticator,
		settings:     settings,
		log:          log,
		limits:       rowLimits{total: settings.MaxRows, batch: batchRows},
		steps:        steps(),
		handlers:     handlers(),
		imageChecker: newImageChecker(settings.ImagePixels),
		replyCache:   newGuestReplyCache(d, &settings),
		requests:     newRequestBudgets(settings.RequestBytes),
		lists:        newListBudgets(settings.ListsInFlight),
		filters:      newFilterLimiter(&settings),
	}
	s.setFilterLimits()
	var err error
	if s.listCache, err = newListCache(settings.Now); err != nil {
		return nil, err
	}
	if s.rates, err = ratelimit.New[int64](settings.ConsumerRate, settings.ConsumerBurst, settings.Now); err != nil {
		return nil, err
	}
	invalidating := &invalidatingAdapter{backend, s.listCache, settings.ReplyCache, s.filters}
	if s.shops, err = newShopConfigCache(invalidating, schemas, &s.settings); err != nil {
		return nil, fmt.Errorf("shop configuration: %w", err)
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

// Table returns the route table, which resolves requests to calls.
func (s *Service) Table() *contract.Table { return s.table }

// Budgets returns the budgets that limit concurrent requests, for metrics.
func (s *Service) Budgets() []*budget.Budget {
	return []*budget.Budget{s.requests.all, s.requests.guests, s.requests.forms, s.lists.all, s.lists.guests, s.filters.all, s.filters.guests}
}

// InvalidateLists drops everything that is cached about lists. It is for a backend whose
// records have been replaced by other means than calls.
func (s *Service) InvalidateLists() { s.listCache.invalidate(nil) }
