package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// gallery returns the images of product 900.
func (s *importSuite) gallery(levels []adapter.Level, images ...adapter.Record) adapter.Aggregate {
	return adapter.Aggregate{
		Record: s.part(adapter.Products, attrs{"entity_id": 900}), PartsOnly: true,
		PartsOf: []adapter.Resource{adapter.ProductImages}, Parts: images, Levels: levels,
	}
}

// image returns an image of product 900.
func (s *importSuite) image(id int, file string) adapter.Record {
	return s.part(adapter.ProductImages, attrs{"id": id, "product_id": 900, "file": file})
}

// imageLevel returns the values of an image at a scope.
func (s *importSuite) imageLevel(id int, storeID int64, label, position, exclude any) adapter.Level {
	return s.level(adapter.ProductImages, storeID, attrs{"id": id, "label": label, "position": position, "exclude": exclude})
}

// pointers returns pointers of product 900 at a scope.
func (s *importSuite) pointers(storeID int64, more attrs) adapter.Level {
	return s.level(adapter.Products, storeID, attrs{"entity_id": 900}.With(more))
}

// wantImages compares the images of product 900 at a scope: file, label, position, exclude
// and types of each.
func (s *importSuite) wantImages(t *testing.T, name string, level int64, want ...string) {
	t.Helper()
	q := equals("product_id", "900")
	found := MustList(t, storeOf(t, s.adapter, adapter.ProductImages), adapter.ListParams{StoreID: level, Query: q})
	var got []string
	for _, r := range found.Records {
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s", r.Get("id").Text(), r.Get("file").Text(), r.Get("label").Text(), r.Get("position").Text(), r.Get("exclude").Text(), strings.Join(r.Get("types").Texts(), ",")))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s at level %d:\n\t%s\nwant:\n\t%s", name, level, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func (s *importSuite) testImportedImages(t *testing.T) {
	s.expect(t, "product", replacing(), outcomes(created), s.aggregate(adapter.Products, importedProduct(900, "pictured", nil)))
	product := s.imported(t, adapter.Products)[0]
	levels := []adapter.Level{
		s.imageLevel(900, 0, "Front", 1, 0), s.imageLevel(901, 0, nil, -2, 1),
		s.imageLevel(900, aView, nil, nil, nil), s.imageLevel(901, aView, "Dos", nil, 0),
		s.pointers(0, attrs{"image_id": 900, "small_image_id": 900, "thumbnail_id": nil}),
		s.pointers(aView, attrs{"image_id": nil, "thumbnail_id": 901}),
	}
	images := []adapter.Record{s.image(900, "F/r/Front.JPG"), s.image(901, "b/a/back.png"), s.image(902, "F/r/Front.JPG")}
	whole := s.gallery(levels, images...)
	s.expect(t, "dry", adapter.ImportOptions{DryRun: true}, outcomes(changed), whole)
	s.wantImages(t, "dry", 0)
	s.expect(t, "first", replacing(), outcomes(changed), whole)
	s.wantImages(t, "first", 0, "900 F/r/Front.JPG Front 1 0 image,small_image", "901 b/a/back.png  -2 1 ", "902 F/r/Front.JPG    ")
	s.wantImages(t, "first", aView, "900 F/r/Front.JPG Front 1 0 small_image", "901 b/a/back.png Dos -2 0 thumbnail", "902 F/r/Front.JPG    ")
	s.wantImages(t, "first", otherView, "900 F/r/Front.JPG Front 1 0 image,small_image", "901 b/a/back.png  -2 1 ", "902 F/r/Front.JPG    ")
	for level, want := range map[int64]attrs{
		0:         {"image_id": 900, "small_image_id": 900, "thumbnail_id": nil, "image_file": "F/r/Front.JPG"},
		aView:     {"image_id": nil, "small_image_id": 900, "thumbnail_id": 901},
		otherView: {"image_id": 900, "small_image_id": 900, "thumbnail_id": nil},
	} {
		s.shown(t, "pointers", adapter.Products, adapter.GetParams{Key: 900, StoreID: level}, want)
	}
	s.shown(t, "pointers in a list for shoppers", adapter.Products, adapter.GetParams{Key: 900, StoreID: aView, WebsiteScope: true}, attrs{"image_id": 900})
	for _, r := range s.imported(t, adapter.ProductImages) {
		if want := map[int64]string{900: "image/jpeg", 901: "image/png", 902: "image/jpeg"}[r.Get("id").Int()]; r.Get("media_type").Text() != want {
			t.Errorf("image %d is %s", r.Get("id").Int(), r.Get("media_type").Text())
		}
	}
	if after := s.imported(t, adapter.Products)[0]; FormatRecord(after) != FormatRecord(product) {
		t.Errorf("the product is\n\t%s\nwas\n\t%s", FormatRecord(after), FormatRecord(product))
	}
	s.expect(t, "again", replacing(), outcomes(equal), whole)
	s.expect(t, "kept", adapter.ImportOptions{}, outcomes(kept), whole)
	s.expect(t, "the product alone", replacing(), outcomes(equal), s.aggregate(adapter.Products, importedProduct(900, "pictured", nil)))
	s.wantImages(t, "the product alone", aView, "900 F/r/Front.JPG Front 1 0 small_image", "901 b/a/back.png Dos -2 0 thumbnail", "902 F/r/Front.JPG    ")

	// A scope without stored values of an image follows the default scope, like a scope with
	// a row of nulls, but differs from it.
	s.expect(t, "without nulls", replacing(), outcomes(changed), s.gallery(slices.Delete(slices.Clone(levels), 2, 3), images...))
	s.expect(t, "fewer", replacing(), outcomes(changed), s.gallery([]adapter.Level{s.imageLevel(901, 0, "Back", 3, 0), s.pointers(otherView, attrs{"image_id": 901})}, images[1]))
	s.wantImages(t, "fewer", 0, "901 b/a/back.png Back 3 0 ")
	s.wantImages(t, "fewer", aView, "901 b/a/back.png Back 3 0 ")
	s.wantImages(t, "fewer", otherView, "901 b/a/back.png Back 3 0 image")
	s.expect(t, "another file", replacing(), outcomes(changed), s.gallery(nil, s.image(901, "n/e/new.png")))
	s.wantImages(t, "another file", otherView, "901 n/e/new.png    ")
	s.expect(t, "none", replacing(), outcomes(changed), s.gallery(nil))
	s.wantImages(t, "none", 0)
	s.expect(t, "merged where there are none", adapter.ImportOptions{Existing: adapter.MergeExisting}, outcomes(changed), s.gallery(levels, images...))
	s.expect(t, "merged where there are some", adapter.ImportOptions{Existing: adapter.MergeExisting}, outcomes(kept), s.gallery(nil))
	s.expect(t, "none", replacing(), outcomes(changed), s.gallery(nil))
	s.expect(t, "none again", replacing(), outcomes(equal), s.gallery(nil))
	other := s.gallery([]adapter.Level{s.pointers(0, attrs{"entity_id": 910, "image_id": 910})}, s.image(910, "o/t/other.png"))
	other.Record.Set("entity_id", adapter.IntegerValue(910))
	other.Parts[0].Set("product_id", adapter.IntegerValue(910))
	for _, dry := range []bool{true, false} { // the product comes last, but is stored first
		s.expect(t, "with its product", adapter.ImportOptions{DryRun: dry}, outcomes(changed, created), other, s.aggregate(adapter.Products, importedProduct(910, "with images", nil)))
	}
	s.shown(t, "with its product", adapter.Products, adapter.GetParams{Key: 910}, attrs{"image_id": 910, "small_image_id": adapter.Value{}})
	s.expect(t, "again", replacing(), outcomes(equal), other)

	key, err := storeOf(t, s.adapter, adapter.ProductImages).Create(t.Context(), &adapter.CreateParams{Record: s.part(adapter.ProductImages,
		attrs{"product_id": 900, "file": "b/a/back.png", "media_type": "image/png", "content": "x"})})
	if err != nil || key <= 910 {
		t.Fatalf("the next image is %d, %v", key, err)
	}
	next, err := storeOf(t, s.adapter, adapter.ProductImages).Get(t.Context(), &adapter.GetParams{Key: key})
	if err != nil || next.Get("file").Text() != "b/a/back_1.png" {
		t.Errorf("its file is %s, %v, although the name was used", next.Get("file").Text(), err)
	}
}

// testImageBytes checks the calls of an import for the bytes of images.
func (s *importSuite) testImageBytes(t *testing.T) {
	s.expect(t, "product", replacing(), outcomes(created), s.aggregate(adapter.Products, importedProduct(900, "pictured", nil)))
	here, asked := map[string]string{"h/e/here.png": "1"}, []string{}
	o := replacing()
	o.Content = func(_ context.Context, file string) ([]byte, error) {
		asked = append(asked, file)
		if content, ok := here[file]; ok {
			return []byte(content), nil
		}
		return nil, fmt.Errorf("reading %s: %w", file, fs.ErrNotExist)
	}
	expect := func(name string, want ...string) {
		t.Helper()
		slices.Sort(asked)
		if !slices.Equal(asked, want) {
			t.Errorf("%s: asked for %v, want %v", name, asked, want)
		}
		asked = nil
	}
	sent := s.image(902, "s/e/sent.png")
	sent.Set("content", adapter.TextValue("3"))
	whole := s.gallery(nil, s.image(900, "h/e/here.png"), s.image(901, "l/a/late.png"), sent, s.image(903, "h/e/here.png"))
	s.expect(t, "first", o, outcomes(changed), whole)
	expect("first", "h/e/here.png", "l/a/late.png")
	s.expect(t, "again", o, outcomes(equal), whole)
	expect("again", "l/a/late.png")
	here["l/a/late.png"] = "2"
	dry := o
	dry.DryRun = true
	s.expect(t, "dry", dry, outcomes(equal), whole)
	expect("dry")
	s.expect(t, "late bytes", o, outcomes(changed), whole)
	expect("late bytes", "l/a/late.png")
	s.expect(t, "all bytes", o, outcomes(equal), whole)
	expect("all bytes")
	odd := s.gallery(nil, s.image(900, "../odd name.png"))
	s.expect(t, "a name that no file may have", o, outcomes(changed), odd)
	expect("a name that no file may have")
	s.wantImages(t, "a name that no file may have", 0, "900 ../odd name.png    ")
	failing := errors.New("the disk is on fire")
	o.Content = func(context.Context, string) ([]byte, error) { return nil, failing }
	if _, err := s.importer.Import(t.Context(), []adapter.Aggregate{s.gallery(nil, s.image(900, "f/a/failing.png"))}, o); !errors.Is(err, failing) {
		t.Errorf("error %v", err)
	}
	s.wantImages(t, "failed", 0, "900 ../odd name.png    ")
}

func (s *importSuite) testFaultyImages(t *testing.T) {
	s.expect(t, "products", replacing(), outcomes(created, created),
		s.aggregate(adapter.Products, importedProduct(900, "pictured", nil)), s.aggregate(adapter.Products, importedProduct(901, "other", nil)))
	taken := adapter.Aggregate{Record: s.part(adapter.Products, attrs{"entity_id": 901}), PartsOnly: true, PartsOf: []adapter.Resource{adapter.ProductImages},
		Parts: []adapter.Record{s.part(adapter.ProductImages, attrs{"id": 950, "product_id": 901, "file": "t/a/taken.png"})}}
	s.expect(t, "another's", replacing(), outcomes(changed), taken)
	unknown := taken
	unknown.Record = s.part(adapter.Products, attrs{"entity_id": 999})
	unknown.Parts = nil
	image := s.image(900, "a/b/c.png")
	for _, c := range []struct {
		name  string
		one   adapter.Aggregate
		kind  adapter.ErrorKind
		field string
	}{
		{"no such product", unknown, adapter.NotFound, "entity_id"},
		{"a key that is taken", s.gallery(nil, s.image(950, "a/b/c.png")), adapter.Conflict, "id"},
		{"the same key twice", s.gallery(nil, image, image), adapter.Conflict, "id"},
		{"no key", s.gallery(nil, s.part(adapter.ProductImages, attrs{"product_id": 900, "file": "a/b/c.png"})), adapter.Invalid, "id"},
		{"no file", s.gallery(nil, s.part(adapter.ProductImages, attrs{"id": 900, "product_id": 900})), adapter.Invalid, "file"},
		{"values beside the levels", s.gallery(nil, s.part(adapter.ProductImages, attrs{"id": 900, "product_id": 900, "file": "a/b/c.png", "label": "x"})), adapter.Invalid, "label"},
		{"pointer to another's image", s.gallery([]adapter.Level{s.pointers(0, attrs{"image_id": 950})}, image), adapter.Invalid, "image_id"},
		{"values of an image that is not there", s.gallery([]adapter.Level{s.imageLevel(901, 0, "x", 1, 0)}, image), adapter.Invalid, "id"},
		{"values of the product", s.gallery([]adapter.Level{s.pointers(aView, attrs{"name": "x"})}, image), adapter.Invalid, "name"},
	} {
		_, err := s.importer.Import(t.Context(), []adapter.Aggregate{c.one}, replacing())
		wantError(t, c.name, err, c.kind, c.field)
		s.wantImages(t, c.name, 0)
	}
}
