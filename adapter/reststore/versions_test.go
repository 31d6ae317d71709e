package reststore

import (
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// versionMapping is tinyMapping with versions, which are requested alone.
func versionMapping() string {
	return strings.Replace(tinyMappingWith(""), "    id: id\n", `    id: id
    version: rev
    versions: {path: /versions, query: {ids: '$ids | join(",")'}, items: data.list, batch: 3}
`, 1)
}

// TestVersions checks the requests that a fetch of versions sends, and the documents that it
// reads.
func TestVersions(t *testing.T) {
	const old, changed = `{"id": "a", "rev": 1, "mail": "old@example.com"}`, `{"id": "a", "rev": 2, "mail": "new@example.com"}`
	for _, c := range []struct {
		name     string
		versions []string // the document in the responses to requests for versions
		whole    string   // the document in the response to a request for documents
		mail     string   // value read; "" for an error
		requests []string
	}{
		{"unchanged", []string{old}, old, "old@example.com", []string{"/versions", "/c"}},
		{"changed before it is fetched", []string{old, changed}, changed, "new@example.com", []string{"/versions", "/c", "/versions"}},
		{"an older document than the version", []string{changed, changed}, old, "", []string{"/versions", "/c", "/versions"}},
		{"gone before it is fetched", []string{old}, "", "", []string{"/versions", "/c"}},
		{"gone before it is compared again", []string{old, ""}, changed, "", []string{"/versions", "/c", "/versions"}},
		{"a document without a version", []string{old}, `{"id": "a", "mail": "b@example.com"}`, "", []string{"/versions", "/c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var requests []string
			b := serve(t, versionMapping(), nil, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				requests = append(requests, r.URL.Path)
				document := c.whole
				if r.URL.Path == "/versions" {
					document, c.versions = c.versions[0], c.versions[1:]
				}
				respond(w, 200, `{"data": {"list": [`+document+`]}}`)
			})
			found, err := b.Fetch(t.Context(), adapter.Customers, []string{"a"})
			if err != nil || len(found) != 1 {
				t.Fatalf("%v, %v", found, err)
			}
			item, _, err := found[0].Read(t.Context())
			mu.Lock()
			defer mu.Unlock()
			if c.mail == "" && adapter.KindOf(err) != adapter.Unavailable || c.mail != "" && (err != nil || item.Record.Get("email").Text() != c.mail) {
				t.Errorf("%v, %v", item.Record, err)
			}
			if !slices.Equal(requests, c.requests) {
				t.Errorf("requests %v, want %v", requests, c.requests)
			}
		})
	}
}

// TestVersionBatches checks that the documents of a batch are fetched once, and only if one of
// them is read, and that a version stands for a document from any request.
func TestVersionBatches(t *testing.T) {
	var mu sync.Mutex
	counts := map[string]int{}
	sent := func(path string) int {
		mu.Lock()
		defer mu.Unlock()
		return counts[path]
	}
	b := serve(t, versionMapping(), nil, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		counts[r.URL.Path]++
		var list []string
		ids := r.URL.Query().Get("ids")
		if ids == "" && r.URL.Query().Get("offset") == "0" {
			ids = "0,1"
		}
		for id := range strings.SplitSeq(ids, ",") {
			if id != "" {
				list = append(list, fmt.Sprintf(`{"id": %q, "rev": "7", "mail": "%s@example.com", "seen": %d}`, id, id, counts["/c"]))
			}
		}
		respond(w, 200, `{"data": {"list": [`+strings.Join(list, ",")+`]}}`)
	})
	found, err := b.Fetch(t.Context(), adapter.Customers, []string{"0", "1", "2", "3", "4", "5", "6"})
	if err != nil || len(found) != 7 || sent("/versions") != 3 || sent("/c") != 0 {
		t.Fatalf("%d documents, %v, after %d and %d requests", len(found), err, sent("/versions"), sent("/c"))
	}
	versions := map[string]string{}
	for _, d := range found {
		versions[d.ID] = d.Version
		if d.ID > "2" {
			continue
		}
		for range 2 {
			if item, _, err := d.Read(t.Context()); err != nil || item.ID != d.ID || item.Record.Get("email").Text() != d.ID+"@example.com" {
				t.Errorf("%v, %v", item, err)
			}
		}
	}
	if n := sent("/c"); n != 2 { // three documents, two of them in a request
		t.Errorf("%d requests for documents", n)
	}
	if versions["0"] == versions["1"] {
		t.Error("two documents have the same version")
	}
	err = b.Scan(t.Context(), adapter.Customers, time.Time{}, func(page []replica.Document) error {
		for _, d := range page {
			if d.Version != versions[d.ID] {
				t.Errorf("a scan finds another version of %s", d.ID)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
