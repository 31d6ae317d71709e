// Package adaptertest is the conformance suite of adapters: what every store
// must do, whatever stands behind it.
//
// # Principles
//
//  1. adapter.Apply is the reference: every form of list query is sent to the
//     store and to Apply over the store's own records, and must agree.
//  2. Operands come from the records, so the suite works on any data set; the
//     demo store's is expected to be there.
//  3. What an adapter cannot do it declares with a reason, which is logged. What it
//     declares and does all the same is a failure. No test is skipped: a store is
//     asked before which kinds of writes it takes, and the answer is logged.
//  4. The tests of lists are each operator with each operand on each attribute, so many
//     that an adapter may be sent a sample of them.
//  5. Every error must be of a kind the method may return.
//
// # How it is tested
//
// By the adapters it runs against: it is right when they agree with Apply.
package adaptertest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// A Harness says how to get an adapter to test.
type Harness struct {
	// Open returns an adapter of its own that holds the demo store, and sees to
	// it that it is closed when the test ends.
	Open func(t *testing.T) adapter.Adapter
	// Schemas of the adapter's records; nil for those of adapter.NewSchemas.
	Schemas *adapter.Schemas
	// Attributes, unless nil, tells which attributes lists are tested by; for a
	// second run, of an adapter that differs in these alone.
	Attributes func(adapter.Attribute) bool
	// Sampled, unless nil, reports whether the next of the tests of lists is sent. It is
	// not called by two goroutines at once.
	Sampled func() bool
	// Unsupported says why there is no store of a resource.
	Unsupported map[adapter.Resource]string
}

// supports reports whether there are stores of all the resources.
func (h Harness) supports(resources ...adapter.Resource) bool {
	return !slices.ContainsFunc(resources, func(r adapter.Resource) bool { _, declared := h.Unsupported[r]; return declared })
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	schemas := h.Schemas
	if schemas == nil {
		schemas = adapter.NewSchemas()
	}
	t.Run("adapter", func(t *testing.T) { testAdapter(t, h) })
	a := h.Open(t) // for what only reads
	for _, r := range resources() {
		reason, declared := h.Unsupported[r]
		store, err := a.Store(r)
		if declared && err != nil && adapter.KindOf(err) == adapter.Unsupported {
			t.Logf("no %s: %s", r, reason)
			continue
		}
		t.Run(string(r), func(t *testing.T) {
			switch {
			case err != nil && adapter.KindOf(err) != adapter.Unsupported:
				t.Fatalf("Store: %v", err)
			case err != nil:
				t.Fatalf("unsupported, and not declared: %v", err)
			case declared:
				t.Fatalf("declared as unsupported (%s), and supported", reason)
			}
			s := &suite{schema: schemas.Of(r), store: &checkedStore{Store: store, t: t}, attributes: h.Attributes, sampled: h.Sampled}
			t.Run("list", s.testList)
			t.Run("get", s.testGet)
			t.Run("cancelled", s.testCancelled)
			taken := s.supportedWrites(t)
			t.Logf("takes writes: %+v", taken)
			if taken != (supportedWrites{}) {
				t.Run("write", func(t *testing.T) { testWrites(t, h, s.schema, taken) })
			}
			if r == adapter.Products {
				testProducts(t, h, a, s)
				if h.supports(adapter.ProductImages, adapter.StockItems, adapter.ProductWebsites, adapter.ProductCategories) {
					t.Run("write products", func(t *testing.T) { testProductWrites(t, h, a, schemas) })
				}
			}
			if r == adapter.OrderComments && taken.creates && h.supports(adapter.Orders, adapter.OrderItems) {
				t.Run("of an order", func(t *testing.T) { testOrderComments(t, h, schemas) })
			}
		})
	}
}

