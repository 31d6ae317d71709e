package imports

import (
	"context"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// store stores the differences of the records of a group.
func (in *importTx) store(ctx context.Context, units []*unit) error {
	if len(units) == 0 {
		return nil
	}
	if err := in.storeRecords(ctx, units); err != nil {
		return err
	}
	if err := in.storePrices(ctx, units); err != nil {
		return err
	}
	if err := in.storeParts(ctx, units); err != nil {
		return err
	}
	if err := in.files.publish(ctx, in, units); err != nil {
		return err
	}
	if err := in.storeLevels(ctx, units); err != nil {
		return err
	}
	for _, u := range units {
		if in.isBare(u) {
			delete(in.bare, u.key)
		}
		if u.schema.Resource == adapter.StockItems {
			in.restock(u)
		} else if !u.PartsOnly {
			in.save(u.key, u.Record)
		}
	}
	if units[0].schema.Resource == adapter.CustomerAddresses {
		return in.clearDefaults(ctx, units)
	}
	return nil
}

// storeRecords stores the records themselves.
func (in *importTx) storeRecords(ctx context.Context, units []*unit) error {
	if err := in.giveUpValues(ctx, units); err != nil {
		return err
	}
	var fresh []*unit
	var rows []adapter.Record
	for _, u := range units {
		switch {
		case u.change.Schema != nil:
			if err := in.Update(ctx, u.stored.record, u.change); err != nil {
				return err
			}
		case !u.exists && !u.PartsOnly:
			row := rules.WithoutParts(u.Record)
			setTimes(row, in.moment)
			fresh, rows = append(fresh, u), append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	keys, err := in.Insert(ctx, rows...)
	if err != nil {
		return err
	}
	for i, u := range fresh {
		u.key, u.done.Key = keys[i], keys[i]
		in.exists[u.id()] = true
		if u.schema.Resource == adapter.Products && in.pictured[u.key] {
			in.bare[u.key] = true
		}
		if u.schema.Resource == adapter.Stores {
			in.views = nil
		}
	}
	return nil
}

// storePrices changes the price lists of products.
func (in *importTx) storePrices(ctx context.Context, units []*unit) error {
	changes := map[string][]rules.PriceChange{}
	for _, u := range units {
		for list, change := range u.prices {
			change.Product = u.key
			changes[list] = append(changes[list], change)
		}
	}
	for _, list := range rules.PriceLists() {
		if len(changes[list]) == 0 {
			continue
		}
		if err := in.SetPrices(ctx, list, changes[list]...); err != nil {
			return err
		}
	}
	return nil
}

// storeParts removes, changes and adds parts.
func (in *importTx) storeParts(ctx context.Context, units []*unit) error {
	var added []adapter.Record
	for _, u := range units {
		for _, id := range u.removed {
			if err := in.Delete(ctx, id.resource, id.key); err != nil {
				return err
			}
		}
		for _, part := range u.changed {
			if err := in.Update(ctx, part.current, part.change); err != nil {
				return err
			}
		}
		for _, part := range u.added {
			added = append(added, rules.WithoutParts(part))
		}
	}
	groups := byResource(added)
	for _, r := range inOrder(groups) {
		if _, err := in.Insert(ctx, groups[r]...); err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
	}
	return nil
}

// storeLevels stores the scoped values of records and their parts.
func (in *importTx) storeLevels(ctx context.Context, units []*unit) error {
	changes := map[adapter.Resource][]rules.LevelChange{}
	for _, u := range units {
		for _, c := range u.levels {
			if c.resource == u.schema.Resource {
				c.Key = u.key // the database may have chosen it
			}
			changes[c.resource] = append(changes[c.resource], c.LevelChange)
		}
	}
	for _, r := range inOrder(changes) {
		if err := in.SetLevels(ctx, r, changes[r]...); err != nil {
			return err
		}
	}
	return nil
}

// clearDefaults clears the flags of default addresses on the customers' other addresses.
// The last address of a batch wins.
func (in *importTx) clearDefaults(ctx context.Context, units []*unit) error {
	type flagID struct {
		customer int64
		name     string
	}
	var customers []adapter.Value
	for _, u := range units {
		customers = append(customers, u.merged().Get(u.schema.Owner))
	}
	stored, err := in.Find(ctx, adapter.CustomerAddresses, units[0].schema.Owner, customers)
	if err != nil {
		return err
	}
	flagged := map[flagID]int{} // how many addresses have it
	for _, r := range stored {
		for _, name := range rules.DefaultFlags() {
			if r.Get(name).Int() == 1 {
				flagged[flagID{r.Get(r.Schema.Owner).Int(), name}]++
			}
		}
	}
	for _, u := range slices.Backward(units) {
		clear := adapter.NewRecord(u.schema)
		for _, name := range rules.DefaultFlags() {
			id := flagID{u.merged().Get(u.schema.Owner).Int(), name}
			if u.Record.Get(name).Int() == 1 && flagged[id] > 1 {
				clear.Set(name, adapter.IntegerValue(1))
				flagged[id] = 1
			}
		}
		if err := rules.ClearOtherDefaults(ctx, in, u.key, u.merged(), clear); err != nil {
			return err
		}
	}
	return nil
}
