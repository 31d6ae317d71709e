package mapping

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

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
	dialect  *contract.Dialect
	settings Settings
	backend  *resource.Backend
	lists    *resource.ListCache
	filters  *resource.FilterLimiter
	caches   *replycache.Invalidating
	shops    *resource.ShopCache
	// shopChanges counts the changes of the shop's configuration.
	shopChanges *atomic.Uint64
}

// New returns a service for dialect d on a backend. Replies show the given fields. The
// schemas must have an attribute for every field that is not computed. See [Offers] for
// resources that the backend has no store for.
func New(d *contract.Dialect, fields *contract.Fields, backend adapter.Adapter, schemas *adapter.Schemas, authenticator *auth.Authenticator, settings Settings, log *slog.Logger) (*Service, error) {
	lists, err := resource.NewListCache(settings.Now)
	if err != nil {
		return nil, err
	}
	s := &Service{dialect: d, settings: settings, lists: lists, shopChanges: new(atomic.Uint64), filters: resource.NewFilterLimiter(settings.FilterSettings)}
	s.caches = replycache.NewInvalidating(backend, lists.Invalidate, settings.ReplyCache)
	s.backend = resource.NewBackend(s.caches, schemas, lists, s.filters, settings.Regional)
	if s.shops, err = resource.NewShopCache(s.backend, settings.Prices, settings.Now, s.shopChanges); err != nil {
		return nil, fmt.Errorf("shop configuration: %w", err)
	}
	finder, err := handlers.NewFinder(d, s.backend, s.shops)
	if err != nil {
		return nil, fmt.Errorf("products: %w", err)
	}
	all, err := s.newHandlers(fields, finder, authenticator, log)
	if err != nil {
		return nil, err
	}
	replies := replycache.New(d, settings.ReplySettings, settings.Stock.HideSoldOut)
	routes := contract.Routes(fields)
	s.Pipeline, err = pipeline.New(pipeline.Parts{
		Dialect: d, Table: contract.NewTable(routes), NotOffered: notOffered(backend, routes), Authenticator: authenticator, Log: log,
		Handlers: all.table().functions, ReplyCache: replies,
	}, settings.Settings, settings.FilterSettings)
	if err != nil {
		return nil, err
	}
	s.Gate = newGate(gateParts{
		Dialect: d, Authenticator: authenticator, Log: log, Now: settings.Now, Products: finder, Pipeline: s.Pipeline, ReplyCache: replies,
	}, settings.LegacySettings)
	return s, nil
}

// newHandlers returns the handlers of all resources.
func (s *Service) newHandlers(fields *contract.Fields, finder *handlers.ProductFinder, authenticator *auth.Authenticator, log *slog.Logger) (*handlerSet, error) {
	d, backend, settings := s.dialect, s.backend, &s.settings
	h, links := &handlerSet{}, resource.NewLinks(settings.Links)
	var err error
	if h.customers, err = handlers.NewCustomers(d, fields, backend, s.shops, settings.Customers, authenticator.PurgeCredentials); err != nil {
		return nil, fmt.Errorf("customers: %w", err)
	}
	if h.customerAddresses, err = handlers.NewAddresses(d, fields, backend); err != nil {
		return nil, fmt.Errorf("customer addresses: %w", err)
	}
	if h.stockItems, err = handlers.NewStockItems(d, fields, backend, settings.Stock, settings.Now, log); err != nil {
		return nil, fmt.Errorf("stock items: %w", err)
	}
	if h.productImages, err = handlers.NewImages(d, fields, backend, finder, links, settings.ImagePixels); err != nil {
		return nil, fmt.Errorf("product images: %w", err)
	}
	if h.products, err = handlers.NewProducts(d, fields, backend, finder, h.productImages.Resource, settings.Stock, links, settings.Now); err != nil {
		return nil, fmt.Errorf("products: %w", err)
	}
	if h.productWrites, err = handlers.NewProductWrites(d, fields, backend, finder, &h.stockItems.Rules, settings.Products, settings.Prices, settings.Now); err != nil {
		return nil, fmt.Errorf("writes of products: %w", err)
	}
	if h.productWebsites, err = handlers.NewWebsiteAssignments(d, fields, backend, s.shops, log); err != nil {
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

// WithSettings returns a service that answers as s does, but applies these settings of
// another configuration: BodyBytes, MaxRows, GuestMaxRows, FilterTimeout, MatchBytes,
// ConsumerRate, ConsumerBurst and Fingerprint. All other settings remain as in s, because
// they size the parts that the two services share: budgets, caches and the backend. The
// counts of consumers are reset if the rate or the burst changes. s remains usable, so that
// calls in progress end under its settings.
func (s *Service) WithSettings(settings Settings) (*Service, error) {
	next := *s
	to := &next.settings
	to.BodyBytes, to.MaxRows, to.GuestMaxRows = settings.BodyBytes, settings.MaxRows, settings.GuestMaxRows
	to.FilterTimeout, to.MatchBytes = settings.FilterTimeout, settings.MatchBytes
	to.ConsumerRate, to.ConsumerBurst = settings.ConsumerRate, settings.ConsumerBurst
	to.Fingerprint = settings.Fingerprint
	replies := replycache.New(s.dialect, to.ReplySettings, to.Stock.HideSoldOut)
	var err error
	next.Pipeline, err = s.Pipeline.WithSettings(to.Settings, to.FilterSettings, replies)
	next.Gate = s.Gate.WithPipeline(next.Pipeline, replies)
	return &next, err
}

// Budgets returns the budgets that limit concurrent requests, for metrics.
func (s *Service) Budgets() []*limits.Budget {
	filters := s.filters.Budgets()
	return append(s.Pipeline.Budgets(), filters.All, filters.Guests)
}

// InvalidateLists drops all cached data about lists. It is for a backend whose records have
// been replaced by other means than calls.
func (s *Service) InvalidateLists() { s.lists.Invalidate(nil) }

// InvalidateChanged drops the cached data about records that were changed by other means than
// calls: parts by the keys of their roots; without keys, of all records of the resource; nil,
// of all records. A change of a resource that calls do not write may affect everything.
func (s *Service) InvalidateChanged(ctx context.Context, changed map[adapter.Resource][]adapter.Key) {
	s.caches.InvalidateChanged(ctx, changed, func() { s.shopChanges.Add(1) })
}
