package mapping_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/contract"
)

const (
	itemFields = "item_id product_id stock_id qty min_qty use_config_min_qty is_qty_decimal backorders use_config_backorders " +
		"min_sale_qty use_config_min_sale_qty max_sale_qty use_config_max_sale_qty is_in_stock low_stock_date notify_stock_qty " +
		"use_config_notify_stock_qty manage_stock use_config_manage_stock stock_status_changed_auto use_config_qty_increments " +
		"qty_increments use_config_enable_qty_inc enable_qty_increments is_decimal_divided"
	listFields = "item_id qty backorders min_sale_qty max_sale_qty low_stock_date manage_stock stock_status_changed_auto enable_qty_increments"
	demoItems  = 12
)

// itemJSON returns the given fields of an item in JSON, from the stored record.
func (s *shop) itemJSON(t *testing.T, id int, fields string) string {
	t.Helper()
	item := s.item(t, id)
	var pairs []string
	for name := range strings.FieldsSeq(fields) {
		value := `"` + item[name] + `"`
		if item[name] == "null" {
			value = "null"
		}
		pairs = append(pairs, `"`+name+`":`+value)
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

func TestGetStockItem(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		s.storeItem(t, 1, itemValues{"low_stock_date": "2012-03-02 10:11:12", "notify_stock_qty": "-1.5000"})
		for _, path := range []string{"1", "1abc", "1.0", "01", "1e0", "%201", "+1", "%31", "1/"} {
			r := s.serve(contract.Admin, "GET", "/stockitems/"+path, "", "Accept", "application/json")
			checkReply(t, r, 200, typeJSON, s.itemJSON(t, 1, itemFields))
		}
		for _, path := range []string{"abc", "0", "-1", "13", "99999999999999999999", "1e400", "%00"} {
			checkRefused(t, s.serve(contract.Admin, "GET", "/stockitems/"+path, "", "Accept", "application/json"), "404 Resource not found.")
			checkRefused(t, s.put("/stockitems/"+path, "application/json", `{"qty":7}`), "404 Resource not found.")
		}
		if fraction := s.serve(contract.Admin, "GET", "/stockitems/1.9", "", "Accept", "application/json"); s.documented() {
			checkRefused(t, fraction, "404 Resource not found.")
		} else {
			checkReply(t, fraction, 200, typeJSON, s.itemJSON(t, 1, itemFields))
		}
		s.storeItem(t, 2, nil)
		r := s.serve(contract.Admin, "GET", "/stockitems/2?attrs=notify_stock_qty,qty&limit=abc&filter=x&store=99", "", "Accept", "text/xml")
		root := s.text("service_api", "magento_api")
		checkReply(t, r, 200, typeXML, fmt.Sprintf("<?xml version=\"1.0\"?>\n<%s>\n  <qty>100.0000</qty>\n  <notify_stock_qty/>\n</%[1]s>\n", root))
		r = s.serve(contract.Admin, "GET", "/stockitems/2?attrs=notify_stock_qty,qty", "", "Accept", "text/plain")
		checkReply(t, r, 200, typeText, "qty=100.0000")
	})
}

// TestEmptySelection checks a selection without fields. The documented dialect replies
// with records without fields (rulings 9); in magento it is a crash of the original if
// there is a record.
func TestEmptySelection(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, attrs := range []string{"attrs=nope", "attrs=", "attrs=created_at,updated_at", "attrs[]=nope"} {
			single := s.serve(contract.Admin, "GET", "/stockitems/1?"+attrs, "", "Accept", "application/json")
			list := s.serve(contract.Admin, "GET", "/stockitems?limit=2&"+attrs, "", "Accept", "application/json")
			none := s.serve(contract.Admin, "GET", "/stockitems?filter[1][attribute]=qty&filter[1][gt]=9999&"+attrs, "", "Accept", "application/json")
			switch {
			case s.documented():
				checkReply(t, single, 200, typeJSON, "{}")
				checkReply(t, list, 200, typeJSON, "[{},{}]")
			case attrs == "attrs=created_at,updated_at": // readable, but never has a value
				checkReply(t, single, 200, typeJSON, "[]")
				checkReply(t, list, 200, typeJSON, "[[],[]]")
			default:
				checkReply(t, single, 500, typeHTML, "")
				checkReply(t, list, 500, typeHTML, "")
			}
			checkReply(t, none, 200, typeJSON, "[]")
		}
		checkRefused(t, s.serve(contract.Admin, "GET", "/stockitems/99?attrs=nope", "", "Accept", "application/json"), "404 Resource not found.")
		if s.documented() {
			r := s.serve(contract.Admin, "GET", "/stockitems?limit=1&attrs=nope", "", "Accept", "text/xml")
			checkReply(t, r, 200, typeXML, "<?xml version=\"1.0\"?>\n<service_api>\n  <data_item/>\n</service_api>\n")
			r = s.serve(contract.Admin, "GET", "/stockitems/1?attrs=nope", "", "Accept", "text/xml")
			checkReply(t, r, 200, typeXML, "<?xml version=\"1.0\"?>\n<service_api/>\n")
		}
	})
}

