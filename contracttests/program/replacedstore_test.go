//go:build linux

package program

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A replacedShop is a store whose replies are cached in Redis.
type replacedShop struct {
	apptest.Environment
	t *testing.T
}

// newReplacedShop returns an empty store.
func newReplacedShop(t *testing.T) *replacedShop {
	t.Helper()
	redis := apptest.NewRedis(t)
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	return &replacedShop{commands.With("PORTICO_CACHE_REDIS_URL="+redis.URL(), "PORTICO_CACHE_TTL=1h", "PORTICO_CACHE_STALE_TTL=24h", "PORTICO_CACHE_TIMEOUT=5s", "PORTICO_PUBLIC_URL=http://shop.example.com"), t}
}

// dataset returns the path of a data set whose first product has a name.
func (s *replacedShop) dataset(name string) string {
	s.t.Helper()
	path := apptest.WriteDataset(s.t, nil)
	apptest.ChangeRecords(s.t, path, "products", func(records []map[string]any) { records[0]["name"] = name })
	return path
}

// expect gets a list and a product from a process, and checks whether they show the name of the first
// product, and whether they come from a cache.
func (s *replacedShop) expect(process *apptest.Process, when, name string, cached bool) {
	s.t.Helper()
	for _, path := range []string{"/products?limit=100", "/products/1"} {
		body, outcome := s.get(process, path)
		if shows := strings.Contains(body, name); !shows || (outcome == "HIT") != cached {
			s.t.Errorf("%s: %s is answered with X-Cache %s, cached: %t, and shows %q: %t", when, path, outcome, cached, name, shows)
		}
	}
}

// get gets a path from a process, and returns the body and how it was found.
func (s *replacedShop) get(process *apptest.Process, path string) (body, outcome string) {
	s.t.Helper()
	got := apptest.Send(s.t, "GET", process.Contract+"/api/rest"+path, "", "Accept", "application/json")
	return got.Body, got.Header.Get("X-Cache")
}

// fillRedis starts servers one after the other until one of them finds the first product's name in
// Redis.
func (s *replacedShop) fillRedis(name string) {
	s.t.Helper()
	testenv.Await(s.t, "a reply in Redis", func() bool {
		found := true
		process := apptest.Start(s.t, s.Environment)
		for _, path := range []string{"/products?limit=100", "/products/1"} {
			body, outcome := s.get(process, path)
			found = found && outcome == "HIT"
			if !strings.Contains(body, name) {
				s.t.Errorf("%s does not show %q, X-Cache %s", path, name, outcome)
			}
		}
		process.Stop(s.t)
		return found
	})
}

// awaitCached waits until a process answers from a cache, and checks the name of the first product.
func (s *replacedShop) awaitCached(process *apptest.Process, name string) {
	s.t.Helper()
	for _, path := range []string{"/products?limit=100", "/products/1"} {
		testenv.Await(s.t, "a cached reply", func() bool {
			body, outcome := s.get(process, path)
			if !strings.Contains(body, name) {
				s.t.Errorf("%s does not show %q, X-Cache %s", path, name, outcome)
			}
			return outcome == "HIT"
		})
	}
}

// replacements are the commands that replace a store with one whose first product is called Old.
func (s *replacedShop) replacements() map[string][]string {
	archive, old := filepath.Join(s.t.TempDir(), "shop.tar.gz"), s.dataset("Old")
	s.MustRun(s.t, "seed", "--dataset", old)
	s.MustRun(s.t, "backup", archive)
	return map[string][]string{
		"restore": {"restore", archive, "--force"},
		"seed":    {"seed", "--dataset", old, "--replace"},
	}
}

// TestReplacedStore stops a server, replaces its store, and starts it: Redis still has replies from
// before.
func TestReplacedStore(t *testing.T) {
	t.Parallel()
	s := newReplacedShop(t)
	for name, command := range s.replacements() {
		t.Run(name, func(t *testing.T) {
			s.t = t
			s.MustRun(t, "seed", "--dataset", s.dataset("Young"), "--replace")
			s.fillRedis("Young")
			s.MustRun(t, command...)
			process := apptest.Start(t, s.Environment)
			s.expect(process, "replaced", "Old", false)
			process.Stop(t)
		})
	}
}

// TestReplacedBesideServer replaces a store beside a running server, and beside one that was killed.
func TestReplacedBesideServer(t *testing.T) {
	t.Parallel()
	s := newReplacedShop(t)
	for name, command := range s.replacements() {
		t.Run(name, func(t *testing.T) {
			s.t = t
			s.MustRun(t, "seed", "--dataset", s.dataset("Young"), "--replace", "--while-running")
			process := apptest.Start(t, s.Environment)
			refused := func(when string) {
				t.Helper()
				if _, _, err := s.Run(t, command...); err == nil || !strings.Contains(err.Error(), "use the database") || !strings.Contains(err.Error(), "--while-running") {
					t.Errorf("%s: %v", when, err)
				}
			}
			s.awaitCached(process, "Young")
			refused("beside a server")
			s.awaitCached(process, "Young")
			s.MustRun(t, append(command, "--while-running")...)
			s.expect(process, "replaced", "Old", false)
			s.awaitCached(process, "Old")
			process.Signal(t, syscall.SIGKILL)
			process.Wait(t)
			refused("beside one that was killed")
		})
	}
}

// TestSeedBesideServer fills an empty store beside a server that has cached that it is empty.
func TestSeedBesideServer(t *testing.T) {
	t.Parallel()
	s := newReplacedShop(t)
	process := apptest.Start(t, s.Environment)
	testenv.Await(t, "a cached list", func() bool {
		body, outcome := s.get(process, "/products?limit=100")
		if strings.Contains(body, "New") {
			t.Errorf("the empty store has %s", body)
		}
		return outcome == "HIT"
	})
	s.MustRun(t, "seed", "--dataset", s.dataset("New"))
	s.expect(process, "seeded", "New", false)
	process.Stop(t)
}
