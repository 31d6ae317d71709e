package importer_test

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImportMedia imports the files of images from every kind of source, with one missing,
// and fetches that later.
func TestImportMedia(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "tar")
	shop, _ := newRichShop(t)
	stored := func(store string) (files []string) {
		t.Helper()
		err := filepath.WalkDir(store+"-media", func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files = append(files, strings.TrimPrefix(path, store+"-media"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	_, whole := importAgain(t, shop)
	want := stored(whole)
	if len(want) < 5 {
		t.Fatalf("only the files %v are stored", want)
	}
	const lost = "/f/r/front.png"
	folder := apptest.MediaOf(t)
	if err := os.Remove(filepath.Join(folder, "catalog", "product", lost)); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.FS(os.DirFS(folder))))
	defer server.Close()
	archive := func(name, flags string) string {
		path := filepath.Join(t.TempDir(), name)
		if output, err := exec.CommandContext(t.Context(), "tar", flags, path, "-C", folder, ".").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return path
	}
	type place struct{ name, location string }
	for _, p := range testenv.Rows(t, []place{
		{"folder", folder}, {"web server", server.URL}, {"tar", archive("media.tar", "-cf")}, {"tar.gz", archive("media.tar.gz", "-czf")},
	}, 4) {
		t.Run(p.name, func(t *testing.T) {
			shop, store := shop.WithStore(t)
			report := shop.Run(t, "--media", p.location, "all")
			var missing []string
			for _, r := range report.Resources {
				for _, s := range r.LeftOut {
					if r.Resource == "images" && strings.Contains(s.Reason, "the file is missing") {
						missing = append(missing, s.Keys...)
					}
				}
			}
			if !slices.ContainsFunc(missing, func(file string) bool { return strings.Contains(file, strings.Trim(lost, "/")) }) {
				t.Errorf("missing are %v", missing)
			}
			if got := stored(store); len(got) != len(want)-1 {
				t.Errorf("stored are %v, want all but one of %v", got, want)
			}
			for _, update := range []bool{false, true} {
				arguments := []string{"--media", shop.Media, "images"}
				if update {
					arguments = append(arguments, "--update")
				}
				shop.Run(t, arguments...)
			}
			if got := stored(store); !slices.Equal(got, want) {
				t.Errorf("stored are %v in the end, want %v", got, want)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		shop, store := shop.WithStore(t)
		report := shop.Run(t, "all")
		if len(report.Notes) == 0 || !strings.Contains(report.Notes[0], "without their files") {
			t.Errorf("the notes are %q", report.Notes)
		}
		if _, err := os.Stat(store + "-media"); err == nil && len(stored(store)) > 0 {
			t.Errorf("stored are %v", stored(store))
		}
	})
	t.Run("no such folder", func(t *testing.T) {
		_, _, err := shop.Commands.Run(t, append(append([]string{"import", "--config", shop.Config}, shop.From...), "--media", "/nonexistent", "images")...)
		if err == nil || !strings.Contains(err.Error(), "--media: open the images") {
			t.Errorf("%v", err)
		}
	})
}
