package mapping_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A countingBody counts how many of its bytes are read.
type countingBody struct {
	io.Reader
	read int64
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += int64(n)
	return n, err
}

// TestUnauthenticatedRequestsHoldNothing checks that requests are neither read nor
// decoded before authentication, beyond the needs of authentication.
func TestUnauthenticatedRequestsHoldNothing(t *testing.T) {
	shop := openShop(t, contract.Documented())
	const urlencoded = "application/x-www-form-urlencoded"
	pairs := func(n int) string { return strings.Repeat("a=&", n) }
	for _, tt := range []struct {
		name, method, target, contentType, authorization string
		body                                             string
		status                                           int
		maxRead                                          int64
	}{
		{"no credentials", "PUT", "/stockitems/1", "application/json", "", strings.Repeat(" ", 1<<20), 403, 0},
		{"unknown consumer", "PUT", "/stockitems/1", "application/json", `OAuth oauth_consumer_key="x"`, strings.Repeat(" ", 1<<20), 401, 0},
		{"a form of the maximum size", "PUT", "/stockitems/1", urlencoded, "OAuth", pairs(auth.MaxForm / 3), 401, auth.MaxForm},
		{"a form over the maximum size", "PUT", "/stockitems/1", urlencoded, "OAuth", pairs(1 << 20), 400, 0},
		{"a long query", "GET", "/products?" + pairs(queryBytes/3), "", "OAuth", "", 401, 0},
		{"a query that is too long", "GET", "/products?" + pairs(queryBytes), "", "OAuth", "", 400, 0},
		{"a query that is too long, with wrong credentials", "GET", "/products?" + pairs(queryBytes), "", `OAuth oauth_consumer_key="x"`, "", 400, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := &countingBody{Reader: strings.NewReader(tt.body)}
			r := httptest.NewRequest(tt.method, "/api/rest"+tt.target, body)
			r.ContentLength = int64(len(tt.body))
			r.Header.Set("Content-Type", tt.contentType)
			r.Header.Set("Accept", "application/json")
			if tt.authorization != "" {
				r.Header.Set("Authorization", tt.authorization)
			}
			if got := shop.service.Serve(t.Context(), &resource.Request{HTTP: r, Scheme: "http"}, nil); got.Status != tt.status || body.read > tt.maxRead {
				t.Errorf("%d after %d bytes, want %d after at most %d: %.200s", got.Status, body.read, tt.status, tt.maxRead, got.Body)
			}
		})
	}
	t.Run("a form of unknown length", func(t *testing.T) {
		body := &countingBody{Reader: strings.NewReader(pairs(1 << 20))}
		r := httptest.NewRequest("PUT", "/api/rest/stockitems/1", body)
		r.ContentLength = -1
		r.Header.Set("Content-Type", urlencoded)
		r.Header.Set("Authorization", "OAuth")
		if got := shop.service.Serve(t.Context(), &resource.Request{HTTP: r, Scheme: "http"}, nil); got.Status != 400 || body.read > auth.MaxForm+1 {
			t.Errorf("%d after %d bytes", got.Status, body.read)
		}
	})
}

