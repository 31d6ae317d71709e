package sqlstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// gallery inserts images, which no data set holds. At store view 2, image 1 has values
// of its own, 2 follows the default scope, and 3 has some of both; 4 has values at the
// store view alone, 5 has none, and 6 belongs to another product.
const gallery = `
	INSERT INTO product_image (id, product_id, file, media_type) VALUES
		(1, 1, 'o/n/one.png', 'image/png'), (2, 1, 't/w/two.jpg', 'image/jpeg'), (3, 1, 't/h/three.png', 'image/png'),
		(4, 1, 'f/o/four.gif', 'image/gif'), (5, 1, 'f/i/five.png', 'image/png'), (6, 2, 's/i/six.png', 'image/png');
	INSERT INTO product_image_value (image_id, store_id, label, position, exclude) VALUES
		(1, 0, 'One', 30, 0), (1, 2, 'Un', 5, 1),
		(2, 0, 'Two', 20, 1),
		(3, 0, 'Three', 10, 0), (3, 2, '', NULL, 2),
		(4, 2, 'Quatre', 7, 0),
		(6, 0, NULL, 1, 0), (6, 3, ' ', 4, 1);
	INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES
		(1, 0, 'image', 1), (1, 0, 'small_image', 1), (1, 0, 'thumbnail', 2),
		(1, 2, 'small_image', NULL), (1, 2, 'thumbnail', 3),
		(2, 0, 'image', 6), (2, 2, 'image', NULL), (2, 3, 'image', 6), (2, 3, 'thumbnail', 6), (2, 0, 'small_image', 6);`

// openGallery opens a new database with the demo store and the gallery.
func openGallery(tb testing.TB, e sqltest.Engine) *sqlstore.DB {
	tb.Helper()
	return openGalleryAt(tb, sqlstore.NewDemo(tb, e))
}

// openGalleryAt opens a demo store and adds the gallery.
func openGalleryAt(tb testing.TB, dsn string) *sqlstore.DB {
	tb.Helper()
	db := open(tb, dsn)
	addGallery(tb, dsn)
	return db
}

// openGalleries returns openGallery in the form that a conformance suite needs.
func openGalleries(tb testing.TB, e sqltest.Engine) func(testing.TB) *sqlstore.DB {
	var dsn string // of the latest store
	return sqlstore.StoreOpener(tb, e, func(tb testing.TB) *sqlstore.DB {
		dsn = sqlstore.NewDemo(tb, e)
		return openGalleryAt(tb, dsn)
	}, func(tb testing.TB, db *sqlstore.DB) {
		if err := db.Reset(tb.Context(), data(tb)); err != nil {
			tb.Fatal(err)
		}
		addGallery(tb, dsn)
	})
}

// addGallery adds the gallery to a demo store.
func addGallery(tb testing.TB, dsn string) {
	tb.Helper()
	sqltest.Exec(tb, dsn, strings.Split(strings.TrimSuffix(gallery, ";"), ";")...)
	sqltest.AdvanceCounter(tb, dsn, "product_image", "id")
}

func images(tb testing.TB, db *sqlstore.DB) adapter.Store {
	tb.Helper()
	return adaptertest.StoreOf(tb, db.Adapter(), adapter.ProductImages)
}

// imageText returns the values of an image that depend on the scope; - is null.
func imageText(r adapter.Record) string {
	text := fmt.Sprint(r.Get("id").Int())
	for _, name := range []string{"label", "position", "exclude"} {
		v := r.Get(name)
		if v.Kind() == adapter.Null {
			text += " -"
		} else {
			text += " " + fmt.Sprintf("%q", v.Text())
		}
	}
	return text + " " + strings.Join(r.Get("types").Texts(), ",")
}

func TestImagesByLevel(t *testing.T) {
	sqltest.EachEngine(t, testImagesByLevel)
}

