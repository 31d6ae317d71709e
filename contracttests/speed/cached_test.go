//go:build linux

package speed

import (
	"fmt"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// maxCached is the maximum number of replies that benchmarkCached has cached.
const maxCached = 100_000

// benchmarkCached reads many products as a Guest, with caches of three sizes.
//
//	replies                   number of different replies
//	KB/reply                  resident memory for each, beyond that of a server whose cache has room
//	                          for few of them
//	default-entries           replies that are in the cache of default size in the end
//	default-MB, large-MB      resident memory with the cache of default size, and of one for all
//	hit-us                    processor time of a hit when only one reply is read
//	many/one                  processor time of hits all over the large cache, as a multiple of that
//	miss/one                  the same of misses
func benchmarkCached(b *testing.B, dsn string) {
	ids := shownIDs(min(*products*4/5, maxCached))
	path := func(i int) string { return fmt.Sprintf("/products/%d", ids[i*7919%len(ids)]) }
	b.ReportMetric(float64(len(ids)), "replies")
	var memory [3]float64
	for i, bytes := range []string{"1MiB", "64MiB", "2GiB"} {
		p := apptest.Start(b, []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_CACHE_MEMORY_BYTES=" + bytes, "PORTICO_CACHE_TTL=24h"}, "--log-level", "error")
		all := connect(b, p.Contract, path(0), workers)
		first := measureRequests(b, p, all, len(ids), path)
		memory[i] = settledMemory(b, p)
		metrics := apptest.ScrapeMetrics(b, p.Ops)
		b.Logf("cache of %s: %.0f replies of %.0f bytes, %.0f MB resident; %s a miss", bytes, metrics.Sum("portico_cache_entries"), metrics.Sum("portico_cache_bytes"), memory[i], first.processor)
		switch i {
		case 1:
			b.ReportMetric(metrics.Sum("portico_cache_entries"), "default-entries")
			b.ReportMetric(memory[i], "default-MB")
		case 2:
			var one, many durations
			for range 7 {
				one = append(one, measureRequests(b, p, all, len(ids)/5, func(int) string { return path(1) }).processor)
				many = append(many, measureRequests(b, p, all, len(ids)/5, path).processor)
			}
			b.ReportMetric(memory[i], "large-MB")
			b.ReportMetric(one.median()*1000, "hit-us")
			b.ReportMetric(many.median()/one.median(), "many/one")
			b.ReportMetric(first.processor.Seconds()*1000/one.median(), "miss/one")
		}
		p.Stop(b)
	}
	b.ReportMetric((memory[2]-memory[0])*1000/float64(len(ids)), "KB/reply")
	b.ReportMetric(0, "ns/op")
}

// shownIDs returns the first ids of products that Guests may read.
func shownIDs(count int) (ids []int) {
	for id := demotest.FirstGeneratedID; len(ids) < count; id++ {
		switch id % 100 {
		case 0, 1, 2, 10, 30, 40, 50, 60, 70, 90:
		default:
			ids = append(ids, id)
		}
	}
	return ids
}
