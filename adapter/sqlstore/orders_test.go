package sqlstore

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// TestDeleteCustomerKeepsOrders checks that orders of a deleted customer remain without
// a customer (stock_orders 4).
func TestDeleteCustomerKeepsOrders(t *testing.T) {
	EachEngine(t, testDeleteCustomerKeepsOrders)
}

func testDeleteCustomerKeepsOrders(t *testing.T, e Engine) {
	ctx := t.Context()
	db := openDemo(t, e)
	orders, err := db.Adapter().Store(adapter.Orders)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := orders.Get(ctx, &adapter.GetParams{Key: 2, OwnerID: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.writer.ExecContext(ctx, "DELETE FROM customer WHERE entity_id = 2"); err != nil {
		t.Fatal(err)
	}
	order, err := orders.Get(ctx, &adapter.GetParams{Key: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := order.Get("customer_id").Kind(); got != adapter.Null {
		t.Errorf("customer_id is of kind %d, want null", got)
	}
	if _, err := orders.Get(ctx, &adapter.GetParams{Key: 2, OwnerID: 2}); adapter.KindOf(err) != adapter.NotFound {
		t.Errorf("the customer's own order: %v, want not found", err)
	}
	own, err := orders.List(ctx, &adapter.ListParams{OwnerID: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(own.Records) != 0 {
		t.Errorf("%d orders of the customer, want none", len(own.Records))
	}
}
