package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
)

// A store that cannot filter or sort by itself reads its records and lets Apply run
// the query.
func ExampleApply() {
	schema := adapter.NewSchemas().Of(adapter.Websites)
	var websites []adapter.Record
	for i, name := range []string{"Main Website", "Outlet", "Wholesale", "Outdoor"} {
		r := adapter.NewRecord(schema)
		r.Set("website_id", adapter.IntegerValue(int64(i+1)))
		r.Set("name", adapter.TextValue(name))
		websites = append(websites, r)
	}
	query := &adapter.Query{
		Where: []adapter.Condition{{Any: []adapter.Test{
			{Attribute: "name", Op: adapter.Like, Operands: []string{"out%"}},
		}}},
		OrderBy: "name",
		Limit:   1,
	}
	page, total, err := adapter.Apply(context.Background(), schema, websites, query)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page[0].Get("name").Text(), "is the first of", total)
	// Output: Outdoor is the first of 2
}

// NewMatcher checks the whole query, so a store learns of a mistake before it reads
// any record.
func ExampleNewMatcher() {
	schema := adapter.NewSchemas().Of(adapter.Websites)
	for _, attribute := range []string{"code", "color"} {
		_, err := adapter.NewMatcher(schema, &adapter.Query{
			Where: []adapter.Condition{{Any: []adapter.Test{
				{Attribute: attribute, Op: adapter.Eq, Operands: []string{"base"}},
			}}},
		})
		if err != nil {
			fmt.Println(attribute, "is", adapter.KindOf(err))
			continue
		}
		fmt.Println(attribute, "is ready")
	}
	// Output:
	// code is ready
	// color is unsupported
}

// All stores compare texts in their folded form.
func ExampleFold() {
	fmt.Println(adapter.Fold("Café ") == adapter.Fold("cafe"))
	fmt.Println(adapter.Fold("coffee") == adapter.Fold("cafe"))
	// Output:
	// true
	// false
}

// The kind is found through wrapped errors; an error without a kind is internal.
func ExampleKindOf() {
	err := fmt.Errorf("load the cart: %w", &adapter.Error{
		Kind: adapter.NotFound,
		Op:   "get products 42",
	})
	fmt.Println(adapter.KindOf(err))
	fmt.Println(adapter.KindOf(errors.New("disk full")))
	// Output:
	// not_found
	// internal
}

// An attribute is absent until it is set; absent and null are different values.
func ExampleNewRecord() {
	customer := adapter.NewRecord(adapter.NewSchemas().Of(adapter.Customers))
	customer.Set("email", adapter.TextValue("ada@example.com"))
	customer.Set("group_id", adapter.IntegerValue(1))
	customer.Set("middlename", adapter.NullValue())

	fmt.Println(customer.Get("email").Text(), customer.Get("group_id").Int())
	fmt.Println(customer.Get("middlename").Kind() == adapter.Null)
	fmt.Println(customer.Get("firstname").Kind() == adapter.Absent)
	// Output:
	// ada@example.com 1
	// true
	// true
}

// A change returns only the attributes to write; a store leaves the absent ones as
// they are.
func ExampleUpdateParams() {
	schema := adapter.NewSchemas().Of(adapter.StockItems)
	update := adapter.UpdateParams{Key: 7, Change: func(current adapter.Record) (adapter.Record, error) {
		if current.Get("is_in_stock").Int() == 0 {
			return adapter.Record{}, errors.New("out of stock")
		}
		change := adapter.NewRecord(schema)
		change.Set("qty", adapter.TextValue("12.0000"))
		return change, nil
	}}

	stored := adapter.NewRecord(schema)
	stored.Set("is_in_stock", adapter.IntegerValue(1))
	change, err := update.RunChange(stored)
	fmt.Println(change.Get("qty").Text(), err)
	// Output: 12.0000 <nil>
}
