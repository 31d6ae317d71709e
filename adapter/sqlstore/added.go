package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// valuesBatch is the number of records whose added values one statement reads.
const valuesBatch = 128

// AddValues sets the added attributes of the records.
func (s *recordStore) AddValues(ctx context.Context, query engine.QueryFunc, records []adapter.Record) error {
	if !s.Table.Added {
		return nil
	}
	for batch := range slices.Chunk(records, valuesBatch) {
		if err := s.addValueBatch(ctx, query, batch); err != nil {
			return err
		}
	}
	return nil
}

func (s *recordStore) addValueBatch(ctx context.Context, query engine.QueryFunc, records []adapter.Record) error {
	key, _ := s.Table.Schema.Index(s.Table.Schema.Key)
	byID := make(map[int64]adapter.Record, len(records))
	ids := make([]any, 0, valuesBatch)
	for _, r := range records {
		byID[r.Values[key].Int()] = r
		ids = append(ids, r.Values[key].Int())
	}
	values := s.Table.Values
	sb := s.db.Engine.Flavor.NewSelectBuilder()
	sb.Select(values.KeyColumn, "attribute", "value").From(values.Name).Where(s.db.Engine.Among(sb, values.KeyColumn, s.db.Engine.IDArguments(ids)))
	text, arguments := sb.Build()
	return engine.EachRow(ctx, query, func(rows engine.Rows) error {
		var id int64
		var attribute string
		var value sql.NullString
		if err := rows.Scan(&id, &attribute, &value); err != nil {
			return err
		}
		if r, ok := byID[id]; ok {
			return s.Table.SetAdded(r, attribute, value)
		}
		return nil
	}, text, arguments...)
}
