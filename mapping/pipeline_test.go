package mapping_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/resource"
)

// TestAccept checks the format of the reply for an Accept header, on a stock item
// (default JSON) and on a path without a route (default XML); "" means no acceptable
// type.
func TestAccept(t *testing.T) {
	tests := []struct {
		name                        string
		accept                      []string
		stock, elsewhere, inMagento string
	}{
		{name: "none", stock: typeJSON, elsewhere: typeXML},
		{name: "empty", accept: []string{""}, stock: typeJSON, elsewhere: typeXML},
		{name: "wildcard", accept: []string{"*/*"}, stock: typeJSON, elsewhere: typeXML, inMagento: typeJSON},
		{name: "wildcard before types of lower quality", accept: []string{"text/xml;q=0.5, */*"}, stock: typeJSON, elsewhere: typeXML, inMagento: typeJSON},
		{name: "specific types before the wildcard", accept: []string{"text/plain, */*"}, stock: typeText, elsewhere: typeText, inMagento: typeText},
		{name: "application", accept: []string{"application/*"}, stock: typeJSON, elsewhere: typeJSON, inMagento: typeJSON},
		{name: "text", accept: []string{"text/*"}, stock: typeText, elsewhere: typeText, inMagento: typeText},
		{name: "XHTML", accept: []string{"application/xhtml+xml"}, stock: typeXML, elsewhere: typeXML, inMagento: typeXML},
		{name: "header sent twice", accept: []string{"image/png", "text/xml"}, stock: typeXML, elsewhere: typeXML, inMagento: typeXML},
		{name: "charset parameter", accept: []string{"application/json,text/plain;charset=utf-8"}, stock: typeText, elsewhere: typeText, inMagento: typeText},
		{name: "image", accept: []string{"image/png"}},
		{name: "letter case", accept: []string{"APPLICATION/JSON"}},
		{name: "partial wildcard", accept: []string{"*"}},
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				for path, want := range map[string]string{"/stockitems/1": test.stock, "/nope": test.elsewhere} {
					if !s.documented() {
						want = test.inMagento
					}
					var header []string
					for _, value := range test.accept {
						header = append(header, "Accept", value)
					}
					r := s.serve(contract.Admin, "GET", path, "", header...)
					switch {
					case want == "":
						checkReply(t, r, 500, typeHTML, "Service temporary unavailable")
					case r.ContentType != want || r.Status == 500:
						t.Errorf("%s: got %d %s, want %s", path, r.Status, r.ContentType, want)
					}
				}
			})
		}
	})
}

func TestAcceptMissingJSON(t *testing.T) {
	with := settings()
	with.JSONWithoutAccept = true
	s := openShopWith(t, contract.Magento(), with, nil)
	for _, header := range [][]string{nil, {"Accept", ""}} {
		r := s.serve(contract.Admin, "GET", "/stockitems/1", "", header...)
		if r.Status != 200 || r.ContentType != typeJSON {
			t.Errorf("got %d %s, want 200 in JSON", r.Status, r.ContentType)
		}
		r = s.serve(contract.Guest, "GET", "/nope", "", header...)
		if r.ContentType != typeJSON {
			t.Errorf("got %s", r.ContentType)
		}
		checkRefused(t, r, "404 Request does not match any route.")
	}
	r := s.serve(contract.Admin, "GET", "/stockitems/1", "", "Accept", "image/png")
	checkReply(t, r, 500, typeHTML, "Service temporary unavailable")

	documented := openShopWith(t, contract.Documented(), with, nil)
	if r := documented.serve(contract.Guest, "GET", "/nope", ""); r.ContentType != typeXML {
		t.Errorf("documented: got %s, want its own default", r.ContentType)
	}
}

