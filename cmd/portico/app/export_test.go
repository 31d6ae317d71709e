package app

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExport checks that a store seeded with the export of another one answers the same and
// exports the same bytes.
func TestExport(t *testing.T) {
	folder := t.TempDir()
	example := filepath.Join(folder, "example.json")
	if err := os.WriteFile(example, []byte(mustRun(t, "seed", "--example")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, first := newStore(t, secretKey)
	first.mustRun(t, "seed", "--dataset", example)
	file := filepath.Join(folder, "store.json")
	first.mustRun(t, "export", "--credentials", file)
	text := readFile(t, file)
	for _, name := range []string{file, filepath.Join(folder, "store.json-media", "k", "e", "kettle.png")} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; only its owner may read it", name, info, err)
		}
	}
	inline := first.mustRun(t, "export", "--inline")
	image := base64.StdEncoding.EncodeToString([]byte(readFile(t, filepath.Join(folder, "store.json-media", "k", "e", "kettle.png"))))
	if !strings.Contains(inline, `"content":"`+image+`"`) || strings.Contains(inline, `"consumers"`) {
		t.Errorf("--inline writes\n%s", inline)
	}

	_, second := newStore(t, secretKey)
	second.mustRun(t, "seed", "--dataset", file)
	if got := second.mustRun(t, "export", "--inline"); got != inline {
		t.Errorf("the export of the second store is\n%s\nwant\n%s", got, inline)
	}
	again := filepath.Join(folder, "again.json")
	second.mustRun(t, "export", "--credentials", "--media", filepath.Join(folder, "store.json-media"), again)
	if got := readFile(t, again); got != text {
		t.Errorf("the export of the second store is\n%s\nwant\n%s", got, text)
	}
	compareReads(t, text, first, second)
}

// formKey matches what answers hold of the process that gave them.
var formKey = regexp.MustCompile(`form_key\\?/[0-9A-Z]+`)

// compareReads compares what two stores of a data set answer to everything that can be read.
func compareReads(t *testing.T, text string, environs ...[]string) {
	t.Helper()
	var data struct {
		Consumers []struct {
			Key, Secret string
			Tokens      []struct {
				Token, Secret string
				AdminID       int64 `json:"admin_id"`
			}
		}
	}
	parse(t, text, &data)
	callers := []string{""}
	for _, token := range data.Consumers[0].Tokens {
		callers = append(callers, plaintextHeader(data.Consumers[0].Key, data.Consumers[0].Secret, token.Token, token.Secret))
	}
	paths := []string{"customers", "customers/1", "customers/2", "customers/1/addresses", "customers/addresses/1", "stockitems", "stockitems/1",
		"orders", "orders/1", "orders/1/items", "orders/1/addresses", "orders/1/addresses/billing", "orders/1/comments", "products/1/websites", "products/1/categories"}
	for _, store := range []string{"", "/store/0", "/store/1", "/store/2", "?store=german"} {
		at := func(path string) string {
			if query, ok := strings.CutPrefix(store, "?"); ok {
				return path + "?" + query
			}
			return path + store
		}
		for _, path := range []string{"products", "products/1", "products/1/images", "products/1/images/1"} {
			paths = append(paths, at(path))
		}
	}
	for _, dialect := range []string{"documented", "magento"} {
		shop := []string{"--dialect", dialect, "--public-url", "http://shop.example"} // which answers hold
		first, second := start(t, environs[0], shop...), start(t, environs[1], shop...)
		answered := 0
		for _, caller := range callers {
			for _, path := range paths {
				get := func(p *process) string {
					got := send(t, "GET", p.contract+"/api/rest/"+path, "", "Authorization", caller, "Accept", "application/json")
					if got.status == http.StatusOK {
						answered++
					}
					return fmt.Sprintln(got.status, formKey.ReplaceAllString(got.body, ""))
				}
				if a, b := get(first), get(second); a != b {
					t.Errorf("%s, %s by %.60q:\n%s\n%s", dialect, path, caller, a, b)
				}
			}
		}
		if answered < len(paths) {
			t.Errorf("only %d reads are answered", answered)
		}
		first.stop(t)
		second.stop(t)
	}
}

// TestExportRefuses checks where images can be.
func TestExportRefuses(t *testing.T) {
	folder := t.TempDir()
	_, commands := newStore(t, secretKey)
	for _, c := range []struct{ name, arguments, want string }{
		{"media elsewhere", "export --media " + filepath.Dir(folder) + " " + filepath.Join(folder, "store.json"), "must be a folder in that of the data set"},
		{"the folder itself", "export --media " + folder + " " + filepath.Join(folder, "store.json"), "must be a folder in that of the data set"},
		{"media and inline", "export --inline --media media", "none of the others can be"},
		{"no such folder", "export " + filepath.Join(folder, "none", "store.json"), "no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := commands.run(t, strings.Fields(c.arguments)...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// readFile returns the text of a file.
func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
