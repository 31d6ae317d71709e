package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strings"
	"testing"
)

// firstImported is below the keys of all imported records, and above the keys of the demo
// store.
const firstImported = 900

// importedTimes are the times of records of another system.
func importedTimes() attrs {
	return attrs{"created_at": "2012-01-02 03:04:05", "updated_at": "2012-01-03 03:04:05"}
}

// The following functions return records of another system.

func importedCustomer(id int, more attrs) attrs {
	return importedTimes().With(attrs{"entity_id": id, "website_id": 1, "store_id": 1, "email": fmt.Sprintf("c%d@example.com", id), "group_id": 1,
		"disable_auto_group_change": 0, "firstname": "Ördög", "suffix": nil, "password_hash": "x:y"}).With(more)
}

func importedAddress(id, customer int, more attrs) attrs {
	return importedTimes().With(attrs{"entity_id": id, "customer_id": customer, "street": []string{"1", "2"}, "city": "Óbuda",
		"is_default_billing": 0, "is_default_shipping": 0}).With(more)
}

func importedOrder(id int, more attrs) attrs {
	return importedTimes().With(attrs{"entity_id": id, "increment_id": "1000", "customer_id": nil, "store_id": 1, "state": "new", "status": "pending",
		"grand_total": "5.0000", "total_paid": nil}).With(more)
}

func importedLine(id, order int) attrs {
	return importedTimes().With(attrs{"item_id": id, "order_id": order, "sku": "s", "price": "1.5000"})
}

func importedComment(id, order int) attrs {
	return attrs{"entity_id": id, "parent_id": order, "created_at": "2012-01-02 03:04:05", "is_customer_notified": 2, "is_visible_on_front": 0, "comment": nil}
}

// An importSuite tests an adapter that imports.
type importSuite struct {
	adapter  adapter.Adapter
	importer adapter.Importer
	schemas  *adapter.Schemas
}

// testImporter checks the imports of an adapter.
func testImporter(t *testing.T, h Harness, schemas *adapter.Schemas) {
	open := func(t *testing.T) *importSuite {
		a := h.Open(t)
		return &importSuite{a, a.(adapter.Importer), schemas}
	}
	t.Run("customers", func(t *testing.T) { open(t).testCustomers(t) })
	t.Run("orders", func(t *testing.T) { open(t).testOrders(t) })
	t.Run("products", func(t *testing.T) { open(t).testProducts(t) })
	t.Run("values at store views", func(t *testing.T) { open(t).testLevels(t) })
	t.Run("addresses of pages", func(t *testing.T) { open(t).testRequestPaths(t) })
	t.Run("composite products", func(t *testing.T) { open(t).testComposites(t) })
	t.Run("faulty values at store views", func(t *testing.T) { open(t).testFaultyLevels(t) })
	t.Run("assignments", func(t *testing.T) { open(t).testImportedAssignments(t) })
	t.Run("images", func(t *testing.T) { open(t).testImportedImages(t) })
	t.Run("bytes of images", func(t *testing.T) { open(t).testImageBytes(t) })
	t.Run("faulty images", func(t *testing.T) { open(t).testFaultyImages(t) })
	t.Run("categories", func(t *testing.T) { open(t).testImportedCategories(t) })
	t.Run("batches", func(t *testing.T) { open(t).testBatches(t) })
	t.Run("exchanged values", func(t *testing.T) { open(t).testExchanges(t, h.OneByOne) })
	t.Run("concurrent imports", func(t *testing.T) { open(t).testConcurrentImports(t) })
	t.Run("sources", func(t *testing.T) { open(t).testNoted(t) })
	t.Run("positions", func(t *testing.T) { open(t).testPositions(t) })
	t.Run("passed keys", func(t *testing.T) { open(t).testPassedKeys(t) })
	t.Run("refused", func(t *testing.T) { open(t).testRefused(t) })
}

