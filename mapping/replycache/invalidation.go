package replycache

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/resource"
)

// An Invalidating wraps the adapter of a service. Every write of its stores
// invalidates the cached lists and replies that it may change, so that no handler has to.
type Invalidating struct {
	adapter.Adapter
	invalidateLists func([]adapter.Resource) // all lists, if there are no resources
	replyCache      Cache                    // nil: replies are not cached
}

// NewInvalidating returns an adapter whose writes invalidate the lists of some resources,
// or all lists if there are none, and, unless replies is nil, the replies to Guests.
func NewInvalidating(a adapter.Adapter, lists func([]adapter.Resource), replies Cache) *Invalidating {
	return &Invalidating{a, lists, replies}
}

// Store returns the adapter's store of r, wrapped so that its writes invalidate caches.
func (a *Invalidating) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := a.Adapter.Store(r)
	if err != nil {
		return nil, err
	}
	wrapped := &invalidatingStore{Store: store, invalidateLists: a.invalidateLists, affected: affectedLists()[r], resource: r}
	if tags, ok := GuestReplyTags()[r]; ok {
		wrapped.replyCache, wrapped.tags = a.replyCache, tags
	}
	if products, err := a.Adapter.Store(adapter.Products); err == nil {
		wrapped.products = products
	}
	return wrapped, nil
}

// affectedLists maps each resource that calls write to the resources whose lists such a write may
// change: the lists of the record itself, of records deleted with it, and of values joined or
// derived from it. A write of any other resource affects all lists.
func affectedLists() map[adapter.Resource][]adapter.Resource {
	product := []adapter.Resource{adapter.Products, adapter.ProductImages, adapter.ProductWebsites, adapter.ProductCategories, adapter.StockItems}
	order := []adapter.Resource{adapter.Orders, adapter.OrderItems, adapter.OrderAddresses, adapter.OrderComments}
	return map[adapter.Resource][]adapter.Resource{
		adapter.Products:          product,
		adapter.ProductImages:     product,
		adapter.ProductWebsites:   product,
		adapter.ProductCategories: product,
		adapter.StockItems:        {adapter.StockItems},
		adapter.Customers:         {adapter.Customers, adapter.CustomerAddresses, adapter.Orders},
		adapter.CustomerAddresses: {adapter.CustomerAddresses, adapter.Customers},
		adapter.Orders:            order,
		adapter.OrderItems:        order,
		adapter.OrderAddresses:    order,
		adapter.OrderComments:     order,
	}
}

// InvalidateChanged invalidates the cached lists and replies of records that changed by other means
// than calls. changed has parts by the keys of their roots; no keys mean all records of the
// resource, and nil all records. It calls everything, before it returns, if a change affects a
// resource that calls do not write: every reply may depend on it.
func (a *Invalidating) InvalidateChanged(ctx context.Context, changed map[adapter.Resource][]adapter.Key, everything func()) {
	all := changed == nil
	if !all && len(changed) == 0 {
		return
	}
	var lists []adapter.Resource
	var tags []string
	for r, keys := range changed {
		affected, written := affectedLists()[r]
		all = all || !written
		lists = append(lists, affected...)
		shown, ok := GuestReplyTags()[r]
		if !ok {
			continue
		}
		if r == adapter.StockItems { // whether a product sells out is not known
			lists, tags = append(lists, resource.InStockLists), append(tags, InStockTag)
		}
		if tags = append(tags, shown.tag); len(keys) == 0 {
			tags = append(tags, allTag)
		}
		for _, key := range keys {
			tags = append(tags, ProductTag(int64(key)))
		}
	}
	if all {
		lists, tags = nil, []string{allTag}
		everything()
	}
	a.invalidateLists(lists)
	if a.replyCache != nil && len(tags) > 0 {
		slices.Sort(tags)
		a.replyCache.BeginWrite(ctx, slices.Compact(tags))()
	}
}

// guestTags names the tags of the replies to Guests that a write of a resource may
// change: the tag of the product whose id is in the attribute product, and tag.
type guestTags struct{ product, tag string }

// GuestReplyTags lists the resources whose writes a Guest may see. Product lists do not
// show stock, so a write of a stock item invalidates only the replies that do, and, if the item
// begins or ceases to be in stock, the lists that leave out sold-out products.
func GuestReplyTags() map[adapter.Resource]guestTags {
	return map[adapter.Resource]guestTags{
		adapter.Products:          {"entity_id", CatalogTag},
		adapter.ProductImages:     {"product_id", CatalogTag},
		adapter.ProductWebsites:   {"product_id", CatalogTag},
		adapter.ProductCategories: {"product_id", CatalogTag},
		adapter.StockItems:        {"product_id", StockTag},
	}
}

// An invalidatingStore invalidates cached lists after each write, and cached replies both
// before the commit and after it. It does so even if the write fails, because a write
// whose connection breaks during the commit may have succeeded.
type invalidatingStore struct {
	adapter.Store
	invalidateLists func([]adapter.Resource)
	affected        []adapter.Resource
	replyCache      Cache // nil if no cached reply shows the records
	tags            guestTags
	products        adapter.Store // nil if the adapter has none
	resource        adapter.Resource
}

