package mapping_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A slowStore blocks lists of products that match patterns until the test releases them.
type slowStore struct {
	adapter.Store
	entered, let chan struct{}
}

// slowProducts puts a slowStore in the place of the products.
func slowProducts(entered, let chan struct{}) func(adapter.Adapter) adapter.Adapter {
	return wrapStores(func(r adapter.Resource, s adapter.Store) adapter.Store {
		if r != adapter.Products {
			return s
		}
		return &slowStore{s, entered, let}
	})
}

func (s *slowStore) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	for _, condition := range p.Query.Where {
		if condition.Any[0].Op != adapter.Matches {
			continue
		}
		s.entered <- struct{}{}
		select {
		case <-s.let:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Store.List(ctx, p)
}

func filtered(operator, operand string) string {
	return "/products?limit=5&filter[0][attribute]=name&filter[0][" + operator + "]=" + url.QueryEscape(operand)
}

// checkBudgetsReturned fails the test if any budget has not been returned.
func checkBudgetsReturned(t *testing.T, s *mapping.Service) {
	t.Helper()
	for _, b := range s.Budgets() {
		if state := b.State(); state.Used != 0 {
			t.Errorf("%d of budget %s have not been returned", state.Used, state.Name)
		}
	}
}

// TestFiltersInFlight checks that Guests get half of the slots for expensive filters, and
// that other lists need no slot.
func TestFiltersInFlight(t *testing.T) {
	t.Parallel()
	limits := settings()
	limits.FiltersInFlight = 2
	entered, let := make(chan struct{}), make(chan struct{})
	shop := openShopWith(t, contract.Documented(), limits, slowProducts(entered, let))
	first := make(chan resource.Response, 2)
	for _, role := range []contract.Role{contract.Guest, contract.Admin} {
		go func() { first <- shop.serve(role, "GET", filtered("regexp", "a"), "") }()
		<-entered
	}
	var many strings.Builder
	for range 501 {
		many.WriteString("&filter[0][in][]=a")
	}
	for _, tt := range []struct {
		name, target string
		status       int
	}{
		{"a regular expression", filtered("regexp", "b"), 503},
		{"a list of all", strings.Replace(filtered("regexp", "b"), "limit=5", "limit=0", 1), 503},
		{"a pattern", filtered("like", "%b%"), 503},
		{"many values", "/products?filter[0][attribute]=name" + many.String(), 503},
		{"a value", filtered("eq", "b"), 200},
		{"no filter", "/products", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := withFullBody(t, shop.serve(contract.Guest, "GET", tt.target, "", "Accept", "application/json"))
			if got.Status != tt.status || (got.RetryAfter > 0) != (tt.status == 503) {
				t.Errorf("%d, retry after %d: %.200s", got.Status, got.RetryAfter, got.Body)
			}
		})
	}
	t.Cleanup(func() {
		close(let)
		for range 2 {
			if got := <-first; got.Status != 200 {
				t.Errorf("a list that had a slot: %d", got.Status)
			}
		}
		checkBudgetsReturned(t, shop.service)
		if log := shop.log.String(); log != "" {
			t.Errorf("a refusal was logged: %s", log)
		}
	})
}

// TestFilterTimeout checks that a list whose filters take too long is canceled, and does
// not count as a failure of the store.
func TestFilterTimeout(t *testing.T) {
	t.Parallel()
	limits := settings()
	limits.FilterTimeout = 10 * time.Millisecond
	shop := openShopWith(t, contract.Documented(), limits, slowProducts(make(chan struct{}, 10), nil))
	for _, target := range []string{filtered("regexp", "a"), strings.Replace(filtered("regexp", "a"), "limit=5", "limit=0", 1), filtered("regexp", "a") + "&page=9"} {
		if got := shop.serve(contract.Admin, "GET", target, ""); got.Status != 503 || got.RetryAfter < 1 {
			t.Errorf("%s: %d, retry after %d", target, got.Status, got.RetryAfter)
		}
	}
	if got := shop.serve(contract.Admin, "GET", filtered("eq", "a"), ""); got.Status != 200 {
		t.Errorf("without a pattern: %d", got.Status)
	}
	checkBudgetsReturned(t, shop.service)
	if log := shop.log.String(); log != "" {
		t.Errorf("logged: %s", log)
	}
}

// TestMatchBytes checks that a list is refused if its patterns would be matched against
// too much text, in the store or in the service, and that an overly complex pattern is
// refused as such.
func TestMatchBytes(t *testing.T) {
	t.Parallel()
	limits := settings()
	limits.MatchBytes = 20
	shops := map[bool]*shop{}
	for _, partial := range []bool{false, true} {
		var between func(adapter.Adapter) adapter.Adapter
		if partial {
			between = partialStores
		}
		shops[partial] = serveDemo(t, contract.Documented(), limits, openSQLiteDemo(t), between)
	}
	for _, tt := range []struct {
		name, target string
		partial      bool
		status       int
	}{
		{"store", filtered("regexp", "a"), false, 503},
		{"store, all", strings.Replace(filtered("regexp", "a"), "limit=5", "limit=0", 1), false, 503},
		{"store, a page beyond the end", filtered("regexp", "nowhere") + "&page=9", false, 503},
		{"like by SQL", filtered("like", "%a%"), false, 200},
		{"service", filtered("regexp", "a"), true, 503},
		{"service, all", strings.Replace(filtered("regexp", "a"), "limit=5", "limit=0", 1), true, 503},
		{"service, like", filtered("like", "%a%"), true, 503},
		{"service, a value", filtered("eq", "a"), true, 200},
		{"too complex", filtered("regexp", strings.Repeat(".*", 300)), false, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shop := shops[tt.partial]
			got := withFullBody(t, shop.serve(contract.Guest, "GET", tt.target, "", "Accept", "application/json"))
			if got.Status != tt.status || (got.RetryAfter > 0) != (tt.status == 503) {
				t.Errorf("%d, retry after %d: %.200s", got.Status, got.RetryAfter, got.Body)
			}
			checkBudgetsReturned(t, shop.service)
		})
	}
}
