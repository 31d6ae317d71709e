package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// aCustomer, anAddress and anOrder return records of another system.
func aCustomer(id int, more attrs) attrs {
	return attrs{"entity_id": id, "website_id": 1, "store_id": 1, "email": fmt.Sprintf("c%d@example.com", id), "group_id": 1, "disable_auto_group_change": 0,
		"created_at": "2012-01-02 03:04:05", "updated_at": "2012-01-03 03:04:05", "firstname": "Ördög", "suffix": nil, "password_hash": "x:y"}.with(more)
}

func anAddress(id, customer int, more attrs) attrs {
	return attrs{"entity_id": id, "customer_id": customer, "created_at": "2012-01-02 03:04:05", "updated_at": "2012-01-03 03:04:05",
		"street": []string{"1", "2"}, "city": "Óbuda", "is_default_billing": 0, "is_default_shipping": 0}.with(more)
}

func anOrder(id int, more attrs) attrs {
	return attrs{"entity_id": id, "increment_id": "1000", "customer_id": nil, "store_id": 1, "state": "new", "status": "pending",
		"created_at": "2012-01-02 03:04:05", "updated_at": "2012-01-03 03:04:05", "grand_total": "5.0000", "total_paid": nil}.with(more)
}

func anItem(id, order int) adapter.Record {
	return attrs{"item_id": id, "order_id": order, "created_at": "2012-01-02 03:04:05", "updated_at": "2012-01-02 03:04:05", "sku": "s", "price": "1.5000"}.record(adapter.NewSchemas().Of(adapter.OrderItems))
}

func aComment(id, order int) adapter.Record {
	return attrs{"entity_id": id, "parent_id": order, "created_at": "2012-01-02 03:04:05", "is_customer_notified": 2, "is_visible_on_front": 0, "comment": nil}.record(adapter.NewSchemas().Of(adapter.OrderComments))
}

// aggregate returns a record with its parts.
func aggregate(r adapter.Resource, g attrs, parts ...adapter.Record) adapter.Aggregate {
	return adapter.Aggregate{Record: g.record(adapter.NewSchemas().Of(r)), Parts: parts}
}

