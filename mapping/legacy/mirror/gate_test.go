package mirror_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/legacy/mirror"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// turned is the resource whose writes the tests hand over.
const turned = adapter.StockItems

// A gateway is a store, and processes that clients write through.
type gateway struct {
	*testing.T
	db *sqlstore.DB
}

// A gatedProcess is one of the processes.
type gatedProcess struct {
	*mirror.Gate
	g              *gateway
	owners         *mutedOwners
	mirrors        atomic.Bool // it is configured to
	turned, gaveUp atomic.Int64
	log            testenv.Log
	stop           func()
}

// start starts a process, and waits until it has announced itself.
func (g *gateway) start(name string, mirrors bool) *gatedProcess {
	g.Helper()
	p := &gatedProcess{g: g, owners: &mutedOwners{OwnerTable: g.db.WriteOwners()}}
	p.mirrors.Store(mirrors)
	p.Gate = mirror.NewGate(mirror.GateOptions{
		Owners: p.owners, Process: name, Resources: []adapter.Resource{turned}, Drain: 2 * time.Second,
		Wishes:   func() map[adapter.Resource]bool { return map[adapter.Resource]bool{turned: p.mirrors.Load()} },
		CaughtUp: func(adapter.Resource) bool { return true },
		Turned:   func(adapter.Resource) { p.turned.Add(1) }, GaveUp: func(adapter.Resource) { p.gaveUp.Add(1) },
		Log: slog.New(slog.NewTextHandler(&p.log, nil)),
	})
	ctx, cancel := context.WithCancel(g.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	p.stop = func() {
		cancel()
		running.Wait()
	}
	g.Cleanup(p.stop)
	g.await("an announcement", func() bool { return p.owners.announced.Load() > 0 })
	return p
}

// write begins a write, and returns its destination: "portico", "legacy", or "refused". Unless the
// write is refused, the caller ends it.
func (p *gatedProcess) write() (to string, end func()) {
	rule := proxy.Rule{To: proxy.Legacy}
	if p.mirrors.Load() {
		rule = proxy.Rule{To: proxy.Portico, Mirror: true}
	}
	target, end, err := p.Begin(p.g.Context(), turned, rule)
	switch {
	case err != nil && adapter.KindOf(err) == adapter.Unavailable:
		return "refused", nil
	case err != nil:
		p.g.Error(err)
		return err.Error(), nil
	case target == proxy.Portico:
		return "portico", end
	default:
		return "legacy", end
	}
}

// goes checks where a write goes.
func (p *gatedProcess) goes(want string) {
	p.g.Helper()
	to, end := p.write()
	if end != nil {
		end()
	}
	if to != want {
		p.g.Errorf("a write goes to %s, want %s", to, want)
	}
}

// owner returns the row of the resource.
func (g *gateway) owner() outbox.Owner {
	g.Helper()
	all, err := g.db.WriteOwners().All(g.Context())
	if err != nil {
		g.Fatal(err)
	}
	for _, o := range all {
		if o.Resource == turned {
			return o
		}
	}
	return outbox.Owner{}
}

// await waits until done is true.
func (g *gateway) await(what string, done func() bool) {
	g.Helper()
	if !testenv.Poll(g, done) {
		g.Fatalf("there never is %s: %+v", what, g.owner())
	}
}

// awaitTurn waits until a handover has ended with the writes on a side.
func (g *gateway) awaitTurn(mirrored bool) {
	g.Helper()
	g.await("a turn", func() bool { o := g.owner(); return o.Mirrored == mirrored && !o.Turning && o.Epoch > 0 })
}

// ghost announces a process of which there is nothing but the row.
func (g *gateway) ghost(mirrors bool, knows int64, ttl time.Duration) {
	g.Helper()
	_, err := g.db.WriteOwners().Announce(g.Context(), outbox.Process{ID: "ghost", Wishes: map[adapter.Resource]bool{turned: mirrors}, Known: map[adapter.Resource]int64{turned: knows}}, ttl)
	if err != nil {
		g.Fatal(err)
	}
}

// change changes a stock item as a client does, and returns the entry.
func (g *gateway) change() outbox.Entry {
	g.Helper()
	store, err := g.db.Adapter().Mirrored().Store(turned)
	if err == nil {
		err = store.Update(g.Context(), &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
			change := adapter.NewRecord(current.Schema)
			change.Set("qty", adapter.TextValue("7.0000"))
			return change, nil
		}})
	}
	due, failed := g.db.Outbox().Due(g.Context(), 1)
	if err = errors.Join(err, failed); err != nil || len(due) != 1 {
		g.Fatal(due, err)
	}
	return due[0]
}

// mutedOwners is the owner table of a store that does not answer while it is muted.
type mutedOwners struct {
	coordination.OwnerTable
	muted     atomic.Bool
	announced atomic.Int64
}

