package input_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// test returns a condition with a single test.
func test(attribute string, op adapter.Op, operands ...string) adapter.Condition {
	return anyOf(adapter.Test{Attribute: attribute, Op: op, Operands: operands})
}

func anyOf(tests ...adapter.Test) adapter.Condition { return adapter.Condition{Any: tests} }

// TestFilter writes $ for the entry on one attribute: "$[eq]=5" is
// "filter[1][eq]=5". Each row names the attribute first.
func TestFilter(t *testing.T) {
	eq := func(attribute, value string) adapter.Test {
		return adapter.Test{Attribute: attribute, Op: adapter.Eq, Operands: []string{value}}
	}
	tests := []struct {
		name, attribute, query string
		want                   adapter.Condition
	}{
		{"eq", "backorders", "$[eq]=Red+x", test("backorders", adapter.Eq, "Red x")},
		{"neq", "backorders", "$[neq]=a", test("backorders", adapter.NotEq, "a")},
		{"like", "backorders", "$[like]=a%25_", test("backorders", adapter.Like, "a%_")},
		{"like keeps the text of a number", "qty", "$[like]=1.0%25", test("qty", adapter.Like, "1.0%")},
		{"nlike", "backorders", "$[nlike]=a", test("backorders", adapter.NotLike, "a")},
		{"in", "qty", "$[in][]=1&$[in][]=2.50", test("qty", adapter.In, "1", "2.5")},
		{"in with named values", "qty", "$[in][x]=1&$[in][7]=2", test("qty", adapter.In, "1", "2")},
		{"in with a single text", "qty", "$[in]=1,2", test("qty", adapter.In, "1")},
		{"in with a single text, commas kept", "backorders", "$[in]=a,b", test("backorders", adapter.In, "a,b")},
		{"nin", "qty", "$[nin][]=1&$[nin][]=2", test("qty", adapter.NotIn, "1", "2")},
		{"nin with a single text", "qty", "$[nin]=3", test("qty", adapter.NotIn, "3")},
		{"gt", "qty", "$[gt]=5", test("qty", adapter.Gt, "5")},
		{"lt", "qty", "$[lt]=5", test("qty", adapter.Lt, "5")},
		{"gteq", "qty", "$[gteq]=5", test("qty", adapter.GtEq, "5")},
		{"lteq", "qty", "$[lteq]=5", test("qty", adapter.LtEq, "5")},
		{"null", "qty", "$[null]=1", test("qty", adapter.IsNull)},
		{"null whatever its value", "qty", "$[null]=", test("qty", adapter.IsNull)},
		{"null with a list", "qty", "$[null][]=1&$[null][]=2", test("qty", adapter.IsNull)},
		{"notnull", "qty", "$[notnull]=0", test("qty", adapter.IsNotNull)},
		{"finset", "backorders", "$[finset]=2", test("backorders", adapter.InCommaList, "2")},
		{"finset keeps the text of a number", "qty", "$[finset]=02", test("qty", adapter.InCommaList, "02")},
		{"regexp", "backorders", "$[regexp]=^a", test("backorders", adapter.Matches, "^a")},
		{"seq", "qty", "$[seq]=5", test("qty", adapter.Eq, "5")},
		{"seq empty", "qty", "$[seq]=", test("qty", adapter.IsNull)},
		{"sneq", "qty", "$[sneq]=5", test("qty", adapter.NotEq, "5")},
		{"sneq empty", "qty", "$[sneq]=", test("qty", adapter.IsNotNull)},
		{"eq empty is no null", "backorders", "$[eq]=", test("backorders", adapter.Eq, "")},
		{"list of one value as a scalar", "qty", "$[eq][]=5", test("qty", adapter.Eq, "5")},

		{"from", "qty", "$[from]=5", test("qty", adapter.GtEq, "5")},
		{"to", "qty", "$[to]=5", test("qty", adapter.LtEq, "5")},
		{"from and to", "qty", "$[from]=5&$[to]=9", test("qty", adapter.Within, "5", "9")},
		{"to and from", "qty", "$[to]=9&$[from]=5", test("qty", adapter.Within, "5", "9")},
		{"from before an operator sent first", "qty", "$[eq]=1&$[from]=5", test("qty", adapter.GtEq, "5")},
		{"to before is", "qty", "$[is]=x&$[to]=5", test("qty", adapter.LtEq, "5")},
		{"from as a list of one", "qty", "$[from][]=5", test("qty", adapter.GtEq, "5")},

		{"first sent of two operators", "qty", "$[gt]=1&$[lt]=5", test("qty", adapter.Gt, "1")},
		{"first sent of two operators, the other way", "qty", "$[lt]=5&$[gt]=1", test("qty", adapter.Lt, "5")},
		{"an operator before unknown names", "qty", "$[foo]=9&$[eq]=5", test("qty", adapter.Eq, "5")},
		{"an operator before is", "qty", "$[eq]=5&$[is]=9", test("qty", adapter.Eq, "5")},
		{"last of an operator sent twice", "qty", "$[eq]=5&$[eq]=6", test("qty", adapter.Eq, "6")},

		{"unknown operator", "qty", "$[foo]=5", anyOf(eq("qty", "5"))},
		{"moreq", "qty", "$[moreq]=5", anyOf(eq("qty", "5"))},
		{"upper case", "qty", "$[EQ]=5", anyOf(eq("qty", "5"))},
		{"two unknown operators", "qty", "$[EQ]=5&$[foo]=6", anyOf(eq("qty", "5"), eq("qty", "6"))},
		{"date hint alone is a name like any", "low_stock_date", "$[date]=2012-03-02", anyOf(eq("low_stock_date", "2012-03-02 00:00:00"))},
		{"bare alternatives", "qty", "$[]=5&$[]=6", anyOf(eq("qty", "5"), eq("qty", "6"))},
		{"alternatives as conditions", "backorders", "$[0][eq]=a&$[1][like]=b%25", anyOf(eq("backorders", "a"), adapter.Test{Attribute: "backorders", Op: adapter.Like, Operands: []string{"b%"}})},
		{"alternative with a range", "qty", "$[0][from]=1&$[0][to]=2&$[1][eq]=9", anyOf(adapter.Test{Attribute: "qty", Op: adapter.Within, Operands: []string{"1", "2"}}, eq("qty", "9"))},
		{"alternatives, nested", "qty", "$[0][0][]=1&$[0][1]=2&$[1]=3", anyOf(eq("qty", "1"), eq("qty", "2"), eq("qty", "3"))},
		{"unknown operator with a list", "qty", "$[foo][]=1&$[foo][]=2", anyOf(eq("qty", "1"), eq("qty", "2"))},

		{"hidden field", "created_at", "$[gt]=2012", test("product_created_at", adapter.Gt, "")},
	}
	for _, row := range tests {
		t.Run(row.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, d *contract.Dialect) {
				list, err := parse(d, "filter[1][attribute]="+row.attribute+"&"+strings.ReplaceAll(row.query, "$", "filter[1]"))
				if err != nil {
					t.Fatalf("refused: %v", answer(t, err))
				}
				if diff := cmp.Diff([]adapter.Condition{row.want}, list.Query.Where); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

func TestFilterEntriesAreJoined(t *testing.T) {
	list, err := parse(contract.Documented(), "filter[9][attribute]=qty&filter[9][gt]=1&filter[x][attribute]=qty&filter[x][lt]=5&filter[][attribute]=item_id&filter[10][eq]=3")
	if err != nil {
		t.Fatal(err)
	}
	want := []adapter.Condition{test("qty", adapter.Gt, "1"), test("qty", adapter.Lt, "5"), test("item_id", adapter.Eq, "3")}
	if diff := cmp.Diff(want, list.Query.Where); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestOperands: operands reach the store in canonical form.
func TestOperands(t *testing.T) {
	tests := []struct {
		name, attribute, sent, want string
	}{
		{"whole number", "item_id", "5", "5"},
		{"leading number", "item_id", "5abc", "5"},
		{"no number", "item_id", "abc", "0"},
		{"empty number", "item_id", "", "0"},
		{"comma list", "item_id", "1,2", "1"},
		{"blanks before", "item_id", "%20%095", "5"},
		{"fraction of a count", "item_id", "1.5", "1.5"},
		{"exponent", "qty", "1e3", "1000"},
		{"small exponent", "qty", "1e-7", "0.0000001"},
		{"point first", "qty", ".50", "0.5"},
		{"plus", "qty", "%2B5", "5"},
		{"negative", "qty", "-2.50x", "-2.5"},
		{"hexadecimal", "qty", "0x1A", "0"},
		{"beyond every column", "qty", "1e400", "100000000000000000000"},
		{"below every column", "qty", "-1e400", "-100000000000000000000"},

		{"text as it is", "backorders", "%2001", " 01"},

		{"date and time", "low_stock_date", "2012-03-02%2010:11:12", "2012-03-02 10:11:12"},
		{"date", "low_stock_date", "2012-03-02", "2012-03-02 00:00:00"},
		{"compact date", "low_stock_date", "20120302", "2012-03-02 00:00:00"},
		{"date, one digit each", "low_stock_date", "2012-3-2", "2012-03-02 00:00:00"},
		{"date with T", "low_stock_date", "2012-03-02T10:11:12", "2012-03-02 10:11:12"},
		{"date with hours and minutes", "low_stock_date", "2012-03-02%2010:11", "2012-03-02 10:11:00"},
		{"blanks around a date", "low_stock_date", "%202012-03-02%20", "2012-03-02 00:00:00"},
		{"year alone", "low_stock_date", "2013", ""},
		{"year and month", "low_stock_date", "2012-03", ""},
		{"no date", "low_stock_date", "abc", ""},
		{"empty date", "low_stock_date", "", ""},
		{"month 13", "low_stock_date", "2012-13-02", ""},
		{"leap day", "low_stock_date", "2012-02-29", "2012-02-29 00:00:00"},
		{"hour 24", "low_stock_date", "2012-03-02%2024:00:00", ""},
		{"month first without a hint", "low_stock_date", "03/02/2012", ""},
		{"form of JavaScript", "low_stock_date", "2012-03-02T10:11:12.000Z", "2012-03-02 10:11:12"},
		{"offset", "low_stock_date", "2012-03-02T10:11:12%2B02:00", "2012-03-02 10:11:12"},
		{"name of a zone", "low_stock_date", "2012-03-02 10:11:12 UTC", "2012-03-02 10:11:12"},
		{"another text behind", "low_stock_date", "2012-03-02x", "2012-03-02 00:00:00"},
		{"other separators", "low_stock_date", "2012/03.02-10,11", "2012-03-02 10:11:00"},
		{"year of two digits", "low_stock_date", "69-3-2", "2069-03-02 00:00:00"},
		{"year of two digits before 2000", "low_stock_date", "70-3-2", "1970-03-02 00:00:00"},
		{"six digits", "low_stock_date", "120302", "2012-03-02 00:00:00"},
		{"twelve digits", "low_stock_date", "120302101112", "2012-03-02 10:11:12"},
		{"fourteen digits", "low_stock_date", "20120302101112", "2012-03-02 10:11:12"},
	}
	for _, row := range tests {
		for _, op := range []string{"eq", "neq", "gt", "lt", "gteq", "lteq", "in", "nin", "from", "to", "unknown"} {
			t.Run(row.name+"/"+op, func(t *testing.T) {
				list, err := parse(contract.Documented(), fmt.Sprintf("filter[1][attribute]=%s&filter[1][%s]=%s", row.attribute, op, row.sent))
				if err != nil {
					t.Fatal(err)
				}
				if got := list.Query.Where[0].Any[0].Operands; len(got) != 1 || got[0] != row.want {
					t.Errorf("%q gives %q, want %q", row.sent, got, row.want)
				}
			})
		}
	}
}

// TestBetweenTimes: a moment between two times that can be stored compares as the database has
// it, with operands that stores can hold.
func TestBetweenTimes(t *testing.T) {
	const before, half, last = "2012-02-29 23:59:59", "2012-03-02 10:11:12", "9999-12-31 23:59:59"
	tests := []struct {
		name, query string
		want        adapter.Condition
	}{
		{"from February 30", "$[gteq]=2012-02-30", test("low_stock_date", adapter.Gt, before)},
		{"after February 30", "$[gt]=2012-02-30", test("low_stock_date", adapter.Gt, before)},
		{"until day 0", "$[to]=2012-03-00", test("low_stock_date", adapter.LtEq, before)},
		{"before day 0", "$[lt]=2012-03-00", test("low_stock_date", adapter.LtEq, before)},
		{"month 0", "$[gt]=2012-00-05", test("low_stock_date", adapter.Gt, "2011-12-31 23:59:59")},
		{"equal to half a second", "$[eq]=" + half + ".5", test("low_stock_date", adapter.Eq, "")},
		{"other than half a second", "$[neq]=" + half + ".5", test("low_stock_date", adapter.NotEq, "")},
		{"one of two", "$[in][]=" + half + "Z&$[in][]=2012-02-30", test("low_stock_date", adapter.In, half, "")},
		{"range", "$[from]=" + half + ".5&$[to]=" + half + ".5", test("low_stock_date", adapter.Within, "2012-03-02 10:11:13", half)},
		{"range behind all times", "$[from]=" + last + ".5&$[to]=" + last, test("low_stock_date", adapter.LtEq, "")},
		{"six decimal places count", "$[lt]=" + half + ".0000009", test("low_stock_date", adapter.Lt, half)},
	}
	for _, row := range tests {
		t.Run(row.name, func(t *testing.T) { checkFilter(t, row.query, "low_stock_date", row.want) })
	}
}

// checkFilter checks the condition that an entry on an attribute is parsed to. query has $ for
// the entry.
func checkFilter(t *testing.T, query, attribute string, want adapter.Condition) {
	t.Helper()
	list, err := parse(contract.Magento(), "filter[1][attribute]="+attribute+"&"+strings.ReplaceAll(query, "$", "filter[1]"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]adapter.Condition{want}, list.Query.Where); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestConvertedDates: beside a key date or datetime both ends of a range are converted to dates.
func TestConvertedDates(t *testing.T) {
	const attribute = "low_stock_date"
	tests := []struct {
		name, attribute, query string
		want                   adapter.Condition
	}{
		{"from with date, month first", attribute, "$[from]=03/02/2012&$[date]=1", test(attribute, adapter.GtEq, "2012-03-02 00:00:00")},
		{"to with datetime, month first", attribute, "$[to]=3/2/2012+10:11:12&$[datetime]=1", test(attribute, adapter.LtEq, "2012-03-02 10:11:12")},
		{"both, hint first", attribute, "$[date]=1&$[from]=03/02/2012&$[to]=2012-03-04", test(attribute, adapter.Within, "2012-03-02 00:00:00", "2012-03-04 00:00:00")},
		{"form of JavaScript", attribute, "$[datetime]=1&$[from]=2012-03-02T00:00:00.000Z", test(attribute, adapter.GtEq, "2012-03-02 00:00:00")},
		{"offset counts", attribute, "$[datetime]=1&$[from]=2012-03-02T00:00:00%2B02:00", test(attribute, adapter.GtEq, "2012-03-01 22:00:00")},
		{"words", attribute, "$[date]=1&$[to]=3+March+2012", test(attribute, adapter.LtEq, "2012-03-03 00:00:00")},
		{"relative to now", attribute, "$[date]=1&$[from]=yesterday", test(attribute, adapter.GtEq, "2012-03-04 00:00:00")},
		{"February 30", attribute, "$[date]=1&$[from]=2012-02-30", test(attribute, adapter.GtEq, "2012-03-01 00:00:00")},
		{"no date", attribute, "$[date]=1&$[from]=13/02/2012", test(attribute, adapter.GtEq, "1970-01-01 00:00:00")},
		{"number of seconds", attribute, "$[date]=1&$[from]=1330646400", test(attribute, adapter.GtEq, "2012-03-02 00:00:00")},
		{"digits of a date are seconds", attribute, "$[date]=1&$[from]=20120302", test(attribute, adapter.GtEq, "1970-08-21 20:58:22")},
		{"beyond all times", attribute, "$[date]=1&$[to]=1e300", test(attribute, adapter.LtEq, "")},
		{"empty is null", attribute, "$[date]=1&$[from]=&$[to]=2012-03-02", test(attribute, adapter.In)},
		{"0 is null", attribute, "$[datetime]=1&$[to]=0", test(attribute, adapter.In)},
		{"ids", "item_id", "$[from]=2&$[to]=3&$[date]=1", test("item_id", adapter.Within, "1970", "1970")},
		{"texts", "backorders", "$[from]=2012-03-02&$[date]=1", test("backorders", adapter.GtEq, "2012-03-02 00:00:00")},
		{"hint without value", attribute, "$[from]=03/02/2012&$[date]=", test(attribute, adapter.GtEq, "")},
		{"hint 0", attribute, "$[from]=03/02/2012&$[datetime]=0", test(attribute, adapter.GtEq, "")},
		{"hint as a list", attribute, "$[from]=03/02/2012&$[date][]=", test(attribute, adapter.GtEq, "2012-03-02 00:00:00")},
		{"no other operator", attribute, "$[gt]=03/02/2012&$[date]=1", test(attribute, adapter.Gt, "")},
	}
	for _, row := range tests {
		t.Run(row.name, func(t *testing.T) { checkFilter(t, row.query, row.attribute, row.want) })
	}
}

// repeat returns n parts, each formatted with its number.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestLimits checks the limits on comparisons per request. Queries of 256 KB in the most
// expensive shapes are parsed like any other.
func TestLimits(t *testing.T) {
	const size = 256 << 10
	entry := func(i int, rest string) string {
		return fmt.Sprintf("&filter[%d][attribute]=qty&filter[%[1]d]%s", i, rest)
	}
	entries := func(n int, rest string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(entry(i, rest))
		}
		return b.String()
	}
	tests := []struct {
		name, query string
		want        string
	}{
		{"1,000 entries", entries(1000, "[eq]=1"), accepted},
		{"1,001 entries", entries(1001, "[eq]=1"), filtering},
		{"10,000 entries", entries(10000, "[eq]=1"), filtering},
		{"999 values of in", entry(1, "[null]=") + repeat(998, "&filter[2][in][]=%d") + "&filter[2][attribute]=qty", accepted},
		{"1,001 values of in", "filter[1][attribute]=qty" + repeat(1001, "&filter[1][in][]=%d"), filtering},
		{"1,001 values of nin", "filter[1][attribute]=qty" + repeat(1001, "&filter[1][nin][]=%d"), filtering},
		{"1,001 alternatives", "filter[1][attribute]=qty" + repeat(1001, "&filter[1][]=%d"), filtering},
		{"1,001 conditions", "filter[1][attribute]=qty" + repeat(1001, "&filter[1][%d][eq]=1"), filtering},
		{"deep nesting", "filter[1][attribute]=qty&filter[1]" + strings.Repeat("[x]", 60) + "[eq]=1", accepted},
		{"values in 256 KB", "filter[1][attribute]=qty" + strings.Repeat("&filter[1][in][]=1", size/18), filtering},
		{"nesting in 256 KB", "filter[1][attribute]=qty" + repeat(size/220, "&filter[1][%d]"+strings.Repeat("[x]", 60)+"[eq]=1"), filtering},
		{"one text of 256 KB", "filter[1][attribute]=backorders&filter[1][eq]=" + strings.Repeat("x", size), accepted},
		{"one number of 256 KB", "filter[1][attribute]=qty&filter[1][eq]=" + strings.Repeat("9", size), accepted},
		{"one date of 256 KB", "filter[1][attribute]=low_stock_date&filter[1][eq]=" + strings.Repeat("2012-03-02 ", size/11), accepted},
		{"names in 256 KB", repeat(size/16, "&some_name_%d=1"), accepted},

		{"expression of 199 letters", "filter[1][attribute]=backorders&filter[1][regexp]=" + strings.Repeat("x", 199), accepted},
		{"expression of 200 letters", "filter[1][attribute]=backorders&filter[1][regexp]=" + strings.Repeat("x", 200), filtering},
		{"expression of 1,001 bytes", "filter[1][attribute]=backorders&filter[1][regexp]=" + strings.Repeat("x", 1001), filtering},
		{"expressions too long in sum", entries(50, "[regexp]="+strings.Repeat("x", 5)), filtering},
		{"expression with many repetitions", "filter[1][attribute]=backorders&filter[1][regexp]=(x?){1000}(x?){1000}", filtering},
		{"expression with nested repetitions", "filter[1][attribute]=backorders&filter[1][regexp]=((x{9}){9}){9}y", filtering},
		{"expression with an open repetition", "filter[1][attribute]=backorders&filter[1][regexp]=(x?){600,}", filtering},
		{"expression with few repetitions", "filter[1][attribute]=backorders&filter[1][regexp]=[0-9]{1,8}%5C.0{4}", accepted},
		{"like of 1,000 letters", "filter[1][attribute]=backorders&filter[1][like]=%25" + strings.Repeat("%C3%A9", 999), accepted},
		{"like of 1,001 letters", "filter[1][attribute]=backorders&filter[1][nlike]=%25" + strings.Repeat("x", 1000), filtering},
		{"like of 200 single wildcards", "filter[1][attribute]=backorders&filter[1][like]=" + strings.Repeat("_", 200), accepted},
		{"like of 201 single wildcards", "filter[1][attribute]=backorders&filter[1][nlike]=" + strings.Repeat("_", 201), filtering},
		{"likes too long in sum", entries(143, "[like]="+strings.Repeat("%25", 7)), filtering},
		{"like and expression too long in sum", entry(1, "[like]="+strings.Repeat("x", 996)) + entry(2, "[regexp]=x"), filtering},
	}
	for _, row := range tests {
		t.Run(row.name, func(t *testing.T) {
			_, err := parse(contract.Documented(), row.query)
			if got := answer(t, err); got != row.want {
				t.Errorf("answered %q, want %q", got, row.want)
			}
		})
	}
}
