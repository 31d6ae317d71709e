package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// productImages is the store of product images. An image's label, position and types
// depend on the level at which it is read (product_parts 2.7), so it is read from a
// derived table with the values of one level.
type productImages struct {
	*store
	atLevel *table // the derived table
	indexes []int  // schema indexes of the attributes that have columns in atLevel; types has none
}

func newProductImages(own *store) productImages {
	stored := own.table
	atLevel := &table{schema: stored.schema, name: stored.name, columns: slices.Clone(stored.columns)}
	for _, name := range []string{"label", "position", "exclude"} {
		atLevel.column(name).name = atLevel.name + "." + name
	}
	return productImages{store: own, atLevel: atLevel, indexes: atLevel.columnIndexes(false)}
}

// imagesAtLevel returns the statement of the derived table for a store view: each value
// is the one stored there, or else the one of level 0. An empty label counts as not
// stored. A pointer to no image hides that of level 0.
func imagesAtLevel(flavor sqlbuilder.Flavor, storeID int64) *sqlbuilder.SelectBuilder {
	sb := flavor.NewSelectBuilder()
	levels := fmt.Sprintf("store_id IN (0, %s) ", sb.Var(storeID))
	value := func(column, isStored string) string {
		return "(SELECT " + column + " FROM product_image_value WHERE image_id = product_image.id AND " + isStored + " AND " + levels +
			"ORDER BY store_id DESC LIMIT 1) AS " + column
	}
	columns := []string{
		"id", "product_id", "file", "media_type",
		value("label", "LENGTH(label) > 0"), value("position", "position IS NOT NULL"), value("exclude", "exclude IS NOT NULL"),
	}
	for _, name := range rules.ImageTypes() {
		columns = append(columns, "(SELECT image_id FROM product_image_pointer WHERE product_id = product_image.product_id AND type = "+sb.Var(name)+
			" AND "+levels+"ORDER BY store_id DESC LIMIT 1) AS "+name+"_pointer")
	}
	return sb.Select(columns...).From("product_image")
}

// selectColumns returns the columns that record scans.
func (s *productImages) selectColumns() []string {
	names := s.atLevel.selectColumns(s.indexes)
	for _, name := range rules.ImageTypes() {
		names = append(names, name+"_pointer")
	}
	return names
}

// List returns the images that a query selects, with the values of the store view.
func (s productImages) List(ctx context.Context, p *adapter.ListParams) (*adapter.ListResult, error) {
	if p.OwnerID != 0 {
		_, err := s.ownerColumn("list")
		return nil, err
	}
	if err := s.checkParams(p.Filters, p.With); err != nil {
		return nil, err
	}
	sb := s.db.engine.flavor.NewSelectBuilder()
	query, err := selectRecords(s.db.engine, sb, s.atLevel, &p.Query)
	if err != nil {
		return nil, err
	}
	sb.From(sb.BuilderAs(imagesAtLevel(s.db.engine.flavor, p.StoreID), s.atLevel.name)).Where(query.where...)
	return s.find(ctx, sb.Select(s.selectColumns()...), query, p, s.record)
}

// checkParams fails with kind Unsupported for filters and attributes that images do not
// have.
func (s *productImages) checkParams(filters []adapter.Filter, with []string) error {
	return cmp.Or(s.table.schema.CheckFilters(filters), s.table.schema.CheckAttributes(with))
}

// Get returns one image with the values of the store view.
func (s productImages) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	op := fmt.Sprintf("get product_images %d", p.Key)
	if err := s.checkParams(p.Filters, p.With); err != nil {
		return adapter.Record{}, err
	}
	if p.OwnerID != 0 {
		return adapter.Record{}, &adapter.Error{Kind: adapter.NotFound, Op: op, Err: errNoOwner}
	}
	r, err := s.one(ctx, s.db.readStatements.query, p.Key, p.StoreID)
	if err != nil {
		return adapter.Record{}, s.db.wrapError(ctx, op, err)
	}
	return r, nil
}

// one returns one image with the values of the store view. It fails with sql.ErrNoRows
// if there is none.
func (s *productImages) one(ctx context.Context, query queryFunc, key adapter.Key, storeID int64) (adapter.Record, error) {
	sb := s.db.engine.flavor.NewSelectBuilder()
	sb.Select(s.selectColumns()...).From(sb.BuilderAs(imagesAtLevel(s.db.engine.flavor, storeID), s.atLevel.name)).Where(sb.Equal(s.atLevel.keyColumn(), int64(key)))
	var found postFilter
	err := s.eachRecord(ctx, query, sb, s.record, found.add)
	if err == nil && len(found.records) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return adapter.Record{}, err
	}
	return found.records[0], nil
}

// record reads the current row.
func (s *productImages) record(rows *sql.Rows) (adapter.Record, error) {
	names := rules.ImageTypes()
	cells, pointers := make([]cell, len(s.indexes)), make([]sql.NullInt64, len(names))
	into := make([]any, 0, len(cells)+len(pointers))
	r := adapter.NewRecord(s.atLevel.schema)
	for i, at := range s.indexes {
		cells[i] = cell{s.atLevel.schema.Attributes[at].Kind, &r.Values[at]}
		into = append(into, &cells[i])
	}
	for i := range pointers {
		into = append(into, &pointers[i])
	}
	if err := rows.Scan(into...); err != nil {
		return adapter.Record{}, err
	}
	types := []string{}
	for i, pointer := range pointers {
		if pointer.Valid && pointer.Int64 == r.Get("id").Int() {
			types = append(types, names[i])
		}
	}
	r.Set("types", adapter.TextsValue(types))
	return r, nil
}

// addPointers sets the ids of the images to which the types of at most partsBatch products
// point at a level.
func (s products) addPointers(ctx context.Context, query queryFunc, records []adapter.Record, level int64) error {
	ids := make([]any, 0, partsBatch)
	byID := make(map[int64]adapter.Record, len(records))
	for _, r := range records {
		byID[int64(r.Key())] = r
		ids = append(ids, int64(r.Key()))
	}
	sb := s.db.engine.flavor.NewSelectBuilder()
	sb.Select("product_id", "type", "image_id").From("product_image_pointer")
	sb.Where(sb.In("product_id", padToPowerOfTwo(ids)...), sb.In("store_id", int64(0), level)).OrderBy("store_id")
	text, arguments := sb.Build()
	return eachRow(ctx, query, func(rows *sql.Rows) error {
		var product int64
		var name string
		var image adapter.Value
		if err := rows.Scan(&product, &name, &cell{adapter.KindInteger, &image}); err != nil {
			return err
		}
		r, ok := byID[product]
		if !ok {
			return errPart
		}
		r.Set(rules.PointerTo(name), image) // that of the level follows that of the default scope
		return nil
	}, text, arguments...)
}
