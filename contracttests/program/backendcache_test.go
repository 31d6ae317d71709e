package program

import (
	"encoding/json"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// waresMapping is the mapping file of a backend that holds the names of two products.
const waresMapping = `
name: wares
connection:
  ping: {path: /wares}
resources:
  products:
    attributes: [name]
    fetch: {path: /wares, items: wares, batch: 50}
    scan: {path: /wares, items: wares, pages: {offset: offset, limit: limit, size: 100}}
    id: id
    key: .number
    read: '{name}'
    update:
      - {method: PUT, path: '/wares/{.id}', body: '{name: .new.name}'}
    without: {create: it only has these two, delete: it only has these two}
`

// TestRepliesEndWithTheBackend changes a product at the backend. The cached replies that show
// it are invalidated by the next scan, long before they expire.
func TestRepliesEndWithTheBackend(t *testing.T) {
	var name atomic.Value
	name.Store("Kettle")
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"wares": []map[string]any{{"id": "w1", "number": 1, "name": name.Load()}, {"id": "w2", "number": 2, "name": "Pot"}}})
	}))
	t.Cleanup(backend.Close)
	mapping := filepath.Join(t.TempDir(), "wares.yaml")
	if err := os.WriteFile(mapping, []byte(waresMapping), 0o600); err != nil {
		t.Fatal(err)
	}
	_, environ := apptest.NewStore(t, apptest.SecretKey)
	environ.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, nil))
	p := apptest.Start(t, environ.With("PORTICO_ADAPTER=rest", "PORTICO_REST_URL="+backend.URL, "PORTICO_REST_MAPPING="+mapping, "PORTICO_REST_SCAN_EVERY=1s"))
	read := func(path string) (cached, body string) {
		r := apptest.Send(t, http.MethodGet, p.Contract+"/api/rest"+path, "", "Accept", "application/json")
		return r.Header.Get("X-Cache"), r.Body
	}
	paths := []string{"/products/1", "/products"}
	for _, path := range paths {
		testenv.Await(t, "a cached reply to "+path, func() bool {
			cached, body := read(path)
			return cached == "HIT" && strings.Contains(body, `"Kettle"`)
		})
	}
	name.Store("Teapot")
	for _, path := range paths {
		testenv.Await(t, "the new name in "+path, func() bool {
			_, body := read(path)
			return strings.Contains(body, `"Teapot"`)
		})
	}
}
