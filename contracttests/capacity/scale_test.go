package capacity

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/config/testenv/nightly"
)

const (
	scalePage = "../../cmd/portico/SCALE.md"
	// seed and warmUp, in seconds, are what the tables are simulated with.
	seed   = 1
	warmUp = 1.2
)

// largeShop is the load that the page plans for, with the settings that Portico has by default: one
// PostgreSQL and one Redis.
func largeShop() Plan {
	return Plan{
		Engine: "postgres",
		Rates: Rates{Products: 72_000, Lists: 24_000, AdminLists: 500, OrderLists: 1000, StockReads: 1500, StockWrites: 800,
			StockBatches: 100, ProductWrites: 100},
		Products: 10_000_000, Lists: 100_000, Skew: 0.8, Replicas: 1000, Cores: 2, Regions: 3, RTT: 500 * time.Microsecond, RegionRTT: 80 * time.Millisecond,
		TTL: 5 * time.Minute, MemoryTTL: time.Second, MemoryReplies: 20_000, Timeout: 100 * time.Millisecond,
		Shards: 1, DatabaseCores: 32, Commit: time.Millisecond, PoolConnections: 12, MaxConnections: 500, MaxClients: 10_000, SharedFills: true, ListTags: 1, TagsOfWrite: 1,
	}
}

// prices are an assumption: about what large clouds charge.
func prices() Prices { return Prices{CoreHour: 0.04, GBMemory: 5, GBTraffic: 0.05} }

// A step is a plan of a table, and what the simulation says of it: what the load means, and what comes of
// it where work has to wait.
type step struct {
	name           string
	plan           Plan
	result, queued *Result
}

// simulateAll simulates all steps, as many at a time as there are processors. With queued it also
// simulates what has to wait.
func simulateAll(t *testing.T, costs *Costs, seconds float64, queued bool, steps []step) {
	t.Helper()
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	simulate := func(s *step, unqueued bool, into **Result) {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p := s.plan
			p.Unqueued = unqueued
			long := seconds * math.Max(1, 80_000/p.Rates.Total()) // enough requests
			warm := warmUp
			if !unqueued { // queues form, and memory fills, within less
				warm = 0.4
			}
			r, err := Run(p, costs, seed, warm, false, p.Poisson(seed, warm+long))
			if err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
			*into = r
		})
	}
	for i := range steps {
		simulate(&steps[i], true, &steps[i].result)
		if queued {
			simulate(&steps[i], false, &steps[i].queued)
		}
	}
	all.Wait()
}

// growth are the large shop and smaller ones, in one region.
func growth() (steps []step) {
	for _, replicas := range []int{1, 10, 100, 1000} {
		p := largeShop()
		part := float64(replicas) / float64(p.Replicas)
		p.Rates, p.Products, p.Lists, p.Replicas, p.Regions = p.Rates.Scale(part), p.Products*replicas/1000, p.Lists*replicas/1000, replicas, 1
		steps = append(steps, step{strconv.Itoa(replicas), p, nil, nil})
	}
	return steps
}

// invalidation are loads with other rates of product writes, and with the means against them.
func invalidation() (steps []step) {
	for _, means := range []struct {
		name   string
		change func(*Plan)
	}{
		{"without shared fills", func(p *Plan) { p.SharedFills = false }},
		{"as it is", func(*Plan) {}},
		{"1,000 list tags", func(p *Plan) { p.ListTags, p.TagsOfWrite = 1000, 3 }},
	} {
		for _, writes := range []float64{0, 10, 100, 1000} {
			p := largeShop()
			p.Regions, p.Rates = 1, Rates{Lists: p.Rates[Lists], ProductWrites: writes} // others change nothing
			means.change(&p)
			steps = append(steps, step{means.name, p, nil, nil})
		}
	}
	return steps
}

// remedies are the large shop with one means after the other.
func remedies() (steps []step) {
	p := largeShop()
	for _, means := range []struct {
		name   string
		change func()
	}{
		{"one Redis, one PostgreSQL, three regions", func() {}},
		{"all replicas in one region", func() { p.Regions = 1 }},
		{"100 replicas of four cores", func() { p.Replicas, p.Cores, p.PoolConnections = 100, 4, 24 }},
		{"PgBouncer", func() { p.Pooler = true }},
		{"finer list tags (1,000)", func() { p.ListTags, p.TagsOfWrite = 1000, 3 }},
		{"messages from eight read-only Redis", func() { p.Relays = 8 }},
		{"Redis Cluster with six masters", func() { p.Shards = 6 }},
		{"a copy of the generation of all replies on each master", func() { p.EpochCopies = true }},
		{"four read replicas of PostgreSQL", func() { p.ReadReplicas = 4 }},
		{"a CDN that answers 80 % of Guests", func() { p.EdgeShare = 0.8 }},
	} {
		means.change()
		steps = append(steps, step{means.name, p, nil, nil})
	}
	return steps
}

