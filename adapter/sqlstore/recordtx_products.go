package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// StoreViews returns all store views.
func (t *Tx) StoreViews(ctx context.Context) ([]rules.StoreView, error) {
	return engine.CollectRows(ctx, t.Query, func(rows engine.Rows) (v rules.StoreView, err error) {
		err = rows.Scan(&v.ID, &v.Website)
		return v, err
	}, "SELECT store_id, website_id FROM store ORDER BY store_id")
}

// Websites returns the websites that a product is assigned to.
func (t *Tx) Websites(ctx context.Context, product adapter.Key) ([]int64, error) {
	return engine.SelectColumn[int64](ctx, t.Query, "SELECT website_id FROM product_website WHERE product_id = ?", int64(product))
}

// At returns a product as shown at a scope, with parts.
func (t *Tx) At(ctx context.Context, product adapter.Record, level int64, parts ...string) (adapter.Record, error) {
	wanted, err := t.records.Products.RequestedParts(&adapter.Query{}, parts)
	if err != nil {
		return adapter.Record{}, err
	}
	withStock := wanted.StockItem
	wanted.StockItem = false // read below, with a lock
	shown := []adapter.Record{product.Clone()}
	err = t.records.Products.AddParts(ctx, t.Query, shown, wanted, &adapter.ListParams{StoreID: level})
	if err == nil && withStock {
		err = t.records.Products.AddStock(ctx, t.Query, shown, t.DB.Engine.LockClause)
	}
	return shown[0], err
}

// SetValues replaces the values of store views for the attributes that values has.
func (t *Tx) SetValues(ctx context.Context, product adapter.Key, views []int64, values adapter.Record) error {
	var names []any
	var rows [][]any
	for i, v := range values.Values {
		a := &values.Schema.Attributes[i]
		if v.Kind() == adapter.Absent {
			continue
		}
		names = append(names, a.Name)
		if v.Kind() == adapter.Unset {
			continue
		}
		value, folded, err := t.DB.Engine.ValueTexts(a, v)
		if err != nil {
			return &adapter.Error{Kind: adapter.Invalid, Op: "write a scoped value", Field: a.Name, Err: err}
		}
		for _, view := range views {
			rows = append(rows, []any{int64(product), view, a.Name, value, folded})
		}
	}
	sb := t.DB.Engine.Flavor.NewDeleteBuilder().DeleteFrom("product_value")
	text, arguments := sb.Where(sb.Equal("product_id", int64(product)), sb.In("store_id", distinctArguments(views)...), sb.In("attribute", names...)).Build()
	// There are too many different statements to prepare them.
	if _, err := t.Run(ctx, text, arguments...); err != nil {
		return err
	}
	return t.InsertValues(ctx, "product_value", []string{"product_id", "store_id", "attribute", "value", "value_folded"}, rows, "")
}

// distinctArguments returns ids, sorted and without duplicates, as arguments.
func distinctArguments(ids []int64) []any {
	list := make([]any, 0, len(ids))
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		list = append(list, id)
	}
	return list
}

// SetPrices changes entries of a price list of some products.
func (t *Tx) SetPrices(ctx context.Context, list string, changes ...rules.PriceChange) error {
	var added, keyless [][]any
	at, _ := t.records.Products.Table.Schema.Index(list)
	nested := t.records.Products.Table.Schema.Attributes[at].Nested
	table := priceTable(list)
	for _, change := range changes {
		for _, entry := range change.Changed {
			price, err := t.DB.Engine.Bind(&adapter.Attribute{Kind: adapter.KindDecimal}, entry.Get("price"))
			if err != nil {
				return err
			}
			if err := t.Exec(ctx, "UPDATE "+table+" SET price = ? WHERE "+nested.Key+" = ?", price, int64(entry.Key())); err != nil {
				return err
			}
		}
		for _, key := range change.Removed {
			if err := t.Exec(ctx, "DELETE FROM "+table+" WHERE "+nested.Key+" = ?", int64(key)); err != nil {
				return err
			}
		}
		for _, entry := range change.Added {
			row := []any{int64(change.Product)}
			for i, a := range entry.Schema.Attributes {
				argument, err := t.DB.Engine.Bind(&a, entry.Values[i])
				if err != nil {
					return err
				}
				if a.Name != entry.Schema.Key || argument != nil {
					row = append(row, argument)
				}
			}
			if entry.Get(entry.Schema.Key).Empty() {
				keyless = append(keyless, row)
			} else {
				added = append(added, row)
			}
		}
	}
	columns, columnsWithoutKey := []string{"product_id"}, []string{"product_id"}
	for _, a := range nested.Attributes {
		columns = append(columns, a.Name)
		if a.Name != nested.Key {
			columnsWithoutKey = append(columnsWithoutKey, a.Name)
		}
	}
	if err := t.InsertValues(ctx, table, columns, added, ""); err != nil {
		return err
	}
	return t.InsertValues(ctx, table, columnsWithoutKey, keyless, "")
}

