package program

import (
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

// checkLog fails the test if the program has logged an error or a panic.
func (s *killableStore) checkLog(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(s.p.Stderr.Text()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") {
			t.Errorf("logged: %s", line)
		}
	}
}

// check compares the store, in all views of its products, with the writers' knowledge.
func (s *killableStore) check(t *testing.T) {
	t.Helper()
	images := map[string]bool{} // by URL
	inCategory, shown := s.listed(t, s.admin, "/products/category/6"), s.listed(t, s.guest, "/products")
	for _, a := range s.articles {
		version, ok := s.version(t, a)
		if a.saved > version || version > a.sent {
			t.Errorf("%s has version %d: %d was answered, %d was sent last", a.sku, version, a.saved, a.sent)
		}
		a.saved = version
		if !ok {
			continue
		}
		for what, entry := range []string{writeWebsite: `"website_id":"1"`, writeCategory: `"category_id":"6"`, writeImage: `"url"`} {
			_, path, _ := a.call(what)
			got := s.admin.Get(t, path)
			there := strings.Contains(got.Body, entry)
			if there && a.parts[what] == unsent || !there && a.parts[what] == answered || got.Status != http.StatusOK {
				t.Errorf("%s shows %d %s, after progress %d", path, got.Status, got.Body, a.parts[what])
			}
			if there {
				a.parts[what] = answered
			}
		}
		s.checkImage(t, a, images)
		if _, there := inCategory[a.sku]; there != (a.parts[writeCategory] == answered) {
			t.Errorf("%s: in the list of its category %t", a.sku, there)
		}
		want := ""
		if a.parts[writeWebsite] == answered && statusOfVersion(version) == 1 {
			want = fmt.Sprintf("v%d", version)
		}
		var single struct{ Name string }
		if got := s.guest.Get(t, a.path); got.Status == http.StatusOK {
			apptest.Parse(t, got.Body, &single)
		}
		if shown[a.sku] != want || single.Name != want {
			t.Errorf("%s, version %d: shoppers see %q in the list and %q alone, want %q", a.sku, version, shown[a.sku], single.Name, want)
		}
	}
	s.checkStock(t)
	s.checkFiles(t, images)
}

// listed returns the names of all products of a list, by SKU.
func (s *killableStore) listed(t *testing.T, as *apptest.Client, path string) map[string]string {
	t.Helper()
	names := map[string]string{}
	got := as.Get(t, path+"?limit=0&attrs=sku,name")
	if got.Status == http.StatusOK && got.Body == "[]" { // an empty list is an array, not an object
		return names
	}
	var list map[string]struct{ SKU, Name string }
	apptest.Parse(t, got.Body, &list)
	for _, product := range list {
		names[product.SKU] = product.Name
	}
	return names
}

// version returns the version of a product. It fails the test if the fields of the product
// do not agree.
func (s *killableStore) version(t *testing.T, a *versionedProduct) (version int, ok bool) {
	t.Helper()
	got := s.admin.Get(t, "/products/"+a.sku)
	if got.Status == http.StatusNotFound {
		return 0, false
	}
	type priced struct{ Price string }
	var product struct {
		ID         string `json:"entity_id"`
		Name       string
		Price      string
		Status     string
		Stock      struct{ Qty string } `json:"stock_data"`
		GroupPrice []priced             `json:"group_price"`
		TierPrice  []priced             `json:"tier_price"`
	}
	apptest.Parse(t, got.Body, &product)
	if path := "/products/" + product.ID; a.path != path && a.path != "" {
		t.Errorf("%s is %s, was created as %s", a.sku, path, a.path)
	} else {
		a.path = path
	}
	if _, err := fmt.Sscanf(product.Name, "v%d", &version); err != nil {
		t.Fatalf("%s: %v in %s", a.sku, err, got.Body)
	}
	decimal := fmt.Sprintf("%d.0000", version)
	want := product
	want.Price, want.Stock.Qty, want.Status = decimal, decimal, strconv.Itoa(statusOfVersion(version))
	want.GroupPrice, want.TierPrice = []priced{{decimal}}, []priced{{decimal}}
	if fmt.Sprint(product) != fmt.Sprint(want) {
		t.Errorf("%s is\n%v, want\n%v", a.sku, product, want)
	}
	return version, true
}

// checkImage compares the bytes of a product's image, and adds its URL to images.
func (s *killableStore) checkImage(t *testing.T, a *versionedProduct, images map[string]bool) {
	t.Helper()
	var list []struct{ URL string }
	s.admin.Read(t, a.path+"/images", &list)
	if len(list) > 1 {
		t.Errorf("%s has %d images", a.sku, len(list))
	}
	for _, listed := range list {
		images[listed.URL] = true
		if got := s.guest.Get(t, listed.URL); got.Status != http.StatusOK || got.Body != string(a.picture) {
			t.Errorf("%s of %s: %d, %d bytes of %d", listed.URL, a.sku, got.Status, len(got.Body), len(a.picture))
		}
	}
}

// checkStock checks that every product has a stock item, and that there are no others.
func (s *killableStore) checkStock(t *testing.T) {
	t.Helper()
	var products map[string]struct{}
	s.admin.Read(t, "/products?limit=0&attrs=entity_id", &products)
	var items []struct {
		Product string `json:"product_id"`
	}
	s.admin.Read(t, "/stockitems?limit=0&attrs=product_id", &items)
	for _, item := range items {
		if _, there := products[item.Product]; !there {
			t.Errorf("product %s has too many stock items", item.Product)
		}
		delete(products, item.Product)
	}
	if len(products) > 0 {
		t.Errorf("products without a stock item: %v", products)
	}
}

// checkFiles checks that the media folder serves only files of images.
func (s *killableStore) checkFiles(t *testing.T, images map[string]bool) {
	t.Helper()
	if s.media == "" { // see TestKilledWithBucket
		return
	}
	err := fs.WalkDir(os.DirFS(s.media), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		url := s.p.Contract + "/media/catalog/product/" + path
		if got := s.guest.Get(t, url); !images[url] && got.Status != http.StatusNotFound {
			t.Errorf("%s, which no image names: %d", url, got.Status)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
