package replica_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// all returns everything a shop holds of what the memory keeps, ids and all: whatever
// was undone is as before.
func (s *shop) all() string {
	s.t.Helper()
	var b strings.Builder
	for _, res := range s.memory.kept {
		store, err := s.side.Store(res.Resource)
		if err != nil {
			s.t.Fatal(err)
		}
		storeIDs := []int64{0}
		if res.Resource == adapter.Products {
			storeIDs = []int64{0, 1, 2, 3}
		}
		for _, storeID := range storeIDs {
			onDemand := []string{"tier_price", "group_price", "stock_item"}
			if res.Resource != adapter.Products {
				onDemand = nil
			}
			found, err := store.List(s.t.Context(), &adapter.ListParams{StoreID: storeID, With: onDemand})
			if err != nil {
				s.t.Fatal(err)
			}
			for _, r := range found.Records {
				for _, name := range []string{"updated_at", "low_stock_date"} {
					if _, ok := r.Schema.Index(name); ok {
						r.Set(name, adapter.Value{})
					}
				}
				fmt.Fprintln(&b, res.Resource, storeID, strings.ReplaceAll(shown(r), "value_id", ""))
			}
		}
		mappings, err := s.side.ListMappings(s.t.Context(), res.Resource, 0, 1000)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, mapping := range mappings {
			fmt.Fprintf(&b, "%s %d %s %s\n", mapping.Resource, mapping.Key, mapping.BackendID, mapping.Intent)
		}
	}
	return b.String()
}

// TestWhatIsSent: the backend hears of what it keeps, and of nothing else.
func TestWhatIsSent(t *testing.T) {
	for _, c := range []struct {
		name    string
		r       adapter.Resource
		key     adapter.Key
		level   int64
		change  given
		changed []string // nil: it hears of nothing
	}{
		{"kept", adapter.Products, 1, 0, given{"name": "x", "price": "2.0000", "url_key": "x"}, []string{"name", "price"}},
		{"not kept", adapter.Products, 1, 0, given{"url_key": "x", "weight": "1.0000"}, nil},
		{"as it is", adapter.Products, 1, 0, given{"name": adapter.TextValue("Steel Kettle")}, nil},
		{"nothing", adapter.Products, 1, 0, given{}, nil},
		{"of a store view", adapter.Products, 1, 2, given{"name": "x", "status": 2}, nil},
		{"global at a store view", adapter.Products, 1, 2, given{"name": "x", "price": "2.0000"}, []string{"price"}},
		{"prices", adapter.Products, 3, 0, given{"tier_price": []given{{"website_id": 0, "cust_group": 1, "price": "1.0000", "price_qty": "9.0000"}}}, []string{"tier_price"}},
		{"the same prices", adapter.Products, 3, 0, given{"tier_price": []given{}}, nil},
		{"stock of a product", adapter.Products, 1, 0, given{"stock_item": []given{{"qty": "1.5000"}}}, []string{"stock_item"}},
		{"stock not kept", adapter.Products, 1, 0, given{"stock_item": []given{{"min_qty": "1.5000"}}}, nil},
		{"stock item", adapter.StockItems, 1, 0, given{"qty": "1.5000", "min_qty": "1.0000"}, []string{"qty"}},
		{"address", adapter.CustomerAddresses, 1, 0, given{"fax": "1", "street": []string{"x"}}, []string{"street"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openShop(t)
			watch := &watching{memory: s.memory}
			a, err := replica.New(replica.Options{Replica: s.side, Backend: watch})
			if err != nil {
				t.Fatal(err)
			}
			s.Adapter = a
			before := s.get(c.r, c.key)
			if err := s.update(c.r, c.key, c.level, c.change); err != nil {
				t.Fatal(err)
			}
			if c.changed == nil {
				if len(watch.writes) != 0 {
					t.Fatalf("it heard of %+v", watch.writes[0])
				}
				return
			}
			if len(watch.writes) != 1 || !slices.Equal(watch.writes[0].Changed, c.changed) {
				t.Fatalf("it heard of %+v, want %v", watch.writes, c.changed)
			}
			w := watch.writes[0]
			for _, name := range c.changed {
				if v := valueOf(before.Schema, name, c.change[name]); v.Kind() != adapter.Records && (shownValue(w.New.Get(name)) != shownValue(v) || shownValue(w.Old.Get(name)) != shownValue(before.Get(name))) {
					t.Errorf("%s: %s was %s", name, shownValue(w.New.Get(name)), shownValue(w.Old.Get(name)))
				}
			}
			if c.r == adapter.CustomerAddresses && (w.RootKey != 1 || w.RootID != s.id(adapter.Customers, 1) || len(w.Siblings) != 2 || w.Siblings[0].ID != w.ID || w.Siblings[0].Record.Get("street").Texts()[0] != "x") {
				t.Errorf("of the root: %+v", w)
			}
			s.agree()
			s.settled()
		})
	}
}

