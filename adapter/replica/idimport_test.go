package replica_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

const importHeader = "resource,legacy_id,backend_id\n"

func runImport(tb testing.TB, local replica.Replica, file string, dry bool) (replica.IDImportResult, error) {
	tb.Helper()
	return newAdapter(tb, local, &staticBackend{}).ImportIDs(tb.Context(), strings.NewReader(file), dry, nil)
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
	file := "\ufeffresource,legacy_id,backend_id,owner_id\r\n" +
		"products,1,prod_1,\r\n\r\n" +
		"customers,2,\"cus,2\",\n" +
		"customer_addresses,3,addr_3,2\n" +
		"customer_addresses,1,addr_1,\n" +
		"products,2,prod_2,\n"
	want := []string{
		"products 1 prod_1 /0 {}", "products 2 prod_2 /0 {}", "customers 2 cus,2 /0 {}",
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
	if done, err := runImport(t, local, file+"products,3,prod_3,\n", false); err != nil || done != (replica.IDImportResult{Rows: 6, Existing: 5, Stored: 1}) {
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
	const owners = "resource,legacy_id,backend_id,owner_id\n"
	const good = "products,1,good\n"
	for _, c := range []struct {
		name, file string
		want       []string // "line: part of the text"
	}{
		{"empty", "", []string{"1: no header"}},
		{"no header", "products,1,a\n", []string{"1: the header must be"}},
		{"columns in another order", "legacy_id,resource,backend_id\n", []string{"1: the header must be"}},
		{"wrong number of fields", importHeader + good + "products,2\nproducts,2,a,b\n", []string{"3: 2 fields", "4: 4 fields"}},
		{"broken quotes", importHeader + good + "products,2,\"a\nproducts,3,c\"\n", []string{"3: not CSV", "4: not CSV"}},
		{"unknown resource", importHeader + good + "orders,1,a\nrubbish,1,b\n,1,c\n", []string{`3: the backend has no resource "orders"`, `4: the backend has no resource "rubbish"`, `5: the backend has no resource ""`}},
		{"part without an id", importHeader + good + "stock_items,1,a\n", []string{"3: stock_items have no ids"}},
		{"bad legacy id", importHeader + "products,x,a\nproducts,+1,b\nproducts,01,c\nproducts,-1,d\nproducts,9223372036854775808,e\nproducts,,f\n", []string{`2: legacy_id "x"`, `3: legacy_id "+1"`, `4: legacy_id "01"`, `5: legacy_id "-1"`, `6: legacy_id`, `7: legacy_id ""`}},
		{"bad backend id", importHeader + "products,1,\nproducts,2, b\nproducts,3,a\tb\nproducts,4,\xff\nproducts,5," + strings.Repeat("ä", 256) + "\n", []string{"2: backend_id \"\" is empty", "3: backend_id \" b\" starts or ends with", "4: backend_id \"a\\tb\" contains a control", "5: backend_id \"\\xff\" is not UTF-8", "6: backend_id"}},
		{"duplicate ids", importHeader + good + "products,1,other\nproducts,2,good\ncustomers,1,good\n", []string{"3: products 1 is already on line 2", "4: backend_id \"good\" is already on line 2"}},
		{"no such record", importHeader + good + "products,99999,a\nproducts,0,b\n", []string{"3: the database has no record products 99999", "4: the database has no record products 0"}},
		{"mapped to another backend id", importHeader + good + "products,7,a\n", []string{`3: products 7 is already mapped to "prod_7"`}},
		{"backend id mapped to another record", importHeader + good + "products,2,prod_7\n", []string{"3: backend_id \"prod_7\" is already mapped to products 7"}},
		{"being created", importHeader + good + "products,8,a\n", []string{"3: products 8 is being created"}},
		{"owner of a root", owners + "products,1,a,1\n", []string{"2: products do not belong to"}},
		{"bad owner", owners + "customer_addresses,1,a,x\ncustomer_addresses,2,b,0\n", []string{`2: owner_id "x"`, `3: owner_id "0"`}},
		{"wrong owner", owners + "customer_addresses,1,a,2\n", []string{"2: customer_addresses 1 belongs to customers 1, not to 2"}},
		{"long line", importHeader + good + "products,2," + strings.Repeat("x", 5000) + "\n", []string{"3: the line is longer than"}},
		{"several errors", importHeader + "products,99999,a\nproducts,x,\n" + good, []string{"2: the database has no record", `3: legacy_id "x"`, "3: backend_id"}},
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
	t.Run("more errors than are reported", func(t *testing.T) {
		_, err := runImport(t, local, importHeader+strings.Repeat("products,x,a\n", 1200), false)
		if err == nil || !strings.HasSuffix(err.Error(), "\nand 1100 more errors") {
			t.Errorf("%.200v", err)
		}
	})
	t.Run("too many lines", func(t *testing.T) {
		_, err := newAdapter(t, local, &staticBackend{}).ImportIDs(t.Context(), io.MultiReader(strings.NewReader(importHeader), blankLines{}), false, nil)
		var errs adapter.LineErrors
		if !errors.As(err, &errs) || !strings.Contains(err.Error(), "split the file") {
			t.Errorf("%.200v", err)
		}
	})
	t.Run("read error", func(t *testing.T) {
		_, err := newAdapter(t, local, &staticBackend{}).ImportIDs(t.Context(), io.MultiReader(strings.NewReader(importHeader), brokenReader{}), false, nil)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
}

// blankLines is an endless file of blank lines.
type blankLines struct{}

func (blankLines) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '\n'
	}
	return len(b), nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

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
	var file strings.Builder
	file.WriteString(importHeader)
	for n, r := range records {
		keys, err := local.ImportRecords(t.Context(), []replica.ImportedRecord{r})
		if err != nil {
			t.Fatal(err)
		}
		if err := local.DeleteMapping(t.Context(), adapter.Customers, keys[0]); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&file, "customers,%d,cus_%d\n", keys[0], n)
	}
	last := 0
	done, err := newAdapter(t, local, &staticBackend{}).ImportIDs(t.Context(), strings.NewReader(file.String()), false, func(done, total int) {
		if last = done; total != 1100 {
			t.Errorf("%d of %d", done, total)
		}
	})
	if err != nil || done.Stored != 1100 || last != 1100 {
		t.Errorf("%+v, %v, progress ended at %d", done, err, last)
	}
}

func FuzzIDImport(f *testing.F) {
	for _, seed := range []string{
		importHeader + "products,1,a\n", "resource,legacy_id,backend_id,owner_id\r\ncustomer_addresses,1,a,1\n", importHeader + "products,1,\"a\n", "\ufeff", importHeader + "products,1,\xff\n",
	} {
		f.Add(seed)
	}
	local := demoReplica(f)
	f.Fuzz(func(t *testing.T, file string) {
		done, err := runImport(t, local, file, true)
		var errs adapter.LineErrors
		if err != nil && !errors.As(err, &errs) {
			t.Error(err)
		}
		if errs != nil && len(errs) == 0 || done.Rows > strings.Count(file, "\n")+1 {
			t.Errorf("%+v, %v", done, err)
		}
	})
}
