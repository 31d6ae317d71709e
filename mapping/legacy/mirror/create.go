package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// An Adapter creates records in the legacy store first, which chooses their ids, if Portico owns
// the writes of a resource and mirrors them. It then stores the record as the legacy store created
// it. It passes all other calls to the adapter that it wraps.
type Adapter struct {
	adapter.Adapter
	o CreateOptions
}

// CreateOptions are the parts of an [Adapter].
type CreateOptions struct {
	// Trial fails as the wrapped adapter would fail to create a record, and stores nothing. For
	// images it only checks whether they can be created at all.
	Trial adapter.Adapter
	// Mirrors reports whether the writes of a resource are mirrored.
	Mirrors  func(r adapter.Resource) bool
	Outbox   Outbox
	Source   Source
	Requests func() *Requests // under the configuration in force
	Sender   *Sender
	// Wait is how long a create may wait for the delivery of earlier changes of the same product or
	// customer, and for another create whose outcome is unknown.
	Wait time.Duration
	// Count counts a create by its outcome, one of CreateOutcomes.
	Count func(r adapter.Resource, outcome string)
	Log   *slog.Logger
}

// The outcomes of creates.
const (
	created       = "created"
	createFound   = "found"   // the reply was lost, and the record found by its natural key
	createRefused = "refused" // by the legacy store
	createUnsent  = "unsent"  // nothing was sent
	createUnknown = "unknown" // the outcome cannot be determined
)

// CreateOutcomes returns the outcomes of creates.
func CreateOutcomes() []string {
	return []string{created, createFound, createRefused, createUnsent, createUnknown}
}

// NewAdapter wraps an adapter.
func NewAdapter(of adapter.Adapter, o CreateOptions) *Adapter { return &Adapter{of, o} }

// Store returns the store of a resource.
func (a *Adapter) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := a.Adapter.Store(r)
	if err != nil {
		return nil, err
	}
	return &creatingStore{store, a, r}, nil
}

// A creatingStore creates records of one resource.
type creatingStore struct {
	adapter.Store
	a        *Adapter
	resource adapter.Resource
}

// Create creates a record in the legacy store and here.
func (s *creatingStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	if !s.a.o.Mirrors(s.resource) {
		return s.Store.Create(ctx, p)
	}
	c := creation{CreateOptions: &s.a.o, store: s.Store, params: p, op: "create " + string(s.resource) + " at the legacy store"}
	// A record that was lost before may be here by now, so that trying would fail.
	if key, found, err := c.findLost(ctx, naturalKey(p.Record)); err != nil || found {
		return key, err
	}
	if err := c.try(ctx); err != nil {
		return 0, err
	}
	return c.run(ctx)
}

// UpdateBatch changes several records here, as the store does.
func (s *creatingStore) UpdateBatch(ctx context.Context, batch []adapter.UpdateParams) ([]error, error) {
	return adapter.UpdateBatch(ctx, s.Store, batch)
}

// A creation is the creation of one record.
type creation struct {
	*CreateOptions
	store  adapter.Store
	params *adapter.CreateParams
	op     string
}

// try fails as creating the record here would.
func (c *creation) try(ctx context.Context) error {
	trial, err := c.Trial.Store(c.resource())
	switch {
	case err != nil:
		return err
	case c.resource() != adapter.ProductImages:
		_, err = trial.Create(ctx, c.params)
		return err
	default:
		return c.params.RunCheck()
	}
}

func (c *creation) resource() adapter.Resource { return c.params.Record.Schema.Resource }

// run sends the request and waits for the record.
func (c *creation) run(ctx context.Context) (adapter.Key, error) {
	noted := outbox.Create{Resource: c.resource(), NaturalKey: naturalKey(c.params.Record)}
	if s := c.params.Record.Schema; s.Root != "" {
		noted.Root = outbox.RootOf(c.params.Record)
		if err := c.awaitEarlier(ctx, noted.Root); err != nil {
			return 0, err
		}
	}
	request, err := c.Requests().Create(c.params.Record, c.params.StoreID)
	if err != nil {
		return 0, err
	}
	if noted.ID, err = c.Outbox.BeginCreate(ctx, noted); err != nil {
		return 0, err
	}
	answer, err := c.Sender.send(ctx, request)
	// The entries from here on must be stored even if the client has disconnected.
	ctx = context.WithoutCancel(ctx)
	var unsent *proxy.NotSentError
	switch {
	case errors.As(err, &unsent):
		c.count(createUnsent)
		return 0, errors.Join(err, c.Outbox.EndCreate(ctx, noted.ID))
	case err != nil:
		return c.lost(ctx, noted, "the reply of the legacy store was lost")
	}
	return c.replied(ctx, noted, answer)
}

