package input_test

import (
	"regexp"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

var (
	numberForm = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	timeForm   = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})?$`)
)

// stock returns a few records with gaps.
func stock(schema *adapter.Schema) []adapter.Record {
	var records []adapter.Record
	for i, qty := range []string{"100.0000", "-2.5000", "0.0000"} {
		r := adapter.NewRecord(schema)
		r.Set("item_id", adapter.IntegerValue(int64(i+1)))
		r.Set("qty", adapter.TextValue(qty))
		r.Set("notify_stock_qty", adapter.NullValue())
		r.Set("backorders", adapter.TextValue("0,1"))
		if i > 0 {
			r.Set("low_stock_date", adapter.TextValue("2012-03-02 10:11:12"))
		}
		records = append(records, r)
	}
	return records
}

// FuzzListQuery parses whole query strings: the result is canonical, can be applied to records, and
// is the same for both dialects.
func FuzzListQuery(f *testing.F) {
	for _, seed := range []string{
		"", "page=2&limit=3", "limit=0&page=1e400", "order=qty&dir=ASC&attrs=item_id,qty",
		"filter[1][attribute]=qty&filter[1][gt]=5&filter[1][lt]=6",
		"filter[1][attribute]=low_stock_date&filter[1][from]=03/02/2012&filter[1][date]=1",
		"filter[x][attribute]=backorders&filter[x][]=a&filter[x][1][like]=b%25",
		"filter[][attribute]=qty&filter[0][in][]=1e400&filter[0][in][]=-0",
		"filter[1][attribute]=backorders&filter[1][regexp]=^[0-9]{1,3}(a|b)*$",
		"filter[1][attribute]=created_at&filter[1][null]=1&attrs[]=created_at",
	} {
		f.Add(seed)
	}
	schema := stockSchema()
	records := stock(schema)
	f.Fuzz(func(t *testing.T, raw string) {
		if len(raw) > 64<<10 {
			return
		}
		for _, d := range contract.Dialects() {
			query := codec.ParseForm(raw)
			list, err := reader(d).Parse(schema, &query)
			if err != nil {
				answer(t, err)
				continue
			}
			checkOperands(t, schema, &list.Query)
			q := list.Query
			q.Limit = list.Paging.Limit
			q.Offset = list.Paging.OffsetIn(int64(len(records)))
			page, total, err := adapter.Apply(t.Context(), schema, records, &q)
			if err != nil {
				t.Fatalf("%q cannot be applied: %v", raw, err)
			}
			if total > 0 && q.Offset < total && len(page) == 0 {
				t.Errorf("%q: %d records, and none on the page", raw, total)
			}
			if list.Paging.Limit > 0 && (int64(len(page)) > list.Paging.Limit || list.Paging.Limit > 100) {
				t.Errorf("%q: %d records on a page of %d", raw, len(page), list.Paging.Limit)
			}
			fields, _ := reader(d).Select(contract.ListJSON, &query)
			for i, at := range fields {
				if i > 0 && fields[i-1] >= at || contract.StandardFields().StockItems.Fields[at].Hidden(d) {
					t.Errorf("%q selects %v", raw, fields)
				}
			}
		}
	})
}

// checkOperands checks that all operands are in canonical form.
func checkOperands(t *testing.T, schema *adapter.Schema, q *adapter.Query) {
	t.Helper()
	for _, condition := range q.Where {
		for _, test := range condition.Any {
			at, ok := schema.Index(test.Attribute)
			if !ok {
				t.Fatalf("unknown attribute %q", test.Attribute)
			}
			form := map[adapter.Kind]*regexp.Regexp{
				adapter.KindInteger: numberForm, adapter.KindDecimal: numberForm, adapter.KindTime: timeForm,
			}[schema.Attributes[at].Kind]
			for _, canonicalOperand := range test.Operands {
				if form != nil && !test.Op.TextOnly() && !form.MatchString(canonicalOperand) {
					t.Errorf("%s: operand %q is not canonical", test.Attribute, canonicalOperand)
				}
			}
		}
	}
}
