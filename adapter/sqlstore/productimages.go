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
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// productImages is the store of product images. An image's label, position and types
// depend on the scope at which it is read (product_parts 2.7), so it is read from a
// derived table with the values of one scope.
type productImages struct {
	*recordStore
	atLevel *engine.Table // the derived table
	indexes []int         // schema indexes of the attributes that have columns in atLevel; types has none
}

func newProductImages(own *recordStore) productImages {
	stored := own.Table
	atLevel := &engine.Table{Schema: stored.Schema, Name: stored.Name, Columns: slices.Clone(stored.Columns)}
	for _, name := range []string{"label", "position", "exclude"} {
		atLevel.Column(name).Name = atLevel.Name + "." + name
	}
	return productImages{recordStore: own, atLevel: atLevel, indexes: atLevel.ColumnIndexes(false)}
}

// imagesAtLevel returns the statement of the derived table for a store view: each value
// is the value stored there, or else the value of the default scope. An empty label
// counts as missing. A pointer to no image hides the pointer of the default scope.
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
	names := s.atLevel.SelectColumns(s.indexes)
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
	sb := s.db.Engine.Flavor.NewSelectBuilder()
	query, err := Select(s.db.Engine, sb, s.atLevel, &p.Query)
	if err != nil {
		return nil, err
	}
	sb.From(sb.BuilderAs(imagesAtLevel(s.db.Engine.Flavor, p.StoreID), s.atLevel.Name)).Where(query.Where...)
	return s.find(ctx, sb.Select(s.selectColumns()...), query, p, s.record)
}

// checkParams fails with kind Unsupported for filters and attributes that images do not
// have.
func (s *productImages) checkParams(filters []adapter.Filter, with []string) error {
	return cmp.Or(s.Table.Schema.CheckFilters(filters), s.Table.Schema.CheckAttributes(with))
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
	r, err := s.one(ctx, s.db.ReadStatements.Query, p.Key, p.StoreID)
	if err != nil {
		return adapter.Record{}, s.db.WrapError(ctx, op, err)
	}
	return r, nil
}

// one returns one image with the values of the store view. It fails with sql.ErrNoRows
// if there is none.
func (s *productImages) one(ctx context.Context, query engine.QueryFunc, key adapter.Key, storeID int64) (adapter.Record, error) {
	sb := s.db.Engine.Flavor.NewSelectBuilder()
	sb.Select(s.selectColumns()...).From(sb.BuilderAs(imagesAtLevel(s.db.Engine.Flavor, storeID), s.atLevel.Name)).Where(sb.Equal(s.atLevel.KeyColumn(), int64(key)))
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
func (s *productImages) record(rows engine.Rows) (adapter.Record, error) {
	names := rules.ImageTypes()
	cells, pointers := make([]engine.Cell, len(s.indexes)), make([]sql.NullInt64, len(names))
	into := make([]any, 0, len(cells)+len(pointers))
	r := adapter.NewRecord(s.atLevel.Schema)
	for i, at := range s.indexes {
		cells[i] = *engine.NewCell(s.atLevel.Schema.Attributes[at].Kind, &r.Values[at])
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
