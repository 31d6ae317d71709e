package handlers

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
)

// checkStock checks the members of stock_data that were sent (products 7.1).
func (w *write) checkStock(ctx context.Context) error {
	data, sent := w.Sent(stockDataName)
	if !sent {
		return nil
	}
	p := &w.stock
	managed := input.IsSet(data, "manage_stock")
	if input.IsSet(data, "use_config_manage_stock") {
		managed = p.Settings.ManageStock
	}
	managed = managed || w.New && p.managedByOmission(data)
	for i := range p.stockFields {
		d := &p.stockFields[i]
		n, sent := input.Present(data, d.Field)
		switch {
		case sent && w.Dialect.RejectsNonScalars && isWrongKind(d, n) && d.Check == contract.Flag:
			w.Add(d.Fault, d.Field)
		case sent && w.Dialect.RejectsNonScalars && isWrongKind(d, n):
			w.Add(d.Fault, d.Field, stockDataName)
		case !sent, !managed && !d.Unmanaged, d.If != "" && !input.IsSet(data, d.If), d.Config != "" && input.IsSet(data, d.Config):
		default:
			if err := w.CheckMember(ctx, &d.Rule, data, stockDataName); err != nil {
				return err
			}
		}
	}
	return nil
}

// changesStock reports whether an update of the product can change its stock item.
func (w *write) changesStock() bool {
	data, sent := w.Sent(stockDataName)
	return sent && len(data.Members) > 0 || w.Dialect.StockReset
}

// stockItem returns the changes of a save of the product to its stock item. ok is false if
// nothing changes.
func (w *write) stockItem(product adapter.Record) (item adapter.Record, ok bool) {
	p := &w.stock
	var current *adapter.Record
	if items := product.Get("stock_item").Records(); len(items) > 0 {
		current = &items[0]
	}
	data, sent := w.Sent(stockDataName)
	switch {
	case w.New && sent && len(data.Members) > 0:
		return p.newItem(p.parse(data, nil)), true
	case w.New:
		return p.newItem(stockChange{}), true
	case current == nil || !w.changesStock():
		return adapter.Record{}, false
	case !sent:
		return p.Apply(p.resetChange(), *current), true
	default:
		return p.Apply(p.parse(data, current), *current), true
	}
}
