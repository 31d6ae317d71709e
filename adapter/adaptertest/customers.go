package adaptertest

import (
	"github.com/portico-commerce/portico/adapter"
	"strings"
	"testing"
	"time"
)

// Customers of the demo store: aCustomer has several addresses, of which the first is both
// defaults; anotherCustomer has addresses, too.
const (
	aCustomer       = 1
	anotherCustomer = 2
)

// testCustomers checks the rules of customers and of their addresses.
func testCustomers(t *testing.T, h Harness, schemas *adapter.Schemas) {
	open := func(t *testing.T) (customers, addresses *suite) {
		a := h.Open(t)
		return &suite{schema: schemas.Of(adapter.Customers), store: storeOf(t, a, adapter.Customers)},
			&suite{schema: schemas.Of(adapter.CustomerAddresses), store: storeOf(t, a, adapter.CustomerAddresses)}
	}
	t.Run("e-mail", func(t *testing.T) { customers, _ := open(t); testEmail(t, customers) })
	t.Run("e-mail unique in the whole store", func(t *testing.T) { customers, _ := open(t); testUniqueEmail(t, customers) })
	t.Run("updated_at", func(t *testing.T) {
		customers, addresses := open(t)
		testUpdatedAt(t, customers, aCustomer)
		testUpdatedAt(t, addresses, addressesOf(t, addresses, aCustomer, "")[0])
	})
	t.Run("nulls", func(t *testing.T) { customers, _ := open(t); testNulls(t, customers) })
	t.Run("default addresses", func(t *testing.T) { testDefaultAddresses(t, open) })
	t.Run("group of an address", func(t *testing.T) {
		customers, addresses := open(t)
		want := customers.get(t, aCustomer).Get("group_id")
		got, err := addresses.store.Get(t.Context(), &adapter.GetParams{Key: addressesOf(t, addresses, aCustomer, "")[0], With: []string{"customer_group_id"}})
		if err != nil || FormatValue(got.Get("customer_group_id")) != FormatValue(want) {
			t.Errorf("the group is %s, %v; the customer's is %s", FormatValue(got.Get("customer_group_id")), err, FormatValue(want))
		}
	})
	t.Run("unknown customer", func(t *testing.T) {
		_, addresses := open(t)
		_, err := addresses.store.Create(t.Context(), &adapter.CreateParams{Record: newAddress(addresses.schema, noRecord)})
		wantError(t, "address of an unknown customer", err, adapter.Invalid, "customer_id")
	})
	t.Run("deleted customer", func(t *testing.T) {
		customers, addresses := open(t)
		MustDelete(t, customers.store, adapter.DeleteParams{Key: aCustomer})
		if left := addressesOf(t, addresses, aCustomer, ""); len(left) > 0 {
			t.Errorf("addresses %v of the customer are left", left)
		}
		if left := addressesOf(t, addresses, anotherCustomer, ""); len(left) == 0 {
			t.Error("the addresses of another customer are gone")
		}
	})
	if h.supports(adapter.Orders) {
		t.Run("orders of a deleted customer", func(t *testing.T) { testOrdersOfDeleted(t, h.Open(t)) })
	}
}

// testOrdersOfDeleted checks that orders stay when their customer is deleted, and then have
// no customer.
func testOrdersOfDeleted(t *testing.T, a adapter.Adapter) {
	before := records(t, a, adapter.Orders)
	MustDelete(t, storeOf(t, a, adapter.Customers), adapter.DeleteParams{Key: aCustomer})
	ordered := false
	for i, r := range records(t, a, adapter.Orders) {
		want := before[i].Clone()
		if want.Get("customer_id").Int() == aCustomer {
			ordered = true
			want.Set("customer_id", adapter.NullValue())
		}
		if FormatRecord(r) != FormatRecord(want) {
			t.Errorf("order %d:\n\t%s\nwant\n\t%s", r.Key(), FormatRecord(r), FormatRecord(want))
		}
	}
	if !ordered {
		t.Error("the customer has no orders: the demo store is missing")
	}
}

// testEmail stores e-mail addresses that are taken, as Fold compares them.
func testEmail(t *testing.T, customers *suite) {
	mine, other := customers.get(t, aCustomer), customers.get(t, anotherCustomer)
	taken := adapter.TextValue(strings.ToUpper(mine.Get("email").Text()))
	if !mine.Get("website_id").Equal(other.Get("website_id")) {
		t.Fatal("the two customers are of different websites")
	}
	created := attrs{"email": taken, "website_id": mine.Get("website_id"), "store_id": 0, "group_id": mine.Get("group_id"), "disable_auto_group_change": 0}
	_, err := customers.store.Create(t.Context(), &adapter.CreateParams{Record: created.Record(customers.schema)})
	wantError(t, "a new customer with a taken e-mail address", err, adapter.Conflict, "email")
	wantError(t, "a changed e-mail address that is taken", customers.set(t, anotherCustomer, "email", taken), adapter.Conflict, "email")
	if err := customers.set(t, aCustomer, "email", taken); err != nil {
		t.Errorf("the own e-mail address in capitals: %v", err)
	}
}

