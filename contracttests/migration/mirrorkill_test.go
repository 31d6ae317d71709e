//go:build linux

package migration_test

import (
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMirrorKilled is TestMirrorKilledOnce for many moments.
func TestMirrorKilled(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	killMirrors(t, 30)
}

// TestMirrorKilledOnce kills the process that answers and delivers with SIGKILL at a random moment,
// while clients change and create records. The next one goes on. In the end both sides have the
// acknowledged values, and every record at most once.
func TestMirrorKilledOnce(t *testing.T) { killMirrors(t, 1) }

// A writtenField is a field that one client writes, with a greater number each time.
type writtenField struct {
	field
	acknowledged, sent int
}

// A createdRecord is something that a client was to create, which the legacy store can count.
type createdRecord struct {
	rows, name   string
	acknowledged bool
}

// A killedMirror is a mirror whose process is killed now and then.
type killedMirror struct {
	*faultyMirror
	fields  []*writtenField
	created []createdRecord
}

// killMirrors kills so many processes.
func killMirrors(t *testing.T, rounds int) {
	t.Helper()
	m := &killedMirror{faultyMirror: newFaultyMirror(t)}
	sample := testenv.NewSample(t)
	for _, f := range []field{{"/stockitems/1", "qty", "%d.0000"}, {"/stockitems/2", "qty", "%d.0000"}, {"/products/2", "name", "Name %d"}, {"/products/4", "price", "%d.0000"}, {"/customers/1", "firstname", "First %d"}} {
		m.fields = append(m.fields, &writtenField{field: f})
	}
	for round := range rounds {
		longest := 4 * time.Second // as a process imports only two seconds after it has begun
		if round == 0 {
			longest = time.Second
		}
		after := time.Duration(sample.Int64N(int64(longest)))
		t.Logf("round %d is over after %s", round, after)
		m.writeUntil(t, round, after)
		if code := m.p.Wait(t); code >= 0 {
			t.Fatalf("round %d: the process has ended by itself with code %d", round, code)
		}
		apptest.ExpireLease(t, "sqlite", m.Commands.Get("PORTICO_SQL_DSN"))
		m.p, m.writer = m.Serve(t)
	}
	testenv.Await(t, "an empty outbox", func() bool {
		counts, err := m.db.Outbox().Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range counts {
			if c.Waiting+c.Parked > 0 {
				return false
			}
		}
		return true
	})
	m.check(t)
	m.p.Stop(t)
}

// writeUntil has all clients write until the process is killed.
func (m *killedMirror) writeUntil(t *testing.T, round int, after time.Duration) {
	t.Helper()
	var writing sync.WaitGroup
	for _, f := range m.fields {
		writing.Go(func() {
			for {
				f.sent++
				got, err := m.writer.Call(t.Context(), http.MethodPut, f.path, fmt.Sprintf("{%q: %q}", f.name, fmt.Sprintf(f.format, f.sent)))
				switch {
				case err != nil:
					return
				case got.Status == http.StatusOK:
					f.acknowledged = f.sent
					want := fmt.Sprintf(f.format, f.sent) // which a delivery must not revert
					if read, err := m.writer.Call(t.Context(), http.MethodGet, f.path, ""); err == nil && read.Status == http.StatusOK && memberOf(read.Body, f.name) != want {
						t.Errorf("%s is %q after %q was acknowledged", f.path, memberOf(read.Body, f.name), want)
					}
				case got.Status != http.StatusServiceUnavailable:
					t.Errorf("%s: %d %s", f.path, got.Status, got.Body)
				}
			}
		})
	}
	writing.Go(func() {
		for n := 0; ; n++ {
			one := createdRecord{rows: "catalog_product_entity WHERE sku = ?", name: fmt.Sprintf("killed-%d-%d", round, n)}
			path, body := "/products", newProduct(one.name)
			switch n % 3 {
			case 1:
				one.rows, one.name = "customer_entity WHERE email = ?", one.name+"@example.com"
				path, body = "/customers", fmt.Sprintf(`{"firstname":"A","lastname":"B","email":%q,"website_id":1,"group_id":1,"password":"swordfish1"}`, one.name)
			case 2:
				one.rows = "customer_address_entity_text WHERE value = ?"
				path, body = "/customers/2/addresses", apptest.AddressBody(one.name)
			}
			got, err := m.writer.Call(t.Context(), http.MethodPost, path, body)
			one.acknowledged = err == nil && got.Status == http.StatusOK
			if err == nil && !one.acknowledged && got.Status != http.StatusServiceUnavailable {
				t.Errorf("%s: %d %s", path, got.Status, got.Body)
			}
			m.created = append(m.created, one)
			if err != nil {
				return
			}
		}
	})
	time.Sleep(after) // the moment is random
	m.p.Signal(t, os.Kill)
	writing.Wait()
}

// check compares both sides with the clients' knowledge.
func (m *killedMirror) check(t *testing.T) {
	t.Helper()
	for _, f := range m.fields {
		m.expectSame(t, f.path)
		if f.acknowledged == 0 { // killed so early that it may have its earlier value
			continue
		}
		var n int
		text := memberOf(m.there.Get(t, f.path).Body, f.name)
		if _, err := fmt.Sscanf(text, strings.TrimSuffix(f.format, ".0000"), &n); err != nil || n < f.acknowledged || n > f.sent {
			t.Errorf("%s is %q in the end: %d was acknowledged, %d sent last", f.path, text, f.acknowledged, f.sent)
		}
	}
	acknowledged := 0
	for _, one := range m.created {
		n := countRows(t, m.DB, one.rows, one.name)
		if n > 1 || one.acknowledged && n != 1 {
			t.Errorf("the legacy store has %s %d times, acknowledged: %t", one.name, n, one.acknowledged)
		}
		if one.acknowledged {
			acknowledged++
		}
	}
	if acknowledged == 0 && len(m.created) > 10 {
		t.Error("nothing was created")
	}
	t.Logf("%d of %d records were acknowledged; fields were written %d times", acknowledged, len(m.created), m.fields[0].sent)
	m.expectSame(t, "/customers/2/addresses")
}

// TestMirrorPaused pauses the process that delivers for longer than its lease, while a request is
// in flight. Another one goes on. When the first one wakes it sends nothing more, and stores
// nothing.
func TestMirrorPaused(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	m := newFaultyMirror(t)
	other := newFaultyShop(t, m.Target.BaseURL)
	second, writer := m.Serve(t, "PORTICO_LEGACY_URL="+other.URL)
	change := func(product int, price int) {
		t.Helper()
		got, err := writer.Call(t.Context(), http.MethodPut, "/products/"+strconv.Itoa(product), fmt.Sprintf(`{"price": %d}`, price))
		if err != nil || got.Status != http.StatusOK {
			t.Fatalf("%d %s %v", got.Status, got.Body, err)
		}
	}
	price := func(product, want int) {
		t.Helper()
		path := "/products/" + strconv.Itoa(product)
		testenv.Await(t, path+" at the legacy store", func() bool {
			return memberOf(m.there.Get(t, path).Body, "price") == fmt.Sprintf("%d.0000", want)
		})
	}
	for product := 1; product <= 4; product++ {
		change(product, 10)
		price(product, 10)
	}
	if n := len(other.requests("PUT")); n > 0 {
		t.Errorf("both processes have delivered: the other one %d times", n)
	}

	inFlight, release := make(chan struct{}), make(chan struct{})
	m.rest.fail("PUT /products/1 ", func(w http.ResponseWriter, r *http.Request, execute func() *httptest.ResponseRecorder) {
		close(inFlight)
		<-release
		honest(w, r, execute)
	})
	change(1, 11)
	<-inFlight
	m.p.Signal(t, syscall.SIGSTOP)
	for product := 2; product <= 4; product++ {
		change(product, 12)
	}
	for product := 2; product <= 4; product++ {
		price(product, 12)
	}
	before := len(m.rest.requests("PUT"))
	close(release)
	for product := 2; product <= 4; product++ { // so that there is something to send when it wakes
		change(product, 13)
	}
	m.p.Signal(t, syscall.SIGCONT)
	m.p.Stderr.Await(t, m.p, "another process delivers to the legacy store now")
	for product := 2; product <= 4; product++ {
		change(product, 14)
		price(product, 14)
	}
	price(1, 11)
	if after := len(m.rest.requests("PUT")); after != before {
		t.Errorf("the paused process has sent %d more requests", after-before)
	}
	testenv.Await(t, "an empty outbox", func() bool {
		counts, err := m.db.Outbox().Count(t.Context())
		return err == nil && len(counts) == 0
	})
	second.Stop(t)
	m.p.Stop(t)
}

// A field is a value that clients of a shop write and read.
type field struct{ path, name, format string }
