package adapter

import (
	"fmt"
	"slices"
	"testing"
)

// testRecords returns records with an attribute of every comparable kind, some of them null
// or absent.
func testRecords() (*Schema, []Record) {
	schema := NewSchema("shelf", "id", []Attribute{
		{Name: "id", Kind: KindInteger},
		{Name: "name", Kind: KindText},
		{Name: "qty", Kind: KindDecimal},
		{Name: "since", Kind: KindTime},
	})
	rows := []struct {
		name, qty, since string
		noName           bool
	}{
		{name: "Kettle", qty: "2.5000", since: "2012-01-01 00:00:00"},
		{name: "lamp, tall", qty: "-1.0000"},
		{name: "Lämp", qty: "10.0000", since: "2013-06-01 12:00:00"},
		{noName: true, qty: "2.5000", since: "2012-01-01 00:00:01"},
		{name: "red,green ", qty: "100.0000"},
	}
	var records []Record
	for i, row := range rows {
		r := NewRecord(schema)
		r.Set("id", IntegerValue(int64(i+1)))
		r.Set("qty", TextValue(row.qty))
		if !row.noName {
			r.Set("name", TextValue(row.name))
		} else {
			r.Set("name", NullValue())
		}
		if row.since != "" {
			r.Set("since", TextValue(row.since))
		} else if i > 1 {
			r.Set("since", NullValue())
		}
		records = append(records, r)
	}
	return schema, records
}

func ids(records []Record) []int64 {
	var list []int64
	for _, r := range records {
		list = append(list, r.Get("id").Int())
	}
	return list
}

func TestApplySelects(t *testing.T) {
	tests := []struct {
		name string
		test Test
		want []int64
	}{
		{"equal number", Test{"qty", Eq, []string{"2.5"}}, []int64{1, 4}},
		{"number compared by value", Test{"qty", Gt, []string{"9"}}, []int64{3, 5}},
		{"negative number", Test{"qty", Lt, []string{"0"}}, []int64{2}},
		{"at least", Test{"qty", GtEq, []string{"10"}}, []int64{3, 5}},
		{"at most", Test{"qty", LtEq, []string{"2.5"}}, []int64{1, 2, 4}},
		{"within", Test{"qty", Within, []string{"0", "10"}}, []int64{1, 3, 4}},
		{"text folded", Test{"name", Eq, []string{"LAMP"}}, []int64{3}},
		{"unequal text, null excluded", Test{"name", NotEq, []string{"lamp"}}, []int64{1, 2, 5}},
		{"in", Test{"name", In, []string{"kettle", "LÄMP"}}, []int64{1, 3}},
		{"in without operands", Test{"name", In, nil}, nil},
		{"not in", Test{"name", NotIn, []string{"kettle"}}, []int64{2, 3, 5}},
		{"like", Test{"name", Like, []string{"l_mp%"}}, []int64{2, 3}},
		{"like escaped", Test{"name", Like, []string{`%\%`}}, nil},
		{"not like", Test{"name", NotLike, []string{"l%"}}, []int64{1, 5}},
		{"like, trailing blanks count", Test{"name", Like, []string{"kettle "}}, nil},
		{"like, a trailing blank of the text", Test{"name", NotLike, []string{"red,green"}}, []int64{1, 2, 3, 5}},
		{"like on a number's text", Test{"qty", Like, []string{"2.50%"}}, []int64{1, 4}},
		{"null, absent excluded", Test{"since", IsNull, nil}, []int64{5}},
		{"not null", Test{"since", IsNotNull, nil}, []int64{1, 3, 4}},
		{"later", Test{"since", Gt, []string{"2012-01-01 00:00:00"}}, []int64{3, 4}},
		{"after the earliest time", Test{"since", Gt, []string{""}}, []int64{1, 3, 4}},
		{"before the earliest time", Test{"since", Lt, []string{""}}, nil},
		{"comma list", Test{"name", InCommaList, []string{"RED"}}, []int64{5}},
		{"comma list, trailing blanks count", Test{"name", InCommaList, []string{"green"}}, nil},
		{"expression", Test{"name", Matches, []string{"^(kettle|red)"}}, []int64{1, 5}},
	}
	schema, records := testRecords()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, total, err := Apply(t.Context(), schema, records, &Query{Where: []Condition{{Any: []Test{test.test}}}})
			if err != nil || !slices.Equal(ids(got), test.want) || total != int64(len(test.want)) {
				t.Errorf("got %v of %d (%v), want %v", ids(got), total, err, test.want)
			}
		})
	}
}

