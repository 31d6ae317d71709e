package replica_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// runImport imports pairs, one a line: resource, legacy id, backend id, and the root's
// legacy id or 0. The first line is line 2, as in a file with a header.
func runImport(tb testing.TB, local replica.Replica, lines string, dry bool) (replica.IDImportResult, error) {
	tb.Helper()
	var pairs []replica.IDPair
	for i, line := range strings.Split(strings.TrimSuffix(lines, "\n"), "\n") {
		pair := replica.IDPair{Line: i + 2}
		if _, err := fmt.Sscan(line, &pair.Resource, &pair.Key, &pair.BackendID, &pair.RootKey); err != nil {
			tb.Fatalf("%q: %v", line, err)
		}
		pairs = append(pairs, pair)
	}
	return newAdapter(tb, local, &staticBackend{}).ImportIDs(tb.Context(), pairs, dry, nil)
}

func allMappings(tb testing.TB, local replica.Replica) []string {
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

func TestIDImport(t *testing.T) {
	local := demoReplica(t)
	file := "products 1 prod_1 0\ncustomers 2 cus_2 0\ncustomer_addresses 3 addr_3 2\ncustomer_addresses 1 addr_1 0\nproducts 2 prod_2 0\n"
	want := []string{
		"products 1 prod_1 /0 {}", "products 2 prod_2 /0 {}", "customers 2 cus_2 /0 {}",
		"customer_addresses 1 addr_1 customers/1 {}", "customer_addresses 3 addr_3 customers/2 {}",
	}
	if done, err := runImport(t, local, file, true); err != nil || done.Rows != 5 || done.Stored != 0 || len(allMappings(t, local)) != 0 {
		t.Errorf("dry run: %+v, %v; mappings %q", done, err, allMappings(t, local))
	}
	if done, err := runImport(t, local, file, false); err != nil || done != (replica.IDImportResult{Rows: 5, Stored: 5}) {
		t.Errorf("%+v, %v", done, err)
	}
	if got := allMappings(t, local); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	// Values agreed on since then stay as they are.
	agreed := replica.Mapping{Resource: adapter.Products, Key: 1, BackendID: "prod_1", Version: "t", Base: []byte(`{"name":"n"}`)}
	if err := local.PutMappings(t.Context(), agreed); err != nil {
		t.Fatal(err)
	}
	if done, err := runImport(t, local, file+"products 3 prod_3 0\n", false); err != nil || done != (replica.IDImportResult{Rows: 6, Existing: 5, Stored: 1}) {
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

func TestIDImportErrors(t *testing.T) {
	local := demoReplica(t)
	if err := local.PutMappings(t.Context(),
		replica.Mapping{Resource: adapter.Products, Key: 7, BackendID: "prod_7"},
		replica.Mapping{Resource: adapter.Products, Key: 8, Intent: []byte("{}")},
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

// TestIDImportBatches imports more pairs than one batch holds.
func TestIDImportBatches(t *testing.T) {
	local := demoReplica(t)
	schema := adapter.NewSchemas().Of(adapter.Customers)
	var records []replica.ImportedRecord
	for n := range 1100 {
		r := adapter.NewRecord(schema)
		for name, v := range map[string]int64{"website_id": 1, "group_id": 1, "store_id": 1, "disable_auto_group_change": 0} {
			r.Set(name, adapter.IntegerValue(v))
		}
		r.Set("email", adapter.TextValue(fmt.Sprintf("c%d@example.com", n)))
		records = append(records, replica.ImportedRecord{Mapping: replica.Mapping{Resource: adapter.Customers, BackendID: fmt.Sprint("old ", n)}, Record: r})
	}
	var pairs []replica.IDPair
	for n, r := range records {
		keys, err := local.ImportRecords(t.Context(), []replica.ImportedRecord{r})
		if err != nil {
			t.Fatal(err)
		}
		if err := local.DeleteMapping(t.Context(), adapter.Customers, keys[0]); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, replica.IDPair{Resource: adapter.Customers, Key: keys[0], BackendID: fmt.Sprint("cus_", n), Line: n + 2})
	}
	last := 0
	done, err := newAdapter(t, local, &staticBackend{}).ImportIDs(t.Context(), pairs, false, func(done, total int) {
		if last = done; total != 1100 {
			t.Errorf("%d of %d", done, total)
		}
	})
	if err != nil || done.Stored != 1100 || last != 1100 {
		t.Errorf("%+v, %v, progress ended at %d", done, err, last)
	}
}
