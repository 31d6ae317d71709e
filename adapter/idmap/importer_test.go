package idmap_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// openReplica returns the demo store as a local replica on SQLite, with an empty ID map.
func openReplica(tb testing.TB) *sqlstore.Replica {
	tb.Helper()
	return demotest.Open(tb, sqlstore.Options{DSN: demotest.SQLite(tb)}).Replica()
}

// newImporter returns an importer for a backend that has products with their stock items,
// which have no ids, and customers with their addresses, which have ids.
func newImporter(local *sqlstore.Replica) *idmap.Importer {
	schemas := adapter.NewSchemas()
	return &idmap.Importer{
		Map: local,
		Resources: []idmap.Resource{
			{Name: adapter.Products, Root: adapter.Products, HasMappings: true},
			{Name: adapter.StockItems, Root: adapter.Products},
			{Name: adapter.Customers, Root: adapter.Customers, HasMappings: true},
			{Name: adapter.CustomerAddresses, Root: adapter.Customers, HasMappings: true},
		},
		FindRecords: func(ctx context.Context, r adapter.Resource, keys []adapter.Key) (map[adapter.Key]adapter.Key, error) {
			store, err := local.Store(r)
			if err != nil {
				return nil, err
			}
			schema, rootKeys := schemas.Of(r), map[adapter.Key]adapter.Key{}
			for _, key := range keys {
				found, err := store.Get(ctx, &adapter.GetParams{Key: key})
				switch {
				case err == nil:
					rootKeys[key] = adapter.Key(found.Get(cmp.Or(schema.RootAttribute, schema.Key)).Int())
				case adapter.KindOf(err) != adapter.NotFound:
					return nil, err
				}
			}
			return rootKeys, nil
		},
	}
}

// runImport imports pairs, one a line: resource, legacy id, backend id, and the root's
// legacy id or 0. The first line is line 2, as in a file with a header.
func runImport(tb testing.TB, local *sqlstore.Replica, lines string, dry bool) (idmap.ImportResult, error) {
	tb.Helper()
	var pairs []idmap.Pair
	for i, line := range strings.Split(strings.TrimSuffix(lines, "\n"), "\n") {
		pair := idmap.Pair{Line: i + 2}
		if _, err := fmt.Sscan(line, &pair.Resource, &pair.Key, &pair.BackendID, &pair.RootKey); err != nil {
			tb.Fatalf("%q: %v", line, err)
		}
		pairs = append(pairs, pair)
	}
	return newImporter(local).Import(tb.Context(), pairs, dry, nil)
}

func allMappings(tb testing.TB, local *sqlstore.Replica) []string {
	tb.Helper()
	var all []string
	for _, r := range []adapter.Resource{adapter.Products, adapter.StockItems, adapter.Customers, adapter.CustomerAddresses} {
		mappings, err := local.ListMappings(tb.Context(), r, -1, 1000)
		if err != nil {
			tb.Fatal(err)
		}
		for _, mapping := range mappings {
			all = append(all, fmt.Sprintf("%s %d %s %s/%d %s", mapping.Resource, mapping.Key, mapping.BackendID, mapping.Root, mapping.RootKey, mapping.Base))
		}
	}
	return all
}

func TestImport(t *testing.T) {
	local := openReplica(t)
	file := "products 1 prod_1 0\ncustomers 2 cus_2 0\ncustomer_addresses 3 addr_3 2\ncustomer_addresses 1 addr_1 0\nproducts 2 prod_2 0\n"
	want := []string{
		"products 1 prod_1 /0 {}", "products 2 prod_2 /0 {}", "customers 2 cus_2 /0 {}",
		"customer_addresses 1 addr_1 customers/1 {}", "customer_addresses 3 addr_3 customers/2 {}",
	}
	if done, err := runImport(t, local, file, true); err != nil || done.Rows != 5 || done.Stored != 0 || len(allMappings(t, local)) != 0 {
		t.Errorf("dry run: %+v, %v; mappings %q", done, err, allMappings(t, local))
	}
	if done, err := runImport(t, local, file, false); err != nil || done != (idmap.ImportResult{Rows: 5, Stored: 5}) {
		t.Errorf("%+v, %v", done, err)
	}
	if got := allMappings(t, local); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	// Values agreed on since then stay unchanged.
	agreed := idmap.Mapping{Resource: adapter.Products, Key: 1, BackendID: "prod_1", Version: "t", Base: []byte(`{"name":"n"}`)}
	if err := local.PutMappings(t.Context(), agreed); err != nil {
		t.Fatal(err)
	}
	if done, err := runImport(t, local, file+"products 3 prod_3 0\n", false); err != nil || done != (idmap.ImportResult{Rows: 6, Existing: 5, Stored: 1}) {
		t.Errorf("repeated import: %+v, %v", done, err)
	}
	if got := allMappings(t, local); !slices.Contains(got, `products 1 prod_1 /0 {"name":"n"}`) || len(got) != 6 {
		t.Errorf("repeated import: %q", got)
	}
	// The document does not refer to an imported record, so it keeps its version.
	if got, err := local.MappingsByKey(t.Context(), adapter.Products, []adapter.Key{1}); err != nil || len(got) != 1 || got[0].Version != "t" {
		t.Errorf("%+v, %v: want version t", got, err)
	}
}

