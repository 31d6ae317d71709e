package replica_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestPushAtOnce checks that a push creates several products at a time, and categories one after the other.
func TestPushAtOnce(t *testing.T) {
	const atOnce = 3
	m := newMemory()
	m.resources = append(newCategoryMemory().resources, m.resources...)
	var mu sync.Mutex
	running, most, waiting := map[string]int{}, map[string]int{}, 0
	full := make(chan struct{}) // closed when so many products are being created
	m.before = func(ctx context.Context, call string) error {
		mu.Lock()
		running[call]++
		most[call] = max(most[call], running[call])
		first := call == "Create products" && waiting < atOnce
		if first {
			if waiting++; waiting == atOnce {
				close(full)
			}
		}
		mu.Unlock()
		if first {
			select {
			case <-full:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	m.after = func(_ context.Context, call string) error {
		mu.Lock()
		defer mu.Unlock()
		running[call]--
		return nil
	}
	f := reopen(t, demoReplica(t), m, replica.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience(t)) // creates one by one would wait for ever
	defer cancel()
	var done, total int
	if err := f.Push(ctx, atOnce, func(d, of int) { done, total = d, of }); err != nil || done != total {
		t.Fatalf("%v; %d of %d", err, done, total)
	}
	if most["Create products"] != atOnce || most["Create categories"] != 1 {
		t.Errorf("created at once: %v", most)
	}
	f.checkNoIntents()
}

// TestPushStops checks that a push whose backend is gone lets the creates end that it has begun beside the one that
// failed, so that the next push repeats that one alone.
func TestPushStops(t *testing.T) {
	const atOnce = 3
	m := newMemory()
	m.resources = slices.DeleteFunc(m.resources, func(r replica.BackendResource) bool { return r.Root != adapter.Products })
	failed := make(chan struct{})
	var begun atomic.Int64
	m.before = func(_ context.Context, call string) error {
		if call != "Create products" {
			return nil
		}
		if begun.Add(1) == atOnce {
			close(failed)
			return memoryError(adapter.Unavailable, "")
		}
		<-failed
		return nil
	}
	f := reopen(t, demoReplica(t), m, replica.Options{})
	if err := f.Push(t.Context(), atOnce, nil); adapter.KindOf(err) != adapter.Unavailable {
		t.Errorf("error %v", err)
	}
	created := m.createdOf(adapter.Products)
	if int64(created) != begun.Load()-1 {
		t.Errorf("%d of %d creates have ended: %q", created, begun.Load(), m.created)
	}
	m.clearFaults()
	total := 0
	if err := f.Push(t.Context(), atOnce, func(_, of int) { total = of }); err != nil || m.createdOf(adapter.Products) != total {
		t.Errorf("%v, created %q", err, m.created)
	}
	f.checkNoIntents()
}

// createdOf returns how many records of a resource were created.
func (m *memoryBackend) createdOf(r adapter.Resource) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.created {
		if strings.HasPrefix(one, string(r)+" ") {
			n++
		}
	}
	return n
}

// BenchmarkPush pushes the products of the demo store to a backend that takes 5 ms for each request.
func BenchmarkPush(b *testing.B) {
	for _, atOnce := range []int{1, 4, 8} {
		b.Run(strconv.Itoa(atOnce), func(b *testing.B) {
			products := 0
			for b.Loop() {
				b.StopTimer()
				m := newMemory()
				m.resources = slices.DeleteFunc(m.resources, func(r replica.BackendResource) bool { return r.Root != adapter.Products })
				m.before = func(context.Context, string) error { time.Sleep(5 * time.Millisecond); return nil }
				f := reopen(b, demoReplica(b), m, replica.Options{})
				b.StartTimer()
				if err := f.Push(b.Context(), atOnce, func(_, total int) { products = total }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(products)*float64(b.N)/b.Elapsed().Seconds(), "products/s")
		})
	}
}
