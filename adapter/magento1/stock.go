package magento1

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// defaultStock is the stock of the contract. Legacy stores have one.
const defaultStock = 1

// A stockReader reads stock items.
type stockReader struct {
	d    *Database
	rows *tableReader
}

func (s *stockReader) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	f := flatTable{
		part: Stock, resource: adapter.StockItems, table: "cataloginventory_stock_item", keyColumn: "item_id",
		oldNames: map[string]string{
			"use_config_enable_qty_inc": "use_config_enable_qty_increments", "stock_status_changed_auto": "stock_status_changed_automatically",
		},
		fallbacks: map[string]adapter.Value{}, flat: true,
	}
	// Columns that earlier versions lack are off, and set by the store where there is
	// a setting.
	for _, a := range s.d.schemas.Of(adapter.StockItems).Attributes {
		switch {
		case !a.Required || a.Name == "product_id":
		case a.Kind == adapter.KindDecimal:
			f.fallbacks[a.Name] = adapter.TextValue("0.0000")
		case a.Name == "use_config_enable_qty_inc" || a.Name == "use_config_qty_increments":
			f.fallbacks[a.Name] = adapter.IntegerValue(1)
		default:
			f.fallbacks[a.Name] = zero()
		}
	}
	s.rows, err = s.d.newTableReader(ctx, tx, f)
	return err
}

func (s *stockReader) next(ctx context.Context, tx *sql.Tx, w window) ([]adapter.Aggregate, int64, error) {
	records, last, err := s.rows.nextBatch(ctx, tx, w)
	if err != nil || last == w.after {
		return nil, w.after, err
	}
	lost := map[int64]bool{}
	err = s.d.conn.Each(ctx, tx, "SELECT i.item_id FROM "+s.d.conn.Table("cataloginventory_stock_item")+" i LEFT JOIN "+s.d.conn.Table("catalog_product_entity")+
		" e ON e.entity_id = i.product_id WHERE "+w.until(last).has("i.item_id")+" AND e.entity_id IS NULL", func(r row) error {
		lost[r.ID(0)] = true
		return nil
	})
	var kept []adapter.Record
	for _, r := range records {
		key := fmt.Sprintf("stock item %d, product %d", keyOf(r), r.Get("product_id").Int())
		switch {
		case lost[keyOf(r)]:
			s.d.conn.skip(Stock, s.rows.table, key, ReasonNoRecord)
		case r.Get("stock_id").Int() != defaultStock:
			s.d.conn.skip(Stock, s.rows.table, key, ReasonStock)
		default:
			kept = append(kept, r)
		}
	}
	return aggregates(kept), last, err
}
