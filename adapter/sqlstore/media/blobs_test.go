package media

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestBlobs(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "media")
	b, err := OpenFolder(directory)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	publish := func(name, content string) {
		t.Helper()
		added, err := b.Add([]byte(content))
		if err == nil {
			_, err = added.Publish(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		added.Discard()
		if got, err := os.ReadFile(b.Path(name)); string(got) != content || err != nil {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	publish("f/r/front.png", "one")
	publish("f/r/front.png", "two") // replaces the remains of an interrupted write
	publish("f/o/o.png", "three")
	unnamed, err := b.add(func(w io.Writer) error { _, err := w.Write([]byte("four")); return err })
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(unnamed.temporary); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a new file: %v, %v", info.Mode(), err)
	}
	names, err := fs.Glob(os.DirFS(b.Directory), "*/*/*")
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"f/o/o.png", "f/r/front.png"}) {
		t.Errorf("names %v, %v", names, err)
	}
	unnamed.Discard()
	if _, err := os.Stat(unnamed.temporary); !os.IsNotExist(err) {
		t.Errorf("discarded: %v", err)
	}
}

// TestAbandonedFiles cleans a folder with files of interrupted writes.
func TestAbandonedFiles(t *testing.T) {
	b, err := OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var left [2]*pendingFile
	for i := range left {
		if left[i], err = b.add(func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(left[0].temporary, time.Time{}, time.Now().Add(-2*tempMaxAge)); err != nil {
		t.Fatal(err)
	}
	if err := b.Abandoned(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left[0].temporary); !os.IsNotExist(err) {
		t.Errorf("a file of long ago: %v", err)
	}
	if _, err := os.Stat(left[1].temporary); err != nil {
		t.Errorf("a file of now, which another process may be writing: %v", err)
	}
}

func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	createEmptyFile(t, file)
	if _, err := OpenFolder(file); err == nil {
		t.Error("a file was opened as a folder")
	}
}

func createEmptyFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