func TestLimits(t *testing.T) {
	s := openShop(t, contract.Documented())
	s.storeItem(t, 1, nil)
	body := func(size int) string {
		const record = `{"qty":"7"}`
		return strings.Repeat(" ", size-len(record)) + record
	}
	tests := []struct {
		name, contentType string
		size              int
		refused           bool
	}{
		{"at the limit", "application/json", bodyBytes, false},
		{"over the limit", "application/json", bodyBytes + 1, true},
		{"text XML over the limit", "text/xml", bodyBytes + 1, true},
		{"far over the limit", "text/plain", 4 * bodyBytes, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := s.put("/stockitems/1", test.contentType, body(test.size))
			if !test.refused {
				checkSaved(t, r)
				return
			}
			checkRefused(t, r, "400 The request data is invalid.")
		})
	}
	t.Run("form body of credentials over the limit", func(t *testing.T) {
		r := s.serve(contract.Guest, "PUT", "/stockitems/1", body(bodyBytes+1), "Accept", "application/json",
			"Authorization", "OAuth", "Content-Type", "application/x-www-form-urlencoded")
		checkRefused(t, r, "400 The request data is invalid.")
	})
	t.Run("query at the limit", func(t *testing.T) {
		if r := s.serve(contract.Admin, "GET", "/stockitems?"+strings.Repeat("x", queryBytes), "", "Accept", "application/json"); r.Status != 200 {
			t.Errorf("got %d %s", r.Status, r.Body)
		}
	})
	t.Run("query over the limit", func(t *testing.T) {
		r := s.serve(contract.Admin, "GET", "/stockitems?"+strings.Repeat("x", queryBytes+1), "", "Accept", "application/json")
		checkRefused(t, r, "400 The request data is invalid.")
	})
}

// A faultyStore is a real one that fails on demand before it does anything.
type faultyStore struct {
	adapter.Store
	fail func(op string, key adapter.Key) error
}

func (s faultyStore) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	if err := s.fail("get", p.Key); err != nil {
		return adapter.Record{}, err
	}
	return s.Store.Get(ctx, p)
}

func (s faultyStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	if err := s.fail("update", p.Key); err != nil {
		return err
	}
	return s.Store.Update(ctx, p)
}

func (s faultyStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	if err := s.fail("create", 0); err != nil {
		return 0, err
	}
	return s.Store.Create(ctx, p)
}

func (s faultyStore) Delete(ctx context.Context, p *adapter.DeleteParams) error {
	if err := s.fail("delete", p.Key); err != nil {
		return err
	}
	return s.Store.Delete(ctx, p)
}

func (s faultyStore) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	if err := s.fail("list", 0); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, p)
}

// faultyStores puts a faultyStore in the place of each store.
func faultyStores(fail func(op string, key adapter.Key) error) func(adapter.Adapter) adapter.Adapter {
	return wrapStores(func(_ adapter.Resource, s adapter.Store) adapter.Store { return faultyStore{s, fail} })
}

func openFaulty(t *testing.T, d *contract.Dialect, fail func(op string, key adapter.Key) error) *shop {
	t.Helper()
	return openShopWith(t, d, settings(), faultyStores(fail))
}

// checkLog checks that the log contains the words, and no secrets.
func (s *shop) checkLog(t *testing.T, words ...string) {
	t.Helper()
	log := s.log.String()
	for _, word := range words {
		if !strings.Contains(log, word) {
			t.Errorf("the log has no %q:\n%s", word, log)
		}
	}
	for _, secret := range []string{"oauth", "cccccccc", "dddddddd", "bbbbbbbb", "aaaaaaaa", "sentinel"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log shows %q:\n%s", secret, log)
		}
	}
}

// TestPanic checks that a panic becomes an internal error for one client and a log entry
// with a stack trace, and leaves nothing locked.
func TestPanic(t *testing.T) {
	failing := []struct{ name, method, target, body string }{
		{"getStockItem", "GET", "/stockitems/1?sentinel=1", ""},
		{"listStockItems", "GET", "/stockitems?sentinel=1", ""},
		{"updateStockItem", "PUT", "/stockitems/1", `{"qty":7,"sentinel":"sentinel"}`},
		{"updateStockItems", "PUT", "/stockitems", `[{"item_id":1,"qty":7,"sentinel":"sentinel"}]`},
	}
	for _, call := range failing {
		t.Run(call.name, func(t *testing.T) {
			broken := true
			s := openFaulty(t, contract.Documented(), func(op string, _ adapter.Key) error {
				if broken {
					panic("broken " + op)
				}
				return nil
			})
			send := func() resource.Response {
				return s.serve(contract.Admin, call.method, call.target, call.body, "Accept", "application/json", "Content-Type", "application/json")
			}
			r := send()
			checkRefused(t, r, "500 Resource internal error.")
			if r.ContentType != typeJSON || r.Call != call.name {
				t.Errorf("got %s for %s", r.ContentType, r.Call)
			}
			s.checkLog(t, "panic", call.name, "pipeline_test.go")
			broken = false
			if r := send(); r.Status >= 300 {
				t.Errorf("after it: %d %s", r.Status, r.Body)
			}
		})
	}
}

