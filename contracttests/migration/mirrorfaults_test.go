//go:build linux

package migration_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A faultyMirror is a process that mirrors all writes at a legacy store, with faults in between.
type faultyMirror struct {
	*apptest.Front
	rest     *faultyShop
	restLine *apptest.SlowProxy // between the process and rest
	p        *apptest.Process
	writer   *apptest.Client // writes to Portico
	there    *apptest.Client // reads the legacy store
	db       *sqlstore.DB
	parts    sync.Mutex // held by the test of a part, whose creates no natural key tells from others
}

// newFaultyMirror starts a process, and waits until Portico has all writes.
func newFaultyMirror(t *testing.T, environ ...string) *faultyMirror {
	t.Helper()
	m := &faultyMirror{Front: apptest.NewFront(t, apptest.MirroredWrites)}
	m.rest = newFaultyShop(t, m.Target.BaseURL)
	m.restLine = apptest.NewSlowProxy(t, m.rest.Listener.Addr().String())
	m.Environ = append(m.Environ, apptest.LegacyConsumer()...)
	m.Environ = append(m.Environ, "PORTICO_LEGACY_URL=http://"+m.restLine.Listen, "PORTICO_FOLLOW_WAIT=3s", "PORTICO_LEGACY_TIMEOUT=1500ms",
		"PORTICO_UPSTREAM_BREAKER_FAILURES=100000") // so that the faults of one case do not affect another
	m.there = apptest.NewClient(t, m.Target.BaseURL, apptest.DemoAdmin())
	var err error
	m.db, err = sqlstore.Open(t.Context(), sqlstore.Options{DSN: m.Commands.Get("PORTICO_SQL_DSN"), MediaDir: m.Commands.Get("PORTICO_SQL_MEDIA_DIR"), SecretKey: apptest.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.db.Close() })
	m.p, m.writer = m.Serve(t, environ...)
	m.awaitTurn(t, true)
	return m
}

// awaitTurn waits until all writes have been handed over.
func (m *faultyMirror) awaitTurn(t *testing.T, mirrored bool) {
	t.Helper()
	testenv.Await(t, "a turn of all writes", func() bool {
		owners, err := m.db.WriteOwners().All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(owners) >= 8 && !slices.ContainsFunc(owners, func(o outbox.Owner) bool { return o.Turning || o.Mirrored != mirrored })
	})
}

// write sends a write.
func (m *faultyMirror) write(t *testing.T, method, path, body string) apptest.Reply {
	t.Helper()
	got, err := m.writer.Call(t.Context(), method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// mustWrite sends a write that must succeed, and returns the path of the created record.
func (m *faultyMirror) mustWrite(t *testing.T, method, path, body string) (created string) {
	t.Helper()
	got := m.write(t, method, path, body)
	if got.Status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
	}
	_, created, _ = strings.Cut(got.Header.Get("Location"), "/api/rest")
	return created
}

// pending returns the changes in the outbox of a product.
func (m *faultyMirror) pending(t *testing.T, product adapter.Key) (found []outbox.Entry) {
	t.Helper()
	all, err := m.db.Outbox().Entries(t.Context(), coordination.EntryFilter{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(e outbox.Entry) bool { return e.Root != outbox.Root{Resource: adapter.Products, Key: product} })
}

// expectSame waits until the legacy store has the same as Portico at a path.
func (m *faultyMirror) expectSame(t *testing.T, path string) {
	t.Helper()
	var here, there apptest.Reply
	if !testenv.Poll(t, func() bool {
		here, there = m.writer.Get(t, path), m.there.Get(t, path)
		return here.Status == there.Status && withoutURLs(here.Body) == withoutURLs(there.Body)
	}) {
		t.Fatalf("%s\nhere  %d %s\nthere %d %s", path, here.Status, here.Body, there.Status, there.Body)
	}
}

// TestMirrorFaults lets the legacy store's REST interface misbehave towards writes, each of
// another product or customer, at the same time. Outside nightly runs it is a sample.
func TestMirrorFaults(t *testing.T) {
	m, sample := newFaultyMirror(t), testenv.NewSample(t)
	t.Run("at the same time", func(t *testing.T) {
		for _, tt := range changeFaults() {
			for _, method := range []string{http.MethodPut, http.MethodDelete} {
				if !sample.Takes(24) {
					continue
				}
				t.Run(method+" "+tt.name, func(t *testing.T) {
					t.Parallel() // much of it is waiting
					m.testChange(t, tt, method)
				})
			}
		}
		for _, tt := range createFaults() {
			if !sample.Takes(20) {
				continue
			}
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				m.testCreate(t, tt)
			})
		}
	})
	t.Run("away", m.testAway)
	t.Run("order", m.testOrder)
	t.Run("sold", m.testSold)
	m.p.Stop(t)
}

