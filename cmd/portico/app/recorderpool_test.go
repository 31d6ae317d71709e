package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// TestRecorderPool checks that rule sets with the same folder share its recorders, and that the
// recorders flush their buffers when the last rule set releases them.
func TestRecorderPool(t *testing.T) {
	t.Parallel()
	pool := newRecorderPool(newMasker(contract.NewTable(nil)), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	dir := t.TempDir()
	in := func(name string) *config.Config {
		return &config.Config{Listen: "127.0.0.1:1", Record: config.Record{Dir: filepath.Join(dir, name), Sample: 1, PerSecond: 1, MaxBytes: 1 << 20, BodyBytes: 1}}
	}
	acquire := func(name string) *recorders {
		t.Helper()
		r, err := pool.acquire(in(name))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	release := func(name string) {
		t.Helper()
		if err := pool.release(in(name)); err != nil {
			t.Fatal(err)
		}
	}
	usage := func() int {
		t.Helper()
		written, err := filepath.Glob(filepath.Join(dir, "a", "usage-*.json"))
		if err != nil {
			t.Fatal(err)
		}
		return len(written)
	}
	first, other := acquire("a"), acquire("b")
	if again := acquire("a/"); again != first || other == first {
		t.Error("a folder has several recorders, or two folders have one")
	}
	first.counter.Observe(&proxy.Exchange{Request: httptest.NewRequest("GET", "/", nil), ReplyHeader: http.Header{}})
	release("a")
	if n := usage(); n != 0 {
		t.Errorf("%d files while the recorders are in use", n)
	}
	release("a")
	if n := usage(); n != 1 {
		t.Errorf("%d files with counts, want 1", n)
	}
	if reopened := acquire("a"); reopened == first {
		t.Error("closed recorders are used again")
	}
	release("a")
	release("b")
}
