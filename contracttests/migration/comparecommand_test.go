package migration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/migrate"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// plantedHeader is the request header that names the plantedDifference to apply to the
// reply.
const plantedHeader = "X-Plant"

// A plantedDifference is a read whose reply the candidate changes in one place.
type plantedDifference struct {
	name, as, path, accept string
	// change changes the complete answer.
	change func(t *testing.T, answer *httptest.ResponseRecorder)
	want   []string // the difference: field, record in brackets, values
}

// replaceText replaces a part of a body, which must contain it.
func replaceText(old, new string) func(*testing.T, *httptest.ResponseRecorder) {
	return func(t *testing.T, answer *httptest.ResponseRecorder) {
		body := answer.Body.String()
		if !strings.Contains(body, old) {
			t.Errorf("no %s in %s", old, body)
		}
		answer.Body = bytes.NewBufferString(strings.Replace(body, old, new, 1))
	}
}

// editTree changes the decoded body.
func editTree(f contract.Format, change func(*codec.Node)) func(*testing.T, *httptest.ResponseRecorder) {
	return func(t *testing.T, answer *httptest.ResponseRecorder) {
		n, err := codec.Decode(f, answer.Body.Bytes())
		if err != nil {
			t.Error(err)
			return
		}
		change(&n)
		answer.Body = bytes.NewBuffer(codec.Append(nil, f, "magento_api", &n, false))
	}
}

// nodeAt returns the value at a path of keys.
func nodeAt(n *codec.Node, keys ...string) *codec.Node {
	for _, key := range keys {
		n, _ = n.Get(key)
	}
	return n
}

// removeField removes a field.
func removeField(n *codec.Node, key string) {
	n.Members = slices.DeleteFunc(n.Members, func(m codec.Member) bool { return m.Key == key })
}

