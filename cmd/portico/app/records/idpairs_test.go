package records

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

const pairsHeader = "resource,legacy_id,backend_id\n"

func TestReadIDPairs(t *testing.T) {
	file := "\ufeffresource,legacy_id,backend_id,owner_id\r\n" +
		"products,1,prod_1,\r\n\r\n" +
		"customers,0,\"cus,2\",\n" +
		"customer_addresses,3,addr_3,2\n"
	want := []idmap.Pair{
		{Line: 2, Resource: adapter.Products, Key: 1, BackendID: "prod_1"},
		{Line: 4, Resource: adapter.Customers, Key: 0, BackendID: "cus,2"},
		{Line: 5, Resource: adapter.CustomerAddresses, Key: 3, BackendID: "addr_3", RootKey: 2},
	}
	if got, faults, err := readIDPairs(strings.NewReader(file)); !slices.Equal(got, want) || faults != nil || err != nil {
		t.Errorf("%+v, %v, %v\nwant %+v", got, faults, err, want)
	}
}

func TestReadIDPairsErrors(t *testing.T) {
	const owners = "resource,legacy_id,backend_id,owner_id\n"
	const good = "products,1,good\n"
	for _, c := range []struct {
		name, file string
		want       []string // "line: part of the text"
	}{
		{"empty", "", []string{"1: no header"}},
		{"no header", "products,1,a\n", []string{"1: the header must be"}},
		{"columns in another order", "legacy_id,resource,backend_id\n", []string{"1: the header must be"}},
		{"wrong number of fields", pairsHeader + good + "products,2\nproducts,2,a,b\n", []string{"3: 2 fields", "4: 4 fields"}},
		{"broken quotes", pairsHeader + good + "products,2,\"a\nproducts,3,c\"\n", []string{"3: not CSV", "4: not CSV"}},
		{"bad legacy id", pairsHeader + "products,x,a\nproducts,+1,b\nproducts,01,c\nproducts,-1,d\nproducts,9223372036854775808,e\nproducts,,f\n", []string{`2: legacy_id "x"`, `3: legacy_id "+1"`, `4: legacy_id "01"`, `5: legacy_id "-1"`, `6: legacy_id`, `7: legacy_id ""`}},
		{"bad backend id", pairsHeader + "products,1,\nproducts,2, b\nproducts,3,a\tb\nproducts,4,\xff\nproducts,5," + strings.Repeat("ä", 256) + "\n", []string{"2: backend_id \"\" is empty", "3: backend_id \" b\" starts or ends with", "4: backend_id \"a\\tb\" contains a control", "5: backend_id \"\\xff\" is not UTF-8", "6: backend_id"}},
		{"bad owner", owners + "customer_addresses,1,a,x\ncustomer_addresses,2,b,0\n", []string{`2: owner_id "x"`, `3: owner_id "0"`}},
		{"long line", pairsHeader + good + "products,2," + strings.Repeat("x", 5000) + "\n", []string{"3: the line is longer than"}},
		{"several errors", pairsHeader + "products,x,\n" + good, []string{`2: legacy_id "x"`, "2: backend_id"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pairs, faults, err := readIDPairs(strings.NewReader(c.file))
			if err != nil || len(faults) != len(c.want) {
				t.Fatalf("%d errors, want %d:\n%s\n%v", len(faults), len(c.want), faults.Error(), err)
			}
			for i, line := range strings.Split(faults.Error(), "\n") {
				if !strings.HasPrefix(line, "line "+c.want[i]) {
					t.Errorf("%q, want %q", line, c.want[i])
				}
			}
			if valid := strings.Count(c.file, good); len(pairs) != valid {
				t.Errorf("%d pairs, want %d: %+v", len(pairs), valid, pairs)
			}
		})
	}
	if _, faults, err := readIDPairs(io.MultiReader(strings.NewReader(pairsHeader), blankLines{})); err != nil || !strings.Contains(faults.Error(), "split the file") {
		t.Errorf("too many lines: %.200v, %v", faults, err)
	}
	if _, _, err := readIDPairs(io.MultiReader(strings.NewReader(pairsHeader), brokenReader{})); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read error: %v", err)
	}
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

func FuzzReadIDPairs(f *testing.F) {
	for _, seed := range []string{
		pairsHeader + "products,1,a\n", "resource,legacy_id,backend_id,owner_id\r\ncustomer_addresses,1,a,1\n", pairsHeader + "products,1,\"a\n", "\ufeff", pairsHeader + "products,1,\xff\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		pairs, faults, err := readIDPairs(strings.NewReader(file))
		if err != nil || len(pairs) > strings.Count(file, "\n") {
			t.Errorf("%d pairs, %v, %v", len(pairs), faults, err)
		}
		for _, pair := range pairs {
			if pair.Line < 2 || pair.Key < 0 || pair.RootKey < 0 || backendIDProblem(pair.BackendID) != "" {
				t.Errorf("%+v", pair)
			}
		}
	})
}
