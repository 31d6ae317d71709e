package mapping_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

// gallery is what these tests add to the demo store: images, an inactive category, a SKU
// like a number and visibility 0. Store view 2 has its own values for images 1 and 2.
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
	raw, err := sql.Open("sqlite", "file:"+s.store.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	if _, err := raw.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

// serve returns a service of the shop in a dialect, which has already cached the shop
// configuration.
func (s *galleryShop) serve(t *testing.T, d *contract.Dialect, settings mapping.Settings) *mapping.Service {
	t.Helper()
	settings.BodyBytes, settings.QueryBytes, settings.MaxRows = 1<<20, 1<<16, cmp.Or(settings.MaxRows, 1000)
	settings.Now = func() time.Time { return time.Time{} }
	service, err := mapping.New(d, contract.StandardFields(), countingAdapter{s.store, &s.reads}, adapter.NewSchemas(), s.store.authenticator(), settings, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if r := s.get(t, service, contract.Guest, "/products/1/images", ""); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return service
}

// get sends a GET as role, with Accept: application/json unless accept is set.
func (s *galleryShop) get(t *testing.T, service *mapping.Service, role contract.Role, path, accept string) mapping.Response {
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
	return service.Serve(t.Context(), &mapping.Request{HTTP: r, Scheme: "http"}, nil)
}

func fault(code int, message string) string {
	return fmt.Sprintf(`{"messages":{"error":[{"code":%d,"message":"%s"}]}}`, code, message)
}

// image returns an image in JSON, without exclude if that is "none".
func image(id, label, position, exclude, file, types string) string {
	if exclude != "none" {
		exclude = `"exclude":"` + exclude + `",`
	} else {
		exclude = ""
	}
	return `{"id":"` + id + `","label":"` + label + `","position":"` + position + `",` + exclude +
		`"url":"http:\/\/shop.example:8080\/media\/catalog\/product\/` + strings.ReplaceAll(file, "/", `\/`) + `","types":[` + types + `]}`
}

func TestReadProductParts(t *testing.T) {
	// With the values of the default scope, as at store view 2.
	front := image("1", "Front & side", "2", "0", "f/r/front.png", `"image","thumbnail"`)
	two := image("2", "", "1", "1", "t/w/two.png", ``)
	unplaced := image("3", "", "", "", "n/e/new.jpg", ``)
	devant := image("1", "Devant", "1", "1", "f/r/front.png", `"thumbnail"`)
	shownTwo := image("2", "", "1", "0", "t/w/two.png", `"small_image"`)
	// As the magento dialect shows them to Customers and Guests.
	bareFront := image("1", "Front & side", "2", "none", "f/r/front.png", `"image","thumbnail"`)
	bareUnplaced := image("3", "", "", "none", "n/e/new.jpg", ``)
	bareTwo := image("2", "", "1", "none", "t/w/two.png", `"small_image"`)
	s := openGalleryShop(t)
	var services []*mapping.Service
	for _, d := range contract.Dialects() {
		services = append(services, s.serve(t, d, mapping.Settings{}))
	}
	public := []contract.Role{contract.Customer, contract.Guest}
	all := contract.Roles()
	admin := []contract.Role{contract.Admin}

	notImplemented := fault(405, "Resource method not implemented yet")
	noImage := sameInBoth(fault(404, "Product image not found"))
	hidden := [2]string{fault(404, "Product image not found"), fault(404, "Resource not found.")}
	for _, c := range []struct {
		name  string
		roles []contract.Role
		path  string
		want  [2]string // documented, magento
		code  [2]int
		calls int // maximum number of store calls
	}{
		{"all images, by position", admin, "/products/1/images", sameInBoth("[" + unplaced + "," + two + "," + front + "]"), [2]int{200, 200}, 2},
		{"at a store view", admin, "/products/1/images/store/2", sameInBoth("[" + unplaced + "," + devant + "," + shownTwo + "]"), [2]int{200, 200}, 4},
		{"at a store view in the query", admin, "/products/1/images?store=french", sameInBoth("[" + unplaced + "," + devant + "," + shownTwo + "]"), [2]int{200, 200}, 4},
		{"the path takes precedence over the query", admin, "/products/1/images/store/2?store=1", sameInBoth("[" + unplaced + "," + devant + "," + shownTwo + "]"), [2]int{200, 200}, 4},
		{"without excluded images", public, "/products/1/images", [2]string{"[" + unplaced + "," + front + "]", "[" + bareUnplaced + "," + bareFront + "]"}, [2]int{200, 200}, 4},
		{"excluded at the store view", public, "/products/1/images/store/2", [2]string{"[" + unplaced + "," + shownTwo + "]", "[" + bareUnplaced + "," + bareTwo + "]"}, [2]int{200, 200}, 4},
		{"store view 0 is ignored for the public", public, "/products/1/images/store/0", [2]string{"[" + unplaced + "," + front + "]", "[" + bareUnplaced + "," + bareFront + "]"}, [2]int{200, 200}, 4},
		{"the default scope by its code", public, "/products/1/images/store/admin", [2]string{"[" + unplaced + "," + front + "]", "[" + bareUnplaced + "," + bareFront + "]"}, [2]int{200, 200}, 3},
		{"no modifiers", admin, "/products/1/images?limit=1&page=2&order=id&dir=desc&filter[1][attribute]=id&filter[1][eq]=2", sameInBoth("[" + unplaced + "," + two + "," + front + "]"), [2]int{200, 200}, 2},
		{"attrs, in the order of the record", admin, "/products/1/images?attrs=types,%20id,nope", sameInBoth(`[{"id":"3","types":[]},{"id":"2","types":[]},{"id":"1","types":["image","thumbnail"]}]`), [2]int{200, 200}, 2},
		{"attrs for the public", public, "/products/1/images?attrs[]=types&attrs[]=id", sameInBoth(`[{"id":"3","types":[]},{"id":"1","types":["image","thumbnail"]}]`), [2]int{200, 200}, 4},
		{"unreadable attrs of a list", public, "/products/1/images?attrs=nope,file_content", [2]string{"[{},{}]", ""}, [2]int{200, 500}, 4},
		{"attrs exclude", public, "/products/1/images?attrs=exclude", [2]string{`[{"exclude":""},{"exclude":"0"}]`, ""}, [2]int{200, 500}, 4},
		{"attrs exclude for Admin", admin, "/products/1/images?attrs=exclude", sameInBoth(`[{"exclude":""},{"exclude":"1"},{"exclude":"0"}]`), [2]int{200, 200}, 2},
		{"unreadable attrs of one image", admin, "/products/1/images/1?attrs=", [2]string{"{}", ""}, [2]int{200, 500}, 2},

		{"one image", admin, "/products/1/images/1", sameInBoth(front), [2]int{200, 200}, 2},
		{"one image for the public", public, "/products/1/images/1", [2]string{front, bareFront}, [2]int{200, 200}, 4},
		{"leading digits", admin, "/products/kettle-steel/images/1.9abc", sameInBoth(front), [2]int{200, 200}, 2},
		{"leading zeros and a sign", admin, "/products/1/images/%2B01", sameInBoth(front), [2]int{200, 200}, 2},
		{"one image in a store view", admin, "/products/1/images/1/store/2", sameInBoth(devant), [2]int{200, 200}, 4},
		{"an excluded image", admin, "/products/1/images/2", sameInBoth(two), [2]int{200, 200}, 2},
		{"an excluded image for the public", public, "/products/1/images/2", hidden, [2]int{404, 404}, 4},
		{"an image excluded only at the store view", public, "/products/1/images/1/store/2", hidden, [2]int{404, 404}, 4},
		{"an image shown only at the store view", public, "/products/1/images/2/store/2", [2]string{shownTwo, bareTwo}, [2]int{200, 200}, 4},
		{"another product's image", admin, "/products/1/images/4", noImage, [2]int{404, 404}, 2},
		{"another product's image for the public", public, "/products/1/images/4", hidden, [2]int{404, 404}, 4},
		{"no digits", admin, "/products/1/images/abc", noImage, [2]int{404, 404}, 1},
		{"image 0", admin, "/products/1/images/0", noImage, [2]int{404, 404}, 2},
		{"a negative image", admin, "/products/1/images/-1", noImage, [2]int{404, 404}, 2},
		{"beyond 64 bits", admin, "/products/1/images/99999999999999999999", noImage, [2]int{404, 404}, 1},
		{"absent for the public", public, "/products/1/images/99", hidden, [2]int{404, 404}, 4},

		{"unknown store view before the product", all, "/products/99/images/store/9", sameInBoth(fault(400, "Requested store is invalid")), [2]int{400, 400}, 1},
		{"a store view with a tail", all, "/products/1/images/store/2abc", sameInBoth(fault(400, "Requested store is invalid")), [2]int{400, 400}, 1},
		{"a negative store view", all, "/products/1/images/store/-1", sameInBoth(fault(400, "Requested store is invalid")), [2]int{400, 400}, 1},
		{"a store view with a fraction", all, "/products/1/images/store/1.5", sameInBoth(fault(400, "Requested store is invalid")), [2]int{400, 400}, 1},
		{"leading zeros", all, "/products/99/images/store/02", [2]string{fault(400, "Requested store is invalid"), ""}, [2]int{400, 500}, 1},
		{"a fraction of zero", all, "/products/1/images/store/2.0", [2]string{fault(400, "Requested store is invalid"), ""}, [2]int{400, 500}, 1},
		{"a leading blank", all, "/products/1/images/store/%202", [2]string{fault(400, "Requested store is invalid"), ""}, [2]int{400, 500}, 1},
		{"two zeros", all, "/products/1/images/store/00", [2]string{fault(400, "Requested store is invalid"), ""}, [2]int{400, 500}, 1},
		{"a code in capitals", all, "/products/1/images/store/FRENCH", [2]string{fault(400, "Requested store is invalid"), ""}, [2]int{400, 500}, 1},
		{"the default scope's code in capitals", all, "/products/1/images/store/Admin", [2]string{fault(400, "Requested store is invalid"), ""}, [2]int{400, 500}, 1},
		{"a list of store views", all, "/products/1/images?store[]=2", [2]string{fault(400, "Requested store is invalid"), ""}, [2]int{400, 500}, 0},
		{"no store view named", admin, "/products/2/images?store=", sameInBoth("[" + image("4", "Other", "1", "0", "o/t/other.png", "") + "]"), [2]int{200, 200}, 2},
		{"outside the website", all, "/products/1/images/store/3", [2]string{fault(404, "Resource not found"), fault(404, "Resource not found.")}, [2]int{404, 404}, 3},
		{"in no website", public, "/products/12/images/store/admin", [2]string{fault(404, "Resource not found"), fault(404, "Resource not found.")}, [2]int{404, 404}, 2},
		{"disabled", public, "/products/5/images/store/admin", [2]string{fault(404, "Resource not found"), fault(404, "Resource not found.")}, [2]int{404, 404}, 1},
		{"no product 0", all, "/products/0/images", [2]string{fault(404, "Resource not found"), fault(404, "Resource not found.")}, [2]int{404, 404}, 1},
		{"no product of 20 digits", all, "/products/99999999999999999999/images", [2]string{fault(404, "Resource not found"), fault(404, "Resource not found.")}, [2]int{404, 404}, 1},
		{"a number with a tail", all, "/products/1abc/images", [2]string{fault(404, "Resource not found"), fault(404, "Resource not found.")}, [2]int{404, 404}, 2},

		{"all categories", admin, "/products/1/categories", sameInBoth(`[{"category_id":"3"},{"category_id":"5"}]`), [2]int{200, 200}, 2},
		{"categories of a non-canonical number", admin, "/products/%2001.0%20/categories", sameInBoth(`[{"category_id":"3"},{"category_id":"5"}]`), [2]int{200, 200}, 3},
		{"a fractional number", admin, "/products/1.5/categories", [2]string{fault(404, "Resource not found."), `[{"category_id":"3"},{"category_id":"5"}]`}, [2]int{404, 200}, 3},
		{"a SKU like a number with leading zeros", all[:2], "/products/007/categories", sameInBoth(`[{"category_id":"4"}]`), [2]int{200, 200}, 5},
		{"a SKU like a canonical number is not found", admin, "/products/555/categories", sameInBoth(fault(404, "Resource not found.")), [2]int{404, 404}, 1},
		{"a SKU before a number with a tail, trailing blank", admin, "/products/01X+/categories", sameInBoth(`[{"category_id":"3"}]`), [2]int{200, 200}, 2},
		{"a number with a plus sign", admin, "/products/%2B21/categories", sameInBoth(`[{"category_id":"6"}]`), [2]int{200, 200}, 2},
		{"visibility 0", []contract.Role{contract.Customer}, "/products/21/categories", sameInBoth(fault(404, "Resource not found.")), [2]int{404, 404}, 2},
		{"active categories", []contract.Role{contract.Customer}, "/products/1/categories", sameInBoth(`[{"category_id":"3"}]`), [2]int{200, 200}, 5},
		{"active categories for a Guest", []contract.Role{contract.Guest}, "/products/1/categories", [2]string{fault(403, "Access denied"), `[{"category_id":"3"}]`}, [2]int{403, 200}, 5},
		{"no categories", []contract.Role{contract.Customer}, "/products/7/categories", sameInBoth(`[]`), [2]int{200, 200}, 4},
		{"categories in a store view", []contract.Role{contract.Customer}, "/products/10/categories?store=3", sameInBoth(`[{"category_id":"3"}]`), [2]int{200, 200}, 5},
		{"categories outside the website", []contract.Role{contract.Customer}, "/products/10/categories", sameInBoth(fault(404, "Resource not found.")), [2]int{404, 404}, 3},
		{"one category: the product", admin, "/products/1/categories/99?attrs=name,sku,entity_id,stock_data", [2]string{notImplemented, `{"sku":"kettle-steel","name":"Steel Kettle"}`}, [2]int{405, 200}, 2},
		{"one category: its images", admin, "/products/2/categories/3?attrs=media_gallery", [2]string{notImplemented, `{"media_gallery":{"images":[` + image("4", "Other", "1", "0", "o/t/other.png", "") + `],"values":[]}}`}, [2]int{405, 200}, 3},
		{"one category for the public", []contract.Role{contract.Customer}, "/products/1/categories/3?attrs=sku,price,media_gallery", [2]string{notImplemented, `{"sku":"kettle-steel"}`}, [2]int{405, 200}, 4},
		{"one category for a Guest", []contract.Role{contract.Guest}, "/products/1/categories/3?attrs=tier_price", [2]string{fault(403, "Access denied"), `{"tier_price":[]}`}, [2]int{403, 200}, 6},
		{"one category of an unknown product", admin, "/products/99/categories/3", [2]string{notImplemented, fault(404, "Resource not found.")}, [2]int{405, 404}, 1},
		{"attrs that are not fields", admin, "/products/1/categories?attrs=position", [2]string{"[{},{}]", ""}, [2]int{200, 500}, 2},

		{"websites", admin, "/products/2/websites", sameInBoth(`[{"website_id":"1"},{"website_id":"2"}]`), [2]int{200, 200}, 2},
		{"websites of leading digits", admin, "/products/2e1x/websites?store=99", sameInBoth(`[{"website_id":"1"},{"website_id":"2"}]`), [2]int{200, 200}, 2},
		{"websites of a fractional number", admin, "/products/1.5/websites", [2]string{fault(404, "Product not found"), fault(404, "Product #1.5 not found.")}, [2]int{404, 404}, 0},
		{"websites by SKU", admin, "/products/kettle-steel/websites", [2]string{fault(404, "Product not found"), fault(404, "Product #kettle-steel not found.")}, [2]int{404, 404}, 0},
		{"websites of an unknown product", admin, "/products/99%25d/websites", [2]string{fault(404, "Product not found"), fault(404, "Product #99%d not found.")}, [2]int{404, 404}, 1},
		{"websites of product 0", admin, "/products/0/websites", [2]string{fault(404, "Product not found"), fault(404, "Product #0 not found.")}, [2]int{404, 404}, 1},
		{"websites for the public", public, "/products/2/websites", sameInBoth(fault(403, "Access denied")), [2]int{403, 403}, 0},
		{"attrs that are write-only", admin, "/products/2/websites?attrs=copy_to_stores", [2]string{"[{},{}]", "[[],[]]"}, [2]int{200, 200}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			for column, d := range contract.Dialects() {
				for _, role := range c.roles {
					s.reads.take()
					got := s.get(t, services[column], role, c.path, "")
					if calls := len(s.reads.take()); calls > c.calls {
						t.Errorf("%s %s: %d store calls, want at most %d", d.Name, role, calls, c.calls)
					}
					if got.Status != c.code[column] || string(got.Body) != c.want[column] {
						t.Errorf("%s %s: %d %s\nwant %d %s", d.Name, role, got.Status, got.Body, c.code[column], c.want[column])
					}
				}
			}
		})
	}
}

// TestImageInXML checks the elements of an image, including empty ones, and the base URL
// from the settings.
func TestImageInXML(t *testing.T) {
	s := openGalleryShop(t)
	service := s.serve(t, contract.Documented(), mapping.Settings{PublicURL: "https://shop.example/legacy/"})
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