// plantedDifferences returns one difference of every kind.
func plantedDifferences() []plantedDifference {
	const jsonType, xmlType = "application/json", "application/xml"
	swap := func(n *codec.Node, i, j int) {
		n.Members[i].Value, n.Members[j].Value = n.Members[j].Value, n.Members[i].Value
	}
	return []plantedDifference{
		{"value", "admin", "/products/1", jsonType, replaceText(`"kettle-steel"`, `"kettle-Steel"`), []string{`getProduct sku "kettle-steel" "kettle-Steel"`}},
		{"value in XML", "admin", "/products/1", xmlType, replaceText(`<sku>kettle-steel<`, `<sku>kettle<`), []string{`getProduct sku "kettle-steel" "kettle"`}},
		{"value in a form", "admin", "/products/1", "text/plain", replaceText(`sku=kettle-steel`, `sku=kettle`), []string{`getProduct sku "kettle-steel" "kettle"`}},
		{"type", "admin", "/stockitems/1", jsonType, replaceText(`"min_qty":"0.0000"`, `"min_qty":0`), []string{`getStockItem min_qty "0.0000" 0`}},
		{"empty for null", "admin", "/products/1", jsonType, replaceText(`"special_from_date":null`, `"special_from_date":""`), []string{`getProduct special_from_date null ""`}},
		{"field missing", "admin", "/customers/1", jsonType, editTree(contract.JSON, func(n *codec.Node) { removeField(n, "lastname") }), []string{`getCustomer lastname text of 5, masked -`}},
		{"field added", "admin", "/customers/1", jsonType, replaceText(`{`, `{"shoe_size":"9",`), []string{`getCustomer other - masked`}},
		{"order of fields", "admin", "/products/2", jsonType, replaceText(`"type_id":"simple","sku":"kettle-copper"`, `"sku":"kettle-copper","type_id":"simple"`), []string{`getProduct rendering order entity_id attribute_set_id type_id sku`}},
		{"record missing", "guest", "/products?limit=3", jsonType, editTree(contract.JSON, func(n *codec.Node) { removeField(n, "2") }), []string{`listProducts records[2] "2" -`}},
		{"record added", "admin", "/stockitems?limit=2", jsonType, editTree(contract.JSON, func(n *codec.Node) {
			n.Members = append(n.Members, codec.Member{Key: "2", Value: codec.Node{Kind: codec.Struct, Members: []codec.Member{{Key: "item_id", Value: codec.TextNode("77")}}}})
		}), []string{`listStockItems records[77] - "77"`}},
		{"order of records", "admin", "/stockitems?limit=3", jsonType, editTree(contract.JSON, func(n *codec.Node) { swap(n, 0, 1) }), []string{`listStockItems order order 1 2 3 order 2 1 3`}},
		{"order of records in XML", "admin", "/customers?limit=2", xmlType, editTree(contract.XML, func(n *codec.Node) { swap(n, 0, 1) }), []string{`listCustomers order order 1 2 order 2 1`}},
		{"status", "admin", "/orders/1", jsonType, func(_ *testing.T, answer *httptest.ResponseRecorder) { answer.Code = 203 }, []string{`getOrder status-code 200 203`}},
		{"content type", "admin", "/orders/1", xmlType, func(_ *testing.T, answer *httptest.ResponseRecorder) {
			answer.Header().Set("Content-Type", "application/xml")
		},
			[]string{`getOrder content-type "application/xml; charset=utf-8" "application/xml"`}},
		{"location", "admin", "/orders", jsonType, func(_ *testing.T, answer *httptest.ResponseRecorder) { answer.Header().Set("Location", "/elsewhere") }, []string{`listOrders location - "/elsewhere"`}},
		{"base URL", "guest", "/products/1?attrs=url", jsonType, func(t *testing.T, answer *httptest.ResponseRecorder) {
			answer.Body = bytes.NewBuffer(regexp.MustCompile(`http:\\/\\/[0-9.:]+`).ReplaceAll(answer.Body.Bytes(), []byte(`http:\/\/inside.example`)))
		}, []string{`getProduct url "BASE_URL/index.php`}},
		{"error text", "admin", "/products/999", jsonType, replaceText(`Resource not found.`, `Gone`), []string{`getProduct messages[1] "Resource not found." "Gone"`}},
		{"error text that may tell of a person", "admin", "/customers/999", xmlType, replaceText(`Resource not found.`, `Ada is gone`), []string{`getCustomer messages[1] text of 19, masked text of 11, masked`}},
		{"time beyond the clock", "admin", "/products/3", jsonType, replaceText(`"updated_at":"2012-01-05 00:00:00"`, `"updated_at":"2012-01-05 01:00:01"`), []string{`getProduct updated_at "2012-01-05 00:00:00" "2012-01-05 01:00:01"`}},
		{"time within the clock", "admin", "/products/3", jsonType, replaceText(`"updated_at":"2012-01-05 00:00:00"`, `"updated_at":"2012-01-05 01:00:00"`), nil},
		{"ignored", "admin", "/products/3", jsonType, replaceText(`"weight":"0.9000"`, `"weight":"1.9000"`), nil},
		{"stock of a product", "admin", "/products/2", jsonType, editTree(contract.JSON, func(n *codec.Node) { *nodeAt(n, "stock_data", "qty") = codec.TextNode("-1") }), []string{`getProduct stock_data.qty "`}},
		{"price of a product", "guest", "/products/2", jsonType, replaceText(`"price_with_tax":97.43`, `"price_with_tax":98.43`), []string{`getProduct tier_price[1] price_with_tax: 97.43 price_with_tax: 98.43`}},
		{"line of an order", "admin", "/orders/1", jsonType, editTree(contract.JSON, func(n *codec.Node) { *nodeAt(n, "order_items", "1", "sku") = codec.TextNode("x") }), []string{`getOrder order_items.sku[2] "`}},
		{"address of an order in a list", "admin", "/orders?limit=1", jsonType, editTree(contract.JSON, func(n *codec.Node) { *nodeAt(n, "1", "addresses", "0", "city") = codec.TextNode("x") }), []string{`listOrders addresses.city[1/billing] text of `}},
		{"root", "admin", "/orders/1/comments", xmlType, func(_ *testing.T, answer *httptest.ResponseRecorder) {
			answer.Body = bytes.NewBuffer(bytes.ReplaceAll(answer.Body.Bytes(), []byte("magento_api"), []byte("service_api")))
		}, []string{`listOrderComments root "magento_api" "service_api"`}},
		{"blank", "admin", "/stockitems/2", jsonType, replaceText(`{`, `{ `), []string{`getStockItem rendering byte 1: `}},
		{"escape", "admin", "/products/4", jsonType, replaceText(`Floor Lamp <tall>`, `Floor Lamp \u003ctall>`), []string{`getProduct rendering byte `}},
		{"empty element", "admin", "/stockitems?limit=1", xmlType, replaceText(`<low_stock_date/>`, `<low_stock_date></low_stock_date>`), []string{`listStockItems rendering byte `}},
		{"broken body", "admin", "/stockitems/3", jsonType, func(_ *testing.T, answer *httptest.ResponseRecorder) { answer.Body.Truncate(20) }, []string{`getStockItem body json 20 bytes of invalid json`}},
		{"no answer", "admin", "/stockitems/4", jsonType, func(*testing.T, *httptest.ResponseRecorder) { panic(http.ErrAbortHandler) }, []string{`getStockItem answer 200 none: `}},
	}
}

