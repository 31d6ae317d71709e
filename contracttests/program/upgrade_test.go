package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// upgradeFrom is the commit whose program is upgraded to the present one, by its message. After a
// release, make it the tag of the release: an upgrade may leave out no release.
const upgradeFrom = "HEAD^{/^binlog: wait until the connection that TestLostLookup kills is idle}"

// TestUpgradeFrom finds the commit upgradeFrom in a clone that has the whole history. No text of the
// repository names it otherwise, so a change of that text would show at night only.
func TestUpgradeFrom(t *testing.T) {
	git := func(arguments ...string) (string, error) {
		output, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", testenv.Root(t)}, arguments...)...).Output()
		return strings.TrimSpace(string(output)), err
	}
	if shallow, err := git("rev-parse", "--is-shallow-repository"); err != nil || shallow != "false" {
		return // a source archive, or a clone without the history
	}
	if _, err := git("rev-parse", "--verify", "--quiet", upgradeFrom); err != nil {
		t.Errorf("%s: %v", upgradeFrom, err)
	}
}

// TestRollingUpgrade replaces three replicas of an earlier version one by one by the present one,
// while clients read and write: no call fails, and no acknowledged write is lost. Then the contract
// suite passes against both versions side by side, with the earlier one started on the new tables.
func TestRollingUpgrade(t *testing.T) {
	testenv.OnlyNightly(t, "upgrade")
	earlier := buildEarlier(t)
	for engine, newDSN := range map[string]func(testing.TB) string{"postgres": sqltest.Postgres, "mariadb": sqltest.MariaDB} {
		t.Run(engine, func(t *testing.T) {
			u := newUpgrade(t, earlier, newDSN(t))
			t.Run("replace", u.replace)
			t.Run("side by side", u.runSuites)
		})
	}
}

