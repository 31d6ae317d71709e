//go:build linux

package program

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestPatroni has clients write and read while Patroni moves the primary to another node, on
// purpose and because the primary is killed, by a DSN with all nodes and through HAProxy. No
// acknowledged write is lost, no read returns an older value than one that was returned before,
// and the time of refused calls is limited.
func TestPatroni(t *testing.T) {
	testenv.OnlyNightly(t, "patroni")
	cluster := sqltest.StartPatroni(t)
	if err := demotest.Load(cluster.DSN("postgres")); err != nil {
		t.Fatal(err)
	}
	for name, dsn := range map[string]string{"all nodes": cluster.DSN("postgres"), "HAProxy": cluster.BalancedDSN("postgres")} {
		t.Run(name, func(t *testing.T) {
			p := apptest.Start(t, []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_LOG_LEVEL=error", "PORTICO_UPSTREAM_BREAKER_OPEN=500ms"})
			l := newRegisterLoad(t, p.Contract)
			for range 2 {
				cluster.AwaitHealthy()
				l.during("switchover", 3*time.Second, func() { moved(t, cluster, func() { cluster.Switchover() }) })
				cluster.AwaitHealthy()
				var restart func()
				l.during("failover", 10*time.Second, func() { moved(t, cluster, func() { restart = cluster.KillPrimary() }) })
				restart()
			}
			l.end()
		})
	}
}

// moved calls do, which makes another node the primary, and waits until it is.
func moved(t *testing.T, c *sqltest.PatroniCluster, do func()) {
	t.Helper()
	before := c.Primary()
	do()
	testenv.Await(t, "another primary", func() bool { now := c.Primary(); return now != "" && now != before })
}

// A registerLoad is a load of clients that each write the quantity of one stock item and read
// all.
type registerLoad struct {
	t       *testing.T
	client  *apptest.Client
	log     *testenv.OperationLog
	stop    chan struct{}
	clients sync.WaitGroup

	mu                sync.Mutex
	answered, refused int
	first, last       time.Time // beginning of the first refused call, end of the last one
	slowest           time.Duration
	unexpected        string
}

const loadItems = 5

// newRegisterLoad starts the clients.
func newRegisterLoad(t *testing.T, base string) *registerLoad {
	t.Helper()
	l := &registerLoad{t: t, client: apptest.NewClient(t, base, apptest.DemoAdmin()), log: testenv.NewOperationLog(), stop: make(chan struct{})}
	for item := 1; item <= loadItems; item++ {
		value, ok := l.read(item)
		if !ok {
			t.Fatalf("stock item %d cannot be read", item)
		}
		l.log.Initial(register(item), value)
		first, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		l.clients.Go(func() {
			for n := int(first) + 1; !l.stopped(); n++ { // each value is written once
				value := fmt.Sprintf("%d.0000", n)
				l.log.Write(fmt.Sprintf("writer %d", item), register(item), value, func() testenv.Outcome { return l.write(item, value) })
			}
		})
		l.clients.Go(func() {
			for n := item; !l.stopped(); n++ {
				of := n%loadItems + 1
				l.log.Read(fmt.Sprintf("reader %d", item), register(of), func() (string, bool) { return l.read(of) })
			}
		})
	}
	return l
}

func register(item int) string { return fmt.Sprintf("qty of stock item %d", item) }

func (l *registerLoad) stopped() bool {
	select {
	case <-l.stop:
		return true
	case <-time.After(20 * time.Millisecond): // a moderate load must not take all of the machine
		return false
	}
}

func (l *registerLoad) write(item int, value string) testenv.Outcome {
	got := l.call(http.MethodPut, item, `{"qty": "`+value+`"}`)
	if got.Status == http.StatusOK {
		return testenv.Acknowledged
	}
	return testenv.Unknown
}

func (l *registerLoad) read(item int) (value string, ok bool) {
	got := l.call(http.MethodGet, item, "")
	if got.Status != http.StatusOK {
		return "", false
	}
	_, rest, _ := strings.Cut(got.Body, `"qty":"`)
	value, _, ok = strings.Cut(rest, `"`)
	return value, ok
}

// call sends a call and counts its outcome.
func (l *registerLoad) call(method string, item int, body string) apptest.Reply {
	began := time.Now()
	got, err := l.client.Call(l.t.Context(), method, fmt.Sprintf("/stockitems/%d", item), body)
	ended := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, ended.Sub(began))
	switch {
	case err != nil:
		l.unexpected = err.Error()
	case got.Status == http.StatusOK:
		l.answered++
	case got.Status == http.StatusServiceUnavailable:
		l.refused++
		if l.first.IsZero() {
			l.first = began
		}
		l.last = ended
	default:
		l.unexpected = fmt.Sprintf("%s: %d %s", method, got.Status, got.Body)
	}
	return got
}

// during calls do while the clients go on, and checks for how long calls are refused.
func (l *registerLoad) during(name string, most time.Duration, do func()) {
	l.t.Helper()
	l.mu.Lock()
	l.answered, l.refused, l.first, l.last, l.slowest = 0, 0, time.Time{}, time.Time{}, 0
	l.mu.Unlock()
	do()
	count := func() int { l.mu.Lock(); defer l.mu.Unlock(); return l.answered }
	before := count()
	testenv.Await(l.t, "calls that are answered again", func() bool { return count() > before+20*loadItems })
	l.mu.Lock()
	defer l.mu.Unlock()
	window := l.last.Sub(l.first)
	l.t.Logf("%s: %d calls answered, %d refused within %s, the slowest took %s", name, l.answered, l.refused, window.Round(time.Millisecond), l.slowest.Round(time.Millisecond))
	if window > most {
		l.t.Errorf("%s: calls were refused for %s, want at most %s", name, window.Round(time.Millisecond), most)
	}
}

// end stops the clients and checks the values that they have seen.
func (l *registerLoad) end() {
	l.t.Helper()
	close(l.stop)
	l.clients.Wait()
	for item := 1; item <= loadItems; item++ {
		l.log.Read("at the end", register(item), func() (string, bool) { return l.read(item) })
	}
	if l.unexpected != "" {
		l.t.Error(l.unexpected)
	}
	acknowledged := 0
	for _, o := range l.log.Operations() {
		if o.Write && o.Outcome == testenv.Acknowledged {
			acknowledged++
		}
	}
	faults := testenv.CheckOperations(l.log.Operations())
	for _, fault := range faults {
		l.t.Error(fault)
	}
	l.t.Logf("%d acknowledged writes, %d faults", acknowledged, len(faults))
}
