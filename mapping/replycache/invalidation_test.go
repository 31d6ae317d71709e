package replycache

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/memstore"
)

// TestEveryWriteInvalidatesLists writes each resource with each method, in a store that holds no
// records.
func TestEveryWriteInvalidatesLists(t *testing.T) {
	records := memstore.New(memstore.Options{})
	unchanged := func(current adapter.Record) (adapter.Record, error) { return current, nil }
	refused := errors.New("not to be written")
	schemas := adapter.NewSchemas()
	methods := map[string]func(adapter.Resource, adapter.Store) error{
		"Create": func(r adapter.Resource, s adapter.Store) error {
			_, err := s.Create(t.Context(), &adapter.CreateParams{Record: adapter.NewRecord(schemas.Of(r)), Check: func() error { return refused }})
			return err
		},
		"Update": func(_ adapter.Resource, s adapter.Store) error {
			return s.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: unchanged})
		},
		"Delete": func(_ adapter.Resource, s adapter.Store) error {
			return s.Delete(t.Context(), &adapter.DeleteParams{Key: 1})
		},
	}
	for _, c := range []struct {
		write adapter.Resource
		show  []adapter.Resource
		keep  []adapter.Resource
	}{
		{adapter.StockItems, []adapter.Resource{adapter.StockItems}, []adapter.Resource{adapter.Products, adapter.Orders}},
		{adapter.Products, []adapter.Resource{adapter.Products, adapter.StockItems, adapter.ProductImages}, []adapter.Resource{adapter.Customers}},
		{adapter.ProductWebsites, []adapter.Resource{adapter.ProductWebsites, adapter.Products}, []adapter.Resource{adapter.Orders}},
		{adapter.ProductCategories, []adapter.Resource{adapter.ProductCategories, adapter.Products}, []adapter.Resource{adapter.Orders}},
		{adapter.Customers, []adapter.Resource{adapter.Customers, adapter.CustomerAddresses, adapter.Orders}, []adapter.Resource{adapter.Products}},
		{adapter.CustomerAddresses, []adapter.Resource{adapter.CustomerAddresses, adapter.Customers}, []adapter.Resource{adapter.Orders}},
		{adapter.OrderComments, []adapter.Resource{adapter.OrderComments, adapter.Orders}, []adapter.Resource{adapter.Products}},
		{adapter.Categories, []adapter.Resource{adapter.Categories, adapter.Products, adapter.Customers}, nil},
	} {
		for method, write := range methods {
			t.Run(fmt.Sprintf("%s %s", method, c.write), func(t *testing.T) {
				var invalidated []adapter.Resource
				a := NewInvalidating(records, func(resources []adapter.Resource) { invalidated = append([]adapter.Resource{}, resources...) }, nil)
				store, err := a.Store(c.write)
				if err != nil {
					t.Fatal(err)
				}
				if err := write(c.write, store); err == nil {
					t.Fatal("the write succeeded")
				}
				if invalidated == nil {
					t.Fatal("no list was invalidated")
				}
				for _, r := range c.show {
					if len(invalidated) > 0 && !slices.Contains(invalidated, r) {
						t.Errorf("%s: an affected list was kept", r)
					}
				}
				for _, r := range c.keep {
					if len(invalidated) == 0 || slices.Contains(invalidated, r) {
						t.Errorf("%s: an unaffected list was dropped", r)
					}
				}
			})
		}
	}
}

// TestWritesAffectTheirOwnResource checks that every row of the table includes its own
// resource.
func TestWritesAffectTheirOwnResource(t *testing.T) {
	for r, shown := range affectedLists() {
		if !slices.Contains(shown, r) {
			t.Errorf("a write of %s does not affect its own lists", r)
		}
	}
}
