package input

import (
	"regexp"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// satisfies reports whether a value that was sent satisfies a rule, whose options are codes
// (stock_orders 2.3, details of the rules).
func satisfies(rule *contract.Rule, codes []string, n *codec.Node) bool {
	number, ok := Number(n)
	switch rule.Check {
	case contract.AnyNumber:
		return ok
	case contract.NonNegative:
		return ok && number >= 0
	case contract.Positive:
		return ok && number > 0
	case contract.NumberOption:
		return ok && slices.ContainsFunc(codes, func(code string) bool { return codec.LeadingNumber(code) == number })
	case contract.Between:
		return isBetween(n, rule.Min, rule.Max)
	case contract.Float:
		return isFloat(n)
	case contract.Whole:
		return isWhole(n)
	case contract.Integer:
		_, ok := WholeNumber(n)
		return ok
	case contract.OneCharacter:
		// The original allows one line break after the character.
		return (n.Kind == codec.Number || n.Kind == codec.Text) && slices.Contains(rule.Options, strings.TrimSuffix(n.String(), "\n"))
	default:
		return isJSON(rule, n)
	}
}

// isJSON is satisfies for the checks of values that are demanded, and of OpenMage (openmage 1).
func isJSON(rule *contract.Rule, n *codec.Node) bool {
	literal := false // an integer
	if n.Kind == codec.Number {
		_, _, literal = codec.ParseLiteral(n.Text)
	}
	number, numeric := Number(n)
	switch rule.Check {
	case contract.NotBlank, contract.Given, contract.Filled:
		blank := n.Kind == codec.Text && strings.Trim(n.Text, Blanks) == ""
		return !IsMissing(n) && (rule.Check == contract.NotBlank || !blank) && !(rule.Check == contract.Filled && n.Kind == codec.Number && !literal && number == 0)
	case contract.JSONFloat:
		return n.Kind == codec.Null || n.Kind == codec.Number && !literal
	case contract.JSONInteger:
		return n.Kind == codec.Null || literal
	case contract.Numeric:
		return n.Kind == codec.Null || numeric
	case contract.InRange:
		return !numeric || number >= rule.Min && number <= rule.Max
	case contract.NotList:
		return n.Kind != codec.Struct
	case contract.CharacterOrEmpty:
		one := slices.Contains(rule.Options, strings.TrimSuffix(n.String(), "\n"))
		return IsEmpty(n) || n.Kind == codec.Struct || n.Kind != codec.False && one
	default:
		return true
	}
}

// isBetween compares numbers and numeric texts by value, and other texts byte by byte
// with the written form of the limits.
func isBetween(n *codec.Node, low, high float64) bool {
	switch n.Kind {
	case codec.True:
		return true
	case codec.False:
		return low == 0
	case codec.Number, codec.Text:
	default:
		return false
	}
	if number, ok := Number(n); ok {
		return number >= low && number <= high
	}
	text := n.String()
	return text != "" && text >= codec.NumberText(low) && text <= codec.NumberText(high)
}

var floatForm = regexp.MustCompile(`^[+-]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$`)

func isFloat(n *codec.Node) bool {
	return n.Kind == codec.Number || n.Kind == codec.Text && floatForm.MatchString(n.Text)
}

// MessageValue returns a value as a message shows it: for lists and records their values,
// flattened (stock_orders 2.3).
func MessageValue(n *codec.Node) string {
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
