//go:build linux

package app

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// command sends one command to the server and returns the first line of the reply.
func (r *redisServer) command(command string) (answer string) {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		r.t.Fatal(err)
	}
	if answer, err = bufio.NewReader(conn).ReadString('\n'); err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

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
	pool, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	h := &commitBlocker{t: t, pool: pool}
	h.exec(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$`)
	h.exec(`CREATE CONSTRAINT TRIGGER hold AFTER UPDATE ON product DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()`)
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
	nightly.Only(t, "faults")
	t.Parallel() // much of it is waiting
	dsn := demotest.Postgres(t)
	redis := newRedis(t)
	line := newSlowProxy(t, redis.address)
	both := newReplicaPair(t, dsn, "redis://"+line.Listen, redis.url(), "PORTICO_CACHE_TIMEOUT=5s") // longer than the writer lives
	h := newHistory(t)
	for _, p := range h.products {
		h.write(both.admin[0], p)
	}
	other := both.guests[1]
	for _, at := range h.readPaths() {
		await(t, "a cached reply", func() bool { return other.get(t, at.path).header.Get("X-Cache") == "HIT" })
	}

	held, p := blockCommits(t, dsn), h.products[0]
	next := p.sent.Add(1)
	answered := make(chan error, 1)
	go func() {
		_, err := both.admin[0].call(context.WithoutCancel(t.Context()), http.MethodPut, "/products/"+p.id, fmt.Sprintf(`{"price":%d}`, next))
		answered <- err
	}()
	await(t, "the write to wait for its commit", held.hasWaitingWrite)
	lease := func() bool { return redis.command("KEYS *lease*") != "*0" }
	if !lease() {
		t.Error("there is no lease in Redis while a write is about to be committed")
	}
	ctx, stop := context.WithCancel(t.Context())
	readers := h.readAll(ctx, [2]*client{other, other})
	line.block()
	held.release()
	await(t, "the commit", func() bool { return held.committedPrice(p.id) == next })
	both.processes[0].signal(t, os.Kill)
	both.processes[0].wait(t)
	killed := time.Now()
	if err := <-answered; err == nil {
		t.Error("the write was answered before the writer was killed")
	}
	if !lease() {
		t.Error("the lease is gone as the writer is killed: it was not in the middle of its write")
	}
	await(t, "the lease to end", func() bool { return !lease() })
	lasted := time.Since(killed)
	p.saved.Store(next)
	before := h.reads.Load()
	for _, at := range h.readPaths() { // it is cached again after a few reads
		await(t, "a cached reply", func() bool { return other.get(t, at.path).header.Get("X-Cache") == "HIT" })
	}
	await(t, "more reads", func() bool { return h.reads.Load() > before+500 })
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
	redis := newRedis(t)
	both := newReplicaPair(t, dsn, redis.url(), redis.url())
	begins := time.Now().UTC().Truncate(time.Second).Add(3 * time.Second)
	body := fmt.Sprintf(`{"special_price":5,"special_from_date":%q}`, begins.Format(time.DateTime))
	if got, err := both.admin[0].call(t.Context(), http.MethodPut, "/products/4", body); err != nil || got.status != http.StatusOK {
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
				for time.Now().Before(begins.Add(1500 * time.Millisecond)) {
					start := time.Now()
					got, err := guest.call(t.Context(), http.MethodGet, path, "")
					end := time.Now()
					special := strings.Contains(got.body, `"final_price_without_tax":5,`)
					switch {
					case err != nil || got.status != http.StatusOK || special == strings.Contains(got.body, `"final_price_without_tax":75.25,`):
						note(fmt.Sprint("wrong ", got, err))
					case special && end.Before(begins):
						note("early")
					case !special && !start.Before(begins):
						note("late")
					case special:
						note("after, " + got.header.Get("X-Cache"))
					default:
						note("before, " + got.header.Get("X-Cache"))
					}
					time.Sleep(time.Millisecond)
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

// TestForgedHost checks that requests with a forged Host header do not change what other
// Guests get from the cache.
func TestForgedHost(t *testing.T) {
	t.Parallel()
	formKey := regexp.MustCompile(`form_key\\/[A-Z2-7]+`)
	ask := func(t *testing.T, base, path, host string, headers ...string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/rest"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		if host != "" {
			request.Host = host
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s for %s: %d %s %v", path, host, response.StatusCode, body, err)
		}
		return formKey.ReplaceAllString(string(body), "")
	}
	for _, tt := range []struct{ name, publicURL string }{{"by Host header", ""}, {"with public_url", "https://shop.test"}} {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, []string{"PORTICO_CACHE_TTL=1h", "PORTICO_PUBLIC_URL=" + tt.publicURL}, "--demo")
			base := p.contract
			honest, forged := map[string]string{}, 0
			check := func(path string) {
				got := ask(t, base, path, "")
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
					if answer := ask(t, base, path, host); tt.publicURL != "" && strings.Contains(strings.ToLower(answer), "evil") {
						t.Errorf("%s for %s is answered %s", path, host, answer)
					}
					forged++
				}
				ask(t, base, path, "", "X-Forwarded-Host", "evil.example", "Forwarded", "host=evil.example", "X-Forwarded-Proto", "https", "X-Host", "evil.example")
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
