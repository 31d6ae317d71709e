//go:build linux

package importer_test

import (
	"bytes"
	"crypto/md5" //nolint:gosec // of legacy stores
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// TestMedusaImport imports legacy stores into Portico in front of a live Medusa, which is down for
// a while, and compares Portico's replies after the import with the originals' replies.
func TestMedusaImport(t *testing.T) {
	t.Run("demo", func(t *testing.T) {
		m := sqltest.StartMedusa(t)
		shop := importInto(t, medusaBackend(m), magento1test.Demo)
		target := shop.Target(t)
		replayReads(t, target, contracttests.Exchanges, 172)
		suiteReads(t, target, "medusa", 145)
		shop.addHardRecords(t)
		checkHardRecords(t, m)
	})
	t.Run("rich", func(t *testing.T) {
		m := sqltest.StartMedusa(t)
		shop := importInto(t, medusaBackend(m), magento1test.Rich)
		replayReads(t, shop.Target(t), contracttests.RichExchanges, 136)
		checkMedusaImages(t, m)
	})
}

// TestVendureImport is TestMedusaImport with a Vendure. It does not take the shop Rich, which has
// two e-mail addresses that differ only in case.
func TestVendureImport(t *testing.T) {
	shop := importInto(t, vendureBackend(sqltest.StartVendure(t)), magento1test.Demo)
	target := shop.Target(t)
	replayReads(t, target, contracttests.Exchanges, 172)
	suiteReads(t, target, "vendure", 145)
	shop.addHardRecords(t)
}

// TestMagento2Import is TestMedusaImport with the Magento 2 that the environment names. Unlike Medusa
// it takes an e-mail address once in each website.
func TestMagento2Import(t *testing.T) {
	t.Run("demo", func(t *testing.T) {
		m := sqltest.RunningMagento2(t, "demo")
		shop := importInto(t, magento2Backend(m), magento1test.Demo)
		target := shop.Target(t)
		replayReads(t, target, contracttests.Exchanges, 172)
		suiteReads(t, target, "magento2", 145)
		shop.sweep(t)
		shop.addPasswords(t, m)
	})
	t.Run("rich", func(t *testing.T) {
		shop := importInto(t, magento2Backend(sqltest.RunningMagento2(t, "rich")), magento1test.Rich)
		shop.sweep(t)
		replayReads(t, shop.Target(t), contracttests.RichExchanges, 136)
	})
}

// TestMagento2Killed ends pushes by SIGKILL when Magento 2 has done a write and Portico does not know it yet. Further
// pushes complete, Magento 2 has every record once, and Portico answers as without a backend.
func TestMagento2Killed(t *testing.T) {
	m := sqltest.RunningMagento2(t, "rich")
	backend := magento2Backend(m)
	line := newWriteLine(t, backend.url)
	s := apptest.NewImported(t, magento1test.Rich, "mage_", sqltest.SQLite(t))
	s.Run(t, "--media", s.Media, "all")
	s.Commands = s.Commands.With(backend.settings()...).With("PORTICO_REST_URL=" + line.url)
	pushes := make(chan *apptest.Process, 1)
	line.last = func() {
		push := <-pushes
		push.Signal(t, os.Kill)
		<-push.Ended
	}
	sample := testenv.NewSample(t)
	const kills = 6
	for range kills {
		line.left.Store(1 + sample.Int64N(20)) // in all, fewer than a push takes
		push := apptest.StartProgram(t, s.Commands, apptest.Program(t), "ids", "push", "--config", s.Config)
		pushes <- push
		<-push.Ended
		if len(pushes) > 0 {
			t.Fatalf("a push ends by itself: %s", push.Stderr.Text())
		}
	}
	t.Logf("%d pushes are killed, after %d writes", kills, line.writes.Load())
	line.left.Store(1 << 40)
	if _, _, err := s.Commands.RunWith(t, nil, 2*time.Hour, "ids", "push", "--config", s.Config); err != nil {
		t.Error(err)
	}
	if out := s.Commands.MustRun(t, "ids", "check", "--config", s.Config); out != "nothing found\n" {
		t.Error(out)
	}
	for list, table := range map[string]string{
		"/products": "catalog_product_entity", "/customers/search": "customer_entity", "/orders": "sales_flat_order",
		"/categories/list": "catalog_category_entity", "/customerGroups/search": "customer_group",
	} {
		var want int
		if err := s.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM mage_"+table).Scan(&want); err != nil {
			t.Fatal(err)
		}
		got := sqltest.LiveValue(m.Call(t, http.MethodGet, list+"?searchCriteria[pageSize]=1", nil), "total_count")
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("Magento 2 has %v in %s, want %d", got, list, want)
		}
	}
	line.last = nil
	(&liveImport{s, backend, line}).sweep(t)
}

