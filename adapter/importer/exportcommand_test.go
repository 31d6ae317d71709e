package importer_test

import (
	"encoding/base64"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExportCommand checks that a store seeded with the export of another one answers the same and
// exports the same bytes.
func TestExportCommand(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	example := filepath.Join(folder, "example.json")
	apptest.WriteFile(t, example, apptest.MustRun(t, "seed", "--example"))
	_, first := apptest.NewStore(t, apptest.SecretKey)
	first.MustRun(t, "seed", "--dataset", example)
	file := filepath.Join(folder, "store.json")
	first.MustRun(t, "export", "--credentials", file)
	text := apptest.ReadFile(t, file)
	for _, name := range []string{file, filepath.Join(folder, "store.json-media", "k", "e", "kettle.png")} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; only its owner may read it", name, info, err)
		}
	}
	inline := first.MustRun(t, "export", "--inline")
	image := base64.StdEncoding.EncodeToString([]byte(apptest.ReadFile(t, filepath.Join(folder, "store.json-media", "k", "e", "kettle.png"))))
	if !strings.Contains(inline, `"content":"`+image+`"`) || strings.Contains(inline, `"consumers"`) {
		t.Errorf("--inline writes\n%s", inline)
	}

	_, second := apptest.NewStore(t, apptest.SecretKey)
	second.MustRun(t, "seed", "--dataset", file)
	if got := second.MustRun(t, "export", "--inline"); got != inline {
		t.Errorf("the export of the second store is\n%s\nwant\n%s", got, inline)
	}
	again := filepath.Join(folder, "again.json")
	second.MustRun(t, "export", "--credentials", "--media", filepath.Join(folder, "store.json-media"), again)
	if got := apptest.ReadFile(t, again); got != text {
		t.Errorf("the export of the second store is\n%s\nwant\n%s", got, text)
	}
	compareReads(t, text, first, second)
}

// formKey matches the form key in replies, which depends on the process that made them.
var formKey = regexp.MustCompile(`form_key\\?/[0-9A-Z]+`)

// compareReads compares the replies of two stores of a data set to all reads.
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
	apptest.Parse(t, text, &data)
	callers := []string{""}
	for _, token := range data.Consumers[0].Tokens {
		callers = append(callers, apptest.PlaintextHeader(data.Consumers[0].Key, data.Consumers[0].Secret, token.Token, token.Secret))
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
		first, second := apptest.Start(t, environs[0], shop...), apptest.Start(t, environs[1], shop...)
		answered := 0
		for _, caller := range callers {
			for _, path := range paths {
				get := func(p *apptest.Process) string {
					got := apptest.Send(t, "GET", p.Contract+"/api/rest/"+path, "", "Authorization", caller, "Accept", "application/json")
					if got.Status == http.StatusOK {
						answered++
					}
					return fmt.Sprintln(got.Status, formKey.ReplaceAllString(got.Body, ""))
				}
				if a, b := get(first), get(second); a != b {
					t.Errorf("%s, %s by %.60q:\n%s\n%s", dialect, path, caller, a, b)
				}
			}
		}
		if answered < len(paths) {
			t.Errorf("only %d reads are answered", answered)
		}
		first.Stop(t)
		second.Stop(t)
	}
}

// TestExportRefuses checks where images can be.
func TestExportRefuses(t *testing.T) {
	folder := t.TempDir()
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	for _, c := range []struct{ name, arguments, want string }{
		{"media elsewhere", "export --media " + filepath.Dir(folder) + " " + filepath.Join(folder, "store.json"), "must be a folder in that of the data set"},
		{"the folder itself", "export --media " + folder + " " + filepath.Join(folder, "store.json"), "must be a folder in that of the data set"},
		{"media and inline", "export --inline --media media", "none of the others can be"},
		{"no such folder", "export " + filepath.Join(folder, "none", "store.json"), "no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := commands.Run(t, strings.Fields(c.arguments)...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
