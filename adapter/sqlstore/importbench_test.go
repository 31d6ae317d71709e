package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// importedShop makes batches of products as an old shop has them: each with values at three
// store views, a website, a category, a stock item and two images.
type importedShop struct{ schemas *adapter.Schemas }

// benchBatch is the number of products in a batch.
const benchBatch = 100

func (s importedShop) record(r adapter.Resource, values map[string]any) adapter.Record {
	record := adapter.NewRecord(s.schemas.Of(r))
	for name, v := range values {
		switch v := v.(type) {
		case int:
			record.Set(name, adapter.IntegerValue(int64(v)))
		case string:
			record.Set(name, adapter.TextValue(v))
		default:
			record.Set(name, adapter.NullValue())
		}
	}
	return record
}

// batch returns the records of benchBatch products from an id on.
func (s importedShop) batch(first int) []adapter.Aggregate {
	var products, stock, images []adapter.Aggregate
	for id := first; id < first+benchBatch; id++ {
		products = append(products, s.product(id))
		item := s.record(adapter.StockItems, map[string]any{"item_id": id, "product_id": id, "stock_id": 1})
		for i, a := range item.Schema.Attributes {
			if a.Required && item.Values[i].Kind() == adapter.Absent {
				item.Values[i] = map[adapter.Kind]adapter.Value{adapter.KindInteger: adapter.IntegerValue(1), adapter.KindDecimal: adapter.TextValue("2.0000")}[a.Kind]
			}
		}
		stock = append(stock, adapter.Aggregate{Record: item})
		images = append(images, s.images(id))
	}
	return slices.Concat(products, stock, images)
}

func (s importedShop) product(id int) adapter.Aggregate {
	one := adapter.Aggregate{
		Record: s.record(adapter.Products, map[string]any{
			"entity_id": id, "attribute_set_id": 4, "type_id": "simple", "sku": fmt.Sprintf("imported-%d", id),
			"created_at": "2013-01-02 03:04:05", "updated_at": "2013-01-02 03:04:05", "name": fmt.Sprintf("Product %d", id),
			"url_key": fmt.Sprintf("product-%d", id), "description": "A description of some length, as shops have them.", "short_description": "Short",
			"price": "12.5000", "weight": "1.0000", "special_price": nil, "status": 1, "visibility": 4, "tax_class_id": 2, "meta_title": nil,
			"options_container": "container1", "msrp_enabled": "2", "msrp_display_actual_price_type": "4", "news_from_date": nil,
		}),
		PartsOf: []adapter.Resource{adapter.ProductWebsites, adapter.ProductCategories},
		Parts: []adapter.Record{
			s.record(adapter.ProductWebsites, map[string]any{"product_id": id, "website_id": 1}),
			s.record(adapter.ProductCategories, map[string]any{"product_id": id, "category_id": 3, "position": id % 10}),
		},
	}
	for view := 1; view <= 3; view++ {
		one.Levels = append(one.Levels, adapter.Level{StoreID: int64(view), Record: s.record(adapter.Products, map[string]any{
			"entity_id": id, "name": fmt.Sprintf("Name %d at %d", id, view), "description": "Another description", "status": 1, "visibility": 4, "meta_title": nil,
		})})
	}
	return one
}

func (s importedShop) images(id int) adapter.Aggregate {
	one := adapter.Aggregate{
		Record: s.record(adapter.Products, map[string]any{"entity_id": id}), PartsOnly: true, PartsOf: []adapter.Resource{adapter.ProductImages},
		Levels: []adapter.Level{{Record: s.record(adapter.Products, map[string]any{"entity_id": id, "image_id": 2 * id, "small_image_id": 2 * id, "thumbnail_id": 2*id + 1})}},
	}
	for image := 2 * id; image <= 2*id+1; image++ {
		one.Parts = append(one.Parts, s.record(adapter.ProductImages, map[string]any{"id": image, "product_id": id, "file": fmt.Sprintf("p/r/product-%d.png", image)}))
		one.Levels = append(one.Levels, adapter.Level{Record: s.record(adapter.ProductImages, map[string]any{"id": image, "label": "Label", "position": 1, "exclude": 0})})
	}
	return one
}

