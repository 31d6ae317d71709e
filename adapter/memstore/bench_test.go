package memstore_test

import (
	"strconv"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/memstore"
)

// bigShop returns a shop with 100,000 products, each in both websites and with a stock
// item: the demo store with copies of its products.
func bigShop(b *testing.B) *memstore.Adapter {
	b.Helper()
	data, a := demoData(b), memstore.New(memstore.Options{})
	many := func(r adapter.Resource, change func(r adapter.Record, n int64)) {
		like := data.Records[r][0]
		data.Records[r] = nil
		for n := int64(1); n <= 100_000; n++ {
			record := like.Clone()
			record.Set(like.Schema.Key, adapter.IntegerValue(n))
			change(record, n)
			data.Records[r] = append(data.Records[r], record)
		}
	}
	ofProduct := func(r adapter.Record, n int64) { r.Set("product_id", adapter.IntegerValue(n)) }
	many(adapter.Products, func(r adapter.Record, n int64) { r.Set("sku", adapter.TextValue("sku-"+strconv.FormatInt(n, 10))) })
	many(adapter.StockItems, ofProduct)
	many(adapter.ProductWebsites, ofProduct)
	many(adapter.ProductCategories, ofProduct)
	if err := a.Load(b.Context(), data); err != nil {
		b.Fatal(err)
	}
	return a
}

func Benchmark(b *testing.B) {
	a := bigShop(b)
	full := snapshot(b, a)
	products, stock := adaptertest.StoreOf(b, a, adapter.Products), adaptertest.StoreOf(b, a, adapter.StockItems)
	schema := adapter.NewSchemas().Of(adapter.Products)
	n := int64(0)
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"Snapshot", func() error { _, err := a.Snapshot(); return err }},
		{"Restore", func() error { return a.Restore(b.Context(), full) }},
		{"Get", func() error { _, err := products.Get(b.Context(), &adapter.GetParams{Key: 77_777}); return err }},
		{"List", func() error {
			_, err := products.List(b.Context(), &adapter.ListParams{Query: adapter.Query{Offset: 50_000, Limit: 10}})
			return err
		}},
		{"ListListed", func() error {
			_, err := products.List(b.Context(), &adapter.ListParams{Query: adapter.Query{Limit: 10}, StoreID: 1, Filters: []adapter.Filter{{Name: adapter.Listed}}})
			return err
		}},
		{"ListByName", func() error {
			byName := []adapter.Condition{{Any: []adapter.Test{{Attribute: "name", Op: adapter.Like, Operands: []string{"%x%"}}}}}
			_, err := products.List(b.Context(), &adapter.ListParams{Query: adapter.Query{Where: byName, Limit: 10}})
			return err
		}},
		{"Update", func() error {
			n++
			return stock.Update(b.Context(), &adapter.UpdateParams{Key: adapter.Key(1 + n*7919%100_000), Change: func(current adapter.Record) (adapter.Record, error) {
				change := adapter.NewRecord(current.Schema)
				change.Set("qty", adapter.TextValue(strconv.FormatInt(n, 10)))
				return change, nil
			}})
		}},
		{"Create", func() error {
			n++
			r := attrs{"attribute_set_id": 4, "type_id": "simple", "sku": "new-" + strconv.FormatInt(n, 10)}.Record(schema)
			_, err := products.Create(b.Context(), &adapter.CreateParams{Record: r})
			return err
		}},
		{"UpdateAndRestore", func() error {
			err := stock.Update(b.Context(), &adapter.UpdateParams{Key: 5, Change: func(r adapter.Record) (adapter.Record, error) { return adapter.NewRecord(r.Schema), nil }})
			if err != nil {
				return err
			}
			return a.Restore(b.Context(), full)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
