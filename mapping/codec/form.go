package codec

import (
	"math"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// ParseForm parses the form-encoded pairs of a body or a query string into a Struct (wire 2
// "Query syntax", 6.3). Brackets in a name nest, an empty pair of brackets appends. The last
// of several values for a name counts, at the position of the first; a name without "=" has an
// empty value; pairs without a name or with more than 64 brackets are dropped. Invalid escapes
// stay unchanged. Values need not be UTF-8. The caller must limit the size of s; pairs after
// more than a quarter of a million values are dropped.
func ParseForm(s string) Node {
	n, _ := parseForm(s)
	return n
}

// parseForm is [ParseForm]. It also reports whether all of s was parsed.
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

// inAlphabet reports whether s has only characters that are allowed in a form body (wire 6.3).
// The pattern given there also accepts one final line feed.
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
	append bool // append a new member with the next index
}

// path appends the steps in name to steps. It returns false if the name is empty or nested too
// deeply. Malformed names are treated as by PHP's parse_str, which the original uses.
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
		// An open bracket without a closing one after the first pair is ignored.
		key, behind, closed := strings.Cut(rest[1:], "]")
		if !closed {
			break
		}
		if len(steps) > maxFormDepth {
			return steps, false
		}
		skipBlanks := len(key) == 1 && strings.Contains(blanks, key)
		steps = append(steps, step{key: key, append: key == "" || skipBlanks})
		rest = behind
	}
	return steps, true
}

// mangle replaces characters that are not allowed in a name outside brackets.
func mangle(name string) string {
	if !strings.ContainsAny(name, " .[") {
		return name
	}
	mangled := []byte(name) // bytes, because a name need not be UTF-8
	for i, c := range mangled {
		if c == ' ' || c == '.' || c == '[' {
			mangled[i] = '_'
		}
	}
	return string(mangled)
}

// A branch is a Struct under construction.
type branch struct {
	fields
	children []*branch // by position; nil for a text
	next     int64     // index for the next appended entry; -1 if there is none left
}

// child returns the Struct that a step leads to and creates it if necessary.
func (b *branch) child(s step) *branch {
	i, ok := b.findOrAdd(s)
	if !ok {
		return &branch{} // not part of the tree: its content is dropped
	}
	if b.children[i] == nil {
		b.children[i] = &branch{}
	}
	return b.children[i]
}

// put sets the value that a step leads to.
func (b *branch) put(s step, value string) {
	if i, ok := b.findOrAdd(s); ok {
		b.children[i] = nil
		b.members[i].Value = TextNode(value)
	}
}

// findOrAdd returns the position of the member that a step leads to and creates the member if
// necessary. It returns false if there is no index left to append at.
func (b *branch) findOrAdd(s step) (int, bool) {
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

// listIndex returns the value of a key that is a non-negative integer in canonical form.
func listIndex(key string) (int64, bool) {
	if key == "" || key[0] < '0' || key[0] > '9' || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	i, err := strconv.ParseInt(key, 10, 64)
	return i, err == nil
}

// node returns the completed Struct.
func (b *branch) node() Node {
	for i, c := range b.children {
		if c != nil {
			b.members[i].Value = c.node()
		}
	}
	return b.fields.node()
}