// watching keeps the writes that a memory gets.
type watching struct {
	*memory
	writes []replica.Write
}

func (w *watching) Create(ctx context.Context, write *replica.Write) (string, error) {
	w.writes = append(w.writes, *write)
	return w.memory.Create(ctx, write)
}

func (w *watching) Update(ctx context.Context, write *replica.Write) error {
	w.writes = append(w.writes, *write)
	return w.memory.Update(ctx, write)
}

func (w *watching) Delete(ctx context.Context, write *replica.Write) error {
	w.writes = append(w.writes, *write)
	return w.memory.Delete(ctx, write)
}

// TestRefusedByTheBackend: a write that the backend refuses is undone at the side, as
// if it had never been.
func TestRefusedByTheBackend(t *testing.T) {
	kinds := []adapter.ErrorKind{adapter.Conflict, adapter.Invalid, adapter.Unsupported, adapter.NotFound}
	for i, d := range append(deeds(), oddDeeds()...) {
		t.Run(d.name, func(t *testing.T) {
			s := openShop(t)
			if d.before != nil {
				d.before(s)
			}
			before := s.all()
			verb := strings.Fields(d.name)[0]
			kind := kinds[i%len(kinds)]
			if kind == adapter.NotFound && verb != "update" {
				kind = adapter.Conflict // as what is gone is as good as deleted
			}
			said := memoryError(kind, "field")
			s.memory.mu.Lock()
			s.memory.before = func(_ context.Context, call string) error {
				for _, verb := range []string{"Create ", "Update ", "Delete "} {
					if strings.HasPrefix(call, verb) {
						return said
					}
				}
				return nil
			}
			s.memory.mu.Unlock()
			if err := d.do(s); !errors.Is(err, said) {
				t.Errorf("error %v, want the backend's %v", err, said)
			}
			if after := s.all(); after != before {
				t.Errorf("not as before: %s", difference(before, after))
			}
			s.settled()
			s.memory.heal()
			if err := d.do(s); err != nil {
				t.Errorf("once it takes it: %v", err)
			}
			s.agree()
		})
	}
}

// oddDeeds are updates that are hard to undo.
func oddDeeds() []deed {
	return []deed{
		{name: "update what is null and what is absent", before: func(s *shop) {
			if err := s.update(adapter.Customers, 2, 0, given{"middlename": nil, "taxvat": nil, "prefix": "Dr"}); err != nil {
				s.t.Fatal(err)
			}
		}, do: func(s *shop) error {
			return s.update(adapter.Customers, 2, 0, given{"middlename": "M", "suffix": "S", "prefix": nil})
		}},
		{name: "update the default address", do: func(s *shop) error {
			return s.update(adapter.CustomerAddresses, 2, 0, given{"is_default_billing": 1, "is_default_shipping": 1})
		}},
		{name: "update values of a store view that were its own", before: func(s *shop) {
			if err := s.update(adapter.Products, 3, 2, given{"name": "own", "meta_title": nil}); err != nil {
				s.t.Fatal(err)
			}
		}, do: func(s *shop) error {
			return s.update(adapter.Products, 3, 2, given{"name": "other", "description": "own", "meta_title": "t", "price": "3.0000"})
		}},
		{name: "update all lists of a product", do: func(s *shop) error {
			return s.update(adapter.Products, 1, 1, given{
				"tier_price":  []given{{"website_id": 0, "cust_group": 2, "price": "1.0000", "price_qty": "3.0000"}},
				"group_price": []given{{"website_id": 0, "cust_group": 2, "price": "1.0000"}},
				"stock_item":  []given{{"qty": "1.0000", "is_in_stock": 0}},
			})
		}},
		{name: "update by removing a value", do: func(s *shop) error {
			return s.update(adapter.Products, 1, 0, given{"special_price": adapter.UnsetValue(), "description": adapter.UnsetValue(), "name": "x"})
		}},
	}
}

// difference returns the lines that only one of two texts has.
func difference(a, b string) string {
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	out := ""
	for _, line := range was {
		if !slices.Contains(is, line) {
			out += "\n- " + line
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			out += "\n+ " + line
		}
	}
	return out
}

// TestOutcomeUnknown: after a write whose answer is lost the same process, too, finds
// out at the next access what became of it.
func TestOutcomeUnknown(t *testing.T) {
	for _, d := range deeds() {
		for _, maybeDone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s done %v", d.name, maybeDone), func(t *testing.T) {
				s := openShop(t)
				before := d.done(s, lossy)
				lost := memoryError(adapter.Unavailable, "")
				hook := func(_ context.Context, call string) error {
					for _, verb := range []string{"Create ", "Update ", "Delete "} {
						if strings.HasPrefix(call, verb) {
							return lost
						}
					}
					return nil
				}
				s.memory.mu.Lock()
				if maybeDone {
					s.memory.after = hook
				} else {
					s.memory.before = hook
				}
				s.memory.mu.Unlock()
				if err := d.do(s); !errors.Is(err, lost) {
					t.Fatalf("error %v, want %v", err, lost)
				}
				s.memory.heal()
				for _, res := range s.memory.kept {
					s.keys(res.Resource, adapter.Query{})
				}
				if is := d.done(s, lossy); (is != before) != maybeDone {
					t.Errorf("done %v, and there is %s", maybeDone, is)
				}
				if err := s.Scan(t.Context()); err != nil { // of records that are in no list
					t.Fatal(err)
				}
				s.agree()
				s.settled()
			})
		}
	}
}