// replied ends a creation to which the legacy store has replied.
func (c *creation) replied(ctx context.Context, noted outbox.Create, answer *proxy.Answer) (adapter.Key, error) {
	key, named := createdKey(answer.Header.Get("Location"))
	switch status := answer.Status; {
	// PHP makes a reply with a Location one of 302 in many set-ups.
	case named && (status >= http.StatusOK && status < http.StatusMultipleChoices || status == http.StatusFound):
		c.arrived(ctx, noted, key)
		if !c.isThere(ctx, key) {
			return c.lost(ctx, noted, "the legacy store says that it has created a record, and has none")
		}
		c.count(created)
		return key, c.end(ctx, noted)
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusTooManyRequests:
		c.count(createUnsent)
		c.Log.ErrorContext(ctx, "the legacy store does not accept Portico's consumer, or has had too many requests", "status", status)
		return 0, errors.Join(c.unavailable(fmt.Errorf("the legacy store answers %d", status)), c.Outbox.EndCreate(ctx, noted.ID))
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		c.count(createRefused)
		return 0, errors.Join(refusal(answer), c.Outbox.EndCreate(ctx, noted.ID))
	default: // also success without the address of the new record
		return c.lost(ctx, noted, fmt.Sprintf("the legacy store answers %d and does not say what it has created", status))
	}
}

// arrived waits until a record that the legacy store has created is stored here.
func (c *creation) arrived(ctx context.Context, noted outbox.Create, key adapter.Key) {
	resource, keys := c.resource(), []adapter.Key{key}
	switch resource {
	case adapter.ProductImages, adapter.ProductWebsites, adapter.ProductCategories:
		resource, keys = adapter.Products, []adapter.Key{noted.Root.Key}
	case adapter.OrderComments:
		resource, keys = adapter.Orders, []adapter.Key{noted.Root.Key}
	}
	c.Source.Await(ctx, resource, keys...)
}

// isThere reports whether the legacy store has the record that it reported as created. If that
// cannot be checked now, it trusts the reply.
func (c *creation) isThere(ctx context.Context, key adapter.Key) bool {
	record := c.params.Record
	if r := c.resource(); r != adapter.ProductWebsites && r != adapter.ProductCategories { // their keys differ from the legacy store's
		if _, err := c.store.Get(ctx, &adapter.GetParams{Key: key}); err == nil {
			return true
		}
		record = record.Clone()
		record.Set(record.Schema.Key, adapter.IntegerValue(int64(key)))
	}
	has, err := c.Source.HasCreated(ctx, record)
	return err != nil || has
}

// end notes that the outcome of a creation is known, and so the outcome of earlier ones of the same
// record.
func (c *creation) end(ctx context.Context, noted outbox.Create) error {
	errs := []error{c.Outbox.EndCreate(ctx, noted.ID)}
	if noted.NaturalKey != "" {
		same, err := c.Outbox.Creates(ctx, noted.Resource, noted.NaturalKey, maxSameCreates)
		errs = append(errs, err)
		for _, one := range same {
			if one.Reason != "" { // otherwise another client waits for the reply
				errs = append(errs, c.Outbox.EndCreate(ctx, one.ID))
			}
		}
	}
	return errors.Join(errs...)
}

// maxSameCreates is the maximum number of creations of one record that are ended together.
const maxSameCreates = 100

