package magento1test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
)

// A ShopAction is something that an administrator or a checkout does to records that it chooses
// at random. It does nothing if there is no such record.
type ShopAction struct {
	Name string
	Do   func(context.Context, *rand.Rand) error
}

// Actions returns all actions.
func (s *LiveShop) Actions() []ShopAction {
	onProduct := func(name string, do func(ctx context.Context, r *rand.Rand, id int64) error) ShopAction {
		return s.on(name, "catalog_product_entity", do)
	}
	return []ShopAction{
		onProduct("rename a product", func(ctx context.Context, r *rand.Rand, id int64) error {
			view, err := s.pick(ctx, r, "SELECT store_id FROM {p}core_store ORDER BY store_id")
			if err != nil {
				return err
			}
			return s.RenameProduct(ctx, id, view, fmt.Sprintf("Renamed %d", r.IntN(1e6)))
		}),
		onProduct("change prices", func(ctx context.Context, r *rand.Rand, id int64) error {
			special := ""
			if r.IntN(2) == 0 {
				special = fmt.Sprintf("%d.0000", 1+r.IntN(9))
			}
			return s.SetPrices(ctx, id, fmt.Sprintf("%d.5000", 10+r.IntN(90)), special)
		}),
		onProduct("enable or disable a product", func(ctx context.Context, r *rand.Rand, id int64) error {
			return s.EnableProduct(ctx, id, r.IntN(2) == 0)
		}),
		onProduct("assign a category", func(ctx context.Context, r *rand.Rand, id int64) error {
			to, err := s.pick(ctx, r, "SELECT entity_id FROM {p}catalog_category_entity WHERE level > 1 ORDER BY entity_id")
			if err != nil || to == 0 {
				return err
			}
			return s.AssignCategories(ctx, id, to)
		}),
		onProduct("delete a product", func(ctx context.Context, _ *rand.Rand, id int64) error { return s.DeleteProduct(ctx, id) }),
		{"add a product", func(ctx context.Context, r *rand.Rand) error {
			_, err := s.NewProduct(ctx, r, fmt.Sprintf("new-%d", r.Int64()))
			return err
		}},
		{"delete a category", func(ctx context.Context, r *rand.Rand) error {
			id, err := s.pick(ctx, r, "SELECT entity_id FROM {p}catalog_category_entity WHERE level > 1 ORDER BY entity_id")
			if err != nil || id == 0 {
				return err
			}
			return s.DeleteCategory(ctx, id)
		}},
		s.on("delete a customer", "customer_entity", func(ctx context.Context, _ *rand.Rand, id int64) error { return s.DeleteCustomer(ctx, id) }),
		{"register a customer", func(ctx context.Context, r *rand.Rand) error {
			_, err := s.NewCustomer(ctx, r, fmt.Sprintf("new%d@example.com", r.Int64()))
			return err
		}},
		s.on("change a password", "customer_entity", func(ctx context.Context, r *rand.Rand, id int64) error {
			return s.SetPassword(ctx, id, fmt.Sprintf("%032x:xy", r.Uint64()))
		}),
		{"save all", func(ctx context.Context, _ *rand.Rand) error { return s.SaveAll(ctx) }},
		{"reindex", func(ctx context.Context, _ *rand.Rand) error { return s.Reindex(ctx) }},
		{"apply a price rule", func(ctx context.Context, r *rand.Rand) error { return s.ApplyRule(ctx, r.IntN(30)) }},
		onProduct("place an order", func(ctx context.Context, r *rand.Rand, id int64) error {
			buyer, err := s.pick(ctx, r, "SELECT entity_id FROM {p}customer_entity ORDER BY entity_id")
			if err != nil || buyer == 0 {
				return err
			}
			if _, err = s.PlaceOrder(ctx, buyer, OrderLine{id, 1 + r.Int64N(3)}); errors.Is(err, ErrOutOfStock) {
				return nil
			}
			return err
		}),
		s.on("cancel an order", "sales_flat_order", func(ctx context.Context, _ *rand.Rand, id int64) error { return s.CancelOrder(ctx, id) }),
	}
}

// on returns an action on a random record of a table.
func (s *LiveShop) on(name, table string, do func(ctx context.Context, r *rand.Rand, id int64) error) ShopAction {
	return ShopAction{name, func(ctx context.Context, r *rand.Rand) error {
		id, err := s.pick(ctx, r, "SELECT entity_id FROM {p}"+table+" ORDER BY entity_id")
		if err != nil || id == 0 {
			return err
		}
		return do(ctx, r, id)
	}}
}

// pick returns one of the ids that a statement selects, 0 if it selects none.
func (s *LiveShop) pick(ctx context.Context, r *rand.Rand, statement string) (id int64, err error) {
	err = s.inTx(ctx, func(tx transaction) error {
		all, err := tx.ids(ctx, statement)
		if err == nil && len(all) > 0 {
			id = all[r.IntN(len(all))]
		}
		return err
	})
	return id, err
}