// TestFailures checks that store errors become messages of the contract, while their own
// texts only go to the log.
func TestFailures(t *testing.T) {
	tests := []struct {
		kind   adapter.ErrorKind
		want   string
		logged bool
	}{
		{adapter.NotFound, "404 Resource not found.", false},
		{adapter.Unavailable, "503 Resource internal error.", true},
		{adapter.Conflict, "500 Resource internal error.", true},
		{adapter.Invalid, "500 Resource internal error.", true},
		{adapter.Unsupported, "500 Resource internal error.", true},
		{adapter.Internal, "500 Resource internal error.", true},
	}
	for _, test := range tests {
		t.Run(test.kind.String(), func(t *testing.T) {
			s := openFaulty(t, contract.Magento(), func(string, adapter.Key) error {
				return &adapter.Error{Kind: test.kind, Op: "SELECT x FROM y", Err: errors.New("no such table")}
			})
			refused := s.serve(contract.Admin, "GET", "/stockitems/1", "", "Accept", "application/json")
			checkRefused(t, refused, test.want)
			if unavailable := test.kind == adapter.Unavailable; unavailable != (refused.RetryAfter == 1) {
				t.Errorf("retry after %d s", refused.RetryAfter)
			}
			written := s.put("/stockitems/1", "application/json", `{"qty":7}`)
			switch {
			case test.kind == adapter.Unsupported: // by a store that takes no writes
				checkRefused(t, written, "405 Resource method not implemented yet.")
				s.checkLog(t, "no such table", test.kind.String(), "getStockItem")
			case test.logged:
				checkRefused(t, written, test.want)
				s.checkLog(t, "no such table", test.kind.String(), "getStockItem", "updateStockItem")
			default:
				checkRefused(t, written, test.want)
			}
			if !test.logged && s.log.String() != "" {
				t.Errorf("logged: %s", s.log)
			}
		})
	}
}

// TestRetryAfter checks the number of seconds after which a reply tells a client to
// retry.
func TestRetryAfter(t *testing.T) {
	unavailable := func(after time.Duration) error {
		return fmt.Errorf("auth: find token: %w", &adapter.Error{Kind: adapter.Unavailable, Op: "get tokens", RetryAfter: after})
	}
	for _, test := range []struct {
		name string
		err  error
		want int
	}{
		{"unknown time", unavailable(0), 1},
		{"soon", unavailable(time.Millisecond), 1},
		{"whole seconds", unavailable(2 * time.Second), 2},
		{"part of a second", unavailable(2001 * time.Millisecond), 3},
		{"no time left", context.DeadlineExceeded, 1},
		{"client gone", context.Canceled, 1},
		{"another error kind", &adapter.Error{Kind: adapter.Conflict, RetryAfter: time.Second}, 0},
		{"another error kind, out of time", &adapter.Error{Kind: adapter.NotFound, Err: context.DeadlineExceeded}, 0},
		{"no error kind", errors.New("disk of glass"), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := pipeline.RetryAfter(test.err); got != test.want {
				t.Errorf("%d s, want %d", got, test.want)
			}
		})
	}
	for _, d := range contract.Dialects() {
		s := openFaulty(t, d, func(string, adapter.Key) error { return unavailable(7 * time.Second) })
		if got := s.serve(contract.Admin, "GET", "/stockitems/1", "", "Accept", "application/json"); got.Status != 503 || got.RetryAfter != 7 {
			t.Errorf("%s: %d, retry after %d s", d.Name, got.Status, got.RetryAfter)
		}
		if log := s.log.String(); log != "" {
			t.Errorf("a call that the breaker refused is logged:\n%s", log)
		}
	}
}