// TestRequestBytes checks that a body or query that exceeds the budget gets a 503 with
// Retry-After, and that the budget is returned however a call ends.
func TestRequestBytes(t *testing.T) {
	limits := settings()
	limits.RequestBytes = 1 << 20
	shop := openShopWith(t, contract.Documented(), limits, nil)
	large := func(values int) string { return "[" + strings.Repeat(`{"a":1},`, values) + `{}]` }
	query := func(values int) string {
		return "/products?limit=1&filter[1][attribute]=sku" + strings.Repeat("&filter[1][in][]=a", values)
	}
	for _, tt := range []struct {
		name, method, target, body string
		role                       contract.Role
		status                     int
	}{
		{"a body within the budget", "PUT", "/stockitems", large(100), contract.Admin, 207},
		{"a body over the budget", "PUT", "/stockitems", large(10_000), contract.Admin, 503},
		{"a body that is refused unread", "PUT", "/stockitems", strings.Repeat(" ", 3<<20), contract.Admin, 503},
		{"a query within the budget", "GET", query(400), "", contract.Admin, 200},
		{"a query over the budget", "GET", query(4000), "", contract.Admin, 503},
		{"a query within an Admin's budget", "GET", query(900), "", contract.Admin, 200},
		{"the same query over a Guest's half", "GET", query(900), "", contract.Guest, 503},
		{"a broken body", "PUT", "/stockitems", large(100) + "x", contract.Admin, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := withFullBody(t, shop.serve(tt.role, tt.method, tt.target, tt.body, "Accept", "application/json", "Content-Type", "application/json"))
			if got.Status != tt.status || (got.RetryAfter > 0) != (tt.status == 503) {
				t.Errorf("%d, retry after %d: %.200s", got.Status, got.RetryAfter, got.Body)
			}
			checkBudgetsReturned(t, shop.service)
		})
	}
}

