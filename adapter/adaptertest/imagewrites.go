package adaptertest

import (
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
	"strings"
	"sync"
	"testing"
)

func newImage(product adapter.Key, file string, more attrs) attrs {
	return attrs{"product_id": int(product), "file": file, "media_type": "image/png", "content": "bytes of " + file}.With(more)
}

// createImage adds an image at a scope and returns its key.
func (s *productSuite) createImage(t *testing.T, product adapter.Key, level int64, file string, more attrs) adapter.Key {
	t.Helper()
	key, err := s.images.Create(t.Context(), &adapter.CreateParams{StoreID: level, Record: newImage(product, file, more).Record(s.schemas.Of(adapter.ProductImages))})
	if err != nil {
		t.Fatalf("Create %s at %d: %v", file, level, err)
	}
	return key
}

// updateImage changes an image at a scope.
func (s *productSuite) updateImage(t *testing.T, key adapter.Key, level int64, change attrs) {
	t.Helper()
	if err := Update(t, s.images, key, level, change); err != nil {
		t.Fatalf("Update image %d at %d: %v", key, level, err)
	}
}

// deleteImage deletes an image at a scope.
func (s *productSuite) deleteImage(t *testing.T, key adapter.Key, level int64) {
	t.Helper()
	MustDelete(t, s.images, adapter.DeleteParams{Key: key, StoreID: level})
}

