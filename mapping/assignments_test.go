package mapping_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// countReplies counts replies by their status, followed by the first entry of an error
// reply or of the errors in a batch reply.
func countReplies(t *testing.T, replies []resource.Response) map[string]int {
	t.Helper()
	counted := map[string]int{}
	for _, r := range replies {
		var list struct {
			Error []struct{ Message string }
		}
		key := fmt.Sprint(r.Status)
		switch {
		case r.Status >= 400:
			key = faults(t, r)[0]
		case len(r.Body) > 0:
			if err := json.Unmarshal(r.Body, &list); err != nil {
				t.Fatalf("%s: %v", r.Body, err)
			}
			if len(list.Error) > 0 {
				key = "list " + list.Error[0].Message
			}
		}
		counted[key]++
	}
	return counted
}

// TestConcurrentAssignments checks that exactly one of many clients that assign a
// product at the same time succeeds, and that the replies to all others say that it is
// already assigned.
func TestConcurrentAssignments(t *testing.T) {
	const clients = 50
	inBothDialectsOnSQLite(t, func(t *testing.T, s *shop) {
		category := s.text("400 Product 1 is already assigned to category 6", "400 Product #1 is already assigned to category #6")
		for _, c := range []struct {
			name, method, target, body string
			want                       map[string]int
		}{
			{"website", "POST", "/products/1/websites", `{"website_id":2,"copy_to_stores":[{"store_from":1,"store_to":3}]}`,
				map[string]int{"200": 1, "400 Product #1 is already assigned to website #2": clients - 1}},
			{"list of websites", "POST", "/products/3/websites", `[{"website_id":2}]`,
				map[string]int{"207": 1, "list Product #3 is already assigned to website #2": clients - 1}},
			{"category", "POST", "/products/1/categories", `{"category_id":6}`, map[string]int{"200": 1, category: clients - 1}},
			{"website removed", "DELETE", "/products/1/websites/2", "",
				map[string]int{"200": 1, s.text("400 Product 1 isn't assigned to website 2.", "400 Product #1 isn't assigned to website #2"): clients - 1}},
			{"category removed", "DELETE", "/products/1/categories/6", "", map[string]int{"200": 1, "400 Product #1 isn't assigned to category #6": clients - 1}},
		} {
			t.Run(c.name, func(t *testing.T) {
				var all sync.WaitGroup
				replies := make([]resource.Response, clients)
				for i := range replies {
					all.Go(func() { replies[i] = s.write(contract.Admin, c.method, c.target, c.body) })
				}
				all.Wait()
				if got := countReplies(t, replies); fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("got %v, want %v", got, c.want)
				}
			})
		}
		if log := s.log.String(); log != "" {
			t.Errorf("logged: %s", log)
		}
	})
}

// assignedTo returns the websites or categories of product 1.
func (s *shop) assignedTo(t testing.TB, what string) string {
	t.Helper()
	r := s.serve(contract.Admin, "GET", "/products/1/"+what, "", "Accept", "application/json")
	if r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return string(r.Body)
}

func TestTooManyCopies(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		copies := func(n int) string { return `{"website_id":2,"copy_to_stores":[` + strings.Repeat(`{},`, n-1) + `{}]}` }
		checkRefused(t, s.write(contract.Admin, "POST", "/products/1/websites", copies(1001)), "400 The request data is invalid.")
		checkRefused(t, s.write(contract.Admin, "POST", "/products/1/websites", "["+copies(500)+","+copies(501)+"]"), "400 The request data is invalid.")
		if got := len(faults(t, s.write(contract.Admin, "POST", "/products/1/websites", copies(1000)))); got != 2001 {
			t.Errorf("%d entries, want 2001", got)
		}
	})
}

