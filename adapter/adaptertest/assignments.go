package adaptertest

import (
	"github.com/portico-commerce/portico/adapter"
	"sync"
	"testing"
)

// otherWebsite does not sell aProduct, and otherView is one of its views. Category 6 does
// not contain aProduct.
const (
	otherWebsite = 2
	aWebsite     = 1
	freeCategory = 6
	noRecord     = 1 << 30
)

// assign assigns a product to a website or to a category.
func (s *productSuite) assign(t *testing.T, r adapter.Resource, product int, target attrs) (adapter.Key, error) {
	t.Helper()
	store := s.websites
	if r == adapter.ProductCategories {
		store = s.categories
	}
	return store.Create(t.Context(), &adapter.CreateParams{Record: attrs{"product_id": product}.With(target).Record(s.schemas.Of(r))})
}

// testAssignments creates and deletes assignments. Each saves the product in the
// default scope only.
func (s *productSuite) testAssignments(t *testing.T) {
	const p = aProduct
	s.createImage(t, p, aView, "f/r/front.png", attrs{"label": "Front", "position": 3})
	s.wantGallery(t, p, 0, "- - -")
	seen := s.getProduct(t, p, 0)
	key, err := s.assign(t, adapter.ProductWebsites, p, attrs{"website_id": otherWebsite})
	if err != nil {
		t.Fatal(err)
	}
	s.wantGallery(t, p, 0, "- 0 0") // frozen by the save
	s.wantValues(t, p, otherView, attrs{"name": seen.Get("name"), "visibility": seen.Get("visibility")})
	_, err = s.assign(t, adapter.ProductWebsites, p, attrs{"website_id": otherWebsite})
	wantError(t, "again", err, adapter.Conflict, "website_id")

	s.mustUpdate(t, p, otherView, attrs{"name": "kept"})
	MustDelete(t, s.websites, adapter.DeleteParams{Key: key})
	if _, err := s.assign(t, adapter.ProductWebsites, p, attrs{"website_id": otherWebsite}); err != nil {
		t.Fatal(err)
	}
	s.wantValues(t, p, otherView, attrs{"name": "kept"})

	category, err := s.assign(t, adapter.ProductCategories, p, attrs{"category_id": freeCategory})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.categories.Get(t.Context(), &adapter.GetParams{Key: category})
	if err != nil || r.Get("position").Int() != 1 {
		t.Errorf("position %d, %v, want 1", r.Get("position").Int(), err)
	}
	_, err = s.assign(t, adapter.ProductCategories, p, attrs{"category_id": freeCategory, "position": 9})
	wantError(t, "again", err, adapter.Conflict, "category_id")
}

// testCopies copies values from one store view to another.
func (s *productSuite) testCopies(t *testing.T) {
	const p = aProduct
	s.mustUpdate(t, p, aView, attrs{"name": "copied", "meta_title": nil, "tax_class_id": 4})
	s.mustUpdate(t, p, sisterView, attrs{"name": "sister", "description": "sister"})
	s.mustUpdate(t, p, otherView, attrs{"name": "before", "url_key": "before"})
	s.createImage(t, p, aView, "f/r/front.png", attrs{"label": "Front", "position": 7, "types": []string{"image"}})
	for _, c := range []struct {
		name      string
		copies    []attrs
		ofWebsite int
		want      attrs
	}{
		{"values of the view", []attrs{{"store_from": aView, "store_to": otherView}}, 0,
			attrs{"name": "copied", "meta_title": nil, "tax_class_id": 2}},
		{"and of its website", []attrs{{"store_from": aView, "store_to": otherView}}, 1,
			attrs{"name": "copied", "tax_class_id": 4}},
		{"last copy wins", []attrs{{"store_from": aView, "store_to": otherView}, {"store_from": sisterView, "store_to": otherView}}, 0,
			attrs{"name": "sister", "description": "sister", "meta_title": nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, err := s.assign(t, adapter.ProductWebsites, p, attrs{"website_id": otherWebsite, "copies": c.copies, "copy_website_values": c.ofWebsite})
			if err != nil {
				t.Fatal(err)
			}
			s.wantValues(t, p, otherView, c.want)
			if c.copies[len(c.copies)-1]["store_from"] == aView {
				s.wantGallery(t, p, otherView, "Front 7 0 image")
			}
			MustDelete(t, s.websites, adapter.DeleteParams{Key: key})
		})
	}
}

