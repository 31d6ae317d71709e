package follow

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/rules/imports"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
)

// A task is something that needs the session of Writes.
type task struct {
	run  func(context.Context, *session) error
	done chan error // has room for one
}

var errWritesClosed = errors.New("the program stops")

// do runs a function with the session of w, under the lock of imports.
func (w *Writes) do(ctx context.Context, run func(context.Context, *session) error) error {
	one := task{run, make(chan error, 1)}
	select {
	case w.tasks <- one:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ended:
		return &adapter.Error{Kind: adapter.Unavailable, Op: "read the legacy store", Err: errWritesClosed}
	}
	select {
	case err := <-one.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Refresh applies the present state of the records of entries, so that a quantity changed by the
// legacy store is known before another one is sent there.
func (w *Writes) Refresh(ctx context.Context, entries ...outbox.Entry) error {
	return w.do(ctx, func(ctx context.Context, s *session) error {
		named := changes{}
		for _, e := range entries {
			named.addEntry(e)
		}
		return s.apply(ctx, named)
	})
}

// Settle completes deliveries: it checks in the legacy store's database that they have had an
// effect, and applies the resulting state. It returns the entries of which the legacy store has
// stored nothing. These stay in the outbox.
func (w *Writes) Settle(ctx context.Context, box coordination.Outboxes, deliveries ...outbox.Delivery) (unstored []outbox.Entry, err error) {
	err = w.do(ctx, func(ctx context.Context, s *session) error {
		unstored, err = s.settle(ctx, box, deliveries)
		return err
	})
	return unstored, err
}

// States returns the states of attributes of a record, as an outbox has them, in an aggregate.
func States(one adapter.Aggregate, of outbox.Record, attributes []string) map[string]string {
	states := map[string]string{}
	for _, name := range attributes {
		if state, ok := imports.StateIn(one, of, name); ok {
			states[name] = state
		}
	}
	return states
}

// addEntry adds the legacy store's records of an entry.
func (c changes) addEntry(e outbox.Entry) {
	switch e.Resource {
	case adapter.ProductImages:
		c.add(magento1.Images, e.Root.Key)
		c.add(magento1.Products, e.Root.Key)
	case adapter.StockItems:
		c.add(magento1.Stock, e.Key)
	case adapter.CustomerAddresses:
		c.add(magento1.Addresses, e.Key)
	case adapter.Customers:
		c.add(magento1.Customers, e.Key)
	case adapter.OrderComments:
		c.add(magento1.Orders, e.Root.Key)
	default:
		c.add(magento1.Products, e.Root.Key)
	}
}

// settle is Writes.Settle. Entries are removed before the records are stored, under the same lock,
// so that the stored records match the legacy store.
func (s *session) settle(ctx context.Context, box coordination.Outboxes, deliveries []outbox.Delivery) (unstored []outbox.Entry, err error) {
	named := changes{}
	for _, d := range deliveries {
		named.addEntry(d.Entry)
	}
	present, err := s.presentOf(ctx, named)
	if err != nil {
		return nil, err
	}
	for _, d := range deliveries {
		sent, stored := compareDelivery(d, present)
		if !stored {
			unstored = append(unstored, d.Entry)
			continue
		}
		if err := box.Delivered(ctx, d.Entry, sent, d.Held); err != nil {
			return nil, err
		}
	}
	for _, d := range deliveries {
		named.addRoot(d.Entry.Root)
	}
	return unstored, s.apply(ctx, named)
}

// addRoot adds a product or a customer itself: as long as a change of it awaits delivery, its last
// change keeps the time of the client's write here.
func (c changes) addRoot(root outbox.Root) {
	if root.Resource == adapter.Customers {
		c.add(magento1.Customers, root.Key)
		return
	}
	c.add(magento1.Products, root.Key)
}

// presentOf returns the present state of records of the legacy store, grouped by root.
func (s *session) presentOf(ctx context.Context, named changes) (present map[outbox.Root][]adapter.Aggregate, err error) {
	present = map[outbox.Root][]adapter.Aggregate{}
	for p, keys := range named {
		for chunk := range slices.Chunk(slices.Sorted(maps.Keys(keys)), magento1.MaxKeys) {
			records, err := s.recordsOf(ctx, p, chunk)
			if err != nil {
				return nil, err
			}
			for _, one := range records {
				root := outbox.RootOf(one.Record)
				present[root] = append(present[root], one)
			}
		}
	}
	return present, nil
}

// compareDelivery returns the states that were sent. stored is false if the legacy store still has
// the earlier values.
func compareDelivery(d outbox.Delivery, present map[outbox.Root][]adapter.Aggregate) (sent map[string]string, stored bool) {
	e := d.Entry
	if e.Gone {
		return nil, !isPresent(e, present)
	}
	stored = true
	sent = States(d.Sent, e.Record, d.Attributes)
	for name, was := range sent {
		agreed := e.Agreed[name]
		for _, one := range present[e.Root] {
			if is, there := imports.StateIn(one, e.Record, name); there && is != was && is == agreed {
				stored = false
			}
		}
	}
	return sent, stored
}

// isPresent reports whether the legacy store has a record that was deleted.
func isPresent(e outbox.Entry, present map[outbox.Root][]adapter.Aggregate) bool {
	return slices.ContainsFunc(present[e.Root], func(one adapter.Aggregate) bool {
		if one.Record.Schema.Resource == e.Resource {
			return one.Record.Key() == e.Key && !one.PartsOnly
		}
		return slices.ContainsFunc(one.Parts, func(part adapter.Record) bool {
			named, err := e.Identity.Decode(part.Schema)
			return part.Schema.Resource == e.Resource && err == nil && samePart(part, named)
		})
	})
}

// samePart reports whether part is the named one: by its key or, as assignments have none in the
// legacy store, by the two ends of the assignment.
func samePart(part, named adapter.Record) bool {
	names := part.Schema.Unique
	if len(names) == 0 {
		names = []string{part.Schema.Key}
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !part.Get(name).Equal(named.Get(name)) })
}

// FindCreated looks up a record in the legacy store that was to be created there: a product by its
// SKU, a customer by website and e-mail address, an assignment by its two ends. found is false if
// there is none, and for other records, which have no natural key. Assignments have no key.
func (w *Writes) FindCreated(ctx context.Context, r adapter.Record) (key adapter.Key, found bool, err error) {
	err = w.do(ctx, func(ctx context.Context, s *session) (err error) {
		switch r.Schema.Resource {
		case adapter.Products:
			key, err = s.Legacy.FindProduct(ctx, r.Get("sku").Text())
			found = key != 0
		case adapter.Customers:
			key, err = s.Legacy.FindCustomer(ctx, r.Get("website_id").Int(), r.Get("email").Text())
			found = key != 0
		case adapter.ProductWebsites, adapter.ProductCategories:
			found, err = s.isAssigned(ctx, r)
		}
		return err
	})
	return key, found, err
}

// HasCreated reports whether the legacy store has a record, which has its key there unless it is an
// assignment.
func (w *Writes) HasCreated(ctx context.Context, r adapter.Record) (has bool, err error) {
	e := outbox.Entry{Record: outbox.Record{Resource: r.Schema.Resource, Key: r.Key()}, Root: outbox.RootOf(r), Identity: adapter.EncodeJSON(r)}
	err = w.do(ctx, func(ctx context.Context, s *session) error {
		named := changes{}
		named.addEntry(e)
		present, err := s.presentOf(ctx, named)
		has = isPresent(e, present)
		return err
	})
	return has, err
}

// isAssigned reports whether the legacy store has an assignment.
func (s *session) isAssigned(ctx context.Context, r adapter.Record) (bool, error) {
	records, err := s.recordsOf(ctx, magento1.Products, []adapter.Key{outbox.RootOf(r).Key})
	if err != nil || len(records) == 0 {
		return false, err
	}
	return slices.ContainsFunc(records[0].Parts, func(part adapter.Record) bool {
		return part.Schema.Resource == r.Schema.Resource && samePart(part, r)
	}), nil
}
