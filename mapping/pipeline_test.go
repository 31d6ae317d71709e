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
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestOrderOfChecks sends requests that fail two consecutive checks of wire 1: the
// earlier one must answer. It leaves out checks that no request can fail together.
func TestOrderOfChecks(t *testing.T) {
	const (
		asJSON   = "Accept: application/json"
		badToken = "Authorization: OAuth oauth_consumer_key=x"
		version0 = "Version: 0"
		bodyJSON = "Content-Type: application/json"
	)
	tests := []struct {
		name           string
		as             contract.Role
		method, target string
		header         []string
		body, want     string
	}{
		{"1 before 2: Accept before credentials", contract.Guest, "GET", "/stockitems", []string{"Accept: image/png", badToken}, "", ""},
		{"2 before 3: credentials before API type", contract.Guest, "GET", "/api/restx/stockitems", []string{asJSON, badToken}, "", "401 oauth_problem=parameter_absent&oauth_parameters_absent=oauth_signature_method"},
		{"2 before 4: credentials before route", contract.Guest, "GET", "/nope", []string{asJSON, badToken}, "", "401 oauth_problem=parameter_absent&oauth_parameters_absent=oauth_signature_method"},
		{"3 before 4: API type before route", contract.Guest, "GET", "/api/restx/nope", []string{asJSON}, "", `400 API type "restx" is not supported`},
		{"4 before 5: route before method", contract.Admin, "PATCH", "/nope", []string{asJSON}, "", "404 Request does not match any route."},
		{"5 before 6: method before role", contract.Guest, "PATCH", "/stockitems", []string{asJSON}, "", "400 Invalid request method"},
		{"6 before 7: role before version", contract.Guest, "GET", "/stockitems", []string{asJSON, version0}, "", "403 Access denied"},
		{"6 before 8: role before method", contract.Customer, "POST", "/stockitems", []string{asJSON}, "", "403 Access denied"},
		{"7 before 8: version before method", contract.Admin, "POST", "/stockitems", []string{asJSON, version0}, "", `400 Invalid version "0" requested.`},
		{"8 before 9: method before Content-Type", contract.Admin, "POST", "/stockitems", []string{asJSON}, "", "405 Resource method not implemented yet."},
		{"8 before 10: method before body", contract.Admin, "POST", "/stockitems/1", []string{asJSON, bodyJSON}, "{", "405 Resource method not implemented yet."},
		{"9 before 10: Content-Type before body", contract.Admin, "PUT", "/stockitems/1", []string{asJSON}, "{", "400 Content-Type header is empty"},
		{"10 before 11: decoding before emptiness", contract.Admin, "PUT", "/stockitems/1", []string{asJSON, bodyJSON}, " \n", "400 Decoding error."},
		{"11 before 14: emptiness before the record", contract.Admin, "PUT", "/stockitems/99", []string{asJSON, bodyJSON}, "{}", "400 The request data is invalid."},
		{"13 before 14: fields before the record", contract.Admin, "PUT", "/stockitems/99", []string{asJSON, bodyJSON}, `{"product_id":1,"nope":2}`, "400 The request data is invalid."},
		{"14: the record before its values", contract.Admin, "PUT", "/stockitems/99", []string{asJSON, bodyJSON}, `{"qty":"abc"}`, "404 Resource not found."},
		{"GET ignores the body", contract.Admin, "GET", "/stockitems/99", []string{asJSON, "Content-Type: x;y"}, "{", "404 Resource not found."},
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				var header []string
				for _, line := range test.header {
					name, value, _ := strings.Cut(line, ": ")
					header = append(header, name, value)
				}
				r := s.serve(test.as, test.method, test.target, test.body, header...)
				if test.want == "" {
					checkReply(t, r, 500, typeHTML, "Service temporary unavailable")
					return
				}
				checkRefused(t, r, test.want)
			})
		}
	})
}

func TestVersion(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		get := func(version string) mapping.Response {
			return s.serve(contract.Admin, "GET", "/stockitems/1", "", "Accept", "application/json", "Version", version)
		}
		for _, version := range []string{"1", "2", "99", strings.Repeat("9", 400)} {
			if r := get(version); r.Status != 200 {
				t.Errorf("version %q: got %d %s", version, r.Status, r.Body)
			}
		}
		for version, shown := range map[string]string{
			"": "", "0": "0", "01": "01", "-1": "-1", "1.0": "1.0", "v1": "v1", "1, 1": "1, 1",
			`<b>&'"`: "&lt;b&gt;&amp;&#039;&quot;",
		} {
			checkRefused(t, get(version), `400 Invalid version "`+shown+`" requested.`)
		}
	})
}

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

