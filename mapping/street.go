package mapping

import (
	"strings"
	"unicode/utf8"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// blanks are what is trimmed off a text before its characters are counted.
const trimCutset = " \t\n\r\x00\v"

// streetSeparator stands between the lines that the second one holds
// (contract 3.2).
const streetSeparator = "; "

// A street has two lines (customers 6, "Street").
const maxStreetLines = 2

// readStreet reads the lines of a street, joined by line feeds. With fault 0 they
// are valid.
func parseStreet(field *contract.FormField, n *codec.Node) (lines []string, fault contract.FaultKey) {
	if _, isList := n.Get("0"); !isList {
		return nil, field.Missing
	}
	values, fault := streetValues(n)
	if fault != 0 {
		return nil, fault
	}
	if values[0] == "" {
		return nil, field.Missing
	}
	for i, value := range values {
		if i > 0 && value == "" {
			continue
		}
		if fault := checkLength(field, value); fault != 0 {
			return nil, fault
		}
	}
	joined := codec.TextNode(strings.Trim(strings.Join(values, "\n"), trimCutset))
	text, _ := storedText(&joined)
	return strings.Split(text, "\n"), 0
}

// streetValues returns the lines sent, at most two: all but the first are joined
// in the one called 1, if there is one.
func streetValues(n *codec.Node) (values []string, fault contract.FaultKey) {
	for i := range n.Members[:min(maxStreetLines, len(n.Members))] {
		m := &n.Members[i]
		// The original falls over a literal false, which is no text.
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

// characters counts those of a text as the length rules do: without blanks around,
// and 0 for what is no UTF-8 (customers 4; wire 6.3).
func trimmedLength(text string) int {
	if !utf8.ValidString(text) {
		return 0
	}
	return utf8.RuneCountInString(strings.Trim(text, trimCutset))
}

// checkLength returns the fault of a text that is too short or too long, or 0.
func checkLength(field *contract.FormField, text string) contract.FaultKey {
	n := trimmedLength(text)
	switch {
	case n < field.Min:
		return contract.ValueTooShort
	case field.Max > 0 && n > field.Max:
		return contract.ValueTooLong
	default:
		return 0
	}
}
