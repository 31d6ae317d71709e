package contract

import (
	"strings"
	"unicode"
)

// Words returns the words of a text: its runs of letters, digits and underscores.
func Words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !InWord(r) })
}

// InWord reports whether r is part of a word.
func InWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Vocabulary returns the words that the contract itself puts into messages, names of
// fields and paths, and so those which tell nothing of whoever is the matter of a
// message.
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
