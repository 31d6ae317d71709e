package adaptertest

import (
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// foreignWebsite does not sell aProduct, and foreignView is one of its views.
// Category 6 does not hold it.
const (
	foreignWebsite = 2
	aWebsite       = 1
	freeCategory   = 6
	noRecord       = 1 << 30
)

// assign assigns a product to a website, or to a category.
func (s *shelf) assign(t *testing.T, r adapter.Resource, product int, target given) (adapter.Key, error) {
	t.Helper()
	g := given{"product_id": product}
	for name, v := range target {
		g[name] = v
	}
	store := s.websites
	if r == adapter.ProductCategories {
		store = s.categories
	}
	return store.Create(t.Context(), &adapter.CreateParams{Record: g.record(s.schemas.Of(r))})
}

// testAssign assigns and unassigns, each of which saves the product at the default
// scope alone.
func (s *shelf) testAssign(t *testing.T) {
	const p = aProduct
	s.post(t, p, aView, "f/r/front.png", given{"label": "Front", "position": 3})
	s.gallery(t, p, 0, "- - -")
	seen := s.get(t, p, 0)
	key, err := s.assign(t, adapter.ProductWebsites, p, given{"website_id": foreignWebsite})
	if err != nil {
		t.Fatal(err)
	}
	s.gallery(t, p, 0, "- 0 0") // frozen there
	s.want(t, p, foreignView, given{"name": seen.Get("name"), "visibility": seen.Get("visibility")})
	_, err = s.assign(t, adapter.ProductWebsites, p, given{"website_id": foreignWebsite})
	refused(t, "again", err, adapter.Conflict, "website_id")

	s.change(t, p, foreignView, given{"name": "kept"})
	if err := s.websites.Delete(t.Context(), &adapter.DeleteParams{Key: key}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.assign(t, adapter.ProductWebsites, p, given{"website_id": foreignWebsite}); err != nil {
		t.Fatal(err)
	}
	s.want(t, p, foreignView, given{"name": "kept"})

	category, err := s.assign(t, adapter.ProductCategories, p, given{"category_id": freeCategory})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.categories.Get(t.Context(), &adapter.GetParams{Key: category})
	if err != nil || r.Get("position").Int() != 1 {
		t.Errorf("position %d, %v, want 1", r.Get("position").Int(), err)
	}
	_, err = s.assign(t, adapter.ProductCategories, p, given{"category_id": freeCategory, "position": 9})
	refused(t, "again", err, adapter.Conflict, "category_id")
}

// testCopies copies what one store view shows to another.
func (s *shelf) testCopies(t *testing.T) {
	const p = aProduct
	s.change(t, p, aView, given{"name": "copied", "meta_title": nil, "tax_class_id": 4})
	s.change(t, p, sisterView, given{"name": "sister", "description": "sister"})
	s.change(t, p, foreignView, given{"name": "before", "url_key": "before"})
	s.post(t, p, aView, "f/r/front.png", given{"label": "Front", "position": 7, "types": []string{"image"}})
	for _, c := range []struct {
		name      string
		copies    []given
		ofWebsite int
		want      given
	}{
		{"values of the view", []given{{"store_from": aView, "store_to": foreignView}}, 0,
			given{"name": "copied", "meta_title": nil, "tax_class_id": 2}},
		{"and of its website", []given{{"store_from": aView, "store_to": foreignView}}, 1,
			given{"name": "copied", "tax_class_id": 4}},
		{"a later one wins", []given{{"store_from": aView, "store_to": foreignView}, {"store_from": sisterView, "store_to": foreignView}}, 0,
			given{"name": "sister", "description": "sister", "meta_title": nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, err := s.assign(t, adapter.ProductWebsites, p, given{"website_id": foreignWebsite, "copies": c.copies, "copy_website_values": c.ofWebsite})
			if err != nil {
				t.Fatal(err)
			}
			s.want(t, p, foreignView, c.want)
			if c.copies[len(c.copies)-1]["store_from"] == aView {
				s.gallery(t, p, foreignView, "Front 7 0 image")
			}
			if err := s.websites.Delete(t.Context(), &adapter.DeleteParams{Key: key}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// testAssignmentsRefused gives assignments that the store must refuse, and that
// must change nothing.
func (s *shelf) testAssignmentsRefused(t *testing.T) {
	const p = aProduct
	s.post(t, p, aView, "f/r/front.png", given{"label": "Front", "position": 3})
	seen := s.get(t, p, 0)
	copies := func(list ...given) given { return given{"website_id": foreignWebsite, "copies": list} }
	for _, c := range []struct {
		name    string
		r       adapter.Resource
		product int
		given   given
		field   string
	}{
		{"unknown product", adapter.ProductWebsites, noRecord, given{"website_id": aWebsite}, "product_id"},
		{"unknown website", adapter.ProductWebsites, p, given{"website_id": noRecord}, "website_id"},
		{"unknown category", adapter.ProductCategories, p, given{"category_id": noRecord}, "category_id"},
		{"from an unknown view", adapter.ProductWebsites, p, copies(given{"store_from": noRecord, "store_to": foreignView}), "copies"},
		{"from the default scope", adapter.ProductWebsites, p, copies(given{"store_from": 0, "store_to": foreignView}), "copies"},
		{"from the new website", adapter.ProductWebsites, p, copies(given{"store_from": foreignView, "store_to": foreignView}), "copies"},
		{"to another website", adapter.ProductWebsites, p, copies(given{"store_from": aView, "store_to": sisterView}), "copies"},
		{"the second one wrong", adapter.ProductWebsites, p, copies(given{"store_from": aView, "store_to": foreignView}, given{"store_from": aView}), "copies"},
		{"copies of another kind", adapter.ProductWebsites, p, given{"website_id": foreignWebsite, "copies": "x"}, "copies"},
		{"the key", adapter.ProductWebsites, p, given{"website_id": foreignWebsite, "assignment_id": 99}, "assignment_id"},
	} {
		_, err := s.assign(t, c.r, c.product, c.given)
		refused(t, c.name, err, adapter.Invalid, c.field)
	}
	s.gallery(t, p, 0, "- - -") // no save
	if after := s.get(t, p, 0); values(after) != values(seen) {
		t.Errorf("changed all the same:\n\t%s", values(after))
	}
	s.want(t, p, foreignView, given{"name": seen.Get("name")})
}

// testAssigners assigns and unassigns one product from many goroutines at once,
// while others save it.
func (s *shelf) testAssigners(t *testing.T) {
	const p, writers = aProduct, 50
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			switch i % 3 {
			case 0:
				key, err := s.assign(t, adapter.ProductWebsites, p, given{"website_id": foreignWebsite, "copies": []given{{"store_from": aView, "store_to": foreignView}}})
				if err == nil {
					err = s.websites.Delete(t.Context(), &adapter.DeleteParams{Key: key})
				}
				if kind := adapter.KindOf(err); err != nil && kind != adapter.Conflict {
					t.Errorf("website: %v", err)
				}
			case 1:
				key, err := s.assign(t, adapter.ProductCategories, p, given{"category_id": freeCategory})
				if err == nil {
					err = s.categories.Delete(t.Context(), &adapter.DeleteParams{Key: key})
				}
				if kind := adapter.KindOf(err); err != nil && kind != adapter.Conflict {
					t.Errorf("category: %v", err)
				}
			default:
				if err := s.update(t, p, 0, given{"name": "saved"}); err != nil {
					t.Errorf("product: %v", err)
				}
			}
		})
	}
	all.Wait()
	if _, err := s.assign(t, adapter.ProductWebsites, p, given{"website_id": foreignWebsite}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if _, err := s.assign(t, adapter.ProductCategories, p, given{"category_id": freeCategory}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
