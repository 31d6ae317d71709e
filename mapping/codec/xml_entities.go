package codec

import (
	"slices"
	"strings"
)

// Limits on the expansion of entities. Each reference costs a fixed amount in addition to the
// length of its replacement, which also limits references to empty entities.
const (
	maxEntityDepth = 40
	maxExpansion   = 1_000_000
	referenceCost  = 20
)

// entities are the general entities declared in the internal subset of a document (wire 6.4,
// "DOCTYPE accepted").
type entities struct {
	texts    map[string]string // replacement texts; empty for external entities
	names    map[string]string // the same names with empty texts, for encoding/xml to accept but not to expand
	entered  []string          // entities whose replacement is being parsed, the outermost first
	expanded int               // total cost of references so far
}

// enter returns the replacement text of a declared entity. It returns false if the entity
// contains itself or a limit is exceeded.
func (e *entities) enter(name string) (string, bool) {
	replacement := e.texts[name]
	e.expanded += referenceCost + len(replacement)
	if e.expanded > maxExpansion || len(e.entered) == maxEntityDepth || slices.Contains(e.entered, name) {
		return "", false
	}
	e.entered = append(e.entered, name)
	return replacement, true
}

// leave ends the replacement that the last call of enter started.
func (e *entities) leave() { e.entered = e.entered[:len(e.entered)-1] }

// reference returns the name and the length of the reference to a declared entity at the
// beginning of text. The name is empty if there is none.
func (e *entities) reference(text string) (name string, length int) {
	n := nameLength(text[1:])
	name = text[1 : 1+n]
	if _, declared := e.names[name]; !declared || !strings.HasPrefix(text[1+n:], ";") {
		return "", 0
	}
	return name, n + len("&;")
}

// cut splits text at its first reference to a declared entity. The name is empty if there is
// none.
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

// appendAttribute appends the replacement of a declared entity in an attribute value, where "<"
// is not allowed and quotes do not end the value.
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
