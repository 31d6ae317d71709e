package mapping_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
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
	service *mapping.Service
	reads   *reads
}

func openOrderShop(t *testing.T, d *contract.Dialect) orderShop {
	t.Helper()
	data := loadDemo(t)
	addOrders(data)
	store := openStore(t, data)
	shop := orderShop{reads: &reads{}}
	var err error
	shop.service, err = mapping.New(d, contract.StandardFields(), countingAdapter{store, shop.reads}, adapter.NewSchemas(),
		store.authenticator(),
		mapping.Settings{BodyBytes: 1 << 20, QueryBytes: 1 << 16, MaxRows: 1000, Now: time.Now}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return shop
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

// The callers of the tests.
const (
	asAdmin     = "admin"
	asCustomer1 = "customer 1"
	asCustomer2 = "customer 2"
	asGuest     = "guest"
)

// get sends a GET; format is the subtype in Accept: application/….
func (shop orderShop) get(t *testing.T, as, path, format string) mapping.Response {
	t.Helper()
	tokens := map[string][2]string{
		asAdmin: {"c", "d"}, asCustomer1: {"e", "f"}, asCustomer2: {"1", "2"},
	}
	r := httptest.NewRequest("GET", "/api/rest"+path, nil)
	r.Header.Set("Accept", map[string]string{"json": "application/json", "xml": "text/xml", "text": "text/plain"}[format])
	if token, ok := tokens[as]; ok {
		r.Header.Set("Authorization", fmt.Sprintf(
			`OAuth oauth_consumer_key="%s", oauth_token="%s", oauth_signature_method="PLAINTEXT", oauth_signature="%s%%26%s"`,
			strings.Repeat("a", 32), strings.Repeat(token[0], 32), strings.Repeat("b", 32), strings.Repeat(token[1], 32)))
	}
	return withFullBody(t, shop.service.Serve(t.Context(), &mapping.Request{HTTP: r, Scheme: "http"}, nil))
}

// Replies other than records, in JSON.
const (
	crashed       = "500 "
	notFound      = `404 {"messages":{"error":[{"code":404,"message":"Resource not found."}]}}`
	accessDenied  = `403 {"messages":{"error":[{"code":403,"message":"Access denied"}]}}`
	notBuilt      = `405 {"messages":{"error":[{"code":405,"message":"Resource method not implemented yet."}]}}`
	badOrder      = `400 {"messages":{"error":[{"code":400,"message":"Resource collection ordering error."}]}}`
	badFilter     = `400 {"messages":{"error":[{"code":400,"message":"Resource collection filtering error."}]}}`
	badPage       = `400 {"messages":{"error":[{"code":400,"message":"Resource collection paging error."}]}}`
	tooManyOfThem = `400 {"messages":{"error":[{"code":400,"message":"The paging limit exceeds the allowed number."}]}}`
)

func orderText(r mapping.Response) string { return fmt.Sprintf("%d %s", r.Status, r.Body) }

// sameInBoth returns a reply that is the same in both dialects. In tables, cells are in
// the order of contract.Dialects: documented, magento.
func sameInBoth(answer string) [2]string { return [2]string{answer, answer} }

// An orderRead is a GET and its replies in the documented and the magento dialect.
type orderRead struct {
	name string
	as   string
	path string
	want [2]string
}

func checkOrderReads(t *testing.T, format string, reads []orderRead) {
	t.Helper()
	for i, d := range []*contract.Dialect{contract.Documented(), contract.Magento()} {
		shop := openOrderShop(t, d)
		for _, read := range reads {
			t.Run(d.Name+"/"+read.name, func(t *testing.T) {
				if got := orderText(shop.get(t, read.as, read.path, format)); got != read.want[i] {
					t.Errorf("GET %s as %s\n got %s\nwant %s", read.path, read.as, got, read.want[i])
				}
			})
		}
	}
}

// TestOrderOwnership requests orders and parts that belong to the caller, somebody else,
// a guest or nobody.
func TestOrderOwnership(t *testing.T) {
	t.Parallel()
	var reads []orderRead
	for _, call := range []struct {
		name, path, order1, order3 string // %s is the order id; order1 and order3 are what those orders hold
	}{
		{"order", "/orders/%s?attrs=entity_id,sku,city,comment", `{"entity_id":"1"}`, `{"entity_id":"3"}`},
		{"items", "/orders/%s/items?attrs=item_id", `[{"item_id":"1"},{"item_id":"2"}]`, `[{"item_id":"4"}]`},
		{"addresses", "/orders/%s/addresses?attrs=address_type", `[{"address_type":"billing"},{"address_type":"shipping"}]`, `[{"address_type":"billing"}]`},
		{"address", "/orders/%s/addresses/billing?attrs=city", `{"city":"San Francisco"}`, `{"city":"San Francisco"}`},
	} {
		path := func(order string) string { return fmt.Sprintf(call.path, order) }
		reads = append(reads,
			orderRead{call.name + ": Admin", asAdmin, path("1"), sameInBoth("200 " + call.order1)},
			orderRead{call.name + ": Admin, guest order", asAdmin, path("3"), sameInBoth("200 " + call.order3)},
			orderRead{call.name + ": Admin, absent", asAdmin, path("999"), sameInBoth(notFound)},
			orderRead{call.name + ": own", asCustomer1, path("1"), sameInBoth("200 " + call.order1)},
			orderRead{call.name + ": foreign", asCustomer2, path("1"), sameInBoth(notFound)},
			orderRead{call.name + ": guest order", asCustomer1, path("3"), sameInBoth(notFound)},
			orderRead{call.name + ": absent", asCustomer1, path("999"), sameInBoth(notFound)},
			orderRead{call.name + ": Guest", asGuest, path("1"), sameInBoth(accessDenied)},
			orderRead{call.name + ": Guest, guest order", asGuest, path("3"), sameInBoth(accessDenied)},
		)
	}
	reads = append(reads,
		orderRead{"comments: Admin", asAdmin, "/orders/1/comments?attrs=is_visible_on_front", sameInBoth(`200 [{"is_visible_on_front":"1"},{"is_visible_on_front":"0"}]`)},
		orderRead{"comments: own, visible ones", asCustomer1, "/orders/1/comments", sameInBoth(`200 [{"created_at":"2012-03-01 10:30:00","comment":"Paid by cheque"}]`)},
		orderRead{"comments: own, none visible", asCustomer2, "/orders/5/comments", sameInBoth(`200 []`)},
		orderRead{"comments: own, none", asCustomer1, "/orders/4/comments", sameInBoth(`200 []`)},
		orderRead{"comments: foreign", asCustomer2, "/orders/1/comments", sameInBoth(notFound)},
		orderRead{"comments: absent", asAdmin, "/orders/999/comments", sameInBoth(notFound)},
		orderRead{"comments: Guest", asGuest, "/orders/1/comments", sameInBoth(accessDenied)},
		orderRead{"comment: Admin", asAdmin, "/orders/comments/2?attrs=comment", sameInBoth(`200 {"comment":"Internal: check address"}`)},
		orderRead{"comment: absent", asAdmin, "/orders/comments/99", sameInBoth(notFound)},
		orderRead{"comment: Customer, own and visible", asCustomer1, "/orders/comments/1", sameInBoth(notBuilt)},
		orderRead{"comment: Customer, absent", asCustomer1, "/orders/comments/99", sameInBoth(notBuilt)},
		orderRead{"comment: Guest", asGuest, "/orders/comments/1", sameInBoth(accessDenied)},
		orderRead{"list: own", asCustomer1, "/orders?attrs=entity_id,sku,city,comment", sameInBoth(`200 {"1":{"entity_id":"1"},"4":{"entity_id":"4"},"6":{"entity_id":"6"}}`)},
		orderRead{"list: own, where the store cannot do the filter", asCustomer1, "/orders?attrs=entity_id,sku,city,comment&filter[1][attribute]=increment_id&filter[1][regexp]=0000.$",
			sameInBoth(`200 {"1":{"entity_id":"1"},"4":{"entity_id":"4"},"6":{"entity_id":"6"}}`)},
		orderRead{"list: somebody else's", asCustomer1, "/orders?filter[1][attribute]=entity_id&filter[1][eq]=2", sameInBoth(`200 []`)},
		orderRead{"comments: visible ones, where the store cannot do the filter", asCustomer1, "/orders/1/comments?attrs=comment&filter[1][attribute]=comment&filter[1][regexp]=.", sameInBoth(`200 [{"comment":"Paid by cheque"}]`)},
		orderRead{"list: Guest", asGuest, "/orders", [2]string{`200 []`, accessDenied}},
		orderRead{"list: Guest, unknown attrs", asGuest, "/orders?attrs=nope", [2]string{`200 []`, accessDenied}},
		orderRead{"list: Guest, bad limit", asGuest, "/orders?limit=101", [2]string{tooManyOfThem, accessDenied}},
		orderRead{"list: Guest, Admin's field", asGuest, "/orders?order=customer_id", [2]string{badOrder, accessDenied}},
		orderRead{"list: Guest, Customer's field", asGuest, "/orders?order=grand_total&filter[1][attribute]=status&filter[1][notnull]=1", [2]string{`200 []`, accessDenied}},
		orderRead{"list: Guest, filter by a part", asGuest, "/orders?filter[1][attribute]=addresses&filter[1][eq]=1", [2]string{badFilter, accessDenied}},
	)
	checkOrderReads(t, "json", reads)
}

// TestOrderIDs sends ids in the spellings of clients: for the order itself only the
// canonical one matches, everywhere else the leading number counts.
func TestOrderIDs(t *testing.T) {
	var reads []orderRead
	for _, id := range []string{"01", "1abc", "1.0", "1e0", "%201", "1%20", "+1", "%2B1", "-1", "0", "abc", "comments", "99999999999999999999"} {
		reads = append(reads, orderRead{"order " + id, asAdmin, "/orders/" + id, sameInBoth(notFound)})
	}
	for _, id := range []string{"1", "01", "1abc", "1.0", "1e0", "%201", "1%20"} {
		reads = append(reads,
			orderRead{"items of " + id, asCustomer1, "/orders/" + id + "/items?attrs=item_id&limit=1", sameInBoth(`200 [{"item_id":"1"}]`)},
			orderRead{"addresses of " + id, asCustomer1, "/orders/" + id + "/addresses?attrs=address_type&limit=1", sameInBoth(`200 [{"address_type":"billing"}]`)},
			orderRead{"address of " + id, asCustomer1, "/orders/" + id + "/addresses/shipping?attrs=address_type", sameInBoth(`200 {"address_type":"shipping"}`)},
			orderRead{"comments of " + id, asCustomer1, "/orders/" + id + "/comments?attrs=comment", sameInBoth(`200 [{"comment":"Paid by cheque"}]`)},
			orderRead{"comment " + id, asAdmin, "/orders/comments/" + id + "?attrs=comment", sameInBoth(`200 {"comment":"Paid by cheque"}`)})
	}
	for _, id := range []string{"0", "-1", "abc", "99999999999999999999"} {
		reads = append(reads,
			orderRead{"items of " + id, asAdmin, "/orders/" + id + "/items", sameInBoth(notFound)},
			orderRead{"addresses of " + id, asAdmin, "/orders/" + id + "/addresses", sameInBoth(notFound)},
			orderRead{"address of " + id, asAdmin, "/orders/" + id + "/addresses/billing", sameInBoth(notFound)},
			orderRead{"comments of " + id, asAdmin, "/orders/" + id + "/comments", sameInBoth(notFound)},
			orderRead{"comment " + id, asAdmin, "/orders/comments/" + id, sameInBoth(notFound)})
	}
	// In magento a fractional id is truncated, but rounded for addresses (wire 2, and the
	// recordings).
	reads = append(reads,
		orderRead{"items of 1.9", asAdmin, "/orders/1.9/items?attrs=item_id&limit=1", [2]string{notFound, `200 [{"item_id":"1"}]`}},
		orderRead{"addresses of 1.4", asAdmin, "/orders/1.4/addresses?attrs=street&limit=1", [2]string{notFound, `200 [{"street":"1 Engine Way"}]`}},
		orderRead{"addresses of 0.9", asAdmin, "/orders/0.9/addresses?attrs=street&limit=1", [2]string{notFound, `200 [{"street":"1 Engine Way"}]`}},
		orderRead{"address of 0.9", asAdmin, "/orders/0.9/addresses/billing?attrs=street", [2]string{notFound, `200 {"street":"1 Engine Way"}`}},
		orderRead{"comments of 1.9", asAdmin, "/orders/1.9/comments?attrs=comment&limit=1", [2]string{notFound, `200 [{"comment":"Paid by cheque"}]`}},
		orderRead{"comment 1.9", asAdmin, "/orders/comments/1.9?attrs=comment", [2]string{notFound, `200 {"comment":"Paid by cheque"}`}})
	for address, want := range map[string]string{
		"billing": `200 {"street":"1 Engine Way"}`, "BILLING": `200 {"street":"1 Engine Way"}`, "Shipping": `200 {"street":"1 Engine Way\nSuite 200"}`,
		"home": notFound, "1": notFound, "%20": notFound, "bill%25": notFound,
	} {
		reads = append(reads, orderRead{"address " + address, asAdmin, "/orders/1/addresses/" + address + "?attrs=street", sameInBoth(want)})
	}
	reads = append(reads, orderRead{"no shipping address", asCustomer2, "/orders/5/addresses/shipping", sameInBoth(notFound)})
	checkOrderReads(t, "json", reads)
}

// TestOrderModifiers sorts and filters by every field that is not a plain column, and by
// fields of the other role's list.
func TestOrderModifiers(t *testing.T) {
	filter := func(field string) string { return "filter[1][attribute]=" + field + "&filter[1][eq]=1" }
	var reads []orderRead
	for _, as := range []string{asAdmin, asCustomer1} {
		for _, field := range []string{"payment_method", "gift_message_from", "gift_message_to", "gift_message_body", "tax_name", "tax_rate", "addresses", "order_items", "order_comments"} {
			reads = append(reads,
				orderRead{as + " sorts by " + field, as, "/orders?dir=asc&order=" + field, sameInBoth(badOrder)},
				orderRead{as + " filters by " + field, as, "/orders?" + filter(field), [2]string{badFilter, crashed}})
		}
		for _, field := range []string{"_payment_method", "_gift_message", "_tax_name", "_tax_rate"} {
			reads = append(reads,
				orderRead{as + " sorts by " + field, as, "/orders?dir=asc&order=" + field, [2]string{badOrder, crashed}},
				orderRead{as + " filters by " + field, as, "/orders?" + filter(field), [2]string{badFilter, crashed}},
				orderRead{as + " selects " + field, as, "/orders/6?attrs=" + field, [2]string{"200 {}", crashed}})
		}
		for _, field := range []string{"store_id", "state", "order_currency_code", "Status", ""} {
			reads = append(reads,
				orderRead{as + " sorts by " + field, as, "/orders?order=" + field, sameInBoth(badOrder)},
				orderRead{as + " filters by " + field, as, "/orders?" + filter(field), sameInBoth(badFilter)})
		}
		for _, field := range []string{"entity_id", "parent_id"} {
			reads = append(reads,
				orderRead{as + " sorts addresses by " + field, as, "/orders/1/addresses?order=" + field, sameInBoth(badOrder)},
				orderRead{as + " filters addresses by " + field, as, "/orders/1/addresses?" + filter(field), sameInBoth(badFilter)})
		}
		reads = append(reads,
			orderRead{as + " sorts comments by a field", as, "/orders/1/comments?order=created_at&dir=asc", sameInBoth(badOrder)},
			orderRead{as + " sorts comments by nothing", as, "/orders/1/comments?order=", sameInBoth(badOrder)},
			orderRead{as + " sorts comments by a list", as, "/orders/1/comments?order[]=comment", sameInBoth(badOrder)},
			orderRead{as + " filters comments by their order", as, "/orders/1/comments?" + filter("parent_id"), sameInBoth(badFilter)},
			orderRead{as + " sorts items by their order", as, "/orders/1/items?order=order_id", sameInBoth(badOrder)},
			orderRead{as + " sorts addresses by e-mail", as, "/orders/1/addresses?order=email&dir=asc&attrs=address_type", sameInBoth(`200 [{"address_type":"billing"},{"address_type":"shipping"}]`)},
			orderRead{as + " filters addresses by e-mail", as, "/orders/1/addresses?filter[1][attribute]=email&filter[1][eq]=ADA@example.com&attrs=city&limit=1", sameInBoth(`200 [{"city":"San Francisco"}]`)},
		)
	}
	for _, field := range []string{"customer_id", "base_total_paid", "store_name", "total_due"} { // the specification shows them to a Customer
		reads = append(reads,
			orderRead{"Customer sorts by " + field, asCustomer1, "/orders?order=" + field, sameInBoth(badOrder)},
			orderRead{"Customer filters by " + field, asCustomer1, "/orders?" + filter(field), sameInBoth(badFilter)})
	}
	reads = append(reads,
		orderRead{"Customer sorts items by an Admin's field", asCustomer1, "/orders/1/items?order=base_price", sameInBoth(badOrder)},
		orderRead{"Customer filters comments by an Admin's field", asCustomer1, "/orders/1/comments?" + filter("status"), sameInBoth(badFilter)},
		orderRead{"Admin filters comments", asAdmin, "/orders/1/comments?attrs=comment&filter[1][attribute]=is_customer_notified&filter[1][eq]=0", sameInBoth(`200 [{"comment":"Internal: check address"}]`)},
		orderRead{"comments are ascending whatever dir", asAdmin, "/orders/1/comments?attrs=is_visible_on_front&dir=desc", sameInBoth(`200 [{"is_visible_on_front":"1"},{"is_visible_on_front":"0"}]`)},
		orderRead{"sorts by a column, descending by default", asCustomer1, "/orders?order=created_at&attrs=entity_id,sku,city,comment", sameInBoth(`200 {"4":{"entity_id":"4"},"6":{"entity_id":"6"},"1":{"entity_id":"1"}}`)},
		orderRead{"filters by time", asAdmin, "/orders?filter[1][attribute]=created_at&filter[1][to]=2012-03-02&attrs=entity_id,sku,city,comment", sameInBoth(`200 {"1":{"entity_id":"1"}}`)},
		orderRead{"orders of no customer", asAdmin, "/orders?filter[1][attribute]=customer_id&filter[1][null]=1&limit=2&attrs=entity_id,sku,city,comment", sameInBoth(`200 {"3":{"entity_id":"3"},"7":{"entity_id":"7"}}`)},
		orderRead{"page of items", asCustomer2, "/orders/5/items?page=2&attrs=sku,parent_item_id", sameInBoth(`200 [{"parent_item_id":null,"sku":"line-11"},{"parent_item_id":"111","sku":"line-12"}]`)},
		orderRead{"page of items beyond the end", asCustomer2, "/orders/5/items?page=9&attrs=sku", sameInBoth(`200 [{"sku":"line-11"},{"sku":"line-12"}]`)},
		orderRead{"order without items", asCustomer1, "/orders/6/items?attrs=nope", sameInBoth(`200 []`)},
		orderRead{"addresses: none", asCustomer1, "/orders/6/addresses", sameInBoth(notFound)},
		orderRead{"addresses: a filter leaves none", asCustomer1, "/orders/1/addresses?filter[1][attribute]=city&filter[1][eq]=Paris&attrs=nope", sameInBoth(notFound)},
		orderRead{"addresses: modifiers before the order", asCustomer2, "/orders/1/addresses?page=-1", sameInBoth(badPage)},
		orderRead{"items: the order before the modifiers", asCustomer2, "/orders/1/items?page=-1", sameInBoth(notFound)},
		orderRead{"comments: the order before the modifiers", asCustomer2, "/orders/1/comments?order=x", sameInBoth(notFound)},
		orderRead{"items: a modifier after the order", asCustomer1, "/orders/1/items?page=x", [2]string{badPage, crashed}},
		orderRead{"single records have no modifiers", asAdmin, "/orders/comments/1?page=-1&order=x&filter=y&attrs=status", sameInBoth(`200 {"status":"processing"}`)},
	)
	checkOrderReads(t, "json", reads)
}

// TestOrderSelections checks that attrs applies inside the parts.
func TestOrderSelections(t *testing.T) {
	checkOrderReads(t, "json", []orderRead{
		{"a part selected by its name", asCustomer1, "/orders/1?attrs=entity_id,addresses,city,address_type,sku,comment", sameInBoth(
			`200 {"entity_id":"1","addresses":[{"city":"San Francisco","address_type":"billing"},{"city":"San Francisco","address_type":"shipping"}]}`)},
		{"a name common to orders and parts", asCustomer1, "/orders/4?attrs=tax_amount,order_items,city", [2]string{
			`200 {"tax_amount":"7.4250","order_items":[{"tax_amount":"7.4250"}]}`, crashed}},
		{"a selected part without selected fields", asAdmin, "/orders/4?attrs=entity_id,order_items,city", [2]string{
			`200 {"entity_id":"4","order_items":[{}]}`, crashed}},
		{"a part neither selected nor with selected fields", asAdmin, "/orders/4?attrs=entity_id,city", [2]string{`200 {"entity_id":"4"}`, crashed}},
		{"an empty part needs no selected fields", asAdmin, "/orders/4?attrs=entity_id,sku,city", sameInBoth(`200 {"entity_id":"4"}`)},
		{"a part hidden from the Customer needs no selected fields", asCustomer2, "/orders/5?attrs=entity_id,sku,city", sameInBoth(`200 {"entity_id":"5"}`)},
		{"the same part for the Admin, who sees it", asAdmin, "/orders/5?attrs=entity_id,sku,city", [2]string{`200 {"entity_id":"5"}`, crashed}},
		{"an order without parts", asCustomer1, "/orders/6?attrs=entity_id", sameInBoth(`200 {"entity_id":"6"}`)},
		{"selected parts that the order lacks", asCustomer1, "/orders/6?attrs=addresses,order_items,order_comments", [2]string{
			`200 {"addresses":null,"order_items":null,"order_comments":null}`, `200 []`}},
		{"no field of the order", asCustomer1, "/orders/6?attrs=nope", [2]string{`200 {}`, crashed}},
		{"only fields of parts", asCustomer1, "/orders/1?attrs=city,sku,comment", [2]string{`200 {}`, crashed}},
		{"only fields of parts, in a list", asCustomer1, "/orders?attrs=city,sku,comment&limit=1", [2]string{`200 {"1":{}}`, crashed}},
		{"a list in which one order has a record of the unselected part", asCustomer1, "/orders?attrs=entity_id,sku,city", [2]string{
			`200 {"1":{"entity_id":"1"},"4":{"entity_id":"4"},"6":{"entity_id":"6"}}`, crashed}},
		{"a list in which no order has one", asCustomer2, "/orders?attrs=entity_id,sku,city", sameInBoth(`200 {"2":{"entity_id":"2"},"5":{"entity_id":"5"}}`)},
		{"an empty list", asAdmin, "/orders?attrs=nope&filter[1][attribute]=status&filter[1][eq]=none", sameInBoth(`200 []`)},
		{"Customer selects from both lists", asCustomer1, "/orders/6?attrs=customer_id,grand_total,coupon_code", [2]string{
			`200 {"customer_id":"1","grand_total":"28.0000"}`, `200 {"grand_total":"28.0000"}`}},
		{"Admin selects fields beyond the documented ones", asAdmin, "/orders/6?attrs=coupon_code,remote_ip", sameInBoth(`200 {"coupon_code":null,"remote_ip":"203.0.113.3"}`)},
		{"Customer selects from both lists of items", asCustomer1, "/orders/4/items?attrs=item_id,base_price,created_at", [2]string{
			`200 [{"item_id":"5","base_price":"15.0000"}]`, `200 [{"item_id":"5"}]`}},
		{"the e-mail address can be selected", asCustomer1, "/orders/4/addresses/billing?attrs=email", sameInBoth(`200 {"email":"ada@example.com"}`)},
		{"no field of an address", asAdmin, "/orders/4/addresses/billing?attrs=nope", [2]string{`200 {}`, crashed}},
		{"no field of items", asAdmin, "/orders/4/items?attrs=", [2]string{`200 [{}]`, crashed}},
		{"Customer selects an Admin's field of comments", asCustomer1, "/orders/1/comments?attrs=status", [2]string{`200 [{}]`, crashed}},
	})
}

// TestOrderShape checks orders whose parts are many, empty or not visible.
func TestOrderShape(t *testing.T) {
	t.Parallel()
	var lines []string
	for number := 1; number <= 12; number++ {
		lines = append(lines, fmt.Sprintf(`{"sku":"line-%d"}`, number))
	}
	const parts = "?attrs=sku,order_items,comment,order_comments,gift_message_from,city"
	head := `200 {"gift_message_from":"Ben","order_items":[` + strings.Join(lines, ",") + `]`
	checkOrderReads(t, "json", []orderRead{
		{"parts are not paged, hidden comments are missing", asCustomer2, "/orders/5" + parts, [2]string{
			head + `,"order_comments":null}`, head + `}`}},
		{"an empty text", asCustomer2, "/orders/5/addresses?attrs=company,prefix", [2]string{
			`200 [{"prefix":null,"company":null}]`, `200 [{"prefix":null,"company":""}]`}},
		{"the Admin sees hidden comments", asAdmin, "/orders/5" + parts, sameInBoth(head + `,"order_comments":[{"comment":"for us"}]}`)},
	})
	checkOrderReads(t, "xml", []orderRead{
		{"list elements are numbered in their order", asCustomer1, "/orders?page=2&limit=2&attrs=entity_id,order_items,sku,city,comment", [2]string{
			"200 <?xml version=\"1.0\"?>\n<service_api>\n  <data_item_1>\n    <entity_id>6</entity_id>\n    <order_items/>\n  </data_item_1>\n</service_api>\n",
			"200 <?xml version=\"1.0\"?>\n<magento_api>\n  <data_item>\n    <entity_id>6</entity_id>\n  </data_item>\n</magento_api>\n"}},
		{"elements of parts are not numbered", asCustomer1, "/orders?limit=1&attrs=order_items,sku,city,comment", [2]string{
			"200 <?xml version=\"1.0\"?>\n<service_api>\n  <data_item_1>\n    <order_items>\n      <data_item>\n        <sku>kettle-steel</sku>\n      </data_item>\n      <data_item>\n        <sku>mug-free-tax</sku>\n      </data_item>\n    </order_items>\n  </data_item_1>\n</service_api>\n",
			"200 <?xml version=\"1.0\"?>\n<magento_api>\n  <data_item>\n    <order_items>\n      <data_item>\n        <sku>kettle-steel</sku>\n      </data_item>\n      <data_item>\n        <sku>mug-free-tax</sku>\n      </data_item>\n    </order_items>\n  </data_item>\n</magento_api>\n"}},
		{"elements of other lists are not numbered", asCustomer1, "/orders/1/items?limit=1&attrs=sku", [2]string{
			"200 <?xml version=\"1.0\"?>\n<service_api>\n  <data_item>\n    <sku>kettle-steel</sku>\n  </data_item>\n</service_api>\n",
			"200 <?xml version=\"1.0\"?>\n<magento_api>\n  <data_item>\n    <sku>kettle-steel</sku>\n  </data_item>\n</magento_api>\n"}},
	})
	checkOrderReads(t, "text", []orderRead{
		{"pairs are keyed by id, nulls are omitted", asCustomer1, "/orders?page=3&limit=1&attrs=entity_id,coupon_code,gift_message_from,addresses,order_items,order_comments", sameInBoth(
			"200 6%5Bentity_id%5D=6")},
		{"no order", asCustomer1, "/orders?filter[1][attribute]=status&filter[1][eq]=none", sameInBoth("200 ")},
	})
}

// TestOrderQueries counts the store reads for one request: one query for the page, and
// one for each part that is shown.
func TestOrderQueries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, as, path string
		want           int
	}{
		{"order", asAdmin, "/orders/1", 4},
		{"order without its parts", asAdmin, "/orders/1?attrs=entity_id,sku,city,comment", 1},
		{"order with one part", asAdmin, "/orders/1?attrs=addresses,sku,city,comment", 2},
		{"first page", asAdmin, "/orders", 4},
		{"largest page", asAdmin, "/orders?limit=100", 4},
		{"all rows, parts of 128 orders at once", asAdmin, "/orders?limit=0", 7},
		{"page beyond the end", asAdmin, "/orders?page=999", 6},
		{"no orders", asCustomer1, "/orders?filter[1][attribute]=status&filter[1][eq]=none", 1},
		{"items", asCustomer1, "/orders/1/items", 2},
		{"addresses", asCustomer1, "/orders/1/addresses", 2},
		{"address", asCustomer1, "/orders/1/addresses/billing", 2},
		{"comments", asCustomer1, "/orders/1/comments", 2},
		{"comment", asAdmin, "/orders/comments/1", 1},
		{"foreign order", asCustomer2, "/orders/1/items", 1},
		{"refused", asGuest, "/orders/1", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			shop := openOrderShop(t, contract.Documented())
			shop.get(t, test.as, test.path, "json")
			if got := len(shop.reads.take()); got != test.want {
				t.Errorf("%d queries, want %d", got, test.want)
			}
		})
	}
}

// TestAllOrders reads the parts of more orders than one query covers.
func TestAllOrders(t *testing.T) {
	shop := openOrderShop(t, contract.Magento())
	body := string(shop.get(t, asAdmin, "/orders?limit=0&attrs=entity_id,order_items,sku,city,comment", "json").Body)
	for _, want := range []string{
		`{"1":{"entity_id":"1","order_items":[{"sku":"kettle-steel"},{"sku":"mug-free-tax"}]},"2":`,
		`"139":{"entity_id":"139"},"140":{"entity_id":"140","order_items":[{"sku":"line-1"}]}}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}
