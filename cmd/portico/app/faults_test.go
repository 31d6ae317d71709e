//go:build linux

package app

import (
	"flag"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

var faultOutage = flag.Duration("fault.outage", 3*time.Second, "how long the database is away in TestDatabaseAway")

// TestRedisAway takes Redis away under load in every way it can fail, and brings it back:
// no client notices, and the program hardly uses Redis meanwhile.
func TestRedisAway(t *testing.T) {
	nightly.Only(t, "faults")
	t.Parallel() // much of it is waiting
	redis := newRedis(t)
	dsn := demotest.Postgres(t)
	p := start(t, []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_LOG_LEVEL=error",
		"PORTICO_CACHE_REDIS_URL=" + redis.url()})
	tr := newTraffic(t, p.contract)
	tr.runPhase("before", 300*time.Millisecond)
	var other *fakeServer
	pretend := func(reply string) func() {
		return func() {
			redis.kill()
			other = newFakeServer(t, redis.address, reply)
		}
	}
	mend := func() {
		other.close()
		redis.start()
	}
	for _, fault := range []struct {
		name       string
		begin, end func()
	}{
		{"killed", redis.kill, redis.start},
		{"paused", redis.pause, redis.resume},
		{"restarted empty", func() { redis.kill(); redis.deleteData() }, redis.start},
		{"answering garbage", pretend("\x00\x17HTTP/1.1 400 Bad Request\r\n\r\n"), mend},
		{"answering something else", pretend(":42\r\n"), mend},
	} {
		fault.begin()
		tr.startPhase(fault.name)
		await(t, "the breaker for Redis to open", func() bool { return scrapeMetrics(t, p.ops).opened("redis") })
		const watched = 1500 * time.Millisecond
		before, start := scrapeMetrics(t, p.ops).redisCommands(), time.Now()
		tr.runPhase(fault.name, watched)
		attempts, took := scrapeMetrics(t, p.ops).redisCommands()-before, time.Since(start)
		if allowed := math.Floor(float64(took)/float64(cache.OpenFor)) + 1; attempts > allowed {
			t.Errorf("%s: %.0f round trips to Redis in %s, want at most %.0f", fault.name, attempts, took, allowed)
		}
		t.Logf("%s: %.0f round trips to Redis were attempted in %s while the breaker was open", fault.name, attempts, took.Round(time.Millisecond))

		fault.end()
		tr.startPhase(fault.name + ", then back")
		await(t, "the breaker for Redis to close", func() bool { return scrapeMetrics(t, p.ops).sum("portico_breaker_state", `breaker="redis"`) == 0 })
		hits := func() float64 {
			return scrapeMetrics(t, p.ops).sum("portico_cache_lookups_total", `tier="redis"`, `outcome="hit"`)
		}
		found := hits()
		await(t, "replies from Redis", func() bool { return hits() > found })
	}
	tr.end()
	tr.report()
	tr.require("", nil, healthy...)
}

// TestDatabaseAway takes the database away under load and brings it back. Cached reads are
// answered all the time. All other calls are refused, without asking the database, until
// it is back.
//
//	go test ./cmd/portico/app -run DatabaseAway -fault.outage 30s
func TestDatabaseAway(t *testing.T) {
	nightly.Only(t, "faults")
	t.Parallel() // much of it is waiting
	server, dsn := newDemoServer(t)
	redis := newRedis(t)
	for _, fault := range []struct {
		name       string
		begin, end func()
	}{
		{"killed", server.Kill, server.Start},
		{"paused", server.Pause, server.Resume},
	} {
		t.Run(fault.name, func(t *testing.T) {
			p := start(t, []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_LOG_LEVEL=error",
				"PORTICO_CACHE_REDIS_URL=" + redis.url(), "PORTICO_CACHE_TTL=1s",
				"PORTICO_UPSTREAM_TIMEOUT=500ms", "PORTICO_UPSTREAM_BREAKER_OPEN=500ms"})
			guest := newClient(t, p.contract, "")
			tr := newTraffic(t, p.contract)
			tr.runPhase("before", 300*time.Millisecond)

			tr.writes.Lock() // an interrupted write would invalidate cached replies
			tr.warmCache(guest)
			tr.startPhase("going away")
			fault.begin()
			tr.writes.Unlock()
			// The first probe is sent after all earlier calls have timed out.
			await(t, "a probe that failed", func() bool { s := scrapeMetrics(t, p.ops); return s.probes("sql") > 0 && s.opened("sql") })
			begin := scrapeMetrics(t, p.ops)
			tr.runPhase("away", *faultOutage)
			end := scrapeMetrics(t, p.ops)
			tr.startPhase("coming back")
			fault.end()
			t.Logf("%s for %s: %s", fault.name, *faultOutage, attemptsWhileOpen(t, begin, end))

			await(t, "the breaker to close", func() bool { return scrapeMetrics(t, p.ops).sum("portico_breaker_state", `breaker="sql"`) == 0 })
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

// attemptsWhileOpen fails the test if more calls were sent to the upstream between two
// scrapes than the breaker's probes, and describes their number.
func attemptsWhileOpen(t *testing.T, begin, end scrape) string {
	t.Helper()
	sent, probes := end.sent()-begin.sent(), end.probes("sql")-begin.probes("sql")
	refused := end.sum("portico_upstream_calls_total", `kind="refused_open"`) - begin.sum("portico_upstream_calls_total", `kind="refused_open"`)
	// One call may have been sent before the first scrape and counted after it.
	if sent > probes+1 {
		t.Errorf("%.0f calls were sent to the database while the breaker was open, and %.0f let through to find out", sent, probes)
	}
	if refused == 0 {
		t.Error("no call was refused by the breaker")
	}
	return fmt.Sprintf("%.0f calls were sent to find out, and %.0f refused unsent", sent, refused)
}
