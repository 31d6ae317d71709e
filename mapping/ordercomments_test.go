package mapping_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

// comment returns a comment as stored: text, status, visibility and notification, with -
// for null.
func (s *shop) comment(t testing.TB, r mapping.Response) string {
	t.Helper()
	id, found := strings.CutPrefix(r.Location, "/api/rest/orders/comments/")
	var key int64
	if _, err := fmt.Sscan(id, &key); !found || err != nil || r.Status != 200 || len(r.Body) > 0 {
		t.Fatalf("%d %s, location %q", r.Status, r.Body, r.Location)
	}
	record := s.storedRecord(t, adapter.OrderComments, adapter.Key(key))
	var values []string
	for _, name := range []string{"comment", "status", "is_visible_on_front", "is_customer_notified"} {
		v := "-"
		if stored := record.Get(name); stored.Kind() != adapter.Null {
			v = stored.Text()
		}
		values = append(values, v)
	}
	return strings.Join(values, "|")
}

// TestOrderComments checks the values of stock_orders 6 and what they are stored as. Each
// order is in state processing and has status "begun".
func TestOrderComments(t *testing.T) {
	s := openShop(t, contract.Magento())
	tests := []struct{ name, body, want string }{
		{"comment alone", `{"comment":"hello"}`, "hello|begun|0|0"},
		{"everything", `{"comment":"a","status":"held","is_visible_on_front":"1","is_customer_notified":"1","created_at":"2001-01-01 00:00:00"}`, "a|held|1|1"},
		{"created_at alone", `{"created_at":"2001-01-01 00:00:00"}`, "-|begun|0|0"},
		{"null for a comment", `{"comment":null}`, "-|begun|0|0"},
		{"false for a comment", `{"comment":false}`, "-|begun|0|0"},
		{"empty comment", `{"comment":""}`, "-|begun|0|0"},
		{"comment 0", `{"comment":"0"}`, "0|begun|0|0"},
		{"number 0 for a comment", `{"comment":0}`, "0|begun|0|0"},
		{"blanks", `{"comment":"  "}`, "  |begun|0|0"},
		{"number", `{"comment":5.50}`, "5.5|begun|0|0"},
		{"true for a comment", `{"comment":true}`, "1|begun|0|0"},
		{"list", `{"comment":["a"]}`, "Array|begun|0|0"},
		{"empty list", `{"comment":[]}`, "Array|begun|0|0"},
		{"record", `{"comment":{"a":"b"}}`, "Array|begun|0|0"},
		{"U+0000 is dropped", `{"comment":"a\u0000b"}`, "ab|begun|0|0"},
		{"a character above U+FFFF stays", `{"comment":"\ud83d\ude00"}`, "\U0001f600|begun|0|0"},
		{"status alone", `{"status":"on_its_way"}`, "-|on_its_way|0|0"},
		{"empty status", `{"status":""}`, "-|-|0|0"},
		{"null for a status", `{"status":null}`, "-|begun|0|0"},
		{"false for a status", `{"status":false}`, "-|begun|0|0"},
		{"true for a status", `{"status":true}`, "-|processing|0|0"},
		{"number 0 for a status", `{"status":0}`, "-|0|0|0"},
		{"blanks for a status", `{"status":" x "}`, "-| x |0|0"},
		{"list for a status", `{"status":[]}`, "-|Array|0|0"},
		{"long status", `{"status":"` + strings.Repeat("é", 40) + `"}`, "-|" + strings.Repeat("é", 32) + "|0|0"},
		{"flags of another type", `{"is_visible_on_front":"yes","is_customer_notified":"no"}`, "-|begun|0|0"},
		{"large flags", `{"is_visible_on_front":5,"is_customer_notified":99999}`, "-|begun|5|65535"},
		{"negative flags", `{"is_visible_on_front":-1,"is_customer_notified":"-7"}`, "-|begun|0|0"},
		{"fractions", `{"is_visible_on_front":1.9,"is_customer_notified":" 2.9x"}`, "-|begun|1|2"},
		{"literals for flags", `{"is_visible_on_front":true,"is_customer_notified":false}`, "-|begun|1|0"},
		{"null for flags", `{"is_visible_on_front":null,"is_customer_notified":null}`, "-|begun|0|2"},
		{"empty flags", `{"is_visible_on_front":"","is_customer_notified":""}`, "-|begun|0|0"},
		{"lists for flags", `{"is_visible_on_front":[0],"is_customer_notified":{}}`, "-|begun|1|0"},
		{"fields unknown to comments", `{"comment":"a","entity_id":1,"parent_id":2}`, "a|begun|0|0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.comment(t, s.write(contract.Admin, "POST", "/orders/1/comments", `{"status":"begun"}`))
			if got := s.comment(t, s.write(contract.Admin, "POST", "/orders/1/comments", tt.body)); got != tt.want {
				t.Errorf("stored %q, want %q", got, tt.want)
			}
			status := "-"
			if v := s.storedRecord(t, adapter.Orders, 1).Get("status"); v.Kind() != adapter.Null {
				status = v.Text()
			}
			if want := strings.Split(tt.want, "|")[1]; status != want {
				t.Errorf("the order has status %q, want %q", status, want)
			}
		})
	}
	t.Run("default status of a new order", func(t *testing.T) {
		s.comment(t, s.write(contract.Admin, "POST", "/orders/2/comments", `{"status":"begun"}`))
		if got := s.comment(t, s.write(contract.Admin, "POST", "/orders/2/comments", `{"status":true}`)); got != "-|pending|0|0" {
			t.Error(got)
		}
	})
	t.Run("comment over the limit", func(t *testing.T) {
		long := strings.Repeat("a", 65534) + "éé"
		body, err := json.Marshal(map[string]string{"comment": long})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.comment(t, s.write(contract.Admin, "POST", "/orders/1/comments", string(body))); got[:strings.IndexByte(got, '|')] != long[:65534] {
			t.Errorf("%d bytes are stored", strings.IndexByte(got, '|'))
		}
	})
	t.Run("id with a tail", func(t *testing.T) {
		s.comment(t, s.write(contract.Admin, "POST", "/orders/1abc/comments", `{"comment":"a"}`))
	})
	if log := s.log.String(); log != "" {
		t.Errorf("logged: %s", log)
	}
}

