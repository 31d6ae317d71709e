//go:build linux

package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// guestList is the path that the cache benchmarks read: a page of ten products.
const guestList = "/api/rest/products"

// A cachedReply is the reply of the program to guestList.
type cachedReply struct {
	header http.Header
	body   []byte
}

// newCachingServer serves a catalog of a thousand products in this process, with
// additional environment. It returns when the reply to guestList is cached.
func newCachingServer(b *testing.B, environ ...string) (a *app, url string, cached cachedReply) {
	b.Helper()
	db, data := demotest.NewCatalog(b, b.TempDir(), 1000)
	a, server := serveApp(b, db, data, "documented", environ...)
	ask := func() apptest.Reply {
		return apptest.Send(b, http.MethodGet, server.URL+guestList, "", "Accept", "application/json", "Host", "shop.example")
	}
	apptest.Await(b, "a cached reply", func() bool { return ask().Header.Get("X-Cache") == "HIT" })
	reply := ask()
	for _, name := range []string{"Date", "Connection"} { // net/http's own
		reply.Header.Del(name)
	}
	return a, server.URL, cachedReply{reply.Header, []byte(reply.Body)}
}

// write sends the reply unchanged.
func (r *cachedReply) write(c *gin.Context) { r.writeBody(c, r.body) }

// writeBody sends the headers of the reply with another body.
func (r *cachedReply) writeBody(c *gin.Context, body []byte) {
	for name, values := range r.header {
		c.Header(name, values[0])
	}
	c.Data(http.StatusOK, c.Writer.Header().Get("Content-Type"), body)
}

// newFloorEngine returns a gin engine with write as its only handler, for guestList.
func newFloorEngine(write func(*gin.Context)) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.GET(guestList, write)
	return engine
}

// BenchmarkMemoryHit compares a cache hit in memory, over HTTP with logs and metrics, with
// a gin handler that writes the same bytes, as BenchmarkStockItem does.
func BenchmarkMemoryHit(b *testing.B) {
	_, url, cached := newCachingServer(b, "PORTICO_CACHE_TTL=1h")
	floor := httptest.NewServer(newFloorEngine(cached.write))
	b.Cleanup(floor.Close)
	compareServers(b, url, floor.URL, guestList, "")
}

// BenchmarkMemoryHitDuringImport is BenchmarkMemoryHit while a process imports, so that each hit
// reads a row of the database.
func BenchmarkMemoryHitDuringImport(b *testing.B) {
	a, url, cached := newCachingServer(b, "PORTICO_CACHE_TTL=1h")
	announcement, err := a.db.Changes().Announce(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = announcement.End(context.WithoutCancel(b.Context())) }()
	floor := httptest.NewServer(newFloorEngine(cached.write))
	b.Cleanup(floor.Close)
	compareServers(b, url, floor.URL, guestList, "")
}

// BenchmarkRedisHit compares a cache hit in Redis, without memory, with a gin handler that
// reads the same keys from Redis in one pipeline and writes the same bytes.
func BenchmarkRedisHit(b *testing.B) {
	server := apptest.NewRedis(b)
	_, url, cached := newCachingServer(b, "PORTICO_CACHE_TTL=1h", "PORTICO_CACHE_MEMORY_TTL=0s", "PORTICO_CACHE_REDIS_URL="+server.URL())
	client, err := cache.Dial(server.URL(), time.Second)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	keys, err := client.Keys(b.Context(), "*").Result()
	if err != nil {
		b.Fatal(err)
	}
	// A cached list has a reply and two generations: that of all replies, and the catalog's.
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return !strings.Contains(key, "reply:") && !strings.HasSuffix(key, "{all}") && !strings.HasSuffix(key, "{catalog}")
	})
	if len(keys) != 3 {
		b.Fatalf("Redis holds %v, want a reply and two generations", keys)
	}
	floor := httptest.NewServer(newFloorEngine(func(c *gin.Context) {
		values := make([]*redis.StringCmd, len(keys))
		pipe := client.Pipeline()
		for i, key := range keys {
			values[i] = pipe.Get(c.Request.Context(), key)
		}
		if _, err := pipe.Exec(c.Request.Context()); err != nil {
			_ = c.AbortWithError(http.StatusInternalServerError, err)
			return
		}
		for _, value := range values {
			if reply, _ := value.Bytes(); len(reply) > len(cached.body) { // the entry has a header before the body
				cached.writeBody(c, reply[len(reply)-len(cached.body):])
			}
		}
	}))
	b.Cleanup(floor.Close)
	compareServers(b, url, floor.URL, guestList, "")
}