// part returns a record of a resource.
func (s *importSuite) part(r adapter.Resource, g attrs) adapter.Record {
	return g.Record(s.schemas.Of(r))
}

// aggregate returns a record with parts.
func (s *importSuite) aggregate(r adapter.Resource, g attrs, parts ...adapter.Record) adapter.Aggregate {
	return adapter.Aggregate{Record: s.part(r, g), Parts: parts}
}

// gone returns the removal of a record.
func (s *importSuite) gone(r adapter.Resource, key int) adapter.Aggregate {
	return adapter.Aggregate{Record: attrs{s.schemas.Of(r).Key: key}.Record(s.schemas.Of(r)), Gone: true}
}

// expect imports a batch and compares the outcomes.
func (s *importSuite) expect(t *testing.T, name string, o adapter.ImportOptions, want []adapter.ImportOutcome, batch ...adapter.Aggregate) []adapter.Imported {
	t.Helper()
	done, err := s.importer.Import(t.Context(), batch, o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var got []adapter.ImportOutcome
	for _, one := range done {
		got = append(got, one.Outcome)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: outcomes %v, want %v", name, got, want)
	}
	return done
}

// imported returns the records of a resource that were imported, by key.
func (s *importSuite) imported(t *testing.T, r adapter.Resource, with ...string) []adapter.Record {
	t.Helper()
	key := adapter.Test{Attribute: s.schemas.Of(r).Key, Op: adapter.GtEq, Operands: []string{fmt.Sprint(firstImported)}}
	return MustSelect(t, storeOf(t, s.adapter, r), s.schemas.Of(r), adapter.ListParams{With: with,
		Query: adapter.Query{OrderBy: key.Attribute, Where: []adapter.Condition{{Any: []adapter.Test{key}}}}})
}

// want compares the values of a record that are wanted or not absent, except on-demand
// ones.
func (s *importSuite) want(t *testing.T, name string, got adapter.Record, want attrs) {
	t.Helper()
	wanted := want.Record(got.Schema)
	for i, a := range got.Schema.Attributes {
		if _, given := want[a.Name]; !given && (a.OnDemand || a.ReadOnly || !got.Schema.DistinctNulls) {
			continue
		}
		if FormatValue(got.Values[i]) != FormatValue(wanted.Values[i]) {
			t.Errorf("%s: %s is %s, want %s", name, a.Name, FormatValue(got.Values[i]), FormatValue(wanted.Values[i]))
		}
	}
}

const (
	created = adapter.ImportCreated
	changed = adapter.ImportChanged
	equal   = adapter.ImportEqual
	kept    = adapter.ImportKept
	removed = adapter.ImportRemoved
)

func (s *importSuite) testCustomers(t *testing.T) {
	replace := adapter.ImportOptions{Existing: adapter.ReplaceExisting}
	batch := []adapter.Aggregate{s.aggregate(adapter.Customers, importedCustomer(aCustomer, nil)), s.aggregate(adapter.Customers, importedCustomer(900, nil))}
	s.expect(t, "dry", adapter.ImportOptions{DryRun: true}, []adapter.ImportOutcome{kept, created}, batch...)
	if found := s.imported(t, adapter.Customers); len(found) != 0 {
		t.Fatalf("a dry run stored %v", found)
	}
	s.expect(t, "first", adapter.ImportOptions{}, []adapter.ImportOutcome{kept, created}, batch...)
	s.expect(t, "again", adapter.ImportOptions{}, []adapter.ImportOutcome{kept, kept}, batch...)
	s.want(t, "created", s.imported(t, adapter.Customers)[0], importedCustomer(900, nil))
	s.expect(t, "replaced by the same", replace, []adapter.ImportOutcome{equal}, batch[1])
	s.want(t, "the same", s.imported(t, adapter.Customers)[0], importedCustomer(900, nil))

	// No old value of the record remains, but the records that belong to it do.
	s.expect(t, "addresses", adapter.ImportOptions{}, []adapter.ImportOutcome{created, created},
		s.aggregate(adapter.CustomerAddresses, importedAddress(900, 900, attrs{"is_default_billing": 1})),
		s.aggregate(adapter.CustomerAddresses, importedAddress(901, 900, attrs{"is_default_billing": 1})))
	other := importedTimes().With(attrs{"entity_id": 900, "website_id": 2, "email": "new@example.com", "group_id": 1, "disable_auto_group_change": 0, "taxvat": nil})
	s.expect(t, "replaced, dry", adapter.ImportOptions{DryRun: true, Existing: adapter.ReplaceExisting}, []adapter.ImportOutcome{changed}, s.aggregate(adapter.Customers, other))
	s.want(t, "replaced, dry", s.imported(t, adapter.Customers)[0], importedCustomer(900, nil))
	s.expect(t, "replaced", replace, []adapter.ImportOutcome{changed}, s.aggregate(adapter.Customers, other))
	s.want(t, "replaced", s.imported(t, adapter.Customers)[0], other)
	addresses := s.imported(t, adapter.CustomerAddresses)
	if len(addresses) != 2 {
		t.Fatalf("%d addresses", len(addresses))
	}
	s.want(t, "former default", addresses[0], importedAddress(900, 900, nil))
	s.want(t, "default", addresses[1], importedAddress(901, 900, attrs{"is_default_billing": 1}))

	s.expect(t, "merged", adapter.ImportOptions{Existing: adapter.MergeExisting}, []adapter.ImportOutcome{changed}, s.aggregate(adapter.Customers, attrs{"entity_id": 900, "firstname": "M"}))
	s.want(t, "merged", s.imported(t, adapter.Customers)[0], other.With(attrs{"firstname": "M"}))

	r := attrs{"website_id": 1, "email": "later@example.com", "group_id": 1, "disable_auto_group_change": 0, "store_id": 0}
	if key, err := storeOf(t, s.adapter, adapter.Customers).Create(t.Context(), &adapter.CreateParams{Record: s.part(adapter.Customers, r)}); err != nil || key <= 900 {
		t.Errorf("the next customer is %d, %v", key, err)
	}
	s.expect(t, "removed, dry", adapter.ImportOptions{DryRun: true}, []adapter.ImportOutcome{removed}, s.gone(adapter.Customers, 900))
	s.expect(t, "removed", adapter.ImportOptions{}, []adapter.ImportOutcome{removed, equal}, s.gone(adapter.Customers, 900), s.gone(adapter.Customers, 899))
	if found := s.imported(t, adapter.CustomerAddresses); len(found) != 0 {
		t.Errorf("addresses are left: %v", found)
	}
}

func (s *importSuite) testOrders(t *testing.T) {
	replace := adapter.ImportOptions{Existing: adapter.ReplaceExisting}
	line := func(id int) adapter.Record { return s.part(adapter.OrderItems, importedLine(id, 900)) }
	comment := s.part(adapter.OrderComments, importedComment(900, 900))
	order := s.aggregate(adapter.Orders, importedOrder(900, attrs{"customer_id": aCustomer}), line(900), line(901), comment)
	expect := func(name string, lines, comments int) {
		t.Helper()
		if items, notes := s.imported(t, adapter.OrderItems), s.imported(t, adapter.OrderComments); len(items) != lines || len(notes) != comments {
			t.Errorf("%s: %d lines and %d comments, want %d and %d", name, len(items), len(notes), lines, comments)
		}
	}
	s.expect(t, "first", replace, []adapter.ImportOutcome{created}, order)
	expect("first", 2, 1)
	s.expect(t, "again", replace, []adapter.ImportOutcome{equal}, order)
	other := importedLine(901, 900).With(attrs{"sku": "t"})
	s.expect(t, "another line", replace, []adapter.ImportOutcome{changed},
		s.aggregate(adapter.Orders, importedOrder(900, attrs{"customer_id": aCustomer}), line(900), s.part(adapter.OrderItems, other), comment))
	s.want(t, "another line", s.imported(t, adapter.OrderItems)[1], other)
	s.expect(t, "other parts", replace, []adapter.ImportOutcome{changed}, s.aggregate(adapter.Orders, importedOrder(900, nil), line(902)))
	expect("other parts", 1, 0)
	if !s.imported(t, adapter.Orders)[0].Get("customer_id").Empty() {
		t.Error("the order has a customer still")
	}
}

func (s *importSuite) testProducts(t *testing.T) {
	ruled := func(day, price string) attrs {
		return attrs{"website_id": 1, "cust_group": 0, "rule_date": day + " 00:00:00", "price": price}
	}
	rules := []attrs{ruled("2013-01-02", "5.0000"), ruled("2013-01-01", "4.5000")}
	product := importedTimes().With(newProduct("imported-1", attrs{"entity_id": 900, "meta_title": nil, "rule_price": rules,
		"tier_price": []attrs{{"website_id": 0, "cust_group": 1, "price": "7.0000", "price_qty": "10.0000"}}}))
	batch := []adapter.Aggregate{
		s.aggregate(adapter.Products, product),
		s.aggregate(adapter.ProductWebsites, attrs{"product_id": 900, "website_id": 1}),
		s.aggregate(adapter.ProductCategories, attrs{"assignment_id": 900, "product_id": 900, "category_id": 3, "position": 4}),
	}
	done := s.expect(t, "first", adapter.ImportOptions{}, []adapter.ImportOutcome{created, created, created}, batch...)
	if done[1].Key == 0 || done[2].Key != 900 {
		t.Errorf("keys %v", done)
	}
	found := s.imported(t, adapter.Products, "tier_price", "rule_price")
	if len(found) != 1 {
		t.Fatalf("%d products", len(found))
	}
	given := product.With(nil)
	delete(given, "tier_price")
	delete(given, "rule_price")
	s.want(t, "created", found[0], given)
	if tiers := found[0].Get("tier_price").Records(); len(tiers) != 1 || tiers[0].Get("price").Text() != "7.0000" {
		t.Errorf("tier prices %v", tiers)
	}
	wantRules := func(when string, want ...attrs) {
		t.Helper()
		got := s.imported(t, adapter.Products, "rule_price")[0].Get("rule_price").Records()
		if len(got) != len(want) {
			t.Fatalf("%s: prices of rules %v, want %v", when, got, want)
		}
		for i := range want {
			s.want(t, when, got[i], want[i])
		}
	}
	wantRules("created", rules...)
	listed, err := storeOf(t, s.adapter, adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 900, StoreID: 1, Filters: []adapter.Filter{{Name: adapter.Listed}}})
	if err != nil {
		t.Errorf("shoppers do not see it: %v, %v", listed, err)
	}
	replace := adapter.ImportOptions{Existing: adapter.ReplaceExisting}
	s.expect(t, "again", replace, []adapter.ImportOutcome{equal}, batch[0])
	s.expect(t, "another price", replace, []adapter.ImportOutcome{changed}, s.aggregate(adapter.Products, product.With(attrs{
		"tier_price": []attrs{{"website_id": 0, "cust_group": 1, "price": "6.0000", "price_qty": "10.0000"}}})))
	next := []attrs{ruled("2013-01-02", "5.2500"), ruled("2013-01-03", "6.0000")}
	s.expect(t, "the next day", replace, []adapter.ImportOutcome{changed}, s.aggregate(adapter.Products, product.With(attrs{"rule_price": next})))
	wantRules("the next day", next...)
	s.expect(t, "no rules", replace, []adapter.ImportOutcome{changed}, s.aggregate(adapter.Products, product.With(attrs{"rule_price": []attrs{}})))
	wantRules("no rules")
	s.expect(t, "disabled", replace, []adapter.ImportOutcome{changed}, s.aggregate(adapter.Products, product.With(attrs{"status": 2})))
	_, err = storeOf(t, s.adapter, adapter.Products).Get(t.Context(), &adapter.GetParams{Key: 900, StoreID: 1, Filters: []adapter.Filter{{Name: adapter.Listed}}})
	wantError(t, "a disabled product", err, adapter.NotFound, "")
}