// TestOrderCommentsRefused checks that the body is checked before the order.
func TestOrderCommentsRefused(t *testing.T) {
	s := openShop(t, contract.Magento())
	for _, c := range []struct{ name, target, body, want string }{
		{"unknown order", "/orders/99/comments", `{"comment":"a"}`, "404 Resource not found."},
		{"id that is not a number", "/orders/abc/comments", `{"comment":"a"}`, "404 Resource not found."},
		{"no known field", "/orders/99/comments", `{"text":"a"}`, "400 The request data is invalid."},
		{"empty body", "/orders/1/comments", `{}`, "400 The request data is invalid."},
		{"list", "/orders/99/comments", `[{"comment":"a"}]`, "405 Resource method not implemented yet."},
		{"malformed body", "/orders/99/comments", `{`, "400 Decoding error."},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkRefused(t, s.write(contract.Admin, "POST", c.target, c.body), c.want)
		})
	}
	t.Run("order deleted meanwhile", func(t *testing.T) {
		s := openFaulty(t, contract.Magento(), func(op string, _ adapter.Key) error {
			if op == "create" {
				return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "parent_id"}
			}
			return nil
		})
		checkRefused(t, s.write(contract.Admin, "POST", "/orders/1/comments", `{"comment":"a"}`), "404 Resource not found.")
	})
}

// TestConcurrentComments checks that no comment of many concurrent ones is lost, and that
// the order has the status of the last.
func TestConcurrentComments(t *testing.T) {
	const clients = 50
	s := openSQLiteShop(t, contract.Magento())
	var all sync.WaitGroup
	replies := make([]mapping.Response, clients)
	for i := range replies {
		all.Go(func() {
			replies[i] = s.write(contract.Admin, "POST", "/orders/1/comments", fmt.Sprintf(`{"status":"s%d"}`, i))
		})
	}
	all.Wait()
	last, status := "", ""
	var places []string
	for i, r := range replies {
		s.comment(t, r)
		places = append(places, r.Location)
		if len(r.Location) > len(last) || len(r.Location) == len(last) && r.Location > last {
			last, status = r.Location, fmt.Sprintf("s%d", i)
		}
	}
	slices.Sort(places)
	if n := len(slices.Compact(places)); n != clients {
		t.Errorf("%d locations for %d comments", n, clients)
	}
	if got := s.storedRecord(t, adapter.Orders, 1).Get("status").Text(); got != status {
		t.Errorf("the order has %s, its last comment %s", got, status)
	}
}