// coldStart is what the load means in the first second after all replies were invalidated.
func coldStart() (steps []step) {
	all := remedies()
	last := all[len(all)-1]
	last.name = "100 replicas, and all other means of the next table"
	alone := all[1]
	alone.name = "1,000 replicas that do not share fills"
	alone.plan.SharedFills = false
	all[1].name, all[2].name = "1,000 replicas in one region", "100 replicas"
	return []step{alone, all[1], all[2], last}
}

// partition is the part of the large shop that one of ten stores has, each with replicas, a Redis and a
// database of its own.
func partition() step {
	p := largeShop()
	p.Rates, p.Products, p.Lists, p.Replicas, p.Regions = p.Rates.Scale(0.1), p.Products/10, p.Lists/10, 30, 1
	p.Pooler = true
	return step{"one of ten stores", p, nil, nil}
}

// TestTables checks that the tables of the page on capacity are those of the model. After a change of the
// model, or of the costs, run:
//
//	go test ./contracttests/capacity -run Tables -update
func TestTables(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Log("the tables are those of amd64: other processors round otherwise")
		return
	}
	costs, err := Measured()
	if err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(500)) // much memory lives long
	// At every commit only the tables that need no simulation are compared.
	simulated := *update || nightly.Whole()
	rows, writes, means, store, cold := growth(), invalidation(), remedies(), []step{partition()}, coldStart()
	if simulated {
		simulateAll(t, costs, 0.5, false, rows)
		simulateAll(t, costs, 1.5, false, writes)
		simulateAll(t, costs, 0.25, true, means)
		simulateAll(t, costs, 1, false, store)
		for i := range cold {
			p := cold[i].plan
			p.Unqueued = true
			if cold[i].result, err = Run(p, costs, seed, 0, true, p.Poisson(seed, 1)); err != nil {
				t.Error(err)
			}
		}
	}
	if t.Failed() {
		return
	}
	page, err := os.ReadFile(filepath.FromSlash(scalePage))
	if err != nil {
		t.Fatal(err)
	}
	want := string(page)
	tables := map[string]string{"machine": machineText(costs), "costs": costsTable(costs), "single": singleTable(costs), "messages": messagesTable(costs), "regions": regionsTable(costs)}
	if simulated {
		maps.Copy(tables, map[string]string{
			"growth": growthTable(costs, rows), "uses": usesTable(means[0]), "invalidation": invalidationTable(costs, writes),
			"remedies": remediesTable(means), "cold": coldTable(cold), "bill": billTable(costs, means, store[0]),
		})
	}
	for name, table := range tables {
		begin, end := "<!-- TestTables writes "+name+". -->\n", "<!-- End of "+name+". -->\n"
		before, rest, found := strings.Cut(want, begin)
		_, after, foundEnd := strings.Cut(rest, end)
		if !found || !foundEnd {
			t.Fatalf("%s has no place for the table %s", scalePage, name)
		}
		want = before + begin + "\n" + table + "\n" + end + after
	}
	if *update {
		if err := os.WriteFile(filepath.FromSlash(scalePage), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("%s is out of date, run this test with -update (-want +got):\n%s", scalePage, diff)
	}
}

func machineText(c *Costs) string {
	return fmt.Sprintf("Measured with %s on a core of %s that hashes %.0f MB/s with SHA-256; %d cores.\n", c.Machine.Go, c.Machine.Processor, c.Machine.SHA256, c.Machine.Cores)
}

func costsTable(c *Costs) string {
	rows := [][]string{}
	for _, kind := range Kinds() {
		lite, cost := c.Engines["sqlite"][kind], c.Engines["postgres"][kind]
		rows = append(rows, []string{strings.ReplaceAll(string(kind), "_", " "), number(lite.Portico), number(cost.Portico), number(cost.Database),
			number(cost.Redis), number(math.Round(cost.Statements)), number(cost.RoundTrips), number(math.Round(cost.Commands)), number(cost.ReplyBytes)})
	}
	return markdown([]string{"Request", "Portico with SQLite, µs", "Portico with PostgreSQL, µs", "PostgreSQL, µs", "Redis, µs", "statements", "round trips to Redis", "commands of Redis", "bytes of the reply"}, rows)
}