// Restocked updates the stock in the listing rows of some products.
func (t *Tx) Restocked(ctx context.Context, products ...adapter.Key) error {
	if !t.records.hasListingTable {
		return nil
	}
	for chunk := range slices.Chunk(products, engine.IDsPerStatement) {
		arguments := engine.KeyArguments(chunk)
		if err := t.Exec(ctx, restockListingSQL+engine.InList("product_id", arguments), arguments...); err != nil {
			return err
		}
	}
	return nil
}

// Gallery returns the images of a product with their values at a scope.
func (t *Tx) Gallery(ctx context.Context, product adapter.Key, level int64) ([]rules.Image, error) {
	var images []rules.Image
	err := engine.EachRow(ctx, t.Query, func(rows engine.Rows) error {
		var key adapter.Key
		var at sql.NullInt64
		var v rules.ImageValues
		cells := []any{&key, &at, engine.NewCell(adapter.KindText, &v.Label), engine.NewCell(adapter.KindInteger, &v.Position), engine.NewCell(adapter.KindInteger, &v.Exclude)}
		if err := rows.Scan(cells...); err != nil {
			return err
		}
		if len(images) == 0 || images[len(images)-1].Key != key {
			images = append(images, rules.NewImage(key))
		}
		i := &images[len(images)-1]
		if at.Valid && at.Int64 == 0 {
			i.Global = v
		}
		if at.Valid && at.Int64 == level {
			i.Own, i.Stored = v, true
		}
		return nil
	}, "SELECT product_image.id, v.store_id, v.label, v.position, v.exclude FROM product_image"+
		" LEFT JOIN product_image_value v ON v.image_id = product_image.id AND v.store_id IN (0, ?)"+
		" WHERE product_image.product_id = ? ORDER BY product_image.id", level, int64(product))
	return images, err
}

// SetImage stores the values of an image at a scope.
func (t *Tx) SetImage(ctx context.Context, i *rules.Image, level int64, v rules.ImageValues) error {
	text := "INSERT INTO product_image_value (label, position, exclude, image_id, store_id) VALUES (?, ?, ?, ?, ?)"
	if i.Stored {
		text = "UPDATE product_image_value SET label = ?, position = ?, exclude = ? WHERE image_id = ? AND store_id = ?"
	}
	return t.Exec(ctx, text, textArgument(v.Label), integerArgument(v.Position), integerArgument(v.Exclude), int64(i.Key), level)
}

// Types returns the types of the images of a product.
func (t *Tx) Types(ctx context.Context, product adapter.Key) (rules.Types, error) {
	types := rules.Types{}
	err := engine.EachRow(ctx, t.Query, func(rows engine.Rows) error {
		var at rules.TypeAt
		var image sql.NullInt64
		err := rows.Scan(&at.Level, &at.Name, &image)
		types[at] = adapter.Key(image.Int64)
		return err
	}, "SELECT store_id, type, image_id FROM product_image_pointer WHERE product_id = ?", int64(product))
	return types, err
}

// SetTypes stores types of a product.
func (t *Tx) SetTypes(ctx context.Context, product adapter.Key, changes []rules.TypeChange) error {
	var rows [][]any
	for _, c := range changes {
		image := engine.NullIfZero(int64(c.Image))
		if c.New {
			rows = append(rows, []any{int64(product), c.Level, c.Name, image})
			continue
		}
		err := t.Exec(ctx, "UPDATE product_image_pointer SET image_id = ? WHERE product_id = ? AND store_id = ? AND type = ?", image, int64(product), c.Level, c.Name)
		if err != nil {
			return err
		}
	}
	return t.InsertValues(ctx, "product_image_pointer", []string{"product_id", "store_id", "type", "image_id"}, rows, "")
}