// TestListsInFlight checks that Guests get half of the slots for long lists, and that a
// list returns its slot when it has been sent or interrupted.
func TestListsInFlight(t *testing.T) {
	t.Parallel()
	limits := settings()
	limits.ListsInFlight = 4
	shop := openShopWith(t, contract.Documented(), limits, nil)
	shop.service.SetBatchRows(1)
	const all = "/products?limit=0"
	guests := make([]resource.Response, 3)
	for i := range guests {
		guests[i] = shop.serve(contract.Guest, "GET", all, "")
	}
	if guests[0].Stream == nil || guests[1].Stream == nil || guests[2].Status != 503 || guests[2].RetryAfter < 1 {
		t.Fatalf("the third list of Guests: %d, retry after %d", guests[2].Status, guests[2].RetryAfter)
	}
	admins := []resource.Response{shop.serve(contract.Admin, "GET", all, ""), shop.serve(contract.Admin, "GET", all, "")}
	if admins[0].Stream == nil || admins[1].Stream == nil {
		t.Fatal("an Admin gets no slot while Guests hold theirs")
	}
	if short := shop.serve(contract.Admin, "GET", "/products?limit=1", ""); short.Status != 200 {
		t.Errorf("a page: %d", short.Status)
	}
	if fifth := shop.serve(contract.Admin, "GET", all, ""); fifth.Status != 503 {
		t.Errorf("one list over the limit: %d", fifth.Status)
	}
	if _, err := guests[0].Stream(t.Context(), io.Discard); err != nil {
		t.Error(err)
	}
	if _, err := admins[0].Stream(t.Context(), failingWriter{}); err == nil {
		t.Error("the error of a failing writer is lost")
	}
	for _, role := range []contract.Role{contract.Guest, contract.Admin} {
		if again := shop.serve(role, "GET", all, ""); again.Stream == nil {
			t.Errorf("%s: a returned slot is not available: %d", role, again.Status)
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestGuestMaxRows checks that a Guest who requests too long a list is refused with the
// contract's message for too high a limit, and gets no part of the list.
func TestGuestMaxRows(t *testing.T) {
	t.Parallel()
	const shown = 8 // products of the demo store
	for _, d := range contract.Dialects() {
		for _, tt := range []struct {
			limit  int64
			status int
		}{{0, 200}, {shown - 1, 400}, {shown, 200}, {100, 200}} {
			limits := settings()
			limits.GuestMaxRows = tt.limit
			shop := openShopWith(t, d, limits, nil)
			get := func(role contract.Role, target string) resource.Response {
				return withFullBody(t, shop.serve(role, "GET", target, "", "Accept", "application/json"))
			}
			for _, batch := range []int64{1, shown - 1, shown, 500} {
				shop.service.SetBatchRows(batch)
				name := fmt.Sprintf("%s, at most %d, batches of %d", d.Name, tt.limit, batch)
				got := get(contract.Guest, "/products?limit=0")
				if got.Status != tt.status {
					t.Errorf("%s: %d %.200s", name, got.Status, got.Body)
				}
				if tt.status == 400 && !strings.Contains(string(got.Body), "The paging limit exceeds the allowed number.") {
					t.Errorf("%s: refused by %s", name, got.Body)
				}
				if n := strings.Count(string(got.Body), `"sku":`); tt.status == 200 && n != shown {
					t.Errorf("%s: %d products, want %d", name, n, shown)
				}
				if page := get(contract.Guest, "/products?limit=100"); page.Status != 200 {
					t.Errorf("%s: a page: %d", name, page.Status)
				}
				if list := get(contract.Admin, "/products?limit=0"); list.Status != 200 {
					t.Errorf("%s: an Admin's list: %d", name, list.Status)
				}
			}
		}
	}
}

// TestLargePages checks that a page whose records are too large to be held together is
// still answered, with the same content.
func TestLargePages(t *testing.T) {
	t.Parallel()
	data := loadDemo(t)
	for i, product := range data.Records[adapter.Products] {
		product.Set("description", adapter.TextValue(strings.Repeat(string(rune('a'+i)), 600<<10)))
	}
	store := openStore(t, data)
	limits := settings()
	limits.ReplyCache = newReplyCache(t, limits.Now)
	sample := testenv.NewSample(t)
	for _, d := range contract.Dialects() {
		shop := serveShop(t, d, limits, data, store, store)
		list := func(role contract.Role, query string) string {
			return string(withFullBody(t, shop.serve(role, "GET", "/products?attrs=entity_id&"+query, "", "Accept", "text/plain")).Body)
		}
		for _, role := range []contract.Role{contract.Admin, contract.Guest} {
			for _, order := range []string{"", "&order=sku&dir=asc", "&order=entity_id"} {
				var paged []string
				for _, limit := range []int{1, 2, 3, 5, 100} {
					for page := 1; page <= 4; page++ {
						if page > 1 && !sample.Takes(12) {
							continue
						}
						query := fmt.Sprintf("limit=%d&page=%d%s", limit, page, order)
						// Without the long text the page is short.
						want := list(role, query)
						got := withFullBody(t, shop.serve(role, "GET", "/products?attrs=entity_id,description&"+query, "", "Accept", "text/plain"))
						if got.Status != 200 {
							t.Fatalf("%s %s: %d", role, query, got.Status)
						}
						if ids := withoutDescriptions(string(got.Body)); ids != want {
							t.Errorf("%s %s %s:\n%s\nwant\n%s", d.Name, role, query, ids, want)
						}
						paged = append(paged, want)
					}
				}
				if len(strings.Join(paged, "")) == 0 {
					t.Errorf("%s: no records", role)
				}
			}
		}
	}
}

func withoutDescriptions(form string) string {
	var rest []string
	for pair := range strings.SplitSeq(form, "&") {
		if !strings.Contains(pair, "description") {
			rest = append(rest, pair)
		}
	}
	return strings.Join(rest, "&")
}

// TestWaitForBudget checks that a call waits for a full budget, and continues when others
// return enough of it.
func TestWaitForBudget(t *testing.T) {
	limits := settings()
	limits.ListsInFlight = 2
	shop := openShopWith(t, contract.Documented(), limits, nil)
	shop.service.SetBatchRows(1)
	const all = "/stockitems?limit=0"
	first, second := shop.serve(contract.Admin, "GET", all, ""), shop.serve(contract.Admin, "GET", all, "")
	waited := make(chan resource.Response)
	go func() { waited <- shop.serveWith(context.Background(), contract.Admin, "GET", all, "") }()
	for _, r := range []resource.Response{first, second} {
		if _, err := r.Stream(t.Context(), io.Discard); err != nil {
			t.Error(err)
		}
	}
	if r := <-waited; r.Stream == nil {
		t.Errorf("%d, want the list", r.Status)
	}
}
