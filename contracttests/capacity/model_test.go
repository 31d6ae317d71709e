package capacity

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// handMadeCosts are the costs of the tests of the model, in round numbers.
func handMadeCosts() *Costs {
	kinds := map[Kind]Cost{}
	for _, kind := range Kinds() {
		kinds[kind] = Cost{Portico: 100, Database: 200, Redis: 10, Statements: 4, Commands: 3, RoundTrips: 1, ReplyBytes: 2000, Spread: []float64{0.5, 1, 1.5}}
	}
	for _, kind := range []Kind{ProductMiss, ListMiss} {
		kinds[kind] = Cost{Portico: 300, Database: 400, Redis: 40, Statements: 6, Commands: 12, RoundTrips: 3, ReplyBytes: 2000}
	}
	return &Costs{Redis: RedisCosts{Lookup: 10, Prepare: 15, Store: 10, Change: 20, Done: 15, Nonce: 5, SmallGet: 5, MoreGet: 1, Publish: 5, PublishPerSubscriber: 1, Receive: 10}, Engines: map[string]map[Kind]Cost{"postgres": kinds}}
}

// smallPlan is a plan of a few replicas.
func smallPlan() Plan {
	return Plan{
		Engine: "postgres", Rates: Rates{Products: 400, Lists: 100, AdminLists: 5, OrderLists: 5, StockReads: 5, StockWrites: 5, StockBatches: 1, ProductWrites: 1},
		Products: 10_000, Lists: 500, Skew: 0.8, Replicas: 4, Cores: 2, Regions: 1, RTT: 500 * time.Microsecond,
		TTL: 5 * time.Minute, MemoryTTL: time.Second, MemoryReplies: 20_000, Timeout: 100 * time.Millisecond,
		Shards: 1, DatabaseCores: 8, Commit: time.Millisecond, PoolConnections: 12, MaxConnections: 500, MaxClients: 10_000, ListTags: 1, TagsOfWrite: 1,
	}
}

func simulate(t *testing.T, p Plan, seed uint64, warm, seconds float64) *Result {
	t.Helper()
	r, err := Run(p, handMadeCosts(), seed, warm, false, p.Poisson(seed, warm+seconds))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCacheByHand checks the hits of a replica with a small memory against a cache that a list keeps
// in order of use.
func TestCacheByHand(t *testing.T) {
	for name, tt := range map[string]struct {
		room int
		ttl  time.Duration
	}{
		"all fits":         {1000, time.Hour},
		"replies expire":   {1000, 90500 * time.Millisecond},
		"little room":      {7, time.Hour},
		"both":             {13, 60500 * time.Millisecond},
		"room for one":     {1, time.Hour},
		"expires at once":  {1000, 500 * time.Millisecond},
		"more than a tick": {50, 2500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			p := smallPlan()
			p.Replicas, p.NoRedis, p.MemoryReplies, p.TTL = 1, true, tt.room, tt.ttl
			random, popular := rand.New(rand.NewPCG(7, 7)), newZipf(100, 0.9)
			var arrivals []Arrival
			type stored struct {
				id    int
				since float64
			}
			var order []stored // by use, the last one first
			hits := 0
			for i := range 5000 {
				a := Arrival{At: float64(i), ID: popular.draw(random)}
				arrivals = append(arrivals, a)
				at := slices.IndexFunc(order, func(s stored) bool { return s.id == a.ID })
				found := stored{a.ID, a.At}
				if at >= 0 {
					if a.At-order[at].since < tt.ttl.Seconds() {
						hits++
						found = order[at]
					}
					order = slices.Delete(order, at, at+1)
				}
				order = append([]stored{found}, order...)
				order = order[:min(len(order), tt.room)]
			}
			r, err := Run(p, handMadeCosts(), 1, 0, true, slices.Values(arrivals))
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Guests[Products]; got.Memory != hits || got.Total() != len(arrivals) {
				t.Errorf("%d hits of %d, want %d of %d", got.Memory, got.Total(), hits, len(arrivals))
			}
		})
	}
}

