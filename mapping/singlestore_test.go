package mapping_test

import (
	"fmt"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestSingleStoreMode writes a product at a store view of a shop that has one or several, with and
// without single-store mode, over a value that the store view has of its own (configurations 7).
func TestSingleStoreMode(t *testing.T) {
	for _, c := range []struct {
		name              string
		views             int
		mode              bool
		path              string
		everywhere, there string // the name without a store view, and at it
	}{
		{"one store view", 1, true, "/products/1/store/1", "new", "new"},
		{"one store view, without a store", 1, true, "/products/1", "new", "new"},
		{"one store view by its code", 1, true, "/products/1/store/default", "new", "new"},
		{"one store view, mode off", 1, false, "/products/1/store/1", "Steel Kettle", "new"},
		{"one store view, mode off, without a store", 1, false, "/products/1", "new", "own"},
		{"several store views", 3, true, "/products/1/store/1", "Steel Kettle", "new"},
		{"several store views, without a store", 3, true, "/products/1", "new", "own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBothDialects(t, func(t *testing.T, plain *shop) {
				store := openSQLiteDemo(t)
				if c.views == 1 {
					store.exec(t, "DELETE FROM store WHERE store_id <> 1")
				}
				with := settings()
				serve := func() *shop { return serveShop(t, plain.dialect, with, demotest.Data(t), store, store) }
				put := func(s *shop, path, name string) {
					t.Helper()
					checkWritten(t, path, s.write(contract.Admin, "PUT", path, fmt.Sprintf(`{"name":%q}`, name)), nil)
				}
				put(serve(), "/products/1/store/1", "own")
				with.Products.SingleStoreMode = c.mode
				s := serve()
				put(s, c.path, "new")
				for path, want := range map[string]string{"/products/1": c.everywhere, "/products/1/store/1": c.there} {
					if got := string(s.serve(contract.Admin, "GET", path+"?attrs=name", "", "Accept", "application/json").Body); got != fmt.Sprintf(`{"name":%q}`, want) {
						t.Errorf("%s: %s, want %s", path, got, want)
					}
				}
			})
		})
	}
}
