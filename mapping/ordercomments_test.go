package mapping_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// comment returns a comment as stored: text, status, visibility and notification, with -
// for null.
func (s *shop) comment(t testing.TB, r resource.Response) string {
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

// TestLongOrderComment checks that a comment over the limit is cut between characters.
func TestLongOrderComment(t *testing.T) {
	s := openShop(t, contract.Magento())
	long := strings.Repeat("a", 65534) + "éé"
	got := s.comment(t, s.write(contract.Admin, "POST", "/orders/1/comments", `{"comment":"`+long+`"}`))
	if stored, _, _ := strings.Cut(got, "|"); stored != long[:65534] {
		t.Errorf("%d bytes are stored", len(stored))
	}
}

// TestCommentOnDeletedOrder checks the reply if the order is deleted before the comment is
// written.
func TestCommentOnDeletedOrder(t *testing.T) {
	s := openFaulty(t, contract.Magento(), func(op string, _ adapter.Key) error {
		if op == "create" {
			return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "parent_id"}
		}
		return nil
	})
	checkRefused(t, s.write(contract.Admin, "POST", "/orders/1/comments", `{"comment":"a"}`), "404 Resource not found.")
}

// TestConcurrentComments checks that no comment of many concurrent ones is lost, and that
// the order has the status of the last.
func TestConcurrentComments(t *testing.T) {
	const clients = 50
	s := openSQLiteShop(t, contract.Magento())
	var all sync.WaitGroup
	replies := make([]resource.Response, clients)
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
