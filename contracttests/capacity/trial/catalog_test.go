//go:build linux

package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv/programs"
)

// The products of the catalog, with ids from firstProduct on.
const (
	firstProduct = 1001
	manyProducts = 300
)

// loadCatalog loads the demo store into an empty database, with manyProducts products more that are
// copies of its first one.
func loadCatalog(tb testing.TB, dsn string) {
	tb.Helper()
	var store map[string]any
	apptest.Parse(tb, apptest.ReadFile(tb, filepath.Join(programs.Root(tb), "adapter", "demo", "dataset.json")), &store)
	products := store["products"].([]any)
	for i := range manyProducts {
		made := maps.Clone(products[0].(map[string]any))
		made["entity_id"], made["sku"], made["url_key"] = firstProduct+i, "made-"+strconv.Itoa(i), "made-"+strconv.Itoa(i)
		products = append(products, made)
	}
	store["products"] = products
	text, err := json.Marshal(store)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := dataset.Decode(bytes.NewReader(text), adapter.NewSchemas(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	data.Public = true
	db, err := sqlstore.Open(tb.Context(), sqlstore.Options{DSN: dsn, Migrate: true})
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(db.Load(tb.Context(), data, nil), db.Close()); err != nil {
		tb.Fatal(err)
	}
}
