package sqlstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// addImage adds an image to product 1.
func addImage(t *testing.T, db *DB, file, content string, check func() error) (adapter.Key, error) {
	t.Helper()
	r := attrs{"product_id": 1, "file": file, "media_type": "image/gif", "content": content}.Record(db.records.Table(adapter.ProductImages).Schema)
	return storeOf(t, db, adapter.ProductImages).Create(t.Context(), &adapter.CreateParams{Record: r, Check: check})
}

// mediaText returns the media type and content that are served for a name, or the kind
// of the error.
func mediaText(t *testing.T, db *DB, name string) string {
	t.Helper()
	file, err := db.OpenMedia(t.Context(), name)
	if err != nil {
		return adapter.KindOf(err).String()
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return file.MediaType + " " + string(content)
}

func TestMedia(t *testing.T) {
	sqltest.EachEngine(t, testMedia)
}

func testMedia(t *testing.T, e sqltest.Engine) {
	db := openWithStoreViewValues(t, e)
	want := func(name, want string) {
		t.Helper()
		if got := mediaText(t, db, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	key, err := addImage(t, db, "n/e/new.gif", "\x00bytes\xff", nil)
	if err != nil {
		t.Fatal(err)
	}
	want("n/e/new.gif", "image/gif \x00bytes\xff")
	adaptertest.MustDelete(t, storeOf(t, db, adapter.ProductImages), adapter.DeleteParams{Key: key})
	want("n/e/new.gif", "image/gif \x00bytes\xff") // the file stays (product_parts 2.7)

	// The remains of an interrupted write are not served, and get replaced.
	left := filepath.Join(mediaDir(db), "n/e/new_1.gif")
	createMediaFile(t, left)
	createMediaFile(t, filepath.Join(mediaDir(db), "outside.gif"))
	for _, name := range []string{"n/e/new_1.gif", "N/e/new.gif", "n/e/../e/new.gif", "../shop.db", "outside.gif", "n/e", "", "n/e/new.gif\x00"} {
		want(name, "not_found")
	}
	if _, err := addImage(t, db, "n/e/new.gif", "next", nil); err != nil {
		t.Fatal(err)
	}
	want("n/e/new_1.gif", "image/gif next")

	// A listed file that is missing on disk.
	if err := os.Remove(left); err != nil {
		t.Fatal(err)
	}
	want("n/e/new_1.gif", "not_found")
}

// TestFailedImageCreate checks that a failed create leaves neither a file nor a
// reserved name.
func TestFailedImageCreate(t *testing.T) {
	sqltest.EachEngine(t, testRefusedImage)
}

func testRefusedImage(t *testing.T, e sqltest.Engine) {
	db := openWithStoreViewValues(t, e)
	refusal := errors.New("refused")
	if _, err := addImage(t, db, "n/e/new.gif", "x", func() error { return refusal }); !errors.Is(err, refusal) || !errors.As(err, new(*adapter.RefusedError)) {
		t.Errorf("Check: %v", err)
	}
	// A file has the name of the folder, so the last step fails.
	createMediaFile(t, filepath.Join(mediaDir(db), "n"))
	if _, err := addImage(t, db, "n/e/new.gif", "x", nil); err == nil {
		t.Error("an image without its file")
	}
	entries, err := os.ReadDir(mediaDir(db))
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	if err != nil || !slices.Equal(names, []string{media.MarkerName, "n"}) {
		t.Errorf("left behind: %v, %v", names, err)
	}
	if err := os.Remove(filepath.Join(mediaDir(db), "n")); err != nil {
		t.Fatal(err)
	}
	if _, err := addImage(t, db, "n/e/new.gif", "x", nil); err != nil {
		t.Fatal(err)
	}
	if got := mediaText(t, db, "n/e/new.gif"); got != "image/gif x" {
		t.Errorf("the next one: %q", got)
	}
}

func TestWithoutMediaDir(t *testing.T) {
	db := OpenWith(t, Options{DSN: sqltest.Engines()[0].NewDSN(t), Migrate: true})
	if _, err := addImage(t, db, "n/e/new.gif", "x", nil); adapter.KindOf(err) != adapter.Unsupported {
		t.Errorf("Create: %v, want unsupported", err)
	}
	if got := mediaText(t, db, "n/e/new.gif"); got != "not_found" {
		t.Errorf("OpenMedia: %s", got)
	}
}

// TestResetMedia checks that a reset frees all names and removes their files, but no
// other files in the folder.
func TestResetMedia(t *testing.T) {
	sqltest.EachEngine(t, testResetMedia)
}

func testResetMedia(t *testing.T, e sqltest.Engine) {
	db := openWithStoreViewValues(t, e)
	if _, err := addImage(t, db, "n/e/new.gif", "old", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mediaDir(db), "n/e/others.gif"), []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := db.Reset(t.Context(), DemoData(t)); err != nil {
		t.Fatal(err)
	}
	if names, err := mediaNames(db); err != nil || !slices.Equal(names, []string{"n/e/others.gif"}) {
		t.Errorf("files after Reset: %v, %v", names, err)
	}
	if got := mediaText(t, db, "n/e/new.gif"); got != "not_found" {
		t.Errorf("served after Reset: %q", got)
	}
	key, err := addImage(t, db, "n/e/new.gif", "new", nil)
	if err != nil || key != 1 {
		t.Errorf("image %d, %v", key, err)
	}
	if got := mediaText(t, db, "n/e/new.gif"); got != "image/gif new" {
		t.Errorf("after Reset: %q", got)
	}
}

// TestResetDuringImageWrites resets the store while images are written: every remaining image must
// have its own bytes. A server may abort one of the two because of the other; a reset also alters
// tables, which MariaDB's deadlock detection does not see.
func TestResetDuringImageWrites(t *testing.T) {
	sqltest.EachEngine(t, testResetDuringImageWrites)
}

func testResetDuringImageWrites(t *testing.T, e sqltest.Engine) {
	db := openWithStoreViewValues(t, e)
	data := DemoData(t)
	var writers sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if _, err := addImage(t, db, "a/b/c.gif", fmt.Sprintf("%d of %d", n, i), nil); err != nil && adapter.KindOf(err) != adapter.Unavailable {
					t.Errorf("Create: %v", err)
					return
				}
			}
		})
	}
	for range 3 {
		if err := db.Reset(t.Context(), data); err != nil && adapter.KindOf(err) != adapter.Unavailable {
			t.Errorf("Reset: %v", err)
		}
	}
	close(done)
	writers.Wait()
	result := adaptertest.MustList(t, storeOf(t, db, adapter.ProductImages), adapter.ListParams{})
	seen := map[string]bool{}
	for _, r := range result.Records {
		name := r.Get("file").Text()
		text := mediaText(t, db, name)
		if !strings.HasPrefix(text, "image/gif ") || seen[text] {
			t.Errorf("%s: %q, which is no file or another's", name, text)
		}
		seen[text] = true
	}
	names, err := mediaNames(db)
	if err != nil || len(names) < len(result.Records) {
		t.Errorf("%d files of %d images, %v", len(names), len(result.Records), err)
	}
}

// mediaNames returns the names of all files in the media folder, whether media_file lists them or not.
func mediaNames(db *DB) ([]string, error) { return fs.Glob(os.DirFS(mediaDir(db)), "*/*/*") }

// createMediaFile creates an empty file.
func createMediaFile(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
}