// TestBatchWithoutBackend checks that a batch fails as a whole while nothing has been
// saved, so that it can be repeated. Once an item has been saved, the reply must name
// the saved items.
func TestBatchWithoutBackend(t *testing.T) {
	inBothWith := func(t *testing.T, away adapter.Key, check func(*testing.T, resource.Response)) {
		for _, d := range contract.Dialects() {
			t.Run(d.Name, func(t *testing.T) {
				s := openFaulty(t, d, func(op string, key adapter.Key) error {
					if op == "update" && key >= away {
						return &adapter.Error{Kind: adapter.Unavailable, Op: "update"}
					}
					return nil
				})
				check(t, s.put("/stockitems", "application/json", `[{"item_id":"x","qty":1},{"item_id":1,"qty":1},{"item_id":2,"qty":1},{"item_id":3,"qty":1}]`))
			})
		}
	}
	inBothWith(t, 1, func(t *testing.T, r resource.Response) {
		checkRefused(t, r, "503 Resource internal error.")
		if r.RetryAfter != 1 {
			t.Errorf("retry after %d s", r.RetryAfter)
		}
	})
	inBothWith(t, 2, func(t *testing.T, r resource.Response) {
		if r.Status != 207 || strings.Count(string(r.Body), `"success"`) != 1 || strings.Count(string(r.Body), "Resource internal error.") != 2 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	})
}

// TestBatchFailure checks that an item that cannot be saved gets one entry, and that the
// others are saved (stock_orders 2.4).
func TestBatchFailure(t *testing.T) {
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			s := openFaulty(t, d, func(_ string, key adapter.Key) error {
				if key == 2 {
					return &adapter.Error{Kind: adapter.Internal, Op: "update", Err: errors.New("disk of glass")}
				}
				return nil
			})
			r := s.put("/stockitems", "application/json", `[{"item_id":1,"qty":7},{"item_id":2,"qty":7},{"item_id":4,"qty":7}]`)
			checkReply(t, r, 207, typeJSON, `{"success":[`+
				`{"item_id":"1","message":"Resource updated successful.","code":200},`+
				`{"item_id":"4","message":"Resource updated successful.","code":200}],"error":[`+
				`{"item_id":2,"message":"Resource internal error.","code":500}]}`)
			s.checkItem(t, 1, "qty", "7.0000")
			s.checkItem(t, 2, "qty", "5.0000")
			s.checkItem(t, 4, "qty", "7.0000")
			s.checkLog(t, "disk of glass", "updateStockItems")
		})
	}
}

func TestClientGone(t *testing.T) {
	s := openShop(t, contract.Documented())
	// The first call caches the credentials, so that the others reach the store.
	if r := s.serve(contract.Admin, "GET", "/stockitems/1", ""); r.Status != 200 {
		t.Fatalf("got %d", r.Status)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, call := range [][3]string{
		{"GET", "/stockitems", ""}, {"GET", "/stockitems/1", ""},
		{"PUT", "/stockitems/1", `{"qty":7}`}, {"PUT", "/stockitems", `[{"item_id":1,"qty":7}]`},
	} {
		r := httptest.NewRequest(call[0], "/api/rest"+call[1], strings.NewReader(call[2]))
		r.Header.Set("Authorization", s.authorizations[contract.Admin])
		r.Header.Set("Content-Type", "application/json")
		response := s.service.Serve(ctx, &resource.Request{HTTP: r, Scheme: "http"}, nil)
		if response.Status != 503 {
			t.Errorf("%s %s: got %d %s, want 503", call[0], call[1], response.Status, response.Body)
		}
	}
	s.checkItem(t, 1, "qty", "100.0000")
	if log := s.log.String(); log != "" {
		t.Errorf("a client that has gone is logged as an error: %s", log)
	}
}
