package sqlstore

import (
	"context"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// addPointers sets the ids of the images to which the types of at most partsBatch products
// point at a scope.
func (s products) addPointers(ctx context.Context, query engine.QueryFunc, records []adapter.Record, level int64) error {
	ids := make([]any, 0, partsBatch)
	byID := make(map[int64]adapter.Record, len(records))
	for _, r := range records {
		byID[int64(r.Key())] = r
		ids = append(ids, int64(r.Key()))
	}
	sb := s.db.Engine.Flavor.NewSelectBuilder()
	sb.Select("product_id", "type", "image_id").From("product_image_pointer")
	sb.Where(s.db.Engine.Among(sb, "product_id", s.db.Engine.IDArguments(ids)), sb.In("store_id", int64(0), level)).OrderBy("store_id")
	text, arguments := sb.Build()
	return engine.EachRow(ctx, query, func(rows engine.Rows) error {
		var product int64
		var name string
		var image adapter.Value
		if err := rows.Scan(&product, &name, engine.NewCell(adapter.KindInteger, &image)); err != nil {
			return err
		}
		r, ok := byID[product]
		if !ok {
			return errPart
		}
		r.Set(rules.PointerTo(name), image) // the pointer of the scope follows the pointer of the default scope
		return nil
	}, text, arguments...)
}
