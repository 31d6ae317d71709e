package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// addStock sets the stock items of at most partsBatch products. lock is the clause that
// ends the statement; it may be empty.
func (s products) addStock(ctx context.Context, query queryFunc, records []adapter.Record, lock string) error {
	t := s.stock.table
	sb := s.db.engine.flavor.NewSelectBuilder()
	ids := make([]any, 0, partsBatch)
	byID := make(map[int64]*adapter.Record, len(records))
	for i := range records {
		id := int64(keyOf(records[i]))
		byID[id] = &records[i]
		ids = append(ids, id)
		records[i].Values[s.stockItem] = adapter.RecordsValue(nil)
	}
	sb.Select(t.selectColumns(s.stock.ownIndexes)...).From(t.name).Where(sb.In(t.column("product_id").name, padToPowerOfTwo(ids)...))
	text, arguments := sb.Build()
	rows, err := query(ctx, text+lock, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	sc := s.scannerPool.Get().(*scanner)
	defer s.putScanner(sc)
	sc.setColumns(t, s.stock.ownIndexes)
	for rows.Next() {
		item, err := sc.record(t.schema, rows)
		if err != nil {
			return err
		}
		r, ok := byID[item.Get("product_id").Int()]
		if !ok {
			return errPart
		}
		r.Values[s.stockItem] = adapter.RecordsValue([]adapter.Record{item})
	}
	return rows.Err()
}

// stockID is the id of the only stock.
const stockID = 1

// createStock stores the stock item of a new product.
func (s *productTx) createStock(ctx context.Context, op string, product adapter.Key, given adapter.Value) error {
	item, err := oneItem(op, given)
	if err != nil {
		return err
	}
	stock := s.products.stock
	for i, a := range item.Schema.Attributes {
		if a.ReadOnly && item.Values[i].Kind() != adapter.Absent {
			return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: a.Name, Err: errReadOnly}
		}
	}
	item = item.Clone()
	item.Set("product_id", adapter.IntegerValue(int64(product)))
	item.Set("stock_id", adapter.IntegerValue(stockID))
	arguments, err := stock.rowWithoutKey.arguments(s.db.engine, item)
	if err != nil {
		return err
	}
	s.executed = append(s.executed, stock.insertSQL)
	_, err = s.db.insertRow(ctx, s.tx, stock.insertSQL, arguments)
	return err
}

// updateStock changes the stock item of a product.
func (s *productTx) updateStock(ctx context.Context, op string, product adapter.Record, given adapter.Value) error {
	change, err := oneItem(op, given)
	if err != nil {
		return err
	}
	locked := []adapter.Record{product.Clone()}
	if err := s.products.addStock(ctx, s.query, locked, s.db.engine.lockClause); err != nil {
		return err
	}
	items := locked[0].Values[s.products.stockItem].Records()
	if len(items) == 0 {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "stock_item", Err: sql.ErrNoRows}
	}
	text, err := s.products.stock.updateRow(ctx, s.tx, op, keyOf(items[0]), items[0], change)
	if text != "" {
		s.executed = append(s.executed, text)
	}
	return err
}

// oneItem returns the only record in a value of stock_item.
func oneItem(op string, v adapter.Value) (adapter.Record, error) {
	if v.Kind() != adapter.Records || len(v.Records()) != 1 {
		err := fmt.Errorf("%w: want one record", errKind)
		return adapter.Record{}, &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "stock_item", Err: err}
	}
	return v.Records()[0], nil
}
