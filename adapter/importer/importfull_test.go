package importer_test

import (
	"bytes"
	"crypto/rand"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestImportFillsDisk imports a shop of which the store, or an image, becomes larger than the
// system allows a file to be, which fails like a full disk in the middle of a write. Nothing is
// half stored, and the next import completes.
func TestImportFillsDisk(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "sh")
	path := strings.TrimPrefix(sqltest.SQLite(t), "sqlite:")
	shop := apptest.NewImported(t, magento1test.Rich, "", "sqlite:"+path)
	large := make([]byte, 3<<20+1<<19)
	_, _ = rand.Read(large) // never fails
	for _, name := range []string{"f/r/front.png", "p/i/pic.jpg"} {
		apptest.WriteFile(t, filepath.Join(shop.Media, "catalog", "product", name), string(large))
	}
	apptest.Execute(t, shop.DB, "UPDATE catalog_product_entity_text SET value = REPEAT('d', 65000) ORDER BY entity_id DESC LIMIT 60")
	shop.Commands = shop.Commands.With("PORTICO_SQL_MEDIA_DIR=" + path + "-media")
	shop.Run(t, "--media", shop.Media, "all")
	want, wantFiles := contentsOf(t, path), filesOf(t, path+"-media")
	type moment struct {
		name   string
		before []string // parts that are imported before there is a limit
		parts  []string // that are imported with it
		want   string
	}
	for _, c := range testenv.Rows(t, []moment{
		{"store", nil, []string{"all"}, "products: import records: "},
		{"image", []string{"websites", "customer-groups", "taxes", "categories", "products"}, []string{"images"}, "images: "},
	}, 2) {
		t.Run(c.name, func(t *testing.T) {
			shop, store := shop.WithStore(t)
			if c.before != nil {
				shop.Run(t, c.before...)
			}
			// The unit is half a kilobyte.
			limited := exec.CommandContext(t.Context(), "sh", slices.Concat([]string{"-c", `ulimit -f 6144 && exec "$@"`, "sh", apptest.Program(t), "import", "--config", shop.Config, "--media", shop.Media}, shop.From, c.parts)...)
			limited.Env = append(apptest.WithoutSettings(os.Environ()), shop.Commands.With(apptest.FastPasswordHashing)...)
			var stderr bytes.Buffer
			limited.Stderr = &stderr
			stdout, err := limited.Output()
			if err == nil || !strings.Contains(stderr.String(), c.want) || !strings.Contains(stderr.String(), "what is stored stays; run the command again to continue") {
				t.Fatalf("%v, want %q\n%s%s", err, c.want, stdout, stderr.String())
			}
			for file, content := range filesOf(t, store+"-media") {
				if wantFiles[file] != content {
					t.Errorf("the file %s has %d bytes", file, len(content))
				}
			}
			shop.Run(t, "--media", shop.Media, "all")
			if difference := cmp.Diff(want, contentsOf(t, store)); difference != "" {
				t.Errorf("the store differs from that of an import without interruption (-that +this)\n%s", difference)
			}
			if got := filesOf(t, store+"-media"); cmp.Diff(wantFiles, got) != "" {
				t.Errorf("there are %d files, want %d, or they have other bytes", len(got), len(wantFiles))
			}
		})
	}
}

// filesOf returns the files of a media folder, apart from the marker with its database.
func filesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || path == media.MarkerName {
			return err
		}
		content, err := os.ReadFile(filepath.Join(folder, path))
		files[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
