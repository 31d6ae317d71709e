//go:build linux

package follow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A serverFault is something that happens to a server for a while.
type serverFault struct {
	name       string
	begin, end func(*sqltest.Server)
}

// sampled returns how many of some cases a test takes: by day the first one.
func sampled(all int) int {
	if testenv.Nightly() {
		return all
	}
	return 1
}

func serverFaults() []serverFault {
	return []serverFault{{"killed", (*sqltest.Server).Kill, (*sqltest.Server).Start}, {"paused", (*sqltest.Server).Pause, (*sqltest.Server).Resume}}
}

// hourly makes comparisons so rare that changes arrive only by the log or a poll.
func hourly(o *Options) { o.ComparePeriod = time.Hour }

// changeOn changes the shop at random, one change after the other, until stop is called. Changes
// that the server does not accept, as it is away, are left out.
func (s *followedShop) changeOn(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_, _ = s.old.ExecContext(context.WithoutCancel(ctx), magento1test.RandomChange())
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// startReading starts a follower, and waits until it reads the log at a position that is stored,
// or has compared everything once.
func (s *followedShop) startReading(t *testing.T, f *Follower) (stop func()) {
	t.Helper()
	stop = start(t, f)
	testenv.Await(t, "the follower to begin", func() bool {
		return s.metric(t, f, "last_comparison_timestamp_seconds", "") > 0 || s.metric(t, f, "mode", "log") == 1 && s.position(t) != ""
	})
	return stop
}

// position returns the position in the binary log that is stored.
func (s *followedShop) position(t *testing.T) string {
	t.Helper()
	position, err := s.store.Imports().Position(t.Context(), s.source(t))
	if err != nil {
		t.Fatal(err)
	}
	return position
}

// awaitLag waits until the metrics of a follower say that it is behind.
func (s *followedShop) awaitLag(t *testing.T, f *Follower) {
	t.Helper()
	testenv.Await(t, "the lag to grow", func() bool { return s.metric(t, f, "lag_seconds", "") > 0.5 })
}

// wantCounted fails if a fault leaves no trace in the metrics of a follower, or none in the log.
func (s *followedShop) wantCounted(t *testing.T, f *Follower) {
	t.Helper()
	if !testenv.Poll(t, func() bool {
		return s.metric(t, f, "failures_total", "") > 0 && strings.Contains(s.log.String(), "following the legacy store has failed and is tried again")
	}) {
		t.Errorf("the fault was counted %v times, and logged:\n%s", s.metric(t, f, "failures_total", ""), s.log.String())
	}
}

// TestFollowOldDatabaseAway is TestFollowOldDatabaseAwayOnce for many moments.
func TestFollowOldDatabaseAway(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	oldDatabaseAway(t, 8)
}

// TestFollowOldDatabaseAwayOnce kills the legacy store's database at a random moment, while it
// changes and its log is read, and brings it back. The follower goes on by itself, and nothing is
// missing or doubled. By night it is paused, too, and polled. Then the server says in its log that
// it has lost events: everything is compared, and the log is read from its end on.
func TestFollowOldDatabaseAwayOnce(t *testing.T) {
	t.Parallel()
	oldDatabaseAway(t, 1)
}

func oldDatabaseAway(t *testing.T, rounds int) {
	server := sqltest.StartLoggedMariaDB(t)
	from := server.Database("shop")
	s := followShop(t, from, magento1test.Fill(t, from, magento1test.Rich, ""), sqltest.SQLite(t))
	for _, polls := range []bool{false, true}[:sampled(2)] {
		for _, fault := range serverFaults()[:sampled(2)] {
			t.Run(fmt.Sprintf("polls %t, %s", polls, fault.name), func(t *testing.T) {
				f := s.follower(t, func(o *Options) {
					if o.PollOnly = polls; !polls { // which tells of changes without dates, too
						hourly(o)
					}
				})
				stop := s.startReading(t, f)
				for range rounds {
					stopChanges := s.changeOn(t)
					time.Sleep(rand.N(200 * time.Millisecond)) // a random moment, which nothing is waited for
					fault.begin(server)
					s.awaitLag(t, f)
					fault.end(server)
					stopChanges()
					s.execute(t, "UPDATE cataloginventory_stock_item SET qty = qty + 1", "UPDATE catalog_product_entity SET updated_at = NOW() WHERE entity_id < 9")
					s.awaitEqual(t)
				}
				if fault.name == "killed" {
					s.wantCounted(t, f)
				}
				if testenv.Nightly() {
					fault.begin(server)
				}
				stop() // also while the server does not answer
				if testenv.Nightly() {
					fault.end(server)
				}
			})
		}
	}
	t.Run("lost events", func(t *testing.T) {
		s.execute(t, "INSERT INTO core_url_rewrite (store_id, request_path, id_path, target_path) SELECT 1, CONCAT('a', seq), CONCAT('a', seq), REPEAT('x', 200) FROM seq_1_to_8000") // so that some time passes
		s.loseEvent(t, setSKU("lost", "6"))
		stop := start(t, s.follower(t, hourly))
		s.awaitEqual(t)
		s.execute(t, "UPDATE cataloginventory_stock_item SET qty = qty + 1")
		s.awaitEqual(t)
		if got := strings.Count(s.log.String(), "does not go on where it was last read: everything is compared"); got != 1 {
			t.Errorf("the log tells %d times of the gap:\n%s", got, s.log.String())
		}
		stop()
	})
}

// loseEvent makes a change, and replaces its rows in the log by an event that says that the server
// has lost some.
func (s *followedShop) loseEvent(t *testing.T, change string) {
	t.Helper()
	const kindAt, incident = 4, 26
	var base, file, rest string
	var at int64
	s.execute(t, "FLUSH BINARY LOGS")
	if err := s.old.QueryRowContext(t.Context(), "SHOW MASTER STATUS").Scan(&file, &at, &rest, &rest); err != nil {
		t.Fatal(err)
	}
	s.execute(t, change)
	if err := s.old.QueryRowContext(t.Context(), "SELECT @@log_bin_basename").Scan(&base); err != nil {
		t.Fatal(err)
	}
	events, err := s.old.QueryContext(t.Context(), fmt.Sprintf("SHOW BINLOG EVENTS IN '%s' FROM %d", file, at))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = events.Close() }()
	for kind := ""; !strings.HasPrefix(kind, "Update_rows"); {
		if !events.Next() {
			t.Fatal("the log does not have the change", events.Err())
		}
		if err := events.Scan(&rest, &at, &kind, &rest, &rest, &rest); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.OpenFile(filepath.Join(filepath.Dir(base), file), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	if _, err := log.WriteAt([]byte{incident}, at+kindAt); err != nil {
		t.Fatal(err)
	}
}

// storeServers returns the servers on which a store can be, by the names of subtests.
func storeServers() map[string]func(testing.TB) *sqltest.Server {
	return map[string]func(testing.TB) *sqltest.Server{"postgres": sqltest.StartPostgres, "mariadb": sqltest.StartMariaDB}
}

// TestFollowStoreAway is TestFollowStoreAwayOnce for many moments and on MariaDB, too.
func TestFollowStoreAway(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	for engine, start := range storeServers() {
		t.Run(engine, func(t *testing.T) { storeAway(t, start(t), 8) })
	}
}

// TestFollowStoreAwayOnce kills the server of the store at a random moment, while changes are taken
// over, and brings it back. The follower goes on by itself, and nothing is missing or stored twice.
// A second follower, which waits for the lease, still gets it when the first one ends.
// TestFollowStoreAway also pauses servers, at night.
func TestFollowStoreAwayOnce(t *testing.T) {
	t.Parallel()
	storeAway(t, sqltest.StartPostgres(t), 1)
}

func storeAway(t *testing.T, server *sqltest.Server, rounds int) {
	dsn := server.Database("store")
	s := newLoggedShop(t, dsn)
	other := s.follower(t, func(o *Options) { o.Holder = "other" })
	for _, fault := range serverFaults()[:sampled(2)] {
		t.Run(fault.name, func(t *testing.T) {
			f := s.follower(t, hourly)
			stop := s.startReading(t, f)
			stopOther := start(t, other)
			testenv.Await(t, "the other one to stand by", func() bool {
				return other.o.Metrics.caughtUpAt.Load() == 0 && strings.Contains(s.log.String(), "another process follows")
			})
			for range rounds {
				stopChanges := s.changeOn(t)
				time.Sleep(rand.N(200 * time.Millisecond)) // a random moment, which nothing is waited for
				fault.begin(server)
				s.awaitLag(t, f)
				if fault.name == "killed" {
					s.wantCounted(t, f)
				}
				fault.end(server)
				stopChanges()
				view := &followedShop{old: s.old, from: s.from, store: openStore(t, dsn)} // without broken connections
				view.awaitEqual(t)
			}
			if testenv.Nightly() {
				fault.begin(server)
			}
			stop() // also while the server does not answer
			if testenv.Nightly() {
				fault.end(server)
			}
			testenv.Await(t, "the other one to follow", func() bool { return s.metric(t, other, "leader", "") == 1 })
			stopOther()
		})
	}
}
