package mapping_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

func (s *shop) checkImages(t testing.TB, target string, want ...string) {
	t.Helper()
	if got := s.images(t, target); got != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", target, got, strings.Join(want, "\n"))
	}
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

// TestRefusedImages checks the order of the checks in product_parts 2.4. Each row also
// fails the checks of the rows below it.
func TestRefusedImages(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		missing := []string{"400 The image is not specified", s.text("400 Resource data pre-validator error", "400 Resource data pre-validation error.")}
		unknown := []string{s.text("400 Resource unknown error", "400 Resource unknown error.")}
		base64 := []string{"400 The image content must be valid base64 encoded data"}
		mediaType := []string{s.text("400 Unsupported image MIME type", "400 Unsuppoted image MIME type")}
		invalid := []string{"400 The request data is invalid."}
		store := []string{s.text("400 Requested store is invalid", unknown[0])}
		product := []string{s.text("404 Resource not found", unknown[0])}
		const unknownProduct = "/products/99/images/store/99"
		tests := []struct {
			name   string
			target string
			other  []any
			want   []string
		}{
			{"no known field", unknownProduct, []any{"file_mime_type", no, "file_content", no, "file_name", no, "id", 7, "url", "x"}, invalid},
			{"no content", unknownProduct, []any{"file_content", no, "file_mime_type", "image/bmp"}, missing},
			{"no type", unknownProduct, []any{"file_content", "!!!", "file_mime_type", no}, missing},
			{"neither, with other known fields", unknownProduct, []any{"file_mime_type", no, "file_content", no, "label", "x"}, missing},
			{"content null", unknownProduct, []any{"file_content", nil}, missing},
			{"content empty", unknownProduct, []any{"file_content", ""}, missing},
			{"content 0", unknownProduct, []any{"file_content", "0"}, missing},
			{"content zero", unknownProduct, []any{"file_content", 0}, missing},
			{"content false", unknownProduct, []any{"file_content", false}, missing},
			{"content an empty list", unknownProduct, []any{"file_content", []any{}}, missing},
			{"type empty", unknownProduct, []any{"file_mime_type", ""}, missing},
			{"type false", unknownProduct, []any{"file_mime_type", false}, missing},
			{"not base64, and a wrong type", unknownProduct, []any{"file_content", "!!!", "file_mime_type", "image/bmp"}, base64},
			{"a list of contents", unknownProduct, []any{"file_content", []any{onePixel}}, base64},
			{"content true", unknownProduct, []any{"file_content", true}, base64},
			{"a wrong type, and not an image", unknownProduct, []any{"file_content", "aGVsbG8=", "file_mime_type", "image/bmp"}, mediaType},
			{"a type in capitals", unknownProduct, []any{"file_mime_type", "IMAGE/PNG"}, mediaType},
			{"a type with a parameter", unknownProduct, []any{"file_mime_type", "image/png; q=1"}, mediaType},
			{"a list of types", unknownProduct, []any{"file_mime_type", []any{"image/png"}}, mediaType},
			{"not an image", unknownProduct, []any{"file_content", "aGVsbG8gd29ybGQ="}, unknown},
			{"a number, which is base64", unknownProduct, []any{"file_content", 123}, unknown},
			{"a truncated image", unknownProduct, []any{"file_content", onePixel[:40]}, unknown},
			{"a name with a slash", unknownProduct, []any{"file_name", "sub/pic"}, unknown},
			{"a name in the parent folder", unknownProduct, []any{"file_name", "../up"}, unknown},
			{"a name too long", unknownProduct, []any{"file_name", strings.Repeat("a", 250)}, unknown},
			{"an unknown store view, and product", unknownProduct, nil, store},
			{"an unknown store view in the query", "/products/99/images?store=99", nil, store},
			{"an unknown product", "/products/99/images", nil, product},
			{"a product outside the website", "/products/1/images/store/3", nil, product},
			{"a list", "/products/1/images", []any{"0", map[string]any{}}, []string{"405 Resource method not implemented yet."}},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				checkRefused(t, s.write(contract.Admin, "POST", tt.target, body(t, newImage(), tt.other...)), tt.want...)
			})
		}
		t.Run("another spelling of a store view", func(t *testing.T) {
			r := s.write(contract.Admin, "POST", "/products/99/images/store/02", body(t, newImage()))
			if s.documented() {
				checkRefused(t, r, "400 Requested store is invalid")
			} else {
				checkReply(t, r, 500, typeHTML, "")
			}
		})
		for _, role := range []contract.Role{contract.Customer, contract.Guest} {
			checkRefused(t, s.write(role, "POST", "/products/1/images", body(t, newImage())), "403 Access denied")
		}
		s.checkImages(t, "/products/1/images", "")

		// Refused images have taken no name and no id.
		s.addImage(t, "/products/1/images")
		s.checkImages(t, "/products/1/images", "1||1|0|f/r/front.png|")
	})
}

