package openapi

import (
	"iter"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// Words describes in plain words the values that a schema allows, apart from its references and
// its parts: "time or null", "list".
func Words(s *Schema) string {
	words := make([]string, len(s.Type))
	for i, t := range s.Type {
		words[i] = t
		switch t {
		case "string":
			words[i] = textWords(s)
		case "array":
			words[i] = "list"
		case "boolean":
			words[i] = "true or false"
		}
	}
	return strings.Join(words, " or ")
}

// textWords describes the content of a text.
func textWords(s *Schema) string {
	switch s.Pattern {
	case integerPattern, orEmpty(integerPattern):
		return "integer as a text"
	case decimalPattern, orEmpty(decimalPattern):
		return "decimal as a text"
	case timePattern, orEmpty(timePattern), eitherPattern:
		return "time"
	}
	if len(s.Enum) > 0 {
		return "one of " + strings.Join(s.Enum, ", ")
	}
	return "text"
}

// Operations returns the calls of a path with their methods.
func (p *PathItem) Operations() iter.Seq2[string, *Operation] {
	return func(yield func(string, *Operation) bool) {
		for _, m := range contract.Methods() {
			if op := *p.slot(m); op != nil && !yield(m.String(), op) {
				return
			}
		}
	}
}

// slot returns the place of the call with a method.
func (p *PathItem) slot(m contract.Method) **Operation {
	return [...]**Operation{contract.GET: &p.Get, contract.POST: &p.Post, contract.PUT: &p.Put, contract.DELETE: &p.Delete}[m]
}