// TestCopiedValues checks that a copy holds the values effective at the store view, and
// in the magento dialect the values set for its website (product_parts 3.5).
func TestCopiedValues(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		products, err := s.direct.Store(adapter.Products)
		if err != nil {
			t.Fatal(err)
		}
		err = products.Update(t.Context(), &adapter.UpdateParams{Key: 1, StoreID: 2, Change: func(r adapter.Record) (adapter.Record, error) {
			change := adapter.NewRecord(r.Schema)
			change.Set("name", adapter.TextValue("Bouilloire"))
			change.Set("tax_class_id", adapter.IntegerValue(4))
			return change, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if r := s.write(contract.Admin, "POST", "/products/1/websites", `{"website_id":2,"copy_to_stores":[{"store_from":2,"store_to":3}]}`); r.Status != 200 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		copied, err := products.Get(t.Context(), &adapter.GetParams{Key: 1, StoreID: 3})
		if err != nil {
			t.Fatal(err)
		}
		got := copied.Get("name").Text() + " " + copied.Get("tax_class_id").Text()
		if want := s.text("Bouilloire 2", "Bouilloire 4"); got != want {
			t.Errorf("copied %s, want %s", got, want)
		}
	})
}

// TestAssignmentConflicts checks that a conflict with a change made between the checks
// and the write gets the same reply as one that the checks find.
func TestAssignmentConflicts(t *testing.T) {
	t.Parallel()
	const (
		single = `{"website_id":2}`
		copied = `{"website_id":2,"copy_to_stores":[{"store_from":1,"store_to":3}]}`
		toSix  = `{"category_id":6}`
	)
	unsold := func(t *testing.T, s *shop) { s.removeDirectly(t, adapter.ProductWebsites) }
	gone := func(t *testing.T, s *shop) { s.removeDirectly(t, adapter.Products) }
	sold := func(t *testing.T, s *shop) { s.assignDirectly(t, adapter.ProductWebsites, "website_id", 2) }
	placed := func(t *testing.T, s *shop) { s.assignDirectly(t, adapter.ProductCategories, "category_id", 6) }
	for _, c := range []struct {
		name, target, body  string
		meanwhile           func(*testing.T, *shop)
		documented, magento string
	}{
		{"the website", "websites", single, sold, "400 Product #1 is already assigned to website #2", "400 Product #1 is already assigned to website #2"},
		{"the source", "websites", copied, unsold, "400 Store 1 from which we will copy the information does not belong to the product 1 being edited.",
			"400 Store #1 from which we will copy the information does not belong to the product #1 being edited."},
		{"the product of a website", "websites", single, gone, "404 Product not found", "404 Product #1 not found."},
		{"the product of a list", "websites", "[" + single + "]", gone, "404 Product not found", "404 Product #1 not found."},
		{"the category", "categories", toSix, placed, "400 Product 1 is already assigned to category 6", "400 Product #1 is already assigned to category #6"},
		{"the product of a category", "categories", toSix, gone, "404 Resource not found.", "404 Resource not found."},
	} {
		for _, d := range contract.Dialects() {
			t.Run(c.name+" "+d.Name, func(t *testing.T) {
				var s *shop
				once := sync.OnceFunc(func() { c.meanwhile(t, s) })
				s = openFaulty(t, d, func(op string, _ adapter.Key) error {
					if op == "create" {
						once()
					}
					return nil
				})
				got := faults(t, s.write(contract.Admin, "POST", "/products/1/"+c.target, c.body))[0]
				if want := s.text(c.documented, c.magento); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if log := s.log.String(); log != "" {
					t.Errorf("logged: %s", log)
				}
			})
		}
	}
}

// assignDirectly assigns product 1 in the store, bypassing the service.
func (s *shop) assignDirectly(t *testing.T, r adapter.Resource, target string, id int64) {
	store, err := s.direct.Store(r)
	if err != nil {
		t.Error(err)
		return
	}
	assignment := adapter.NewRecord(adapter.NewSchemas().Of(r))
	assignment.Set("product_id", adapter.IntegerValue(1))
	assignment.Set(target, adapter.IntegerValue(id))
	if _, err := store.Create(t.Context(), &adapter.CreateParams{Record: assignment}); err != nil {
		t.Error(err)
	}
}

// removeDirectly removes the first record of a resource, product 1 or one of its
// assignments, bypassing the service.
func (s *shop) removeDirectly(t *testing.T, r adapter.Resource) {
	store, err := s.direct.Store(r)
	if err == nil {
		err = store.Delete(t.Context(), &adapter.DeleteParams{Key: 1})
	}
	if err != nil {
		t.Error(err)
	}
}

// TestAssignmentFailure checks that a store failure affects only one item of a list, and
// reveals nothing about its cause.
func TestAssignmentFailure(t *testing.T) {
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			fail := true
			s := openFaulty(t, d, func(op string, _ adapter.Key) error {
				if op != "create" && op != "delete" || !fail {
					return nil
				}
				fail = false
				return &adapter.Error{Kind: adapter.Internal, Op: op, Err: errors.New("sentinel of the database")}
			})
			r := s.write(contract.Admin, "POST", "/products/12/websites", `[{"website_id":1},{"website_id":2}]`)
			checkReply(t, r, 207, typeJSON, `{"error":[{"website_id":1,"product_id":"12","message":"Resource internal error.","code":500}],`+
				`"success":[{"website_id":"2","product_id":"12","message":"Resource updated successful.","code":200}]}`)
			for _, call := range []struct{ method, target, body string }{
				{"POST", "/products/12/websites", `{"website_id":1}`}, {"DELETE", "/products/12/websites/2", ""},
				{"POST", "/products/1/categories", `{"category_id":6}`}, {"DELETE", "/products/1/categories/3", ""},
			} {
				fail = true
				checkRefused(t, s.write(contract.Admin, call.method, call.target, call.body), "500 Resource internal error.")
			}
		})
	}
}

