package mask

import (
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// A scope is where in a body a value stands, as far as its mask depends on that.
type scope struct {
	route  *contract.Route
	fields *contract.FieldTable // of a part of the route's records; nil for these
	what   what
	name   string // of the field, if it is one
}

type what uint8

const (
	records  what = iota // names are those of fields
	private              // all within is masked
	public               // all within is kept
	envelope             // of messages
	message              // words are kept that the contract writes
)

// enter returns the scope of what stands under a name, and whether that is known.
func (s scope) enter(name string) (scope, bool) {
	if s.what == private || isEntry(name) {
		return s, true
	}
	switch s.what {
	case public:
		// What tells of nobody may have any form. Elsewhere nobody knows what
		// stands in a value that should be none.
		return s, s.route != nil && !s.route.Personal()
	case envelope:
		switch name {
		case "message":
			s.what = message
			return s, true
		case "code", "item_id", "product_id", "website_id", "store_id":
			s.what = public
			return s, true
		case "error", "success":
			return s, true
		}
		return s, false
	case message:
		return s, false
	}
	if name == "messages" && s.fields == nil {
		s.what = envelope
		return s, true
	}
	field, known := s.field(name)
	if !known {
		return s, false
	}
	s.name = name
	switch {
	case field.Private():
		s.what = private
	case field.Part != nil:
		s.fields = field.Part
	default:
		s.what = public
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

// nameIn returns what is kept of a name inside s. Inside a private field all names but the
// positions of a list are text of the client's own.
func (m *Masker) nameIn(s scope, name string) string {
	if number := entryNumber(name); s.what != private || isEntry(name) && len(number) <= 2 {
		return name
	}
	return m.Value(name)
}

// isEntry reports whether a name is that of an entry of a list.
func isEntry(name string) bool {
	number := entryNumber(name)
	return strings.Trim(number, "0123456789") == "" && len(number) < 10
}

// entryNumber returns the number in the name of an entry of a list.
func entryNumber(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, "data_item"), "_")
}

// value returns what is kept of a text, and whether it may be kept at all.
func (m *Masker) value(s scope, text string) (kept string, ok bool) {
	switch s.what {
	case private:
		return m.Field(s.name, text), true
	case public:
		// Where an address stands in a field of something else, somebody has mixed
		// them up.
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
