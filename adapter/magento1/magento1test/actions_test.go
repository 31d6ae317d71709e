package magento1test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// TestActions takes each action until it has changed all parts of the shop that it can
// change, and checks that it changes no others, and that the adapter shows the tables as they
// are afterwards.
func TestActions(t *testing.T) {
	t.Parallel()
	shop, a := open(t, Demo)
	const (
		categories, products, images, stock = magento1.Categories, magento1.Products, magento1.Images, magento1.Stock
		customers, addresses, orders        = magento1.Customers, magento1.Addresses, magento1.Orders
	)
	want := map[string][]magento1.Part{
		"rename a product":            {products},
		"change prices":               {products},
		"enable or disable a product": {products},
		"assign a category":           {products},
		"delete a product":            {products, images, stock},
		"add a product":               {products, images, stock},
		"delete a category":           {categories, products},
		"delete a customer":           {customers, addresses, orders},
		"register a customer":         {customers, addresses},
		"change a password":           {customers},
		"save all":                    {products},
		"reindex":                     nil, // the index was right
		"apply a price rule":          {products},
		"place an order":              {stock, orders},
		"cancel an order":             {stock, orders},
	}
	r := rand.New(rand.NewPCG(1, 0))
	for _, action := range shop.Actions() {
		t.Run(action.Name, func(t *testing.T) {
			expected, known := want[action.Name]
			if !known {
				t.Fatal("the test does not say what it changes")
			}
			for tries := 1; ; tries++ {
				before := digests(t, a)
				if err := action.Do(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				var changed []magento1.Part
				after := digests(t, a)
				for _, p := range magento1.Parts() {
					if before[p] != after[p] {
						changed = append(changed, p)
					}
				}
				if slices.Equal(changed, expected) {
					break
				}
				for _, p := range changed {
					if !slices.Contains(expected, p) {
						t.Errorf("it has changed %s", p)
					}
				}
				if tries == 10 {
					t.Fatalf("it has changed %v, want %v", changed, expected)
				}
			}
			shown, err := a.present(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(contents(t, fresh(t, a)), contents(t, shown)); difference != "" {
				t.Errorf("the tables -, shown +:\n%s", difference)
			}
		})
	}
}

// TestReindex checks that the stock status is computed as the original has computed it.
func TestReindex(t *testing.T) {
	t.Parallel()
	shop, a := open(t, Rich)
	before := digests(t, a)
	if err := shop.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(before, digests(t, a)); difference != "" {
		t.Errorf("the original -, computed +:\n%s", difference)
	}
}

// TestActionsAreRepeatable takes actions with the same random source on two shops.
func TestActionsAreRepeatable(t *testing.T) {
	t.Parallel()
	var shown [2]map[adapter.Resource][]string
	for i := range shown {
		shop, a := open(t, Demo)
		r := rand.New(rand.NewPCG(4, 2))
		all := shop.Actions()
		for range 25 {
			if action := all[r.IntN(len(all))]; !strings.HasPrefix(action.Name, "apply") { // whose prices depend on the day
				if err := action.Do(t.Context(), r); err != nil {
					t.Fatalf("%s: %v", action.Name, err)
				}
			}
		}
		shown[i] = contents(t, fresh(t, a), "low_stock_date", "special_from_date")
	}
	if difference := cmp.Diff(shown[0], shown[1]); difference != "" {
		t.Errorf("the first -, the second +:\n%s", difference)
	}
}

// TestOrders places and cancels an order, and checks the stock and the order afterwards.
func TestOrders(t *testing.T) {
	t.Parallel()
	shop, a := open(t, Demo)
	ctx := t.Context()
	get := func(r adapter.Resource, key int64) adapter.Record {
		t.Helper()
		s, err := a.Store(r)
		if err != nil {
			t.Fatal(err)
		}
		record, err := s.Get(ctx, &adapter.GetParams{Key: adapter.Key(key)})
		if err != nil {
			t.Fatal(err)
		}
		return record
	}
	check := func(what string, got adapter.Value, want string) {
		t.Helper()
		if got.Text() != want {
			t.Errorf("%s is %q, want %q", what, got.Text(), want)
		}
	}
	if _, err := shop.PlaceOrder(ctx, 1, OrderLine{1, 1}, OrderLine{2, 6}); !errors.Is(err, ErrOutOfStock) {
		t.Errorf("more than there is: %v", err)
	}
	check("the quantity that an order has not taken", get(adapter.StockItems, 1).Get("qty"), "100.0000")
	order, err := shop.PlaceOrder(ctx, 1, OrderLine{1, 3}, OrderLine{2, 5})
	if err != nil {
		t.Fatal(err)
	}
	check("the rest", get(adapter.StockItems, 1).Get("qty"), "97.0000")
	check("what is sold out", get(adapter.StockItems, 2).Get("is_in_stock"), "0")
	check("the number", get(adapter.Orders, order).Get("increment_id"), "100000006")
	check("the total", get(adapter.Orders, order).Get("grand_total"), "722.4700")
	if err := shop.CancelOrder(ctx, order); err != nil {
		t.Fatal(err)
	}
	if err := shop.CancelOrder(ctx, order); err != nil { // again, which does nothing
		t.Fatal(err)
	}
	check("what was put back", get(adapter.StockItems, 1).Get("qty"), "100.0000")
	check("what is in stock again", get(adapter.StockItems, 2).Get("is_in_stock"), "1")
	check("the status", get(adapter.Orders, order).Get("status"), "canceled")
}

// TestConcurrentStock adds to a stock item, and changes other values of it, while orders take
// from it and an administrator changes its product. Nothing of it may be lost.
func TestConcurrentStock(t *testing.T) {
	t.Parallel()
	shop, a := open(t, Demo)
	ctx := t.Context()
	items, _ := a.Store(adapter.StockItems)
	schema := a.schemas.Of(adapter.StockItems)
	const rounds = 6
	var group sync.WaitGroup
	try := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"min_sale_qty", "max_sale_qty"} {
		group.Go(func() {
			for i := range rounds {
				try(items.Update(ctx, &adapter.UpdateParams{Key: 1, Change: change(schema, map[string]adapter.Value{name: adapter.TextValue(fmt.Sprintf("%d.0000", i+2))})}))
			}
		})
	}
	for range 2 {
		group.Go(func() {
			for range rounds {
				try(items.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
					quantity, _ := adapter.ParseDecimal(current.Get("qty").Text())
					return change(schema, map[string]adapter.Value{"qty": adapter.TextValue(adapter.FormatDecimal(quantity + 100*10_000))})(current)
				}}))
			}
		})
	}
	for buyer := range int64(2) {
		group.Go(func() {
			for range rounds {
				_, err := shop.PlaceOrder(ctx, 1+buyer, OrderLine{1, 2})
				try(err)
			}
		})
	}
	group.Go(func() {
		for i := range rounds {
			try(shop.RenameProduct(ctx, 1, 1, fmt.Sprintf("Name %d", i)))
		}
	})
	group.Wait()
	got, err := items.Get(ctx, &adapter.GetParams{Key: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"qty": "1276.0000", "min_sale_qty": "7.0000", "max_sale_qty": "7.0000"} {
		if text := got.Get(name).Text(); text != want {
			t.Errorf("%s is %s, want %s", name, text, want)
		}
	}
}
