package codec_test

import (
	"github.com/portico-commerce/portico/mapping/codec"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		want       float64
		ok         bool
	}{
		{"digits", "5", 5, true},
		{"point behind", "5.", 5, true},
		{"point before, exponent", ".5e1", 5, true},
		{"plus", "+5", 5, true},
		{"minus", "-0.5", -0.5, true},
		{"capital exponent with sign", "1E-3", 0.001, true},
		{"white space on both sides", " \t\r\n\v\f1 \t\r\n\v\f", 1, true},
		{"leading zeros", "007", 7, true},
		{"beyond the range", "1e400", math.Inf(1), true},
		{"beyond the range, negative", "-1e400", math.Inf(-1), true},
		{"too small", "1e-400", 0, true},
		{"empty", "", 0, false},
		{"blanks only", "  ", 0, false},
		{"word", "abc", 0, false},
		{"tail", "3abc", 0, false},
		{"hexadecimal", "0x5", 0, false},
		{"hexadecimal float", "0x1p4", 0, false},
		{"underscore", "1_0", 0, false},
		{"INF", "INF", 0, false},
		{"NaN", "NaN", 0, false},
		{"infinity", "Infinity", 0, false},
		{"point alone", ".", 0, false},
		{"sign alone", "-", 0, false},
		{"sign and point", "+.", 0, false},
		{"two signs", "+-1", 0, false},
		{"blank inside", "1 000", 0, false},
		{"blank behind the sign", "- 1", 0, false},
		{"exponent without digits", "1e", 0, false},
		{"exponent with sign only", "1e+", 0, false},
		{"exponent alone", "e5", 0, false},
		{"two points", "1.2.3", 0, false},
		{"comma", "1,5", 0, false},
		{"no-break space", "\u00a01", 0, false},
		{"NUL behind", "1\x00", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := codec.ParseNumber(tt.text)
			if got != tt.want || ok != tt.ok {
				t.Errorf("Parse(%q) = %v, %v, want %v, %v", tt.text, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestLeading(t *testing.T) {
	tests := []struct {
		text string
		want float64
	}{
		{"1abc", 1}, {"1e0", 1}, {".5x", .5}, {"abc", 0}, {"", 0}, {" 12 ", 12}, {"1e", 1}, {"1e+x", 1},
		{"-3.25,7", -3.25}, {"0x1A", 0}, {"1_0", 1}, {"+.", 0}, {"1.2.3", 1.2}, {"\n7", 7}, {"1e999x", math.Inf(1)},
		{"12.345.678", 12.345}, {"-abc", 0},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			if got := codec.LeadingNumber(tt.text); got != tt.want {
				t.Errorf("Leading(%q) = %v, want %v", tt.text, got, tt.want)
			}
		})
	}
}

func TestID(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"1", 1, true}, {"01", 1, true}, {"1abc", 1, true}, {"1.0", 1, true}, {" 1", 1, true}, {"1 ", 1, true},
		{"1e0", 1, true}, {"+1", 1, true}, {"1e", 1, true}, {"0.5e1", 5, true}, {"1.", 1, true}, {"1.x", 1, true},
		{"9007199254740993", 9007199254740993, true},
		{"9223372036854775807", math.MaxInt64, true},
		{strings.Repeat("0", 400) + "7", 7, true},
		{"9223372036854775808", 0, false}, {"9223372036854775807.0", 0, false}, {"1e19", 0, false}, {"1e400", 0, false},
		{"1.9", 0, false}, {"0", 0, false}, {"0.0", 0, false}, {"-1", 0, false}, {"-1.0", 0, false}, {"abc", 0, false}, {"", 0, false},
		{".5", 0, false}, {"1e-1", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, ok := codec.ParseID(tt.text)
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("ID(%q) = %v, %v, want %v, %v", tt.text, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestLeadingInteger(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"2", 2, true}, {"2abc", 2, true}, {"02", 2, true}, {"1.9", 1, true}, {"1e1", 1, true}, {" 7 ", 7, true}, {"+3", 3, true},
		{"-2", -2, true}, {"0", 0, true}, {"0x5", 0, true}, {"9223372036854775807", math.MaxInt64, true},
		{"9223372036854775808", 0, false}, {"abc", 0, false}, {"", 0, false}, {".5", 0, false}, {"-", 0, false}, {"+ 1", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, ok := codec.LeadingInteger(tt.text)
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("LeadingInteger(%q) = %v, %v, want %v, %v", tt.text, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestLiteral(t *testing.T) {
	tests := []struct {
		literal string
		i       int64
		f       float64
		whole   bool
	}{
		{"0", 0, 0, true},
		{"12", 12, 12, true},
		{"-7", -7, -7, true},
		{"9223372036854775807", math.MaxInt64, math.MaxInt64, true},
		{"-9223372036854775808", math.MinInt64, math.MinInt64, true},
		{"9223372036854775808", 0, 9223372036854775808, false},
		{"12.50", 0, 12.5, false},
		{"1.0", 0, 1, false},
		{"1e2", 0, 100, false},
		{"1e400", 0, math.Inf(1), false},
		{"-1e400", 0, math.Inf(-1), false},
		{"-0", 0, math.Copysign(0, -1), false},
		{"-0.0", 0, math.Copysign(0, -1), false},
		{"not a literal", 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.literal, func(t *testing.T) {
			i, f, whole := codec.ParseLiteral(tt.literal)
			if i != tt.i || f != tt.f || math.Signbit(f) != math.Signbit(tt.f) || whole != tt.whole {
				t.Errorf("Literal = %v, %v, %v, want %v, %v, %v", i, f, whole, tt.i, tt.f, tt.whole)
			}
		})
	}
}

func TestText(t *testing.T) {
	tests := []struct {
		f    float64
		want string
	}{
		{12.50, "12.5"}, {1, "1"}, {math.Copysign(0, -1), "-0"}, {0, "0"}, {-2.25, "-2.25"},
		{0.3, "0.3"}, {0.30000000000000004, "0.3"}, {119.5, "119.5"}, {90, "90"}, {1.0 / 3, "0.33333333333333"},
		{99999999999999, "99999999999999"}, {100000000000000, "1.0E+14"}, {99999999999999.9, "1.0E+14"},
		{1e15, "1.0E+15"}, {1e20, "1.0E+20"}, {12345678901234567890, "1.2345678901235E+19"}, {-1e15, "-1.0E+15"},
		{1e-4, "0.0001"}, {0.00012, "0.00012"}, {0.00009, "9.0E-5"}, {1e-7, "1.0E-7"}, {1.5e-10, "1.5E-10"}, {1e300, "1.0E+300"},
		{math.Inf(1), "INF"}, {math.Inf(-1), "-INF"}, {math.NaN(), "NAN"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			if got := codec.NumberText(tt.f); got != tt.want {
				t.Errorf("Text(%v) = %s, want %s", tt.f, got, tt.want)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	tests := []struct {
		f    float64
		want string
	}{
		{90, "90"}, {43.29, "43.29"}, {99, "99"}, {1e20, "1.0e+20"}, {1.5e20, "1.5e+20"}, {0, "0"}, {-1.5, "-1.5"},
		{0.30000000000000004, "0.30000000000000004"}, {1e16, "10000000000000000"}, {1e17, "1.0e+17"},
		{0.0001, "0.0001"}, {0.00001, "1.0e-5"}, {math.Inf(1), "null"}, {math.NaN(), "null"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			if got := codec.JSONNumber(tt.f); got != tt.want {
				t.Errorf("JSON(%v) = %s, want %s", tt.f, got, tt.want)
			}
		})
	}
}

func TestDecimal(t *testing.T) {
	tests := []struct {
		f    float64
		want string
	}{
		{1.23456, "1.2346"}, {1.00005, "1.0001"}, {3.00005, "3.0000"}, {0.03125, "0.0312"}, {12, "12.0000"}, {-5, "-5.0000"},
		{math.Copysign(0, -1), "0.0000"}, {-0.00001, "0.0000"}, {-0.00006, "-0.0001"},
		{math.Inf(1), strconv.FormatFloat(math.MaxFloat64, 'f', 4, 64)},
		{math.Inf(-1), strconv.FormatFloat(-math.MaxFloat64, 'f', 4, 64)},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			if got := codec.DecimalText(tt.f); got != tt.want {
				t.Errorf("Decimal(%v) = %s, want %s", tt.f, got, tt.want)
			}
		})
	}
}

func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"1", " .5e1\n", "1abc", "-0.0", "1e400", "9223372036854775807", "1.9", "0x5", "1_0", "INF", "+", "12.345.678"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		leading := codec.LeadingNumber(s)
		if v, ok := codec.ParseNumber(s); ok && v != leading {
			t.Errorf("Parse(%q) = %v, but Leading = %v", s, v, leading)
		}
		if id, ok := codec.ParseID(s); ok && (id < 1 || float64(id) != leading) {
			t.Errorf("ID(%q) = %v, but Leading = %v", s, id, leading)
		}
		if whole, ok := codec.LeadingInteger(s); ok && math.Abs(leading) < 1e15 && !strings.ContainsAny(s, "eE") && math.Abs(float64(whole)-leading) > 1 {
			t.Errorf("LeadingInteger(%q) = %v, but Leading = %v", s, whole, leading)
		}
		if math.IsInf(leading, 0) {
			return
		}
		if back, ok := codec.ParseNumber(codec.JSONNumber(leading)); !ok || back != leading {
			t.Errorf("JSON(%v) = %s reads back as %v", leading, codec.JSONNumber(leading), back)
		}
		text := codec.NumberText(leading)
		if back, ok := codec.ParseNumber(text); !ok || !math.IsInf(back, 0) && codec.NumberText(back) != text {
			t.Errorf("Text(%v) = %s reads back as %v", leading, text, back)
		}
	})
}
