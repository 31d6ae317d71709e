package redact

import (
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// A scope describes the position of a value in a body as far as its mask depends on it.
type scope struct {
	route  *contract.Route
	fields *contract.FieldTable // of a nested record; nil for the route's own records
	kind   scopeKind
	name   string // of the field, if the value belongs to one
}

type scopeKind uint8

const (
	records  scopeKind = iota // names are names of fields
	private                   // everything inside is masked
	public                    // everything inside is kept
	envelope                  // of messages
	message                   // only words of the contract's vocabulary are kept
)

// enter returns the scope of the member called name, and whether its meaning is known.
func (s scope) enter(name string) (scope, bool) {
	if s.kind == private || isEntry(name) {
		return s, true
	}
	switch s.kind {
	case public:
		// In a resource without personal data a field may have any structure. Elsewhere
		// the meaning of an unexpected nested value is unknown.
		return s, s.route != nil && !s.route.Personal()
	case envelope:
		switch name {
		case "message":
			s.kind = message
			return s, true
		case "code", "item_id", "product_id", "website_id", "store_id":
			s.kind = public
			return s, true
		case "error", "success":
			return s, true
		}
		return s, false
	case message:
		return s, false
	}
	if name == "messages" && s.fields == nil {
		s.kind = envelope
		return s, true
	}
	field, known := s.field(name)
	if !known {
		return s, false
	}
	s.name = name
	switch {
	case field.Private():
		s.kind = private
	case field.Part != nil:
		s.fields = field.Part
	default:
		s.kind = public
	}
	return s, true
}

func (s scope) field(name string) (*contract.Field, bool) {
	switch {
	case s.fields != nil:
		i, ok := s.fields.Index(name)
		if !ok {
			return nil, false
		}
		return &s.fields.Fields[i], true
	case s.route != nil:
		return s.route.Field(name)
	}
	return nil, false
}

// maskName returns the masked form of a name inside s. Inside a private field, all names
// except list positions are text chosen by the client.
func (m *Masker) maskName(s scope, name string) string {
	if number := entryNumber(name); s.kind != private || isEntry(name) && len(number) <= 2 {
		return name
	}
	return m.Value(name)
}

// isEntry reports whether name is the name of a list entry.
func isEntry(name string) bool {
	number := entryNumber(name)
	return strings.Trim(number, "0123456789") == "" && len(number) < 10
}

// entryNumber returns the number in the name of a list entry.
func entryNumber(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "data_item"), "_")
}

// maskText returns the masked form of a text, and whether it may be kept at all.
func (m *Masker) maskText(s scope, text string) (kept string, ok bool) {
	switch s.kind {
	case private:
		return m.Field(s.name, text), true
	case public:
		// An e-mail address in a public field probably belongs to another field.
		if s.route != nil && s.route.Personal() && strings.ContainsRune(text, '@') {
			return m.Value(text), true
		}
		return text, true
	case message:
		return m.Message(s.route, text), true
	default:
		return text, strings.TrimSpace(text) == ""
	}
}
