package program

import (
	"flag"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var kills = flag.Int("kills", 0, "how often TestKilled kills the program on each engine; 0 for a few times")

const (
	// One round of TestKilled: the number of concurrent writers, of products that each
	// creates, and of changes of each product, which makes 200 writes of products.
	killedWriters, killedProducts, killedChanges = 8, 5, 4
	// killedAnswers is the number of answers in a round without an interruption: to
	// the writes of products and to the three writes of parts of each product.
	killedAnswers = killedWriters * killedProducts * (1 + killedChanges + 3)
)

// TestKilled kills the program with SIGKILL while clients create and change products,
// restarts it on the same data, and repeats this. Each call must have been made completely
// or not at all, acknowledged calls must have been made, and unanswered ones must be
// repeatable. For many more rounds:
//
//	go test ./contracttests/program -run Killed -kills 50
func TestKilled(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	rounds := *kills
	if rounds == 0 {
		rounds = 3
		if !testenv.Nightly() {
			rounds = 1
		}
	}
	for engine, newDSN := range apptest.DemoDatabases(t) {
		t.Run(engine, func(t *testing.T) {
			t.Parallel() // much of it is waiting
			media := filepath.Join(t.TempDir(), "media")
			s := &killableStore{engine: engine, dsn: newDSN(t), images: []string{"PORTICO_SQL_MEDIA_DIR=" + media}, media: media, sample: testenv.NewSample(t)}
			s.start(t)
			s.killRepeatedly(t, rounds)
			s.p.Stop(t)
			s.checkLog(t)
		})
	}
}

// killRepeatedly kills the program so often while clients write, and checks the store after each
// time.
func (s *killableStore) killRepeatedly(t *testing.T, rounds int) {
	t.Helper()
	for round := range rounds {
		after := 1 + s.sample.IntN(killedAnswers-killedWriters)
		t.Logf("round %d is over after %d answers of %d", round, after, killedAnswers)
		s.writeUntil(t, round, after)
		s.start(t)
		s.check(t)
		s.repeatUnanswered(t)
	}
	s.check(t)
}

// A killableStore is a store whose program is killed now and then.
type killableStore struct {
	engine, dsn  string
	images       []string // the settings for the place of image files
	media        string   // the folder of image files; "": they are in a bucket
	sample       *testenv.Sample
	p            *apptest.Process
	admin, guest *apptest.Client
	articles     []*versionedProduct
}

// start starts the program, and waits until transactions of an earlier one have ended.
func (s *killableStore) start(t *testing.T) {
	t.Helper()
	s.p = apptest.Start(t, append(s.images, "PORTICO_SQL_DSN="+s.dsn, "PORTICO_LOG_LEVEL=warn"))
	s.admin, s.guest = apptest.NewClient(t, s.p.Contract, apptest.DemoAdmin()), apptest.NewClient(t, s.p.Contract, "")
	apptest.AwaitTransactions(t, s.engine, s.dsn)
}

// write makes a kind of write of a product and records the state of the call. It returns an
// error if there is no answer.
func (s *killableStore) write(t *testing.T, a *versionedProduct, what int) error {
	if what == writeVersion {
		a.sent = a.saved + 1
	} else {
		a.parts[what] = sent
	}
	method, path, body := a.call(what)
	got, err := s.admin.Call(t.Context(), method, path, body)
	if err != nil {
		return err
	}
	if got.Status != http.StatusOK {
		t.Errorf("%s %s: %d %s", method, path, got.Status, got.Body)
	}
	if what != writeVersion {
		a.parts[what] = answered
		return nil
	}
	a.saved = a.sent
	if a.path == "" {
		a.path = strings.TrimPrefix(got.Header.Get("Location"), "/api/rest")
	}
	return nil
}

// writeUntil lets clients write products until the given number of calls has been
// answered, and kills the program while other calls are in flight.
func (s *killableStore) writeUntil(t *testing.T, round, answers int) {
	t.Helper()
	answeredOne := make(chan struct{}, killedAnswers)
	var writers sync.WaitGroup
	for w := range killedWriters {
		var own []*versionedProduct
		for n := range killedProducts {
			own = append(own, newVersionedProduct(t, fmt.Sprintf("round%d-writer%d-%d", round, w, n)))
		}
		s.articles = append(s.articles, own...)
		writers.Go(func() { s.writeAll(t, own, func() { answeredOne <- struct{}{} }) })
	}
	for range answers {
		testenv.Receive(t, "an answer of the program", answeredOne)
	}
	s.p.Signal(t, os.Kill)
	s.p.Wait(t)
	writers.Wait()
	s.checkLog(t)
}

// writeAll creates products and changes them, until all is done or the program does not
// answer. It calls answered after each answer.
func (s *killableStore) writeAll(t *testing.T, articles []*versionedProduct, answered func()) {
	for _, a := range articles {
		calls := []int{writeWebsite, writeCategory, writeImage}
		for range killedChanges {
			calls = append(calls, writeVersion)
		}
		rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		for _, what := range append([]int{writeVersion}, calls...) {
			if s.write(t, a, what) != nil {
				return
			}
			answered()
		}
	}
}

// repeatUnanswered repeats the calls whose outcome is unknown. They must succeed.
func (s *killableStore) repeatUnanswered(t *testing.T) {
	t.Helper()
	for _, a := range s.articles {
		var left []int
		if a.saved < a.sent {
			left = append(left, writeVersion)
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
