//go:build linux

package speed

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// guestList is the path of the benchmarks of cached replies. As on the demo store, which has few products, the reply
// has 2 KB.
const guestList = "/api/rest/products"

// listOfFour is the request for a cached reply of 2 KB.
func listOfFour() request { return get(guestList + "?limit=4") }

// BenchmarkHit compares cached replies with the same bytes from a gin handler, from Varnish and from nginx.
func BenchmarkHit(b *testing.B) {
	b.Run("logs", func(b *testing.B) { benchmarkHit(b, "info") })
	b.Run("no logs", func(b *testing.B) { benchmarkHit(b, "warn") })
	b.Run("not modified", benchmarkNotModified)
	b.Run("varnish", func(b *testing.B) {
		portico, reply := startCaching(b, "info")
		compare(b, portico, startVarnish(b, reply), listOfFour())
	})
	b.Run("nginx", func(b *testing.B) {
		portico, reply := startCaching(b, "info")
		compare(b, portico, startNginx(b, reply), listOfFour())
	})
	b.Run("redis", func(b *testing.B) { benchmarkRedisHit(b) })
	b.Run("redis alone", func(b *testing.B) { benchmarkRedisHit(b, "PORTICO_CACHE_MEMORY_BYTES=0") })
	for _, n := range []int{1, 4, 8} {
		b.Run("shared redis/"+strconv.Itoa(n), func(b *testing.B) { benchmarkSharedRedis(b, n) })
	}
}

// startCaching starts a server with the demo store, and returns the floor that repeats its cached reply.
func startCaching(b *testing.B, level string, environ ...string) (*server, floor) {
	b.Helper()
	r := listOfFour()
	portico := startPortico(b, append(environ, "PORTICO_CACHE_TTL=1h"), "--demo", "--log-level", level)
	testenv.Await(b, "a cached reply", func() bool {
		header, _ := portico.reply(b, r)
		return header.Get("X-Cache") == "HIT"
	})
	header, body := portico.reply(b, r)
	return portico, floor{Header: http.Header{"Content-Type": header["Content-Type"]}, Body: []byte(body)}
}

// benchmarkHit compares a cached reply with a gin handler that repeats it.
func benchmarkHit(b *testing.B, level string) {
	r := listOfFour()
	portico, reply := startCaching(b, level)
	repeats := startFloor(b, reply)
	compareReplies(b, portico, repeats, r)
	compare(b, portico, repeats, r)
}

// benchmarkNotModified compares a reply without a body, to a client that has the cached reply,
// with a gin handler that sends the whole reply.
func benchmarkNotModified(b *testing.B) {
	portico, reply := startCaching(b, "info")
	header, _ := portico.reply(b, listOfFour())
	compareWith(b, portico, startFloor(b, reply), listOfFour().with("If-None-Match", header.Get("Etag")), listOfFour())
}

// benchmarkRedisHit compares a reply that Portico asks Redis about each time with a gin handler that reads the reply and
// its generations from Redis in one pipeline. Portico reads the same keys if it has no memory for replies, and otherwise
// the generations alone.
func benchmarkRedisHit(b *testing.B, environ ...string) {
	redis := apptest.NewRedis(b)
	portico, repeats, _ := startRedisHit(b, redis, environ...)
	compare(b, portico, repeats, listOfFour())
}

// startRedisHit starts the servers of benchmarkRedisHit. reply is the floor's.
func startRedisHit(b *testing.B, redis *apptest.Redis, environ ...string) (portico, repeats *server, reply floor) {
	b.Helper()
	portico, reply = startCaching(b, "info", append(environ, "PORTICO_CACHE_MEMORY_TTL=0s", "PORTICO_CACHE_REDIS_URL="+redis.URL())...)
	client, err := cache.Dial(redis.URL(), time.Second)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	keys, err := client.Keys(b.Context(), "*").Result()
	if err != nil {
		b.Fatal(err)
	}
	// A cached list has a reply and two generations: the one of all replies, and the catalog's.
	reply.Keys = slices.DeleteFunc(keys, func(key string) bool {
		return !strings.Contains(key, "reply:") && !strings.HasSuffix(key, "{all}") && !strings.HasSuffix(key, "{catalog}")
	})
	if len(reply.Keys) != 3 {
		b.Fatalf("Redis holds %v, want a reply and two generations", keys)
	}
	reply.RedisURL = redis.URL()
	repeats = startFloor(b, reply)
	compareReplies(b, portico, repeats, listOfFour())
	return portico, repeats, reply
}

// benchmarkSharedRedis is benchmarkRedisHit for so many processes of either kind that share one Redis and the
// connections of the load generator. It also reports the processor time of Redis for a reply of Portico.
func benchmarkSharedRedis(b *testing.B, processes int) {
	testenv.Need(b, "wrk")
	redis := apptest.NewRedis(b)
	first, firstFloor, reply := startRedisHit(b, redis)
	ours, theirs := []*server{first}, []*server{firstFloor}
	for range processes - 1 {
		portico, _ := startCaching(b, "info", "PORTICO_CACHE_MEMORY_TTL=0s", "PORTICO_CACHE_REDIS_URL="+redis.URL())
		ours, theirs = append(ours, portico), append(theirs, startFloor(b, reply))
	}
	var used time.Duration
	var replies float64
	comparePairs(b, func(took time.Duration) (rate, processor float64) {
		store := &server{pid: redis.PID()}
		before := store.processorTime(b)
		rate, processor = generateAtAll(b, ours, listOfFour(), took)
		used, replies = used+store.processorTime(b)-before, replies+rate*took.Seconds()
		return rate, processor
	}, func(took time.Duration) (rate, processor float64) {
		return generateAtAll(b, theirs, listOfFour(), took)
	})
	b.ReportMetric(float64(used.Microseconds())/replies, "redis-us/request")
}

// startVarnish starts Varnish with a reply in its cache.
func startVarnish(b *testing.B, reply floor) *server {
	b.Helper()
	path := testenv.Need(b, "varnishd")
	origin := startFloor(b, reply)
	address := testenv.FreeAddress(b)
	cmd := exec.Command(path, "-F", "-j", "none", "-a", address, "-b", origin.address, "-n", filepath.Join(b.TempDir(), "varnish"), "-s", "malloc,64m", "-t", "3600")
	s := startDaemon(b, cmd, address)
	s.reply(b, listOfFour())
	return s
}

// startNginx starts nginx with the body of a reply in a file.
func startNginx(b *testing.B, reply floor) *server {
	b.Helper()
	path, dir, address := testenv.Need(b, "nginx"), b.TempDir(), testenv.FreeAddress(b)
	configuration := fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log %[1]s/errors; worker_processes auto;
events {}
http {
  access_log %[1]s/log; default_type "application/json; charset=utf-8"; sendfile on; tcp_nopush on; keepalive_requests 1000000000; open_file_cache max=10;
  client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  server { listen %[2]s; location = %[3]s { alias %[1]s/body; } }
}`, dir, address, guestList)
	for name, content := range map[string][]byte{"body": reply.Body, "nginx.conf": []byte(configuration)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return startDaemon(b, exec.Command(path, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-g", "user root;"), address)
}
