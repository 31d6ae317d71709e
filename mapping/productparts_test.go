package mapping_test

import (
	"cmp"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/replycache"
	"github.com/portico-commerce/portico/mapping/resource"
)

// gallery is the data that these tests add to the demo store: images, an inactive category, a
// SKU like a number and visibility 0. Store view 2 has its own values for images 1 and 2.
const gallery = `
	INSERT INTO product_image (id, product_id, file, media_type) VALUES
		(1, 1, 'f/r/front.png', 'image/png'), (2, 1, 't/w/two.png', 'image/png'), (3, 1, 'n/e/new.jpg', 'image/jpeg'), (4, 2, 'o/t/other.png', 'image/png');
	INSERT INTO product_image_value (image_id, store_id, label, position, exclude) VALUES
		(1, 0, 'Front & side', 2, 0), (1, 2, 'Devant', 1, 1),
		(2, 0, NULL, 1, 1), (2, 2, NULL, NULL, 0),
		(4, 0, 'Other', 1, 0);
	INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES
		(1, 0, 'thumbnail', 1), (1, 0, 'image', 1), (1, 2, 'image', NULL), (1, 2, 'small_image', 2);
	UPDATE category SET is_active = 0 WHERE category_id = 5;
	INSERT INTO product (entity_id, attribute_set_id, type_id, type_id_folded, sku, sku_folded, created_at, updated_at, status, visibility) VALUES
		(20, 4, 'simple', 'SIMPLE', '007', '007', '2012-01-01 00:00:00', '2012-01-01 00:00:00', 1, 4),
		(21, 4, 'simple', 'SIMPLE', '555', '555', '2012-01-01 00:00:00', '2012-01-01 00:00:00', 1, 0),
		(22, 4, 'simple', 'SIMPLE', '01x', '01X', '2012-01-01 00:00:00', '2012-01-01 00:00:00', 1, 4);
	INSERT INTO product_website (product_id, website_id) VALUES (20, 1), (21, 1), (22, 1);
	INSERT INTO product_category (product_id, category_id, position) VALUES (20, 4, 1), (21, 6, 1), (22, 3, 1);`

// A galleryShop is the demo store with the gallery, and counts its store reads.
type galleryShop struct {
	store *store
	data  *adapter.Dataset
	reads reads
}

func openGalleryShop(t *testing.T) *galleryShop {
	t.Helper()
	return newGalleryShop(t, demotest.Data(t), openSQLiteDemo(t))
}

// openGalleryOf opens a gallery shop whose store also holds data.
func openGalleryOf(t *testing.T, data *adapter.Dataset) *galleryShop {
	t.Helper()
	return newGalleryShop(t, data, openSQLiteStore(t, data, nil))
}

// newGalleryShop adds the gallery to a store that holds data.
func newGalleryShop(t *testing.T, data *adapter.Dataset, store *store) *galleryShop {
	t.Helper()
	shop := &galleryShop{store: store, data: data}
	shop.run(t, gallery)
	return shop
}

// run changes the store, bypassing the service.
func (s *galleryShop) run(t *testing.T, statements string) {
	t.Helper()
	s.store.exec(t, statements)
}

// serve returns a service of the shop in a dialect, which has already cached the shop
// configuration.
func (s *galleryShop) serve(t *testing.T, d *contract.Dialect, settings mapping.Settings) *mapping.Service {
	t.Helper()
	settings.BodyBytes, settings.QueryBytes, settings.MaxRows = 1<<20, 1<<16, cmp.Or(settings.MaxRows, 1000)
	settings.Now = func() time.Time { return time.Time{} }
	service, err := mapping.New(d, contract.StandardFields(), s.reads.counting(s.store), adapter.NewSchemas(), s.store.authenticator(), settings, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if r := s.get(t, service, contract.Guest, "/products/1/images", ""); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return service
}

// get sends a GET as role, with Accept: application/json unless accept is set.
func (s *galleryShop) get(t *testing.T, service *mapping.Service, role contract.Role, path, accept string) resource.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "http://shop.example:8080/api/rest"+path, nil)
	if accept == "" {
		accept = "application/json"
	}
	r.Header.Set("Accept", accept)
	for _, token := range s.data.Tokens {
		if role == contract.Admin && token.AdminID != 0 || role == contract.Customer && token.CustomerID == 1 {
			r.Header.Set("Authorization", authorization(s.data, token))
		}
	}
	return service.Serve(t.Context(), &resource.Request{HTTP: r, Scheme: "http"}, nil)
}

// TestImageInXML checks the elements of an image, including empty ones, and the base URL
// from the settings.
func TestImageInXML(t *testing.T) {
	s := openGalleryShop(t)
	service := s.serve(t, contract.Documented(), mapping.Settings{ReplySettings: replycache.ReplySettings{Links: resource.LinkSettings{PublicURL: "https://shop.example/legacy/"}}})
	got := s.get(t, service, contract.Guest, "/products/1/images", "*/*")
	const want = `<?xml version="1.0"?>
<service_api>
  <data_item>
    <id>3</id>
    <label/>
    <position/>
    <exclude/>
    <url>https://shop.example/legacy/media/catalog/product/n/e/new.jpg</url>
    <types/>
  </data_item>
  <data_item>
    <id>1</id>
    <label>Front &amp; side</label>
    <position>2</position>
    <exclude>0</exclude>
    <url>https://shop.example/legacy/media/catalog/product/f/r/front.png</url>
    <types>
      <data_item>image</data_item>
      <data_item>thumbnail</data_item>
    </types>
  </data_item>
</service_api>
`
	if got.Status != 200 || string(got.Body) != want || got.ContentType != contract.XML.ContentType() {
		t.Errorf("%d %s %s", got.Status, got.ContentType, got.Body)
	}
}