// TestBodies checks how bodies are read (wire 6.1 to 6.5). An accepted body sets the
// stock to 7.
func TestBodies(t *testing.T) {
	const saved, crash = "saved", "crash"
	both := func(s string) [2]string { return [2]string{s, s} }
	jsonInXML := [2]string{saved, "400 Decoding error."}
	invalid := both("400 The request data is invalid.")
	undecodable := both("400 Decoding error.")
	tests := []struct {
		name, contentType, body string
		want                    [2]string // documented, magento
	}{
		{"JSON", "application/json", `{"qty":7}`, both(saved)},
		{"JSON with charset", "application/json; charset=UTF-8", `{"qty":7}`, both(saved)},
		{"JSON with blanks around", "application/json", " \t\r\n{\"qty\":7} \n", both(saved)},
		{"XML", "application/xml", `<r><qty>7</qty></r>`, both(saved)},
		{"text XML", "text/xml", `<?xml version="1.0"?><service_api><qty>7</qty></service_api>`, both(saved)},
		{"XHTML", "application/xhtml+xml", `<magento_api><qty>7</qty></magento_api>`, both(saved)},
		{"attribute of the root", "text/xml", `<r qty="7"/>`, both(saved)},
		{"form", "text/plain", "qty=7", both(saved)},
		{"form, escaped", "text/plain", "q%74y=%37&nope=1", both(saved)},

		{"no type", "", `{"qty":7}`, both("400 Content-Type header is empty")},
		{"blank before the parameter", "application/json ; charset=utf-8", `{"qty":7}`, both("400 Invalid Content-Type header")},
		{"other parameter", "application/json; q=1", `{"qty":7}`, both("400 Invalid Content-Type header")},
		{"two types", "application/json, text/xml", `{"qty":7}`, both("400 Invalid Content-Type header")},
		{"other charset", "application/json; charset=latin1", `{"qty":7}`, both("400 UTF-8 is the only supported charset")},
		{"other type", "application/x-www-form-urlencoded", "qty=7", both(`400 Server can not understand Content-Type HTTP header media type "application/x-www-form-urlencoded"`)},
		{"type in upper case", "TEXT/XML", `<r><qty>7</qty></r>`, both(`400 Server can not understand Content-Type HTTP header media type "TEXT/XML"`)},

		{"JSON sent as text/xml", "text/xml", `{"qty":7}`, jsonInXML},
		{"JSON sent as text/xml with charset", "text/xml; charset=utf-8", `{"qty":7}`, jsonInXML},
		{"JSON sent as text/xml after blanks", "text/xml", " \r\n\t{\"qty\":7}", jsonInXML},
		{"JSON sent as text/xml after many blanks", "text/xml", strings.Repeat(" ", 100) + `{"qty":7}`, jsonInXML},
		{"JSON list sent as text/xml", "text/xml", `[{"qty":7}]`, [2]string{"400 The request data is invalid.", "400 Decoding error."}},
		{"malformed JSON sent as text/xml", "text/xml", `{"qty":7`, undecodable},
		{"JSON sent as application/xml", "application/xml", `{"qty":7}`, undecodable},
		{"JSON sent as XHTML", "application/xhtml+xml", `{"qty":7}`, undecodable},
		{"JSON text sent as text/xml", "text/xml", `"qty"`, undecodable},
		{"XML sent as JSON", "application/json", `<r><qty>7</qty></r>`, undecodable},

		{"malformed JSON", "application/json", "", undecodable},
		{"blanks in JSON", "application/json", " ", undecodable},
		{"malformed XML", "text/xml", "", undecodable},
		{"malformed form", "text/plain", "", invalid},
		{"blanks in a form", "text/plain", " \n", invalid},
		{"blank inside a form", "text/plain", "qty=7 8", both("400 Invalid data type. Check Content-Type.")},
		{"null", "application/json", "null", invalid},
		{"false", "application/json", "false", invalid},
		{"zero", "application/json", "0", invalid},
		{"empty text", "application/json", `""`, invalid},
		{"empty list", "application/json", "[]", invalid},
		{"empty record", "application/json", "{}", invalid},
		{"empty root", "text/xml", "<r/>", invalid},
		{"root with text", "text/xml", "<r>7</r>", invalid},
		{"true", "application/json", "true", [2]string{"400 The request data is invalid.", crash}},
		{"one", "application/json", "1", [2]string{"400 The request data is invalid.", crash}},
		{"text", "application/json", `"x"`, [2]string{"400 The request data is invalid.", crash}},
		{"list", "application/json", `[{"qty":7}]`, invalid},
		{"indexes", "application/json", `{"0":{"qty":7}}`, invalid},
		{"entries", "text/xml", "<r><data_item><qty>7</qty></data_item></r>", invalid},
		{"read-only fields", "application/json", `{"product_id":7,"stock_id":7,"low_stock_date":"2012-03-02 00:00:00","created_at":"x"}`, invalid},
		{"a known field in upper case", "application/json", `{"QTY":7}`, invalid},
		{"read-only fields with others", "application/json", `{"product_id":"","stock_id":null,"low_stock_date":"","nope":"","qty":7}`, both(saved)},
		{"a field twice", "application/json", `{"qty":"abc","qty":7}`, both(saved)},
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				s.storeItem(t, 1, nil)
				header := []string{"Accept", "application/json"}
				if test.contentType != "" {
					header = append(header, "Content-Type", test.contentType)
				}
				r := s.serve(contract.Admin, "PUT", "/stockitems/1", test.body, header...)
				qty := "100.0000"
				switch want := s.text(test.want[0], test.want[1]); want {
				case saved:
					qty = "7.0000"
					checkSaved(t, r)
				case crash:
					checkReply(t, r, 500, typeHTML, "")
				default:
					checkRefused(t, r, want)
				}
				s.checkItem(t, 1, "qty", qty, "product_id", "1", "stock_id", "1", "low_stock_date", "null")
			})
		}
	})
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