// stored returns the records of a resource with keys above those of the demo store.
func stored(t *testing.T, db *sqlstore.DB, r adapter.Resource) (list []adapter.Record) {
	t.Helper()
	s, err := db.Adapter().Store(r)
	if err != nil {
		t.Fatal(err)
	}
	schema := adapter.NewSchemas().Of(r)
	result, err := s.List(t.Context(), &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{
		{Any: []adapter.Test{{Attribute: schema.Key, Op: adapter.GtEq, Operands: []string{"900"}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return result.Records
}

// values returns the values of a record that are not absent, as texts; "<null>" for
// null.
func values(r adapter.Record) map[string]string {
	all := map[string]string{}
	for i, v := range r.Values {
		switch v.Kind() {
		case adapter.Absent:
		case adapter.Null:
			all[r.Schema.Attributes[i].Name] = "<null>"
		case adapter.Texts:
			all[r.Schema.Attributes[i].Name] = fmt.Sprint(v.Texts())
		default:
			all[r.Schema.Attributes[i].Name] = v.Text()
		}
	}
	return all
}

func TestInsert(t *testing.T) { sqlstore.EachEngine(t, testInsert) }

func testInsert(t *testing.T, e sqlstore.Engine) {
	db := openDemo(t, e)
	insert := func(o sqlstore.InsertOptions, batch ...adapter.Aggregate) []sqlstore.InsertOutcome {
		t.Helper()
		fates, err := db.Insert(t.Context(), batch, o)
		if err != nil {
			t.Fatal(err)
		}
		return fates
	}
	dry, replace := sqlstore.InsertOptions{DryRun: true}, sqlstore.InsertOptions{Replace: true}
	customers := []adapter.Aggregate{aggregate(adapter.Customers, aCustomer(1, nil)), aggregate(adapter.Customers, aCustomer(900, nil))}
	if got := insert(dry, customers...); !slices.Equal(got, []sqlstore.InsertOutcome{sqlstore.Skipped, sqlstore.Stored}) || len(stored(t, db, adapter.Customers)) != 0 {
		t.Errorf("dry: %v", got)
	}
	if got := insert(sqlstore.InsertOptions{}, customers...); !slices.Equal(got, []sqlstore.InsertOutcome{sqlstore.Skipped, sqlstore.Stored}) {
		t.Errorf("%v", got)
	}
	if got := insert(sqlstore.InsertOptions{}, customers...); !slices.Equal(got, []sqlstore.InsertOutcome{sqlstore.Skipped, sqlstore.Skipped}) {
		t.Errorf("again: %v", got)
	}
	want := map[string]string{"entity_id": "900", "website_id": "1", "store_id": "1", "email": "c900@example.com", "group_id": "1", "disable_auto_group_change": "0",
		"created_at": "2012-01-02 03:04:05", "updated_at": "2012-01-03 03:04:05", "firstname": "Ördög", "suffix": "<null>", "password_hash": "x:y"}
	if difference := cmp.Diff(want, values(stored(t, db, adapter.Customers)[0])); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}

	// No old value of the record remains, but the records that belong to it do.
	insert(sqlstore.InsertOptions{}, aggregate(adapter.CustomerAddresses, anAddress(900, 900, attrs{"is_default_billing": 1})), aggregate(adapter.CustomerAddresses, anAddress(901, 900, attrs{"is_default_billing": 1})))
	if got := insert(replace, aggregate(adapter.Customers, attrs{"entity_id": 900, "website_id": 2, "email": "new@example.com", "group_id": 1, "disable_auto_group_change": 0,
		"created_at": "2012-01-02 03:04:05", "updated_at": "2012-01-03 03:04:05", "taxvat": nil})); got[0] != sqlstore.Replaced {
		t.Errorf("replaced: %v", got)
	}
	want = map[string]string{"entity_id": "900", "website_id": "2", "email": "new@example.com", "group_id": "1", "disable_auto_group_change": "0",
		"created_at": "2012-01-02 03:04:05", "updated_at": "2012-01-03 03:04:05", "taxvat": "<null>"}
	if difference := cmp.Diff(want, values(stored(t, db, adapter.Customers)[0])); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	addresses := stored(t, db, adapter.CustomerAddresses)
	if len(addresses) != 2 || addresses[0].Get("is_default_billing").Int() != 0 || addresses[1].Get("is_default_billing").Int() != 1 ||
		!slices.Equal(addresses[0].Get("street").Texts(), []string{"1", "2"}) {
		t.Errorf("addresses: %v", addresses)
	}

	order := aggregate(adapter.Orders, anOrder(900, attrs{"customer_id": 900}), anItem(900, 900), anItem(901, 900), aComment(900, 900))
	insert(sqlstore.InsertOptions{}, order)
	if len(stored(t, db, adapter.OrderItems)) != 2 || len(stored(t, db, adapter.OrderComments)) != 1 {
		t.Error("parts are missing")
	}
	if got := insert(replace, aggregate(adapter.Orders, anOrder(900, nil), anItem(902, 900))); got[0] != sqlstore.Replaced {
		t.Errorf("replaced: %v", got)
	}
	items := stored(t, db, adapter.OrderItems)
	if len(items) != 1 || items[0].Get("item_id").Int() != 902 || len(stored(t, db, adapter.OrderComments)) != 0 || !stored(t, db, adapter.Orders)[0].Get("customer_id").Empty() {
		t.Errorf("parts of a replaced order: %v", items)
	}

	// New records get greater keys.
	s, err := db.Adapter().Store(adapter.Customers)
	if err != nil {
		t.Fatal(err)
	}
	r := attrs{"website_id": 1, "email": "later@example.com", "group_id": 1, "disable_auto_group_change": 0, "firstname": "a", "lastname": "b"}.record(adapter.NewSchemas().Of(adapter.Customers))
	if key, err := s.Create(t.Context(), &adapter.CreateParams{Record: r}); err != nil || key <= 900 {
		t.Errorf("the next customer is %d, %v", key, err)
	}
}

// TestInsertRefuses checks that a batch with an invalid record stores nothing, in a dry
// run or not.
func TestInsertRefuses(t *testing.T) { sqlstore.EachEngine(t, testInsertRefuses) }

func testInsertRefuses(t *testing.T, e sqlstore.Engine) {
	db := openDemo(t, e)
	first := aggregate(adapter.Customers, aCustomer(900, nil))
	if _, err := db.Insert(t.Context(), []adapter.Aggregate{aggregate(adapter.Orders, anOrder(800, nil), anItem(800, 800))}, sqlstore.InsertOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		one   adapter.Aggregate
		kind  adapter.ErrorKind
		field string
	}{
		{"no e-mail address", aggregate(adapter.Customers, aCustomer(901, attrs{"email": nil})), adapter.Invalid, "email"},
		{"e-mail address taken", aggregate(adapter.Customers, aCustomer(901, attrs{"email": "ÄDA@example.com"})), adapter.Conflict, "email"},
		{"no key", aggregate(adapter.Customers, aCustomer(0, nil)), adapter.Invalid, "entity_id"},
		{"a key no record can have", aggregate(adapter.Customers, aCustomer(1<<60, nil)), adapter.Invalid, "entity_id"},
		{"invalid time", aggregate(adapter.Customers, aCustomer(901, attrs{"dob": "yesterday"})), adapter.Invalid, "dob"},
		{"an address of nobody", aggregate(adapter.CustomerAddresses, anAddress(901, 999, nil)), adapter.NotFound, "customer_id"},
		{"an address without a customer", aggregate(adapter.CustomerAddresses, anAddress(901, 1, attrs{"customer_id": nil})), adapter.Invalid, "customer_id"},
		{"unknown customer", aggregate(adapter.Orders, anOrder(901, attrs{"customer_id": 999})), adapter.NotFound, "customer_id"},
		{"a line of another order", aggregate(adapter.Orders, anOrder(901, nil), anItem(901, 1)), adapter.Invalid, "order_id"},
		{"a line whose key is taken", aggregate(adapter.Orders, anOrder(901, nil), anItem(800, 901)), adapter.Conflict, "item_id"},
		{"unsupported part", aggregate(adapter.Orders, anOrder(901, nil), first.Record), adapter.Unsupported, ""},
		{"unsupported resource", aggregate(adapter.Websites, attrs{"website_id": 901}), adapter.Unsupported, ""},
		{"no record", adapter.Aggregate{}, adapter.Unsupported, ""},
	} {
		for _, dry := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, dry %t", c.name, dry), func(t *testing.T) {
				_, err := db.Insert(t.Context(), []adapter.Aggregate{first, c.one}, sqlstore.InsertOptions{DryRun: dry})
				var fault *adapter.Error
				if !errors.As(err, &fault) || fault.Kind != c.kind || fault.Field != c.field {
					t.Errorf("%v, want kind %s of %q", err, c.kind, c.field)
				}
				if list := stored(t, db, adapter.Customers); len(list) != 0 {
					t.Errorf("%v is stored", list)
				}
			})
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Insert(ctx, []adapter.Aggregate{first}, sqlstore.InsertOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want it cancelled", err)
	}
}