func (m *mutedOwners) Announce(ctx context.Context, p outbox.Process, ttl time.Duration) ([]outbox.Owner, error) {
	if m.muted.Load() {
		return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "announce"}
	}
	defer m.announced.Add(1)
	return m.OwnerTable.Announce(ctx, p, ttl)
}

// TestGate hands over the writes of a resource in every way in which that can go wrong. Outside
// nightly runs it is a sample.
func TestGate(t *testing.T) {
	sample := testenv.NewSample(t)
	engines := map[string]func(testing.TB) string{"sqlite": func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "store.db") }}
	if testenv.Nightly() {
		engines["postgres"], engines["mariadb"] = sqltest.Postgres, sqltest.MariaDB
	}
	for engine, newDSN := range engines {
		for _, tt := range []struct {
			name string
			run  func(g *gateway)
		}{
			{"nothing is mirrored", func(g *gateway) {
				a := g.start("a", false)
				a.goes("legacy")
				if o := g.owner(); o.Epoch != 0 {
					g.Errorf("%+v", o)
				}
			}},
			{"there and back", func(g *gateway) {
				a, b := g.start("a", false), g.start("b", false)
				a.mirrors.Store(true)
				b.mirrors.Store(true)
				g.awaitTurn(true)
				a.goes("portico")
				b.goes("portico")
				a.mirrors.Store(false)
				a.goes("portico") // as long as not all are configured alike
				b.mirrors.Store(false)
				g.awaitTurn(false)
				a.goes("legacy")
				b.goes("legacy")
				g.await("a count of both turns", func() bool { return a.turned.Load() == 2 && b.turned.Load() == 2 })
			}},
			{"a process that expires", func(g *gateway) {
				g.ghost(false, 0, 1500*time.Millisecond)
				a := g.start("a", true)
				g.await("a reason", func() bool { return strings.Contains(a.log.String(), "not all processes are configured alike yet") })
				g.awaitTurn(true)
				a.goes("portico")
			}},
			{"a process that joins during a turn", func(g *gateway) {
				a := g.start("a", false)
				a.goes("legacy")
				_, end := a.write()
				a.mirrors.Store(true)
				g.await("the beginning of a turn", func() bool { return g.owner().Turning })
				b := g.start("b", false) // and is configured otherwise
				g.await("a reason", func() bool { return strings.Contains(a.log.String(), "some processes still have writes in progress") })
				if o := g.owner(); !o.Turning {
					g.Errorf("%+v while a write is in progress", o)
				}
				end()
				g.awaitTurn(true)
				b.goes("portico")
				a.goes("portico")
			}},
			{"a process that joins and never knows of the turn", func(g *gateway) {
				a := g.start("a", false)
				_, end := a.write()
				a.mirrors.Store(true)
				g.await("the beginning of a turn", func() bool { return g.owner().Turning })
				g.ghost(true, 0, time.Hour)
				end()
				g.await("a turn that is given up", func() bool { return a.gaveUp.Load() == 1 && !g.owner().Turning })
				if o := g.owner(); o.Mirrored {
					g.Errorf("%+v", o)
				}
				g.await("writes again", func() bool { to, end := a.write(); end(); return to == "legacy" })
			}},
			{"a turn that is given up, and what waited for it", func(g *gateway) {
				a := g.start("a", false)
				_, end := a.write()
				defer end()
				a.mirrors.Store(true)
				g.await("the beginning of a turn", func() bool { return g.owner().Turning })
				waited := make(chan string)
				seen := a.owners.announced.Load()
				g.await("the process to know of it", func() bool { return a.owners.announced.Load() > seen+1 })
				go func() {
					to, end := a.write()
					if end != nil {
						end()
					}
					waited <- to
				}()
				g.await("a turn that is given up", func() bool { return a.gaveUp.Load() == 1 && !g.owner().Turning })
				if to := <-waited; to == "portico" {
					g.Errorf("what waited goes to %s", to)
				}
				a.goes("legacy")
			}},
			{"a parked change", func(g *gateway) {
				a := g.start("a", true)
				g.awaitTurn(true)
				e := g.change()
				if err := g.db.Outbox().Failed(g.Context(), e, outbox.Failure{Reason: "refused", Parked: true, Retry: time.Now().Add(time.Hour)}); err != nil {
					g.Fatal(err)
				}
				a.mirrors.Store(false)
				g.await("a reason", func() bool {
					return strings.Contains(a.log.String(), "the legacy store refuses changes: see portico mirror list")
				})
				a.goes("portico")
				if _, err := g.db.Outbox().Discard(g.Context(), e.ID); err != nil {
					g.Fatal(err)
				}
				g.awaitTurn(false)
				a.goes("legacy")
			}},
			{"a change that waits", func(g *gateway) {
				a := g.start("a", true)
				g.awaitTurn(true)
				e := g.change()
				a.mirrors.Store(false)
				g.await("a reason", func() bool { return strings.Contains(a.log.String(), "the legacy store does not have all changes yet") })
				if err := g.db.Outbox().Delivered(g.Context(), e, nil, nil); err != nil {
					g.Fatal(err)
				}
				g.awaitTurn(false)
			}},
			{"an unknown create", func(g *gateway) {
				a, box := g.start("a", true), g.db.Outbox()
				g.awaitTurn(true)
				id, err := box.BeginCreate(g.Context(), outbox.Create{Resource: adapter.ProductImages, Root: outbox.Root{Resource: adapter.Products, Key: 1}})
				if err = errors.Join(err, box.UnknownCreate(g.Context(), id, "the reply was lost")); err != nil {
					g.Fatal(err)
				}
				a.mirrors.Store(false)
				g.await("a reason", func() bool { return strings.Contains(a.log.String(), "nobody knows what has become of some records") })
				a.goes("portico")
				if _, err := box.DiscardCreates(g.Context(), id); err != nil {
					g.Fatal(err)
				}
				g.awaitTurn(false)
			}},
			{"a reload that changes its mind", func(g *gateway) {
				a, b := g.start("a", false), g.start("b", false)
				_, end := a.write()
				a.mirrors.Store(true)
				b.mirrors.Store(true)
				g.await("the beginning of a turn", func() bool { return g.owner().Turning })
				a.mirrors.Store(false)
				b.mirrors.Store(false)
				end()
				// The current handover completes, and the next one takes the writes back.
				g.await("two turns", func() bool { return a.turned.Load() == 2 && b.turned.Load() == 2 })
				g.awaitTurn(false)
				a.goes("legacy")
				b.goes("legacy")
			}},
			{"a process that stops", func(g *gateway) {
				a, b := g.start("a", false), g.start("b", true)
				g.await("a reason", func() bool { return strings.Contains(b.log.String(), "not all processes are configured alike yet") })
				a.stop()
				g.awaitTurn(true)
				b.goes("portico")
			}},
		} {
			if !sample.Takes(3) {
				continue
			}
			t.Run(engine+"/"+tt.name, func(t *testing.T) {
				t.Parallel() // much of it is waiting
				tt.run(newGateway(t, newDSN(t)))
			})
		}
	}
}

