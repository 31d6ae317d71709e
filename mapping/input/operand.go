package input

import (
	"math"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
)

// comparison returns the test that compares an attribute by op with the texts of a filter. Its
// operands are in the canonical form of [adapter.Query]: the leading part of a number, the
// start of a date, a text unchanged.
func comparison(a adapter.Attribute, op adapter.Op, texts ...string) adapter.Test {
	if a.Kind == adapter.KindTime && !op.TextOnly() {
		return timeComparison(a.Name, op, texts)
	}
	test := adapter.Test{Attribute: a.Name, Op: op}
	for _, text := range texts {
		if (a.Kind == adapter.KindInteger || a.Kind == adapter.KindDecimal) && !op.TextOnly() {
			text = plainNumber(codec.LeadingNumber(text))
		}
		test.Operands = append(test.Operands, text)
	}
	return test
}

// noTime is an operand that is before all times and equals none.
const noTime = ""

// timeComparison returns the test that compares a time by op with the moments in texts.
func timeComparison(attribute string, op adapter.Op, texts []string) adapter.Test {
	test := adapter.Test{Attribute: attribute, Op: op}
	for i, text := range texts {
		m := readMoment(text)
		operand := m.second
		switch {
		case !m.after:
		case op == adapter.GtEq: // later than the moment is later than the second before it
			test.Op = adapter.Gt
		case op == adapter.Lt:
			test.Op = adapter.LtEq
		case op == adapter.Within && i == 0:
			var ok bool
			if operand, ok = m.next(); !ok {
				return adapter.Test{Attribute: attribute, Op: adapter.LtEq, Operands: []string{noTime}}
			}
		case op != adapter.Gt && op != adapter.LtEq && op != adapter.Within:
			operand = noTime
		}
		test.Operands = append(test.Operands, operand)
	}
	return test
}

// plainNumber formats f without an exponent. Numbers far out of range of every column are
// clamped to one that is still out of range.
func plainNumber(f float64) string {
	const beyond = 1e20
	return strconv.FormatFloat(math.Max(-beyond, math.Min(f, beyond)), 'f', -1, 64)
}
