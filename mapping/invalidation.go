package mapping

import (
	"context"
	"slices"

	"github.com/portico-commerce/portico/adapter"
)

// A watchedAdapter is the adapter behind a service, with what is remembered of its
// lists and the replies that are kept. No handler has to think of either: every
// write of its stores ends what it may have changed.
type invalidatingAdapter struct {
	adapter.Adapter
	listCache  *listCache
	replyCache ReplyCache // nil: none are kept
	filters    *filterLimiter
}

// Store returns the adapter's store of r.
func (a *invalidatingAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := a.Adapter.Store(r)
	if err != nil {
		return nil, err
	}
	watched := &invalidatingStore{store, a.listCache, affectedLists()[r], nil, guestTags{}}
	if shown, ok := guestReplyTags()[r]; ok {
		watched.replyCache, watched.tags = a.replyCache, shown
	}
	return watched, nil
}

// showingIn names, for the resources that calls write, those whose lists a write
// may change: for the records themselves, those that go with a deleted one, and
// values that are joined or kept up to date. A write of any other shows in all.
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

// shownIn says in which replies to Guests a write of a resource may show: in those
// of the product that an attribute names, and in all with a tag.
type guestTags struct{ product, tag string }

// shownToGuests names the resources whose writes a Guest may see. Lists show no
// stock: a product that they list is for sale.
func guestReplyTags() map[adapter.Resource]guestTags {
	return map[adapter.Resource]guestTags{
		adapter.Products:          {"entity_id", catalogTag},
		adapter.ProductImages:     {"product_id", catalogTag},
		adapter.ProductWebsites:   {"product_id", catalogTag},
		adapter.ProductCategories: {"product_id", catalogTag},
		adapter.StockItems:        {"product_id", stockTag},
	}
}

// A watchedStore tells the memory of each write once it is over, and the replies
// before it is committed and once it is over. A write that failed may have been
// done all the same: the connection can be lost at its very end.
type invalidatingStore struct {
	adapter.Store
	listCache  *listCache
	affected   []adapter.Resource
	replyCache ReplyCache // nil where no reply shows the records
	tags       guestTags
}

func (s *invalidatingStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	defer s.listCache.invalidate(s.affected)
	if s.replyCache == nil {
		return s.Store.Create(ctx, p)
	}
	change := &replyInvalidation{invalidatingStore: s}
	defer change.end()
	watched := *p
	watched.Check = func() error {
		if p.Check != nil {
			if err := p.Check(); err != nil {
				return err
			}
		}
		change.beginForRecord(ctx, p.Record)
		return nil
	}
	key, err := s.Store.Create(ctx, &watched)
	if err == nil && p.Record.Get(s.tags.product).Kind() != adapter.Integer {
		// The key is known only now. Until now nobody can have been shown more than
		// that there is no such product.
		change.begin(ctx, productTag(int64(key)))
	}
	return key, err
}

func (s *invalidatingStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	defer s.listCache.invalidate(s.affected)
	if s.replyCache == nil {
		return s.Store.Update(ctx, p)
	}
	change := &replyInvalidation{invalidatingStore: s}
	defer change.end()
	watched := *p
	watched.Change = func(current adapter.Record) (adapter.Record, error) {
		next, err := p.Change(current)
		if err == nil {
			change.beginForRecord(ctx, current)
		}
		return next, err
	}
	return s.Store.Update(ctx, &watched)
}

func (s *invalidatingStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	defer s.listCache.invalidate(s.affected)
	if s.replyCache == nil {
		return s.Store.Delete(ctx, p)
	}
	change := &replyInvalidation{invalidatingStore: s}
	defer change.end()
	watched := *p
	watched.Check = func(current adapter.Record) error {
		if p.Check != nil {
			if err := p.Check(current); err != nil {
				return err
			}
		}
		change.beginForRecord(ctx, current)
		return nil
	}
	return s.Store.Delete(ctx, &watched)
}

// A replyChange is the change of replies that one write makes.
type replyInvalidation struct {
	*invalidatingStore
	begunTags []string // tags
	done      []func()
}

// of begins the change of what shows a record. It is called inside the write's
// transaction, which may run again.
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
		c.done = append(c.done, c.replyCache.Change(ctx, tags))
	}
}

// end ends the change. Nothing is acknowledged before.
func (c *replyInvalidation) end() {
	for _, done := range c.done {
		done()
	}
}