func TestCreatedImages(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		tests := []struct {
			name  string
			other []any
			want  string // after the id
		}{
			{"no optional field", nil, "||1|0|f/r/front.png|"},
			{"the same name", nil, "||2|0|f/r/front_1.png|"},
			{"no name", []any{"file_name", no}, "||3|0|i/m/image.png|"},
			{"no name, again", []any{"file_name", ""}, "||4|0|i/m/" + s.text("image_2", "image_1") + ".png|"},
			{"no name, another type", []any{"file_name", "0", "file_mime_type", "image/jpeg"}, "||5|0|i/m/image.jpg|"},
			{"the default name", []any{"file_name", "image"}, "||6|0|i/m/" + s.text("image_1", "image_2") + ".png|"},
			{"a list for a name", []any{"file_name", []any{"x"}, "file_mime_type", "image/gif"}, "||7|0|" + s.text("i/m/image.gif", "A/r/Array.gif") + "|"},
			{"all fields", []any{"label", "Side", "position", 70, "exclude", 1, "types", []any{"thumbnail", "image"}, "file_name", "all"}, "|Side|70|1|a/l/all.png|image thumbnail"},
			{"after the highest position", []any{"file_name", "b", "label", nil, "position", nil, "exclude", nil, "types", nil}, "||71|0|b/_/b.png|"},
			{"a single type", []any{"file_name", "c", "types", "small_image"}, "||72|0|c/_/c.png|small_image"},
			{"invalid types", []any{"file_name", "d", "types", []any{"bogus", 1, nil, []any{"image"}, "Image", "thumbnail", "thumbnail"}}, "||73|0|d/_/d.png|thumbnail"},
			{"types as a record", []any{"file_name", "e", "types", map[string]any{"x": "image"}}, "||74|0|e/_/e.png|image"},
			{"an empty label", []any{"file_name", "f", "label", ""}, "||75|0|f/_/f.png|"},
			{"a list for a label", []any{"file_name", "g", "label", []any{"x"}}, "||76|0|g/_/g.png|"},
			{"a long label", []any{"file_name", "h", "label", strings.Repeat("ä", 300)}, "|" + strings.Repeat("ä", 255) + "|77|0|h/_/h.png|"},
			{"a zero byte in a label", []any{"file_name", "i", "label", "a\x00b"}, "|ab|78|0|i/_/i.png|"},
			{"a number for a label", []any{"file_name", "j", "label", 12.50}, "|12.5|79|0|j/_/j.png|"},
		}
		for i, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				id := fmt.Sprint(i + 1)
				if got := s.addImage(t, "/products/1/images", tt.other...); got != "/api/rest/products/1/images/"+id {
					t.Errorf("the location is %s", got)
				}
				lines := strings.Split(s.images(t, "/products/1/images"), "\n")
				if !slices.Contains(lines, id+tt.want) {
					t.Errorf("no %s in\n%s", id+tt.want, strings.Join(lines, "\n"))
				}
			})
		}
	})
}

