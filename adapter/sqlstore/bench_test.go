package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// BenchmarkGet reads one stock item: through the store, and by a bare prepared
// statement that scans the same columns, the floor to compare with.
func BenchmarkGet(b *testing.B) {
	path := filepath.Join(b.TempDir(), "shop.db")
	db := open(b, path)
	if err := db.Load(b.Context(), data(b), nil); err != nil {
		b.Fatal(err)
	}
	s := stock(b, db)
	b.Run("store", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Get(b.Context(), &adapter.GetParams{Key: 1}); err != nil {
				b.Fatal(err)
			}
		}
	})
	raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=query_only(1)")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	var names []string
	for _, a := range adapter.NewSchemas().Of(adapter.StockItems).Attributes {
		if !a.OnDemand {
			names = append(names, a.Name)
		}
	}
	stmt, err := raw.PrepareContext(b.Context(), "SELECT "+strings.Join(names, ", ")+" FROM stock_item WHERE item_id = ?")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		var item [25]sql.NullString
		into := make([]any, len(item))
		for i := range item {
			into[i] = &item[i]
		}
		for b.Loop() {
			if err := stmt.QueryRowContext(b.Context(), 1).Scan(into...); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkList(b *testing.B) {
	s := stock(b, openDemo(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.List(b.Context(), &adapter.ListParams{Query: adapter.Query{Limit: 10}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	s := stock(b, openDemo(b))
	b.ReportAllocs()
	quantities := []string{"5.0000", "6.0000"}
	for i := 0; b.Loop(); i++ {
		err := s.Update(b.Context(), &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
			change := adapter.NewRecord(current.Schema)
			change.Set("qty", adapter.TextValue(quantities[i%2]))
			return change, nil
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReset puts the demo store back in place.
func BenchmarkReset(b *testing.B) {
	db := openDemo(b)
	for b.Loop() {
		if err := db.Reset(b.Context(), data(b)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad opens a new database, migrates it and loads the demo store.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		openDemo(b)
	}
}
