package sqlstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"

	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
)

// expireLease makes a lease expire as if its time had passed.
func expireLease(t *testing.T, db *DB, name string) {
	t.Helper()
	execute(t, db, "UPDATE lease SET expires_ms = "+db.records.Engine.Now+" WHERE name = '"+name+"'")
}

// TestLeases takes, extends, loses and releases leases.
func TestLeases(t *testing.T) {
	sqltest.EachSQL(t, testLeases)
}

func testLeases(t *testing.T, e sqltest.Engine) {
	db := openTest(t, e)
	store := db.Leases()
	acquire := func(name, holder string, want int64) coordination.Lease {
		t.Helper()
		before := time.Now()
		l, ok, err := store.Acquire(t.Context(), name, holder, time.Hour)
		if err != nil || ok != (want > 0) || l.Token != want {
			t.Fatalf("%s for %s: %+v, %v, %v, want token %d", name, holder, l, ok, err, want)
		}
		if ok && (l.Name != name || l.Holder != holder || l.Expires.Before(before.Add(time.Hour)) || l.Expires.After(time.Now().Add(time.Hour))) {
			t.Errorf("%s for %s: %+v", name, holder, l)
		}
		return l
	}
	renew := func(l coordination.Lease, want error) {
		t.Helper()
		if _, err := store.Renew(t.Context(), l, time.Hour); !errors.Is(err, want) {
			t.Errorf("renew %+v: %v, want %v", l, err, want)
		}
	}
	release := func(l coordination.Lease) {
		t.Helper()
		if err := store.Release(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}

	first := acquire("follow", "a", 1)
	acquire("follow", "b", 0)
	acquire("other", "b", 1)
	again := acquire("follow", "a", 2)
	renew(first, coordination.ErrLeaseLost)
	renew(again, nil)

	expireLease(t, db, "follow")
	renew(again, nil) // no other process has wanted it
	acquire("follow", "b", 0)
	expireLease(t, db, "follow")
	taken := acquire("follow", "b", 3)
	renew(again, coordination.ErrLeaseLost)
	release(again) // which it has lost
	acquire("follow", "a", 0)

	// The clock was a day ahead when the lease was taken. As no process renews it, it expires
	// within its ttl.
	execute(t, db, "UPDATE lease SET expires_ms = expires_ms + 86400000 WHERE name = 'follow'")
	acquire("follow", "a", 0)
	if left := count(t, db, "SELECT expires_ms - "+db.records.Engine.Now+" FROM lease WHERE name = 'follow'"); left > time.Hour.Milliseconds() {
		t.Errorf("the lease of a process that was killed is valid for %s more", time.Duration(left)*time.Millisecond)
	}
	renew(taken, nil) // it was not killed

	release(taken)
	renew(taken, coordination.ErrLeaseLost)
	acquire("follow", "a", 4)
	if err := db.Reset(t.Context(), &adapter.Dataset{}); err != nil {
		t.Fatal(err)
	}
	acquire("follow", "a", 5)

	var left int64 // by the clock of the database
	if err := db.records.Readers.QueryRowContext(t.Context(), "SELECT expires_ms - "+db.records.Engine.Now+" FROM lease WHERE name = 'follow'").Scan(&left); err != nil {
		t.Fatal(err)
	}
	if time.Duration(left)*time.Millisecond > time.Hour || left < time.Minute.Milliseconds() {
		t.Errorf("the lease expires in %d ms, want up to an hour", left)
	}
}

// TestLeaseForOne lets several processes take a new lease at once.
func TestLeaseForOne(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		dsn := e.NewDSN(t)
		var all sync.WaitGroup
		var taken atomic.Int64
		for _, holder := range []string{"a", "b", "c", "d"} {
			db := openAt(t, dsn)
			all.Go(func() {
				for _, name := range []string{"1", "2", "3"} {
					_, ok, err := db.Leases().Acquire(t.Context(), name, holder, time.Hour)
					if err != nil {
						t.Error(err)
					}
					if ok {
						taken.Add(1)
					}
				}
			})
		}
		all.Wait()
		if n := taken.Load(); n != 3 {
			t.Errorf("3 leases were taken %d times", n)
		}
	})
}