// TestConservation checks that every request is answered once, and that the outcomes of Guests' requests
// add up, also where servers have more work than they can do.
func TestConservation(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"as planned":       func(*Plan) {},
		"without Redis":    func(p *Plan) { p.NoRedis = true },
		"without memory":   func(p *Plan) { p.MemoryTTL = 0 },
		"a cluster":        func(p *Plan) { p.Shards = 6 },
		"relays":           func(p *Plan) { p.Relays = 2 },
		"regions":          func(p *Plan) { p.Regions, p.RegionRTT = 3, 80*time.Millisecond },
		"shared fills":     func(p *Plan) { p.SharedFills = true },
		"read replicas":    func(p *Plan) { p.ReadReplicas = 2 },
		"an edge cache":    func(p *Plan) { p.EdgeShare = 0.5 },
		"many writes":      func(p *Plan) { p.Rates[ProductWrites] = 100 },
		"finer tags":       func(p *Plan) { p.Rates[ProductWrites], p.ListTags, p.TagsOfWrite = 100, 50, 2 },
		"too much":         func(p *Plan) { p.Rates = p.Rates.Scale(40) },
		"Redis too slow":   func(p *Plan) { p.Timeout = time.Microsecond },
		"one list":         func(p *Plan) { p.Lists = 1 },
		"nobody but Guest": func(p *Plan) { p.Rates = Rates{Products: 500} },
	} {
		t.Run(name, func(t *testing.T) {
			p := smallPlan()
			change(&p)
			r := simulate(t, p, 3, 1, 3)
			if r.Answered != r.Arrived {
				t.Errorf("answered %v, arrived %v", r.Answered, r.Arrived)
			}
			for _, traffic := range []Traffic{Products, Lists} {
				if got := r.Guests[traffic].Total(); got != r.Arrived[traffic] {
					t.Errorf("%s: %d outcomes of %d requests", traffic, got, r.Arrived[traffic])
				}
			}
			want := p.arriving().Total() * r.Seconds
			if total := float64(sum(r.Arrived[:])); math.Abs(total-want) > 5*math.Sqrt(want) {
				t.Errorf("%.0f requests, want about %.0f", total, want)
			}
			if name == "Redis too slow" && r.Guests[Products].Fills() != r.Guests[Products].Bypassed {
				t.Errorf("replies are stored in a Redis that does not answer: %+v", r.Guests[Products])
			}
		})
	}
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// TestSeed checks that a seed repeats a simulation bit for bit, and that another one does not.
func TestSeed(t *testing.T) {
	p := smallPlan()
	p.Shards, p.SharedFills, p.Regions, p.RegionRTT = 3, true, 2, 50*time.Millisecond
	first, again, other := simulate(t, p, 11, 1, 4), simulate(t, p, 11, 1, 4), simulate(t, p, 12, 1, 4)
	if !reflect.DeepEqual(first, again) {
		t.Errorf("the same seed gives %+v and %+v", first, again)
	}
	if reflect.DeepEqual(first, other) {
		t.Error("another seed gives the same")
	}
}

// TestMonotone checks that with the rate of Guests their hit ratio grows, and so does what they ask of
// Redis and of the database.
func TestMonotone(t *testing.T) {
	var last *Result
	for _, rate := range []float64{100, 1000, 10_000} {
		p := smallPlan()
		p.Rates = Rates{Products: rate, Lists: rate / 4}
		p.Lists, p.Cores, p.DatabaseCores = 5000, 64, 64
		r := simulate(t, p, 5, 1, 4)
		if last != nil {
			for _, traffic := range []Traffic{Products, Lists} {
				if now, before := r.Guests[traffic], last.Guests[traffic]; now.HitRatio() < before.HitRatio()-0.01 || float64(now.Fills()) < float64(before.Fills())-4*math.Sqrt(float64(before.Fills())) {
					t.Errorf("%s at %.0f/s: %+v after %+v", traffic, rate, now, before)
				}
			}
			if r.Commands <= last.Commands || r.Statements < last.Statements || r.ReplicaWork <= last.ReplicaWork {
				t.Errorf("at %.0f/s there are fewer commands, statements or work than before", rate)
			}
		}
		last = r
	}
	var fills int
	for _, writes := range []float64{0, 5, 50} { // and that writes cost hits
		p := smallPlan()
		p.Rates[ProductWrites] = writes
		r := simulate(t, p, 5, 1, 4)
		if got := r.Guests[Lists].Fills() + r.Guests[Lists].Coalesced; got < fills {
			t.Errorf("%.0f writes/s: %d lists are not hits, fewer than with fewer writes: %d", writes, got, fills)
		} else {
			fills = got
		}
	}
}