func singleTable(c *Costs) string {
	r := c.Redis
	return markdown([]string{"Operation", "Processor time, µs"}, [][]string{
		{"a look-up: a reply and two generations", number(r.Lookup)},
		{"preparing a fill", number(r.Prepare)},
		{"storing a reply", number(r.Store)},
		{"the beginning of a write with two tags", number(r.Change)},
		{"its end, without the message", number(r.Done)},
		{"a nonce", number(r.Nonce)},
		{"`GET` of a generation, alone in a round trip", number(r.SmallGet)},
		{"one more `GET` in the same pipeline", number(r.MoreGet)},
		{"`PUBLISH` without subscribers", number(r.Publish)},
		{"each subscriber of a message, in Redis", number(r.PublishPerSubscriber)},
		{"a message, in the replica that receives it", number(r.Receive)},
	})
}

func growthTable(c *Costs, steps []step) string {
	var rows [][]string
	for _, s := range steps {
		r, p := s.result, &s.plan
		products, lists := p.EstimateProducts(c), p.EstimateLists(c)
		busiest := p.busiest(r)
		rows = append(rows, []string{s.name, number(p.Rates.Total()), number(float64(p.Products)),
			percent(notMisses(r.Guests[Products])), percent(1 - products.Misses()), percent(notMisses(r.Guests[Lists])), percent(1 - lists.Misses()),
			number(r.Commands / r.Seconds), number(float64(r.Delivered) / r.Seconds), number(r.Statements / r.Seconds), busiest.Part + " (" + percent(busiest.Share) + ")"})
	}
	return markdown([]string{"Replicas", "requests/s", "products", "hits of products", "by the formula", "hits of lists", "by the formula", "commands of Redis/s", "messages to replicas/s", "statements/s", "most used part"}, rows)
}

// notMisses returns the share of requests that found a reply, for comparison with a formula in which
// requests do not share fills.
func notMisses(o Outcomes) float64 { return float64(o.Memory+o.Redis) / float64(o.Total()) }

// busiest returns the part whose use grows with the load that is used most.
func (p *Plan) busiest(r *Result) Use {
	uses := p.Uses(r)
	return uses[slices.IndexFunc(uses, func(u Use) bool { return !u.Fixed })]
}

func usesTable(s step) string {
	var rows [][]string
	for _, u := range s.plan.Uses(s.result) {
		limit := "does not depend on the load"
		if !u.Fixed {
			limit = number(u.Limit()*s.plan.Rates.Total()) + " requests/s"
		}
		rows = append(rows, []string{u.Part, percent(u.Share), limit})
	}
	return markdown([]string{"Part", "used", "carries, at 70 %"}, rows)
}

func invalidationTable(c *Costs, steps []step) string {
	var rows [][]string
	for _, s := range steps {
		r, o := s.result, s.result.Guests[Lists]
		total := float64(o.Total())
		rows = append(rows, []string{number(s.plan.Rates[ProductWrites]), s.name, percent(float64(o.Memory+o.Redis) / total), percent(1 - s.plan.EstimateLists(c).Misses()),
			percent(float64(o.Coalesced) / total), number(float64(o.Fills()) / r.Seconds), percent(float64(o.Bypassed) / math.Max(float64(o.Fills()), 1)), number(r.DatabaseWork / r.Seconds)})
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return len(a[0]) - len(b[0]) })
	return markdown([]string{"Product writes/s", "Means", "hits of lists", "by the formula", "shared fills", "fills of lists/s", "of them not stored", "cores of the database"}, rows)
}

func messagesTable(c *Costs) string {
	var rows [][]string
	for _, writes := range []float64{10, 100, 1000, 10_000} {
		const replicas = 1000
		one := writes * (c.Redis.Publish + replicas*c.Redis.PublishPerSubscriber) / 1e6
		eight := writes * (c.Redis.Publish + replicas/8*c.Redis.PublishPerSubscriber) / 1e6
		rows = append(rows, []string{number(writes), number(writes * replicas), percent(one), percent(eight), percent(writes * c.Redis.Receive / 1e6)})
	}
	return markdown([]string{"Writes/s", "messages to replicas/s", "of one Redis's core", "of the core of each of eight that share the subscribers", "of one core in every replica"}, rows)
}

