//go:build linux

package media_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// read returns the bytes of a file.
func read(t *testing.T, store media.Store, file media.Ref) (string, error) {
	t.Helper()
	opened, err := store.Open(t.Context(), file)
	if err != nil {
		return "", err
	}
	defer func() { _ = opened.Close() }()
	content, err := io.ReadAll(opened)
	return string(content), err
}

// add uploads bytes.
func add(t *testing.T, store media.Store, content string) (media.Pending, media.Ref) {
	t.Helper()
	pending, err := store.Add([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	object, err := pending.Publish("f/r/front.png")
	if err != nil {
		t.Fatal(err)
	}
	return pending, media.Ref{Name: "f/r/front.png", Object: object}
}

// TestStore stores, reads and removes objects on a real server.
func TestStore(t *testing.T) {
	testenv.OnlyNightly(t, "media")
	server := sqltest.StartBucketServer(t)
	store := server.Open(t, func(o *media.BucketOptions) { o.Prefix = "shop/" })
	large := strings.Repeat("0123456789", 600_000)
	for name, content := range map[string]string{"empty": "", "small": "\x00bytes\xff", "large": large} {
		pending, file := add(t, store, content)
		pending.Discard() // the transaction has ended
		if got, err := read(t, store, file); got != content || err != nil {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(content))
		}
		if here, err := store.Exists(t.Context(), file); !here || err != nil {
			t.Errorf("%s exists: %v, %v", name, here, err)
		}
	}
	t.Run("two uploads of one name", func(t *testing.T) {
		_, first := add(t, store, "first")
		_, second := add(t, store, "second")
		if got, err := read(t, store, first); got != "first" || err != nil {
			t.Errorf("the first: %q, %v", got, err)
		}
		if got, err := read(t, store, second); got != "second" || err != nil {
			t.Errorf("the second: %q, %v", got, err)
		}
	})
	t.Run("under a name, as copied from a folder", func(t *testing.T) {
		file := media.Ref{Name: "c/o/copied.png"}
		if err := store.Put(t.Context(), file.Name, strings.NewReader("copied"), 6); err != nil {
			t.Fatal(err)
		}
		if got, err := read(t, store, file); got != "copied" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if content, err := os.ReadFile(filepath.Join(server.Folder, "shop", file.Name)); string(content) != "copied" {
			t.Errorf("on disk: %q, %v", content, err)
		}
		for range 2 {
			if err := store.Remove(t.Context(), file); err != nil {
				t.Error(err)
			}
		}
		if _, err := read(t, store, file); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, adapter.ErrMediaUnavailable) {
			t.Errorf("removed: %v", err)
		}
		if here, err := store.Exists(t.Context(), file); here || err != nil {
			t.Errorf("removed: %v, %v", here, err)
		}
	})
	t.Run("an upload that is never published", func(t *testing.T) {
		before := objects(t, server)
		pending, err := store.Add([]byte("unwanted"))
		if err != nil {
			t.Fatal(err)
		}
		pending.Discard()
		if after := objects(t, server); !slices.Equal(before, after) {
			t.Errorf("objects %q", after)
		}
	})
	t.Run("jumps", func(t *testing.T) {
		_, file := add(t, store, large)
		opened, err := store.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = opened.Close() }()
		for _, at := range []int64{0, 5, 3_000_001, 12, int64(len(large)) - 3} {
			if got, err := opened.Seek(at, io.SeekStart); got != at || err != nil {
				t.Fatal(got, err)
			}
			piece := make([]byte, 3)
			if _, err := io.ReadFull(opened, piece); string(piece) != large[at:at+3] || err != nil {
				t.Errorf("at %d: %q, %v", at, piece, err)
			}
		}
		if end, err := opened.Seek(0, io.SeekEnd); end != int64(len(large)) || err != nil {
			t.Errorf("the end: %d, %v", end, err)
		}
		if n, err := opened.Read(make([]byte, 1)); n != 0 || err != io.EOF { //nolint:errorlint // as io.Reader has it
			t.Errorf("at the end: %d, %v", n, err)
		}
	})
}