func (s *invalidatingStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	invalidation := s.newInvalidation()
	defer invalidation.end(ctx)
	observed := *p
	observed.Locked = invalidation.observe(ctx, p.Locked)
	key, err := s.Store.Create(ctx, &observed)
	if err == nil && s.replyCache != nil && p.Record.Get(s.tags.product).Kind() != adapter.Integer {
		// The key is known only now. Any reply cached until now can only say that the
		// product does not exist.
		invalidation.begin(ctx, ProductTag(int64(key)))
	}
	return key, err
}

func (s *invalidatingStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	invalidation := s.newInvalidation()
	defer invalidation.end(ctx)
	observed := *p
	observed.Locked = invalidation.observe(ctx, p.Locked)
	return s.Store.Update(ctx, &observed)
}

func (s *invalidatingStore) UpdateBatch(ctx context.Context, batch []adapter.UpdateParams) ([]error, error) {
	invalidation := s.newInvalidation()
	defer invalidation.end(ctx)
	observed := slices.Clone(batch)
	for i := range observed {
		observed[i].Locked = invalidation.observe(ctx, batch[i].Locked)
	}
	return adapter.UpdateBatch(ctx, s.Store, observed)
}

func (s *invalidatingStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	invalidation := s.newInvalidation()
	defer invalidation.end(ctx)
	observed := *p
	observed.Locked = invalidation.observe(ctx, p.Locked)
	return s.Store.Delete(ctx, &observed)
}

// A replyInvalidation is the invalidation of cached lists and replies by one write.
type replyInvalidation struct {
	*invalidatingStore
	lists []adapter.Resource // whose lists the write may change
	// components are the products whose composites the write may change.
	components map[int64]bool
	begun      map[string]bool // by tag
	done       []func()
}

func (s *invalidatingStore) newInvalidation() *replyInvalidation {
	return &replyInvalidation{invalidatingStore: s, lists: s.affected, components: map[int64]bool{}, begun: map[string]bool{}}
}

// observe returns the observers of the write with one that begins to invalidate the replies that
// show the record. The write calls it inside its transaction, which may run more than once.
func (c *replyInvalidation) observe(ctx context.Context, others []adapter.Observer) []adapter.Observer {
	if c.replyCache == nil && c.resource != adapter.StockItems {
		return others
	}
	return append(slices.Clip(others), func(current, change adapter.Record) error {
		record := current
		if record.Schema == nil {
			record = change
		}
		tags := []string{c.tags.tag}
		sold := c.resource == adapter.StockItems && changesSale(current, change)
		if product := record.Get(c.tags.product); product.Kind() == adapter.Integer {
			tags = append(tags, ProductTag(product.Int()))
			if sold || c.resource == adapter.ProductWebsites {
				c.components[product.Int()] = true
			}
		}
		if c.resource == adapter.Products {
			tags = append(tags, compositeTags(record)...)
		}
		if sold {
			c.lists = append(slices.Clip(c.affected), resource.InStockLists)
			tags = append(tags, InStockTag)
		}
		if c.replyCache != nil {
			c.begin(ctx, tags...)
		}
		return nil
	})
}

// beginComposites begins to invalidate the replies that show the products composed of those that
// the write may have sold out. It may do so after the commit: a reply that was filled before is not
// valid any more.
func (c *replyInvalidation) beginComposites(ctx context.Context) {
	if c.replyCache == nil || c.products == nil {
		return
	}
	for product := range c.components {
		r, err := c.products.Get(ctx, &adapter.GetParams{Key: adapter.Key(product), Only: []string{componentOf}})
		switch {
		case err == nil:
			c.begin(ctx, compositeTags(r)...)
		case adapter.KindOf(err) != adapter.NotFound:
			c.begin(context.WithoutCancel(ctx), allTag)
		}
	}
}

const componentOf = "component_of"

// compositeTags returns the tags of the products that are composed of a product.
func compositeTags(product adapter.Record) (tags []string) {
	if _, ok := product.Schema.Index(componentOf); !ok {
		return nil
	}
	for one := range strings.SplitSeq(product.Get(componentOf).Text(), ",") {
		if id, err := strconv.ParseInt(one, 10, 64); err == nil {
			tags = append(tags, ProductTag(id))
		}
	}
	return tags
}

// changesSale reports whether a change of a stock item may change whether its product is in stock.
func changesSale(current, change adapter.Record) bool {
	return slices.ContainsFunc([]string{"is_in_stock", "manage_stock", "use_config_manage_stock"}, func(name string) bool {
		v := change.Get(name)
		return v.Kind() != adapter.Absent && v.Text() != current.Get(name).Text()
	})
}

func (c *replyInvalidation) begin(ctx context.Context, tags ...string) {
	tags = slices.DeleteFunc(tags, func(tag string) bool { return c.begun[tag] })
	if len(tags) > 0 {
		for _, tag := range tags {
			c.begun[tag] = true
		}
		c.done = append(c.done, c.replyCache.BeginWrite(ctx, tags))
	}
}

// end completes the invalidation. The write must not be acknowledged before.
func (c *replyInvalidation) end(ctx context.Context) {
	defer c.invalidateLists(c.lists)
	c.beginComposites(ctx)
	for _, done := range c.done {
		done()
	}
}