// lost looks for a record whose creation the legacy store has neither confirmed nor refused.
func (c *creation) lost(ctx context.Context, noted outbox.Create, reason string) (adapter.Key, error) {
	if noted.NaturalKey != "" {
		for deadline := time.Now().Add(c.Wait); ; {
			key, found, err := c.Source.FindCreated(ctx, c.params.Record)
			if err == nil && found {
				c.count(createFound)
				c.arrived(ctx, noted, key)
				return key, c.end(ctx, noted)
			}
			if time.Now().After(deadline) {
				break
			}
			time.Sleep(idlePoll)
		}
	}
	c.count(createUnknown)
	c.Log.ErrorContext(ctx, "nobody knows whether the legacy store has created a record: see portico mirror list", "resource", string(noted.Resource), "create", noted.ID)
	err := c.Outbox.UnknownCreate(ctx, noted.ID, reason)
	if noted.NaturalKey != "" { // a repetition finds it
		return 0, errors.Join(c.unavailable(errors.New(reason)), err)
	}
	return 0, errors.Join(&adapter.Error{Kind: adapter.Internal, Op: c.op, Err: errors.New(reason)}, err)
}

// findLost looks for a record that was lost when it was created before, by the same natural key. If
// there is one, it gives it the values that it is to have now.
func (c *creation) findLost(ctx context.Context, naturalKey string) (key adapter.Key, found bool, err error) {
	if naturalKey == "" {
		return 0, false, nil
	}
	lost, err := c.Outbox.Creates(ctx, c.resource(), naturalKey, maxSameCreates)
	lost = slices.DeleteFunc(lost, func(one outbox.Create) bool { return one.Reason == "" })
	if err != nil || len(lost) == 0 {
		return 0, false, err
	}
	if key, found, err = c.Source.FindCreated(ctx, c.params.Record); err != nil || !found {
		return 0, false, err
	}
	c.count(createFound)
	c.arrived(ctx, lost[0], key)
	if err := c.end(ctx, lost[0]); err != nil || c.params.Record.Schema.Root != "" {
		return key, true, err
	}
	return key, true, c.store.Update(ctx, &adapter.UpdateParams{Key: key, Change: func(current adapter.Record) (adapter.Record, error) {
		return changeable(c.params.Record), nil
	}})
}

// changeable returns those values of a new record that can change.
func changeable(r adapter.Record) adapter.Record {
	r = r.Clone()
	for i := range r.Values {
		if a := &r.Schema.Attributes[i]; a.Fixed || a.ReadOnly || a.WriteOnly || a.Nested != nil {
			r.Values[i] = adapter.Value{}
		}
	}
	return r
}

// awaitEarlier waits until the legacy store has the earlier changes of a product, a customer or an
// order: the new record may depend on them.
func (c *creation) awaitEarlier(ctx context.Context, root outbox.Root) error {
	for deadline := time.Now().Add(c.Wait); ; {
		waiting, err := c.Outbox.Waiting(ctx, root)
		switch {
		case err != nil:
			return err
		case !waiting:
			return nil
		case time.Now().After(deadline):
			return c.unavailable(errEarlier)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idlePoll / 4):
		}
	}
}

var errEarlier = errors.New("the legacy store has not got earlier changes of the same record yet")

func (c *creation) unavailable(err error) error {
	return &adapter.Error{Kind: adapter.Unavailable, Op: c.op, Err: err}
}

func (c *creation) count(outcome string) { c.Count(c.resource(), outcome) }

// naturalKey returns the natural key of a record, which finds it in the legacy store before its id
// is known; "" if it has none.
func naturalKey(r adapter.Record) string {
	switch r.Schema.Resource {
	case adapter.Products:
		return r.Get("sku").Text()
	case adapter.Customers:
		return r.Get("website_id").Text() + " " + strings.ToLower(r.Get("email").Text())
	case adapter.ProductWebsites:
		return r.Get("product_id").Text() + " " + r.Get("website_id").Text()
	case adapter.ProductCategories:
		return r.Get("product_id").Text() + " " + r.Get("category_id").Text()
	default:
		return ""
	}
}

// createdKey returns the id at the end of the address of the record that the legacy store has
// created.
func createdKey(location string) (adapter.Key, bool) {
	u, err := url.Parse(location)
	if err != nil || !strings.Contains(u.Path, contract.Base+"/") {
		return 0, false
	}
	id, err := strconv.ParseInt(u.Path[strings.LastIndex(u.Path, "/")+1:], 10, 64)
	return adapter.Key(id), err == nil && id > 0
}