func TestImportErrors(t *testing.T) {
	local := openReplica(t)
	if err := local.PutMappings(t.Context(),
		idmap.Mapping{Resource: adapter.Products, Key: 7, BackendID: "prod_7"},
		idmap.Mapping{Resource: adapter.Products, Key: 8, Intent: []byte("{}")},
	); err != nil {
		t.Fatal(err)
	}
	before := allMappings(t, local)
	const good = "products 1 good 0\n"
	for _, c := range []struct {
		name, file string
		want       []string // "line: part of the text"
	}{
		{"unknown resource", good + "orders 1 a 0\nrubbish 1 b 0\n", []string{`3: the backend has no resource "orders"`, `4: the backend has no resource "rubbish"`}},
		{"part without an id", good + "stock_items 1 a 1\n", []string{"3: stock_items have no ids"}},
		{"duplicate ids", good + "products 1 other 0\nproducts 2 good 0\ncustomers 1 good 0\n", []string{"3: products 1 is already on line 2", "4: backend_id \"good\" is already on line 2"}},
		{"no such record", good + "products 99999 a 0\nproducts 0 b 0\n", []string{"3: the database has no record products 99999", "4: the database has no record products 0"}},
		{"mapped to another backend id", good + "products 7 a 0\n", []string{`3: products 7 is already mapped to "prod_7"`}},
		{"backend id mapped to another record", good + "products 2 prod_7 0\n", []string{"3: backend_id \"prod_7\" is already mapped to products 7"}},
		{"being created", good + "products 8 a 0\n", []string{"3: products 8 is being created"}},
		{"owner of a root", "products 1 a 1\n", []string{"2: products do not belong to"}},
		{"wrong owner", "customer_addresses 1 a 2\n", []string{"2: customer_addresses 1 belongs to customers 1, not to 2"}},
		{"errors out of order", "products 99999 a 0\norders 1 b 0\n" + good, []string{"2: the database has no record", "3: the backend has no resource"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := runImport(t, local, c.file, false)
			var errs adapter.LineErrors
			if !errors.As(err, &errs) {
				t.Fatalf("%v", err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("%d errors, want %d:\n%s", len(lines), len(c.want), err)
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, "line "+c.want[i]) {
					t.Errorf("%q, want %q", line, c.want[i])
				}
			}
			if got := allMappings(t, local); !slices.Equal(got, before) {
				t.Errorf("the file was refused, but stored are %q", got)
			}
		})
	}
}

// TestImportBatches imports more pairs than one batch holds.
func TestImportBatches(t *testing.T) {
	local := openReplica(t)
	schema := adapter.NewSchemas().Of(adapter.Customers)
	var records []replica.ImportedRecord
	for n := range 1100 {
		r := adapter.NewRecord(schema)
		for name, v := range map[string]int64{"website_id": 1, "group_id": 1, "store_id": 1, "disable_auto_group_change": 0} {
			r.Set(name, adapter.IntegerValue(v))
		}
		r.Set("email", adapter.TextValue(fmt.Sprintf("c%d@example.com", n)))
		records = append(records, replica.ImportedRecord{Mapping: idmap.Mapping{Resource: adapter.Customers, BackendID: fmt.Sprint("old ", n)}, Record: r})
	}
	var pairs []idmap.Pair
	for n, r := range records {
		keys, err := local.ImportRecords(t.Context(), []replica.ImportedRecord{r})
		if err != nil {
			t.Fatal(err)
		}
		if err := local.DeleteMapping(t.Context(), adapter.Customers, keys[0]); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, idmap.Pair{Resource: adapter.Customers, Key: keys[0], BackendID: fmt.Sprint("cus_", n), Line: n + 2})
	}
	last := 0
	done, err := newImporter(local).Import(t.Context(), pairs, false, func(done, total int) {
		if last = done; total != 1100 {
			t.Errorf("%d of %d", done, total)
		}
	})
	if err != nil || done.Stored != 1100 || last != 1100 {
		t.Errorf("%+v, %v, progress ended at %d", done, err, last)
	}
}

// A refusingMap is an ID map without mappings in which another process stores one of the
// mappings of the second batch.
type refusingMap struct {
	countingMap
	puts int
}

func (m *refusingMap) PutMappings(context.Context, ...idmap.Mapping) error {
	if m.puts++; m.puts == 2 {
		return &adapter.Error{Kind: adapter.Conflict, Op: "put mappings"}
	}
	return nil
}

func TestImportFailures(t *testing.T) {
	var pairs []idmap.Pair
	for key := range adapter.Key(250) {
		pairs = append(pairs, idmap.Pair{Resource: adapter.Products, Key: key + 1, BackendID: fmt.Sprint("p", key)})
	}
	found := func(_ context.Context, _ adapter.Resource, keys []adapter.Key) (map[adapter.Key]adapter.Key, error) {
		rootKeys := map[adapter.Key]adapter.Key{}
		for _, key := range keys {
			rootKeys[key] = key
		}
		return rootKeys, nil
	}
	unavailable := func(context.Context, adapter.Resource, []adapter.Key) (map[adapter.Key]adapter.Key, error) {
		return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "list products"}
	}
	for name, c := range map[string]struct {
		idMap       idmap.Map
		findRecords func(context.Context, adapter.Resource, []adapter.Key) (map[adapter.Key]adapter.Key, error)
		want        adapter.ErrorKind
		stored      int
	}{
		"records cannot be read":  {&refusingMap{}, unavailable, adapter.Unavailable, 0},
		"mappings cannot be read": {failingMap{}, found, adapter.Unavailable, 0},
		"a pair is stored since":  {&refusingMap{}, found, adapter.Conflict, 100},
	} {
		importer := idmap.Importer{Map: c.idMap, Resources: []idmap.Resource{{Name: adapter.Products, Root: adapter.Products, HasMappings: true}}, FindRecords: c.findRecords}
		result, err := importer.Import(t.Context(), pairs, false, nil)
		if adapter.KindOf(err) != c.want || result.Rows != 250 || result.Stored != c.stored {
			t.Errorf("%s: %+v, %v; want %d stored and %v", name, result, err, c.stored, c.want)
		}
	}
}
