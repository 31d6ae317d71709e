package contract

import (
	"strings"
	"unicode"
)

// Words splits text into its runs of letters, digits and underscores.
func Words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !IsWordRune(r) })
}

// IsWordRune reports whether r can be part of a word.
func IsWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Vocabulary returns all words that the contract itself uses in messages, field names and
// paths. A word of a message that is not in the vocabulary may be data of a customer.
func (t *Table) Vocabulary() map[string]bool {
	words := map[string]bool{}
	add := func(text string) {
		for _, word := range Words(text) {
			words[word] = true
		}
	}
	for _, row := range faults {
		for _, d := range Dialects() {
			add(row.of(d).Message)
		}
	}
	for _, r := range t.routes {
		add(r.Path)
		for _, fields := range r.tables {
			for _, f := range fields.Fields {
				add(f.Name)
			}
			for _, rule := range fields.Rules.Rules {
				add(rule.Label)
				add(rule.Message)
			}
		}
	}
	return words
}

// FilterWords returns the keys that the filters of lists may have, including keys that the
// original only tolerates. None of them is data of a client.
func FilterWords() []string {
	return []string{"attribute", "eq", "neq", "seq", "sneq", "like", "nlike", "in", "nin", "gt", "lt", "gteq", "lteq", "moreq",
		"null", "notnull", "finset", "regexp", "from", "to", "is", "date", "datetime"}
}
