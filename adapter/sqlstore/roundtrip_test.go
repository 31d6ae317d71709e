package sqlstore

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/memstore"
)

// A filledStore is a store that was filled with a data set.
type filledStore interface {
	adapter.Adapter
	adapter.Exporter
}

// A storeKind opens stores filled with a data set.
type storeKind struct {
	name string
	fill func(testing.TB, *adapter.Schemas, *adapter.Dataset) (store filledStore, image func(file string) ([]byte, error))
}

func storeKinds() []storeKind {
	kinds := []storeKind{{"memstore", fillMemory}}
	for _, e := range sqltest.Engines() {
		kinds = append(kinds, storeKind{e.Name, func(tb testing.TB, s *adapter.Schemas, data *adapter.Dataset) (filledStore, func(string) ([]byte, error)) {
			return fillSQL(tb, e.NewDSN(tb), s, data)
		}})
	}
	return kinds
}

func fillMemory(tb testing.TB, s *adapter.Schemas, data *adapter.Dataset) (filledStore, func(string) ([]byte, error)) {
	a := memstore.New(memstore.Options{Schemas: s})
	if err := a.Load(tb.Context(), data); err != nil {
		tb.Fatal(err)
	}
	return a, func(file string) ([]byte, error) {
		bytes, _, _, err := a.ImageFile(context.Background(), file)
		return bytes, err
	}
}

func fillSQL(tb testing.TB, dsn string, s *adapter.Schemas, data *adapter.Dataset) (filledStore, func(string) ([]byte, error)) {
	db := OpenWith(tb, Options{DSN: dsn, Migrate: true, Schemas: s, MediaDir: filepath.Join(tb.TempDir(), "media"), PasswordCost: 4})
	if err := db.Load(tb.Context(), data, nil); err != nil {
		tb.Fatal(err)
	}
	return db.Adapter(), func(file string) ([]byte, error) {
		in, err := db.OpenMedia(context.Background(), file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = in.Close() }()
		return io.ReadAll(in)
	}
}

// exported returns the data set of a store, with its images.
func exported(tb testing.TB, from adapter.Exporter, s *adapter.Schemas, image func(string) ([]byte, error)) string {
	tb.Helper()
	var out bytes.Buffer
	e := dataset.NewEncoder(&out, s, func(file string) (dataset.Content, error) {
		content, err := image(file)
		return dataset.Content{Bytes: content}, err
	})
	for _, r := range e.Lists() {
		// A batch of two, so that there are several.
		if err := e.WriteList(r, func(after adapter.Key) ([]adapter.Aggregate, error) { return from.Export(tb.Context(), r, after, 2) }); err != nil {
			tb.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// decoded returns a data set of the public credentials, which are fast to hash.
func decoded(tb testing.TB, text string, s *adapter.Schemas) *adapter.Dataset {
	tb.Helper()
	data, err := dataset.Decode(strings.NewReader(text), s, nil)
	if err != nil {
		tb.Fatal(err)
	}
	data.Public = true
	return data
}

// writeAll changes a store as clients do, so that it holds values that no hand-written data
// set has.
func writeAll(tb testing.TB, a adapter.Adapter, s *adapter.Schemas) {
	tb.Helper()
	change := func(r adapter.Resource, key adapter.Key, level int64, set attrs) {
		if err := adaptertest.Update(tb, adaptertest.StoreOf(tb, a, r), key, level, set); err != nil {
			tb.Fatal(err)
		}
	}
	image := attrs{"product_id": 1, "file": "k/e/kettle.png", "media_type": "image/png", "content": "\x00\xff", "label": `"<é>"`, "types": []string{"thumbnail"}}.Record(s.Of(adapter.ProductImages))
	if _, err := adaptertest.StoreOf(tb, a, adapter.ProductImages).Create(tb.Context(), &adapter.CreateParams{Record: image, StoreID: 1}); err != nil {
		tb.Fatal(err)
	}
	change(adapter.Products, 1, 0, attrs{"meta_title": nil, "special_price": adapter.UnsetValue()})
	change(adapter.Products, 1, 2, attrs{"name": "Kessel", "news_from_date": nil})
	change(adapter.StockItems, 1, 0, attrs{"qty": "-1.0000"})
	change(adapter.Customers, 1, 0, attrs{"suffix": nil, "taxvat": adapter.UnsetValue()})
	change(adapter.CustomerAddresses, 1, 0, attrs{"street": []string{"a", "", "b"}})
}

// TestRoundTrip checks that a store that is filled with an export of another one, of any
// kind, exports the same bytes.
func TestRoundTrip(t *testing.T) {
	schemas := addedSchemas(t)
	example, err := dataset.Example(schemas)
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for _, kind := range storeKinds() {
		t.Run(kind.name, func(t *testing.T) {
			store, image := kind.fill(t, schemas, decoded(t, string(example), schemas))
			writeAll(t, store, schemas)
			text := exported(t, store, schemas, image)
			for _, part := range []string{`"stores":{"2":{"name":"Kessel"`, `"thumbnail_id":null`, `"content":"AP8="`, `"Der Kessel"`, `"qty":"-1.0000"`} {
				if !strings.Contains(text, part) {
					t.Errorf("the export lacks %s", part)
				}
			}
			if first == "" {
				first = text
			}
			again, image := kind.fill(t, schemas, decoded(t, text, schemas))
			if diff := cmp.Diff(strings.Split(text, "\n"), strings.Split(exported(t, again, schemas, image), "\n")); diff != "" {
				t.Errorf("the export of its export differs:\n%s", diff)
			}
			other, image := kind.fill(t, schemas, decoded(t, first, schemas))
			if diff := cmp.Diff(strings.Split(first, "\n"), strings.Split(exported(t, other, schemas, image), "\n")); diff != "" {
				t.Errorf("the export of the export of another kind differs:\n%s", diff)
			}
		})
	}
}