// TestFormulas checks that simulation and formulas say the same where requests do not meet.
func TestFormulas(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"no writes":         func(p *Plan) { p.Rates[ProductWrites], p.Rates[StockWrites], p.Rates[StockBatches] = 0, 0, 0 },
		"some writes":       func(*Plan) {},
		"many stock writes": func(p *Plan) { p.Rates[StockWrites] = 300 },
		"without memory":    func(p *Plan) { p.MemoryTTL = 0 },
		"longer in memory":  func(p *Plan) { p.MemoryTTL = 10 * time.Second },
		"many products":     func(p *Plan) { p.Products = 10_000_000 },
		"skewed":            func(p *Plan) { p.Skew = 1.1 },
		"ten writes a second": func(p *Plan) {
			p.Rates[ProductWrites] = 10
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := smallPlan()
			change(&p)
			r := simulate(t, p, 9, 2*p.MemoryTTL.Seconds()+2, 40)
			for traffic, e := range map[Traffic]Estimate{Products: p.EstimateProducts(handMadeCosts()), Lists: p.EstimateLists(handMadeCosts())} {
				got := r.Guests[traffic]
				total := float64(got.Total())
				if memory := float64(got.Memory) / total; math.Abs(memory-e.Memory) > 0.02 {
					t.Errorf("%s: memory answers %.3f, by the formula %.3f", traffic, memory, e.Memory)
				}
				if hits := 1 - float64(got.Fills()+got.Coalesced)/total; math.Abs(hits-e.Memory-e.Redis) > 0.035 {
					t.Errorf("%s: hit ratio %.3f, by the formula %.3f", traffic, hits, e.Memory+e.Redis)
				}
			}
		})
	}
}

