package replica_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// newProcesses returns fixtures that share one database and one backend as processes do. They do not
// touch each other's write intents, and wait for them without a limit.
func newProcesses(t *testing.T, engine string) [2]*fixture {
	t.Helper()
	dsn, m := demotest.Database(t, engine), newMemory()
	m.resources = slices.DeleteFunc(m.resources, func(res replica.BackendResource) bool { return res.Resource == adapter.ProductImages }) // their files are not there
	processes := [2]*fixture{}
	for i := range processes {
		processes[i] = reopen(t, demotest.Open(t, sqlstore.Options{DSN: dsn, MediaDir: t.TempDir()}).Replica(), m, replica.Options{})
		processes[i].SetForeignIntentAge(time.Hour)
		processes[i].SetForeignWriteWait(time.Hour)
	}
	if err := m.placeOrders(t.Context(), processes[0].local); err != nil {
		t.Fatal(err)
	}
	if err := processes[0].Push(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	processes[0].scan()
	return processes
}

// slowly makes the backend take up to two milliseconds, before and after it does something, and refuse
// some calls.
func (m *memoryBackend) slowly(refused string) {
	pause := func(_ context.Context, call string) error {
		time.Sleep(rand.N(2 * time.Millisecond))
		if call == refused {
			return memoryError(adapter.Conflict, "")
		}
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, m.after = pause, pause
}

// TestOneRecordInTwoProcesses changes one product and one customer in two processes at once: different
// attributes, the same attribute, and parts. The backend refuses some of the writes. Every
// acknowledged write is there in the end, in both processes and at the backend.
func TestOneRecordInTwoProcesses(t *testing.T) {
	const rounds = 12
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		processes := newProcesses(t, e.Name)
		processes[0].memory.slowly("Update customers")
		before := processes[0].get(adapter.StockItems, 1).Get("qty").Text()
		var all sync.WaitGroup
		var sold atomic.Int64
		var mu sync.Mutex
		want, added := map[string]string{}, map[adapter.Key]string{}
		for i, f := range processes {
			for attribute, unowned := range map[string]string{[]string{"name", "description"}[i]: []string{"meta_title", "meta_description"}[i]} {
				all.Go(func() {
					for n := range rounds {
						v := fmt.Sprintf("%d.%d", i, n)
						if err := f.update(adapter.Products, 1, 0, attrs{attribute: v, unowned: v}); err != nil {
							t.Errorf("update: %v", err)
						}
						mu.Lock()
						want[attribute], want[unowned] = v, v
						mu.Unlock()
						if err := f.update(adapter.Customers, 1, 0, attrs{"email": "refused@x.y", "taxvat": "refused"}); adapter.KindOf(err) != adapter.Conflict {
							t.Errorf("refused update: %v", err)
						}
					}
				})
			}
			all.Go(func() {
				for range 2 * rounds {
					err := f.store(adapter.StockItems).Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
						qty, _, _ := strings.Cut(current.Get("qty").Text(), ".")
						left, err := strconv.Atoi(qty)
						return attrs{"qty": fmt.Sprintf("%d.0000", left-1)}.Record(current.Schema), err
					}})
					if err != nil {
						t.Errorf("stock: %v", err)
					}
					sold.Add(1)
				}
			})
			all.Go(func() {
				for n := range rounds {
					address := newAddress(1)
					address["city"] = fmt.Sprint(i, n)
					key, err := f.create(adapter.CustomerAddresses, address)
					if err != nil {
						t.Errorf("address: %v", err)
					} else if n%3 == 0 {
						if err := f.delete(adapter.CustomerAddresses, key); err != nil {
							t.Errorf("delete: %v", err)
						}
						continue
					}
					mu.Lock()
					added[key] = fmt.Sprint(i, n)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		processes[0].memory.clearFaults()
		start, _, _ := strings.Cut(before, ".")
		quantity, err := strconv.Atoi(start)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range processes {
			f.checkValues(adapter.StockItems, 1, attrs{"qty": fmt.Sprintf("%d.0000", quantity-int(sold.Load()))})
			for name, v := range want {
				f.checkValues(adapter.Products, 1, attrs{name: v})
			}
			for key, city := range added {
				f.checkValues(adapter.CustomerAddresses, key, attrs{"city": city})
			}
			if taxvat := f.get(adapter.Customers, 1).Get("taxvat").Text(); taxvat == "refused" {
				t.Error("a refused update was not undone")
			}
			f.checkNoIntents()
			f.checkAgreement()
		}
	})
}

// TestWriteWaitsForOtherProcess checks that a writer waits for another process that is writing the
// record, and then fails with kind Unavailable and writes nothing, for every kind of write.
func TestWriteWaitsForOtherProcess(t *testing.T) {
	image := func(f *fixture) error {
		_, err := f.create(adapter.ProductImages, newImage(1))
		return err
	}
	for name, write := range map[string]func(*fixture) error{
		"update":              func(f *fixture) error { return f.update(adapter.Products, 1, 0, attrs{"name": "second"}) },
		"unowned attribute":   func(f *fixture) error { return f.update(adapter.Products, 1, 0, attrs{"meta_title": "second"}) },
		"update of a part":    func(f *fixture) error { return f.update(adapter.StockItems, 1, 0, attrs{"qty": "3.0000"}) },
		"create of a part":    image,
		"delete":              func(f *fixture) error { return f.delete(adapter.Products, 1) },
		"delete from a level": func(f *fixture) error { return f.delete(adapter.ProductImages, 1) },
		"import":              func(f *fixture) error { return f.importOne(f.exported(adapter.Products, 1, attrs{"name": "second"})) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			other := reopen(t, f.local, f.memory, replica.Options{})
			other.SetForeignIntentAge(time.Hour)
			other.SetForeignWriteWait(30 * time.Millisecond)
			f.memory.before = func(_ context.Context, call string) error {
				if call != "Update products" {
					return nil
				}
				err := write(other)
				var fault *adapter.Error
				if !errors.As(err, &fault) || fault.Kind != adapter.Unavailable || fault.RetryAfter == 0 {
					t.Errorf("error %v, want unavailable with a time", err)
				}
				return nil
			}
			if err := f.update(adapter.Products, 1, 0, attrs{"name": "first"}); err != nil {
				t.Error(err)
			}
			f.memory.clearFaults()
			other.checkValues(adapter.Products, 1, attrs{"name": "first"})
			f.checkAgreement()
			f.checkNoIntents()
			if err := write(other); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestChangedMeanwhile lets the backend refuse writes because the record has changed since it was
// read. They are repeated once, with the changed record.
func TestChangedMeanwhile(t *testing.T) {
	for refusals, want := range []string{"ours", "ours", "theirs"} {
		f := newFixture(t)
		id, refused := f.id(adapter.Products, 1), 0
		f.memory.before = func(_ context.Context, call string) error {
			if call != "Update products" || refused == refusals {
				return nil
			}
			refused++
			f.memory.edit(adapter.Products, id, func(d *memoryDoc) {
				d.record.Set("name", adapter.TextValue("theirs"))
				d.record.Set("description", adapter.TextValue(fmt.Sprint("theirs ", refused)))
			})
			return &adapter.Error{Kind: adapter.Conflict, Op: call, Err: replica.ErrChanged}
		}
		err := f.update(adapter.Products, 1, 0, attrs{"name": "ours"})
		var fault *adapter.Error
		if isBusy := errors.As(err, &fault) && fault.Kind == adapter.Unavailable && fault.RetryAfter > 0; refused != refusals || isBusy != (want == "theirs") || err != nil && !isBusy {
			t.Errorf("%d refusals: %v", refused, err)
		}
		f.memory.clearFaults()
		f.checkValues(adapter.Products, 1, attrs{"name": want})
		if refusals > 0 {
			f.checkValues(adapter.Products, 1, attrs{"description": fmt.Sprint("theirs ", refusals)})
		}
		f.checkAgreement()
		f.checkNoIntents()
	}
}
