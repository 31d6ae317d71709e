package sqlstore_test

import (
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestMaxBytes checks that no list reads on after the record that reaches MaxBytes.
func TestMaxBytes(t *testing.T) {
	sqltest.EachEngine(t, testMaxBytes)
}

func testMaxBytes(t *testing.T, e sqltest.Engine) {
	db := openDemo(t, e)
	listed := adapter.ListParams{StoreID: 1, Filters: []adapter.Filter{{Name: adapter.Listed}}}
	filtered := listed
	filtered.Query.Where = []adapter.Condition{{Any: []adapter.Test{{Attribute: "sku", Op: adapter.Matches, Operands: []string{"."}}}}}
	for name, p := range map[string]struct {
		resource adapter.Resource
		params   adapter.ListParams
	}{
		"customers":            {adapter.Customers, adapter.ListParams{}},
		"stock items":          {adapter.StockItems, adapter.ListParams{}},
		"orders":               {adapter.Orders, adapter.ListParams{}},
		"order items":          {adapter.OrderItems, adapter.ListParams{}},
		"products":             {adapter.Products, adapter.ListParams{}},
		"products of a view":   {adapter.Products, listed},
		"products by a filter": {adapter.Products, filtered},
	} {
		t.Run(name, func(t *testing.T) {
			store := adaptertest.StoreOf(t, db.Adapter(), p.resource)
			whole, err := store.List(t.Context(), &p.params)
			if err != nil || len(whole.Records) < 2 || whole.More {
				t.Fatalf("the whole list: %+v, %v", whole, err)
			}
			for _, limit := range []int64{0, 2} {
				params := p.params
				params.Query.Limit = limit
				params.MaxBytes = 1
				got, err := store.List(t.Context(), &params)
				if err != nil || len(got.Records) != 1 || !got.More {
					t.Errorf("at most a byte, limit %d: %d records, more: %t (%v); want one, and more", limit, len(got.Records), got.More, err)
				}
			}
		})
	}
}
