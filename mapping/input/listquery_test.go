package input_test

import (
	"errors"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
)

// Results of queries in the tables of this package: accepted, the message of a refused filter, or
// the crash of the original.
const (
	accepted  = ""
	filtering = "Resource collection filtering error."
	crashed   = "crash"
)

// stockSchema has attributes of a stock item of every comparable kind: item_id is an integer,
// backorders a text, qty a decimal and low_stock_date a time.
func stockSchema() *adapter.Schema {
	var attributes []adapter.Attribute
	for _, a := range adapter.NewSchemas().Of(adapter.StockItems).Attributes {
		if a.Name == "backorders" {
			a.Kind = adapter.KindText
		}
		attributes = append(attributes, a)
	}
	return adapter.NewSchema(adapter.StockItems, "item_id", attributes)
}

func reader(d *contract.Dialect) input.Reader {
	return input.Reader{Dialect: d, Fields: contract.StandardFields().StockItems, Role: contract.Admin, Now: testNow}
}

// testNow returns the time of all tests.
func testNow() time.Time { return time.Date(2012, 3, 5, 6, 7, 8, 0, time.UTC) }

func parse(d *contract.Dialect, raw string) (*input.List, error) {
	query := codec.ParseForm(raw)
	return reader(d).Parse(stockSchema(), &query)
}

// answer returns the result of a query in the terms of the tables.
func answer(t *testing.T, err error) string {
	t.Helper()
	var fault contract.Fault
	switch {
	case err == nil:
		return accepted
	case !errors.As(err, &fault):
		t.Fatalf("%v is no fault of the contract", err)
	case fault.Bare:
		if fault.Code != 500 || fault.Message != "" {
			t.Errorf("a crash of the original is 500 and empty, got %d %q", fault.Code, fault.Message)
		}
		return crashed
	case fault.Code != 400:
		t.Errorf("got code %d, want 400", fault.Code)
	}
	return fault.Message
}

// inBoth runs a test for each dialect.
func inBoth(t *testing.T, test func(t *testing.T, d *contract.Dialect)) {
	t.Helper()
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) { test(t, d) })
	}
}

// TestOffset checks the number of rows before a page of a list of known length.
func TestOffset(t *testing.T) {
	tests := []struct {
		name, query string
		total, want int64
		decided     bool
	}{
		{"first by default", "", 25, 0, true},
		{"zero", "page=0", 25, 0, true},
		{"one", "page=1", 25, 0, true},
		{"negative zero", "page=-0", 25, 0, true},
		{"between zero and one", "page=0.5", 25, 0, true},
		{"second", "page=2", 25, 10, true},
		{"second in other words", "page=%202.0e0%0A", 25, 20 - 10, true},
		{"last, not full", "page=3", 25, 20, true},
		{"past the end", "page=4", 25, 20, true},
		{"past the end of full pages", "page=3", 20, 10, true},
		{"far past the end", "page=1e15", 25, 20, false},
		{"beyond 64 bits", "page=1e30", 25, 20, false},
		{"beyond all numbers", "page=1e400", 25, 20, false},
		{"fraction", "page=2.5", 25, 15, false},
		{"fraction, whole rows only", "page=2.59", 25, 15, false},
		{"fraction in the first half of the first page", "page=1.09", 25, 0, false},
		{"fraction past the end by the raw number", "page=3.5", 25, 20, false},
		{"fraction past the only page", "page=1.5", 10, 0, false},
		{"truncated limit", "page=2.5&limit=3.7", 25, 4, false},
		{"no limit", "page=7&limit=0", 25, 0, true},
		{"no rows", "page=7", 0, 0, true},
		{"no rows, far", "page=1e400", 0, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list, err := parse(contract.Documented(), test.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := list.Paging.OffsetIn(test.total); got != test.want {
				t.Errorf("in %d rows: offset %d, want %d", test.total, got, test.want)
			}
			offset, decided := list.Paging.Offset()
			if decided != test.decided {
				t.Errorf("decided %t, want %t", decided, test.decided)
			}
			if decided && offset < test.total && offset != test.want {
				t.Errorf("offset %d, want %d", offset, test.want)
			}
		})
	}
}

func TestRolesCannotUseFieldsOfOthers(t *testing.T) {
	for _, role := range []contract.Role{contract.Customer, contract.Guest} {
		r := reader(contract.Documented())
		r.Role = role
		for _, raw := range []string{"order=qty", "filter[1][attribute]=qty&filter[1][eq]=1"} {
			query := codec.ParseForm(raw)
			if _, err := r.Parse(stockSchema(), &query); err == nil {
				t.Errorf("%s may ask for %s", role, raw)
			}
		}
		for _, raw := range []string{"", "attrs=qty"} {
			query := codec.ParseForm(raw)
			if fields, _ := r.Select(contract.ListJSON, &query); len(fields) > 0 {
				t.Errorf("%s sees %d fields for %q", role, len(fields), raw)
			}
		}
	}
}
