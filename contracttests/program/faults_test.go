//go:build linux

package program

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

var faultOutage = flag.Duration("fault.outage", 3*time.Second, "how long the database is away in TestDatabaseAway")

// TestRedisAway takes Redis away under load in every way it can fail, and brings it back:
// no client notices, and the program hardly uses Redis meanwhile.
func TestRedisAway(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	t.Parallel() // much of it is waiting
	redis := apptest.NewRedis(t)
	dsn := demotest.Postgres(t)
	p := apptest.Start(t, []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_LOG_LEVEL=error",
		"PORTICO_CACHE_REDIS_URL=" + redis.URL()})
	tr := newTraffic(t, p.Contract)
	tr.runPhase("before", 300*time.Millisecond)
	var other *fakeServer
	pretend := func(reply string) func() {
		return func() {
			redis.Kill()
			other = newFakeServer(t, redis.Address, reply)
		}
	}
	mend := func() {
		other.close()
		redis.Start()
	}
	for _, fault := range []struct {
		name       string
		begin, end func()
	}{
		{"killed", redis.Kill, redis.Start},
		{"paused", redis.Pause, redis.Resume},
		{"restarted empty", func() { redis.Kill(); redis.DeleteData() }, redis.Start},
		{"answering garbage", pretend("\x00\x17HTTP/1.1 400 Bad Request\r\n\r\n"), mend},
		{"answering something else", pretend(":42\r\n"), mend},
	} {
		fault.begin()
		tr.startPhase(fault.name)
		testenv.Await(t, "the breaker for Redis to open", func() bool { return opened(apptest.ScrapeMetrics(t, p.Ops), "redis") })
		const watched = 1500 * time.Millisecond
		before, start := redisCommands(apptest.ScrapeMetrics(t, p.Ops)), time.Now()
		tr.runPhase(fault.name, watched)
		attempts, took := redisCommands(apptest.ScrapeMetrics(t, p.Ops))-before, time.Since(start)
		if allowed := math.Floor(float64(took)/float64(cache.OpenFor)) + 1; attempts > allowed {
			t.Errorf("%s: %.0f round trips to Redis in %s, want at most %.0f", fault.name, attempts, took, allowed)
		}
		t.Logf("%s: %.0f round trips to Redis were attempted in %s while the breaker was open", fault.name, attempts, took.Round(time.Millisecond))

		fault.end()
		tr.startPhase(fault.name + ", then back")
		testenv.Await(t, "the breaker for Redis to close", func() bool {
			return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_breaker_state", `breaker="redis"`) == 0
		})
		hits := func() float64 {
			return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_cache_lookups_total", `tier="redis"`, `outcome="hit"`)
		}
		found := hits()
		testenv.Await(t, "replies from Redis", func() bool { return hits() > found })
	}
	tr.end()
	tr.report()
	tr.require("", nil, healthy...)
}

