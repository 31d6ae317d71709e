//go:build linux

package program

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A commitBlocker keeps writes of products from being committed until it is released.
type commitBlocker struct {
	t    testing.TB
	pool *sql.DB
	lock *sql.Conn
}

// blockCommits blocks commits of writes of products, with a trigger that waits for a lock
// at each commit.
func blockCommits(t testing.TB, dsn string) *commitBlocker {
	t.Helper()
	pool := apptest.OpenStore(t, "postgres", dsn)
	h := &commitBlocker{t: t, pool: pool}
	h.exec(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$`)
	h.exec(`CREATE CONSTRAINT TRIGGER hold AFTER UPDATE ON product DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()`)
	var err error
	if h.lock, err = pool.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.lock.ExecContext(t.Context(), "SELECT pg_advisory_lock(7)"); err != nil {
		t.Fatal(err)
	}
	return h
}

// exec executes a statement.
func (h *commitBlocker) exec(statement string) {
	h.t.Helper()
	if _, err := h.pool.ExecContext(h.t.Context(), statement); err != nil {
		h.t.Fatal(err)
	}
}

// hasWaitingWrite reports whether a write waits to be committed.
func (h *commitBlocker) hasWaitingWrite() (yes bool) {
	h.t.Helper()
	if err := h.pool.QueryRowContext(h.t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)").Scan(&yes); err != nil {
		h.t.Fatal(err)
	}
	return yes
}

// release lets writes be committed.
func (h *commitBlocker) release() {
	h.t.Helper()
	if _, err := h.lock.ExecContext(h.t.Context(), "SELECT pg_advisory_unlock(7)"); err != nil {
		h.t.Fatal(err)
	}
	_ = h.lock.Close()
}

// committedPrice returns the price of a product as committed, without decimals.
func (h *commitBlocker) committedPrice(id string) (price int64) {
	h.t.Helper()
	if err := h.pool.QueryRowContext(h.t.Context(), "SELECT TRUNC(price)::BIGINT FROM product WHERE entity_id = "+id).Scan(&price); err != nil {
		h.t.Fatal(err)
	}
	return price
}

// TestWriterKilled kills a replica with SIGKILL after the database has committed its
// write, but before it could tell Redis. The other replica must not show the old price
// longer than the lease that the writer took before.
func TestWriterKilled(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	t.Parallel() // much of it is waiting
	dsn := demotest.Postgres(t)
	redis := apptest.NewRedis(t)
	line := apptest.NewSlowProxy(t, redis.Address)
	both := newReplicaPair(t, dsn, "redis://"+line.Listen, redis.URL(), "PORTICO_CACHE_TIMEOUT=5s") // longer than the writer lives
	h := newHistory(t)
	for _, p := range h.products {
		h.write(both.admin[0], p)
	}
	other := both.guests[1]
	for _, at := range h.readPaths() {
		testenv.Await(t, "a cached reply", func() bool { return other.Get(t, at.path).Header.Get("X-Cache") == "HIT" })
	}

	held, p := blockCommits(t, dsn), h.products[0]
	next := p.sent.Add(1)
	answered := make(chan error, 1)
	go func() {
		_, err := both.admin[0].Call(context.WithoutCancel(t.Context()), http.MethodPut, "/products/"+p.id, fmt.Sprintf(`{"price":%d}`, next))
		answered <- err
	}()
	testenv.Await(t, "the write to wait for its commit", held.hasWaitingWrite)
	lease := func() bool { return redis.Command("KEYS *lease*") != "*0" }
	if !lease() {
		t.Error("there is no lease in Redis while a write is about to be committed")
	}
	ctx, stop := context.WithCancel(t.Context())
	readers := h.readAll(ctx, [2]*apptest.Client{other, other})
	line.Block()
	held.release()
	testenv.Await(t, "the commit", func() bool { return held.committedPrice(p.id) == next })
	both.processes[0].Signal(t, os.Kill)
	both.processes[0].Wait(t)
	killed := time.Now()
	if err := <-answered; err == nil {
		t.Error("the write was answered before the writer was killed")
	}
	if !lease() {
		t.Error("the lease is gone as the writer is killed: it was not in the middle of its write")
	}
	testenv.Await(t, "the lease to end", func() bool { return !lease() })
	lasted := time.Since(killed)
	p.saved.Store(next)
	before := h.reads.Load()
	for _, at := range h.readPaths() { // it is cached again after a few reads
		testenv.Await(t, "a cached reply", func() bool { return other.Get(t, at.path).Header.Get("X-Cache") == "HIT" })
	}
	testenv.Await(t, "more reads", func() bool { return h.reads.Load() > before+500 })
	stop()
	readers.Wait()
	stale := h.startEra()
	t.Logf("the lease lasted %s beyond the writer; of %d reads after it %d showed the old price", lasted.Round(time.Millisecond), h.reads.Load()-before, stale[0]+stale[1])
	if stale != [2]int64{} {
		t.Errorf("%v reads showed the old price after the lease", stale)
	}
}

// TestSpecialPriceBegins checks that a special price becomes visible at its beginning, at
// both replicas, although nothing is written at that moment.
func TestSpecialPriceBegins(t *testing.T) {
	t.Parallel() // much of it is waiting
	dsn := demotest.Postgres(t)
	redis := apptest.NewRedis(t)
	both := newReplicaPair(t, dsn, redis.URL(), redis.URL())
	begins := time.Now().UTC().Truncate(time.Second).Add(3 * time.Second)
	body := fmt.Sprintf(`{"special_price":5,"special_from_date":%q}`, begins.Format(time.DateTime))
	if got, err := both.admin[0].Call(t.Context(), http.MethodPut, "/products/4", body); err != nil || got.Status != http.StatusOK {
		t.Fatal(got, err)
	}
	var mu sync.Mutex
	counts := map[string]int{}
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		counts[what]++
	}
	var readers sync.WaitGroup
	for _, guest := range both.guests {
		for _, path := range []string{"/products/4", "/products/lamp-floor"} {
			readers.Go(func() {
				tick := pace()
				for time.Now().Before(begins.Add(1500 * time.Millisecond)) {
					start := time.Now()
					got, err := guest.Call(t.Context(), http.MethodGet, path, "")
					end := time.Now()
					special := strings.Contains(got.Body, `"final_price_without_tax":5,`)
					switch {
					case err != nil || got.Status != http.StatusOK || special == strings.Contains(got.Body, `"final_price_without_tax":75.25,`):
						note(fmt.Sprint("wrong ", got, err))
					case special && end.Before(begins):
						note("early")
					case !special && !start.Before(begins):
						note("late")
					case special:
						note("after, " + got.Header.Get("X-Cache"))
					default:
						note("before, " + got.Header.Get("X-Cache"))
					}
					if begins.Sub(end).Abs() > 50*time.Millisecond {
						<-tick
					}
				}
			})
		}
	}
	readers.Wait()
	t.Logf("reads of a product whose special price begins: %v", counts)
	for what := range counts {
		if !slices.Contains([]string{"before, HIT", "before, MISS", "after, HIT", "after, MISS"}, what) {
			t.Errorf("%d times %s", counts[what], what)
		}
	}
	if counts["before, HIT"] == 0 || counts["after, HIT"] == 0 {
		t.Error("no read was a cache hit")
	}
}

// TestForgedHost checks that requests with a forged Host header do not change the replies
// that other Guests get from the cache.
func TestForgedHost(t *testing.T) {
	t.Parallel()
	formKey := regexp.MustCompile(`form_key\\/[A-Z2-7]+`)
	ask := func(t *testing.T, base, path string, headers ...string) string {
		t.Helper()
		got := apptest.Send(t, http.MethodGet, base+"/api/rest"+path, "", append(headers, "Accept", "application/json")...)
		if got.Status != http.StatusOK {
			t.Fatalf("%s with %q: %d %s", path, headers, got.Status, got.Body)
		}
		return formKey.ReplaceAllString(got.Body, "")
	}
	for _, tt := range []struct{ name, publicURL string }{{"by Host header", ""}, {"with public_url", "https://shop.test"}} {
		t.Run(tt.name, func(t *testing.T) {
			p := apptest.Start(t, []string{"PORTICO_CACHE_TTL=1h", "PORTICO_PUBLIC_URL=" + tt.publicURL}, "--demo")
			base := p.Contract
			honest, forged := map[string]string{}, 0
			check := func(path string) {
				got := ask(t, base, path)
				if strings.Contains(strings.ToLower(got), "evil") {
					t.Errorf("%s answers an honest Guest %s", path, got)
				}
				if before, ok := honest[path]; ok && before != got {
					t.Errorf("%s answers an honest Guest\n%s\nbefore\n%s", path, got, before)
				}
				honest[path] = got
			}
			forge := func(path string) {
				for _, host := range []string{"evil.example", "evil.example:80", "EVIL.example", "evil.example."} {
					if answer := ask(t, base, path, "Host", host); tt.publicURL != "" && strings.Contains(strings.ToLower(answer), "evil") {
						t.Errorf("%s for %s is answered %s", path, host, answer)
					}
					forged++
				}
				ask(t, base, path, "X-Forwarded-Host", "evil.example", "Forwarded", "host=evil.example", "X-Forwarded-Proto", "https", "X-Host", "evil.example")
				forged++
			}
			for i, path := range cachedPaths {
				if i%2 == 0 { // the forged one comes first
					forge(path)
				}
				check(path)
				forge(path)
				check(path)
			}
			t.Logf("%d forged requests; the answers to %d honest ones stay as they are", forged, len(honest))
		})
	}
}
