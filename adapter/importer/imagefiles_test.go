package importer

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// maxBytes is the limit of the tests. Only large.png is larger.
const maxBytes = 100

// images are the files of the tests, by their paths in the media folder.
func images() map[string]string {
	return map[string]string{
		Folder + "/f/r/front.png":            "front",
		Folder + "/Ä b/100%/a#?+&;=é.png":    "odd name",
		Folder + "/l/a/large.png":            strings.Repeat("x", maxBytes+1),
		Folder + "/f/i/fits.png":             strings.Repeat("x", maxBytes),
		Folder + "/empty.png":                "",
		Folder + "/cache/1/f/r/front.png":    "a copy",
		"secret.txt":                         "secret",
		"catalog/category/c.png":             "of a category",
		Folder + "/d/o/..dots..png":          "dots",
		Folder + "/nested/catalog/product/x": "nested",
	}
}

// mediaFolder writes the files to a folder, with links that lead out of it.
func mediaFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range images() {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link.png": "../../secret.txt", "absolute.png": "/etc/passwd", "inside.png": "f/r/front.png", "up": "../.."} {
		if err := os.Symlink(target, filepath.Join(folder, Folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// tarFile writes an archive. Entries have the prefix before their names.
func tarFile(t *testing.T, name, prefix string) string {
	t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	add := func(header tar.Header, content string) {
		header.Size, header.Mode = int64(len(content)), 0o600
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	add(tar.Header{Name: prefix + Folder + "/f/r/front.png", Typeflag: tar.TypeReg}, "an earlier version")
	for image, content := range images() {
		add(tar.Header{Name: prefix + image, Typeflag: tar.TypeReg}, content)
	}
	add(tar.Header{Name: prefix + Folder + "/link.png", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}, "")
	add(tar.Header{Name: prefix + Folder + "/hard.png", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}, "")
	add(tar.Header{Name: prefix + Folder + "/../../../escaped.png", Typeflag: tar.TypeReg}, "escaped")
	add(tar.Header{Name: "/" + Folder + "/../product/../../../../tmp/escaped.png", Typeflag: tar.TypeReg}, "escaped")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	content := buffer.Bytes()
	if strings.HasSuffix(name, "gz") {
		var compressed bytes.Buffer
		z := gzip.NewWriter(&compressed)
		if _, err := z.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		content = compressed.Bytes()
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a source that is closed at the end of the test.
func open(t *testing.T, location string) *source {
	t.Helper()
	s, err := Open(t.Context(), location, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestRead reads the same files from every kind of source.
func TestRead(t *testing.T) {
	folder := mediaFolder(t)
	server := httptest.NewServer(http.StripPrefix("/shop/media", http.FileServer(http.FS(os.DirFS(folder)))))
	defer server.Close()
	shop := t.TempDir()
	if err := os.Symlink(folder, filepath.Join(shop, "media")); err != nil {
		t.Fatal(err)
	}
	for name, location := range map[string]string{
		"folder":             folder,
		"folder of the shop": shop,
		"web server":         server.URL + "/shop/media",
		"web server, slash":  server.URL + "/shop/media/",
		"web server, deeper": server.URL + "/shop/media/" + Folder,
		"tar":                tarFile(t, "media.tar", "media/"),
		"tar of dots":        tarFile(t, "media.tar", "./"),
		"tar of full paths":  tarFile(t, "MEDIA.TAR", "/var/www/shop/media/"),
		"tar.gz":             tarFile(t, "media.tar.gz", ""),
		"tgz":                tarFile(t, "media.tgz", "media/"),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, location)
			for _, c := range []struct {
				name, file, want string
				err              error
			}{
				{"as the shop names it", "/f/r/front.png", "front", nil},
				{"without the slash", "f/r/front.png", "front", nil},
				{"odd characters", "/Ä b/100%/a#?+&;=é.png", "odd name", nil},
				{"dots in the name", "/d/o/..dots..png", "dots", nil},
				{"exactly as large as allowed", "/f/i/fits.png", strings.Repeat("x", maxBytes), nil},
				{"an empty file", "/empty.png", "", nil},
				{"too large", "/l/a/large.png", "", errTooLarge},
				{"missing", "/n/o/none.png", "", fs.ErrNotExist},
				{"no name", "", "", fs.ErrNotExist},
				{"only a slash", "/", "", fs.ErrNotExist},
				{"no selection", "no_selection", "", fs.ErrNotExist},
				{"a folder", "/f/r", "", fs.ErrNotExist},
				{"out of the folder", "/../../secret.txt", "", fs.ErrNotExist},
				{"out of the folder from below", "/f/../../../secret.txt", "", fs.ErrNotExist},
				{"out of the folder, encoded", "/..%2f..%2fsecret.txt", "", fs.ErrNotExist},
				{"out of the folder, backslashes", `/..\..\secret.txt`, "", fs.ErrNotExist},
				{"a backslash", `f\r\front.png`, "", fs.ErrNotExist},
				{"an empty segment", "/f//r/front.png", "", fs.ErrNotExist},
				{"a dot", "/f/./r/front.png", "", fs.ErrNotExist},
				{"a zero byte", "/f/r/front.png\x00.txt", "", fs.ErrNotExist},
				{"a line end", "/f/r/front.png\n", "", fs.ErrNotExist},
				{"very long", "/" + strings.Repeat("a", 2000), "", fs.ErrNotExist},
				{"not UTF-8", "/f/r/\xff.png", "", fs.ErrNotExist},
				{"what a traversal in an archive aims at", "/tmp/escaped.png", "", fs.ErrNotExist},
			} {
				t.Run(c.name, func(t *testing.T) {
					content, err := s.Read(t.Context(), c.file)
					if !errors.Is(err, c.err) || string(content) != c.want {
						t.Errorf("%q, %v; want %q, %v", content, err, c.want, c.err)
					}
				})
			}
		})
	}
}

// TestLinks checks that links lead to files of the folder only.
func TestLinks(t *testing.T) {
	s := open(t, mediaFolder(t))
	if content, err := s.Read(t.Context(), "/inside.png"); err != nil || string(content) != "front" {
		t.Errorf("a link within the folder: %q, %v", content, err)
	}
	for _, name := range []string{"/link.png", "/absolute.png", "/up/secret.txt"} {
		if content, err := s.Read(t.Context(), name); err == nil {
			t.Errorf("%s leads to %q", name, content)
		}
	}
}

// TestCopiesAreLeftOut checks that archives are not searched for copies in other sizes.
func TestCopiesAreLeftOut(t *testing.T) {
	for _, name := range []string{"media.tar", "media.tar.gz"} {
		if _, err := open(t, tarFile(t, name, "")).Read(t.Context(), "/cache/1/f/r/front.png"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnpackedFolderIsRemoved checks that nothing of a compressed archive is left.
func TestUnpackedFolderIsRemoved(t *testing.T) {
	archive := tarFile(t, "media.tar.gz", "")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	s, err := Open(t.Context(), archive, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(temporary); len(left) != 1 {
		t.Errorf("%d entries while open, want 1", len(left))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(temporary); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// TestOpenErrors checks the locations that cannot be opened.
func TestOpenErrors(t *testing.T) {
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, location, want string }{
		{"no folder", filepath.Join(folder, "none"), "no such file"},
		{"a folder without images", folder, "has no folder catalog/product"},
		{"a file of another kind", file("media.zip", ""), "neither a folder nor"},
		{"an archive that is none", file("text.tar", strings.Repeat("text", 200)), "invalid tar header"},
		{"an archive that is cut off", file("cut.tar", readFile(t, tarFile(t, "media.tar", ""))[:512+5]), "unexpected EOF"},
		{"an archive without images", file("empty.tar", ""), "no files below"},
		{"a compressed archive that is none", file("text.tar.gz", "text"), "EOF"},
		{"a compressed archive that is cut off", file("cut.tar.gz", readFile(t, tarFile(t, "media.tar.gz", ""))[:200]), "unexpected EOF"},
		{"a URL without a host", "http:///media", "must be like"},
		{"a URL with a query", "http://shop.example/media?x=1", "must be like"},
		{"not a URL", "http://user:secret@%zz", "cannot be parsed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			temporary := t.TempDir()
			t.Setenv("TMPDIR", temporary)
			s, err := Open(t.Context(), c.location, maxBytes)
			if err == nil {
				t.Fatal(s.Close(), "opened")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "user:secret") {
				t.Errorf("%v, want %q", err, c.want)
			}
			if left, _ := os.ReadDir(temporary); len(left) != 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestWebAnswers checks the meanings of a web server's answers.
func TestWebAnswers(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("of another host")) }))
	defer other.Close()
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		switch strings.TrimPrefix(r.URL.Path, "/media/"+Folder+"/") {
		case "moved":
			http.Redirect(w, r, "found", http.StatusFound)
		case "found":
			_, _ = w.Write([]byte("found"))
		case "circle":
			http.Redirect(w, r, "circle", http.StatusFound)
		case "elsewhere":
			http.Redirect(w, r, elsewhere, http.StatusFound)
		case "gone":
			w.WriteHeader(http.StatusGone)
		case "forbidden":
			w.WriteHeader(http.StatusForbidden)
		case "busy once":
			if n == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = w.Write([]byte("at last"))
		case "login":
			w.WriteHeader(http.StatusUnauthorized)
		case "broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "endless":
			for chunk := bytes.Repeat([]byte("x"), 1<<16); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		case "cut off":
			w.Header().Set("Content-Length", "50")
			_, _ = w.Write([]byte("short"))
		}
	}))
	defer server.Close()
	s := open(t, server.URL+"/media")
	s.files.(*web).backoff = time.Millisecond
	for _, c := range []struct {
		name     string
		want     string
		is       error
		passing  bool // a transient error
		requests int64
	}{
		{"found", "found", nil, false, 1},
		{"moved", "found", nil, false, 2},
		{"gone", "", fs.ErrNotExist, false, 1},
		{"forbidden", "", fs.ErrNotExist, false, 1},
		{"busy once", "at last", nil, false, 2},
		{"login", "", nil, true, attempts},
		{"broken", "", nil, true, attempts},
		{"cut off", "", nil, true, attempts},
		{"elsewhere", "", nil, true, attempts},
		{"circle", "", nil, true, attempts * maxRedirects},
		{"endless", "", errTooLarge, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests.Store(0)
			content, err := s.Read(t.Context(), "/"+c.name)
			if string(content) != c.want || c.is != nil && !errors.Is(err, c.is) || c.passing == (err == nil || c.is != nil) && c.want == "" && c.is == nil {
				t.Errorf("%q, %v", content, err)
			}
			if c.passing && (errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), server.URL)) {
				t.Errorf("%v counts as missing, or names the URL", err)
			}
			if n := requests.Load(); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Read(ctx, "/broken"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// FuzzCleanName checks that no name leads out of the folder, on disk or in a URL.
func FuzzCleanName(f *testing.F) {
	for _, seed := range []string{"/f/r/front.png", "../x", "a/../b", "//x", "%2e%2e/x", "a\\b", "a\x00b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		name, ok := cleanName(file)
		if !ok {
			return
		}
		if !filepath.IsLocal(name) || len(name) > maxName {
			t.Errorf("%q becomes %q", file, name)
		}
		u, err := url.Parse("http://host/" + Folder + "/" + escapePath(name))
		if err != nil || u.Path != "/"+Folder+"/"+name || u.RawQuery != "" || u.Fragment != "" {
			t.Errorf("%q becomes %v, %v", name, u, err)
		}
	})
}

// TestAhead checks that files are fetched several at a time, as long as they are requested in
// the expected order, and none twice.
func TestAhead(t *testing.T) {
	var mu sync.Mutex
	requested := map[string]int{}
	together := make(chan struct{})
	var waiting atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/"+Folder+"/")
		mu.Lock()
		requested[name]++
		mu.Unlock()
		if strings.HasPrefix(name, "first") {
			if waiting.Add(1) == parallelRequests {
				close(together)
			}
			<-together // unless all are requested at the same time, the test hangs
		}
		_, _ = w.Write([]byte(name))
	}))
	defer server.Close()
	s := open(t, server.URL)
	var files []string
	for i := range parallelRequests {
		files = append(files, fmt.Sprintf("first%d", i))
	}
	files = append(files, "left out 1", "left out 2", "x", "behind 1", "behind 2")
	a := s.Ahead(files)
	for _, file := range append(files[:parallelRequests:parallelRequests], "x", "unknown") {
		if content, err := a.Read(t.Context(), file); err != nil || string(content) != file {
			t.Errorf("%s: %q, %v", file, content, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for file, times := range requested {
		if times > 1 {
			t.Errorf("%s was fetched %d times", file, times)
		}
	}
	if requested["first0"] != 1 || requested["unknown"] != 1 {
		t.Errorf("fetched %v", requested)
	}
}
