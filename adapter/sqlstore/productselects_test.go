package sqlstore

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// TestSelectCache builds each statement, uses other parameters, and takes the statement
// from the cache: text, arguments and indexes must be the same.
func TestSelectCache(t *testing.T) {
	for system, dsn := range map[string]string{ // none of these is connected to
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "shop.db"), "postgres": "postgres://u:p@localhost:1/shop", "mysql": "mysql:u:p@tcp(localhost:1)/shop",
	} {
		schemas := adapter.NewSchemas()
		filter := func(name string, value int64) []adapter.Filter { return []adapter.Filter{{Name: name, Value: value}} }
		listOf := func(s products, p *adapter.ListParams) *productList {
			l, err := s.newProductList(p)
			if err != nil {
				t.Fatal(err)
			}
			return &l
		}
		var pages, singles []adapter.ListParams
		for _, only := range [][]string{nil, {}, {"sku", "price"}} {
			for _, p := range []adapter.ListParams{
				{}, {Filters: filter(adapter.InWebsite, 3)}, {Filters: filter(adapter.InWebsite, 0)},
				{WebsiteScope: true, Filters: filter(adapter.InWebsite, 4)}, {Filters: filter(adapter.InCategory, 5)}, {Filters: filter(adapter.Listed, 0)},
			} {
				p.StoreID, p.Only = 2, only
				singles = append(singles, p)
			}
			for _, q := range []adapter.Query{
				{Limit: 7}, {Limit: 8, Offset: 9}, {Limit: 7, After: &adapter.Cursor{Key: 11}}, {Limit: 7, Offset: 3, After: &adapter.Cursor{Key: 12}},
				{Limit: 7, OrderBy: "entity_id"}, {Limit: 7, OrderBy: "entity_id", Desc: true}, {Limit: 7, OrderBy: "entity_id", Desc: true, After: &adapter.Cursor{Key: 13}},
				{Limit: 7, Desc: true}, {}, {Offset: 2},
				{Limit: 7, Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: "entity_id", Op: adapter.Gt, Operands: []string{"4"}}}}}},
			} {
				pages = append(pages, adapter.ListParams{StoreID: 2, Only: only, Query: q, WebsiteScope: true, Filters: filter(adapter.Listed, 0)})
			}
		}
		type statement struct {
			text      string
			arguments []any
			at        []int
		}
		one := func(s products, p *adapter.ListParams, wanted recordParts) (built statement) {
			built.text, built.arguments, built.at = s.getStatement(21, listOf(s, p), wanted)
			return built
		}
		page := func(s products, p *adapter.ListParams, wanted recordParts) (built statement) {
			var err error
			if built.text, built.arguments, built.at, err = s.pageStatement(listOf(s, p), wanted); err != nil {
				t.Fatal(err)
			}
			return built
		}
		for _, wanted := range []recordParts{{}, {image: true}, {stockFlags: true}, {image: true, stockFlags: true, groupPrices: true},
			{inlined: new(engine.Inlined), image: true, stockFlags: true}, {inlined: new(engine.Inlined), image: true, rulePrices: true, tierPrices: true, groupPrices: true}} {
			for name, c := range map[string]struct {
				read   func(products, *adapter.ListParams, recordParts) statement
				params []adapter.ListParams
			}{"one": {one, singles}, "page": {page, pages}} {
				withCache := func() products {
					own, err := engine.Open(engine.Options{DSN: dsn, PoolOptions: engine.PoolOptions{Create: true}})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = own.Close() })
					return NewRecordSet(own, schemas).Products
				}
				cached := withCache()
				for range 2 { // the second time from the cache
					for _, p := range c.params {
						if got, want := c.read(cached, &p, wanted), c.read(withCache(), &p, wanted); !reflect.DeepEqual(got, want) {
							t.Errorf("%s: %s %s: got %+v, want %+v", system, name, fmt.Sprintf("%+v", p), got, want)
						}
					}
				}
			}
		}
	}
}
