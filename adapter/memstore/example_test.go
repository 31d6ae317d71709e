package memstore_test

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/memstore"
)

// A test fills a shop once, changes it, and restores the former state.
func Example() {
	ctx := context.Background()
	data, err := dataset.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	shop := memstore.New(memstore.Options{})
	if err := shop.Load(ctx, data); err != nil {
		fmt.Println(err)
		return
	}
	full, _ := shop.Snapshot()
	stock, _ := shop.Store(adapter.StockItems)

	err = stock.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
		change := adapter.NewRecord(current.Schema)
		change.Set("qty", adapter.TextValue("12.5000"))
		return change, nil
	}})
	fmt.Println("update:", err)
	item, _ := stock.Get(ctx, &adapter.GetParams{Key: 1})
	fmt.Println("quantity:", item.Get("qty").Text())

	err = shop.Restore(ctx, full)
	fmt.Println("restore:", err)
	item, _ = stock.Get(ctx, &adapter.GetParams{Key: 1})
	fmt.Println("quantity:", item.Get("qty").Text())
	// Output:
	// update: <nil>
	// quantity: 12.5000
	// restore: <nil>
	// quantity: 100.0000
}
