package mapping

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/limits"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/replycache"
	"github.com/portico-commerce/portico/mapping/resource"
)

// Settings are the parts of the configuration that affect the answers to calls.
type Settings struct {
	pipeline.Settings
	resource.FilterSettings
	replycache.ReplySettings
	LegacySettings
	// ImagePixels limits the pixels of a new image, and of all images that are checked at
	// the same time.
	ImagePixels int64
	// Customers holds the settings of customers' accounts.
	Customers handlers.CustomerSettings
	// Stock holds the shop's stock settings.
	Stock handlers.StockSettings
	// Regional holds the shop's settings for times and dates.
	Regional resource.RegionalSettings
	// Prices holds the settings that prices depend on.
	Prices resource.PriceSettings
	// Products holds the values that products may refer to.
	Products handlers.ProductSettings
}

// A Service answers the calls of the contract in one dialect from one backend. It is safe
// for concurrent use.
type Service struct {
	*pipeline.Pipeline
	*Gate
	shared   *sharedParts
	fields   *contract.Fields
	settings Settings
}

// sharedParts are the parts that services of the same store share, whatever their fields and settings.
type sharedParts struct {
	dialect       *contract.Dialect
	schemas       *adapter.Schemas
	authenticator *auth.Authenticator
	log           *slog.Logger
	lists         *resource.ListCache
	filters       *resource.FilterLimiter
	caches        *replycache.Invalidating
	images        *adapter.ImageChecker
	batches       handlers.BatchLock
	shopChanges   *resource.Generation // counts the changes of the shop's configuration
}

// New returns a service for dialect d on a backend. Replies show the given fields. The
// schemas must have an attribute for every field that is not computed. See [Offers] for
// resources that the backend has no store for.
func New(d *contract.Dialect, fields *contract.Fields, backend adapter.Adapter, schemas *adapter.Schemas, authenticator *auth.Authenticator, settings Settings, log *slog.Logger) (*Service, error) {
	lists, err := resource.NewListCache(settings.Now)
	if err != nil {
		return nil, err
	}
	first := &Service{shared: &sharedParts{
		dialect: d, schemas: schemas, authenticator: authenticator, log: log,
		lists: lists, filters: resource.NewFilterLimiter(settings.FilterSettings), caches: replycache.NewInvalidating(backend, lists.Invalidate, settings.ReplyCache),
		images: adapter.NewImageChecker(settings.ImagePixels), batches: handlers.NewBatchLock(), shopChanges: new(resource.Generation),
	}}
	if first.Pipeline, err = pipeline.New(settings.Settings); err != nil {
		return nil, err
	}
	return first.With(fields, settings)
}

// With returns a service of the same store that shows other fields under other settings. It shares the
// backend, budgets and caches with s, so these settings remain as in s: RequestBytes, ListsInFlight,
// FiltersInFlight, ImagePixels and ReplyCache. The counts of consumers are reset if the rate or the
// burst changes. s remains usable, so that calls in progress end under its fields and settings.
func (s *Service) With(fields *contract.Fields, settings Settings) (*Service, error) {
	p := s.shared
	backend := resource.NewBackend(p.caches, p.schemas, p.lists, p.filters, settings.Regional)
	shops, err := resource.NewShopCache(backend, settings.Prices, settings.Now, p.shopChanges)
	if err != nil {
		return nil, fmt.Errorf("shop configuration: %w", err)
	}
	finder, err := handlers.NewFinder(p.dialect, backend, shops)
	if err != nil {
		return nil, fmt.Errorf("products: %w", err)
	}
	all, err := p.newHandlers(fields, backend, shops, finder, &settings)
	if err != nil {
		return nil, err
	}
	replies := replycache.New(p.dialect, settings.ReplySettings, settings.Stock.HideSoldOut)
	routes := contract.Routes(fields)
	next := &Service{shared: p, fields: fields, settings: settings}
	next.Pipeline, err = s.Pipeline.With(pipeline.Parts{
		Dialect: p.dialect, Table: contract.NewTable(routes), NotOffered: notOffered(p.caches, routes), Authenticator: p.authenticator, Log: p.log,
		Handlers: all.table().functions, ReplyCache: replies,
	}, settings.Settings, settings.FilterSettings)
	if err != nil {
		return nil, err
	}
	next.Gate = newGate(gateParts{
		Dialect: p.dialect, Authenticator: p.authenticator, Now: settings.Now, Products: finder, Pipeline: next.Pipeline, ReplyCache: replies,
	}, settings.LegacySettings)
	return next, nil
}

// newHandlers returns the handlers of all resources.
func (p *sharedParts) newHandlers(fields *contract.Fields, backend *resource.Backend, shops *resource.ShopCache, finder *handlers.ProductFinder, settings *Settings) (*handlerSet, error) {
	d := p.dialect
	h, links := &handlerSet{}, resource.NewLinks(settings.Links)
	var err error
	if h.customers, err = handlers.NewCustomers(d, fields, backend, shops, settings.Customers, p.authenticator.PurgeCredentials); err != nil {
		return nil, fmt.Errorf("customers: %w", err)
	}
	if h.customerAddresses, err = handlers.NewAddresses(d, fields, backend, shops); err != nil {
		return nil, fmt.Errorf("customer addresses: %w", err)
	}
	if h.stockItems, err = handlers.NewStockItems(d, fields, backend, settings.Stock, settings.Now, p.batches, p.log); err != nil {
		return nil, fmt.Errorf("stock items: %w", err)
	}
	if h.productImages, err = handlers.NewImages(d, fields, backend, finder, links, p.images); err != nil {
		return nil, fmt.Errorf("product images: %w", err)
	}
	if h.products, err = handlers.NewProducts(d, fields, backend, finder, h.productImages.Resource, settings.Stock, links, settings.Now); err != nil {
		return nil, fmt.Errorf("products: %w", err)
	}
	if h.productWrites, err = handlers.NewProductWrites(d, fields, backend, finder, &h.stockItems.Rules, settings.Products, settings.Prices, settings.Now); err != nil {
		return nil, fmt.Errorf("writes of products: %w", err)
	}
	if h.productWebsites, err = handlers.NewWebsiteAssignments(d, fields, backend, shops, p.log); err != nil {
		return nil, fmt.Errorf("product websites: %w", err)
	}
	if h.productCategories, err = handlers.NewCategoryAssignments(d, fields, backend, finder); err != nil {
		return nil, fmt.Errorf("product categories: %w", err)
	}
	if h.orders, err = handlers.NewOrders(d, fields, backend); err != nil {
		return nil, fmt.Errorf("orders: %w", err)
	}
	return h, nil
}

// Budgets returns the budgets that limit concurrent requests, for metrics.
func (s *Service) Budgets() []*limits.Budget {
	filters := s.shared.filters.Budgets()
	return append(s.Pipeline.Budgets(), filters.All, filters.Guests)
}

// InvalidateLists drops all cached data about lists. It is for a backend whose records have
// been replaced by other means than calls.
func (s *Service) InvalidateLists() { s.shared.lists.Invalidate(nil) }

// InvalidateChanged drops the cached data about records that were changed by other means than
// calls: parts by the keys of their roots; without keys, of all records of the resource; nil,
// of all records. A change of a resource that calls do not write may affect everything.
func (s *Service) InvalidateChanged(ctx context.Context, changed map[adapter.Resource][]adapter.Key) {
	s.shared.caches.InvalidateChanged(ctx, changed, func() { s.shared.shopChanges.Add(1) })
}