// A faultyAdapter is a real one whose stores fail on demand before they do anything.
type faultyAdapter struct {
	adapter.Adapter
	fail func(op string, key adapter.Key) error
}

func (f faultyAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := f.Adapter.Store(r)
	return faultyStore{store, f.fail}, err
}

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

func openFaulty(t *testing.T, d *contract.Dialect, fail func(op string, key adapter.Key) error) *shop {
	t.Helper()
	return openShopWith(t, d, settings(), func(a adapter.Adapter) adapter.Adapter { return faultyAdapter{a, fail} })
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
	calls := []struct{ name, method, target, body string }{
		{"getStockItem", "GET", "/stockitems/1?sentinel=1", ""},
		{"listStockItems", "GET", "/stockitems?sentinel=1", ""},
		{"updateStockItem", "PUT", "/stockitems/1", `{"qty":7,"sentinel":"sentinel"}`},
		{"updateStockItems", "PUT", "/stockitems", `[{"item_id":1,"qty":7,"sentinel":"sentinel"}]`},
	}
	for _, call := range calls {
		t.Run(call.name, func(t *testing.T) {
			broken := true
			s := openFaulty(t, contract.Documented(), func(op string, _ adapter.Key) error {
				if broken {
					panic("broken " + op)
				}
				return nil
			})
			send := func() mapping.Response {
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
			checkRefused(t, s.put("/stockitems/1", "application/json", `{"qty":7}`), test.want)
			if test.logged {
				s.checkLog(t, "no such table", test.kind.String(), "getStockItem", "updateStockItem")
			} else if s.log.String() != "" {
				t.Errorf("logged: %s", s.log)
			}
		})
	}
}

// TestRetryAfter checks after how many seconds a client is told to retry.
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
			if got := mapping.RetryAfter(test.err); got != test.want {
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
// saved, so that it can be repeated. Once an item has been saved, the reply must say
// which.
func TestBatchWithoutBackend(t *testing.T) {
	inBothWith := func(t *testing.T, away adapter.Key, check func(*testing.T, mapping.Response)) {
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
	inBothWith(t, 1, func(t *testing.T, r mapping.Response) {
		checkRefused(t, r, "503 Resource internal error.")
		if r.RetryAfter != 1 {
			t.Errorf("retry after %d s", r.RetryAfter)
		}
	})
	inBothWith(t, 2, func(t *testing.T, r mapping.Response) {
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
		response := s.service.Serve(ctx, &mapping.Request{HTTP: r, Scheme: "http"}, nil)
		if response.Status != 503 {
			t.Errorf("%s %s: got %d %s, want 503", call[0], call[1], response.Status, response.Body)
		}
	}
	s.checkItem(t, 1, "qty", "100.0000")
	if log := s.log.String(); log != "" {
		t.Errorf("a client that has gone is logged as an error: %s", log)
	}
}