// objects returns the keys of all objects.
func objects(t *testing.T, server *sqltest.BucketServer) (keys []string) {
	t.Helper()
	err := filepath.WalkDir(server.Folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			key, _ := filepath.Rel(server.Folder, path)
			keys = append(keys, key)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestRefused checks that unusable options cause errors, and that the errors contain no secrets.
func TestRefused(t *testing.T) {
	testenv.OnlyNightly(t, "media")
	server := sqltest.StartBucketServer(t)
	for name, change := range map[string]func(*media.BucketOptions){
		"another secret": func(o *media.BucketOptions) { o.SecretKey = "hidden-secret" },
		"another key":    func(o *media.BucketOptions) { o.AccessKey, o.SecretKey = "other", "hidden-secret" },
		"no such bucket": func(o *media.BucketOptions) { o.Bucket = "nothing-here" },
		"nobody listens": func(o *media.BucketOptions) { o.Endpoint, o.SecretKey = "http://127.0.0.1:1", "hidden-secret" },
	} {
		t.Run(name, func(t *testing.T) {
			store := server.Open(t, change)
			_, err := store.Add([]byte("x"))
			_, openErr := read(t, store, media.Ref{Name: "x/y/z.png"})
			for _, err := range []error{err, openErr} {
				if !errors.Is(err, adapter.ErrMediaUnavailable) || adapter.KindOf(err) != adapter.Unavailable || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "hidden-secret") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// TestServerAway kills and stops the server, and checks that requests end in time, are refused at
// once after several failures, and succeed when it is back.
func TestServerAway(t *testing.T) {
	testenv.OnlyNightly(t, "media")
	server := sqltest.StartBucketServer(t)
	store := server.Open(t, func(o *media.BucketOptions) { o.Timeout = time.Second })
	_, file := add(t, store, "acknowledged")
	for name, away := range map[string]func() (back func()){
		"killed":  func() func() { server.Kill(t); return func() { server.Restart(t) } },
		"stopped": func() func() { return server.Pause(t) },
	} {
		t.Run(name, func(t *testing.T) {
			back := away()
			for range 5 {
				began := time.Now()
				if _, err := store.Add([]byte("x")); !errors.Is(err, adapter.ErrMediaUnavailable) {
					t.Errorf("%v", err)
				}
				if took := time.Since(began); took > 30*time.Second { // a second, on a machine that is not busy
					t.Errorf("a request took %s", took)
				}
			}
			if _, err := store.Open(t.Context(), file); !errors.Is(err, adapter.ErrMediaUnavailable) || !strings.Contains(err.Error(), "breaker is open") {
				t.Errorf("after five failures: %v", err)
			}
			back()
			var got string
			var err error
			for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
				if got, err = read(t, store, file); err == nil {
					break
				}
			}
			if got != "acknowledged" || err != nil {
				t.Errorf("when the server is back: %q, %v", got, err)
			}
		})
	}
}

// TestAbandoned removes uploads without a row after a day, and no others.
func TestAbandoned(t *testing.T) {
	testenv.OnlyNightly(t, "media")
	server := sqltest.StartBucketServer(t)
	store := server.Open(t, func(o *media.BucketOptions) { o.Prefix = "shop/" })
	var files []media.Ref
	for i := range 3 {
		_, file := add(t, store, fmt.Sprint(i))
		files = append(files, file)
	}
	if err := store.Put(t.Context(), "f/r/front.png", bytes.NewReader(nil), 0); err != nil {
		t.Fatal(err)
	}
	clean := func(inDays int) (asked []string) {
		t.Helper()
		media.SetClock(store, func() time.Time { return time.Now().AddDate(0, 0, inDays) })
		err := store.Abandoned(t.Context(), func(objects []string) ([]string, error) {
			asked = append(asked, objects...)
			return slices.DeleteFunc(slices.Clone(objects), func(o string) bool { return o == files[1].Object }), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return asked
	}
	if asked := clean(0); len(asked) != 0 {
		t.Errorf("uploads of now: %q", asked)
	}
	if asked := clean(30); len(asked) != 0 {
		t.Errorf("uploads of long ago: %q", asked)
	}
	if asked := clean(2); len(asked) != 3 {
		t.Errorf("uploads of two days ago: %q", asked)
	}
	if left := objects(t, server); len(left) != 2 || !slices.Contains(left, "shop/"+files[1].Object) || !slices.Contains(left, "shop/f/r/front.png") {
		t.Errorf("left are %q", left)
	}
}

// TestEndpoint checks the URLs of stores.
func TestEndpoint(t *testing.T) {
	for endpoint, valid := range map[string]bool{
		"https://s3.amazonaws.com": true, "http://127.0.0.1:7070/": true,
		"": false, "s3.example.com": false, "ftp://x": false, "https://x/bucket": false, "https://a:b@x": false, "https://x?y": false,
	} {
		if err := media.CheckEndpoint(endpoint); (err == nil) != valid {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