// TestCallerGoes: a caller who leaves while the backend hangs gets the end of its
// context; the next who comes finds out.
func TestCallerGoes(t *testing.T) {
	s := openShop(t)
	ctx, leave := context.WithCancel(t.Context())
	s.memory.mu.Lock()
	s.memory.before = func(ctx context.Context, call string) error {
		if call != "Update products" {
			return nil
		}
		leave()
		<-ctx.Done()
		return ctx.Err()
	}
	s.memory.mu.Unlock()
	err := s.of(adapter.Products).Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
		return given{"name": "x", "url_key": "x"}.record(current.Schema), nil
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	s.memory.heal()
	s.want(adapter.Products, 1, given{"name": "Steel Kettle", "url_key": "steel-kettle"})
	s.agree()
	s.settled()
}

// TestCreateAfterAnUnknownOne: what was never made does not stand in the way.
func TestCreateAfterAnUnknownOne(t *testing.T) {
	s := openShop(t)
	s.memory.fail("Create products", memoryError(adapter.Unavailable, ""), nil)
	if _, err := s.create(adapter.Products, newProduct("mine")); adapter.KindOf(err) != adapter.Unavailable {
		t.Fatal(err)
	}
	s.memory.heal()
	key, err := s.create(adapter.Products, newProduct("mine"))
	if err != nil {
		t.Fatal(err)
	}
	s.want(adapter.Products, key, given{"sku": "mine", "price": "1.2345"})
	s.agree()
	s.settled()

	// One that was made is the one.
	s.memory.fail("Create products", nil, memoryError(adapter.Unavailable, ""))
	if _, err := s.create(adapter.Products, newProduct("made")); adapter.KindOf(err) != adapter.Unavailable {
		t.Fatal(err)
	}
	s.memory.heal()
	if _, err := s.create(adapter.Products, newProduct("made")); adapter.KindOf(err) != adapter.Conflict {
		t.Errorf("again: %v, want conflict", err)
	}
	if found := s.keys(adapter.Products, where("sku", "made")); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	s.agree()
}

// TestForeignCreate leaves a record that another process is just making to it.
func TestForeignCreate(t *testing.T) {
	s := openShop(t)
	s.memory.fail("Create products", memoryError(adapter.Unavailable, ""), nil)
	_, _ = s.create(adapter.Products, newProduct("theirs"))
	other := s.again()
	other.LeaveForeign(1 << 40)
	if found := other.keys(adapter.Products, where("sku", "theirs")); len(found) != 0 {
		t.Errorf("it is seen: %v", found)
	}
	if err := other.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.create(adapter.Products, newProduct("theirs")); adapter.KindOf(err) != adapter.Conflict {
		t.Errorf("create: %v, want conflict", err)
	}
	other.LeaveForeign(0)
	if _, err := other.create(adapter.Products, newProduct("theirs")); err != nil {
		t.Errorf("create, later: %v", err)
	}
	other.agree()
}

// TestNotWritten: what the backend does not let be written is refused, and at the
// side nothing is left of it.
func TestNotWritten(t *testing.T) {
	s := openShop(t)
	resources := memoryKept()
	for i := range resources {
		resources[i].Creates, resources[i].Updates, resources[i].Deletes = false, false, false
	}
	s.memory.kept = resources
	s = s.again()
	before := s.all()
	_, creates := s.create(adapter.Products, newProduct("x"))
	_, assigns := s.create(adapter.ProductWebsites, given{"product_id": 1, "website_id": 2})
	for name, err := range map[string]error{
		"create": creates, "assign": assigns,
		"update": s.update(adapter.Products, 1, 0, given{"name": "x"}),
		"delete": s.delete(adapter.Products, 1),
		"part":   s.update(adapter.StockItems, 1, 0, given{"qty": "1.0000"}),
		"order":  s.update(adapter.Orders, 1, 0, given{"status": "x"}),
	} {
		if adapter.KindOf(err) != adapter.Unsupported {
			t.Errorf("%s: %v, want unsupported", name, err)
		}
	}
	if after := s.all(); after != before {
		t.Errorf("not as before: %s", difference(before, after))
	}
	if err := s.update(adapter.Products, 1, 0, given{"url_key": "x"}); err != nil {
		t.Errorf("what it does not keep: %v", err)
	}
}