// falsify returns next with the difference applied that the request names.
func falsify(t *testing.T, next http.Handler, all []plantedDifference) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(all, func(p plantedDifference) bool { return p.name == r.Header.Get(plantedHeader) })
		if i < 0 {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		all[i].change(t, answer)
		maps.Copy(w.Header(), answer.Header())
		w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// recordedReads writes the reads of all recorded exchanges, and others, to files in
// folder, and returns the number of recorded ones.
func recordedReads(t *testing.T, folder string, others ...contracttests.Exchange) int {
	t.Helper()
	exchanges := apptest.Exchanges(t)
	reads := 0
	for i := range exchanges {
		c := &exchanges[i]
		c.Name = c.File + ": " + c.Name
		c.Steps = slices.DeleteFunc(c.Steps, func(s contracttests.Step) bool {
			return s.Method != http.MethodGet || strings.HasPrefix(s.Path, "!/oauth/") || strings.Contains(s.Path+fmt.Sprint(s.Headers), "oauth_nonce")
		})
		reads += len(c.Steps)
	}
	exchanges = slices.DeleteFunc(exchanges, func(c contracttests.Exchange) bool { return len(c.Steps) == 0 })
	writeRequests(t, filepath.Join(folder, "recorded.json"), exchanges)
	if len(others) > 0 {
		writeRequests(t, filepath.Join(folder, "others.json"), others)
	}
	return reads
}

// writeRequests writes exchanges to a file.
func writeRequests(t *testing.T, name string, exchanges []contracttests.Exchange) {
	t.Helper()
	var b bytes.Buffer
	if err := contracttests.WriteExchanges(&b, exchanges); err != nil {
		t.Fatal(err)
	}
	apptest.WriteFile(t, name, b.String())
}

// runCompare runs "portico compare" and returns its JSON report, or nil if it wrote none.
func runCompare(t *testing.T, arguments ...string) (found *migrate.Report, screen string, err error) {
	t.Helper()
	out, screen, err := apptest.Run(t, append([]string{"compare", "--json", "-"}, arguments...)...)
	if out != "" {
		found = &migrate.Report{}
		apptest.Parse(t, out, found)
	}
	return found, screen, err
}

// reportedDifferences returns one line for each example of a report, by request.
func reportedDifferences(found *migrate.Report) map[string][]string {
	all := map[string][]string{} // by request
	for _, f := range found.Fields {
		for _, e := range f.Examples {
			field := f.Call + " " + f.Field
			if e.Record != "" {
				field += "[" + e.Record + "]"
			}
			valueOf := func(v *string) string {
				if v == nil {
					return "-"
				}
				return *v
			}
			all[e.Request+" "+e.Curl] = append(all[e.Request+" "+e.Curl], field+" "+valueOf(e.Legacy)+" "+valueOf(e.Candidate))
		}
	}
	return all
}

// TestCompareEngines compares two servers on different engines: they must answer every
// recorded read equally, and each planted difference must be reported at its field, and
// nowhere else.
func TestCompareEngines(t *testing.T) {
	testenv.OnlyNightly(t, "engines")
	legacy := apptest.StartDemo(t, "magento")
	candidate := apptest.StartDemoOn(t, otherDemoDatabase(t), "magento")
	all := plantedDifferences()
	falsified := httptest.NewServer(falsify(t, apptest.ProxyTo(t, candidate.Contract), all))
	t.Cleanup(falsified.Close)
	arguments := []string{"--legacy", legacy.Contract, "--candidate", falsified.URL, "--clock", "1h", "--ignore", "weight"}

	folder := t.TempDir()
	reads := recordedReads(t, folder)
	result, screen, err := runCompare(t, append(arguments, "--requests", folder)...)
	if err != nil || result == nil || result.Compared != reads || result.Different != 0 || len(result.LeftOut) != 0 || reads < 1000 {
		t.Fatalf("of %d reads (%v):\n%s", reads, err, screen)
	}

	var planted []contracttests.Exchange
	wanted := map[string]plantedDifference{} // by the header in the curl command of the example
	for _, p := range all {
		planted = append(planted, contracttests.Exchange{Name: p.name, Steps: []contracttests.Step{
			{As: p.as, Method: http.MethodGet, Path: p.path, Accept: &p.accept, Headers: map[string]string{plantedHeader: p.name}},
		}})
		wanted[fmt.Sprintf("'%s: %s'", plantedHeader, p.name)] = p
	}
	// Several files, because a field has three examples at most.
	different := 0
	for start := 0; start < len(planted); start += 4 {
		file := filepath.Join(t.TempDir(), "planted.json")
		some := planted[start:min(start+4, len(planted))]
		writeRequests(t, file, some)
		result, screen, err := runCompare(t, append(arguments, "--requests", file)...)
		if !isDifference(err) || result == nil {
			t.Fatalf("error %v\n%s", err, screen)
		}
		different += result.Different
		for request, reported := range reportedDifferences(result) {
			for name, p := range wanted {
				if !strings.Contains(request, name) {
					continue
				}
				delete(wanted, name)
				if len(reported) != len(p.want) || len(reported) == 1 && !strings.HasPrefix(reported[0], p.want[0]) {
					t.Errorf("%s: reported %q, want %q", p.name, reported, p.want)
				}
			}
		}
	}
	for name, p := range wanted {
		if len(p.want) > 0 {
			t.Errorf("%s is not reported", name)
		}
	}
	if different != len(all)-2 {
		t.Errorf("%d answers differ, want %d", different, len(all)-2)
	}
}

// TestCompareShowsPersonal checks that personal data is shown only with --show-personal,
// and secrets never.
func TestCompareShowsPersonal(t *testing.T) {
	legacy := apptest.StartDemo(t, "magento")
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		said, err := json.Marshal(map[string]string{"entity_id": "1", "email": "eve@example.com", "group_id": r.Header.Get("Authorization")})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(said)
	}))
	t.Cleanup(echo.Close)
	file := filepath.Join(t.TempDir(), "calls.json")
	accept := "application/json"
	writeRequests(t, file, []contracttests.Exchange{{Name: "one", Steps: []contracttests.Step{{As: "admin", Method: http.MethodGet, Path: "/customers/1", Accept: &accept}}}})
	credentials := apptest.Credentials(t)
	for _, shown := range []bool{false, true} {
		page := filepath.Join(t.TempDir(), "page.html")
		out, screen, err := apptest.Run(t, "compare", "--legacy", legacy.Contract, "--candidate", echo.URL, "--requests", file,
			"--json", "-", "--html", page, "--show-personal="+strconv.FormatBool(shown))
		if !isDifference(err) {
			t.Fatal(err, screen)
		}
		for name, text := range map[string]string{"JSON": out, "table": screen, "page": apptest.ReadFile(t, page)} {
			for _, value := range []string{"eve@example.com", "ada@example.com"} {
				if strings.Contains(text, value) != shown {
					t.Errorf("%s, --show-personal %v: %s", name, shown, text)
				}
			}
			for _, secret := range []string{credentials.Admin.Token, credentials.Admin.Secret, credentials.Consumer.Secret} {
				if strings.Contains(text, secret) {
					t.Errorf("%s holds a secret: %s", name, text)
				}
			}
		}
	}
}

