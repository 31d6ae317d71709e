package migrate

import (
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping/legacy/compare"
)

// TestIntegersHint checks that integers in another form give one sentence for all calls.
func TestIntegersHint(t *testing.T) {
	r := newComparison("a", "b")
	for _, call := range []string{"getProduct", "listProducts"} {
		r.add(1, Example{}, call, []compare.Difference{{Field: compare.Integers, Legacy: new("numbers, such as entity_id"), Candidate: new("texts: set store.integers to number")}}, nil)
	}
	r.finish()
	want := []string{"integers are numbers, such as entity_id, at the legacy store, and texts: set store.integers to number (2 answers)"}
	if got := r.Hints(); !slices.Equal(got, want) {
		t.Errorf("hints %q, want %q", got, want)
	}
}

// TestRoundingHint checks when prices that differ point to the setting of rounding.
func TestRoundingHint(t *testing.T) {
	price := func(field, legacy, candidate string) compare.Difference {
		return compare.Difference{Field: field, Legacy: &legacy, Candidate: &candidate}
	}
	cent := price("final_price_without_tax", "1.67", "1.68")
	for _, c := range []struct {
		name        string
		differences []compare.Difference
		want        bool
	}{
		{"none", nil, false},
		{"too few", []compare.Difference{cent, cent}, false},
		{"three", []compare.Difference{cent, price("tier_price.price_with_tax", "43.3", "43.29"), price("regular_price_with_tax", "100", "99.99")}, true},
		{"more than a cent", []compare.Difference{cent, cent, cent, price("final_price_with_tax", "1.67", "1.69")}, false},
		{"other fields", []compare.Difference{price("price", "1.67", "1.68"), price("price", "1.67", "1.68"), price("price", "1.67", "1.68")}, false},
		{"no numbers", []compare.Difference{cent, cent, cent, price("final_price_with_tax", "null", `"1.6900"`)}, false},
		{"nothing at one of the systems", []compare.Difference{cent, cent, {Field: "final_price_with_tax", Legacy: cent.Legacy}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newComparison("a", "b")
			r.Prices.add(c.differences)
			if hint := r.roundingHint(); strings.Contains(hint, "store.tax_rounding") != c.want {
				t.Errorf("hint %q, want one %t", hint, c.want)
			}
		})
	}
}
