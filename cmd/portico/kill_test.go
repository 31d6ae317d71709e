package main

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

var kills = flag.Int("kills", 0, "how often TestKilled kills the program on each engine; 0 for a few times")

const (
	// Of a round of TestKilled: who writes at the same time, what each creates, and
	// how often each of those is changed afterwards, which makes 200 writes of
	// products.
	killedWriters, killedEach, killedChanges = 8, 5, 4
	// killedAnswers is the number of answers of a round that nothing interrupts: of
	// the writes of products and of the three calls that belong to each product.
	killedAnswers = killedWriters * killedEach * (1 + killedChanges + 3)
)

// TestKilled kills the program, by the signal that cannot be caught, while clients
// create and change products, and starts it again on what is left, round after
// round: each call was done or was not, whatever was answered is done, and the
// store goes on from there. For many more rounds:
//
//	go test ./cmd/portico -run Killed -kills 50
func TestKilled(t *testing.T) {
	nightly.Only(t, "faults")
	rounds := *kills
	if rounds == 0 {
		rounds = 3
		if !nightly.Whole() {
			rounds = 1
		}
	}
	for engine, newDSN := range newDatabases() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel() // much of it is waiting
			s := newMortalStore(t, engine, newDSN(t))
			for round := range rounds {
				after := 1 + rand.IntN(killedAnswers-killedWriters)
				t.Logf("round %d is over after %d answers of %d", round, after, killedAnswers)
				s.writeUntil(t, round, after)
				s.start(t)
				s.check(t)
				s.complete(t)
			}
			s.check(t)
			s.p.stop(t)
			s.checkLog(t)
		})
	}
}

// A mortalStore is a store whose program is killed now and then.
type mortalStore struct {
	engine, dsn  string
	media        string // the folder of image files
	p            *process
	admin, guest *client
	articles     []*article
}

// newMortalStore starts the program on the demo store.
func newMortalStore(t *testing.T, engine, dsn string) *mortalStore {
	t.Helper()
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsn, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Load(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := &mortalStore{engine: engine, dsn: dsn, media: filepath.Join(t.TempDir(), "media")}
	s.start(t)
	return s
}

// start starts the program, and returns once nothing of an earlier one is under way.
func (s *mortalStore) start(t *testing.T) {
	t.Helper()
	s.p = start(t, []string{"PORTICO_SQL_DSN=" + s.dsn, "PORTICO_SQL_MEDIA_DIR=" + s.media, "PORTICO_LOG_LEVEL=warn"})
	s.admin, s.guest = newClient(t, s.p.contract, demoAdmin()), newClient(t, s.p.contract, "")
	awaitTransactions(t, s.engine, s.dsn)
}

// awaitTransactions returns once the server has ended all transactions that write
// products and had begun before: those of a program that is no more, which may be
// about to be committed.
func awaitTransactions(t *testing.T, engine, dsn string) {
	t.Helper()
	var driver, lock string
	switch engine {
	case "postgres":
		driver, lock = "pgx", "LOCK TABLE product IN EXCLUSIVE MODE"
	case "mariadb":
		driver, lock, dsn = "mysql", "LOCK TABLES product WRITE", strings.TrimPrefix(dsn, "mysql:")
	default: // they are the program's own
		return
	}
	pool, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }() // which frees the table
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
}

// write writes what of an article, and keeps account of it. It fails when there is
// no answer.
func (s *mortalStore) write(t *testing.T, a *article, what int) error {
	if what == aVersion {
		a.sent = a.saved + 1
	} else {
		a.parts[what] = sent
	}
	method, path, body := a.call(what)
	got, err := s.admin.call(t.Context(), method, path, body)
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
	}
	if what != aVersion {
		a.parts[what] = answered
		return nil
	}
	a.saved = a.sent
	if a.path == "" {
		a.path = strings.TrimPrefix(got.header.Get("Location"), "/api/rest")
	}
	return nil
}

// writeUntil lets clients write articles until so many calls have been answered,
// and kills the program while the others are under way.
func (s *mortalStore) writeUntil(t *testing.T, round, answers int) {
	t.Helper()
	answeredOne := make(chan struct{}, killedAnswers)
	var writers sync.WaitGroup
	for w := range killedWriters {
		var own []*article
		for n := range killedEach {
			own = append(own, newArticle(t, fmt.Sprintf("round%d-writer%d-%d", round, w, n)))
		}
		s.articles = append(s.articles, own...)
		writers.Go(func() { s.writeAll(t, own, func() { answeredOne <- struct{}{} }) })
	}
	for range answers {
		select {
		case <-answeredOne:
		case <-time.After(hang):
			t.Fatal("the program does not answer")
		}
	}
	s.p.signal(t, os.Kill)
	s.p.wait(t)
	writers.Wait()
	s.checkLog(t)
}

// writeAll creates articles and changes them, until all is done or the program does
// not answer. It calls told after each answer.
func (s *mortalStore) writeAll(t *testing.T, articles []*article, told func()) {
	for _, a := range articles {
		calls := []int{aWebsite, aCategory, anImage}
		for range killedChanges {
			calls = append(calls, aVersion)
		}
		rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		for _, what := range append([]int{aVersion}, calls...) {
			if s.write(t, a, what) != nil {
				return
			}
			told()
		}
	}
}

// complete makes the calls again that were not done when the program was killed:
// nothing stands in their way.
func (s *mortalStore) complete(t *testing.T) {
	t.Helper()
	for _, a := range s.articles {
		var left []int
		if a.saved < a.sent {
			left = append(left, aVersion)
		}
		for what, progress := range a.parts {
			if progress == sent {
				left = append(left, what)
			}
		}
		for _, what := range left {
			if err := s.write(t, a, what); err != nil {
				t.Fatal(err)
			}
		}
	}
}