// testInvalidAssignments creates assignments that the store must refuse without any
// change.
func (s *productSuite) testInvalidAssignments(t *testing.T) {
	const p = aProduct
	s.createImage(t, p, aView, "f/r/front.png", attrs{"label": "Front", "position": 3})
	seen := s.getProduct(t, p, 0)
	copies := func(list ...attrs) attrs { return attrs{"website_id": otherWebsite, "copies": list} }
	for _, c := range []struct {
		name    string
		r       adapter.Resource
		product int
		given   attrs
		field   string
	}{
		{"unknown product", adapter.ProductWebsites, noRecord, attrs{"website_id": aWebsite}, "product_id"},
		{"unknown website", adapter.ProductWebsites, p, attrs{"website_id": noRecord}, "website_id"},
		{"unknown category", adapter.ProductCategories, p, attrs{"category_id": noRecord}, "category_id"},
		{"from an unknown view", adapter.ProductWebsites, p, copies(attrs{"store_from": noRecord, "store_to": otherView}), "copies"},
		{"from the default scope", adapter.ProductWebsites, p, copies(attrs{"store_from": 0, "store_to": otherView}), "copies"},
		{"from the new website", adapter.ProductWebsites, p, copies(attrs{"store_from": otherView, "store_to": otherView}), "copies"},
		{"to another website", adapter.ProductWebsites, p, copies(attrs{"store_from": aView, "store_to": sisterView}), "copies"},
		{"the second one wrong", adapter.ProductWebsites, p, copies(attrs{"store_from": aView, "store_to": otherView}, attrs{"store_from": aView}), "copies"},
		{"copies of another kind", adapter.ProductWebsites, p, attrs{"website_id": otherWebsite, "copies": "x"}, "copies"},
		{"the key", adapter.ProductWebsites, p, attrs{"website_id": otherWebsite, "assignment_id": 99}, "assignment_id"},
	} {
		_, err := s.assign(t, c.r, c.product, c.given)
		wantError(t, c.name, err, adapter.Invalid, c.field)
	}
	s.wantGallery(t, p, 0, "- - -") // not frozen, since nothing was saved
	if after := s.getProduct(t, p, 0); FormatRecord(after) != FormatRecord(seen) {
		t.Errorf("changed despite the error:\n\t%s", FormatRecord(after))
	}
	s.wantValues(t, p, otherView, attrs{"name": seen.Get("name")})
}

// testConcurrentAssignments creates and deletes assignments of one product from many
// goroutines, while others save the product.
func (s *productSuite) testConcurrentAssignments(t *testing.T) {
	const p, writers = aProduct, 50
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			switch i % 3 {
			case 0:
				key, err := s.assign(t, adapter.ProductWebsites, p, attrs{"website_id": otherWebsite, "copies": []attrs{{"store_from": aView, "store_to": otherView}}})
				if err == nil {
					err = s.websites.Delete(t.Context(), &adapter.DeleteParams{Key: key})
				}
				if kind := adapter.KindOf(err); err != nil && kind != adapter.Conflict {
					t.Errorf("website: %v", err)
				}
			case 1:
				key, err := s.assign(t, adapter.ProductCategories, p, attrs{"category_id": freeCategory})
				if err == nil {
					err = s.categories.Delete(t.Context(), &adapter.DeleteParams{Key: key})
				}
				if kind := adapter.KindOf(err); err != nil && kind != adapter.Conflict {
					t.Errorf("category: %v", err)
				}
			default:
				if err := s.updateProduct(t, p, 0, attrs{"name": "saved"}); err != nil {
					t.Errorf("product: %v", err)
				}
			}
		})
	}
	all.Wait()
	if _, err := s.assign(t, adapter.ProductWebsites, p, attrs{"website_id": otherWebsite}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if _, err := s.assign(t, adapter.ProductCategories, p, attrs{"category_id": freeCategory}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