func testImagesByLevel(t *testing.T, e sqltest.Engine) {
	s := images(t, openGallery(t, e))
	for _, c := range []struct {
		name    string
		storeID int64
		product string
		want    []string
	}{
		{"default scope, by position, no position first", 0, "1", []string{
			"4 - - - ", "5 - - - ", `3 "Three" "10" "0" `, `2 "Two" "20" "1" thumbnail`, `1 "One" "30" "0" image,small_image`,
		}},
		{"store view with values", 2, "1", []string{
			"5 - - - ", `1 "Un" "5" "1" image`, `4 "Quatre" "7" "0" `, `3 "Three" "10" "2" thumbnail`, `2 "Two" "20" "1" `,
		}},
		{"store view without values", 1, "1", []string{
			"4 - - - ", "5 - - - ", `3 "Three" "10" "0" `, `2 "Two" "20" "1" thumbnail`, `1 "One" "30" "0" image,small_image`,
		}},
		{"another product, no label", 0, "2", []string{`6 - "1" "0" image,small_image`}},
		{"another product, a label of one blank", 3, "2", []string{`6 " " "4" "1" image,small_image,thumbnail`}},
		{"unknown product", 0, "99", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := s.List(t.Context(), &adapter.ListParams{StoreID: c.storeID, Query: adapter.Query{
				Where:   []adapter.Condition{{Any: []adapter.Test{{Attribute: "product_id", Op: adapter.Eq, Operands: []string{c.product}}}}},
				OrderBy: "position",
			}})
			if err != nil || result.Partial {
				t.Fatalf("partial, or %v", err)
			}
			var got []string
			for _, r := range result.Records {
				got = append(got, imageText(r))
				one, err := s.Get(t.Context(), &adapter.GetParams{Key: adapter.Key(r.Get("id").Int()), StoreID: c.storeID})
				if err != nil || imageText(one) != imageText(r) {
					t.Errorf("Get: %s, %v; listed: %s", imageText(one), err, imageText(r))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestFilterByEffectiveValues filters in SQL by the values that customers and guests
// see.
func TestFilterByEffectiveValues(t *testing.T) {
	sqltest.EachEngine(t, testFilterByEffectiveValues)
}

func testFilterByEffectiveValues(t *testing.T, e sqltest.Engine) {
	s := images(t, openGallery(t, e))
	for storeID, want := range map[int64]string{0: "1 3 4 5 6", 2: "4 5 6", 3: "1 3 4 5"} {
		p := &adapter.ListParams{StoreID: storeID, Query: adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{
			{Attribute: "exclude", Op: adapter.IsNull}, {Attribute: "exclude", Op: adapter.Eq, Operands: []string{"0"}},
		}}}}}
		result, err := s.List(t.Context(), p)
		if err != nil || result.Partial {
			t.Fatalf("level %d: partial, or %v", storeID, err)
		}
		var ids []string
		for _, r := range result.Records {
			ids = append(ids, r.Get("id").Text())
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("level %d: %s, want %s", storeID, got, want)
		}
		p.Count = true
		if result, err = s.List(t.Context(), p); err != nil || result.Total != int64(len(ids)) {
			t.Errorf("level %d: counted %d, %v", storeID, result.Total, err)
		}
	}
}

// TestImagesHaveNoOwner reads images on behalf of a customer.
func TestImagesHaveNoOwner(t *testing.T) {
	sqltest.EachEngine(t, testImagesHaveNoOwner)
}

func testImagesHaveNoOwner(t *testing.T, e sqltest.Engine) {
	s := images(t, openGallery(t, e))
	if _, err := s.List(t.Context(), &adapter.ListParams{OwnerID: 1}); adapter.KindOf(err) != adapter.Unsupported {
		t.Errorf("List: %v, want unsupported", err)
	}
	if _, err := s.Get(t.Context(), &adapter.GetParams{Key: 1, OwnerID: 1}); adapter.KindOf(err) != adapter.NotFound {
		t.Errorf("Get: %v, want not found", err)
	}
}