// newGateway opens a store with the demo data.
func newGateway(t *testing.T, dsn string) *gateway {
	t.Helper()
	data, err := dataset.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsn, MediaDir: t.TempDir(), Migrate: true, SecretKey: "a key of the tests"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Load(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	return &gateway{t, db}
}

// TestTooManyWait checks that the number of writes that wait for a handover is limited, and that
// canceled writes make room.
func TestTooManyWait(t *testing.T) {
	g := mirror.NewGate(mirror.GateOptions{Drain: time.Hour, Log: slog.New(slog.DiscardHandler)}) // which never learns the owner of the writes
	const most = 256
	mirrored := proxy.Rule{To: proxy.Portico, Mirror: true}
	waiting, stop := context.WithCancel(t.Context())
	begun := make(chan error, most+1)
	for range most + 1 {
		go func() {
			_, _, err := g.Begin(waiting, adapter.StockItems, mirrored)
			begun <- err
		}()
	}
	err := <-begun // of the one for which there is no room
	var fault *adapter.Error
	if !errors.As(err, &fault) || fault.Kind != adapter.Unavailable || fault.RetryAfter == 0 {
		t.Errorf("one more: %v", err)
	}
	stop()
	for range most {
		if err := <-begun; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := g.Begin(short, adapter.StockItems, mirrored); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one after the others have given up: %v", err)
	}
}

// TestGateWithoutStore keeps a process from announcing itself. It lets nothing through before the
// others stop counting on it, and goes on when it can announce itself again.
func TestGateWithoutStore(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	g := newGateway(t, "sqlite:"+filepath.Join(t.TempDir(), "store.db"))
	a := g.start("a", true)
	g.awaitTurn(true)
	a.goes("portico")
	a.owners.muted.Store(true)
	began := time.Now()
	g.await("a refused write", func() bool {
		to, end := a.write()
		if end != nil {
			end()
		}
		return to == "refused"
	})
	b := g.start("b", false)
	g.awaitTurn(false) // when the row of a has expired
	if expired := time.Since(began); expired < 9*time.Second {
		t.Errorf("the writes have turned after %s, although a process may count on them for longer", expired)
	}
	b.goes("legacy")
	b.stop()
	a.mirrors.Store(false)
	a.owners.muted.Store(false)
	g.await("writes again", func() bool {
		to, end := a.write()
		if end != nil {
			end()
		}
		return to == "legacy"
	})
}