func TestImageNumbers(t *testing.T) {
	tests := []struct {
		name     string
		sent     any
		want     string
		original bool // whether it is a value in the magento dialect only
	}{
		{"a number", 7, "7", false},
		{"a text", "7", "7", false},
		{"a fraction", "12.7", "12", false},
		{"a fraction as a number", 12.7, "12", false},
		{"trailing letters", "3rd", "3", false},
		{"an exponent", "1e3", "1000", false},
		{"a leading blank", " 7", "7", false},
		{"a word", "abc", "0", false},
		{"hexadecimal", "0x1", "0", false},
		{"empty", "", "0", false},
		{"true", true, "1", false},
		{"false", false, "0", false},
		{"negative", -5, "0", false},
		{"too large", 99999999999, "4294967295", false},
		{"beyond a float", json.Number("1e400"), "4294967295", false},
		{"beyond a float, as a text", "1e400", "4294967295", false},
		{"a list", []any{"7"}, "1", true},
		{"an empty list", []any{}, "0", true},
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		s.addImage(t, "/products/1/images")
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				checkSaved(t, s.write(contract.Admin, "PUT", "/products/1/images/1", `{"position":5,"exclude":0}`))
				checkSaved(t, s.write(contract.Admin, "PUT", "/products/1/images/1", body(t, map[string]any{"position": tt.sent, "exclude": tt.sent})))
				position, exclude := tt.want, tt.want
				if s.documented() && tt.original {
					position, exclude = "5", "0"
				}
				if s.documented() && exclude != "0" {
					exclude = "1"
				}
				s.checkImages(t, "/products/1/images", "1||"+position+"|"+exclude+"|f/r/front.png|")
			})
		}
	})
}

func TestChangedImages(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		s.addImage(t, "/products/1/images", "label", "One", "types", contract.ImageUses())
		s.addImage(t, "/products/1/images", "file_name", "two")
		const all = "image small_image thumbnail"
		for _, tt := range []struct {
			name, contentType, target, body string
			one, two                        string
		}{
			{"null", "application/json", "/products/1/images/1", `{"label":null,"position":null,"exclude":null,"types":null}`, "One|1|0|f/r/front.png|" + all, "|2|0|t/w/two.png|"},
			{"fields of the file are ignored", "application/json", "/products/1/images/1", `{"file_name":"x/y","file_content":"!","file_mime_type":"image/bmp"}`, "One|1|0|f/r/front.png|" + all, "|2|0|t/w/two.png|"},
			{"a label by SKU", "application/json", "/products/kettle-steel/images/2abc", `{"label":"Two","position":null}`, "One|1|0|f/r/front.png|" + all, "Two|2|0|t/w/two.png|"},
			{"a single type", "application/json", "/products/1/images/2", `{"types":"image"}`, "One|1|0|f/r/front.png|" + all, "Two|2|0|t/w/two.png|"},
			{"an empty element of types", "text/xml", "/products/1/images/1", `<r><types/></r>`, "One|1|0|f/r/front.png|" + all, "Two|2|0|t/w/two.png|"},
			{"repeated elements", "text/xml", "/products/1/images/2", `<r><types>image</types><types>thumbnail</types></r>`, "One|1|0|f/r/front.png|small_image", "Two|2|0|t/w/two.png|image thumbnail"},
			{"another list of types", "text/xml", "/products/1/images/2", `<r><types><data_item>thumbnail</data_item></types><label/></r>`, "One|1|0|f/r/front.png|small_image", "|2|0|t/w/two.png|thumbnail"},
			{"an empty list", "application/json", "/products/1/images/2", `{"types":[]}`, "One|1|0|f/r/front.png|small_image", "|2|0|t/w/two.png|"},
			{"the default scope by its code", "application/json", "/products/1/images/1/store/admin", `{"label":"1"}`, "1|1|0|f/r/front.png|small_image", "|2|0|t/w/two.png|"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				checkSaved(t, s.put(tt.target, tt.contentType, tt.body))
				s.checkImages(t, "/products/1/images", "1|"+tt.one, "2|"+tt.two)
			})
		}
		checkSaved(t, s.write(contract.Admin, "PUT", "/products/1/images/2/store/french", `{"label":"Deux","position":0,"types":["image"]}`))
		s.checkImages(t, "/products/1/images/store/2", "2|Deux|0|0|t/w/two.png|image", "1|1|1|0|f/r/front.png|small_image")
		s.checkImages(t, "/products/1/images/store/1", "1|1|1|0|f/r/front.png|small_image", "2||2|0|t/w/two.png|")
	})
}

