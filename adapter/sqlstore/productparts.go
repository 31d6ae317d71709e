package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/huandu/go-sqlbuilder"

	"github.com/portico-commerce/portico/adapter"
)

// partsBatch is the number of products whose parts one statement reads; each of
// its three branches binds all their ids.
const partsBatch = 128

// The parts of a product, as the statement that reads them numbers them.
const (
	tierPart = iota
	valuePart
	groupPart
)

// addParts gives the records their values at the store view of p, and the
// prices that are wanted.
func (s products) addParts(ctx context.Context, records []adapter.Record, wanted wantedParts, p *adapter.ListParams) error {
	if p.StoreID == 0 && !wanted.groupPrices && !wanted.tierPrices {
		return nil
	}
	for len(records) > 0 {
		n := min(partsBatch, len(records))
		if err := s.addBatch(ctx, records[:n], wanted, p); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

var errPart = errors.New("a row that belongs to no product that was asked for")

// addBatch adds the parts of a few records by one statement.
func (s products) addBatch(ctx context.Context, records []adapter.Record, wanted wantedParts, p *adapter.ListParams) error {
	byID := make(map[int64]*adapter.Record, len(records))
	ids := make([]any, 0, partsBatch)
	key, _ := s.table.schema.Index(s.table.schema.Key)
	for i := range records {
		id := records[i].Values[key].Int()
		byID[id] = &records[i]
		ids = append(ids, id)
		if wanted.groupPrices {
			records[i].Values[s.groupPrice] = adapter.RecordsValue(nil)
		}
		if wanted.tierPrices {
			records[i].Values[s.tierPrice] = adapter.RecordsValue(nil)
		}
	}
	text, arguments := partsStatement(s.db.engine.flavor, filledUp(ids), wanted, p)
	rows, err := s.db.reading.query(ctx, text, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		part := productPart{price: cell{kind: adapter.KindDecimal}, qty: cell{kind: adapter.KindDecimal}}
		if err := rows.Scan(&part.kind, &part.product, &part.attribute, &part.value, &part.id, &part.website, &part.group, &part.price, &part.qty); err != nil {
			return err
		}
		r, ok := byID[part.product]
		if !ok {
			return errPart
		}
		if err := s.add(r, &part, p); err != nil {
			return err
		}
	}
	return rows.Err()
}

// partsStatement returns the statement for the parts of the products ids, prices
// in the order in which they were stored. Engines that settle the type of a
// column branch by branch need the tier prices first, as they fill most columns.
func partsStatement(flavor sqlbuilder.Flavor, ids []any, wanted wantedParts, p *adapter.ListParams) (text string, arguments []any) {
	branch := func(part int, table string, columns ...string) *sqlbuilder.SelectBuilder {
		sb := flavor.NewSelectBuilder()
		sb.Select(append([]string{strconv.Itoa(part) + " AS part", "product_id"}, columns...)...).From(table)
		return sb.Where(sb.In("product_id", ids...))
	}
	none := "NULL"
	var branches []sqlbuilder.Builder
	if wanted.tierPrices {
		branches = append(branches, branch(tierPart, "product_tier_price", none, none, "value_id", "website_id", "cust_group", "price", "price_qty"))
	}
	if p.StoreID != 0 {
		values := branch(valuePart, "product_value", "attribute", "value", none+" AS value_id", none, none, none, none)
		branches = append(branches, values.Where(values.Equal("store_id", p.StoreID)))
	}
	if wanted.groupPrices {
		branches = append(branches, branch(groupPart, "product_group_price", none, none, "value_id", "website_id", "cust_group", "price", none))
	}
	if len(branches) == 1 {
		return branches[0].(*sqlbuilder.SelectBuilder).OrderBy("value_id").Build()
	}
	return flavor.NewUnionBuilder().UnionAll(branches...).OrderBy("value_id").Build()
}

// A productPart is one row: a value of a store view, or a price.
type productPart struct {
	kind               int
	product            int64
	attribute, value   sql.NullString
	id, website, group sql.NullInt64
	price, qty         cell
}

// add puts a part into its product.
func (s products) add(r *adapter.Record, part *productPart, p *adapter.ListParams) error {
	switch part.kind {
	case tierPart:
		s.addPrice(r, s.tierPrice, part).Set("price_qty", part.qty.value)
	case groupPart:
		s.addPrice(r, s.groupPrice, part)
	default:
		at, ok := s.table.schema.Index(part.attribute.String)
		if !ok || !reaches(&s.table.schema.Attributes[at], p) {
			return nil // an attribute of another time, or another scope
		}
		v, err := scopedValue(s.table.schema.Attributes[at].Kind, part.value)
		if err != nil {
			return fmt.Errorf("%s of product %d: %w", part.attribute.String, part.product, err)
		}
		r.Values[at] = v
	}
	return nil
}

func (s products) addPrice(r *adapter.Record, at int, part *productPart) adapter.Record {
	price := adapter.NewRecord(s.table.schema.Attributes[at].Nested)
	price.Set("value_id", adapter.IntegerValue(part.id.Int64))
	price.Set("website_id", adapter.IntegerValue(part.website.Int64))
	price.Set("cust_group", adapter.IntegerValue(part.group.Int64))
	price.Set("price", part.price.value)
	r.Values[at] = adapter.RecordsValue(append(r.Values[at].Records(), price))
	return price
}

// scopedValue reads a value of product_value, where all are texts.
func scopedValue(kind adapter.Kind, stored sql.NullString) (adapter.Value, error) {
	switch {
	case !stored.Valid:
		return adapter.NullValue(), nil
	case kind == adapter.KindInteger:
		i, err := strconv.ParseInt(stored.String, 10, 64)
		return adapter.IntegerValue(i), err
	default:
		return adapter.TextValue(stored.String), nil
	}
}