// resources lists every resource an adapter may have.
func resources() []adapter.Resource {
	return []adapter.Resource{
		adapter.Websites, adapter.Stores, adapter.CustomerGroups, adapter.Categories, adapter.TaxRates,
		adapter.Countries, adapter.Regions, adapter.Admins, adapter.Customers, adapter.CustomerAddresses,
		adapter.Products, adapter.ProductImages, adapter.ProductWebsites, adapter.ProductCategories,
		adapter.StockItems, adapter.Orders, adapter.OrderItems, adapter.OrderAddresses, adapter.OrderComments,
	}
}

// suite tests one store of one resource.
type suite struct {
	schema     *adapter.Schema
	store      adapter.Store
	attributes func(adapter.Attribute) bool // nil: all of them
	sampled    func() bool                  // nil: all of the tests of lists
}

// takes reports whether the next of the tests of lists is sent.
func (s *suite) sampleNext() bool { return s.sampled == nil || s.sampled() }

func testAdapter(t *testing.T, h Harness) {
	a := h.Open(t)
	if a.Name() == "" {
		t.Error("no name")
	}
	if err := a.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	if _, err := a.Store("no such resource"); adapter.KindOf(err) != adapter.Unsupported {
		t.Errorf("Store of an unknown resource: %v, want unsupported", err)
	}
	if err := a.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := a.Ping(t.Context()); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("Ping after Close: %v, want unavailable", err)
	}
}

// checked fails the test on an error of a kind the method may not return.
type checkedStore struct {
	adapter.Store
	t *testing.T
}

func (c *checkedStore) check(ctx context.Context, method string, err error, kinds ...adapter.ErrorKind) {
	c.t.Helper()
	if err == nil || errors.Is(err, errCallback) || (ctx.Err() != nil && errors.Is(err, ctx.Err())) {
		return
	}
	var e *adapter.Error
	if !errors.As(err, &e) {
		c.t.Errorf("%s: %v, which is no *adapter.Error", method, err)
	} else if !slices.Contains(append(kinds, adapter.Unavailable, adapter.Internal), e.Kind) {
		c.t.Errorf("%s: %v, of a kind it may not return", method, err)
	}
}

func (c *checkedStore) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	result, err := c.Store.List(ctx, p)
	c.check(ctx, "List", err, adapter.Unsupported)
	return result, err
}

func (c *checkedStore) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	r, err := c.Store.Get(ctx, p)
	c.check(ctx, "Get", err, adapter.NotFound, adapter.Unsupported)
	return r, err
}

func (c *checkedStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	key, err := c.Store.Create(ctx, p)
	c.check(ctx, "Create", err, adapter.Conflict, adapter.Invalid, adapter.Unsupported)
	return key, err
}

func (c *checkedStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	err := c.Store.Update(ctx, p)
	c.check(ctx, "Update", err, adapter.NotFound, adapter.Conflict, adapter.Invalid, adapter.Unsupported)
	return err
}

func (c *checkedStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	err := c.Store.Delete(ctx, p)
	c.check(ctx, "Delete", err, adapter.NotFound, adapter.Conflict, adapter.Invalid, adapter.Unsupported)
	return err
}

// errOfCaller is what the functions given to a store fail with.
var errCallback = errors.New("an error of the caller")

// value returns a value as text, kind included, so that two can be compared and
// shown.
func formatValue(v adapter.Value) string {
	switch v.Kind() {
	case adapter.Absent:
		return "absent"
	case adapter.Null:
		return "null"
	case adapter.Texts:
		return "texts " + joinLines(v.Texts())
	case adapter.Records:
		texts := []string{}
		for _, r := range v.Records() {
			texts = append(texts, formatRecord(r))
		}
		return "records " + joinLines(texts)
	case adapter.Integer:
		return "integer " + v.Text()
	default:
		return "text " + v.Text()
	}
}

// values returns all values of a record.
func formatRecord(r adapter.Record) string {
	texts := make([]string, len(r.Values))
	for i, v := range r.Values {
		texts[i] = r.Schema.Attributes[i].Name + " " + formatValue(v)
	}
	return joinLines(texts)
}
