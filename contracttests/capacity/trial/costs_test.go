//go:build linux

package trial

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/contracttests/capacity"
)

// BenchmarkCosts measures what requests of each kind cost Portico, the database and Redis, in
// processor time, which other programs on the machine change little. Portico, the database, Redis and
// the client are processes of their own. It takes some minutes, and writes costs.json:
//
//	go test ./contracttests/capacity -run '^$' -bench Costs -benchtime 1x -update
//	go test ./contracttests/capacity -run Tables -update
//
// The second command writes the tables of SCALE.md that follow from it.
func BenchmarkCosts(b *testing.B) {
	if !*update {
		b.Skip("needs -update")
	}
	costs := capacity.Costs{Engines: map[string]map[capacity.Kind]capacity.Cost{}}
	if text, err := os.ReadFile(costsFile); err != nil || json.Unmarshal(text, &costs) != nil {
		b.Logf("there are no earlier costs: %v", err)
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		b.Run(engine, func(b *testing.B) {
			// Without memory, every look-up asks Redis.
			measured := measureKinds(b, newShop(b, engine, 1, "PORTICO_CACHE_MEMORY_TTL=0s"), slices.DeleteFunc(capacity.Kinds(), isMemoryHit))
			s := newShop(b, engine, 1, "PORTICO_CACHE_MEMORY_TTL=1h", "PORTICO_CACHE_TTL=1h")
			maps.Copy(measured, measureKinds(b, s, []capacity.Kind{capacity.ProductMemoryHit, capacity.ListMemoryHit}))
			costs.Engines[engine], costs.Machine = measured, thisMachine()
		})
	}
	b.Run("redis", func(b *testing.B) { costs.Redis = measureRedis(b, newShop(b, "sqlite", 1)) })
	text, err := json.MarshalIndent(costs, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(costsFile, append(text, '\n'), 0o644); err != nil {
		b.Fatal(err)
	}
}

// costsFile is where the model has its costs from.
const costsFile = "../costs.json"

func isMemoryHit(kind capacity.Kind) bool {
	return kind == capacity.ProductMemoryHit || kind == capacity.ListMemoryHit
}

// requests returns a function that makes the requests of a kind.
func (s *shop) requests(kind capacity.Kind) func() call {
	var n atomic.Int64
	batch := func(qty int64) string {
		items := make([]string, capacity.BatchItems)
		for i := range items {
			items[i] = fmt.Sprintf(`{"item_id":"%d","qty":"%d"}`, i+1, qty)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return func() call {
		n := n.Add(1)
		switch kind {
		case capacity.ProductMemoryHit, capacity.ProductRedisHit:
			return call{method: "GET", path: "/products/1", host: "hit.example"}
		case capacity.ProductMiss:
			return call{method: "GET", path: "/products/1", host: s.newHost()}
		case capacity.ListMemoryHit, capacity.ListRedisHit:
			return call{method: "GET", path: "/products", host: "hit.example"}
		case capacity.ListMiss:
			return call{method: "GET", path: "/products", host: s.newHost()}
		case capacity.AdminList:
			return call{method: "GET", path: "/products", signed: true, host: "hit.example"}
		case capacity.OrderList:
			return call{method: "GET", path: "/orders", signed: true, host: "hit.example"}
		case capacity.StockRead:
			return call{method: "GET", path: "/stockitems/1", signed: true, host: "hit.example"}
		case capacity.StockWrite: // of other items in turn, so that no writer waits for another's lock
			return call{method: "PUT", path: "/stockitems/" + strconv.FormatInt(1+n%8, 10), body: fmt.Sprintf(`{"qty":"%d"}`, n), signed: true, host: "hit.example"}
		case capacity.StockBatch:
			return call{method: "PUT", path: "/stockitems", body: batch(n), signed: true, host: "hit.example"}
		default:
			return call{method: "PUT", path: "/products/" + strconv.FormatInt(1+n%8, 10), body: fmt.Sprintf(`{"price":%d}`, n), signed: true, host: "hit.example"}
		}
	}
}

// measureKinds returns the costs of kinds at the first replica of s.
func measureKinds(b *testing.B, s *shop, kinds []capacity.Kind) map[capacity.Kind]capacity.Cost {
	b.Helper()
	const workers, enough, batch, most = 2, 1.2e6, 250, 60
	costs := map[capacity.Kind]capacity.Cost{}
	for _, kind := range kinds {
		next := s.requests(kind)
		s.sendAll(batch, workers, next) // fills the cache and the pools
		before, n, size := s.usage(), 0, 0.0
		for range most {
			size = s.sendAll(batch, workers, next)
			n += batch
			if processorTime(b, s.replicas[0].Cmd.Process.Pid) > before.portico+enough {
				break
			}
		}
		u := s.usage().minus(before, float64(n))
		costs[kind] = capacity.Cost{Portico: round(u.portico), Database: round(u.database), Redis: round(u.redis), Statements: round(u.statements),
			Commands: round(u.commands), RoundTrips: round(u.roundTrips), ReplyBytes: math.Round(size), Spread: s.spread(next)}
		b.Logf("%s %s: %+v", s.engine, kind, costs[kind])
	}
	return costs
}

// spread returns how the times of single requests are distributed.
func (s *shop) spread(next func() call) []float64 {
	s.tb.Helper()
	const n, deciles = 550, 10
	times := make([]float64, n)
	for i := range times {
		begin := time.Now()
		s.sendAll(1, 1, next)
		times[i] = float64(time.Since(begin))
	}
	slices.Sort(times)
	times = times[:n-n/11]
	total := 0.0
	for _, t := range times {
		total += t
	}
	shape := make([]float64, deciles)
	for i := range shape {
		for _, t := range times[i*len(times)/deciles : (i+1)*len(times)/deciles] {
			shape[i] += t
		}
		shape[i] = round(shape[i] * deciles / total)
	}
	return shape
}

// round returns n with three significant digits.
func round(n float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 3, 64), 64)
	return short
}

// measureRedis measures single operations on the Redis of s.
func measureRedis(b *testing.B, s *shop) (costs capacity.RedisCosts) {
	b.Helper()
	redisTime := func() float64 {
		used := s.info("cpu")
		return 1e6 * (used["used_cpu_user"] + used["used_cpu_sys"])
	}
	// Several clients at a time, each waiting for its reply, as replicas do.
	repeat := func(clients, n int, command string) float64 {
		before := redisTime()
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				conn := dialRedis(b, s.redis.Address)
				defer func() { _ = conn.Close() }()
				replies := bufio.NewReader(conn)
				for range n / clients {
					if err := roundTrip(conn, replies, command); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		return (redisTime() - before) / float64(n)
	}
	const clients, n = 64, 32_000
	text := strings.Repeat("x", 2000) // of a reply
	times := func(command string, tags ...string) (all string) {
		for _, tag := range tags {
			all += strings.ReplaceAll(command, "TAG", tag) + "\r\n"
		}
		return all
	}
	s.redis.Command("SET reply " + text)
	s.redis.Command("SET gen:all 0123456789abcdefghijklmnop")
	s.redis.Command("SET gen:product 0123456789abcdefghijklmnop")
	generation := times("SET gen:TAG 0123456789abcdefghijklmnop PX 7500000 NX\r\nPEXPIRE gen:TAG 7500000\r\nGET gen:TAG", "all", "product")
	for into, commands := range map[*float64]string{
		&costs.Lookup:  "GET reply\r\n" + times("GET gen:TAG", "all", "product"),
		&costs.Prepare: generation + "ZCARD lease:product\r\nGET missing\r\nSET fill:product 0123456789abcdefghijklmnop PX 5000 NX\r\nGET fill:product\r\n",
		&costs.Store:   "*5\r\n$3\r\nSET\r\n$5\r\nreply\r\n$2000\r\n" + text + "\r\n$2\r\nPX\r\n$7\r\n3900000\r\n", // a long line would take long to parse
		&costs.Change: times("ZADD lease:TAG 1790000000000 writer\r\nPEXPIRE lease:TAG 5000\r\nZREMRANGEBYSCORE lease:TAG -inf 1700000000000\r\n"+
			"SET gen:TAG 0123456789abcdefghijklmnop PX 7500000", "catalog", "product"),
		&costs.Done:     times("SET gen:TAG 0123456789abcdefghijklmnop PX 7500000\r\nZREM lease:TAG writer", "catalog", "product"),
		&costs.Nonce:    "SET nonce 1790000000 PX 7200000 NX\r\nGET nonce\r\n",
		&costs.SmallGet: "GET gen:all\r\n",
		&costs.MoreGet:  strings.Repeat("GET gen:all\r\n", 11),
	} {
		*into = repeat(clients, n, commands)
	}
	costs.MoreGet = (costs.MoreGet - costs.SmallGet) / 10
	for _, cost := range []*float64{&costs.Lookup, &costs.Prepare, &costs.Store, &costs.Change, &costs.Done, &costs.Nonce, &costs.SmallGet, &costs.MoreGet} {
		*cost = round(*cost)
	}
	costs.Publish = round(repeat(1, 50_000, "PUBLISH nobody 0123456789abcdefghijklmnop\r\n"))
	const subscribers = 500
	conns := make([]net.Conn, subscribers)
	for i := range conns {
		conns[i] = dialRedis(b, s.redis.Address)
		if err := roundTrip(conns[i], bufio.NewReader(conns[i]), "SUBSCRIBE many\r\n"); err != nil {
			b.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, conns[i]) }() // until it is closed
	}
	costs.PublishPerSubscriber = round((repeat(1, 1000, "PUBLISH many 0123456789abcdefghijklmnop\r\n") - costs.Publish) / subscribers)
	for _, conn := range conns {
		_ = conn.Close()
	}
	const messages = 60_000
	channel := strings.TrimSpace(s.channel())
	before := processorTime(b, s.replicas[0].Cmd.Process.Pid)
	repeat(1, messages, "PUBLISH "+channel+" \"other\\nproduct:12\\nstock\"\r\n")
	apptest.Await(b, "the last message", func() bool { // which Portico has read when it is idle
		last := processorTime(b, s.replicas[0].Cmd.Process.Pid)
		time.Sleep(50 * time.Millisecond)
		return processorTime(b, s.replicas[0].Cmd.Process.Pid) == last
	})
	costs.Receive = round((processorTime(b, s.replicas[0].Cmd.Process.Pid) - before) / messages)
	return costs
}

// channel returns the channel that the replicas listen to.
func (s *shop) channel() string {
	s.tb.Helper()
	conn := dialRedis(s.tb, s.redis.Address)
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprint(conn, "PUBSUB CHANNELS *\r\nQUIT\r\n"); err != nil {
		s.tb.Fatal(err)
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		s.tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "portico:") {
			return line
		}
	}
	s.tb.Fatalf("no replica listens: %s", text)
	return ""
}

