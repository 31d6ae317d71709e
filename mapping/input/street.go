package input

import (
	"strings"
	"unicode/utf8"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// Blanks are the characters that the length rules trim from a text.
const Blanks = " \t\n\r\x00\v"

// streetSeparator joins the further lines of a street into the second (contract
// 3.2).
const streetSeparator = "; "

// maxStreetLines is the number of lines of a street (customers 6.2).
const maxStreetLines = 2

// parseStreet returns the lines of a street that was sent as a list. They are valid if
// fault is 0.
func parseStreet(rule *contract.Rule, n *codec.Node) (lines []string, fault contract.FaultKey) {
	if _, isList := n.Get("0"); !isList {
		return nil, rule.Missing
	}
	values, fault := streetValues(n)
	if fault != 0 {
		return nil, fault
	}
	if values[0] == "" {
		return nil, rule.Missing
	}
	for i, value := range values {
		if i > 0 && value == "" {
			continue
		}
		if fault := checkLength(rule, value); fault != 0 {
			return nil, fault
		}
	}
	joined := codec.TextNode(strings.Trim(strings.Join(values, "\n"), Blanks))
	text, _ := StoredText(&joined)
	return strings.Split(text, "\n"), 0
}

// streetValues returns the lines that were sent, at most two. Line 1 is joined from all
// lines but the first.
func streetValues(n *codec.Node) (values []string, fault contract.FaultKey) {
	for i := range n.Members[:min(maxStreetLines, len(n.Members))] {
		m := &n.Members[i]
		// The original crashes on a literal false.
		text, ok := m.Value.String(), m.Value.Kind != codec.Struct && m.Value.Kind != codec.False
		if m.Key == "1" {
			text, ok = joinLines(n.Members[1:])
		}
		if !ok {
			return nil, contract.ValueCrash
		}
		values = append(values, text)
	}
	return values, 0
}

func joinLines(members []codec.Member) (joined string, ok bool) {
	lines := make([]string, len(members))
	for i := range members {
		if members[i].Value.Kind == codec.Struct {
			return "", false
		}
		lines[i] = members[i].Value.String()
	}
	return strings.Join(lines, streetSeparator), true
}

// trimmedLength returns the number of characters of a text without surrounding blanks, or
// 0 for a text that is not UTF-8 (customers 4; wire 6.3).
func trimmedLength(text string) int {
	if !utf8.ValidString(text) {
		return 0
	}
	return utf8.RuneCountInString(strings.Trim(text, Blanks))
}

// checkLength returns the fault of a text that is too short or too long, or 0.
func checkLength(rule *contract.Rule, text string) contract.FaultKey {
	if rule.Min == 0 && rule.Max == 0 {
		return 0
	}
	n := trimmedLength(text)
	switch {
	case n < int(rule.Min):
		return contract.ValueTooShort
	case rule.Max > 0 && n > int(rule.Max):
		return contract.ValueTooLong
	default:
		return 0
	}
}
