package mapping

import (
	"context"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// An invalidatingAdapter wraps the adapter of a service. Every write of its stores
// invalidates the cached lists and replies that it may change, so that no handler has to.
type invalidatingAdapter struct {
	adapter.Adapter
	listCache  *listCache
	replyCache ReplyCache // nil: replies are not cached
	filters    *filterLimiter
}

// Store returns the adapter's store of r, wrapped so that its writes invalidate caches.
func (a *invalidatingAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := a.Adapter.Store(r)
	if err != nil {
		return nil, err
	}
	wrapped := &invalidatingStore{store, a.listCache, affectedLists()[r], nil, guestTags{}}
	if tags, ok := guestReplyTags()[r]; ok {
		wrapped.replyCache, wrapped.tags = a.replyCache, tags
	}
	return wrapped, nil
}

// affectedLists maps each resource that calls write to the resources whose lists such a
// write may change: those of the record itself, of records deleted with it, and of values
// joined or derived from it. A write of any other resource affects all lists.
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

// InvalidateChanged drops what is cached of records that were changed by other means than
// calls: parts by the keys of their roots; without keys, of all records of the resource; nil,
// of all records. Of resources that calls do not write everything may depend.
func (s *Service) InvalidateChanged(ctx context.Context, changed map[adapter.Resource][]adapter.Key) {
	everything := changed == nil
	if !everything && len(changed) == 0 {
		return
	}
	var lists []adapter.Resource
	var tags []string
	for r, keys := range changed {
		affected, written := affectedLists()[r]
		everything = everything || !written
		lists = append(lists, affected...)
		shown, ok := guestReplyTags()[r]
		if !ok {
			continue
		}
		if tags = append(tags, shown.tag); len(keys) == 0 {
			tags = append(tags, allTag)
		}
		for _, key := range keys {
			tags = append(tags, productTag(int64(key)))
		}
	}
	if everything {
		lists, tags = nil, []string{allTag}
		s.shops.invalidate()
	}
	s.listCache.invalidate(lists)
	if s.settings.ReplyCache != nil && len(tags) > 0 {
		slices.Sort(tags)
		s.settings.ReplyCache.BeginWrite(ctx, slices.Compact(tags))()
	}
}

// guestTags names the tags of the replies to Guests that a write of a resource may
// change: the tag of the product whose id is in the attribute product, and tag.
type guestTags struct{ product, tag string }

// guestReplyTags lists the resources whose writes a Guest may see. Product lists do not
// show stock, so a write of a stock item invalidates only the replies that do.
func guestReplyTags() map[adapter.Resource]guestTags {
	return map[adapter.Resource]guestTags{
		adapter.Products:          {"entity_id", catalogTag},
		adapter.ProductImages:     {"product_id", catalogTag},
		adapter.ProductWebsites:   {"product_id", catalogTag},
		adapter.ProductCategories: {"product_id", catalogTag},
		adapter.StockItems:        {"product_id", stockTag},
	}
}

// An invalidatingStore invalidates cached lists after each write, and cached replies both
// before the commit and after it. It does so even if the write fails, because a write
// whose connection breaks during the commit may have succeeded.
type invalidatingStore struct {
	adapter.Store
	listCache  *listCache
	affected   []adapter.Resource
	replyCache ReplyCache // nil if no cached reply shows the records
	tags       guestTags
}

func (s *invalidatingStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	defer s.listCache.invalidate(s.affected)
	if s.replyCache == nil {
		return s.Store.Create(ctx, p)
	}
	invalidation := &replyInvalidation{invalidatingStore: s}
	defer invalidation.end()
	wrapped := *p
	wrapped.Check = func() error {
		if p.Check != nil {
			if err := p.Check(); err != nil {
				return err
			}
		}
		invalidation.beginForRecord(ctx, p.Record)
		return nil
	}
	key, err := s.Store.Create(ctx, &wrapped)
	if err == nil && p.Record.Get(s.tags.product).Kind() != adapter.Integer {
		// The key is known only now. Any reply cached until now can only say that the
		// product does not exist.
		invalidation.begin(ctx, productTag(int64(key)))
	}
	return key, err
}

func (s *invalidatingStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	defer s.listCache.invalidate(s.affected)
	if s.replyCache == nil {
		return s.Store.Update(ctx, p)
	}
	invalidation := &replyInvalidation{invalidatingStore: s}
	defer invalidation.end()
	wrapped := *p
	wrapped.Change = func(current adapter.Record) (adapter.Record, error) {
		next, err := p.Change(current)
		if err == nil {
			invalidation.beginForRecord(ctx, current)
		}
		return next, err
	}
	return s.Store.Update(ctx, &wrapped)
}

func (s *invalidatingStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	defer s.listCache.invalidate(s.affected)
	if s.replyCache == nil {
		return s.Store.Delete(ctx, p)
	}
	invalidation := &replyInvalidation{invalidatingStore: s}
	defer invalidation.end()
	wrapped := *p
	wrapped.Check = func(current adapter.Record) error {
		if p.Check != nil {
			if err := p.Check(current); err != nil {
				return err
			}
		}
		invalidation.beginForRecord(ctx, current)
		return nil
	}
	return s.Store.Delete(ctx, &wrapped)
}

// A replyInvalidation is the invalidation of cached replies by one write.
type replyInvalidation struct {
	*invalidatingStore
	begunTags []string
	done      []func()
}

// beginForRecord begins to invalidate the replies that show record. The write calls it
// inside its transaction, which may run more than once.
func (c *replyInvalidation) beginForRecord(ctx context.Context, record adapter.Record) {
	tags := []string{c.tags.tag}
	if product := record.Get(c.tags.product); product.Kind() == adapter.Integer {
		tags = append(tags, productTag(product.Int()))
	}
	c.begin(ctx, tags...)
}

func (c *replyInvalidation) begin(ctx context.Context, tags ...string) {
	tags = slices.DeleteFunc(tags, func(tag string) bool { return slices.Contains(c.begunTags, tag) })
	if len(tags) > 0 {
		c.begunTags = append(c.begunTags, tags...)
		c.done = append(c.done, c.replyCache.BeginWrite(ctx, tags))
	}
}

// end completes the invalidation. The write must not be acknowledged before.
func (c *replyInvalidation) end() {
	for _, done := range c.done {
		done()
	}
}
