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
		for _, f := range row {
			add(f.Message)
		}
	}
	for _, form := range []Form{CustomerForm(), CustomerAddressForm()} {
		for _, f := range form {
			add(f.Label)
		}
	}
	for _, r := range t.routes {
		add(r.Path)
		for _, fields := range r.tables {
			for _, f := range fields.Fields {
				add(f.Name)
				for _, rule := range f.Rules {
					add(rule.Message)
				}
			}
		}
	}
	return words
}
