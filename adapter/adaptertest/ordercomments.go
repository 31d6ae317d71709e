package adaptertest

import (
	"github.com/portico-commerce/portico/adapter"
	"strconv"
	"sync"
	"testing"
)

// anOrder is an order of the demo store that has items.
const anOrder = 1

// testOrderComments checks how a comment changes its order.
func testOrderComments(t *testing.T, h Harness, schemas *adapter.Schemas) {
	a := h.Open(t)
	orders, comments := storeOf(t, a, adapter.Orders), storeOf(t, a, adapter.OrderComments)
	order := func() adapter.Record {
		t.Helper()
		return MustGet(t, orders, adapter.GetParams{Key: anOrder})
	}
	comment := func(of int, more attrs) (adapter.Key, error) {
		g := attrs{"parent_id": of, "comment": nil, "is_customer_notified": 0, "is_visible_on_front": 0}.With(more)
		return comments.Create(t.Context(), &adapter.CreateParams{Record: g.Record(schemas.Of(adapter.OrderComments))})
	}

	_, err := comment(noRecord, nil)
	wantError(t, "unknown order", err, adapter.Invalid, "parent_id")
	before := order()
	for _, c := range []struct {
		name  string
		given attrs
		want  adapter.Value // status of the comment and of the order
	}{
		{"without a status", nil, before.Get("status")},
		{"with a status", attrs{"status": "Étape 2"}, adapter.TextValue("Étape 2")},
		{"without a status again", attrs{"comment": "c"}, adapter.TextValue("Étape 2")},
		{"with a null status", attrs{"status": nil}, adapter.NullValue()},
		{"without a status after null", nil, adapter.NullValue()},
		{"with the original status", attrs{"status": before.Get("status")}, before.Get("status")},
	} {
		key, err := comment(anOrder, c.given)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		r := MustGet(t, comments, adapter.GetParams{Key: key})
		after := order()
		if FormatValue(r.Get("status")) != FormatValue(c.want) || FormatValue(after.Get("status")) != FormatValue(c.want) {
			t.Errorf("%s: the comment has %s and the order %s, want %s", c.name, FormatValue(r.Get("status")), FormatValue(after.Get("status")), FormatValue(c.want))
		}
		if moment := r.Get("created_at").Text(); moment == "" || after.Get("updated_at").Text() < moment || after.Get("updated_at").Equal(before.Get("updated_at")) {
			t.Errorf("%s: made at %q, order changed at %q", c.name, moment, after.Get("updated_at").Text())
		}
		found, err := orders.List(t.Context(), &adapter.ListParams{Query: adapter.Query{Where: []adapter.Condition{
			{Any: []adapter.Test{{Attribute: "status", Op: adapter.Eq, Operands: []string{adapter.Fold(c.want.Text())}}}},
			{Any: []adapter.Test{{Attribute: "entity_id", Op: adapter.Eq, Operands: []string{strconv.Itoa(anOrder)}}}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if !found.Partial && (len(found.Records) == 1) != (c.want.Kind() == adapter.Text) {
			t.Errorf("%s: %d orders found by the status", c.name, len(found.Records))
		}
	}
	for _, line := range records(t, a, adapter.OrderItems) {
		if changed := line.Get("updated_at").Text() >= order().Get("updated_at").Text(); changed != (line.Get("order_id").Int() == anOrder) {
			t.Errorf("line %d of order %d changed: %v", line.Get("item_id").Int(), line.Get("order_id").Int(), changed)
		}
	}
	if after := order(); !after.Get("created_at").Equal(before.Get("created_at")) || !after.Get("state").Equal(before.Get("state")) {
		t.Errorf("the order is otherwise changed:\n\t%s", FormatRecord(after))
	}
	testConcurrentComments(t, comment, order)
}

// testConcurrentComments adds comments to an order from many goroutines. The order must
// have the status of the last comment.
func testConcurrentComments(t *testing.T, comment func(int, attrs) (adapter.Key, error), order func() adapter.Record) {
	const writers = 50
	var all sync.WaitGroup
	var mu sync.Mutex
	last, status := adapter.Key(0), ""
	for i := range writers {
		all.Go(func() {
			mine := "status " + strconv.Itoa(i)
			key, err := comment(anOrder, attrs{"status": mine})
			if err != nil {
				t.Errorf("Create: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if key > last {
				last, status = key, mine
			}
		})
	}
	all.Wait()
	if got := order().Get("status").Text(); got != status {
		t.Errorf("the order has %q, the last comment %q", got, status)
	}
}