func dialRedis(tb testing.TB, address string) net.Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}

// roundTrip sends commands, a line each or a single one as an array, and reads a reply to each: a line, or the bytes that it announces.
func roundTrip(conn net.Conn, replies *bufio.Reader, command string) error {
	if _, err := io.WriteString(conn, command); err != nil {
		return err
	}
	commands := strings.Count(command, "\n")
	if strings.HasPrefix(command, "*") { // one command, as an array
		commands = 1
	}
	for range commands {
		line, err := replies.ReadString('\n')
		if size, ok := strings.CutPrefix(line, "$"); err == nil && ok {
			if n, _ := strconv.Atoi(strings.TrimSpace(size)); n >= 0 { // there is such a key
				_, err = replies.Discard(n + len("\r\n"))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func thisMachine() capacity.Machine {
	m := capacity.Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				m.Processor = strings.TrimSpace(value)
			}
		}
	}
	// The processor time of this thread does not grow while others run.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	block, used := bytes.Repeat([]byte("x"), 1<<20), threadTime()
	const blocks = 300
	for range blocks {
		sum := sha256.Sum256(block)
		block[0] = sum[0]
	}
	m.SHA256 = math.Round(blocks * float64(len(block)) / 1e6 / (threadTime() - used).Seconds())
	return m
}

// threadTime returns the processor time of the calling thread.
func threadTime() time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
