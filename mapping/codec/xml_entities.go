package codec

import (
	"slices"
	"strings"
)

// Limits of what the entities of a document may grow to. A reference costs a
// fixed amount besides the length of its replacement, so that many references
// to nothing are bounded too.
const (
	maxEntityDepth = 40
	maxExpansion   = 1_000_000
	referenceCost  = 20
)

// entities are the general entities that a document declares in its internal
// subset (wire 6.4, "DOCTYPE accepted").
type entities struct {
	texts    map[string]string // replacement texts; external ones have the empty text
	names    map[string]string // the same names with empty texts, for encoding/xml to know but not to expand
	entered  []string          // whose replacements are being read, outermost first
	expanded int               // what all references cost so far
}

func newEntities() entities {
	return entities{texts: map[string]string{}, names: map[string]string{}}
}

// enter returns the replacement text of a declared entity. It returns false when
// the entity contains itself or the limits are passed.
func (e *entities) enter(name string) (string, bool) {
	replacement := e.texts[name]
	e.expanded += referenceCost + len(replacement)
	if e.expanded > maxExpansion || len(e.entered) == maxEntityDepth || slices.Contains(e.entered, name) {
		return "", false
	}
	e.entered = append(e.entered, name)
	return replacement, true
}

// leave ends what the last enter began.
func (e *entities) leave() { e.entered = e.entered[:len(e.entered)-1] }

// reference returns the name of the declared entity that the reference at the
// beginning of text is to, and the length of the reference. The name is empty
// when there is no such reference.
func (e *entities) reference(text string) (name string, length int) {
	n := nameLength(text[1:])
	name = text[1 : 1+n]
	if _, declared := e.names[name]; !declared || !strings.HasPrefix(text[1+n:], ";") {
		return "", 0
	}
	return name, n + len("&;")
}

// cut splits text around its first reference to a declared entity, whose name is
// empty when there is none.
func (e *entities) cut(text string) (before, name, behind string) {
	for at := 0; ; at++ {
		i := strings.IndexByte(text[at:], '&')
		if i < 0 {
			return text, "", ""
		}
		at += i
		if name, n := e.reference(text[at:]); name != "" {
			return text[:at], name, text[at+n:]
		}
	}
}

// appendAttribute appends the replacement of a declared entity as it stands in
// the value of an attribute: a "<" is not allowed, quotes end nothing.
func (e *entities) appendAttribute(out []byte, name string) ([]byte, bool) {
	replacement, ok := e.enter(name)
	if !ok {
		return out, false
	}
	for i := 0; i < len(replacement); i++ {
		switch c := replacement[i]; c {
		case '<':
			return out, false
		case '"':
			out = append(out, "&#34;"...)
		case '\'':
			out = append(out, "&#39;"...)
		case '\t', '\n', '\r':
			out = append(out, ' ')
		case '&':
			inner, n := e.reference(replacement[i:])
			if inner == "" {
				out = append(out, c)
				continue
			}
			if out, ok = e.appendAttribute(out, inner); !ok {
				return out, false
			}
			i += n - 1
		default:
			out = append(out, c)
		}
	}
	e.leave()
	return out, validCharRefs(replacement)
}
