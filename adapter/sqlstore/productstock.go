package sqlstore

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// AddStock sets the stock items of at most partsBatch products. lock is the clause that
// ends the statement; it may be empty.
func (s products) AddStock(ctx context.Context, query engine.QueryFunc, records []adapter.Record, lock string) error {
	t := s.stock.Table
	sb := s.db.Engine.Flavor.NewSelectBuilder()
	ids := make([]any, 0, partsBatch)
	byID := make(map[int64]*adapter.Record, len(records))
	for i := range records {
		id := int64(records[i].Key())
		byID[id] = &records[i]
		ids = append(ids, id)
		records[i].Values[s.stockItem] = adapter.RecordsValue(nil)
	}
	sb.Select(t.SelectColumns(s.stock.OwnIndexes)...).From(t.Name).Where(s.db.Engine.Among(sb, t.Column("product_id").Name, s.db.Engine.IDArguments(ids)))
	text, arguments := sb.Build()
	sc := s.ScannerPool.Get().(*engine.Scanner)
	defer s.PutScanner(sc)
	sc.SetColumns(t, s.stock.OwnIndexes)
	return engine.EachRow(ctx, query, func(rows engine.Rows) error {
		item, err := sc.Record(t.Schema, rows)
		if err != nil {
			return err
		}
		r, ok := byID[item.Get("product_id").Int()]
		if !ok {
			return errPart
		}
		r.Values[s.stockItem] = adapter.RecordsValue([]adapter.Record{item})
		return nil
	}, text+lock, arguments...)
}
