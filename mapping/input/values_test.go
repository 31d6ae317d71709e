package input

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// node decodes a value in JSON.
func node(t testing.TB, text string) *codec.Node {
	t.Helper()
	n, err := codec.Decode(contract.JSON, []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &n
}

func TestParseBirthDate(t *testing.T) {
	tests := []struct {
		name, sent, day string
		fault           contract.FaultKey
	}{
		{"month, day and year", `"2/3/1990"`, "1990-02-03", 0},
		{"leading zeros", `"02/03/1990"`, "1990-02-03", 0},
		{"dashes", `"2-3-1990"`, "1990-02-03", 0},
		{"points", `"2.3.1990"`, "1990-02-03", 0},
		{"blanks before", `"  2/3/1990"`, "1990-02-03", 0},
		{"trailing text", `"2/3/1990 10:00"`, "1990-02-03", 0},
		{"short year", `"1/1/85"`, "0085-01-01", 0},
		{"day beyond the month", `"2/30/1990"`, "1990-03-02", 0},
		{"month 0", `"0/1/1990"`, "1989-12-01", 0},
		{"day 0", `"3/0/1992"`, "1992-02-29", 0},
		{"month 13", `"13/1/1990"`, "", contract.ValueCrash},
		{"day 32", `"1/32/1990"`, "", contract.ValueCrash},
		{"two numbers", `"2/1990"`, "", contract.ValueCrash},
		{"a fraction", `2.5`, "", contract.DateFormat},
		{"a fraction of zero", `"0.0"`, "", contract.DateFormat},
		{"a fraction alone", `".5"`, "", contract.DateForm},
		{"trailing point", `"2."`, "", contract.DateForm},
		{"a sign", `"+5"`, "", contract.DateForm},
		{"below zero", `-3`, "", contract.DateForm},
		{"four digits below zero", `"-1234"`, "", contract.DateFormat},
		{"zeros", `"00"`, "", contract.DateForm},
		{"four zeros", `"0000"`, "", contract.DateFormat},
		{"an exponent", `"1e1"`, "", contract.DateForm},
		{"an exponent of thousands", `1e3`, "", contract.DateFormat},
		{"a huge exponent", `1e20`, "", contract.DateForm},
		{"a tiny exponent", `1e-3`, "", contract.DateZero},
		{"zero below zero", `-0`, "", contract.DateZero},
		{"a dash", `"-"`, "", contract.DateForm},
		{"a point", `"."`, "", contract.DateForm},
		{"a comma", `"1,5"`, "", contract.ValueCrash},
		{"zeros of a date", `"0000-00-00"`, "", contract.DateForm},
		{"an object", `{"a":1}`, "", contract.ValueCrash},
		{"no number", `"soon"`, "", contract.ValueCrash},
		{"year first", `"1990-02-03"`, "", contract.ValueCrash},
		{"year with too many digits", `"1/1/99999999999999999999"`, "", contract.ValueCrash},
		{"year that cannot be stored", `"1/1/0"`, "", contract.DateForm},
		{"day that runs over into year 10000", `"12/31/9999"`, "9999-12-31", 0},
		{"month with too many digits", `"99999999999999999999/1/1"`, "", contract.ValueCrash},
		{"one digit", `5`, "", contract.DateForm},
		{"true", `true`, "", contract.DateForm},
		{"three digits", `"123"`, "", contract.DateForm},
		{"four digits", `"1990"`, "", contract.DateFormat},
		{"eight digits", `19900203`, "", contract.DateFormat},
		{"zero", `0`, "", contract.DateZero},
		{"the text \"0\"", `"0"`, "", contract.DateZero},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.day
			if want != "" {
				want += " 00:00:00"
			}
			if day, fault := parseBirthDate(node(t, tt.sent), contract.MonthFirst); day != want || fault != tt.fault {
				t.Errorf("%s is %q, fault %d, want %q, %d", tt.sent, day, fault, want, tt.fault)
			}
		})
	}
}

// TestBirthDateOrders holds what the original made of the same texts in shops of each order
// (configurations 1.3).
func TestBirthDateOrders(t *testing.T) {
	orders := []contract.DateOrder{contract.MonthFirst, contract.DayFirst, contract.YearFirst}
	for sent, want := range map[string][3]string{
		"1980-02-03": {"", "", "1980-02-03"},
		"02/03/1980": {"1980-02-03", "1980-03-02", ""},
		"13/02/1980": {"", "1980-02-13", ""},
		"1980/13/02": {"", "", ""},
		"3.2.80":     {"0080-03-02", "0080-02-03", ""},
	} {
		for i, order := range orders {
			n := codec.TextNode(sent)
			day, fault := parseBirthDate(&n, order)
			if day, _, _ = strings.Cut(day, " "); day != want[i] || (fault == contract.ValueCrash) != (day == "") {
				t.Errorf("%s in order %d is %q, fault %d, want %q", sent, order, day, fault, want[i])
			}
		}
	}
}

func FuzzParseBirthDate(f *testing.F) {
	for _, seed := range []string{"2/30/1990", "0/0/1", "99999999999999999999", "1/2/3/4", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := codec.TextNode(text)
		for _, order := range []contract.DateOrder{contract.MonthFirst, contract.DayFirst, contract.YearFirst} {
			day, fault := parseBirthDate(&n, order)
			if (day == "") != (fault != 0) || day != "" && len(day) != len("2006-01-02 15:04:05") {
				t.Errorf("%q in order %d is %q, fault %d", text, order, day, fault)
			}
		}
	})
}