// FuzzAssignmentBody sends a body to the website and category writes in both dialects.
// Every reply must be well-formed and one of the contract's, no internal error may be
// logged, and a refused call must change nothing.
func FuzzAssignmentBody(f *testing.F) {
	for _, seed := range []struct{ contentType, body string }{
		{"application/json", `{"website_id":" 2.0 ","copy_to_stores":[{"store_from":1,"store_to":"3"}]}`},
		{"application/json", `[{"website_id":1e400},{"website_id":2,"copy_to_stores":{"a":{"store_from":"1.5","store_to":3}}},7]`},
		{"application/json", `{"category_id":"6e0"}`},
		{"application/json", `{"category_id":-9223372036854775808}`},
		{"application/json", `{"category_id":[1],"website_id":{"a":2}}`},
		{"text/xml", `<r><data_item website_id="2"><copy_to_stores><data_item><store_from>x</store_from></data_item></copy_to_stores></data_item></r>`},
		{"application/xml", `<r><category_id> 4 </category_id><website_id/></r>`},
		{"text/plain", "website_id=2&copy_to_stores[0][store_from]=01&copy_to_stores[0][store_to]=3&category_id=%FF"},
	} {
		f.Add(seed.contentType, []byte(seed.body))
	}
	var shops []*shop
	for _, d := range contract.Dialects() {
		shops = append(shops, openSQLiteShop(f, d))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		for _, s := range shops {
			for _, what := range []string{"websites", "categories"} {
				before := s.assignedTo(t, what)
				r := s.serve(contract.Admin, "POST", "/products/1/"+what, string(body), "Accept", "application/json", "Content-Type", contentType)
				crashed := r.Status == 500 && r.ContentType == typeHTML && len(r.Body) == 0 && !s.documented()
				if !slices.Contains([]int{200, 207, 400, 404, 405}, r.Status) && !crashed || len(r.Body) > 0 && !json.Valid(r.Body) {
					t.Errorf("%s: %d %s", what, r.Status, r.Body)
				}
				if after := s.assignedTo(t, what); r.Status >= 400 && after != before {
					t.Errorf("%s: status %d, but %s became %s", what, r.Status, before, after)
				}
			}
			if log := s.log.String(); log != "" {
				t.Fatalf("logged: %s", log)
			}
		}
	})
}
