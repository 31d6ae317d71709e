package mapping_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/mapping/contract"
)

// onEachEngine runs a test in each dialect on a shop in memory and, at night, on one on each engine, otherwise on
// one engine, in turn.
func onEachEngine(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	t.Parallel()
	for _, d := range contract.Dialects() {
		t.Run(d.Name+" in memory", func(t *testing.T) { test(t, openShop(t, d)) })
		for _, e := range sqltest.EnginesInTurn(t) {
			t.Run(d.Name+" on "+e.Name, func(t *testing.T) {
				t.Parallel()
				test(t, openShopOn(t, d, e.Empty(t)))
			})
		}
	}
}

// TestDateFilters filters the orders of March 1 to 4, at ten o'clock each, by dates in the forms
// that clients send (wire 10.9).
func TestDateFilters(t *testing.T) {
	const third = "3,4|1,2" // the orders found by gteq, and by lteq
	found := map[string]string{
		"2012-03-03T00:00:00Z": third, "2012-03-03T00:00:00.000Z": third, "2012-03-03T00:00:00+02:00": third, "2012-03-03 00:00:00 UTC": third,
		"2012-03-03x": third, "2012-03-03T": third, "2012-03-03 0 : 0 : 0": third, "2012-03-03": third, "2012-3-3": third, "12-3-3": third,
		"2012/03/03": third, "2012.03.03": third, "2012_03@03": third, "20120303": third, "120303": third, "20120303000000": third, "120303000000": third,
		"20120303T000000": third, " 2012-03-03": third, "2012-03-03t10:00:00": third, "2012-03-03 00": third,
		"2012-03-03 10:00:00": "3,4|1,2,3", "2012-03-03T10:00:00Z": "3,4|1,2,3", "2012-03-03 10": "3,4|1,2,3", "2012-03-03T10:00": "3,4|1,2,3",
		"2012-03-03-10.00,00": "3,4|1,2,3", "2012-03-03 10:00:00.5": "4|1,2,3", "2012-03-03T10:00:00.001Z": "4|1,2,3",
		"70-01-01": "1,2,3,4|", "69-12-31": "|1,2,3,4", "2012-02-31": "1,2,3,4|", "2012-03-00": "1,2,3,4|", "2012-04-00": "|1,2,3,4",
		"2012": "1,2,3,4|", "2012-03": "1,2,3,4|", "abc": "1,2,3,4|", "": "1,2,3,4|", "2012-13-01": "1,2,3,4|", "2012-03-03 24:00:00": "1,2,3,4|",
		"2012--03--03": "1,2,3,4|", "03/03/2012": "1,2,3,4|", "9999-12-31T23:59:59.999Z": "|1,2,3,4",
	}
	onEachEngine(t, func(t *testing.T, s *shop) {
		for text, want := range found {
			got := s.ordersFound(t, "gteq", text) + "|" + s.ordersFound(t, "lteq", text)
			if got != want {
				t.Errorf("%q finds %s, want %s", text, got, want)
			}
			if from, to := s.ordersFound(t, "from", text), s.ordersFound(t, "to", text); from+"|"+to != want {
				t.Errorf("%q: from finds %s, to %s, want %s", text, from, to, want)
			}
		}
	})
}

// ordersFound returns the ids of the orders that a filter on created_at finds.
func (s *shop) ordersFound(t *testing.T, operator, text string) string {
	t.Helper()
	r := s.serve(contract.Admin, "GET", "/orders?filter[1][attribute]=created_at&filter[1]["+operator+"]="+url.QueryEscape(text), "", "Accept", "application/json")
	var orders map[string]any
	if r.Status != 200 || string(r.Body) != "[]" && json.Unmarshal(r.Body, &orders) != nil {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	ids := make([]string, 0, len(orders))
	for id := range orders {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return strings.Join(ids, ",")
}

// TestDatesOfEveryList checks that each date of each list is filtered in the same way, whatever
// the form of the date.
func TestDatesOfEveryList(t *testing.T) {
	const canonical, minimum = "2012-03-02 10:00:00", 20
	operators := []string{"eq", "neq", "gt", "lt", "gteq", "lteq", "from", "to", "in", "nin", "unknown"}
	forms := []string{"2012-03-02T10:00:00.000Z", "2012-03-02T10:00:00+02:00", "12.3.2 10", "20120302100000 UTC", " 2012-3-2-10,0x"}
	lists := map[string]adapter.Resource{
		"/customers": adapter.Customers, "/products": adapter.Products, "/stockitems": adapter.StockItems, "/orders": adapter.Orders,
		"/orders/:id/items": adapter.OrderItems, "/orders/:id/comments": adapter.OrderComments,
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		fields := 0
		s.send("PUT", "/products/1", `{"special_from_date":"`+canonical+`","news_to_date":"`+canonical+`"}`)
		for _, route := range contract.Routes(contract.StandardFields()) {
			resource, ok := lists[route.Path]
			if !ok {
				continue
			}
			for _, field := range dateFields(s.dialect, route, resource) {
				fields++
				for _, operator := range operators {
					target := fmt.Sprintf("%s?limit=100&filter[1][attribute]=%s&filter[1][%s]=", strings.Replace(route.Path, ":id", "1", 1), field, operator)
					read := func(text string) string {
						r := s.serve(contract.Admin, "GET", target+url.QueryEscape(text), "", "Accept", "application/json")
						return fmt.Sprint(r.Status, string(r.Body))
					}
					want := read(canonical)
					for _, form := range forms {
						if got := read(form); got != want {
							t.Errorf("%s%q: got %.200s, want %.200s", target, form, got, want)
						}
					}
				}
			}
		}
		if fields < minimum {
			t.Errorf("%d dates in all lists, want %d or more", fields, minimum)
		}
	})
}

// dateFields returns the names of the dates by which an Admin can filter a list.
func dateFields(d *contract.Dialect, route *contract.Route, resource adapter.Resource) (names []string) {
	schema := adapter.NewSchemas().Of(resource)
	for i := range route.Fields.Fields {
		field := &route.Fields.Fields[i]
		at, ok := schema.Index(field.Attribute)
		if ok && schema.Attributes[at].Kind == adapter.KindTime && field.Queryable(d, contract.Admin) {
			names = append(names, field.Name)
		}
	}
	return names
}