// testRefused checks that a batch with an invalid record stores nothing.
func (s *importSuite) testRefused(t *testing.T) {
	first := s.aggregate(adapter.Customers, importedCustomer(900, nil))
	taken := strings.ToUpper((&suite{schema: s.schemas.Of(adapter.Customers), store: storeOf(t, s.adapter, adapter.Customers)}).get(t, aCustomer).Get("email").Text())
	line := func(id, order int) adapter.Record { return s.part(adapter.OrderItems, importedLine(id, order)) }
	if _, err := s.importer.Import(t.Context(), []adapter.Aggregate{s.aggregate(adapter.Orders, importedOrder(800, nil), line(800, 800))}, adapter.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		one   adapter.Aggregate
		kind  adapter.ErrorKind
		field string
	}{
		{"no e-mail address", s.aggregate(adapter.Customers, importedCustomer(901, attrs{"email": nil})), adapter.Invalid, "email"},
		{"e-mail address taken", s.aggregate(adapter.Customers, importedCustomer(901, attrs{"email": taken})), adapter.Conflict, "email"},
		{"key 0", s.aggregate(adapter.Customers, importedCustomer(0, nil)), adapter.Invalid, "entity_id"},
		{"a key no record can have", s.aggregate(adapter.Customers, importedCustomer(1<<60, nil)), adapter.Invalid, "entity_id"},
		{"invalid time", s.aggregate(adapter.Customers, importedCustomer(901, attrs{"dob": "yesterday"})), adapter.Invalid, "dob"},
		{"an address of nobody", s.aggregate(adapter.CustomerAddresses, importedAddress(901, 999, nil)), adapter.NotFound, "customer_id"},
		{"an address without a customer", s.aggregate(adapter.CustomerAddresses, importedAddress(901, 1, attrs{"customer_id": nil})), adapter.Invalid, "customer_id"},
		{"unknown customer", s.aggregate(adapter.Orders, importedOrder(901, attrs{"customer_id": 999})), adapter.NotFound, "customer_id"},
		{"a line of another order", s.aggregate(adapter.Orders, importedOrder(901, nil), line(901, 1)), adapter.Invalid, "order_id"},
		{"a line whose key is taken", s.aggregate(adapter.Orders, importedOrder(901, nil), line(800, 901)), adapter.Conflict, "item_id"},
		{"unsupported part", s.aggregate(adapter.Orders, importedOrder(901, nil), first.Record), adapter.Unsupported, ""},
		{"unsupported resource", s.aggregate(adapter.Admins, attrs{"admin_id": 901}), adapter.Unsupported, ""},
		{"no record", adapter.Aggregate{}, adapter.Unsupported, ""},
		{"derived attribute", s.aggregate(adapter.Products, newProduct("imported-2", attrs{"default_url_key": "k"})), adapter.Invalid, "default_url_key"},
	} {
		for _, dry := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, dry %t", c.name, dry), func(t *testing.T) {
				_, err := s.importer.Import(t.Context(), []adapter.Aggregate{first, c.one}, adapter.ImportOptions{DryRun: dry})
				wantError(t, c.name, err, c.kind, c.field)
				if found := s.imported(t, adapter.Customers); len(found) != 0 {
					t.Errorf("%v is stored", found)
				}
			})
		}
	}
	_, err := s.importer.Import(t.Context(), []adapter.Aggregate{s.aggregate(adapter.Customers, importedCustomer(aCustomer, nil))}, adapter.ImportOptions{Existing: adapter.RefuseExisting})
	wantError(t, "an existing record", err, adapter.Conflict, "entity_id")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.importer.Import(ctx, []adapter.Aggregate{first}, adapter.ImportOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want it cancelled", err)
	}
}