// A changeFault is the outcome of a change or a deletion that the legacy store answers with
// faults.
type changeFault struct {
	name     string
	faults   []shopFault
	requests int    // at least so many are sent
	parked   string // the reason why the change becomes a dead letter
	parksPUT bool   // only a change is
}

func changeFaults() []changeFault {
	return []changeFault{
		{name: "500", faults: []shopFault{answers(500, "oops")}, requests: 2},
		{name: "500 twice", faults: []shopFault{answers(500, ""), answers(500, "")}, requests: 3},
		{name: "500 after execution", faults: []shopFault{executed(answers(500, ""))}, requests: 2},
		{name: "503 of maintenance", faults: []shopFault{answers(503, "<html>", "Retry-After", "60")}, requests: 2},
		{name: "502 after execution", faults: []shopFault{executed(answers(502, ""))}, requests: 2},
		{name: "429", faults: []shopFault{answers(429, "", "Retry-After", "1")}, requests: 2},
		{name: "401", faults: []shopFault{refuses(401, "oauth_problem=token_revoked")}, requests: 2},
		{name: "403", faults: []shopFault{refuses(403, "Access denied")}, requests: 2},
		{name: "302 to a login page", faults: []shopFault{answers(302, "<html>", "Location", "/customer/account/login/")}, requests: 2},
		{name: "200 and nothing stored", faults: []shopFault{answers(200, "")}, requests: 2},
		{name: "200 with a page", faults: []shopFault{answers(200, "<html>login</html>", "Content-Type", "text/html")}, requests: 2},
		{name: "200 with garbage after execution", faults: []shopFault{executed(answers(200, "\x00\xff{"))}, requests: 1},
		{name: "no HTTP", faults: []shopFault{noHTTP}, requests: 2},
		{name: "no HTTP after execution", faults: []shopFault{executed(noHTTP)}, requests: 2},
		{name: "too slow", faults: []shopFault{silentUntilGone}, requests: 2},
		{name: "too slow after execution", faults: []shopFault{executed(silentUntilGone)}, requests: 2},
		{name: "executed too late", faults: []shopFault{executedLate}, requests: 2},
		{name: "cut", faults: []shopFault{cut}, requests: 2},
		{name: "cut after execution", faults: []shopFault{executed(cut)}, requests: 2},
		{name: "an endless reply", faults: []shopFault{endless}, requests: 2},
		{name: "an endless reply after execution", faults: []shopFault{executed(endless)}, requests: 2},
		{name: "404", faults: []shopFault{refuses(404, "Resource not found.")}, requests: 1, parked: "Resource not found.", parksPUT: true},
		{name: "400", faults: []shopFault{refuses(400, "Not on a Tuesday.")}, requests: 1, parked: "Not on a Tuesday."},
		{name: "400 without a reason", faults: []shopFault{answers(400, "<html>")}, requests: 1, parked: "The request data is invalid."},
	}
}