// A liveImport is a shop that was imported into Portico in front of a live backend.
type liveImport struct {
	*apptest.Imported
	backend liveBackend
	line    *writeLine
}

// importInto imports a shop: first while the backend goes away, then as a whole, then again,
// which changes nothing.
func importInto(t *testing.T, b liveBackend, shop magento1test.Shop) *liveImport {
	t.Helper()
	line := newWriteLine(t, b.url)
	path := filepath.Join(t.TempDir(), "store.db")
	s := &liveImport{apptest.NewImported(t, shop, "mage_", "sqlite:"+path), b, line}
	s.Commands = s.Commands.With(b.settings()...).With("PORTICO_REST_URL=" + line.url)
	const untilAway = 20
	line.left.Store(untilAway)
	interrupted, err := s.importAll(t)
	if err == nil || !strings.Contains(err.Error(), "push ") || interrupted.AtBackend == 0 || interrupted.Counts()["products"] == "" {
		t.Errorf("while the backend is away: %v\n%+v", err, interrupted)
	}
	line.left.Store(1 << 40)
	begun := time.Now()
	whole, err := s.importAll(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d records were at the backend when it went away, and %d are after another %s and %d writes", shop, interrupted.AtBackend, whole.AtBackend, time.Since(begun).Round(time.Millisecond), line.writes.Load())
	if out := s.Commands.MustRun(t, "ids", "check", "--config", s.Config); out != "nothing found\n" {
		t.Error(out)
	}
	records := func() map[string][]string {
		contents := contentsOf(t, path)
		// The backend may return the lines of an order in any order, so that its document seems to change.
		delete(contents, "backend_record")
		// Each push renews the epoch of the store, so that no process uses older replies.
		delete(contents, "store_state")
		return contents
	}
	writes, before := line.writes.Load(), records()
	again, err := s.importAll(t)
	if err != nil {
		t.Fatal(err)
	}
	if n := line.writes.Load() - writes; n > 0 || again.AtBackend != whole.AtBackend || len(again.Counts()) > 0 {
		t.Errorf("importing again sends %d writes to the backend, and reports %v and %d at the backend", n, again.Counts(), again.AtBackend)
	}
	if difference := cmp.Diff(before, records()); difference != "" {
		t.Errorf("importing again changes records, which were -, and are +:\n%s", difference)
	}
	return s
}

// importAll runs "portico import all", and returns its report and its error. With a live backend
// this may take a minute.
func (s *liveImport) importAll(t *testing.T) (report apptest.Report, err error) {
	t.Helper()
	out, _, err := s.Commands.RunWith(t, nil, 10*time.Minute, slices.Concat([]string{"import", "--json", "--config", s.Config}, s.From, []string{"--media", s.Media, "all"})...)
	apptest.Parse(t, out, &report)
	return report, err
}

// replayReads replays the recorded exchanges that only read, all of which must be as recorded.
func replayReads(t *testing.T, target contracttests.Target, exchanges func() ([]contracttests.Exchange, error), want int) {
	t.Helper()
	all, err := exchanges()
	if err != nil {
		t.Fatal(err)
	}
	got := contracttests.Replay(t, target, readsOf(all))
	t.Logf("recordings: %+v", got)
	if got != (contracttests.Summary{Passed: want}) && !t.Failed() {
		t.Errorf("%+v, want %d that pass", got, want)
	}
}

// suiteReads runs those cases of the contract suite that only read, all of which must pass.
// None of them is a gap of the backend.
func suiteReads(t *testing.T, target contracttests.Target, backend string, want int) {
	t.Helper()
	var err error
	if target.Fixtures, err = contracttests.DemoFixtures(); err != nil {
		t.Fatal(err)
	}
	suite := apptest.Suite(t)
	report, err := suite.Run(t.Context(), target, contracttests.Options{ReadOnly: true, Parallel: 4, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	gaps, passed := gapsOf(t, backend), 0
	for _, r := range report.Results {
		switch _, declared := gaps[r.Resource+"/"+r.Name]; {
		case r.Status == contracttests.Passed:
			passed++
		case r.Status == contracttests.Failed && !declared:
			t.Errorf("%s\n%s", r.ID(), r.Failure)
		}
	}
	t.Logf("the suite: %d of its cases that read pass", passed)
	if passed != want && !t.Failed() {
		t.Errorf("%d cases pass, want %d", passed, want)
	}
}

// sweep compares every reply with the replies of a Portico without a backend, which has imported the same
// shop. They may only differ as the backend's file of expected differences says.
func (s *liveImport) sweep(t *testing.T) {
	t.Helper()
	old, _ := s.WithStore(t)
	old.Commands = old.Commands.With("PORTICO_ADAPTER=sql", "PORTICO_REST_MAPPING=", "PORTICO_REST_URL=", "PORTICO_REST_USER=", "PORTICO_REST_SECRET=", "PORTICO_REST_VARS=")
	old.Run(t, "--media", s.Media, "all")
	s.line.remembers.Store(true) // a sweep reads each record as every caller at every store view
	defer s.line.remembers.Store(false)
	out, _, err := s.Commands.RunWith(t, nil, 2*time.Hour, "compare", "--sweep", "--show-personal", "--legacy", old.Target(t).BaseURL, "--candidate", s.Target(t).BaseURL, "--expect", s.backend.mapping)
	if err != nil {
		t.Errorf("compare: %v\n%s", err, out)
	}
	t.Log(out)
}

// addHardRecords imports records of the legacy store that the backend takes only in a certain
// order, or not at all.
func (s *liveImport) addHardRecords(t *testing.T) {
	t.Helper()
	category := func(id, parent int) string {
		return fmt.Sprintf("INSERT INTO mage_catalog_category_entity SELECT %d, entity_type_id, attribute_set_id, %d, created_at, updated_at, '1/2/%[2]d/%[1]d', 9, 3, 0 FROM mage_catalog_category_entity WHERE entity_id = 5;"+
			"INSERT INTO mage_catalog_category_entity_varchar (entity_type_id, attribute_id, store_id, entity_id, value) SELECT entity_type_id, attribute_id, store_id, %[1]d, value FROM mage_catalog_category_entity_varchar WHERE entity_id = 5;"+
			"INSERT INTO mage_catalog_category_entity_int (entity_type_id, attribute_id, store_id, entity_id, value) SELECT entity_type_id, attribute_id, store_id, %[1]d, value FROM mage_catalog_category_entity_int WHERE entity_id = 5", id, parent)
	}
	customer := func(id, website int, email string) string {
		return fmt.Sprintf("INSERT INTO mage_customer_entity (entity_id, entity_type_id, website_id, email, group_id) SELECT %d, entity_type_id, %d, '%s', 1 FROM mage_customer_entity WHERE entity_id = 1", id, website, email)
	}
	apptest.Execute(t, s.DB, category(70, 71), category(71, 2), customer(70, 2, "ada@example.com"), customer(71, 2, "new@example.com"))
	_, err := s.importAll(t)
	if err == nil || !strings.Contains(err.Error(), "push customers 70: create customers: ") || !strings.Contains(err.Error(), ": conflict (email)") || strings.Count(err.Error(), "push ") != 1 {
		t.Errorf("a customer whose e-mail address another one has at the backend: %v", err)
	}
	if out, _, _ := s.Commands.Run(t, "ids", "check", "--config", s.Config); out != "not_mapped      customers 70\n" {
		t.Errorf("only the customer is missing at the backend: %s", out)
	}
}

// addPasswords imports customers with an older hash and with one that Magento 2 cannot check, and logs in to
// Magento 2 with the passwords of the legacy store.
func (s *liveImport) addPasswords(t *testing.T, m *sqltest.Magento2) {
	t.Helper()
	customer := func(id int, email, hash string) string {
		return fmt.Sprintf("INSERT INTO mage_customer_entity (entity_id, entity_type_id, website_id, email, group_id, store_id) SELECT %d, entity_type_id, 1, '%s', 1, 1 FROM mage_customer_entity WHERE entity_id = 1;"+
			"INSERT INTO mage_customer_entity_varchar (entity_type_id, attribute_id, entity_id, value) SELECT entity_type_id, attribute_id, %[1]d, CASE WHEN value LIKE '%%:%%' THEN '%[3]s' ELSE value END FROM mage_customer_entity_varchar WHERE entity_id = 1", id, email, hash)
	}
	const password = "Old-password-1"
	bcryptHash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	apptest.Execute(t, s.DB, customer(70, "md5@example.com", fmt.Sprintf("%x:ab", md5.Sum([]byte("ab"+password)))), customer(71, "bcrypt@example.com", string(bcryptHash)))
	if _, err := s.importAll(t); err != nil {
		t.Errorf("customers with other hashes: %v", err)
	}
	for email, password := range map[string]string{"ada@example.com": "ada-password-1", "md5@example.com": password} {
		m.Call(t, http.MethodPost, "/integration/customer/token", map[string]string{"username": email, "password": password})
	}
	m.Find(t, "/customers/search", "email", "bcrypt@example.com")
}

// checkHardRecords checks that Medusa has a category whose parent was imported after it.
func checkHardRecords(t *testing.T, m *sqltest.Medusa) {
	t.Helper()
	moved := m.Call(t, http.MethodGet, "/admin/product-categories?external_id=70&fields=parent_category.external_id", nil)
	if got := sqltest.LiveValue(moved, "product_categories.0.parent_category.external_id"); got != "71" {
		t.Errorf("category 70 is below %v at Medusa, want 71", got)
	}
}

// checkMedusaImages checks that Medusa has the bytes of images.
func checkMedusaImages(t *testing.T, m *sqltest.Medusa) {
	t.Helper()
	found := m.Call(t, http.MethodGet, "/admin/products?limit=100&fields="+url.QueryEscape("external_id,*images"), nil)
	products, _ := found["products"].([]any)
	images := 0
	for _, p := range products {
		list, _ := sqltest.LiveValue(p, "images").([]any)
		for i := range list {
			address, _ := sqltest.LiveValue(p, fmt.Sprintf("images.%d.url", i)).(string)
			if got := apptest.Send(t, http.MethodGet, address, ""); got.Status != http.StatusOK || got.Body == "" {
				t.Errorf("%s: %d, %d bytes", address, got.Status, len(got.Body))
			}
			images++
		}
	}
	if want := 6; images != want {
		t.Errorf("Medusa has %d images, want %d", images, want)
	}
}

// A writeLine is a proxy in front of a backend that lets some writes pass.
type writeLine struct {
	url    string
	left   atomic.Int64 // writes until every request is answered with 503
	writes atomic.Int64 // writes that passed
	last   func()       // unless nil, called in place of the response to the last of left
	// remembers: the backend gets each GET once, as nobody writes to it.
	remembers atomic.Bool
	replies   sync.Map // of GET requests, by URL
}

// newWriteLine starts a line that lets everything pass until left is set.
func newWriteLine(t *testing.T, to string) *writeLine {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	line := &writeLine{}
	line.left.Store(1 << 40)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isWrite := writes(t, r)
		if line.left.Load() <= 0 || isWrite && line.left.Add(-1) < 0 {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		if isWrite {
			line.writes.Add(1)
			if line.last != nil && line.left.Load() == 0 {
				proxy.ServeHTTP(httptest.NewRecorder(), r)
				line.last()
				return
			}
		}
		if r.Method == http.MethodGet && line.remembers.Load() {
			line.remember(w, r, proxy)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	line.url = server.URL
	return line
}

// remember answers a GET as an earlier one, or else as the backend does.
func (l *writeLine) remember(w http.ResponseWriter, r *http.Request, backend http.Handler) {
	found, _ := l.replies.Load(r.URL.String())
	reply, isKnown := found.(*httptest.ResponseRecorder)
	if !isKnown {
		reply = httptest.NewRecorder()
		backend.ServeHTTP(reply, r)
		if reply.Code == http.StatusOK {
			l.replies.Store(r.URL.String(), reply)
		}
	}
	maps.Copy(w.Header(), reply.Header())
	w.WriteHeader(reply.Code)
	_, _ = w.Write(reply.Body.Bytes()) // the client may have gone away
}

// writes reports whether a request changes something at a backend. Logins do not.
func writes(t *testing.T, r *http.Request) bool {
	t.Helper()
	if r.URL.Path != "/admin-api" {
		return r.Method != http.MethodGet && !strings.HasPrefix(r.URL.Path, "/auth/") && !strings.HasSuffix(r.URL.Path, "/integration/admin/token")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte(`"query":"mutation`)) && !bytes.Contains(body, []byte("login("))
}
