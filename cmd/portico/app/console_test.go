package app

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// A pageClient uses the console as a browser does.
type pageClient struct {
	t    *testing.T
	base string
	http *http.Client
}

func newPageClient(t *testing.T, base string) *pageClient {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &pageClient{t, base, &http.Client{Jar: jar}}
}

// get returns the text of a page, for which the status must be 200.
func (c *pageClient) get(path string) string {
	c.t.Helper()
	response, err := c.http.Get(c.base + path)
	return c.read(response, err, http.StatusOK)
}

func (c *pageClient) read(response *http.Response, err error, status int) string {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || response.StatusCode != status {
		c.t.Fatalf("%s: %d, want %d; %v\n%s", response.Request.URL, response.StatusCode, status, err, text)
	}
	return html.UnescapeString(string(text))
}

var csrfValue = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// submit sends a form of a page and returns the page that follows.
func (c *pageClient) submit(page, path string, status int, form url.Values) string {
	c.t.Helper()
	token := csrfValue.FindStringSubmatch(c.get(page))
	if token == nil {
		c.t.Fatalf("no form on %s", page)
	}
	form.Set("csrf", token[1])
	response, err := c.http.PostForm(c.base+path, form)
	return c.read(response, err, status)
}

// secretOf returns a value that a page shows once.
func secretOf(t *testing.T, page, label string) string {
	t.Helper()
	found := regexp.MustCompile(`<h2>` + label + `</h2>\s*<pre[^>]*>([^<]+)</pre>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no %s in\n%s", label, page)
	}
	return found[1]
}

// TestConsole: every page of a whole program shows the program's data, and its forms have the same
// effect as the commands.
func TestConsole(t *testing.T) {
	t.Parallel()
	record := t.TempDir()
	l := serveLocal(t, true, apptest.FastPasswordHashing, "PORTICO_RECORD_DIR="+record, "PORTICO_LIMITS_GUEST_BURST=77", "PORTICO_AUTH_BEARER=true")
	c := newPageClient(t, l.ops)
	expect := func(page string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("no %q in\n%s", text, page)
			}
		}
	}
	t.Run("overview", func(t *testing.T) {
		expect(c.get("/"), "limits.guest_burst", "77", "environment PORTICO_LIMITS_GUEST_BURST", "ready", "documented", "sql</strong>", "redis</strong>")
	})
	t.Run("migration", func(t *testing.T) {
		expect(c.get("/console/migration"), "There is no legacy store", "products", "alone")
		expect(c.submit("/console/migration", "/console/migration/preview", 200, url.Values{"lines": {"routes:\n  - {resource: products, to: legacy}"}}),
			"These lines would be refused", "legacy.url: must be set, because routes sends requests of products there")
	})
	t.Run("differences", func(t *testing.T) { expect(c.get("/console/differences"), "No route is shadowed", "No sweep is noted") })
	t.Run("refused", func(t *testing.T) {
		r := apptest.Send(t, http.MethodGet, l.contract+"/api/rest/stockitems?limit=1&secret=1", "", "Authorization", strings.Replace(apptest.DemoAdmin(), `%26`, `x%26`, 1))
		if r.Status != http.StatusUnauthorized {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		page := c.get("/console/callers")
		expect(page, "signature_invalid", "<code>aaaaaaaa</code>", "GET /api/rest/stockitems</code>", "Data set")
		if strings.Contains(page, "secret=1") {
			t.Error("the page shows a query")
		}
	})
	t.Run("credentials", func(t *testing.T) {
		const page = "/console/credentials"
		created := c.submit(page, page+"/add-consumer", 200, url.Values{"name": {"Probe"}})
		key, secret := secretOf(t, created, "Consumer key"), secretOf(t, created, "Consumer secret")
		created = c.submit(page, page+"/add-token", 200, url.Values{"consumer": {key}, "as": {"admin"}, "id": {"1"}})
		token, tokenSecret := secretOf(t, created, "Token"), secretOf(t, created, "Token secret")
		header := apptest.PlaintextHeader(key, secret, token, tokenSecret)
		call := func() int {
			return apptest.Send(t, http.MethodGet, l.contract+"/api/rest/stockitems?limit=1", "", "Authorization", header).Status
		}
		if got := call(); got != http.StatusOK {
			t.Errorf("the new token: %d", got)
		}
		listed := c.get(page)
		expect(listed, "Probe", key, token[:8]+"…")
		if strings.Contains(listed, secret) || strings.Contains(listed, tokenSecret) {
			t.Error("the list has secrets")
		}
		expect(c.submit(page, page+"/revoke-token", 200, url.Values{"token": {token}}), "The token is revoked.", "revoked</span>")
		if got := call(); got != http.StatusUnauthorized {
			t.Errorf("the revoked token: %d", got)
		}
		expect(c.submit(page, page+"/add-token", 422, url.Values{"consumer": {key}, "id": {"99"}}), "there is no administrator 99")
		expect(c.submit(page, page+"/remove-consumer", 200, url.Values{"consumer": {key}}), "The program is removed")
		expect(c.submit(page, page+"/remove-consumer", 422, url.Values{"consumer": {key}}), "there is no such consumer")

		created = c.submit(page+"?list=keys", page+"/add-key", 200, url.Values{"name": {"Monitor"}, "as": {"customer"}, "id": {"1"}})
		expect(c.get(page+"?list=keys"), "Monitor", "customer 1")
		bearer := "Bearer " + secretOf(t, created, "Key")
		if got := apptest.Send(t, http.MethodGet, l.contract+"/api/rest/customers/1", "", "Authorization", bearer).Status; got != http.StatusOK {
			t.Errorf("the new key: %d", got)
		}
		expect(c.submit(page+"?list=keys", page+"/revoke-key", 200, url.Values{"key": {"1"}}), "The key is revoked.")
		if got := apptest.Send(t, http.MethodGet, l.contract+"/api/rest/customers/1", "", "Authorization", bearer).Status; got != http.StatusUnauthorized {
			t.Errorf("the revoked key: %d", got)
		}

		expect(c.submit(page+"?list=admins", page+"/add-admin", 422, url.Values{"username": {"carol"}, "password": {"short"}}), "at least 8 characters")
		expect(c.submit(page+"?list=admins", page+"/add-admin", 200, url.Values{"username": {"carol"}, "password": {"long-enough-password"}}), "carol", "is added")
		expect(c.submit(page+"?list=admins", page+"/disable-admin", 200, url.Values{"username": {"carol"}, "id": {"2"}}), "disabled</span>")
		expect(c.submit(page+"?list=admins", page+"/enable-admin", 200, url.Values{"username": {"carol"}, "id": {"2"}}), "can log in again")
		log := l.log.Text()
		for _, text := range []string{secret, tokenSecret, token, key, "long-enough-password", bearer[7:]} {
			if strings.Contains(log, text) {
				t.Errorf("the log has %q", text)
			}
		}
		if got := strings.Count(log, "msg=audit"); got != 9 {
			t.Errorf("%d audit lines, want one for each change", got)
		}
	})
	t.Run("cache", func(t *testing.T) {
		read := func() string {
			return apptest.Send(t, http.MethodGet, l.contract+"/api/rest/products/1", "", "Accept", "application/json").Header.Get("X-Cache")
		}
		read()
		if got := read(); got != "HIT" {
			t.Fatalf("X-Cache %q", got)
		}
		expect(c.get("/console/cache?product=1"), "product:1", `<td class="number">1</td>`)
		for path, form := range map[string]url.Values{"/purge-product": {"product": {"1"}}, "/purge-tag": {"tag": {"product:1"}}, "/purge": {}} {
			expect(c.submit("/console/cache", "/console/cache"+path, 200, form), "Purged.")
			if got := read(); got != "MISS" {
				t.Errorf("after %s: X-Cache %q", path, got)
			}
		}
	})
	t.Run("try", func(t *testing.T) {
		const page = "/console/try"
		expect(c.submit(page, page, 200, url.Values{"call": {"getProduct"}, "param-id": {"1"}, "caller": {"guest"}, "accept": {"application/json"}}), `"entity_id":"1"`, "curl -g -i")
		of := func(letter string) string { return strings.Repeat(letter, 32) }
		answered := c.submit(page, page, 200, url.Values{"call": {"listStockItems"}, "caller": {of("a") + " " + of("c")}, "accept": {"text/xml"}, "query": {"limit=1"}})
		expect(answered, "<item_id>1</item_id>", "Authorization: OAuth ")
		if strings.Contains(answered, of("b")) || strings.Contains(answered, of("d")) {
			t.Error("the page has a secret")
		}
		expect(c.submit(page, page, 422, url.Values{"call": {"listStockItems"}, "caller": {of("a") + " unknown"}, "accept": {"text/xml"}}), "no longer known")
		expect(c.submit(page, page, 200, url.Values{"call": {"getProduct"}, "param-id": {"999"}, "caller": {"guest"}, "accept": {"application/json"}}), ">404<")
	})
}

// TestConsoleClosed: under --demo-public no page opens without a token, and with ops.console off
// there is no console.
func TestConsoleClosed(t *testing.T) {
	t.Parallel()
	data := demotest.Data(t)
	db, err := openDemo(t.Context(), t.TempDir(), data, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, tt := range []struct {
		name    string
		environ []string
		public  bool
		status  int
	}{
		{"open", nil, false, 200},
		{"public", nil, true, 403},
		{"public with a token", []string{"PORTICO_OPS_TOKEN=a-token-of-sixteen"}, true, 303},
		{"off", []string{"PORTICO_OPS_CONSOLE=false"}, false, 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProgram()
			p.DemoPublic = tt.public
			cfg, err := config.Load(config.Sources{Sections: p.Sections(), Environ: tt.environ})
			if err != nil {
				t.Fatal(err)
			}
			a, err := newApp(t.Context(), p, cfg, db, data, program.NewLogger(io.Discard, cfg))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = a.close() }()
			for _, path := range []string{"/", "/console/credentials"} {
				w := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Host = "127.0.0.1:9464"
				a.ops.handler().ServeHTTP(w, r)
				if w.Code != tt.status {
					t.Errorf("%s: %d, want %d", path, w.Code, tt.status)
				}
			}
		})
	}
}

// newConsoleShop returns a planShop with a shadowed route and a noted sweep, which have both found
// differences.
func newConsoleShop(t *testing.T) *planShop {
	t.Helper()
	s := newPlanShop(t)
	s.settings = strings.Replace(s.settings, "ops: {token: a-token-of-sixteen}\n", "", 1)
	s.paste("routes:", "  - {resource: all, to: legacy}", "  - {resource: products, calls: reads, to: legacy, shadow: true}")
	s.serve(t)
	sweep := plan.Sweep{
		Legacy: s.old.URL, Candidate: s.front.URL, Started: time.Now(), Ended: time.Now(), Complete: true, Callers: []string{"guest"}, Sample: plan.WholeSample,
		Resources: map[string]plan.Compared{"products": {Answers: 9, Different: 2}},
	}
	fields := []plan.SweptField{{Call: "getProduct", Field: "price", Answers: 2, Examples: []plan.SweptExample{{As: "guest", Request: "GET /api/rest/products/1", Record: "1", Legacy: new(`"1.00"`)}}}}
	db := s.open()
	for name, found := range map[string]any{plan.SweepEvidence: sweep, plan.SweptFieldsEvidence: fields} {
		text, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Evidence().Note(t.Context(), name, string(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s.get("/api/rest/products/1")
	testenv.Await(t, "the comparison", func() bool { return s.app.rules.current().watchers.shadowReads.Idle() })
	testenv.Await(t, "the counts", func() bool {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(s.file), "recorded", "usage-*.json"))
		return err == nil && len(files) > 0
	})
	return s
}

// TestConsoleMigration: the pages of a migration show the data of this process and its store, and a
// preview is checked like the configuration.
func TestConsoleMigration(t *testing.T) {
	t.Parallel()
	s := newConsoleShop(t)
	c := newPageClient(t, s.ops.URL)
	for path, texts := range map[string][]string{
		"/console/migration":                                        {s.old.URL, "legacy, shadowed", "1 same", "2 of 9 differ", "{resource: products, calls: reads, to: legacy, shadow: true}", "Next steps"},
		"/console/differences":                                      {"<td><code>price</code></td>", "The last sweep ended at"},
		"/console/differences?view=samples&source=sweep":            {"GET /api/rest/products/1", `"1.00"`},
		"/console/differences?ignore=price":                         {"  ignore: [price]"},
		"/console/callers":                                          {"aaaaaaaa", "Data set", "Connector"},
		"/console/callers?caller=aaaaaaaa":                          {"getProduct", "json"},
		"/console/differences?view=samples&source=shadow&call=none": {"No sample is like that."},
	} {
		page := c.get(path)
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s: no %q in\n%s", path, text, page)
			}
		}
	}
	for lines, text := range map[string]string{
		"routes:\n  - {resource: all, to: legacy}\n  - {resource: products, calls: reads, to: portico}": "<td>shadowed → reads moved</td>",
		"routes:\n  - {resource: cats, to: legacy}":                                                     "these lines:2: routes[0].resource",
		strings.Join(s.routes, "\n"):                                                                    "These lines are valid, and change nothing.",
	} {
		if page := c.submit("/console/migration", "/console/migration/preview", 200, url.Values{"lines": {lines}}); !strings.Contains(page, text) {
			t.Errorf("%s: no %q in\n%s", lines, text, page)
		}
	}
	if got := s.app.rules.current().watchers.config.Routes; len(got) != 2 {
		t.Errorf("a preview has changed the routes to %v", got)
	}
}

// BenchmarkConsoleSample measures the sampling of the metrics, which the console does every ten
// seconds.
func BenchmarkConsoleSample(b *testing.B) {
	a, _ := startDemo(b, "documented")
	for b.Loop() {
		if _, err := a.ops.registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkConsoleConsumers measures the pages of 5,000 registered consumers, on the server.
func BenchmarkConsoleConsumers(b *testing.B) {
	a, _ := startDemo(b, "documented", "PORTICO_RECORD_DIR="+b.TempDir())
	addConsumers(b, a.db, 5000)
	for _, path := range []string{"/console/credentials", "/console/credentials?page=100", "/console/callers", "/console/callers?search=program+4999"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				a.ops.console.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
		})
	}
}

// addConsumers adds consumers with a token each.
func addConsumers(tb testing.TB, db *sqlstore.DB, n int) {
	tb.Helper()
	for i := range n {
		added, err := db.Credentials().AddConsumer(tb.Context(), adapter.Consumer{Name: fmt.Sprintf("Program %d", i)})
		if err == nil {
			_, err = db.Credentials().AddToken(tb.Context(), adapter.Token{ConsumerID: added.ID, AdminID: 1})
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}