// testChange lets the legacy store misbehave towards a change or the deletion of a product. The
// client does not notice. In the end the legacy store has the written values, or the change is a
// dead letter with the reason, and later writes are delivered.
func (m *faultyMirror) testChange(t *testing.T, tt changeFault, method string) {
	path := m.mustWrite(t, http.MethodPost, "/products", newProduct(method+" "+tt.name))
	m.rest.fail(method+" "+path+" ", tt.faults...)
	body := `{"price": 7, "meta_title": "T"}`
	if method == http.MethodDelete {
		body = ""
		if tt.parksPUT {
			tt.parked = ""
		}
	}
	m.mustWrite(t, method, path, body)
	product := keyIn(t, path)
	if tt.parked == "" {
		testenv.Await(t, "an empty outbox", func() bool { return len(m.pending(t, product)) == 0 })
	} else {
		testenv.Await(t, "a parked change", func() bool { left := m.pending(t, product); return len(left) == 1 && left[0].Parked })
		if got := m.pending(t, product)[0].Reason; got != tt.parked {
			t.Errorf("the reason is %q, want %q", got, tt.parked)
		}
	}
	if method == http.MethodPut {
		item := m.stockItem(t, product)
		m.mustWrite(t, http.MethodPut, item, `{"qty": 3}`)
		m.expectSame(t, item) // although earlier changes may be dead letters
	}
	if tt.parked != "" {
		if n, err := m.db.Outbox().Retry(t.Context(), m.pending(t, product)[0].ID); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	m.expectSame(t, path)
	if n := len(m.rest.requests(method + " " + path + " ")); n < tt.requests {
		t.Errorf("%d requests, want %d", n, tt.requests)
	}
}

// A createFault is the outcome of the creation of a record that the legacy store answers with a
// fault.
type createFault struct {
	name  string
	what  string // "product", "customer", "address", "image" or "comment"
	fault shopFault
	// status is the status of the reply to the client. If it is 503, the outcome may be unknown,
	// and the client asks again, which must succeed.
	status  int
	unknown bool
	rows    int // in the legacy store, in the end
}

func createFaults() (all []createFault) {
	nowhere := answers(200, "", "Location", "/api/rest/products/99999")
	for _, what := range []string{"product", "customer"} {
		for _, c := range []createFault{
			{name: "cut after execution", fault: executed(cut), status: 200},
			{name: "500 after execution", fault: executed(answers(500, "")), status: 200},
			{name: "200 with a page after execution", fault: executed(answers(200, "<html>")), status: 200},
			{name: "no HTTP after execution", fault: executed(noHTTP), status: 200},
			{name: "an endless reply after execution", fault: executed(endless), status: 200},
			{name: "too slow after execution", fault: executed(silentUntilGone), status: 200},
			{name: "executed too late", fault: executedLate, status: 200},
			{name: "cut", fault: cut, status: 503, unknown: true},
			{name: "500", fault: answers(500, ""), status: 503, unknown: true},
			{name: "200 and nothing stored", fault: answers(200, ""), status: 503, unknown: true},
			{name: "200 with the address of nothing", fault: nowhere, status: 503, unknown: true},
			{name: "302 to a login page", fault: answers(302, "", "Location", "/customer/account/login/"), status: 503, unknown: true},
			{name: "401", fault: refuses(401, "oauth_problem=token_revoked"), status: 503},
			{name: "403", fault: refuses(403, "Access denied"), status: 503},
			{name: "429", fault: answers(429, ""), status: 503},
		} {
			c.name, c.what, c.rows = what+", "+c.name, what, 1
			all = append(all, c)
		}
	}
	return append(all,
		createFault{name: "product, 400", what: "product", fault: refuses(400, "Not on a Tuesday."), status: 400},
		createFault{name: "address, 429", what: "address", fault: answers(429, ""), status: 503, rows: 1},
		createFault{name: "address, cut", what: "address", fault: cut, status: 500, unknown: true},
		createFault{name: "address, cut after execution", what: "address", fault: executed(cut), status: 500, unknown: true, rows: 1},
		createFault{name: "address, too slow after execution", what: "address", fault: executed(silentUntilGone), status: 500, unknown: true, rows: 1},
		createFault{name: "address, with the address of nothing", what: "address", fault: answers(200, "", "Location", "/api/rest/customers/addresses/99999"), status: 500, unknown: true},
		createFault{name: "image, cut", what: "image", fault: cut, status: 500, unknown: true},
		createFault{name: "image, with the address of nothing", what: "image", fault: answers(200, "", "Location", "/api/rest/products/1/images/99999"), status: 500, unknown: true},
		createFault{name: "comment, cut", what: "comment", fault: cut, status: 500, unknown: true},
	)
}

// testCreate creates a record while the legacy store misbehaves. It must be there once in the
// end, or not at all, or the outcome is unknown.
func (m *faultyMirror) testCreate(t *testing.T, tt createFault) {
	name := strings.NewReplacer(" ", "-", ",", "").Replace(tt.name)
	path, body, rows := "/products", newProduct(name), "catalog_product_entity WHERE sku = ?"
	switch tt.what {
	case "customer":
		name += "@example.com"
		path, body, rows = "/customers", fmt.Sprintf(`{"firstname":"A","lastname":"B","email":%q,"website_id":1,"group_id":1,"password":"swordfish1"}`, name), "customer_entity WHERE email = ?"
	case "address":
		path, body, rows = "/customers/1/addresses", apptest.AddressBody(name), "customer_address_entity_text WHERE value = ?"
	case "image":
		path, body, rows = "/products/1/images", fmt.Sprintf(`{"file_name":%q,"file_mime_type":"image/png","file_content":%s}`, name, onePixel), "catalog_product_entity_media_gallery WHERE value LIKE CONCAT('%', ?, '%')"
	case "comment":
		path, body, rows = "/orders/1/comments", fmt.Sprintf(`{"comment":%q,"status":"pending","is_visible_on_front":0,"is_customer_notified":0}`, name), "sales_flat_order_status_history WHERE comment = ?"
	}
	if tt.what != "product" && tt.what != "customer" {
		m.parts.Lock()
		defer m.parts.Unlock()
	}
	of := fmt.Sprintf("%q", name)
	m.rest.fail(of, tt.fault)
	known := m.unknownCreates(t)
	got := m.write(t, http.MethodPost, path, body)
	if got.Status != tt.status || (got.Status == http.StatusServiceUnavailable) != (got.Header.Get("Retry-After") != "") {
		t.Fatalf("%d %s, Retry-After %q, want %d", got.Status, got.Body, got.Header.Get("Retry-After"), tt.status)
	}
	isUnknown := func() bool {
		return slices.ContainsFunc(m.unknownCreates(t), func(c outbox.Create) bool {
			isKnown := slices.ContainsFunc(known, func(k outbox.Create) bool { return k.ID == c.ID })
			if tt.what == "product" || tt.what == "customer" {
				return strings.HasSuffix(c.NaturalKey, name)
			}
			return !isKnown && c.NaturalKey == "" && strings.Contains(string(c.Resource), tt.what)
		})
	}
	if is := isUnknown(); is != tt.unknown {
		t.Errorf("it is unknown %t, want %t", is, tt.unknown)
	}
	if got.Status == http.StatusServiceUnavailable {
		m.mustWrite(t, http.MethodPost, path, body)
		if isUnknown() {
			t.Error("it is unknown although it was created")
		}
	}
	if n := countRows(t, m.DB, rows, name); n != tt.rows {
		t.Errorf("the legacy store has it %d times, want %d", n, tt.rows)
	}
	if n := len(m.rest.requests(of)); got.Status == http.StatusInternalServerError && n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// testAway writes while nothing listens at the address of the legacy store. Changes are accepted,
// and records that it must create first are refused for now.
func (m *faultyMirror) testAway(t *testing.T) {
	path := m.mustWrite(t, http.MethodPost, "/products", newProduct("away"))
	m.restLine.Stop()
	for _, create := range []struct{ path, body string }{{"/products", newProduct("away too")}, {"/customers/1/addresses", apptest.AddressBody("away")}} {
		if got := m.write(t, http.MethodPost, create.path, create.body); got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s %v", create.path, got.Status, got.Body, got.Header)
		}
	}
	before := len(m.unknownCreates(t))
	m.mustWrite(t, http.MethodPut, path, `{"price": 8}`)
	testenv.Await(t, "an attempt", func() bool { return m.pending(t, keyIn(t, path))[0].Reason != "" })
	if first := m.pending(t, keyIn(t, path))[0]; first.Attempts != 0 || first.Parked {
		t.Errorf("%+v: that nobody answers is no fault of the change", first)
	}
	m.restLine.Start()
	m.expectSame(t, path)
	if after := len(m.unknownCreates(t)); after != before {
		t.Errorf("%d creates are unknown, and were not sent", after-before)
	}
}

// testOrder changes a product, its stock item, and another product, while the first change fails.
// The changes of one product are delivered in order, and the other product does not wait.
func (m *faultyMirror) testOrder(t *testing.T) {
	first, other := m.mustWrite(t, http.MethodPost, "/products", newProduct("first")), m.mustWrite(t, http.MethodPost, "/products", newProduct("other"))
	item := m.stockItem(t, keyIn(t, first))
	m.rest.fail("PUT "+first+" ", answers(500, ""), cut)
	m.mustWrite(t, http.MethodPut, first, `{"price": 2}`)
	m.mustWrite(t, http.MethodPut, item, `{"qty": 2}`)
	m.mustWrite(t, http.MethodPut, other, `{"price": 2}`)
	for _, path := range []string{other, first, item} {
		m.expectSame(t, path)
	}
	var order []string
	for _, text := range m.rest.requests("PUT "+first+" ", "PUT "+item+" ", "PUT "+other+" ") {
		order = append(order, strings.Fields(text)[1])
	}
	// Both products are sent at the same time.
	at := slices.Index(order, other)
	if at < 0 || at > 2 || !slices.Equal(slices.Delete(slices.Clone(order), at, at+1), []string{first, first, first, item}) {
		t.Errorf("requests in the order %v", order)
	}
}

// testSold sets a quantity in stock. Just when the legacy store has stored it, its database
// cannot be asked about that, and meanwhile a customer buys an item. The change is sent once
// more, and must not put the sold item back.
func (m *faultyMirror) testSold(t *testing.T) {
	item := fmt.Sprintf("/stockitems/%d", soldProduct)
	const failure = "changes cannot be repeated at the legacy store now"
	failures := func() int { return strings.Count(m.p.Stderr.Text(), failure) }
	stored, before := make(chan struct{}), failures()
	m.rest.fail("PUT "+item+" ", func(w http.ResponseWriter, r *http.Request, execute func() *httptest.ResponseRecorder) {
		honest(w, r, execute)
		m.Line.Stop()
		close(stored)
	})
	m.mustWrite(t, http.MethodPut, item, `{"qty": 50}`)
	<-stored
	if _, err := m.PlaceOrder(t.Context(), 1, magento1test.OrderLine{Product: soldProduct, Quantity: 2}); err != nil {
		t.Fatal(err)
	}
	testenv.Await(t, "a failure", func() bool { return failures() > before })
	m.Line.Start()
	testenv.Await(t, "an empty outbox", func() bool { return len(m.pending(t, soldProduct)) == 0 })
	m.expectSame(t, item)
	if body := m.there.Get(t, item).Body; !strings.Contains(body, `"qty":"48.0000"`) {
		t.Errorf("50 were set and 2 sold: %s", body)
	}
}

// keyIn returns the key at the end of a path.
func keyIn(t *testing.T, path string) adapter.Key {
	t.Helper()
	key, err := strconv.ParseInt(path[strings.LastIndex(path, "/")+1:], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return adapter.Key(key)
}

// stockItem returns the path of the stock item of a product.
func (m *faultyMirror) stockItem(t *testing.T, product adapter.Key) string {
	t.Helper()
	var id int64
	if err := m.DB.QueryRowContext(t.Context(), "SELECT item_id FROM cataloginventory_stock_item WHERE product_id = ?", product).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/stockitems/%d", id)
}

// unknownCreates returns the creates with an unknown outcome, by their resource and natural key.
func (m *faultyMirror) unknownCreates(t *testing.T) (found []outbox.Create) {
	t.Helper()
	all, err := m.db.Outbox().Creates(t.Context(), "", "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(c outbox.Create) bool { return c.Reason == "" })
}

// countRows counts rows of the legacy store.
func countRows(t *testing.T, db *sql.DB, from string, arguments ...any) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+from, arguments...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// onePixel is the content of the smallest PNG, as JSON.
const onePixel = `"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAACXBIWXMAAA7EAAAOxAGVKw4bAAAADElEQVQImWP4z8AAAAMBAQCc479ZAAAAAElFTkSuQmCC"`
