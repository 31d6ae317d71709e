package adapter

import (
	"math/big"
	"regexp"
	"testing"
)

func TestFormatDecimal(t *testing.T) {
	for _, c := range []struct {
		units int64
		want  string
	}{
		{0, "0.0000"}, {1, "0.0001"}, {-1, "-0.0001"}, {10_000, "1.0000"}, {-125_000, "-12.5000"},
		{999_999_999_999, "99999999.9999"}, {-999_999_999_999, "-99999999.9999"}, {maxDecimal, "450359962737.0496"},
	} {
		if got := FormatDecimal(c.units); got != c.want {
			t.Errorf("FormatDecimal(%d) = %q, want %q", c.units, got, c.want)
		}
	}
}

func TestParseDecimal(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"12.5", 125_000, true}, {"-0.0001", -1, true}, {"+1.", 10_000, true}, {".5", 5000, true},
		{"1.00000", 10_000, true}, {"1.00001", 0, false}, {"", 0, false}, {"-", 0, false}, {".", 0, false},
		{"1e3", 0, false}, {"1.2.3", 0, false}, {" 1", 0, false}, {"999999999999999999", 0, false}, {"0x1", 0, false},
	} {
		got, ok := ParseDecimal(c.text)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("ParseDecimal(%q) = %d, %v", c.text, got, ok)
		}
	}
}

// FuzzParseDecimal compares decimals with exact rationals.
func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"0", "-0.0", "1.00001", "99999999.9999", "123456789012345678901234567890", "-.5", "+", "1.2.3", "450359962737.0496", "450359962737.0497"} {
		f.Add(s)
	}
	plain := regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)$`)
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ParseDecimal(s)
		want := plain.MatchString(s) && len(s) <= 1000
		if want {
			exact, _ := new(big.Rat).SetString(s)
			exact.Mul(exact, big.NewRat(decimalUnit, 1))
			want = exact.IsInt() && new(big.Int).Abs(exact.Num()).Cmp(big.NewInt(maxDecimal)) <= 0
			if ok && exact.Cmp(new(big.Rat).SetInt64(got)) != 0 {
				t.Errorf("ParseDecimal(%q) = %d", s, got)
			}
		}
		if ok != want && len(s) <= 1000 {
			t.Errorf("ParseDecimal(%q) ok = %v", s, ok)
		}
	})
}
