package listquery_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
)

// Results of queries in the tables of this package: accepted, one of the collection messages, or
// the crash of the original.
const (
	accepted  = ""
	paging    = "Resource collection paging error."
	limits    = "The paging limit exceeds the allowed number."
	ordering  = "Resource collection ordering error."
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

func reader(d *contract.Dialect) listquery.Reader {
	return listquery.Reader{Dialect: d, Fields: contract.StandardFields().StockItems, Role: contract.Admin}
}

func parse(d *contract.Dialect, raw string) (*listquery.List, error) {
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

// refusal is the reply of both dialects to an input that crashes the original.
type refusal struct{ documented, magento string }

func sameInBoth(text string) refusal { return refusal{text, text} }
func crashOf(text string) refusal    { return refusal{text, crashed} }

func (r refusal) of(d *contract.Dialect) string {
	if d.Name == "magento" {
		return r.magento
	}
	return r.documented
}

// inBoth runs a test for each dialect.
func inBoth(t *testing.T, test func(t *testing.T, d *contract.Dialect)) {
	t.Helper()
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) { test(t, d) })
	}
}

// TestRefusals covers every fault of the modifiers, and the order in which two of them are
// detected: page, limit, order, then the filter entries as sent (wire 10).
func TestRefusals(t *testing.T) {
	tests := []struct {
		name, query string
		want        refusal
	}{
		{"nothing asked", "", sameInBoth(accepted)},
		{"names are case-sensitive", "LIMIT=abc&Page=-1&ORDER=x&Filter=x", sameInBoth(accepted)},

		{"page: negative", "page=-1", sameInBoth(paging)},
		{"page: negative fraction", "page=-0.5", sameInBoth(paging)},
		{"page: far below zero", "page=-1e400", sameInBoth(paging)},
		{"page: word", "page=abc", crashOf(paging)},
		{"page: tail", "page=3abc", crashOf(paging)},
		{"page: hexadecimal", "page=0x5", crashOf(paging)},
		{"page: underscore", "page=1_0", crashOf(paging)},
		{"page: INF", "page=INF", crashOf(paging)},
		{"page: blanks only", "page=%20%20", crashOf(paging)},
		{"page: empty", "page=", crashOf(paging)},
		{"page: without equals sign", "page", crashOf(paging)},
		{"page: list", "page[]=1", crashOf(paging)},
		{"page: last of two counts", "page=abc&page=1", sameInBoth(accepted)},

		{"limit: above", "limit=101", sameInBoth(limits)},
		{"limit: above by a fraction", "limit=100.5", sameInBoth(limits)},
		{"limit: negative", "limit=-1", sameInBoth(limits)},
		{"limit: just below zero", "limit=-1e-9", sameInBoth(limits)},
		{"limit: beyond all numbers", "limit=1e400", sameInBoth(limits)},
		{"limit: word", "limit=abc", crashOf(limits)},
		{"limit: tail", "limit=3abc", crashOf(limits)},
		{"limit: hexadecimal", "limit=0x5", crashOf(limits)},
		{"limit: underscore", "limit=1_0", crashOf(limits)},
		{"limit: INF", "limit=INF", crashOf(limits)},
		{"limit: blanks only", "limit=+", crashOf(limits)},
		{"limit: list", "limit[]=5", crashOf(limits)},
		{"limit: empty", "limit=", sameInBoth(accepted)},

		{"order: unknown", "order=nope", sameInBoth(ordering)},
		{"order: letter case", "order=QTY", sameInBoth(ordering)},
		{"order: empty", "order=", sameInBoth(ordering)},
		{"order: list", "order[]=qty", sameInBoth(ordering)},
		{"dir: list", "order=qty&dir[]=asc", crashOf(ordering)},
		{"dir: list without order", "dir[]=asc", sameInBoth(accepted)},

		{"filter: text", "filter=qty", sameInBoth(filtering)},
		{"filter: empty", "filter=", sameInBoth(accepted)},
		{"filter: entry is a text", "filter[1]=qty", sameInBoth(filtering)},
		{"filter: entry is an empty text", "filter[1]=", sameInBoth(filtering)},
		{"filter: no attribute", "filter[1][eq]=5", sameInBoth(filtering)},
		{"filter: unknown attribute", "filter[1][attribute]=nope&filter[1][eq]=5", sameInBoth(filtering)},
		{"filter: attribute in another letter case", "filter[1][attribute]=Qty&filter[1][eq]=5", sameInBoth(filtering)},
		{"filter: empty attribute", "filter[1][attribute]=&filter[1][eq]=5", sameInBoth(filtering)},
		{"filter: list as attribute", "filter[1][attribute][]=qty&filter[1][eq]=5", sameInBoth(filtering)},
		{"filter: attribute of the store, no field", "filter[1][attribute]=product_created_at&filter[1][eq]=5", sameInBoth(filtering)},
		{"filter: no operator", "filter[1][attribute]=qty", crashOf(filtering)},
		{"filter: is", "filter[1][attribute]=qty&filter[1][is]=null", crashOf(filtering)},
		{"filter: eq with two values", "filter[1][attribute]=qty&filter[1][eq][]=5&filter[1][eq][]=6", crashOf(filtering)},
		{"filter: eq with a nested list", "filter[1][attribute]=qty&filter[1][eq][][]=5", crashOf(filtering)},
		{"filter: from with two values", "filter[1][attribute]=qty&filter[1][from][]=5&filter[1][from][]=6", crashOf(filtering)},
		{"filter: to with two values", "filter[1][attribute]=qty&filter[1][to][]=5&filter[1][to][]=6", crashOf(filtering)},
		{"filter: in with a nested list", "filter[1][attribute]=qty&filter[1][in][][]=5", crashOf(filtering)},
		{"filter: no expression", "filter[1][attribute]=qty&filter[1][regexp]=(", crashOf(filtering)},
		{"filter: expression of broken bytes", "filter[1][attribute]=qty&filter[1][regexp]=%FF", crashOf(filtering)},

		{"page before limit", "limit=101&page=-1", sameInBoth(paging)},
		{"page before limit, crashes", "limit=abc&page=abc", crashOf(paging)},
		{"fault of page before crash of limit", "limit=abc&page=-1", sameInBoth(paging)},
		{"limit before order", "order=nope&limit=101", sameInBoth(limits)},
		{"order before filter", "filter=x&order=nope", sameInBoth(ordering)},
		{"dir before filter", "filter=x&order=qty&dir[]=asc", crashOf(ordering)},
		{"entries as sent: fault first", "filter[2][eq]=1&filter[1][attribute]=qty", sameInBoth(filtering)},
		{"entries as sent: crash first", "filter[1][attribute]=qty&filter[2][eq]=1", crashOf(filtering)},
		{"a good entry hides no bad one", "filter[1][attribute]=qty&filter[1][eq]=1&filter[2]=x", sameInBoth(filtering)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, d *contract.Dialect) {
				_, err := parse(d, test.query)
				if got := answer(t, err); got != test.want.of(d) {
					t.Errorf("%s is answered %q, want %q", test.query, got, test.want.of(d))
				}
			})
		})
	}
}