// A discardWriter is a http.ResponseWriter that only counts.
type discardWriter struct {
	header http.Header
	status int
	bytes  int
}

// Header returns the header.
func (d *discardWriter) Header() http.Header { return d.header }

// WriteHeader stores the status.
func (d *discardWriter) WriteHeader(status int) { d.status = status }

// Write counts the bytes.
func (d *discardWriter) Write(b []byte) (int, error) {
	d.bytes += len(b)
	return len(b), nil
}

// WriteString counts the bytes.
func (d *discardWriter) WriteString(s string) (int, error) {
	d.bytes += len(s)
	return len(s), nil
}

// BenchmarkMemoryHitHandler compares the handlers of BenchmarkMemoryHit without HTTP.
//
//	time-ratio   time of Portico as a multiple of the gin handler's
//	allocs/op    allocations of Portico for one request
func BenchmarkMemoryHitHandler(b *testing.B) {
	a, _, cached := newCachingServer(b, "PORTICO_CACHE_TTL=1h")
	ours := a.contract
	floor := newFloorEngine(cached.write)
	request := httptest.NewRequest(http.MethodGet, guestList, nil)
	request.Host = "shop.example"
	request.Header.Set("Accept", "application/json")
	response := &discardWriter{header: http.Header{}}
	serve := func(handler http.Handler) {
		clear(response.header)
		response.bytes = 0
		handler.ServeHTTP(response, request)
		if response.status != http.StatusOK || response.bytes != len(cached.body) {
			b.Fatalf("status %d, %d bytes, want %d", response.status, response.bytes, len(cached.body))
		}
	}
	serve(ours)
	if response.header.Get("X-Cache") != "HIT" {
		b.Fatal("not a cache hit")
	}
	const slice, pairs = 150 * time.Millisecond, 9
	took := func(handler http.Handler) float64 {
		n, start := 0, time.Now()
		for time.Since(start) < slice {
			for range 100 {
				serve(handler)
			}
			n += 100
		}
		return float64(time.Since(start)) / float64(n)
	}
	b.ResetTimer()
	var ratios, times []float64
	for range pairs {
		f := took(floor)
		o := took(ours)
		ratios, times = append(ratios, o/f), append(times, o)
	}
	b.StopTimer()
	slices.Sort(ratios)
	slices.Sort(times)
	b.ReportMetric(ratios[pairs/2], "time-ratio")
	b.ReportMetric(times[pairs/2], "ns/request")
	b.ReportMetric(testing.AllocsPerRun(2000, func() { serve(ours) }), "allocs/op")
	b.ReportMetric(testing.AllocsPerRun(2000, func() { serve(floor) }), "floor-allocs/op")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkMemoryHitLoop serves cache hits without HTTP in a loop, for profiles.
func BenchmarkMemoryHitLoop(b *testing.B) {
	a, _, _ := newCachingServer(b, "PORTICO_CACHE_TTL=1h")
	request := httptest.NewRequest(http.MethodGet, guestList, nil)
	request.Host = "shop.example"
	request.Header.Set("Accept", "application/json")
	response := &discardWriter{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(response.header)
		a.contract.ServeHTTP(response, request)
	}
	if response.header.Get("X-Cache") != "HIT" {
		b.Fatal("not a cache hit")
	}
}