func TestApplyJoinsConditions(t *testing.T) {
	schema, records := testRecords()
	got, _, err := Apply(t.Context(), schema, records, &Query{Where: []Condition{
		{Any: []Test{{"id", Eq, []string{"1"}}, {"id", Eq, []string{"2"}}, {"id", Eq, []string{"5"}}}},
		{Any: []Test{{"qty", Gt, []string{"0"}}}},
	}})
	if err != nil || !slices.Equal(ids(got), []int64{1, 5}) {
		t.Errorf("got %v, %v", ids(got), err)
	}
}

func TestApplySortsAndCuts(t *testing.T) {
	tests := []struct {
		query Query
		want  []int64
		total int64
	}{
		{Query{}, []int64{1, 2, 3, 4, 5}, 5},
		{Query{OrderBy: "qty"}, []int64{2, 1, 4, 3, 5}, 5},
		{Query{OrderBy: "qty", Desc: true}, []int64{5, 3, 1, 4, 2}, 5},
		{Query{OrderBy: "name"}, []int64{4, 1, 3, 2, 5}, 5},
		{Query{OrderBy: "since"}, []int64{2, 5, 1, 4, 3}, 5},
		{Query{OrderBy: "since", Desc: true}, []int64{3, 4, 1, 2, 5}, 5},
		{Query{Offset: 1, Limit: 2}, []int64{2, 3}, 5},
		{Query{Offset: 4, Limit: 2}, []int64{5}, 5},
		{Query{Offset: 5, Limit: 2}, nil, 5},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%+v", test.query), func(t *testing.T) {
			schema, records := testRecords()
			slices.Reverse(records)
			got, total, err := Apply(t.Context(), schema, records, &test.query)
			if err != nil || !slices.Equal(ids(got), test.want) || total != test.total {
				t.Errorf("got %v of %d (%v), want %v of %d", ids(got), total, err, test.want, test.total)
			}
		})
	}
}

func TestApplyStartsAfterCursor(t *testing.T) {
	for _, order := range []string{"", "id", "qty", "name", "since"} {
		for _, desc := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s desc=%t", order, desc), func(t *testing.T) {
				schema, records := testRecords()
				all, _, err := Apply(t.Context(), schema, records, &Query{OrderBy: order, Desc: desc})
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range all {
					cursor := &Cursor{Value: r.Get(order), Key: Key(r.Get("id").Int())}
					got, total, err := Apply(t.Context(), schema, records, &Query{OrderBy: order, Desc: desc, After: cursor})
					if want := all[i+1:]; err != nil || total != 5 || !slices.Equal(ids(got), ids(want)) {
						t.Errorf("after %d: got %v of %d (%v), want %v", cursor.Key, ids(got), total, err, ids(want))
					}
				}
			})
		}
	}
	t.Run("cursor of a deleted record", func(t *testing.T) {
		schema, records := testRecords()
		got, _, err := Apply(t.Context(), schema, records, &Query{OrderBy: "qty", After: &Cursor{Value: TextValue("2.5000"), Key: 3}, Offset: 1, Limit: 1})
		if err != nil || !slices.Equal(ids(got), []int64{3}) {
			t.Errorf("got %v, %v", ids(got), err)
		}
	})
}

func TestApplyErrors(t *testing.T) {
	schema, records := testRecords()
	tests := []struct {
		name  string
		query Query
		kind  ErrorKind
	}{
		{"unknown attribute", Query{Where: []Condition{{Any: []Test{{"colour", Eq, []string{"red"}}}}}}, Unsupported},
		{"unknown order", Query{OrderBy: "colour"}, Unsupported},
		{"broken expression", Query{Where: []Condition{{Any: []Test{{"name", Matches, []string{"("}}}}}}, Invalid},
		{"missing operand", Query{Where: []Condition{{Any: []Test{{"name", Eq, nil}}}}}, Invalid},
		{"missing second operand", Query{Where: []Condition{{Any: []Test{{"qty", Within, []string{"1"}}}}}}, Invalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, _, err := Apply(t.Context(), schema, records, &test.query); KindOf(err) != test.kind {
				t.Errorf("got %v, want kind %v", err, test.kind)
			}
		})
	}
}
