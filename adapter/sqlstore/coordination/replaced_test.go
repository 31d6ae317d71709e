package coordination_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// A noticingProcess is a Watcher that records new epochs and drops, in order.
type noticingProcess struct {
	*coordination.Watcher
	noticed []string
}

// newNoticingProcess starts a watch on a database.
func newNoticingProcess(t *testing.T, dsn string) *noticingProcess {
	t.Helper()
	p := &noticingProcess{Watcher: openAt(t, dsn).Changes().NewWatch()}
	p.Start(t.Context(), 0, func(epoch string) { p.noticed = append(p.noticed, "epoch "+epoch) },
		func(_ context.Context, changed map[adapter.Resource][]adapter.Key) {
			p.noticed = append(p.noticed, fmt.Sprint("drop ", changed))
		})
	p.StopLooking()
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// takeNoticed looks, and returns the epochs and drops since the last call.
func (p *noticingProcess) takeNoticed(t *testing.T) []string {
	t.Helper()
	if !p.Look() {
		t.Error("the process cannot know")
	}
	defer func() { p.noticed = nil }()
	return p.noticed
}

// TestReplace checks that processes notice when a store is replaced: first the new epoch, then that
// everything has changed.
func TestReplace(t *testing.T) { sqltest.EachEngine(t, testReplace) }

func testReplace(t *testing.T, e sqltest.Engine) {
	dsn := demotest.Database(t, e.Name)
	store := openAt(t, dsn)
	direct := sqltest.Open(t, store.dsn)
	epoch := func() string {
		t.Helper()
		found, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(direct.Readers.QueryContext), "SELECT epoch FROM store_state")
		if err != nil || len(found) != 1 || found[0] == "" {
			t.Fatalf("epoch %q, %v", found, err)
		}
		return found[0]
	}
	everything := fmt.Sprint("drop ", map[adapter.Resource][]adapter.Key(nil))
	p := newNoticingProcess(t, dsn)
	expect := func(when string, want ...string) {
		t.Helper()
		if got := p.takeNoticed(t); !slices.Equal(got, want) {
			t.Errorf("%s: noticed %q, want %q", when, got, want)
		}
	}
	first := epoch()
	expect("at the start", "epoch "+first)
	replace := func(result error) error {
		return direct.Write(t.Context(), "replace", func(tx *engine.Tx) error {
			return errors.Join(coordination.AnnounceReplacement(t.Context(), tx, nil), result)
		})
	}
	if err := replace(nil); err != nil {
		t.Fatal(err)
	}
	if epoch() == first {
		t.Error("the epoch stays")
	}
	expect("replaced", "epoch "+epoch(), everything)
	if err := replace(errors.New("refused")); err == nil {
		t.Error("a refused transaction commits")
	}
	expect("rolled back")
	sqltest.Exec(t, store.dsn, "UPDATE import_state SET generation = 0", "UPDATE store_state SET epoch = 'other'")
	expect("replaced with an earlier generation", "epoch other", everything)

	during := ""
	err := store.Changes().Around(t.Context(), func() error {
		during = epoch()
		expect("begun", "epoch "+during, everything)
		return nil
	})
	if err != nil || epoch() == during {
		t.Errorf("after the change the epoch is that from before its end, %v", err)
	}
	expect("changed", "epoch "+epoch(), everything)
	before, failed := epoch(), errors.New("failed in the middle")
	if err := store.Changes().Around(t.Context(), func() error { return failed }); !errors.Is(err, failed) || epoch() == before {
		t.Errorf("a change that fails: %v", err)
	}

	announcement, err := store.Changes().Announce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = announcement.End(t.Context()) }()
	sqltest.Exec(t, store.dsn, "DELETE FROM import_process") // as if it had been paused for long
	err = direct.Write(t.Context(), "replace", func(tx *engine.Tx) error { return coordination.AnnounceReplacement(t.Context(), tx, announcement) })
	if !errors.Is(err, coordination.ErrUnannounced) {
		t.Errorf("with an announcement that has expired: %v", err)
	}
}

// TestAnnounceAlone checks which processes keep others from replacing a store.
func TestAnnounceAlone(t *testing.T) { sqltest.EachEngine(t, testAnnounceAlone) }

func testAnnounceAlone(t *testing.T, e sqltest.Engine) {
	dsn := demotest.Database(t, e.Name)
	store := openAt(t, dsn)
	processes := func() int {
		t.Helper()
		found, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(sqltest.Raw(t, store.dsn).QueryContext), "SELECT id FROM import_process")
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	refused := func(when string, want int) {
		t.Helper()
		before := processes()
		_, err := store.Changes().AnnounceAlone(t.Context())
		inUse, ok := errors.AsType[*coordination.InUseError](err)
		if !ok || adapter.KindOf(err) != adapter.Conflict || inUse.Processes != want || inUse.Forgotten <= 0 || inUse.Forgotten > 5*time.Minute ||
			!strings.Contains(err.Error(), fmt.Sprintf("%d processes use the database", want)) {
			t.Errorf("%s: %v", when, err)
		}
		if after := processes(); after != before {
			t.Errorf("%s: %d processes are noted, were %d", when, after, before)
		}
	}
	alone := func(when string) {
		t.Helper()
		announcement, err := store.Changes().AnnounceAlone(t.Context())
		if err != nil {
			t.Errorf("%s: %v", when, err)
			return
		}
		refused(when+", another one", 1)
		if err := announcement.End(t.Context()); err != nil || processes() != 0 {
			t.Errorf("%s: %d processes are left, %v", when, processes(), err)
		}
	}
	alone("nobody uses it")
	serving := newNoticingProcess(t, dsn)
	refused("one serves it", 1)
	importing, err := store.Changes().Announce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused("another one imports", 2)
	if err := serving.Close(); err != nil {
		t.Fatal(err)
	}
	refused("the first has ended", 1)
	if err := importing.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	alone("both have ended")
	newNoticingProcess(t, dsn)
	sqltest.Exec(t, store.dsn, "UPDATE import_process SET expires_ms = 1") // it was killed long ago
	alone("one was killed")
}

// TestForeignTables checks that processes on tables without an epoch share cached replies.
func TestForeignTables(t *testing.T) {
	dsn := demotest.Database(t, "sqlite")
	sqltest.Exec(t, openAt(t, dsn).dsn, "DROP TABLE store_state")
	p := newNoticingProcess(t, dsn)
	if got := p.takeNoticed(t); !slices.Equal(got, []string{"epoch "}) || !p.Known() {
		t.Errorf("noticed %q, known: %t", got, p.Known())
	}
}