// BenchmarkImport imports products into the demo store and imports the same again. The floor
// inserts the same rows by as few statements, and does nothing else. "times-floor" is how much
// longer an import takes than that, and "times-again" how much longer than the second one.
func BenchmarkImport(b *testing.B) {
	for _, e := range Engines() {
		b.Run(e.Name, func(b *testing.B) {
			db, err := Open(b.Context(), Options{DSN: e.NewDemo(b), SecretKey: SecretKey})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = db.Close() })
			shop := importedShop{db.schemas}
			o := adapter.ImportOptions{Existing: adapter.ReplaceExisting, Source: "old"}
			timed := func(run func() error) time.Duration {
				begin := time.Now()
				if err := run(); err != nil {
					b.Fatal(err)
				}
				return time.Since(begin)
			}
			var firsts, agains, floors []time.Duration
			next := 1000
			for b.Loop() {
				batch, other := shop.batch(next), shop.batch(next+benchBatch)
				next += 2 * benchBatch
				importAll := func() error { _, err := db.Adapter().Import(b.Context(), batch, o); return err }
				firsts = append(firsts, timed(importAll))
				agains = append(agains, timed(importAll))
				rows := shop.rows(b, db, other)
				floors = append(floors, timed(func() error { return insertRows(b.Context(), db, rows) }))
			}
			median := func(all []time.Duration) float64 {
				slices.Sort(all)
				return float64(all[len(all)/2])
			}
			first, again, floor := median(firsts), median(agains), median(floors)
			b.ReportMetric(benchBatch*1e9/first, "products/s")
			b.ReportMetric(benchBatch*1e9/again, "again/s")
			b.ReportMetric(first/floor, "times-floor")
			b.ReportMetric(first/again, "times-again")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// tableRows are rows of one table.
type tableRows struct {
	table   string
	columns []string
	rows    [][]any
}

// rows returns the rows of a batch, each table after those that it refers to.
func (s importedShop) rows(b *testing.B, db *DB, batch []adapter.Aggregate) []tableRows {
	byTable := map[string]*tableRows{}
	var order []string
	add := func(table string, columns []string, row ...any) {
		if byTable[table] == nil {
			byTable[table] = &tableRows{table: table, columns: columns}
			order = append(order, table)
		}
		byTable[table].rows = append(byTable[table].rows, row)
	}
	record := func(r adapter.Record) {
		t := db.records[r.Schema.Resource]
		encoder := t.row
		if r.Get(r.Schema.Key).Empty() {
			encoder = t.rowWithoutKey
		}
		row, err := encoder.appendArguments(nil, db.engine, r)
		if err != nil {
			b.Fatal(err)
		}
		add(t.table.name, encoder.columns, row...)
	}
	for _, one := range batch {
		if !one.PartsOnly {
			record(one.Record)
			add("imported_record", []string{"source", "resource", "record_key"}, "old", string(one.Record.Schema.Resource), int64(one.Record.Key()))
		}
		for _, part := range one.Parts {
			if file := part.Get("file"); !file.Empty() {
				part.Set("media_type", adapter.TextValue("image/png"))
				add("media_file", []string{"file", "media_type"}, file.Text(), "image/png")
			}
			record(part)
		}
		for _, l := range one.Levels {
			s.levelRows(db, l, add)
		}
	}
	rows := make([]tableRows, len(order))
	for i, name := range order {
		rows[i] = *byTable[name]
	}
	return rows
}

// levelRows adds the rows of what a record has at a level.
func (s importedShop) levelRows(db *DB, l adapter.Level, add func(table string, columns []string, row ...any)) {
	key := int64(l.Record.Key())
	if l.Record.Schema.Resource == adapter.ProductImages {
		add("product_image_value", []string{"image_id", "store_id", "label", "position", "exclude"}, key, l.StoreID, "Label", int64(1), int64(0))
		return
	}
	for i, v := range l.Record.Values {
		a := &l.Record.Schema.Attributes[i]
		switch {
		case v.Kind() == adapter.Absent || a.Name == l.Record.Schema.Key:
		case a.OnDemand:
			add("product_image_pointer", []string{"product_id", "store_id", "type", "image_id"}, key, l.StoreID, a.Name[:len(a.Name)-len("_id")], v.Int())
		default:
			value, folded, _ := db.engine.valueTexts(a, v)
			add("product_value", []string{"product_id", "store_id", "attribute", "value", "value_folded"}, key, l.StoreID, a.Name, value, folded)
		}
	}
}

// insertRows inserts rows in one transaction.
func insertRows(ctx context.Context, db *DB, all []tableRows) error {
	return db.write(ctx, "insert", func(tx *sql.Tx) error {
		t := newWriteTx(db, tx)
		for _, rows := range all {
			if err := t.insertValues(ctx, rows.table, rows.columns, rows.rows, ""); err != nil {
				return err
			}
		}
		return nil
	})
}
