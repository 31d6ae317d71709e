package reststore_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
)

// TestRevisions reads customers, for which the shop has revisions: whole documents are only
// fetched after their revisions have changed.
func TestRevisions(t *testing.T) {
	s := openShop(t, fakeShopKind)
	var whole atomic.Int64
	s.server.setIntercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/people/") {
			whole.Add(1)
		}
		return false
	})
	customers := adaptertest.StoreOf(t, s, adapter.Customers)
	mappings, err := s.replica.MappingsByKey(t.Context(), adapter.Customers, []adapter.Key{1})
	if err != nil || len(mappings) != 1 {
		t.Fatalf("%v, %v", mappings, err)
	}
	for _, c := range []struct {
		name   string
		change func(person jsonObject)
		email  string
		whole  int64
	}{
		{"unchanged", nil, "", 0},
		{"changed", func(person jsonObject) { person["mail"] = "other@example.com" }, "other@example.com", 1},
		{"unchanged since", nil, "other@example.com", 0},
	} {
		whole.Store(0)
		if c.change != nil {
			shop := s.shop.(*fakeShop)
			shop.mu.Lock()
			c.change(shop.people[mappings[0].BackendID])
			shop.markChanged(mappings[0].BackendID)
			shop.mu.Unlock()
		}
		got, err := customers.Get(t.Context(), &adapter.GetParams{Key: 1})
		if err != nil || c.email != "" && got.Get("email").Text() != c.email {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		list, err := customers.List(t.Context(), &adapter.ListParams{})
		if err != nil || len(list.Records) == 0 {
			t.Errorf("%s: %v, %v", c.name, list, err)
		}
		if n := whole.Load(); n != c.whole {
			t.Errorf("%s: %d documents were fetched, want %d", c.name, n, c.whole)
		}
	}
}
