package adaptertest

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"testing"
)

// A Harness provides the adapter to test.
type Harness struct {
	// Open returns a new adapter that holds the demo store, and closes it when the test
	// ends.
	Open func(t *testing.T) adapter.Adapter
	// Schemas describe the adapter's records; nil means adapter.NewSchemas.
	Schemas *adapter.Schemas
	// Attributes, if not nil, reports whether to test lists by an attribute. Use it for a
	// second run on an adapter that differs only in some attributes.
	Attributes func(adapter.Attribute) bool
	// Sampled, if not nil, reports whether to run the next list test. It is not called
	// concurrently.
	Sampled func() bool
	// OneByOne: imports store existing records one by one, so that these cannot exchange
	// unique values.
	OneByOne bool
	// Unsupported holds the resources that the adapter has no store for, with the
	// reason.
	Unsupported map[adapter.Resource]string
}

// supports reports whether the adapter has stores for all the resources.
func (h Harness) supports(resources ...adapter.Resource) bool {
	return !slices.ContainsFunc(resources, func(r adapter.Resource) bool { _, declared := h.Unsupported[r]; return declared })
}

// Run runs the suite on the adapters that h opens.
func Run(t *testing.T, h Harness) {
	schemas := h.Schemas
	if schemas == nil {
		schemas = adapter.NewSchemas()
	}
	t.Run("adapter", func(t *testing.T) { testAdapter(t, h) })
	a := h.Open(t) // for tests that only read
	if _, imports := a.(adapter.Importer); imports && h.supports(adapter.Resources()...) {
		t.Run("import", func(t *testing.T) { testImporter(t, h, schemas) })
	}
	for _, r := range adapter.Resources() {
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
				t.Fatalf("unsupported, but not declared: %v", err)
			case declared:
				t.Fatalf("declared as unsupported (%s), but supported", reason)
			}
			s := &suite{schema: schemas.Of(r), store: &checkedStore{Store: store, t: t}, attributes: h.Attributes, sampled: h.Sampled}
			t.Run("list", s.testList)
			t.Run("get", s.testGet)
			t.Run("filters", s.testFilters)
			t.Run("cancelled", s.testCancelled)
			supported := s.supportedWrites(t)
			t.Logf("supported writes: %+v", supported)
			if supported != (supportedWrites{}) {
				t.Run("write", func(t *testing.T) { testWrites(t, h, s.schema, supported) })
			}
			if r == adapter.Products {
				testProducts(t, h, a, s)
				if h.supports(adapter.ProductImages, adapter.StockItems, adapter.ProductWebsites, adapter.ProductCategories) {
					t.Run("write products", func(t *testing.T) { testProductWrites(t, h, a, schemas) })
				}
			}
			if r == adapter.Customers && supported.creates && h.supports(adapter.CustomerAddresses) {
				t.Run("rules of customers", func(t *testing.T) { testCustomers(t, h, schemas) })
			}
			if r == adapter.StockItems && supported.updates {
				t.Run("batches", func(t *testing.T) { testBatches(t, h) })
			}
			if r == adapter.OrderComments && supported.creates && h.supports(adapter.Orders, adapter.OrderItems) {
				t.Run("comment an order", func(t *testing.T) { testOrderComments(t, h, schemas) })
			}
		})
	}
}

// A suite tests the store of one resource.
type suite struct {
	schema     *adapter.Schema
	store      adapter.Store
	attributes func(adapter.Attribute) bool // nil means all
	sampled    func() bool                  // see Harness.Sampled
}

// sampleNext reports whether to run the next list test.
func (s *suite) sampleNext() bool { return s.sampled == nil || s.sampled() }

func testAdapter(t *testing.T, h Harness) {
	a := h.Open(t)
	if a.Name() == "" {
		t.Error("Name is empty")
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

// A checkedStore fails the test if a method returns an error of a kind that it may not
// return.
type checkedStore struct {
	adapter.Store
	t *testing.T
}

func (c *checkedStore) check(ctx context.Context, method string, err error, kinds ...adapter.ErrorKind) {
	c.t.Helper()
	if err == nil || errors.Is(err, errCallback) || (ctx.Err() != nil && errors.Is(err, ctx.Err())) {
		return
	}
	if e, ok := errors.AsType[*adapter.Error](err); !ok {
		c.t.Errorf("%s: %v, which is not an *adapter.Error", method, err)
	} else if !slices.Contains(append(kinds, adapter.Unavailable, adapter.Internal), e.Kind) {
		c.t.Errorf("%s: %v, of a kind that the method may not return", method, err)
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

// errCallback is the error of the functions that the suite passes to a store.
var errCallback = errors.New("error of the caller")

// FormatValue returns a value with its kind as text.
func FormatValue(v adapter.Value) string {
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
			texts = append(texts, FormatRecord(r))
		}
		return "records " + joinLines(texts)
	case adapter.Integer:
		return "integer " + v.Text()
	default:
		return "text " + v.Text()
	}
}

// FormatRecord returns all values of a record as text.
func FormatRecord(r adapter.Record) string {
	texts := make([]string, len(r.Values))
	for i, v := range r.Values {
		texts[i] = r.Schema.Attributes[i].Name + " " + FormatValue(v)
	}
	return joinLines(texts)
}