func remediesTable(steps []step) string {
	var rows [][]string
	for i, s := range steps {
		busiest := s.plan.busiest(s.result)
		over := []string{}
		for _, u := range s.plan.Uses(s.result) {
			if u.Share > Sustained {
				over = append(over, u.Part+" ("+percent(u.Share)+")")
			}
		}
		if len(over) == 0 {
			over = append(over, "nothing; the most used part: "+busiest.Part+" ("+percent(busiest.Share)+")")
		}
		name, late := s.name, "grows"
		if i > 0 {
			name = "+ " + name
		}
		if busiest.Share < 1 {
			late = number(1000*s.queued.percentile(Products, 0.99)) + " ms"
		}
		rows = append(rows, []string{name, strings.Join(over, "; "), number(busiest.Limit() * s.plan.Rates.Total()),
			number(s.result.Commands / s.result.Seconds), number(s.result.Statements / s.result.Seconds), number(s.queued.Statements / s.queued.Seconds), late})
	}
	return markdown([]string{"Means, one after the other", "Over 70 %", "carries, requests/s", "commands of Redis/s", "statements/s", "statements/s where Redis is too slow", "99 % of product reads take less than"}, rows)
}

func coldTable(steps []step) string {
	var rows [][]string
	for _, s := range steps {
		products, lists := s.result.Guests[Products], s.result.Guests[Lists]
		fills := float64(products.Fills() + lists.Fills())
		total := float64(products.Total() + lists.Total())
		rows = append(rows, []string{s.name, number(total / s.result.Seconds), number(fills / s.result.Seconds), percent(1 - fills/total), number((s.result.DatabaseWork + s.result.ReaderWork) / s.result.Seconds)})
	}
	return markdown([]string{"Installation", "Guests' requests/s", "fills/s", "not from the database", "cores that the database needs"}, rows)
}

// percentile returns the time, in seconds, that a share of the requests of a traffic take at most.
func (r *Result) percentile(traffic Traffic, share float64) float64 {
	times := slices.Clone(r.Times[traffic])
	slices.Sort(times)
	return float64(times[int(share*float64(len(times)-1))])
}

func regionsTable(c *Costs) string {
	rtt := largeShop().RegionRTT
	of := func(kind Kind) (trips, took string) {
		statements := math.Round(c.Engines["postgres"][kind].Statements)
		return number(3 + statements), number(1000 * rtt.Seconds() * (3 + statements))
	}
	product, productTime := of(ProductMiss)
	list, listTime := of(ListMiss)
	write, writeTime := of(StockWrite)
	return markdown([]string{"In another region", "round trips", "at " + rtt.String() + ", ms"}, [][]string{
		{"a reply from memory", "0", "0"},
		{"a reply from Redis", "1", number(1000 * rtt.Seconds())},
		{"a product from the database", product, productTime},
		{"a list from the database", list, listTime},
		{"a stock write", write, writeTime},
	})
}

func billTable(c *Costs, steps []step, store step) string {
	var rows [][]string
	size := c.Engines["postgres"][ProductMiss].ReplyBytes
	for _, s := range []step{steps[1], steps[len(steps)-2], steps[len(steps)-1], store} {
		p, r := s.plan, s.result
		busiest := p.busiest(r)
		bill := p.Bill(prices(), size)
		name := s.name
		if name != store.name {
			name = "large shop: " + name
		}
		rows = append(rows, []string{name, strconv.Itoa(p.Replicas), number(r.ReplicaWork / r.Seconds), number(sumOf(r.ShardWork)/r.Seconds + r.RelayWork/r.Seconds),
			number((r.DatabaseWork + r.ReaderWork) / r.Seconds), number(p.RedisBytes(size) / 1e9), number(float64(p.PoolConnections * p.Replicas)),
			dollars(bill.Replicas), dollars(bill.Redis), dollars(bill.Database), dollars(bill.Traffic), busiest.Part + " (" + percent(busiest.Share) + ")"})
	}
	return markdown([]string{"Installation", "replicas", "cores at work: replicas", "Redis", "database", "GB of current replies in Redis", "connections without a pooler", "replicas, a month", "Redis", "database", "traffic", "most used part"}, rows)
}

func sumOf(numbers []float64) (total float64) {
	for _, n := range numbers {
		total += n
	}
	return total
}

func dollars(n float64) string { return "$" + number(n) }

// percent returns a share with two significant digits below a hundredth, and otherwise in whole percent.
func percent(share float64) string {
	if share > 0 && share < 0.0095 {
		return strconv.FormatFloat(100*share, 'g', 1, 64) + " %"
	}
	return number(math.Round(100*share)) + " %"
}

// number returns n with three significant digits and commas.
func number(n float64) string {
	if math.Abs(n) < 100 {
		return strconv.FormatFloat(round3(n), 'f', -1, 64)
	}
	digits := strconv.FormatFloat(round3(n), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// round3 returns n with three significant digits.
func round3(n float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 3, 64), 64)
	return short
}

func markdown(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	line(slices.Repeat([]string{"---"}, len(head)))
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
