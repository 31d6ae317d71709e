//go:build linux

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/cache"
)

// guestList is what the benchmarks of kept replies ask for: ten products.
const guestList = "/api/rest/products"

// A keptReply is what the program answers to guestList.
type keptReply struct {
	header http.Header
	body   []byte
}

// newKeeping returns the program in this process with a catalogue of a thousand
// products, with more environment, and the reply to guestList, which it keeps.
func newKeeping(b *testing.B, environ ...string) (handler http.Handler, url string, kept keptReply) {
	b.Helper()
	db, data := catalogue(b, b.TempDir(), 1000)
	a, server := serveApp(b, db, data, "documented", environ...)
	ask := func() (*http.Response, []byte) {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+guestList, nil)
		if err != nil {
			b.Fatal(err)
		}
		request.Host = "shop.example"
		request.Header.Set("Accept", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			b.Fatal(response.Status, err)
		}
		return response, body
	}
	await(b, "a kept reply", func() bool {
		response, _ := ask()
		return response.Header.Get("X-Cache") == "HIT"
	})
	response, body := ask()
	response.Header.Del("Date") // net/http's own
	return a.contract, server.URL, keptReply{response.Header, body}
}

// write answers with the reply, byte by byte, but for the id of the request.
func (r *keptReply) write(c *gin.Context) { r.writeBody(c, r.body) }

func (r *keptReply) writeBody(c *gin.Context, body []byte) {
	for name, values := range r.header {
		c.Header(name, values[0])
	}
	c.Data(http.StatusOK, c.Writer.Header().Get("Content-Type"), body)
}

// bare returns a gin engine with a handler for guestList alone.
func bare(write func(*gin.Context)) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.GET(guestList, write)
	return engine
}

// BenchmarkMemoryHit compares a kept reply from memory, over real HTTP with logs and
// metrics, with a bare gin handler that writes the same bytes, as BenchmarkStockItem
// compares.
func BenchmarkMemoryHit(b *testing.B) {
	_, url, kept := newKeeping(b, "PORTICO_CACHE_TTL=1h")
	floor := httptest.NewServer(bare(kept.write))
	b.Cleanup(floor.Close)
	compareSides(b, url, floor.URL, guestList, "")
}

// BenchmarkRedisHit compares a kept reply from Redis, memory off, with a bare gin
// handler that asks Redis for the same keys in one pipeline and writes the same bytes.
func BenchmarkRedisHit(b *testing.B) {
	server := newRedis(b)
	_, url, kept := newKeeping(b, "PORTICO_CACHE_TTL=1h", "PORTICO_CACHE_MEMORY_TTL=0s", "PORTICO_CACHE_REDIS_URL="+server.url())
	client, err := cache.Dial(server.url(), time.Second)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	keys, err := client.Keys(b.Context(), "*").Result()
	if err != nil {
		b.Fatal(err)
	}
	// What a list depends on: all replies, and the catalogue.
	keys = slices.DeleteFunc(keys, func(key string) bool {
		return !strings.Contains(key, "reply:") && !strings.HasSuffix(key, "{all}") && !strings.HasSuffix(key, "{catalog}")
	})
	if len(keys) != 3 {
		b.Fatalf("Redis holds %v, want a reply and two generations", keys)
	}
	floor := httptest.NewServer(bare(func(c *gin.Context) {
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
			if reply, _ := value.Bytes(); len(reply) > len(kept.body) { // something stands before the body
				kept.writeBody(c, reply[len(reply)-len(kept.body):])
			}
		}
	}))
	b.Cleanup(floor.Close)
	compareSides(b, url, floor.URL, guestList, "")
}

// A discarded is a response that nobody gets.
type discarded struct {
	header http.Header
	status int
	bytes  int
}

// Header returns the header.
func (d *discarded) Header() http.Header { return d.header }

// WriteHeader notes the status.
func (d *discarded) WriteHeader(status int) { d.status = status }

// Write counts the bytes.
func (d *discarded) Write(b []byte) (int, error) {
	d.bytes += len(b)
	return len(b), nil
}

// WriteString counts the bytes.
func (d *discarded) WriteString(s string) (int, error) {
	d.bytes += len(s)
	return len(s), nil
}

// BenchmarkMemoryHitHandler compares the same handlers alone, without HTTP.
//
//	time-ratio   our time as a multiple of the bare handler's
//	allocs/op    our allocations for one request
func BenchmarkMemoryHitHandler(b *testing.B) {
	ours, _, kept := newKeeping(b, "PORTICO_CACHE_TTL=1h")
	floor := bare(kept.write)
	request := httptest.NewRequest(http.MethodGet, guestList, nil)
	request.Host = "shop.example"
	request.Header.Set("Accept", "application/json")
	response := &discarded{header: http.Header{}}
	serve := func(handler http.Handler) {
		clear(response.header)
		response.bytes = 0
		handler.ServeHTTP(response, request)
		if response.status != http.StatusOK || response.bytes != len(kept.body) {
			b.Fatalf("status %d, %d bytes, want %d", response.status, response.bytes, len(kept.body))
		}
	}
	serve(ours)
	if response.header.Get("X-Cache") != "HIT" {
		b.Fatal("not from what is kept")
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

// BenchmarkMemoryHitLoop serves kept replies without HTTP one after the other, for
// profiles.
func BenchmarkMemoryHitLoop(b *testing.B) {
	ours, _, _ := newKeeping(b, "PORTICO_CACHE_TTL=1h")
	request := httptest.NewRequest(http.MethodGet, guestList, nil)
	request.Host = "shop.example"
	request.Header.Set("Accept", "application/json")
	response := &discarded{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(response.header)
		ours.ServeHTTP(response, request)
	}
	if response.header.Get("X-Cache") != "HIT" {
		b.Fatal("not from what is kept")
	}
}