// buildEarlier builds the program of the commit upgradeFrom, which it fetches if the clone is shallow.
func buildEarlier(t *testing.T) (path string) {
	t.Helper()
	root, source := testenv.Root(t), t.TempDir()
	run := func(folder, name string, arguments ...string) error {
		cmd := exec.CommandContext(t.Context(), name, arguments...)
		cmd.Dir = folder
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, output)
		}
		return nil
	}
	if run(root, "git", "rev-parse", "--verify", "--quiet", upgradeFrom) != nil {
		if err := run(root, "git", "fetch", "--no-tags", "--unshallow", "origin"); err != nil {
			t.Fatalf("the commit to upgrade from is not in this clone, which is shallow, and cannot be fetched: fetch the whole history\n%v", err)
		}
	}
	archive := filepath.Join(source, "source.tar")
	path = filepath.Join(source, "portico")
	err := run(root, "git", "archive", "-o", archive, upgradeFrom)
	if err == nil {
		err = run(source, "tar", "-xf", archive)
	}
	if err == nil {
		err = run(source, "go", "build", "-o", path, "./cmd/portico")
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// An upgrade is a store that replicas of two versions share.
type upgrade struct {
	earlier, present string // programs
	dsn, media       string
	environ          apptest.Environment
}

// newUpgrade lets the earlier version create a store with the demo store's records.
func newUpgrade(t *testing.T, earlier, dsn string) *upgrade {
	t.Helper()
	u := &upgrade{earlier: earlier, present: apptest.Program(t), dsn: dsn, media: t.TempDir()}
	u.environ = apptest.Environment{
		apptest.FastPasswordHashing, "PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + u.media,
		"PORTICO_CACHE_REDIS_URL=" + apptest.NewRedis(t).URL(), "PORTICO_CACHE_TIMEOUT=5s", "PORTICO_SERVER_DRAIN_DELAY=2s", "PORTICO_LOG_LEVEL=warn",
	}
	seed := apptest.StartProgram(t, u.environ, earlier, "seed", "--dataset", apptest.WriteDataset(t, nil))
	if code := seed.Wait(t); code != 0 {
		t.Fatalf("the earlier version cannot seed a store: exit code %d", code)
	}
	return u
}

// start starts a replica and waits until it is ready.
func (u *upgrade) start(t *testing.T, path string) *apptest.Process {
	t.Helper()
	p := apptest.StartProgram(t, u.environ, path, "serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	p.AwaitAddresses(t, false)
	testenv.Await(t, "the readiness of a replica", func() bool { return isReady(p) })
	return p
}

// isReady reports whether a replica takes calls.
func isReady(p *apptest.Process) bool {
	client := &http.Client{Timeout: apptest.WaitTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(p.Ops + "/readyz")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// A fleet distributes calls over the replicas that are ready, and repeats none.
type fleet struct {
	mu    sync.Mutex
	ready []*apptest.Client // of an administrator
	turn  int
}

// add adds a replica.
func (f *fleet) add(t *testing.T, p *apptest.Process) *apptest.Client {
	t.Helper()
	c := apptest.NewClient(t, p.Contract, apptest.PlaintextHeader(apptest.DatasetKey, apptest.DatasetSecret, apptest.DatasetToken, apptest.DatasetTokenSecret))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = append(f.ready, c)
	return c
}

// remove removes the oldest replica.
func (f *fleet) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = append([]*apptest.Client(nil), f.ready[1:]...)
}

// next returns the next replica.
func (f *fleet) next() *apptest.Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn++
	return f.ready[f.turn%len(f.ready)]
}

// replace replaces the replicas one by one under load.
func (u *upgrade) replace(t *testing.T) {
	const replicas, clients, enough = 3, 6, 100 // answers between two steps
	f := &fleet{}
	var running []*apptest.Process
	for range replicas {
		running = append(running, u.start(t, u.earlier))
		f.add(t, running[len(running)-1])
	}
	stop := make(chan struct{})
	var load sync.WaitGroup
	var answered atomic.Int64
	failures := make(chan error, clients)
	for number := range clients {
		load.Go(func() {
			for round := 1; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := callFleet(t.Context(), f, number, round); err != nil {
					failures <- err
					return
				}
				answered.Add(1)
			}
		})
	}
	goOn := func() {
		t.Helper()
		until := answered.Load() + enough
		testenv.Await(t, "answers", func() bool { return answered.Load() >= until || len(failures) > 0 })
	}
	goOn()
	for _, old := range running {
		f.add(t, u.start(t, u.present))
		goOn()
		old.Signal(t, syscall.SIGTERM)
		testenv.Await(t, "the replica that drains", func() bool { return !isReady(old) })
		f.remove()
		if code := old.Wait(t); code != 0 {
			t.Errorf("a replica of the earlier version ended with exit code %d", code)
		}
		goOn()
	}
	close(stop)
	load.Wait()
	close(failures)
	failed := 0
	for err := range failures {
		failed++
		t.Error(err)
	}
	t.Logf("%d rounds of calls succeeded, and %d failed", answered.Load(), failed)
}

// callFleet makes one round of calls of a client: even clients read as Guests do, two of the others
// write a stock item each, and one writes a batch. They read their writes from another replica.
func callFleet(ctx context.Context, f *fleet, number, round int) error {
	call := func(method, path, body string, want int) (string, error) {
		got, err := f.next().Call(ctx, method, path, body)
		if err == nil && got.Status != want {
			err = fmt.Errorf("%d %s", got.Status, got.Body)
		}
		if err != nil {
			err = fmt.Errorf("%s %s in round %d: %w", method, path, round, err)
		}
		return got.Body, err
	}
	if number%2 == 0 {
		_, err := call(http.MethodGet, "/products?limit=5", "", http.StatusOK)
		return err
	}
	qty := strconv.Itoa(100 + round)
	items := []int{number}
	var err error
	if number == 5 {
		items = []int{5, 6}
		_, err = call(http.MethodPut, "/stockitems", `[{"item_id":5,"qty":`+qty+`},{"item_id":6,"qty":`+qty+`}]`, http.StatusMultiStatus)
	} else {
		_, err = call(http.MethodPut, fmt.Sprintf("/stockitems/%d", number), `{"qty":`+qty+`}`, http.StatusOK)
	}
	for _, item := range items {
		var body string
		if err == nil {
			body, err = call(http.MethodGet, fmt.Sprintf("/stockitems/%d", item), "", http.StatusOK)
		}
		if err == nil && !strings.Contains(body, `"qty":"`+qty+`.0000"`) && !strings.Contains(body, `"qty":`+qty) {
			err = fmt.Errorf("lost: the acknowledged quantity %s of stock item %d is not in %s", qty, item, body)
		}
	}
	return err
}

// runSuites runs the contract suite against a replica of each version, while the other one serves
// Guests.
func (u *upgrade) runSuites(t *testing.T) {
	present, earlier := u.start(t, u.present), u.start(t, u.earlier)
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: u.dsn, MediaDir: u.media})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, at := range map[string][2]*apptest.Process{"present": {present, earlier}, "earlier": {earlier, present}} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			var reading sync.WaitGroup
			t.Cleanup(reading.Wait)
			t.Cleanup(stop)
			guest := apptest.NewClient(t, at[1].Contract, "")
			reading.Go(func() {
				for ctx.Err() == nil {
					if got, err := guest.Call(ctx, http.MethodGet, "/products?limit=5", ""); err == nil && got.Status != http.StatusOK {
						t.Errorf("a Guest's call during the suite: %d %s", got.Status, got.Body)
						return
					}
					select {
					case <-ctx.Done():
					case <-time.After(20 * time.Millisecond):
					}
				}
			})
			reset := func(ctx context.Context) error { return resetDemo(ctx, t, db, at[0]) }
			if err := reset(t.Context()); err != nil {
				t.Fatal(err)
			}
			contracttests.Run(t, apptest.DemoTarget(t, at[0].Contract, "documented", reset))
		})
	}
}

// resetDemo restores the demo store, and makes a replica forget its cached replies.
func resetDemo(ctx context.Context, t *testing.T, db *sqlstore.DB, p *apptest.Process) error {
	err := db.Reset(ctx, demotest.Data(t))
	if err == nil { // deleting a customer has a replica forget all credentials
		err = sendDemo(ctx, http.MethodDelete, p.Contract+"/api/rest/customers/2")
	}
	if err == nil {
		err = db.Reset(ctx, demotest.Data(t))
	}
	if err == nil {
		err = sendDemo(ctx, http.MethodPost, p.Ops+"/cache/purge")
	}
	return err
}

// sendDemo sends a request as the demo store's administrator, which must succeed.
func sendDemo(ctx context.Context, method, address string) error {
	r, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Authorization", apptest.DemoAdmin())
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = errors.New(method + " " + address + ": " + response.Status)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}
