package media_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// databaseOf returns a database with a marker.
func databaseOf(m media.Marker) media.Database {
	return media.Database{
		Describe:   func(context.Context) (media.Marker, error) { return m, nil },
		NamesFiles: func(context.Context) (bool, error) { return false, nil },
	}
}

// newFolder returns a folder with a marker, unless that is empty, and files of some names.
func newFolder(t *testing.T, m media.Marker, names ...string) *media.Folder {
	t.Helper()
	folder := &media.Folder{Directory: filepath.Join(t.TempDir(), "images")}
	if m.Identity != "" {
		if err := folder.SetMarker(t.Context(), m, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if err := errors.Join(os.MkdirAll(filepath.Dir(folder.Path(name)), 0o700), os.WriteFile(folder.Path(name), []byte("theirs"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestClaim checks which databases may write to which folders.
func TestClaim(t *testing.T) {
	mine, other, none := media.Marker{Identity: "MINE", Place: "server a"}, media.Marker{Identity: "OTHER", Place: "server b"}, media.Marker{}
	const image = "f/r/front.png"
	tests := []struct {
		name     string
		database media.Marker
		folder   media.Marker
		files    []string
		edit     func(*media.Database)
		refused  string // part of the error; "": it may write
		after    media.Marker
	}{
		{"its own", mine, mine, []string{image}, nil, "", mine},
		{"its own, and it has moved", mine, media.Marker{Identity: "MINE", Place: "server b"}, nil, nil, "", media.Marker{Identity: "MINE", Place: "server b"}},
		{"another one's", mine, other, nil, nil, "belongs to another database", other},
		{"another one's, by force", mine, other, []string{image}, func(d *media.Database) { d.TakeOver = true }, "", mine},
		{"another one's, whose place it has", mine, media.Marker{Identity: "OTHER", Place: "server a"}, []string{image}, nil, "", mine},
		{"another one's, and neither has a place", media.Marker{Identity: "MINE"}, media.Marker{Identity: "OTHER"}, nil, nil, "belongs to another database", media.Marker{Identity: "OTHER"}},
		{"another one's, beside its file", mine, other, []string{image}, func(d *media.Database) { d.Beside = true }, "", mine},
		{"empty", mine, none, nil, nil, "", mine},
		{"nobody's, with files of others at the top", mine, none, []string{"readme", ".doctor"}, nil, "", mine},
		{"nobody's, with images", mine, none, []string{image}, nil, "may be those of another one", none},
		{"nobody's, with images that it names", mine, none, []string{image}, func(d *media.Database) {
			d.NamesFiles = func(context.Context) (bool, error) { return true, nil }
		}, "", mine},
		{"nobody's, with images, by force", mine, none, []string{image}, func(d *media.Database) { d.TakeOver = true }, "", mine},
		{"nobody's, and the tables are foreign", none, none, []string{image}, nil, "", none},
		{"another one's, and the tables are foreign", none, other, nil, nil, "belongs to another database", other},
		{"another one's, beside foreign tables", none, other, nil, func(d *media.Database) { d.Beside = true }, "", other},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder, database := newFolder(t, tt.folder, tt.files...), databaseOf(tt.database)
			if tt.edit != nil {
				tt.edit(&database)
			}
			owned := media.NewOwned(folder, database)
			check := func(what string, err error) {
				t.Helper()
				if tt.refused == "" {
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
					return
				}
				if !errors.As(err, new(*media.OwnerError)) || !errors.Is(err, adapter.ErrMediaUnavailable) || !strings.Contains(err.Error(), tt.refused) || !strings.Contains(err.Error(), folder.Directory) {
					t.Errorf("%s: %v, want %q", what, err, tt.refused)
				}
			}
			check("check", owned.Check(t.Context()))
			if has, err := folder.Marker(t.Context()); has != tt.folder || err != nil {
				t.Errorf("checking has changed the marker to %v, %v", has, err)
			}
			put := func() error { return owned.Put(t.Context(), image, strings.NewReader("mine"), 4) }
			add := func() error {
				pending, err := owned.Add([]byte("x"))
				if err == nil {
					pending.Discard()
				}
				return err
			}
			check("put", put())
			check("add", add())
			check("abandoned", owned.Abandoned(t.Context(), nil))
			if tt.refused != "" {
				check("remove", owned.Remove(t.Context(), media.Ref{Name: image}))
			}
			if has, err := folder.Marker(t.Context()); has != tt.after || err != nil {
				t.Errorf("the marker is %v, %v, want %v", has, err, tt.after)
			}
			want := "mine"
			if tt.refused != "" {
				want = "theirs"
			}
			if got, err := os.ReadFile(folder.Path(image)); string(got) != want && (tt.refused == "" || len(tt.files) > 0 || !errors.Is(err, fs.ErrNotExist)) {
				t.Errorf("the image is %q, %v, want %q", got, err, want)
			}
		})
	}
}

// TestClaimAtOnce has two databases claim an empty folder at the same moment: one of them gets it.
func TestClaimAtOnce(t *testing.T) {
	for range 20 {
		folder := newFolder(t, media.Marker{})
		markers := []media.Marker{{Identity: "ONE"}, {Identity: "OTHER"}}
		errs := make([]error, len(markers))
		var claiming sync.WaitGroup
		for i, m := range markers {
			claiming.Go(func() { errs[i] = media.NewOwned(folder, databaseOf(m)).Claim(t.Context()) })
		}
		claiming.Wait()
		has, err := folder.Marker(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range markers {
			if owns := has == m; owns != (errs[i] == nil) || !owns && !errors.As(errs[i], new(*media.OwnerError)) {
				t.Errorf("%s: %v; the marker is %v", m.Identity, errs[i], has)
			}
		}
	}
}

// TestBrokenMarker checks that no database may write to a folder whose marker cannot be read.
func TestBrokenMarker(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "without an identity": "\nplace\nnote\n", "cut off": "OTHER", "long": strings.Repeat("x", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			folder := newFolder(t, media.Marker{}, media.MarkerName)
			if err := os.WriteFile(folder.Path(media.MarkerName), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			mine := databaseOf(media.Marker{Identity: "MINE"})
			if err := media.NewOwned(folder, mine).Claim(t.Context()); !errors.As(err, new(*media.OwnerError)) {
				t.Errorf("the database has claimed it: %v", err)
			}
			mine.TakeOver = true
			err := media.NewOwned(folder, mine).Claim(t.Context())
			if has, markerErr := folder.Marker(t.Context()); err != nil || markerErr != nil || has.Identity != "MINE" {
				t.Errorf("by force: %v; %v, %v", err, has, markerErr)
			}
		})
	}
}