// wantGallery compares the images of a product at a scope, in the order of their keys: label,
// position, exclude and types, with - for null.
func (s *productSuite) wantGallery(t *testing.T, product adapter.Key, level int64, want ...string) {
	t.Helper()
	result, err := s.images.List(t.Context(), &adapter.ListParams{StoreID: level, Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{
		{Attribute: "product_id", Op: adapter.Eq, Operands: []string{fmt.Sprint(product)}},
	}}}}})
	if err != nil || result.Partial {
		t.Fatalf("partial, or %v", err)
	}
	var got []string
	for _, r := range result.Records {
		text := ""
		for _, name := range []string{"label", "position", "exclude"} {
			if v := r.Get(name); v.Empty() {
				text += "- "
			} else {
				text += v.Text() + " "
			}
		}
		got = append(got, strings.TrimSuffix(text+strings.Join(r.Get("types").Texts(), ","), " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("product %d at %d:\n\t%s\nwant\n\t%s", product, level, joinLines(got), joinLines(want))
	}
}

// testImageLevels writes images in the default scope and at a store view.
func (s *productSuite) testImageLevels(t *testing.T) {
	const p = aProduct
	one := s.createImage(t, p, aView, "f/r/front.png", attrs{"label": "Front", "types": []string{"thumbnail", "image"}})
	s.wantGallery(t, p, aView, "Front 1 0 image,thumbnail")
	s.wantGallery(t, p, 0, "- - -") // no values until a save at this scope
	s.wantGallery(t, p, sisterView, "- - -")
	two := s.createImage(t, p, 0, "b/a/back.png", attrs{"exclude": 1})
	if two <= one {
		t.Errorf("key %d after %d", two, one)
	}
	s.wantGallery(t, p, 0, "- 0 0", "- 1 1")
	s.wantGallery(t, p, aView, "Front 1 0 image,thumbnail", "- 1 1")
	s.updateImage(t, two, aView, attrs{"position": 9, "types": []string{"image", "small_image"}})
	s.wantGallery(t, p, aView, "Front 1 0 thumbnail", "- 9 1 image,small_image")
	s.wantGallery(t, p, 0, "- 0 0", "- 1 1")
	s.updateImage(t, two, aView, attrs{"types": []string{}})
	s.wantGallery(t, p, aView, "Front 1 0 thumbnail", "- 9 1")
	s.updateImage(t, two, 0, attrs{"types": []string{"image", "small_image", "thumbnail"}, "label": "Back"})
	s.wantGallery(t, p, 0, "- 0 0", "Back 1 1 image,small_image,thumbnail")
	s.wantGallery(t, p, aView, "Front 1 0 thumbnail", "Back 9 1") // a pointer to no image hides the pointer of the default scope
	// An empty label is no value, so the label of the default scope shows.
	s.updateImage(t, one, 0, attrs{"label": "One"})
	s.updateImage(t, one, aView, attrs{"label": ""})
	s.wantGallery(t, p, aView, "One 1 0 thumbnail", "Back 9 1")
	s.updateImage(t, one, aView, attrs{"label": " "})
	s.wantGallery(t, p, aView, "  1 0 thumbnail", "Back 9 1")
	next := s.createImage(t, p, aView, "n/e/next.png", attrs{"types": []string{"thumbnail"}})
	s.wantGallery(t, p, aView, "  1 0", "Back 9 1", "- 10 0 thumbnail")
	s.updateImage(t, next, aView, attrs{"position": 1<<32 - 1})
	s.createImage(t, p, aView, "l/a/last.png", nil)
	s.wantGallery(t, p, aView, "  1 0", "Back 9 1", "- 4294967295 0 thumbnail", "- 4294967295 0")

	r, err := s.images.Get(t.Context(), &adapter.GetParams{Key: one})
	if err != nil || r.Get("file").Text() != "f/r/front.png" || r.Get("media_type").Text() != "image/png" || r.Get("content").Kind() != adapter.Absent {
		t.Errorf("%s, %v", FormatRecord(r), err)
	}
}

// testFreeze saves a product at several scopes and checks the values that continue to follow
// the default scope.
func (s *productSuite) testFreeze(t *testing.T) {
	const p = aProduct
	one := s.createImage(t, p, 0, "o/n/one.png", attrs{"label": "One", "position": 3, "types": []string{"image"}})
	two := s.createImage(t, p, 0, "t/w/two.png", attrs{"position": 5})
	s.wantGallery(t, p, aView, "One 3 0 image", "- 5 0")
	s.updateImage(t, one, 0, attrs{"position": 4})
	s.wantGallery(t, p, aView, "One 4 0 image", "- 5 0")

	// A save of the product freezes the images only.
	s.mustUpdate(t, p, aView, attrs{})
	s.updateImage(t, one, 0, attrs{"label": "Eins", "position": 6, "types": []string{}})
	s.updateImage(t, two, 0, attrs{"label": "Two", "position": 7, "types": []string{"image"}})
	s.wantGallery(t, p, aView, "One 4 0", "Two 5 0 image")
	s.wantGallery(t, p, sisterView, "Eins 6 0", "Two 7 0 image")
	before := s.getProduct(t, p, 0)
	s.mustUpdate(t, p, 0, attrs{"name": "Named"})
	s.wantValues(t, p, aView, attrs{"name": "Named"})

	// A write of an image at a view freezes the product's values at the view and its website.
	s.updateImage(t, two, aView, attrs{})
	s.mustUpdate(t, p, 0, attrs{"name": "Again", "status": 2, "price": "77.0000", "meta_title": "T", "visibility": 2})
	s.wantValues(t, p, aView, attrs{"name": "Named", "status": before.Get("status"), "price": "77.0000", "meta_title": "T", "visibility": before.Get("visibility")})
	s.wantValues(t, p, sisterView, attrs{"name": "Again", "status": before.Get("status"), "visibility": 2})
	s.wantValues(t, p, otherView, attrs{"name": "Again", "status": 2})
	s.updateImage(t, one, 0, attrs{"types": []string{"image", "thumbnail"}})
	s.wantGallery(t, p, aView, "One 4 0 thumbnail", "Two 5 0 image") // there was no pointer for thumbnail
	s.wantGallery(t, p, sisterView, "Eins 6 0 image,thumbnail", "Two 7 0")

	// A product created by the store has pointers to no image, and these are frozen as well.
	made := s.createProduct(t, "made", nil)
	key := s.createImage(t, made, aView, "m/a/made.png", nil)
	s.updateImage(t, key, 0, attrs{"types": []string{"image"}})
	s.wantGallery(t, made, aView, "- 1 0")
	s.wantGallery(t, made, sisterView, "- 0 0 image")
	if file := s.getProduct(t, made, 0, "image_file").Get("image_file").Text(); file != "m/a/made.png" {
		t.Errorf("image of the product: %q", file)
	}
}

func (s *productSuite) testImageDelete(t *testing.T) {
	const p = aProduct
	every := []string{"image", "small_image", "thumbnail"}
	gone := func(key adapter.Key) {
		t.Helper()
		if _, err := s.images.Get(t.Context(), &adapter.GetParams{Key: key}); adapter.KindOf(err) != adapter.NotFound || err == nil {
			t.Errorf("image %d: %v, want not found", key, err)
		}
	}
	one := s.createImage(t, p, 0, "o/n/one.png", attrs{"label": "One", "types": every})
	two := s.createImage(t, p, 0, "t/w/two.png", nil)

	// Unused, but only the values at the scope were deleted.
	s.updateImage(t, two, aView, attrs{"types": adapter.TextsValue(nil), "removed": 1})
	s.wantGallery(t, p, aView, "One 1 0 image,small_image,thumbnail", "- 2 0")
	s.deleteImage(t, two, aView)
	s.wantGallery(t, p, 0, "One 1 0 image,small_image,thumbnail")
	gone(two)

	s.deleteImage(t, one, aView) // used in the default scope
	s.wantGallery(t, p, aView, "One 1 0")
	s.wantGallery(t, p, 0, "One 1 0 image,small_image,thumbnail")
	s.updateImage(t, one, aView, attrs{"types": []string{"image"}, "position": 8})
	s.deleteImage(t, one, 0) // used at a view
	s.wantGallery(t, p, 0, "One 1 0")
	s.wantGallery(t, p, aView, "One 8 0 image")
	s.deleteImage(t, one, aView) // no longer used
	s.wantGallery(t, p, 0)
	gone(one)
	if file := s.getProduct(t, p, 0, "image_file").Get("image_file"); !file.Empty() {
		t.Errorf("image of the product: %q", file.Text())
	}

	// Views of websites that do not sell the product do not count.
	three := s.createImage(t, p, 0, "t/h/three.png", nil)
	s.updateImage(t, three, otherView, attrs{"types": every})
	s.deleteImage(t, three, 0)
	gone(three)
	four := s.createImage(t, p, 0, "f/o/four.png", nil)
	if four <= three {
		t.Errorf("key %d after %d", four, three)
	}
	s.wantGallery(t, p, otherView, "- 1 0")

	// Last is called before the image itself is deleted, and can prevent that.
	last := func() error { return errCallback }
	err := s.images.Delete(t.Context(), &adapter.DeleteParams{Key: four, Last: last})
	if !isRefused(err) {
		t.Errorf("error of Last: %v", err)
	}
	s.updateImage(t, four, 0, attrs{"types": every})
	if err := s.images.Delete(t.Context(), &adapter.DeleteParams{Key: four, StoreID: aView, Last: last}); err != nil {
		t.Errorf("Last of an image that stays: %v", err)
	}
	s.wantGallery(t, p, 0, "- 1 0 image,small_image,thumbnail")
	s.updateImage(t, four, 0, attrs{"types": []string{}})
	used := s.createImage(t, p, 0, "u/s/used.png", attrs{"types": every})
	if err := s.images.Delete(t.Context(), &adapter.DeleteParams{Key: used, StoreID: otherView, Everywhere: true}); err != nil {
		t.Errorf("Everywhere: %v", err)
	}
	gone(used)

	// A deletion does not freeze the image that it concerns.
	five := s.createImage(t, p, 0, "f/i/five.png", attrs{"types": []string{"image"}})
	s.deleteImage(t, five, sisterView)
	s.updateImage(t, four, 0, attrs{"position": 40})
	s.updateImage(t, five, 0, attrs{"position": 50})
	s.wantGallery(t, p, sisterView, "- 1 0", "- 50 0")
	for _, key := range []adapter.Key{-1, one, 1 << 40} {
		if err := s.images.Delete(t.Context(), &adapter.DeleteParams{Key: key}); adapter.KindOf(err) != adapter.NotFound || err == nil {
			t.Errorf("Delete %d: %v, want not found", key, err)
		}
	}
	MustDelete(t, s.products, adapter.DeleteParams{Key: p})
	gone(four)
}

// fileOf returns the file name of an image.
func (s *productSuite) fileOf(t *testing.T, key adapter.Key) string {
	t.Helper()
	return MustGet(t, s.images, adapter.GetParams{Key: key}).Get("file").Text()
}

func (s *productSuite) testImageNames(t *testing.T) {
	const p = aProduct
	for i, c := range []struct {
		file string
		from int
		want string
	}{
		{"i/m/image.png", 0, "i/m/image.png"},
		{"i/m/image.png", 2, "i/m/image_2.png"},
		{"i/m/image.png", 2, "i/m/image_3.png"},
		{"i/m/image.png", 0, "i/m/image_1.png"},
		{"i/m/image.png", 1, "i/m/image_4.png"},
		{"i/m/image_6.png", 0, "i/m/image_6.png"},
		{"i/m/image.png", 0, "i/m/image_5.png"},
		{"i/m/image.png", 0, "i/m/image_7.png"},
		{"i/m/image_6.png", 0, "i/m/image_6_1.png"},
		{"i/m/image_01.png", 0, "i/m/image_01.png"},
		{"i/m/image_01.png", 0, "i/m/image_01_1.png"},
		{"i/m/image.jpg", 0, "i/m/image.jpg"},
		{"i/m/image.jpg", 0, "i/m/image_1.jpg"},
		{"I/m/image.png", 0, "I/m/image.png"},
		{"i/m/image.png.png", 0, "i/m/image.png.png"},
		{"i/m/image.png.png", 0, "i/m/image.png_1.png"},
		{"i/m/image", 0, "i/m/image"},
		{"i/m/image", 0, "i/m/image_1"},
		{"i/m/__", 0, "i/m/__"},
		{"i/m/__", 0, "i/m/___1"},
	} {
		more := attrs{}
		if c.from > 0 {
			more["number_from"] = c.from
		}
		key := s.createImage(t, p, 0, c.file, more)
		if got := s.fileOf(t, key); got != c.want {
			t.Errorf("%d: %s from %d is %s, want %s", i, c.file, c.from, got, c.want)
		}
		if i%2 == 1 { // names stay reserved after a deletion
			s.deleteImage(t, key, 0)
		}
	}

	const writers = 20
	var all sync.WaitGroup
	keys := make([]adapter.Key, writers)
	for i := range keys {
		all.Go(func() {
			var err error
			keys[i], err = s.images.Create(t.Context(), &adapter.CreateParams{Record: newImage(adapter.Key(1+i%3), "a/t/atonce.gif", nil).Record(s.schemas.Of(adapter.ProductImages))})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var got, want []string
	for i, key := range keys {
		got = append(got, s.fileOf(t, key))
		want = append(want, fmt.Sprintf("a/t/atonce_%d.gif", i))
	}
	want[0] = "a/t/atonce.gif"
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("names at once: %v", got)
	}
}

func (s *productSuite) testInvalidImages(t *testing.T) {
	const p = aProduct
	key := s.createImage(t, p, 0, "o/n/one.png", attrs{"label": "One"})
	for name, c := range map[string]struct {
		more  attrs
		field string
	}{
		"no product":         {attrs{"product_id": 1 << 40}, "product_id"},
		"no content":         {attrs{"content": ""}, "content"},
		"no media type":      {attrs{"media_type": nil}, "media_type"},
		"a key":              {attrs{"id": 7}, "id"},
		"no name":            {attrs{"file": ""}, "file"},
		"parent folder":      {attrs{"file": "a/../../b.png"}, "file"},
		"absolute":           {attrs{"file": "/a/b.png"}, "file"},
		"no folder":          {attrs{"file": "b.png"}, "file"},
		"a backslash":        {attrs{"file": `a/b\c.png`}, "file"},
		"zero byte":          {attrs{"file": "a/b\x00.png"}, "file"},
		"too long":           {attrs{"file": "a/" + strings.Repeat("b", 254)}, "file"},
		"unknown type":       {attrs{"types": []string{"icon"}}, "types"},
		"position as a text": {attrs{"position": "1"}, "position"},
	} {
		_, err := s.images.Create(t.Context(), &adapter.CreateParams{Record: newImage(p, "x/x/x.png", c.more).Record(s.schemas.Of(adapter.ProductImages))})
		wantError(t, name, err, adapter.Invalid, c.field)
	}
	for name, change := range map[string]attrs{
		"position": {"position": nil},
		"types":    {"types": []string{"icon"}},
		"file":     {"file": "a/b/c.png"},
		"content":  {"content": "x"},
	} {
		wantError(t, name, Update(t, s.images, key, 0, change), adapter.Invalid, name)
	}
	s.wantGallery(t, p, 0, "One 1 0")
	if free := s.createImage(t, p, 0, "x/x/x.png", nil); s.fileOf(t, free) != "x/x/x.png" {
		t.Error("a refused image took its name")
	}
}
