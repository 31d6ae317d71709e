package sqlstore

import (
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"math/big"
	"regexp"
	"testing"
)

// plain matches the notation of operands.
var plain = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)$`)

// FuzzParseOperand compares operands with exact rationals.
func FuzzParseOperand(f *testing.F) {
	for _, s := range []string{"0", "-0.0", "1.00000000000000000001", "-1.00001", "99999999.9999", "123456789012345678901234567890", "-.5", "+", "1.2.3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, ok := parseOperand(s, engine.DecimalPlaces, engine.MaxDecimal)
		if ok != plain.MatchString(s) {
			t.Fatalf("parseOperand(%q) ok = %v", s, ok)
		}
		if !ok || len(s) > 1000 {
			return
		}
		exact, _ := new(big.Rat).SetString(s)
		exact.Mul(exact, big.NewRat(10_000, 1))
		units, next := new(big.Rat).SetInt64(o.units), new(big.Rat).SetInt64(o.units+1)
		limit := new(big.Rat).SetInt64(engine.MaxDecimal)
		switch {
		case o.above:
			if exact.Cmp(limit) <= 0 {
				t.Errorf("%q is not above all", s)
			}
		case o.below:
			if exact.Cmp(limit.Neg(limit)) >= 0 {
				t.Errorf("%q is not below all", s)
			}
		case o.exact:
			if exact.Cmp(units) != 0 {
				t.Errorf("%q is not %d", s, o.units)
			}
		default:
			if exact.Cmp(units) <= 0 || exact.Cmp(next) >= 0 {
				t.Errorf("%q is not between %d and the next", s, o.units)
			}
		}
	})
}
