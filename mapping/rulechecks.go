package mapping

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// satisfiesRule reports whether a value that was sent satisfies rule (stock_orders 2.3,
// details of the rules).
func satisfiesRule(rule *contract.Rule, n *codec.Node) bool {
	switch rule.Check {
	case contract.Between:
		return isBetween(n, rule.Min, rule.Max)
	case contract.Float:
		return isFloat(n)
	case contract.Whole:
		return isWhole(n)
	default:
		return isOneOf(n, rule.Set)
	}
}

// isBetween compares numbers and numeric texts by value, and other texts byte by byte
// with the written form of the limits.
func isBetween(n *codec.Node, minText, maxText string) bool {
	switch n.Kind {
	case codec.True:
		return true
	case codec.False:
		return minText == "0"
	case codec.Number, codec.Text:
	default:
		return false
	}
	text := n.String()
	number, ok := numeric.Parse(text)
	if n.Kind == codec.Number {
		number, ok = numberLiteral(n), true
	}
	if !ok {
		return text != "" && text >= minText && text <= maxText
	}
	low, _ := strconv.ParseFloat(minText, 64)
	high, _ := strconv.ParseFloat(maxText, 64)
	return number >= low && number <= high
}

var floatForm = regexp.MustCompile(`^[+-]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$`)

func isFloat(n *codec.Node) bool {
	return n.Kind == codec.Number || n.Kind == codec.Text && floatForm.MatchString(n.Text)
}

// isWhole reports whether a value is a number without a fraction, or a text that reads as
// one.
func isWhole(n *codec.Node) bool {
	switch n.Kind {
	case codec.Number:
		return isInteger(numberLiteral(n))
	case codec.Text:
		number, ok := numeric.Parse(n.Text)
		return ok && isInteger(number)
	default:
		return false
	}
}

// isInteger reports whether f is an integer that fits 64 bits.
func isInteger(f float64) bool { return f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 }

// isOneOf allows one line break after the character, as the original does.
func isOneOf(n *codec.Node, set string) bool {
	if n.Kind != codec.Number && n.Kind != codec.Text {
		return false
	}
	text := strings.TrimSuffix(n.String(), "\n")
	return len(text) == 1 && strings.Contains(set, text)
}

// numberLiteral returns the value of a number node.
func numberLiteral(n *codec.Node) float64 {
	_, number, _ := numeric.Literal(n.Text)
	return number
}

// messageValue returns a value as a message shows it: for lists and records their values,
// flattened (stock_orders 2.3).
func messageValue(n *codec.Node) string {
	if n.Kind != codec.Struct {
		return n.String()
	}
	var text strings.Builder
	appendMemberValues(&text, n)
	return text.String()
}

func appendMemberValues(text *strings.Builder, n *codec.Node) {
	for i := range n.Members {
		if i > 0 {
			text.WriteString(", ")
		}
		if v := &n.Members[i].Value; v.Kind == codec.Struct {
			appendMemberValues(text, v)
		} else {
			text.WriteString(v.String())
		}
	}
}

// isEmptyValue reports whether a value is present but empty in the sense of the
// specification: null, or a text without characters, such as that of an empty element.
func isEmptyValue(n *codec.Node) bool {
	return n.Kind == codec.Null || n.Kind == codec.Text && n.Text == ""
}
