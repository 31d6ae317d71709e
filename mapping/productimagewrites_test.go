package mapping_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// onePixel is a GIF in base64.
const onePixel = "R0lGODdhAQABAIAAAPwCBAAAACwAAAAAAQABAAACAkQBADs="

func newImage() map[string]any {
	return map[string]any{"file_mime_type": "image/png", "file_content": onePixel, "file_name": "front"}
}

// images returns the images of a product as an Admin lists them, one per line: id, label,
// position, exclude, file and types.
func (s *shop) images(t testing.TB, target string) string {
	t.Helper()
	r := s.serve(contract.Admin, "GET", target, "", "Accept", "application/json")
	var list []struct {
		ID, Label, Position, Exclude, URL string
		Types                             []string
	}
	if err := json.Unmarshal(r.Body, &list); err != nil {
		t.Fatalf("%d %s: %v", r.Status, r.Body, err)
	}
	var lines []string
	for _, i := range list {
		_, file, _ := strings.Cut(i.URL, "/media/catalog/product/")
		lines = append(lines, strings.Join([]string{i.ID, i.Label, i.Position, i.Exclude, file, strings.Join(i.Types, " ")}, "|"))
	}
	return strings.Join(lines, "\n")
}

// addImage creates an image and returns its Location.
func (s *shop) addImage(t testing.TB, target string, other ...any) string {
	t.Helper()
	r := s.write(contract.Admin, "POST", target, body(t, newImage(), other...))
	if r.Status != 200 || len(r.Body) != 0 {
		t.Fatalf("%s: %d %s", target, r.Status, r.Body)
	}
	return r.Location
}

// TestImageFailures checks the replies for a backend that cannot store an image.
func TestImageFailures(t *testing.T) {
	for _, tt := range []struct {
		name     string
		err      error
		want     [2]string
		unlogged bool
	}{
		{name: "without images", err: &adapter.Error{Kind: adapter.Unsupported}, unlogged: true,
			want: [2]string{"400 Requested product does not support images", "400 Resource unknown error."}},
		{name: "product deleted in the meantime", err: &adapter.Error{Kind: adapter.Invalid, Field: "product_id"}, unlogged: true,
			want: [2]string{"404 Resource not found", "400 Resource unknown error."}},
		{name: "name too long with a number", err: &adapter.Error{Kind: adapter.Invalid, Field: "file"}, unlogged: true,
			want: [2]string{"400 Resource unknown error", "400 Resource unknown error."}},
		{name: "a full disk", err: &adapter.Error{Kind: adapter.Internal, Err: errors.New("no space left on /dev/sda1")},
			want: [2]string{"500 Resource internal error", "500 Resource internal error."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for column, d := range bothDialects() {
				s := openFaulty(t, d, func(op string, _ adapter.Key) error {
					if op == "create" {
						return tt.err
					}
					return nil
				})
				checkRefused(t, s.write(contract.Admin, "POST", "/products/1/images", body(t, newImage())), tt.want[column])
				if log := s.log.String(); (log == "") != tt.unlogged {
					t.Errorf("%s: the log is %q", d.Name, log)
				}
			}
		})
	}
}

// TestConcurrentImages checks that each of many images created at the same time without a
// name gets a name of its own.
func TestConcurrentImages(t *testing.T) {
	const clients = 50
	s := openSQLiteShop(t, contract.Documented())
	sent := body(t, newImage(), "file_name", no, "types", []any{"image"})
	locations := make([]string, clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() { locations[i] = s.write(contract.Admin, "POST", "/products/1/images", sent).Location })
	}
	all.Wait()
	var files, positions, used []string
	for line := range strings.SplitSeq(s.images(t, "/products/1/images"), "\n") {
		parts := strings.Split(line, "|")
		files, positions = append(files, parts[4]), append(positions, parts[2])
		if parts[5] == "image" {
			used = append(used, parts[0])
		}
	}
	for name, list := range map[string][]string{"location": locations, "file": files, "position": positions} {
		slices.Sort(list)
		if n := len(slices.Compact(slices.Clone(list))); n != clients || list[0] == "" {
			t.Errorf("%d images have a unique %s, want %d", n, name, clients)
		}
	}
	if len(used) != 1 {
		t.Errorf("the images %v are all the product's image", used)
	}
}
