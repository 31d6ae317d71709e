//go:build linux

package trial

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/config/testenv/nightly"
	"github.com/portico-commerce/portico/contracttests/capacity"
)

// TestModel sends the same requests to real replicas and to the model, and compares the hit ratio, the
// commands of Redis and the statements of the database for each request. It does not compare times. The
// model gets the requests one after the other: of those that real replicas get at the same time, some
// share fills, and writes void some fills, which are no hits.
func TestModel(t *testing.T) {
	nightly.Only(t, "capacity")
	costs, err := capacity.Measured()
	if err != nil {
		t.Fatal(err)
	}
	const requests = 3000
	for name, tt := range map[string]struct {
		replicas, workers int
		memory            time.Duration
		tolerance         float64 // of counts, as a share
	}{
		"one replica":                     {1, 1, 24 * time.Hour, 0.03},
		"two replicas":                    {2, 1, 24 * time.Hour, 0.03},
		"two replicas without memory":     {2, 1, 0, 0.03},
		"two replicas, eight at a time":   {2, 8, 24 * time.Hour, 0.15},
		"without memory, eight at a time": {2, 8, 0, 0.15},
	} {
		t.Run(name, func(t *testing.T) {
			plan := capacity.Plan{
				Engine: "postgres", Rates: capacity.Rates{capacity.Products: 62, capacity.Lists: 25, capacity.AdminLists: 2, capacity.OrderLists: 2, capacity.StockReads: 4, capacity.StockWrites: 4, capacity.ProductWrites: 1},
				Products: manyProducts, Lists: 60, Skew: 0.8, Replicas: tt.replicas, Cores: 2, Regions: 1, RTT: 100 * time.Microsecond,
				TTL: 24 * time.Hour, MemoryTTL: tt.memory, MemoryReplies: 100_000, Shards: 1, DatabaseCores: 2, ListTags: 1, TagsOfWrite: 1,
			}
			var arrivals []capacity.Arrival
			for a := range plan.Poisson(1, math.Inf(1)) {
				a.At = float64(len(arrivals)) // one after the other
				if arrivals = append(arrivals, a); len(arrivals) == requests {
					break
				}
			}
			want, err := capacity.Run(plan, costs, 1, 0, true, slices.Values(arrivals))
			if err != nil {
				t.Fatal(err)
			}
			s := newShop(t, "postgres", tt.replicas, "PORTICO_CACHE_TTL=24h", "PORTICO_CACHE_MEMORY_TTL="+tt.memory.String())
			items := s.stockItems()
			for replica := range s.replicas { // open the pools, and load what all lists need
				for _, c := range []call{{method: "GET", path: "/products", host: "first.example"}, s.requests(capacity.StockRead)()} {
					if _, _, err := s.send(t.Context(), replica, c); err != nil {
						t.Fatal(err)
					}
				}
			}
			before := s.usage()
			hits := s.replay(arrivals, items, tt.workers)
			got := s.usage().minus(before, requests)
			products, lists := want.Guests[capacity.Products], want.Guests[capacity.Lists]
			total := float64(products.Total() + lists.Total())
			const ownStatements = 0.05 // that Portico executes by itself while the test runs, at most
			for _, c := range []struct {
				what                 string
				got, want, tolerance float64
			}{
				{"hit ratio", float64(hits) / total, 1 - float64(products.Fills()+lists.Fills())/total, tt.tolerance},
				{"commands of Redis for each request", got.commands, want.Commands / requests, tt.tolerance},
				{"statements for each request", got.statements, want.Statements / requests, tt.tolerance + ownStatements},
			} {
				t.Logf("%s: %.4g, by the model %.4g", c.what, c.got, c.want)
				if math.Abs(c.got-c.want) > c.tolerance*c.want {
					t.Errorf("%s: %.4g, by the model %.4g, which is further apart than %.0f %%", c.what, c.got, c.want, 100*c.tolerance)
				}
			}
		})
	}
}

// replay sends the requests of arrivals in their order, workers at a time, and returns how many of
// Guests' were answered from the cache.
func (s *shop) replay(arrivals []capacity.Arrival, items map[int]int, workers int) int {
	s.tb.Helper()
	var next, hits atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(arrivals) {
					return
				}
				_, outcome, err := s.send(s.tb.Context(), arrivals[i].Replica, s.callOf(arrivals[i], i, items))
				if err != nil {
					s.tb.Error(err)
					return
				}
				if outcome == "HIT" {
					hits.Add(1)
				}
			}
		})
	}
	all.Wait()
	return int(hits.Load())
}

// callOf returns the request of the i-th arrival. A list is that of a host of its own.
func (s *shop) callOf(a capacity.Arrival, i int, items map[int]int) call {
	const host = "shop.example"
	product := firstProduct + a.ID - 1
	switch a.Traffic {
	case capacity.Products:
		return call{method: "GET", path: "/products/" + strconv.Itoa(product), host: host}
	case capacity.Lists:
		return call{method: "GET", path: "/products", host: "list" + strconv.Itoa(a.ID) + ".example"}
	case capacity.AdminLists:
		return s.requests(capacity.AdminList)()
	case capacity.OrderLists:
		return s.requests(capacity.OrderList)()
	case capacity.StockReads:
		return s.requests(capacity.StockRead)()
	case capacity.StockWrites:
		return call{method: "PUT", path: "/stockitems/" + strconv.Itoa(items[product]), body: fmt.Sprintf(`{"qty":"%d"}`, i+1), signed: true, host: host}
	default:
		return call{method: "PUT", path: "/products/" + strconv.Itoa(product), body: fmt.Sprintf(`{"price":%d}`, i+1), signed: true, host: host}
	}
}

// stockItems returns the ids of stock items by those of their products.
func (s *shop) stockItems() map[int]int {
	s.tb.Helper()
	rows, err := s.database.QueryContext(s.tb.Context(), "SELECT product_id, item_id FROM stock_item")
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	items := map[int]int{}
	for rows.Next() {
		var product, item int
		if err := rows.Scan(&product, &item); err != nil {
			s.tb.Fatal(err)
		}
		items[product] = item
	}
	if err := rows.Err(); err != nil {
		s.tb.Fatal(err)
	}
	return items
}