// TestMeetings checks what requests do to each other: those that miss the same reply, and a write among
// them.
func TestMeetings(t *testing.T) {
	at := func(moments ...Arrival) iter.Seq[Arrival] { return slices.Values(moments) }
	crowd := func(replicas, each int) (all []Arrival) {
		for i := range replicas * each {
			all = append(all, Arrival{At: 1 + float64(i)*1e-9, Replica: i % replicas, Traffic: Lists, ID: 1})
		}
		return all
	}
	for name, tt := range map[string]struct {
		change   func(*Plan)
		arrivals iter.Seq[Arrival]
		want     Outcomes // of products and lists together
	}{
		"a crowd": {nil, at(crowd(4, 25)...), Outcomes{Misses: 4, Coalesced: 96}},
		"a crowd with shared fills": {func(p *Plan) { p.SharedFills = true }, at(crowd(4, 25)...),
			Outcomes{Misses: 1, Coalesced: 99}},
		"memory, then Redis": {nil, at(Arrival{At: 1, ID: 1}, Arrival{At: 1.5, ID: 1}, Arrival{At: 1.6, ID: 1, Replica: 1}, Arrival{At: 3, ID: 1}),
			Outcomes{Misses: 1, Memory: 1, Redis: 2}},
		"a write of the product": {nil, at(Arrival{At: 1, ID: 1}, Arrival{At: 1.2, ID: 1, Traffic: StockWrites}, Arrival{At: 1.5, ID: 1}, Arrival{At: 1.6, ID: 2}),
			Outcomes{Misses: 3}},
		"a stock write and lists": {nil, at(Arrival{At: 1, ID: 1, Traffic: Lists}, Arrival{At: 1.2, ID: 1, Traffic: StockWrites}, Arrival{At: 1.5, ID: 1, Traffic: Lists}),
			Outcomes{Misses: 1, Memory: 1}},
		"a product write and lists": {nil, at(Arrival{At: 1, ID: 1, Traffic: Lists}, Arrival{At: 1.2, ID: 77, Traffic: ProductWrites}, Arrival{At: 1.5, ID: 1, Traffic: Lists}),
			Outcomes{Misses: 2}},
		"a product write and lists with another tag": {func(p *Plan) { p.ListTags = 10 },
			at(Arrival{At: 1, ID: 1, Traffic: Lists}, Arrival{At: 1.2, ID: 77, Traffic: ProductWrites}, Arrival{At: 1.5, ID: 1, Traffic: Lists}),
			Outcomes{Misses: 1, Memory: 1}},
		// The write begins before the fill and ends after it.
		"a fill during a write": {func(p *Plan) { p.Commit = time.Second },
			at(Arrival{At: 1, ID: 1, Traffic: StockWrites}, Arrival{At: 1.5, ID: 1}, Arrival{At: 1.6, ID: 1}),
			Outcomes{Bypassed: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			p := smallPlan()
			if tt.change != nil {
				tt.change(&p)
			}
			r, err := Run(p, handMadeCosts(), 1, 0, true, tt.arrivals)
			if err != nil {
				t.Fatal(err)
			}
			a, b := r.Guests[0], r.Guests[1]
			got := Outcomes{a.Memory + b.Memory, a.Redis + b.Redis, a.Misses + b.Misses, a.Coalesced + b.Coalesced, a.Bypassed + b.Bypassed}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestStation checks the mean wait of a queue with constant work against the formula of Pollaczek and
// Khinchine, and that a second core takes work off the first.
func TestStation(t *testing.T) {
	for _, load := range []float64{0.3, 0.5, 0.8} {
		p := smallPlan()
		s, random := p.newStation(1), rand.New(rand.NewPCG(1, 1))
		now, waited := 0.0, 0.0
		const n = 400_000
		for range n {
			now += random.ExpFloat64() / load
			waited += s.serve(now, 1) - now - 1
		}
		if got, want := waited/n, load/(2*(1-load)); math.Abs(got-want) > 0.05*want {
			t.Errorf("load %.1f: mean wait %.3f, want %.3f", load, got, want)
		}
	}
	p := smallPlan()
	s := p.newStation(2)
	if a, b, c := s.serve(0, 5), s.serve(0, 1), s.serve(0, 1); a != 5 || b != 1 || c != 2 {
		t.Errorf("done at %v, %v and %v", a, b, c)
	}
}

// TestZipf checks the shares of numbers against those that are drawn and against their sums.
func TestZipf(t *testing.T) {
	for _, s := range []float64{0.6, 0.8, 1, 1.2} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			z, random := newZipf(50_000, s), rand.New(rand.NewPCG(2, 2))
			exact := 0.0
			for k := 1; k <= 50_000; k++ {
				exact += math.Pow(float64(k), -s)
			}
			if math.Abs(z.sum-exact) > 1e-6*exact {
				t.Errorf("sum %v, want %v", z.sum, exact)
			}
			const n = 200_000
			drawn := map[int]int{}
			for range n {
				drawn[z.draw(random)]++
			}
			for _, k := range []int{1, 2, 3, 10, 100} {
				want := n * z.share(k)
				if got := float64(drawn[k]); math.Abs(got-want) > 5*math.Sqrt(want)+1 {
					t.Errorf("%d was drawn %.0f times, want about %.0f", k, got, want)
				}
			}
		})
	}
}

// TestFaultyPlans checks that plans that lack something are refused.
func TestFaultyPlans(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"no replica":     func(p *Plan) { p.Replicas = 0 },
		"no list tag":    func(p *Plan) { p.ListTags = 0 },
		"unknown engine": func(p *Plan) { p.Engine = "oracle" },
	} {
		p := smallPlan()
		change(&p)
		if _, err := Run(p, handMadeCosts(), 1, 0, true, slices.Values([]Arrival{})); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
