package cache_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestUnresponsiveRedis counts round trips to a Redis that does not answer, in various
// ways, while reads continue.
func TestUnresponsiveRedis(t *testing.T) {
	tests := []struct {
		name  string
		serve func(net.Conn) // nil: connections are refused
	}{
		{"nobody listens", nil},
		{"silence", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }},
		{"connections are closed", func(net.Conn) {}},
		{"random bytes", func(c net.Conn) { _, _ = io.Copy(c, rand.Reader) }},
		{"numbers", respondWith(":1\r\n")},
		{"absurd lengths", respondWith("$9223372036854775806\r\n")},
		{"negative lengths", respondWith("*-5\r\n")},
		{"messages that are none", respondWith(">3\r\n:1\r\n:2\r\n:3\r\n")},
		{"errors", respondWith("-LOADING Redis is loading the dataset in memory\r\n")},
		{"OK", respondWith("+OK\r\n")},
	}
	sample := testenv.NewSample(t)
	for _, tt := range tests {
		if !sample.Takes(3) { // each waits for seconds
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			if tt.serve == nil {
				listener.Close()
			} else {
				go func() {
					for {
						conn, err := listener.Accept()
						if err != nil {
							return
						}
						go func() {
							defer conn.Close()
							tt.serve(conn)
						}()
					}
				}()
			}
			client, err := cache.Dial("redis://"+listener.Addr().String(), 50*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			r := newReplica(t, nil, func(o *cache.Options) { o.Redis, o.Timeout = client, 50*time.Millisecond })
			r.awaitState("open")
			before, start := r.count("portico_redis_commands_total"), time.Now()
			reads := time.NewTicker(time.Millisecond)
			defer reads.Stop()
			for probes := 0; probes < 2; {
				if got := r.mustGet("product:1", fillWith("value")); got != "value" {
					t.Fatalf("%q", got)
				}
				done := r.BeginWrite(t.Context(), []string{"product:1"})
				done()
				select {
				case state := <-r.states:
					if state == "closed" {
						t.Fatal("the breaker has closed")
					}
					if state == "open" {
						probes++
					}
				case <-reads.C:
				}
			}
			attempts := r.count("portico_redis_commands_total") - before
			if most := float64(time.Since(start)/cache.OpenFor + 1); attempts == 0 || attempts > most {
				t.Errorf("%v round trips attempted, want at most %v", attempts, most)
			}
		})
	}
}

// respondWith returns a server that sends the same bytes for every command.
func respondWith(with string) func(net.Conn) {
	return func(c net.Conn) {
		b := make([]byte, 4096)
		for {
			if _, err := c.Read(b); err != nil {
				return
			}
			if _, err := io.WriteString(c, with); err != nil {
				return
			}
		}
	}
}

// TestCorruptKeys stores unexpected data in the cache's keys. It causes a miss, is counted
// as an error, and is overwritten.
func TestCorruptKeys(t *testing.T) {
	s := startRedis(t)
	client, ctx := redisClient(t, s), t.Context()
	redisKey := newReplica(t, s, nil).RedisKey(key("product:1"))
	spoil := func(do func(redis.Pipeliner)) func() {
		return func() {
			if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error { do(p); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := func(key string) func() {
		return spoil(func(p redis.Pipeliner) { p.Del(ctx, key); p.RPush(ctx, key, "x") })
	}
	tests := []struct {
		name  string
		spoil func()
	}{
		{"empty", spoil(func(p redis.Pipeliner) { p.Set(ctx, redisKey, "", 0) })},
		{"text", spoil(func(p redis.Pipeliner) { p.Set(ctx, redisKey, strings.Repeat("rubbish", 100), 0) })},
		{"bit flipped", spoil(func(p redis.Pipeliner) { p.SetBit(ctx, redisKey, 8*93+3, 1); p.SetBit(ctx, redisKey, 8*93+4, 0) })},
		{"too large", spoil(func(p redis.Pipeliner) { p.Set(ctx, redisKey, strings.Repeat("x", 2<<20), 0) })},
		{"reply of another type", list(redisKey)},
		{"generation of another type", list("portico:gen:{product:1}")},
		{"epoch of another type", list("portico:gen:{all}")},
		{"lease of another type", list("portico:lease:{product:1}")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spoil(func(p redis.Pipeliner) { p.FlushAll(ctx) })()
			r := newReplica(t, s, func(o *cache.Options) { o.MemoryBytes = 0 })
			r.mustGet("product:1", fillWith("good"))
			r.get("product:1", "hit", "good", failingFill)
			tt.spoil()
			if strings.HasPrefix(tt.name, "lease") { // leases are read only after a miss
				done := r.BeginWrite(t.Context(), []string{"catalog"})
				done()
			}
			if got := r.mustGet("product:1", fillWith("new")); got != "new" {
				t.Errorf("got %q", got)
			}
			if n := r.count("portico_cache_lookups_total", "redis", "error"); n != 1 {
				t.Errorf("%v errors counted, want 1", n)
			}
			r.mustGet("product:1", fillWith("new"))
			r.get("product:1", "hit", "new", failingFill)
			tt.spoil()
			done := r.BeginWrite(t.Context(), []string{"product:1"})
			done()
			if got := r.mustGet("product:1", fillWith("newest")); got != "newest" {
				t.Errorf("got %q after a write", got)
			}
			select {
			case state := <-r.states:
				t.Errorf("the breaker is %s", state)
			default:
			}
		})
	}
}

// TestBusy occupies all round trips for lookups. Another lookup is a miss that does not open the
// breaker; a canceled call is not filled; and a write does not wait.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	client, err := cache.Dial(s.URL(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	begun, release := make(chan struct{}, 1000), make(chan struct{})
	client.AddHook(aroundLookup(func() bool {
		begun <- struct{}{}
		<-release
		return false
	}))
	r := newReplica(t, nil, func(o *cache.Options) { o.Redis, o.Timeout = client, time.Second })
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { r.mustGet(fmt.Sprint("product:", i), fillWith("value")) })
		<-begun
	}
	r.get("product:x", "bypass", "value", fillWith("value"))
	gone, leave := context.WithCancel(t.Context())
	leave()
	filled := make(chan struct{}, 1)
	_, _, _, err = r.Get(gone, key("near y"), key("y"), []string{"y"}, func(context.Context, [16]byte) ([]byte, time.Duration, error) {
		filled <- struct{}{}
		return nil, 0, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled call: %v", err)
	}
	r.get("product:x", "bypass", "value", fillWith("value")) // by now it would have been filled
	select {
	case <-filled:
		t.Error("filled for one who has left")
	default:
	}
	done := r.BeginWrite(t.Context(), []string{"product:x"})
	done()
	if n, failed := r.count("portico_redis_commands_total", "done"), r.count("portico_redis_errors_total"); n != 1 || failed != 0 {
		t.Errorf("%v writes announced, %v round trips failed", n, failed)
	}
	close(release)
	wg.Wait()
}

// aroundLookup is a hook that is called before the commands of lookups, and reports whether they are sent.
type aroundLookup func() bool

func (aroundLookup) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (aroundLookup) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (around aroundLookup) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if commands[0].Name() == "get" && !around() {
			return nil
		}
		return next(ctx, commands)
	}
}
