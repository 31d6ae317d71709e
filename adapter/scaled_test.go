package adapter_test

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

func TestScaled(t *testing.T) {
	for _, c := range []struct {
		name, text string
		shift      int
		want       string // formatted with the same shift; "" if the text is no number
	}{
		{"integer", "5", 4, "5.0000"},
		{"cents", "1999", 2, "1999.00"},
		{"without places", "-7", 0, "-7"},
		{"small", "-0.05", 4, "-0.0500"},
		{"half away from zero", "0.00005", 4, "0.0001"},
		{"negative half away from zero", "-0.00005", 4, "-0.0001"},
		{"less than half", "0.00004999", 4, "0.0000"},
		{"exponent", "1.5e3", 2, "1500.00"},
		{"negative exponent", "15E-1", 4, "1.5000"},
		{"leading zeros", "007", 1, "7.0"},
		{"greatest exponent", "1e64", 0, "1" + strings.Repeat("0", 64)},
		{"beyond the greatest exponent", "1e65", 0, ""},
		{"longest", strings.Repeat("9", 64), 0, strings.Repeat("9", 64)},
		{"too long", strings.Repeat("9", 65), 0, ""},
		{"empty", "", 4, ""},
		{"sign alone", "-", 4, ""},
		{"plus", "+5", 4, ""},
		{"point in front", ".5", 4, ""},
		{"point behind", "5.", 4, ""},
		{"two points", "1.2.3", 4, ""},
		{"word", "NaN", 4, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, ok := adapter.ParseScaled(c.text, c.shift)
			if ok != (c.want != "") {
				t.Fatalf("%q is a number: %t", c.text, ok)
			}
			if ok && adapter.FormatScaled(n, c.shift) != c.want {
				t.Errorf("got %s, want %s", adapter.FormatScaled(n, c.shift), c.want)
			}
		})
	}
}
