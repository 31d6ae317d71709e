package sqlstore

import (
	"context"
	"database/sql"

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
		id := int64(records[i].Key())
		byID[id] = &records[i]
		ids = append(ids, id)
		records[i].Values[s.stockItem] = adapter.RecordsValue(nil)
	}
	sb.Select(t.selectColumns(s.stock.ownIndexes)...).From(t.name).Where(sb.In(t.column("product_id").name, padToPowerOfTwo(ids)...))
	text, arguments := sb.Build()
	sc := s.scannerPool.Get().(*scanner)
	defer s.putScanner(sc)
	sc.setColumns(t, s.stock.ownIndexes)
	return eachRow(ctx, query, func(rows *sql.Rows) error {
		item, err := sc.record(t.schema, rows)
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