// TestFencing checks that a holder that was paused while another one acquired the lease
// writes nothing.
func TestFencing(t *testing.T) {
	sqltest.EachSQL(t, testFencing)
}

func testFencing(t *testing.T, e sqltest.Engine) {
	dsn := NewDemo(t, e)
	paused, next := openAt(t, dsn), openAt(t, dsn)
	lease, ok, err := paused.Leases().Acquire(t.Context(), "follow", "paused", time.Hour)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	a, notes := paused.Adapter().Fenced(lease), paused.Imports().Fenced(lease)
	products := adaptertest.StoreOf(t, a, adapter.Products)
	rename := func(ctx context.Context, name string, before func()) error {
		return products.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(r adapter.Record) (adapter.Record, error) {
			if before != nil {
				before()
			}
			return attrs{"name": name}.Record(r.Schema), nil
		}})
	}
	gone := attrs{"entity_id": 1}.Record(paused.records.Schemas.Of(adapter.Orders))
	writes := map[string]func() error{
		"a store's write": func() error { return rename(t.Context(), "lost", nil) },
		"an import": func() error {
			_, err := a.Import(t.Context(), []adapter.Aggregate{{Record: gone, Gone: true}}, adapter.ImportOptions{Source: "old"})
			return err
		},
		"an import's source": func() error { return notes.NoteSource(t.Context(), coordination.ImportSource{Name: "old"}) },
		"an import's digests": func() error {
			return notes.ReplaceRangeDigests(t.Context(), "old", "products", 0, 9, coordination.RangeDigest{})
		},
		"a position": func() error { return notes.SetPosition(t.Context(), "old", "1") },
		"parking":    func() error { return notes.Park(t.Context(), "old", coordination.Parked{Part: "products", Key: 1}) },
		"unparking":  func() error { return notes.Unpark(t.Context(), "old", "products") },
		"credentials": func() error {
			_, err := paused.Credentials().Import(t.Context(), credentials.Foreign{
				Admins:    func(func(adapter.Admin, error) bool) {},
				Consumers: func(func(adapter.Consumer, error) bool) {},
				Tokens:    func(func(adapter.LegacyToken, error) bool) {},
			}, credentials.ImportOptions{Lease: &lease})
			return err
		},
	}
	expireLease(t, paused, "follow")
	if err := rename(t.Context(), "kept", nil); err != nil {
		t.Errorf("with an expired lease that nobody wants: %v", err)
	}
	takeOver := func() {
		if _, ok, err := next.Leases().Acquire(t.Context(), "follow", "next", time.Hour); err != nil || !ok {
			t.Error(ok, err)
		}
	}
	if e.Name == "sqlite" { // no other process can acquire a lease during a transaction
		takeOver()
	} else if err := rename(t.Context(), "lost", takeOver); !errors.Is(err, coordination.ErrLeaseLost) {
		t.Errorf("a write during which another process took over: %v", err)
	}
	for name, write := range writes {
		if err := write(); !errors.Is(err, coordination.ErrLeaseLost) {
			t.Errorf("%s: %v, want %v", name, err, coordination.ErrLeaseLost)
		}
	}
	r, err := products.Get(t.Context(), &adapter.GetParams{Key: 1})
	if err != nil || r.Get("name").Text() != "kept" {
		t.Errorf("the product is %q, %v", r.Get("name").Text(), err)
	}
	if sources, err := next.Imports().Sources(t.Context()); err != nil || len(sources) > 0 {
		t.Errorf("sources %v, %v", sources, err)
	}
	if _, err := storeOf(t, next, adapter.Orders).Get(t.Context(), &adapter.GetParams{Key: 1}); err != nil {
		t.Errorf("the order: %v", err)
	}
}