// TestMissingImages checks writes of images that do not exist or belong to another
// product.
func TestMissingImages(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		s.addImage(t, "/products/1/images")
		image := s.text("404 Product image not found", "404 Resource not found.")
		product := s.text("404 Resource not found", "404 Resource not found.")
		for _, tt := range []struct{ name, target, want string }{
			{"unknown image", "/products/1/images/99", image},
			{"id that is not a number", "/products/1/images/abc", image},
			{"another product's image", "/products/2/images/1", image},
			{"another product's image, at a store view", "/products/2/images/1/store/2", image},
			{"unknown product", "/products/99/images/1", product},
			{"outside the website", "/products/1/images/1/store/3", product},
			{"unknown store view, and product", "/products/99/images/1/store/99", "400 Requested store is invalid"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				checkRefused(t, s.write(contract.Admin, "PUT", tt.target, `{"label":"x"}`), tt.want)
				checkRefused(t, s.write(contract.Admin, "DELETE", tt.target, ""), tt.want)
			})
		}
		checkRefused(t, s.write(contract.Admin, "PUT", "/products/99/images/1", `{"url":"x"}`), "400 The request data is invalid.")
		s.checkImages(t, "/products/1/images", "1||1|0|f/r/front.png|")
	})
}

func TestDeletedImages(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		remove := func(target string) {
			t.Helper()
			checkSaved(t, s.write(contract.Admin, "DELETE", target, ""))
		}
		// Used at the default scope: at a store view only its uses are deleted.
		s.addImage(t, "/products/1/images", "types", []any{"image"})
		remove("/products/1/images/1/store/2")
		s.checkImages(t, "/products/1/images/store/2", "1||1|0|f/r/front.png|")
		s.checkImages(t, "/products/1/images", "1||1|0|f/r/front.png|image")
		remove("/products/1/images/1")
		s.checkImages(t, "/products/1/images", "")

		// Used unknownProduct else, but the name stays taken.
		s.addImage(t, "/products/1/images/store/2", "types", []any{"image"})
		remove("/products/1/images/2/store/2")
		if s.documented() {
			s.checkImages(t, "/products/1/images/store/2", "2||1|0|f/r/front_1.png|")
			remove("/products/1/images/2/store/0")
		}
		s.checkImages(t, "/products/1/images/store/2", "")
		s.checkImages(t, "/products/1/images", "")
		checkRefused(t, s.write(contract.Admin, "DELETE", "/products/1/images/2", ""), s.text("404 Product image not found", "404 Resource not found."))
		s.addImage(t, "/products/1/images")
		s.checkImages(t, "/products/1/images", "3||1|0|f/r/front_2.png|")
	})
}

// TestImageLocation checks that the Location repeats the id in the path and nothing else
// of it.
func TestImageLocation(t *testing.T) {
	s := openShop(t, contract.Documented())
	for _, tt := range []struct{ target, want string }{
		{"/products/kettle-steel/images", "/api/rest/products/kettle-steel/images/1"},
		{"/products/KETTLE-steel%20/images", "/api/rest/products/KETTLE-steel%20/images/2"},
		{"/products/01/images/store/2", "/api/rest/products/01/images/3"},
		{"/products/%31/images?store=2", "/api/rest/products/1/images/4"},
	} {
		if got := s.addImage(t, tt.target); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.target, got, tt.want)
		}
	}
}

// A failingAdapter is one that cannot create images.
type failingAdapter struct {
	adapter.Adapter
	err error
}

// Store returns the adapter's store of r, or one that fails for images.
func (f failingAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	store, err := f.Adapter.Store(r)
	if r == adapter.ProductImages {
		return failingStore{store, f.err}, err
	}
	return store, err
}

type failingStore struct {
	adapter.Store
	err error
}

// Create always fails.
func (f failingStore) Create(context.Context, *adapter.CreateParams) (adapter.Key, error) {
	return 0, f.err
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
			for column, d := range contract.Dialects() {
				s := openShopWith(t, d, settings(), func(a adapter.Adapter) adapter.Adapter { return failingAdapter{a, tt.err} })
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