// testNulls checks that a null becomes absent with the next update that does not set it.
func testNulls(t *testing.T, customers *suite) {
	for _, step := range []struct {
		name        string
		change      attrs
		prefix, vat adapter.ValueKind
	}{
		{"emptied", attrs{"prefix": adapter.NullValue(), "taxvat": "T"}, adapter.Null, adapter.Text},
		{"next update", attrs{"firstname": "A"}, adapter.Absent, adapter.Text},
		{"unset", attrs{"taxvat": adapter.UnsetValue()}, adapter.Absent, adapter.Absent},
		{"both emptied", attrs{"taxvat": adapter.NullValue(), "prefix": adapter.NullValue()}, adapter.Null, adapter.Null},
		{"one set again", attrs{"taxvat": "T", "prefix": adapter.NullValue()}, adapter.Null, adapter.Text},
		{"nothing set", nil, adapter.Absent, adapter.Text},
	} {
		if err := Update(t, customers.store, aCustomer, 0, step.change); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		r := customers.get(t, aCustomer)
		if r.Get("prefix").Kind() != step.prefix || r.Get("taxvat").Kind() != step.vat {
			t.Errorf("%s: prefix is of kind %d, taxvat of %d; want %d and %d", step.name, r.Get("prefix").Kind(), r.Get("taxvat").Kind(), step.prefix, step.vat)
		}
	}
}

// testUpdatedAt checks that an update that changes nothing sets updated_at.
func testUpdatedAt(t *testing.T, s *suite, key adapter.Key) {
	t.Helper()
	before := s.get(t, key)
	err := s.store.Update(t.Context(), &adapter.UpdateParams{Key: key, Change: func(adapter.Record) (adapter.Record, error) { return adapter.NewRecord(s.schema), nil }})
	if err != nil {
		t.Fatal(err)
	}
	after := s.get(t, key)
	if !isRecent(after.Get("updated_at")) || !after.Get("created_at").Equal(before.Get("created_at")) {
		t.Errorf("%s: updated at %s, before at %s; created at %s", s.schema.Resource, after.Get("updated_at").Text(), before.Get("updated_at").Text(), after.Get("created_at").Text())
	}
}

// isRecent reports whether a time is within the last minutes, unlike times of the demo
// store.
func isRecent(v adapter.Value) bool {
	return v.Text() > time.Now().UTC().Add(-5*time.Minute).Format(time.DateTime)
}

// testDefaultAddresses checks that a customer has one default address of each kind, and
// that writing it counts as an update of the customer.
func testDefaultAddresses(t *testing.T, open func(*testing.T) (customers, addresses *suite)) {
	customers, addresses := open(t)
	all := addressesOf(t, addresses, aCustomer, "")
	first, second := all[0], all[1]
	seeded, seededAddress := customers.get(t, aCustomer).Get("updated_at"), addresses.get(t, first).Get("updated_at")
	foreign := addressesOf(t, addresses, anotherCustomer, "is_default_billing")
	expect := func(name string, billing, shipping adapter.Key, touched bool) {
		t.Helper()
		for flag, want := range map[string]adapter.Key{"is_default_billing": billing, "is_default_shipping": shipping} {
			if got := addressesOf(t, addresses, aCustomer, flag); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is set for %v, want %d", name, flag, got, want)
			}
		}
		if got := customers.get(t, aCustomer).Get("updated_at"); !touched && !got.Equal(seeded) || touched && !isRecent(got) {
			t.Errorf("%s: the customer was changed %s", name, got.Text())
		}
	}
	create := func(name string, shipping int) adapter.Key {
		t.Helper()
		r := newAddress(addresses.schema, aCustomer)
		r.Set("is_default_shipping", adapter.IntegerValue(int64(shipping)))
		key, err := addresses.store.Create(t.Context(), &adapter.CreateParams{Record: r})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return key
	}
	expect("at first", first, first, false)
	if err := addresses.set(t, second, "city", adapter.TextValue("Bath")); err != nil {
		t.Fatal(err)
	}
	expect("another one is changed", first, first, false)
	create("another one is added", 0)
	expect("another one is added", first, first, false)
	shipping := create("a new one is added", 1)
	expect("a new one is added", first, shipping, true)
	if err := addresses.set(t, second, "is_default_billing", adapter.IntegerValue(1)); err != nil {
		t.Fatal(err)
	}
	expect("one is made it", second, shipping, true)
	if got := addresses.get(t, first).Get("updated_at"); !got.Equal(seededAddress) {
		t.Errorf("the former default counts as changed %s", got.Text())
	}
	if after := addressesOf(t, addresses, anotherCustomer, "is_default_billing"); len(foreign) != 1 || len(after) != 1 || after[0] != foreign[0] {
		t.Errorf("another customer's default is %v, was %v", after, foreign)
	}

	customers, addresses = open(t)
	if err := Update(t, addresses.store, first, 0, attrs{"city": "Bath", "leaves_customer": 1}); err != nil {
		t.Fatal(err)
	}
	expect("a default is changed without the customer", first, first, false)
	if err := addresses.set(t, first, "city", adapter.TextValue("Bath")); err != nil {
		t.Fatal(err)
	}
	if got := customers.get(t, aCustomer).Get("updated_at"); !isRecent(got) {
		t.Error("a change of a default address left updated_at of the customer")
	}
}

// addressesOf returns the keys of a customer's addresses, or of the addresses with a flag
// unless it is "".
func addressesOf(t *testing.T, s *suite, customer int64, flag string) []adapter.Key {
	t.Helper()
	p := adapter.ListParams{OwnerID: customer}
	if flag != "" {
		p.Query.Where = []adapter.Condition{{Any: []adapter.Test{{Attribute: flag, Op: adapter.Eq, Operands: []string{"1"}}}}}
	}
	return s.keys(MustSelect(t, s.store, s.schema, p))
}

func newAddress(schema *adapter.Schema, customer int) adapter.Record {
	return attrs{
		"customer_id": customer, "firstname": "Ann", "lastname": "Lee", "telephone": "01225",
		"street": adapter.TextsValue([]string{"1 High St"}), "city": "Bath", "postcode": "BA1", "country_id": "GB",
		"is_default_billing": 0, "is_default_shipping": 0,
	}.Record(schema)
}
