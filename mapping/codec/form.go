package codec

import (
	"math"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// ParseForm returns the Struct that form-encoded pairs spell, those of a body or
// of a query string (wire 2 "Query syntax", 6.3). Brackets in a name nest,
// an empty pair of them appends; of a value sent twice the last one stands at
// the place of the first; names without "=" have the empty text; parts without
// a name, or with more than 64 brackets, are dropped. Escapes that are none stay
// as they are. A value need not be UTF-8. The caller limits the size of s; pairs
// that come after more than a quarter of a million values are dropped.
func ParseForm(s string) Node {
	n, _ := parseForm(s)
	return n
}

// parseForm is [ParseForm]; it reports whether all of s was read.
func parseForm(s string) (n Node, whole bool) {
	var (
		root   branch
		steps  []step
		values int
	)
	for pair := range strings.SplitSeq(s, "&") {
		name, value, _ := strings.Cut(pair, "=")
		var ok bool
		if steps, ok = path(steps[:0], contract.FormDecode(name)); !ok {
			continue
		}
		if values += len(steps); values > maxValues {
			return root.node(), false
		}
		to := &root
		for _, s := range steps[:len(steps)-1] {
			to = to.child(s)
		}
		to.put(steps[len(steps)-1], contract.FormDecode(value))
	}
	return root.node(), true
}

// inAlphabet reports whether s has only the characters allowed in a form body
// (wire 6.3). The pattern given there lets one final line feed pass.
func inAlphabet(s string) bool {
	s = strings.TrimSuffix(s, "\n")
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
			i += 2
		case strings.IndexByte("-_.!~*'()[];/?:@&=+$,", c) < 0:
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// A step leads from a Struct to one of its members.
type step struct {
	key    string
	append bool // to a new member, at the next index
}

// path appends the steps that name spells to steps. It returns false when the
// name is empty or too deep. The odd cases are those of PHP's parse_str, which
// the original uses.
func path(steps []step, name string) ([]step, bool) {
	name, _, _ = strings.Cut(name, "\x00")
	name = strings.TrimLeft(name, " ")
	open := strings.IndexByte(name, '[')
	if open < 0 || !strings.Contains(name[open:], "]") {
		name = mangle(name)
		return append(steps, step{key: name}), name != "" && open != 0
	}
	if open == 0 {
		return steps, false
	}
	steps = append(steps, step{key: mangle(name[:open])})
	for rest := name[open:]; strings.HasPrefix(rest, "["); {
		// A bracket left open behind a closed one is no step.
		key, behind, closed := strings.Cut(rest[1:], "]")
		if !closed {
			break
		}
		if len(steps) > maxFormDepth {
			return steps, false
		}
		blank := len(key) == 1 && strings.Contains(blanks, key)
		steps = append(steps, step{key: key, append: key == "" || blank})
		rest = behind
	}
	return steps, true
}

// mangle replaces what a name outside brackets may not hold.
func mangle(name string) string {
	if !strings.ContainsAny(name, " .[") {
		return name
	}
	mangled := []byte(name) // bytes, as a name need not be UTF-8
	for i, c := range mangled {
		if c == ' ' || c == '.' || c == '[' {
			mangled[i] = '_'
		}
	}
	return string(mangled)
}

// A branch is a Struct being filled.
type branch struct {
	fields
	children []*branch // by place; nil for a text
	next     int64     // the index of the next entry appended; -1: none is left
}

// child returns the Struct a step leads to, a new one if there is none.
func (b *branch) child(s step) *branch {
	i, ok := b.reach(s)
	if !ok {
		return &branch{} // beside the tree: what is put there is dropped
	}
	if b.children[i] == nil {
		b.children[i] = &branch{}
	}
	return b.children[i]
}

// put sets the value a step leads to.
func (b *branch) put(s step, value string) {
	if i, ok := b.reach(s); ok {
		b.children[i] = nil
		b.members[i].Value = TextNode(value)
	}
}

// reach returns the place of the member a step leads to, a new one if there is
// none. It returns false when no index is left to append at.
func (b *branch) reach(s step) (int, bool) {
	key := s.key
	if s.append {
		if b.next < 0 {
			return 0, false
		}
		key = strconv.FormatInt(b.next, 10)
	}
	if i, ok := b.find(key); ok {
		return i, true
	}
	b.add(key, Node{})
	b.children = append(b.children, nil)
	if i, ok := listIndex(key); ok && b.next >= 0 && i >= b.next {
		b.next = i + 1
		if i == math.MaxInt64 {
			b.next = -1
		}
	}
	return len(b.members) - 1, true
}

// listIndex returns the value of a key that is a canonical decimal integer, not
// negative.
func listIndex(key string) (int64, bool) {
	if key == "" || key[0] < '0' || key[0] > '9' || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	i, err := strconv.ParseInt(key, 10, 64)
	return i, err == nil
}

// node returns the finished Struct.
func (b *branch) node() Node {
	for i, c := range b.children {
		if c != nil {
			b.members[i].Value = c.node()
		}
	}
	return b.fields.node()
}