// TestCompareRefuses checks the error messages for comparisons that cannot be made.
func TestCompareRefuses(t *testing.T) {
	t.Parallel()
	demo := apptest.StartDemo(t, "magento")
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><title>Shop</title>")
	}))
	t.Cleanup(page.Close)
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, `{"messages":{"error":[{"code":401,"message":"oauth_problem=token_rejected"}]}}`)
	}))
	t.Cleanup(stranger.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	folder := t.TempDir()
	in := func(name, content string) string { return apptest.NewFile(t, name, content) }
	reads := in("reads.json", `[{"name":"a","steps":[{"as":"admin","method":"GET","path":"/customers"}]}]`)
	customers := in("customers.json", `[{"name":"a","steps":[{"as":"customer_1","method":"GET","path":"/customers/1","accept":"text/xml"}]}]`)
	writes := in("writes.json", `[{"name":"a","steps":[{"as":"admin","method":"DELETE","path":"/customers/1"}]}]`)
	signed := in("signed.json", `[{"name":"a","steps":[{"method":"GET","path":"/customers","headers":{"Authorization":"OAuth oauth_nonce=\"a\""}},{"method":"GET","path":"/customers?oauth_nonce=a"}]}]`)
	disguised := in("disguised.json", `[{"name":"a","steps":[{"as":"admin","method":"GET","path":"/customers/1","headers":{"X-HTTP-Method-Override":"DELETE"}}]}]`)
	outside := in("outside.json", `[{"name":"a","steps":[{"method":"GET","path":"!/oauth/token"},{"method":"GET","path":"!http://h/other"}]}]`)
	onlyCustomer := in("customer.yaml", "consumer: {key: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk, secret: ssssssssssssssssssssssssssssssss}\ncustomer_1: {token: tttttttttttttttttttttttttttttttt, secret: uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu}\n")
	both := func(legacy, candidate, requests string, more ...string) []string {
		return append([]string{"--legacy", legacy, "--candidate", candidate, "--requests", requests}, more...)
	}
	for _, tt := range []struct {
		name      string
		arguments []string
		want      string
	}{
		{"nothing", nil, "no --legacy: name both systems"},
		{"no candidate", []string{"--legacy", demo.Contract}, "no --candidate"},
		{"no requests", []string{"--legacy", demo.Contract, "--candidate", demo.Contract}, "no --requests: name a file of recorded exchanges"},
		{"a word", append(both(demo.Contract, demo.Contract, reads), "now"), `unknown command "now"`},
		{"a flag", []string{"--legcy", demo.Contract}, "unknown flag: --legcy"},
		{"no such file", both(demo.Contract, demo.Contract, filepath.Join(folder, "none.json")), "--requests: stat"},
		{"empty folder", both(demo.Contract, demo.Contract, t.TempDir()), "record.sample"},
		{"no exchanges", both(demo.Contract, demo.Contract, in("bad", "{")), "--requests: contracttests: bad:"},
		{"writes", both(demo.Contract, demo.Contract, writes), "can be sent: only GET requests are repeated, not DELETE"},
		{"outside", both(demo.Contract, demo.Contract, outside), "can be sent: its path is not below /api/rest"},
		{"signed", both(demo.Contract, demo.Contract, signed), "can be sent: it carries its own signature"},
		{"a write in disguise", both(demo.Contract, demo.Contract, disguised), "can be sent: a header replaces its method GET"},
		{"caller without credentials", both(demo.Contract, demo.Contract, reads, "--candidate-credentials", onlyCustomer), "the credentials of the candidate have no admin"},
		{"parallel", both(demo.Contract, demo.Contract, reads, "--parallel", "0"), "--parallel must be at least 1"},
		{"timeout", both(demo.Contract, demo.Contract, reads, "--timeout", "0s"), "--timeout must be longer"},
		{"clock", both(demo.Contract, demo.Contract, reads, "--clock", "-1s"), "--clock must not be negative: -1s"},
		{"folder of a report", both(demo.Contract, demo.Contract, reads, "--html", filepath.Join(folder, "none", "a.html")), "--html: there is no folder"},
		{"authorities", both(demo.Contract, demo.Contract, reads, "--ca", reads), "holds no certificate in PEM"},
		{"credentials", both(demo.Contract, demo.Contract, reads, "--credentials", reads), reads + ": "},
		{"no URL", both("old.example", demo.Contract, reads), "--legacy: base URL"},
		{"unreachable", both(gone.URL, demo.Contract, reads), "start the implementation, or correct --legacy"},
		{"a page", both(demo.Contract, page.URL, reads), `an HTML page ("Shop") instead of a reply of the contract: --candidate must be the address before /api/rest`},
		{"credentials of another", both(demo.Contract, stranger.URL, reads), `refuses the credentials of the Admin, 401 "oauth_problem=token_rejected": give its own with --candidate-credentials FILE`},
		{"credentials of other customers", both(demo.Contract, demo.Contract, customers, "--candidate-credentials", onlyCustomer), "answers 401 to every caller with credentials: give its own with --candidate-credentials FILE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, screen, err := runCompare(t, tt.arguments...)
			if found != nil || apptest.ExitCode(err) != program.ExitCannotRun || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q\n%s", err, tt.want, screen)
			}
		})
	}
}

// isDifference reports whether a command ended because it found a difference.
func isDifference(err error) bool {
	return err != nil && err.Error() == "the answers of the two systems differ"
}
