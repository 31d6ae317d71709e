package sqlstore_test

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// eachEngine runs a benchmark on every engine, with the demo store.
func eachEngine(b *testing.B, benchmark func(b *testing.B, dsn string, db *sqlstore.DB)) {
	for _, e := range sqltest.Engines() {
		b.Run(e.Name, func(b *testing.B) {
			dsn := sqlstore.NewDemo(b, e)
			benchmark(b, dsn, open(b, dsn))
		})
	}
}

// reportRatio runs ours and floor alternately in short slices. It reports the time of
// each and the median ratio.
func reportRatio(b *testing.B, ours, floor func() error) {
	b.Helper()
	const slice, pairs = 100 * time.Millisecond, 11
	run := func(call func() error) (each time.Duration) {
		begin, calls := time.Now(), 0
		for time.Since(begin) < slice {
			if err := call(); err != nil {
				b.Fatal(err)
			}
			calls++
		}
		return time.Since(begin) / time.Duration(calls)
	}
	run(ours) // warm up
	run(floor)
	var oursNS, floorNS, ratios []float64
	for range pairs {
		f, o := float64(run(floor)), float64(run(ours))
		oursNS, floorNS, ratios = append(oursNS, o), append(floorNS, f), append(ratios, o/f)
	}
	median := func(all []float64) float64 {
		slices.Sort(all)
		return all[len(all)/2]
	}
	b.ReportMetric(median(oursNS), "store-ns/op")
	b.ReportMetric(median(floorNS), "floor-ns/op")
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(testing.AllocsPerRun(100, func() { _ = ours() }), "store-allocs/op")
	b.ReportMetric(testing.AllocsPerRun(100, func() { _ = floor() }), "floor-allocs/op")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkUpdate changes the quantity of one stock item through the store, and by a
// transaction of two bare prepared statements, one that locks and one that writes.
func BenchmarkUpdate(b *testing.B) {
	eachEngine(b, func(b *testing.B, dsn string, db *sqlstore.DB) {
		s := stock(b, db)
		raw := sqltest.Raw(b, dsn)
		text := "SELECT qty FROM stock_item WHERE item_id = 2"
		if !strings.HasPrefix(dsn, "sqlite:") {
			text += " FOR UPDATE"
		}
		lock, err := raw.PrepareContext(b.Context(), text)
		if err != nil {
			b.Fatal(err)
		}
		change, err := raw.PrepareContext(b.Context(), "UPDATE stock_item SET qty = 11 - qty WHERE item_id = 2")
		if err != nil {
			b.Fatal(err)
		}
		quantities, i := []string{"5.0000", "6.0000"}, 0
		reportRatio(b, func() error {
			return s.Update(b.Context(), &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
				i++
				return attrs{"qty": quantities[i%2]}.Record(current.Schema), nil
			}})
		}, func() error {
			tx, err := raw.BeginTx(b.Context(), nil)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }()
			var qty any
			if err := tx.StmtContext(b.Context(), lock).QueryRowContext(b.Context()).Scan(&qty); err != nil {
				return err
			}
			if _, err := tx.StmtContext(b.Context(), change).ExecContext(b.Context()); err != nil {
				return err
			}
			return tx.Commit()
		})
	})
}

// BenchmarkNonce uses a fresh nonce for each call, as verifying a signature does in a
// process without Redis, in one goroutine and in many.
func BenchmarkNonce(b *testing.B) {
	eachEngine(b, func(b *testing.B, _ string, db *sqlstore.DB) {
		c, last := db.Credentials(), atomic.Int64{}
		use := func() {
			n := last.Add(1)
			if fresh, err := c.Use(b.Context(), strconv.FormatInt(n, 10), n); err != nil || !fresh {
				b.Error(fresh, err)
			}
		}
		b.Run("one", func(b *testing.B) {
			for b.Loop() {
				use()
			}
		})
		b.Run("many", func(b *testing.B) {
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					use()
				}
			})
		})
	})
}