func TestLimit(t *testing.T) {
	tests := []struct {
		query               string
		documented, magento int64
	}{
		{"", 10, 10},
		{"limit=", 10, 10},
		{"limit=1", 1, 1},
		{"limit=100", 100, 100},
		{"limit=3.7", 3, 3},
		{"limit=99.999", 99, 99},
		{"limit=5.", 5, 5},
		{"limit=.5e1", 5, 5},
		{"limit=%2B5", 5, 5},
		{"limit=1e1", 10, 10},
		{"limit=1E1", 10, 10},
		{"limit=007", 7, 7},
		{"limit=+7+", 7, 7},
		{"limit=%097%0D%0A", 7, 7},
		{"limit=5&limit=6", 6, 6},
		{"limit=0", 0, 0},
		{"limit=0.5", 0, 0},
		{"limit=1e-9", 0, 0},
		{"limit=00", 0, 1},
		{"limit=0.0", 0, 1},
		{"limit=-0", 0, 1},
		{"limit=%200", 0, 1},
		{"limit=0e5", 0, 1},
	}
	for _, test := range tests {
		t.Run(test.query, func(t *testing.T) {
			inBoth(t, func(t *testing.T, d *contract.Dialect) {
				want := test.documented
				if d.Name == "magento" {
					want = test.magento
				}
				list, err := parse(d, test.query)
				if err != nil {
					t.Fatal(err)
				}
				if list.Paging.Limit != want {
					t.Errorf("limit %d, want %d", list.Paging.Limit, want)
				}
			})
		})
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

func TestOffsetOfEveryPage(t *testing.T) {
	const total = 25
	for page := int64(1); page <= 30; page++ {
		list, err := parse(contract.Documented(), "limit=1&page="+strconv.FormatInt(page, 10))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := list.Paging.OffsetIn(total), min(page, total)-1; got != want {
			t.Errorf("page %d begins behind row %d, want %d", page, got, want)
		}
	}
}

func TestOrder(t *testing.T) {
	tests := []struct {
		query, by string
		desc      bool
	}{
		{"", "", false},
		{"dir=desc", "", false},
		{"order=qty", "qty", true},
		{"order=qty&dir=asc", "qty", false},
		{"order=qty&dir=ASC", "qty", false},
		{"dir=aSc&order=qty", "qty", false},
		{"order=qty&dir=desc", "qty", true},
		{"order=qty&dir=", "qty", true},
		{"order=qty&dir=ascending", "qty", true},
		{"order=qty&dir=%20asc", "qty", true},
		{"order=qty&dir=1", "qty", true},
		{"order=item_id&order=qty&dir=asc", "qty", false},
		{"order=created_at&dir=asc", "product_created_at", false},
		{"order=updated_at&dir=asc", "product_updated_at", false},
	}
	for _, test := range tests {
		t.Run(test.query, func(t *testing.T) {
			list, err := parse(contract.Magento(), test.query)
			if err != nil {
				t.Fatal(err)
			}
			if list.Query.OrderBy != test.by || list.Query.Desc != test.desc {
				t.Errorf("got %q descending %t, want %q %t", list.Query.OrderBy, list.Query.Desc, test.by, test.desc)
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
