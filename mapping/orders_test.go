package mapping_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// The orders that the tests add to the demo store's four, of which 1 and 4 belong to
// customer 1, 2 to customer 2 and 3 to a guest.
const (
	richOrder  = 5   // of customer 2: twelve items, a billing address, a comment not visible to customers, a gift message
	emptyOrder = 6   // of customer 1: no parts at all
	lastOrder  = 140 // a guest's with one item, like all between
)

// An orderShop serves the demo store with more orders, and counts its store reads.
type orderShop struct {
	*shop
	reads *reads
}

func openOrderShop(t testing.TB, d *contract.Dialect) orderShop {
	t.Helper()
	data := loadDemo(t)
	addOrders(data)
	store, reads := openStore(t, data), &reads{}
	return orderShop{serveShop(t, d, settings(), data, store, reads.counting(store)), reads}
}

// addOrders adds copies of order 3 and its parts, changed as described at the constants.
func addOrders(data *adapter.Dataset) {
	first := func(r adapter.Resource) adapter.Record { return data.Records[r][0].Clone() }
	add := func(r adapter.Resource, rec adapter.Record) { data.Records[r] = append(data.Records[r], rec) }
	integer := adapter.IntegerValue
	line := func(order, id, number int64) adapter.Record {
		rec := first(adapter.OrderItems)
		rec.Set("item_id", integer(id))
		rec.Set("order_id", integer(order))
		rec.Set("sku", adapter.TextValue(fmt.Sprintf("line-%d", number)))
		return rec
	}
	for id := int64(richOrder); id <= lastOrder; id++ {
		order := data.Records[adapter.Orders][2].Clone()
		order.Set("entity_id", integer(id))
		order.Set("increment_id", adapter.TextValue(strconv.FormatInt(100000000+id, 10)))
		switch id {
		case richOrder:
			order.Set("customer_id", integer(2))
			order.Set("gift_message_from", adapter.TextValue("Ben"))
		case emptyOrder:
			order.Set("customer_id", integer(1))
		}
		add(adapter.Orders, order)
	}
	for number := int64(1); number <= 12; number++ {
		rec := line(richOrder, 100+number, number)
		if number == 12 {
			rec.Set("parent_item_id", integer(111))
		}
		add(adapter.OrderItems, rec)
	}
	add(adapter.OrderItems, line(lastOrder, 200, 1))
	address := first(adapter.OrderAddresses)
	address.Set("entity_id", integer(100))
	address.Set("parent_id", integer(richOrder))
	address.Set("company", adapter.TextValue(""))
	add(adapter.OrderAddresses, address)
	comment := first(adapter.OrderComments)
	comment.Set("parent_id", integer(richOrder))
	comment.Set("is_visible_on_front", integer(0))
	comment.Set("comment", adapter.TextValue("for us"))
	add(adapter.OrderComments, comment)
}

// get sends a GET.
func (s orderShop) get(t *testing.T, as contract.Role, path string) resource.Response {
	t.Helper()
	return withFullBody(t, s.serve(as, "GET", path, "", "Accept", asJSON))
}

// TestOrderQueries counts the store reads for one request: one query for the page, and
// one for each part that is shown.
func TestOrderQueries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		as   contract.Role
		path string
		want int
	}{
		{"order", contract.Admin, "/orders/1", 4},
		{"order without its parts", contract.Admin, "/orders/1?attrs=entity_id,sku,city,comment", 1},
		{"order with one part", contract.Admin, "/orders/1?attrs=addresses,sku,city,comment", 2},
		{"first page", contract.Admin, "/orders", 4},
		{"largest page", contract.Admin, "/orders?limit=100", 4},
		{"all rows, parts of 128 orders at once", contract.Admin, "/orders?limit=0", 7},
		{"page beyond the end", contract.Admin, "/orders?page=999", 6},
		{"no orders", contract.Customer, "/orders?filter[1][attribute]=status&filter[1][eq]=none", 1},
		{"items", contract.Customer, "/orders/1/items", 2},
		{"addresses", contract.Customer, "/orders/1/addresses", 2},
		{"address", contract.Customer, "/orders/1/addresses/billing", 2},
		{"comments", contract.Customer, "/orders/1/comments", 2},
		{"comment", contract.Admin, "/orders/comments/1", 1},
		{"foreign order", contract.Customer, "/orders/2/items", 1},
		{"refused", contract.Guest, "/orders/1", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			shop := openOrderShop(t, contract.Documented())
			shop.get(t, test.as, test.path)
			if got := len(shop.reads.take()); got != test.want {
				t.Errorf("%d queries, want %d", got, test.want)
			}
		})
	}
}

// TestAllOrders reads the parts of more orders than one query covers.
func TestAllOrders(t *testing.T) {
	shop := openOrderShop(t, contract.Magento())
	body := string(shop.get(t, contract.Admin, "/orders?limit=0&attrs=entity_id,order_items,sku,city,comment").Body)
	for _, want := range []string{
		`{"1":{"entity_id":"1","order_items":[{"sku":"kettle-steel"},{"sku":"mug-free-tax"}]},"2":`,
		`"139":{"entity_id":"139"},"140":{"entity_id":"140","order_items":[{"sku":"line-1"}]}}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}
