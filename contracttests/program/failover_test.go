package program

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// mostUnavailable bounds the time for which calls may fail when the node that takes the writes
// fails.
const mostUnavailable = 3 * time.Second

// A writer writes ascending quantities to a stock item of its own, and records the answers.
type writer struct {
	admin        *apptest.Client
	path         string
	acknowledged int // the last quantity that was acknowledged
	sent         int
}

// A downtime is the span in which calls failed.
type downtime struct {
	mu          sync.Mutex
	first, last time.Time // when the first one began, and the last one ended
	failed      int
	total       int
	answers     map[string]int // of failed calls
}

func (d *downtime) record(begun time.Time, status int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total++
	if err == nil && status == http.StatusOK {
		return
	}
	d.failed++
	if d.first.IsZero() || begun.Before(d.first) {
		d.first = begun
	}
	d.last = time.Now()
	answer := strconv.Itoa(status)
	if err != nil {
		answer = err.Error()
	}
	if d.answers == nil {
		d.answers = map[string]int{}
	}
	d.answers[answer]++
}

// run writes until the context ends.
func (w *writer) run(ctx context.Context, d *downtime) {
	for tick := time.Tick(10 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		w.sent++
		begun := time.Now()
		got, err := w.admin.Call(context.WithoutCancel(ctx), http.MethodPut, w.path, fmt.Sprintf(`{"qty":%d}`, w.sent))
		d.record(begun, got.Status, err)
		if err == nil && got.Status == http.StatusOK {
			w.acknowledged = w.sent
		}
	}
}

// check compares the stored quantity with the acknowledged ones. A write whose answer was lost
// may be stored, unless a later one was acknowledged.
func (w *writer) check(t *testing.T, node *sqltest.GaleraNode) {
	t.Helper()
	text := node.Query(t, "SELECT qty FROM shop.stock_item WHERE item_id = "+strings.TrimPrefix(w.path, "/stockitems/"))
	stored, err := strconv.ParseFloat(text, 64)
	if err != nil || int(stored) < w.acknowledged || int(stored) > w.sent {
		t.Errorf("%s is %s, but %d was acknowledged, and %d sent", w.path, text, w.acknowledged, w.sent)
	}
}

// TestFailover ends, pauses and isolates the node that takes the writes, under load.
func TestFailover(t *testing.T) {
	testenv.OnlyNightly(t, "galera")
	cluster := sqltest.StartGalera(t)
	newDatabase(t, cluster, "shop")
	dsn := cluster.Balance(t, "shop")
	environ := append(shared(t), "PORTICO_SQL_DSN="+dsn, "PORTICO_UPSTREAM_BREAKER_OPEN=250ms", "PORTICO_CACHE_TTL=1s")
	main := cluster.Nodes[0]
	for _, fault := range []struct {
		name       string
		begin, end func()
	}{
		{"killed", main.Kill, func() { cluster.Rejoin(main) }},
		{"paused", main.Pause, func() { main.Resume(); cluster.AwaitWhole() }},
		{"isolated", func() { cluster.Isolate(main) }, func() { cluster.Reconnect(main) }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			cluster.AwaitFirst(t, dsn)
			p := apptest.Start(t, environ)
			var writers []*writer
			for item := 1; item <= 4; item++ {
				writers = append(writers, &writer{admin: apptest.NewClient(t, p.Contract, apptest.DemoAdmin()), path: fmt.Sprintf("/stockitems/%d", item)})
			}
			ctx, stop := context.WithCancel(t.Context())
			var load sync.WaitGroup
			defer load.Wait()
			defer stop()
			var writes, guests downtime
			for _, w := range writers {
				load.Go(func() { w.run(ctx, &writes) })
			}
			guest := apptest.NewClient(t, p.Contract, "")
			load.Go(func() {
				for tick := time.Tick(10 * time.Millisecond); ctx.Err() == nil; <-tick {
					begun := time.Now()
					got, err := guest.Call(context.WithoutCancel(ctx), http.MethodGet, "/products?limit=3", "")
					guests.record(begun, got.Status, err)
				}
			})
			<-time.After(time.Second)
			if writes.failed > 0 {
				t.Fatalf("calls fail before the fault: %v", writes.answers)
			}
			fault.begin()
			<-time.After(10 * time.Second)
			stop()
			load.Wait()
			took := writes.last.Sub(writes.first)
			t.Logf("%d of %d writes failed, within %s: %v; %d of %d calls of guests: %v", writes.failed, writes.total, took.Round(time.Millisecond), writes.answers, guests.failed, guests.total, guests.answers)
			if took > mostUnavailable {
				t.Errorf("writes fail for longer than %s", mostUnavailable)
			}
			if guests.failed > 0 {
				t.Error("guests do not get cached replies")
			}
			for _, w := range writers {
				w.check(t, cluster.Nodes[1])
				w.check(t, cluster.Nodes[2])
			}
			p.Stop(t)
			fault.end()
			for _, w := range writers {
				w.check(t, main)
			}
		})
	}
	if size := cluster.Nodes[2].Query(t, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_cluster_size'"); size != "3" {
		t.Errorf("%s nodes at the end", size)
	}
}