// TestListStockItems checks which rows a list holds. The demo's items have the quantities
// 100 5 0 12 3 1000 40 40 2.5 8 60 1.
func TestListStockItems(t *testing.T) {
	tests := []struct {
		name, query string
		want        []int
	}{
		{"first page", "", []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{"second page", "page=2", []int{11, 12}},
		{"past the end", "page=3", []int{11, 12}},
		{"far past the end", "page=1e400", []int{11, 12}},
		{"all", "limit=0", []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"limit and page", "limit=5&page=2", []int{6, 7, 8, 9, 10}},
		{"between two pages", "limit=5&page=1.5", []int{3, 4, 5, 6, 7}},
		{"past the end by a fraction", "limit=5&page=3.2", []int{11, 12}},
		{"past the end of full pages", "limit=6&page=9", []int{7, 8, 9, 10, 11, 12}},
		{"ordered", "order=qty&limit=3", []int{6, 1, 11}},
		{"ordered, ascending", "order=qty&dir=asc&limit=3", []int{3, 12, 9}},
		{"ties by id", "order=qty&filter[1][attribute]=qty&filter[1][eq]=40", []int{7, 8}},
		{"ordered by a hidden field", "order=created_at&dir=asc&limit=2", []int{1, 2}},
		{"number by value", "filter[1][attribute]=qty&filter[1][gt]=9", []int{1, 4, 6, 7, 8, 11}},
		{"joined by and", "filter[1][attribute]=qty&filter[1][gt]=9&filter[2][attribute]=qty&filter[2][lt]=50", []int{4, 7, 8}},
		{"range", "filter[1][attribute]=qty&filter[1][from]=5&filter[1][to]=12", []int{2, 4, 10}},
		{"in", "filter[1][attribute]=item_id&filter[1][in][]=3&filter[1][in][]=5", []int{3, 5}},
		{"comma list is one value", "filter[1][attribute]=item_id&filter[1][in]=3,5", []int{3}},
		{"like on the text of a number", "filter[1][attribute]=qty&filter[1][like]=40.%25", []int{7, 8}},
		{"regular expression", "filter[1][attribute]=qty&filter[1][regexp]=%5E40%5C.", []int{7, 8}},
		{"regular expression, paged", "filter[1][attribute]=qty&filter[1][regexp]=0&limit=5&page=2", []int{6, 7, 8, 9, 10}},
		{"regular expression, past the end", "filter[1][attribute]=qty&filter[1][regexp]=%5E40&limit=1&page=9", []int{8}},
		{"hidden field", "filter[1][attribute]=created_at&filter[1][lt]=2012-01-01", []int{}},
		{"dated", "filter[1][attribute]=low_stock_date&filter[1][notnull]=1", []int{3}},
		{"not dated", "filter[1][attribute]=low_stock_date&filter[1][null]=1&limit=2", []int{1, 2}},
		{"an incomplete date precedes all others", "filter[1][attribute]=low_stock_date&filter[1][gt]=2013", []int{3}},
		{"empty list", "filter[1][attribute]=qty&filter[1][gt]=9999", []int{}},
		{"empty list, past the end", "filter[1][attribute]=qty&filter[1][gt]=9999&page=5", []int{}},
		{"store has no effect", "store=99&limit=1", []int{1}},
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				records := make([]string, len(test.want))
				for i, id := range test.want {
					records[i] = s.itemJSON(t, id, s.text(listFields, itemFields))
				}
				r := s.serve(contract.Admin, "GET", "/stockitems?"+test.query, "", "Accept", "application/json")
				checkReply(t, r, 200, typeJSON, "["+strings.Join(records, ",")+"]")
			})
		}
		t.Run("zero in another spelling", func(t *testing.T) {
			r := s.serve(contract.Admin, "GET", "/stockitems?limit=00&attrs=item_id", "", "Accept", "application/json")
			var rows []map[string]string
			if err := json.Unmarshal(r.Body, &rows); err != nil {
				t.Fatal(err)
			}
			want := 1
			if s.documented() {
				want = demoItems
			}
			if len(rows) != want {
				t.Errorf("%d rows, want %d", len(rows), want)
			}
		})
		t.Run("no rows in XML and text", func(t *testing.T) {
			const none = "/stockitems?filter[1][attribute]=qty&filter[1][gt]=9999"
			checkReply(t, s.serve(contract.Admin, "GET", none, "", "Accept", "text/xml"), 200, typeXML,
				"<?xml version=\"1.0\"?>\n<"+s.text("service_api", "magento_api")+"/>\n")
			checkReply(t, s.serve(contract.Admin, "GET", none, "", "Accept", "text/plain"), 200, typeText, "")
		})
		t.Run("faults", func(t *testing.T) {
			for query, want := range map[string]string{
				"page=-1": "400 Resource collection paging error.", "limit=101": "400 The paging limit exceeds the allowed number.",
				"order=nope": "400 Resource collection ordering error.", "filter=x&attrs=nope": "400 Resource collection filtering error.",
			} {
				checkRefused(t, s.serve(contract.Admin, "GET", "/stockitems?"+query, "", "Accept", "application/json"), want)
			}
			r := s.serve(contract.Admin, "GET", "/stockitems?page=abc", "", "Accept", "application/json")
			if s.documented() {
				checkRefused(t, r, "400 Resource collection paging error.")
			} else {
				checkReply(t, r, 500, typeHTML, "")
			}
		})
	})
}

// TestMaxRows checks the maximum length of a list without a limit, on its page.
func TestMaxRows(t *testing.T) {
	with := settings()
	with.MaxRows = 3
	s := openShopWith(t, contract.Documented(), with, nil)
	for query, want := range map[string]string{
		"limit=0": `[{"item_id":"1"},{"item_id":"2"},{"item_id":"3"}]`,
		"limit=0&filter[1][attribute]=qty&filter[1][regexp]=.": `[{"item_id":"1"},{"item_id":"2"},{"item_id":"3"}]`,
		"limit=4": `[{"item_id":"1"},{"item_id":"2"},{"item_id":"3"},{"item_id":"4"}]`,
	} {
		checkReply(t, s.serve(contract.Admin, "GET", "/stockitems?attrs=item_id&"+query, "", "Accept", "application/json"), 200, typeJSON, want)
	}
}
