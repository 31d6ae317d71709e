package openapi

import (
	"iter"
	"strings"
)

// Words says in plain words what a schema allows, apart from what it refers to and from its
// parts: "time or null", "list".
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

// textWords says what a text holds.
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
		for _, one := range []struct {
			method string
			*Operation
		}{{"GET", p.Get}, {"POST", p.Post}, {"PUT", p.Put}, {"DELETE", p.Delete}} {
			if one.Operation != nil && !yield(one.method, one.Operation) {
				return
			}
		}
	}
}
