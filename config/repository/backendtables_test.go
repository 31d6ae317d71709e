package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestBackendTables checks the guide's tables of backend-owned attributes and of calls to each
// backend against the built-in mappings. After a change of a mapping run:
//
//	go test ./config/repository -run BackendTables -update
func TestBackendTables(t *testing.T) {
	const begin, end = "<!-- What follows is written by TestBackendTables. -->\n", "<!-- End of what TestBackendTables writes. -->\n"
	path := filepath.Join("..", "..", "adapter", "README.md")
	text := apptest.ReadFile(t, path)
	before, rest, found := strings.Cut(text, begin)
	_, after, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		t.Fatalf("%s has no place for the tables", path)
	}
	var backends []*builtIn
	for _, title := range []string{"Magento 2", "Medusa", "Vendure"} {
		backends = append(backends, openBuiltIn(t, title))
	}
	want := before + begin + "\n" + attributeTable(backends) + "\n" + callTable(backends) + "\n" + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, apptest.ReadFile(t, path)); diff != "" {
		t.Errorf("%s is out of date, run this test with -update (-want +got):\n%s", path, diff)
	}
}

// A builtIn has the resources that a built-in mapping declares for its backend.
type builtIn struct {
	title string
	of    map[adapter.Resource]replica.BackendResource
}

func openBuiltIn(t *testing.T, title string) *builtIn {
	t.Helper()
	mapping, _ := reststore.Mapping(strings.ToLower(strings.ReplaceAll(title, " ", "")))
	backend, err := reststore.Open(reststore.Options{Mapping: mapping, File: title, URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	b := &builtIn{title, map[adapter.Resource]replica.BackendResource{}}
	for _, r := range backend.Resources() {
		b.of[r.Resource] = r
	}
	return b
}

// attributeTable returns a row for each resource with backend-owned attributes. Attributes that
// only guide a write are stored nowhere.
func attributeTable(backends []*builtIn) string {
	var rows [][]string
	head := []string{"Records"}
	for _, b := range backends {
		head = append(head, b.title+" keeps")
	}
	schemas := adapter.NewSchemas()
	for _, r := range adapter.Resources() {
		row, kept := []string{strings.ReplaceAll(string(r), "_", " ")}, map[string]bool{}
		for _, b := range backends {
			for _, name := range b.of[r].Attributes {
				kept[name] = true
			}
			row = append(row, code(b.of[r].Attributes))
		}
		var local []string
		for _, a := range schemas.Of(r).Attributes {
			if !kept[a.Name] && !a.WriteOnly {
				local = append(local, a.Name)
			}
		}
		if len(kept) > 0 {
			rows = append(rows, append(row, code(local)))
		}
	}
	return markdown(append(head, "Only in the local replica"), rows)
}

// callTable returns a row for each call of the contract. Paths that only add a store view or a
// category have no row of their own.
func callTable(backends []*builtIn) string {
	head := []string{"Call"}
	for _, b := range backends {
		head = append(head, b.title)
	}
	var rows [][]string
	seen := map[string]bool{}
	for _, route := range contract.Routes(contract.StandardFields()) {
		for _, m := range contract.Methods() {
			call := route.Calls[m]
			if call == "" || seen[call] {
				continue
			}
			seen[call] = true
			row := []string{"`" + m.String() + " " + route.Path + "`"}
			for _, b := range backends {
				row = append(row, effect(b, adapter.Resource(route.Resource), m))
			}
			rows = append(rows, row)
		}
	}
	return markdown(head, rows)
}

// effect describes the effect of a call at a backend.
func effect(b *builtIn, resource adapter.Resource, m contract.Method) string {
	r, known := b.of[resource]
	done, does := "read", true
	switch m {
	case contract.POST:
		done, does = "created", r.Creates
	case contract.PUT:
		done, does = "changed", r.Updates
	case contract.DELETE:
		done, does = "deleted", r.Deletes
	}
	switch {
	case !known:
		return "–"
	case !does && m == contract.PUT && len(r.Attributes) > 0:
		return "refused if it changes what the backend keeps"
	case !does:
		return "refused"
	}
	return done
}

// code returns names as a list of code.
func code(names []string) string {
	if len(names) == 0 {
		return "–"
	}
	return "`" + strings.Join(names, "` `") + "`"
}

func markdown(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	line(slices.Repeat([]string{"---"}, len(head)))
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
