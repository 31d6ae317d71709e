package migrate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
)

// TestCompareFolder checks that all files of a folder are read. In a record.dir these are the files
// in its subfolder for exchanges.
func TestCompareFolder(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, exchanges []contracttests.Exchange) {
		var b bytes.Buffer
		if err := errors.Join(contracttests.WriteExchanges(&b, exchanges), os.WriteFile(name, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(folder, "a.json"), []contracttests.Exchange{{Name: "a", Steps: []contracttests.Step{{Method: "GET", Path: "/products"}}}})
	write(filepath.Join(folder, "b.json"), []contracttests.Exchange{{Name: "a", Steps: []contracttests.Step{{Method: "GET", Path: "/orders"}}}})
	recorded := t.TempDir()
	if err := os.WriteFile(filepath.Join(recorded, "usage-one.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(folder, filepath.Join(recorded, recording.ExchangesFolder)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{recorded, filepath.Join(recorded, recording.ExchangesFolder)} {
		exchanges, err := loadRequests(name)
		if err != nil || len(exchanges) != 2 {
			t.Errorf("%s: %d exchanges (%v), want 2", name, len(exchanges), err)
		}
	}
	if _, err := loadRequests(filepath.Join(folder, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestUnconditional checks that headers of conditional requests are removed.
func TestUnconditional(t *testing.T) {
	s := contracttests.Step{Headers: map[string]string{"If-None-Match": "a", "accept-encoding": "gzip", "Version": "1"}}
	if got := unconditional(&s).Headers; len(got) != 1 || got["Version"] != "1" || len(s.Headers) != 3 {
		t.Errorf("the remaining headers are %v", got)
	}
}

// TestRequestTarget checks the request target of every form of path.
func TestRequestTarget(t *testing.T) {
	for path, want := range map[string]string{
		"/products?limit=1":              "/api/rest/products?limit=1",
		"!/media/a.png":                  "/media/a.png",
		"!http://h/api/rest/products?a":  "/api/rest/products?a",
		"!http://h":                      "/",
		"!{{base_url}}/api/rest/orders":  "/api/rest/orders",
		"!/api/rest/orders?url=http://h": "/api/rest/orders?url=http://h",
	} {
		if got := requestTarget(&contracttests.Step{Path: path}); got != want {
			t.Errorf("%s is for %s, want %s", path, got, want)
		}
	}
}

// TestBuiltInExpectations checks that the built-in files of accepted differences can be loaded, alone and
// before a file of one's own.
func TestBuiltInExpectations(t *testing.T) {
	own := filepath.Join(t.TempDir(), "expected.yaml")
	if err := os.WriteFile(own, []byte("- {resource: products, field: sku, record: 7, reason: r}"), 0o600); err != nil {
		t.Fatal(err)
	}
	routes := contract.NewTable(contract.Routes(contract.StandardFields()))
	builtIn, sum, err := loadExpectations([]string{"magento2"}, routes)
	if err != nil {
		t.Fatal(err)
	}
	both, bothSum, err := loadExpectations([]string{"magento2", own}, routes)
	if err != nil {
		t.Fatal(err)
	}
	n := len(builtIn.All())
	if got := len(both.All()); got != n+1 || sum == bothSum {
		t.Errorf("%d entries, want %d, with another checksum", got, n+1)
	}
	difference := compare.Difference{Field: "sku", Record: "7"}
	if i, ok := both.Find("listProducts", "products", "", &difference); !ok || i != n {
		t.Errorf("the entry %d accepts the difference (%t), want %d", i, ok, n)
	}
	if _, _, err := loadExpectations([]string{"magento3"}, routes); err == nil {
		t.Error("an unknown name is accepted")
	}
}

// TestExpectedDoNotHide checks that a difference is found that comes after more expected
// ones than a report has examples.
func TestExpectedDoNotHide(t *testing.T) {
	differences := func(records int) (all []compare.Difference) {
		for i := range records {
			all = append(all, compare.Difference{Field: "sku", Record: fmt.Sprint(i), Legacy: new(`"a"`), Candidate: new(`"b"`)})
		}
		return all
	}
	for _, tt := range []struct {
		name, yaml string
		found      int // differences
		want       int // unexpected ones
	}{
		{"none found", "- {resource: products, field: sku, reason: r}", 0, 0},
		{"all expected", "- {resource: products, field: sku, reason: r}", manyPerField, 0},
		{"one expected", "- {resource: products, field: sku, reason: r, record: 7}", 20, 19},
		{"expected by value", "- {resource: products, field: sku, reason: r, legacy: a}", manyPerField - 1, 0},
		{"perhaps more", "- {resource: products, field: sku, reason: r, legacy: a}", manyPerField, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &compareOptions{tolerances: compare.Options{PerField: manyPerField}}
			var err error
			if o.expected, err = compare.ParseExpectations("expected.yaml", []byte(tt.yaml), contract.NewTable(contract.Routes(contract.StandardFields())), contract.GET); err != nil {
				t.Fatal(err)
			}
			c := &comparer{options: o}
			if got, _ := c.divide("listProducts", "products", "", differences(tt.found)); len(got) != tt.want {
				t.Errorf("%d unexpected differences, want %d", len(got), tt.want)
			}
		})
	}
}

// TestSweptFields: the stored fields of a sweep fit into the limit, and have the first examples.
func TestSweptFields(t *testing.T) {
	t.Parallel()
	result := newComparison("a", "b")
	long := strings.Repeat("x", 500)
	for i := range 300 {
		result.Fields = append(result.Fields, FieldCount{Call: fmt.Sprintf("call%d", i), Field: "price", Answers: i, Examples: []Example{{As: "guest", Request: long, Legacy: &long}}})
	}
	text, err := encodeSweptFields(sweptFieldsOf(result, &compareOptions{}))
	if err != nil || len(text) > maxSweptFields || len(text) < maxSweptFields/2 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	var fields []plan.SweptField
	apptest.Parse(t, text, &fields)
	if len(fields) < 250 || fields[0].Answers != 299 || len(fields[0].Examples) != 1 || len(fields[len(fields)-1].Examples) != 0 {
		t.Errorf("%d fields, the first %+v", len(fields), fields[0])
	}
	if got := sweptFieldsOf(result, &compareOptions{showPersonal: true}); len(got[0].Examples) != 0 {
		t.Error("personal data are noted")
	}
	if text, err := encodeSweptFields(nil); err != nil || text != "[]" {
		t.Errorf("nothing is noted as %q, %v", text, err)
	}
}