func TestParseStreet(t *testing.T) {
	long := string(slices.Repeat([]byte("x"), 256))
	field := contract.StandardFields().CustomerAddresses.Rules.Of("street")
	tests := []struct {
		name, sent string
		lines      []string
		fault      contract.FaultKey
	}{
		{"empty text", `""`, nil, field.Missing},
		{"text", `"1 Pine St"`, nil, field.Missing},
		{"number", `5`, nil, field.Missing},
		{"null", `null`, nil, field.Missing},
		{"empty list", `[]`, nil, field.Missing},
		{"empty line", `[""]`, nil, field.Missing},
		{"empty first line", `["","b"]`, nil, field.Missing},
		{"null for the first line", `[null,"b"]`, nil, field.Missing},
		{"no first line", `{"1":"b"}`, nil, field.Missing},
		{"blanks", `[" "]`, nil, contract.ValueTooShort},
		{"blanks in the second line", `["a"," "]`, nil, contract.ValueTooShort},
		{"invalid UTF-8", "[\"\uFFFD\"]", []string{"\uFFFD"}, 0},
		{"blanks around", `[" a ","b"]`, []string{"a ", "b"}, 0},
		{"blanks in the last line", `["a","b"," "]`, []string{"a", "b;"}, 0},
		{"empty last lines", `["a","",""]`, []string{"a", ";"}, 0},
		{"two lines", `["a","b"]`, []string{"a", "b"}, 0},
		{"four lines", `["a","b","c","d"]`, []string{"a", "b; c; d"}, 0},
		{"empty second line", `["a","","c"]`, []string{"a", "; c"}, 0},
		{"trailing empty line", `["a",""]`, []string{"a"}, 0},
		{"trailing null", `["a",null]`, []string{"a"}, 0},
		{"line break", `["a\nb"]`, []string{"a", "b"}, 0},
		{"numbers", `[5,6]`, []string{"5", "6"}, 0},
		{"zero", `[0]`, []string{"0"}, 0},
		{"record with 0 and 1", `{"0":"x","1":"y","k":"z"}`, []string{"x", "y; z"}, 0},
		{"record without 1", `{"0":"x","5":"y","k":"z"}`, []string{"x", "y"}, 0},
		{"first line too long", `["` + long + `"]`, nil, contract.ValueTooLong},
		{"joined lines too long", `["a","` + long[:200] + `","` + long[:60] + `"]`, nil, contract.ValueTooLong},
		{"NUL", `["a\u0000b"]`, []string{"ab"}, 0},
		{"list inside the list", `["1",["2"]]`, nil, contract.ValueCrash},
		{"list for the first line", `[["1"],"2"]`, nil, contract.ValueCrash},
		{"false", `[false,"b"]`, nil, contract.ValueCrash},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if lines, fault := parseStreet(field, node(t, tt.sent)); !slices.Equal(lines, tt.lines) || fault != tt.fault {
				t.Errorf("%s is %q, fault %d, want %q, %d", tt.sent, lines, fault, tt.lines, tt.fault)
			}
		})
	}
}

func FuzzParseStreet(f *testing.F) {
	field := contract.StandardFields().CustomerAddresses.Rules.Of("street")
	for _, seed := range []string{`["a","b","c"]`, `{"1":"y","0":"x","2":["z"]}`, `[" ",null,false]`, `"x"`, `[{}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := codec.Decode(contract.JSON, body)
		if err != nil {
			return
		}
		lines, fault := parseStreet(field, &n)
		if (len(lines) == 0) != (fault != 0) {
			t.Errorf("%s is %q, fault %d", body, lines, fault)
		}
		for _, line := range lines {
			if n := codec.TextNode(line); slices.Contains([]byte(line), '\n') || n.Text != line {
				t.Errorf("%s has the line %q", body, line)
			}
		}
	})
}

func TestTruthy(t *testing.T) {
	for sent, want := range map[string]bool{
		`1`: true, `"1"`: true, `true`: true, `"yes"`: true, `"false"`: true, `2`: true, `-1`: true, `[1]`: true, `"0.0"`: true, `" "`: true,
		`0`: false, `"0"`: false, `""`: false, `false`: false, `null`: false, `[]`: false, `{}`: false, `0.0`: false, `-0`: false,
	} {
		if got := Truthy(node(t, sent)); got != want {
			t.Errorf("%s: %v, want %v", sent, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	long := string(slices.Repeat([]byte("é"), 300))
	for _, c := range []struct {
		sent              string
		characters, bytes int
		want              adapter.Value
	}{
		{`"x"`, 255, 0, adapter.TextValue("x")}, {`" x "`, 255, 0, adapter.TextValue(" x ")}, {`0`, 255, 0, adapter.TextValue("0")},
		{`12.50`, 255, 0, adapter.TextValue("12.5")}, {`true`, 255, 0, adapter.TextValue("1")}, {`""`, 255, 0, adapter.NullValue()},
		{`"a\u0000b"`, 0, 0, adapter.TextValue("ab")}, {`"\u0000"`, 255, 0, adapter.NullValue()},
		{`"` + long + `"`, 255, 0, adapter.TextValue(long[:510])}, {`"` + long + `"`, 0, 255, adapter.TextValue(long[:254])}, {`"` + long + `"`, 0, 0, adapter.TextValue(long)},
	} {
		if got := Line(node(t, c.sent), c.characters, c.bytes); !got.Equal(c.want) {
			t.Errorf("%.20s is %v, want %v", c.sent, got, c.want)
		}
	}
}