// TestDatabaseAway takes the database away under load and brings it back. Cached reads are
// answered all the time. All other calls are refused, without asking the database, until
// it is back.
//
//	go test ./contracttests/program -run DatabaseAway -fault.outage 30s
func TestDatabaseAway(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	t.Parallel() // much of it is waiting
	server, dsn := apptest.PostgresDemo(t)
	redis := apptest.NewRedis(t)
	for _, fault := range []struct {
		name       string
		begin, end func()
	}{
		{"killed", server.Kill, server.Start},
		{"paused", server.Pause, server.Resume},
	} {
		t.Run(fault.name, func(t *testing.T) {
			p := apptest.Start(t, []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_LOG_LEVEL=error",
				"PORTICO_CACHE_REDIS_URL=" + redis.URL(), "PORTICO_CACHE_TTL=1s",
				"PORTICO_UPSTREAM_TIMEOUT=500ms", "PORTICO_UPSTREAM_BREAKER_OPEN=500ms"})
			guest := apptest.NewClient(t, p.Contract, "")
			tr := newTraffic(t, p.Contract)
			tr.runPhase("before", 300*time.Millisecond)

			tr.writes.Lock() // an interrupted write would invalidate cached replies
			tr.warmCache(guest)
			tr.startPhase("going away")
			fault.begin()
			tr.writes.Unlock()
			// The first probe is sent after all earlier calls have timed out.
			testenv.Await(t, "a probe that failed", func() bool { s := apptest.ScrapeMetrics(t, p.Ops); return probes(s, "sql") > 0 && opened(s, "sql") })
			begin := apptest.ScrapeMetrics(t, p.Ops)
			tr.runPhase("away", *faultOutage)
			end := apptest.ScrapeMetrics(t, p.Ops)
			tr.startPhase("coming back")
			fault.end()
			t.Logf("%s for %s: %s", fault.name, *faultOutage, attemptsWhileOpen(t, begin, end))

			testenv.Await(t, "the breakers to close", func() bool { return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_breaker_state", "") == 0 })
			tr.runPhase("back", 500*time.Millisecond)
			tr.end()
			tr.report()
			tr.require("", []string{cachedReads}, "200 HIT", "200 STALE", "200 MISS")
			tr.require("", nil, append(healthy, "200 STALE", "503")...)
			tr.require("before", nil, healthy...)
			tr.require("away", []string{cachedReads}, "200 HIT", "200 STALE")
			tr.require("away", []string{freshReads, adminReads, adminPrice, adminStock}, "503")
			tr.require("back", nil, healthy...)
		})
	}
}

// attemptsWhileOpen fails the test if a breaker that was not closed at the first of two scrapes has let more calls through
// than its probes until the second, and describes the number of calls. The breaker of the reads must not be closed. The
// breaker of the writes may open later, because few writes are sent at a time.
func attemptsWhileOpen(t *testing.T, begin, end apptest.Scrape) string {
	t.Helper()
	all := 0.0
	for breaker, operation := range map[string]string{"sql": `!operation="update"`, "sql_writes": `operation="update"`} {
		sent, probes := end.Sent(operation)-begin.Sent(operation), probes(end, breaker)-probes(begin, breaker)
		closed := begin.Sum("portico_breaker_state", `breaker="`+breaker+`"`) == 0
		// One call may have been sent before the first scrape and counted after it.
		if sent > probes+1 && (breaker == "sql" || !closed) {
			t.Errorf("%.0f calls were sent to the database past the breaker %s, and %.0f let through to find out", sent, breaker, probes)
		}
		all += sent
	}
	refused := end.Sum("portico_upstream_calls_total", `kind="refused_open"`) - begin.Sum("portico_upstream_calls_total", `kind="refused_open"`)
	if refused == 0 {
		t.Error("no call was refused by the breaker")
	}
	return fmt.Sprintf("%.0f calls were sent, and %.0f refused unsent", all, refused)
}

// probes returns how often the breaker let a call through to test the upstream.
func probes(s apptest.Scrape, breaker string) float64 {
	return s.Sum("portico_breaker_transitions_total", `breaker="`+breaker+`"`, `to="half_open"`)
}

// opened reports whether the breaker is open.
func opened(s apptest.Scrape, breaker string) bool {
	return s.Sum("portico_breaker_state", `breaker="`+breaker+`"`) == 2
}

// redisCommands returns the number of attempted round trips to Redis.
func redisCommands(s apptest.Scrape) float64 { return s.Sum("portico_redis_commands_total") }

// A fakeServer listens in place of another server, and answers with something else.
type fakeServer struct {
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]bool
	serving  sync.WaitGroup
}

// newFakeServer listens on an address and answers everything with reply, until it is
// closed.
func newFakeServer(t testing.TB, address, reply string) *fakeServer {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	i := &fakeServer{listener: listener, open: map[net.Conn]bool{}}
	i.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			i.mu.Lock()
			i.open[conn] = true
			i.mu.Unlock()
			i.serving.Go(func() { i.answer(conn, reply) })
		}
	})
	return i
}

// answer answers one connection.
func (i *fakeServer) answer(conn net.Conn, reply string) {
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.open, conn)
		_ = conn.Close()
	}()
	sent := make([]byte, 64<<10)
	for {
		n, err := conn.Read(sent)
		if err != nil {
			return
		}
		// A reply to each command of a pipeline.
		for range max(1, bytes.Count(sent[:n], []byte("\r\n*"))+1) {
			if _, err := conn.Write([]byte(reply)); err != nil {
				return
			}
		}
	}
}

// close stops listening.
func (i *fakeServer) close() {
	_ = i.listener.Close()
	i.mu.Lock()
	for conn := range i.open {
		_ = conn.Close()
	}
	i.mu.Unlock()
	i.serving.Wait()
}
