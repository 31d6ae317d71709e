package contracttests

import (
	"fmt"
	"slices"
	"strings"
)

// maxDepth limits the nesting of a body. The bodies of the contract have less than ten
// levels.
const maxDepth = 64

// errDepth is returned by parsers for a body that is nested deeper than maxDepth.
var errDepth = fmt.Errorf("nested deeper than %d", maxDepth)

// A kind is the type of a node.
type kind uint8

const (
	null    kind = iota // JSON null or a self-closing XML element
	literal             // JSON true or false
	number              // node.text is the number as written
	text
	list   // members in significant order
	record // members with names
)

func (k kind) String() string {
	return [...]string{"null", "literal", "number", "text", "list", "record"}[k]
}

// A node is one value of a body in any format. Two bodies with equal trees can differ
// only in white space and escapes, which are checked by rendering the tree again (see
// [format.canonical]).
type node struct {
	kind    kind
	text    string // of a literal, number or text
	members []member
}

// A member is an entry of a list or a field of a record. Entries of a JSON array have no
// name; entries of an XML list have the name of their element.
type member struct {
	name  string
	value node
}

// isOrdered reports whether the order of a record's members is significant. That is the
// case for objects keyed by id (contract 2, convention 2), and for the two lists of a
// batch reply, of which the one that got the first entry comes first (wire 11).
func (n *node) isOrdered() bool {
	digits, batch := true, true
	for i := range n.members {
		name := n.members[i].name
		digits = digits && name != "" && strings.Trim(name, "0123456789") == ""
		batch = batch && (name == "success" || name == "error")
	}
	return digits || batch
}

// member returns the value of the first member with a name, or an empty node and false if
// there is none.
func (n *node) member(name string) (*node, bool) {
	for i := range n.members {
		if n.members[i].name == name {
			return &n.members[i].value, true
		}
	}
	return &node{}, false
}

// has reports whether n has a member with a name.
func (n *node) has(name string) bool {
	_, ok := n.member(name)
	return ok
}

// comparisonOrder returns the members in the order in which they are compared: unchanged
// if their order is significant, otherwise sorted by name.
func (n *node) comparisonOrder() []member {
	if n.kind == list || n.isOrdered() {
		return n.members
	}
	return slices.SortedStableFunc(slices.Values(n.members), func(a, b member) int {
		return strings.Compare(a.name, b.name)
	})
}

// memberNames returns the names of the members in brackets, at most 40.
func (n *node) memberNames() string {
	const most = 40
	var names []string
	for i := range n.members[:min(most, len(n.members))] {
		names = append(names, n.members[i].name)
	}
	if len(n.members) > most {
		names = append(names, "…")
	}
	return "[" + strings.Join(names, " ") + "]"
}

// adoptTexts turns integers of n into texts where want has the same integers as texts.
func (n *node) adoptTexts(want *node) {
	if n.kind == number && want.kind == text && n.text == want.text && isDigits(strings.TrimPrefix(n.text, "-")) {
		n.kind = text
	}
	for i := range n.members {
		m := &n.members[i]
		if n.kind == list && i < len(want.members) {
			m.value.adoptTexts(&want.members[i].value)
		} else if value, ok := want.member(m.name); ok {
			m.value.adoptTexts(value)
		}
	}
}

// diffNodes appends the differences between two trees to ds. path is the path of both
// nodes. Texts of want may contain placeholders, and the text {{any}} matches a value of
// any kind.
func diffNodes(ds []Difference, path string, want, got *node) []Difference {
	if want.kind == text && want.text == "{{any}}" {
		return ds
	}
	if want.kind != got.kind {
		return append(ds, Difference{path, want.describe(), got.describe()})
	}
	switch want.kind {
	case list:
		if len(want.members) != len(got.members) {
			return append(ds, Difference{path, fmt.Sprintf("%d entries", len(want.members)), fmt.Sprintf("%d entries", len(got.members))})
		}
	case record:
		w, g := want.comparisonOrder(), got.comparisonOrder()
		if !slices.EqualFunc(w, g, func(a, b member) bool { return a.name == b.name }) {
			return append(ds, Difference{path, "fields " + want.memberNames(), "fields " + got.memberNames()})
		}
	default:
		if !matches(want.text, got.text) {
			ds = append(ds, Difference{path, want.text, got.text})
		}
		return ds
	}
	w, g := want.comparisonOrder(), got.comparisonOrder()
	for i := range w {
		memberPath := path + "." + w[i].name
		if want.kind == list {
			memberPath = fmt.Sprintf("%s[%d]", path, i)
			if w[i].name != g[i].name {
				ds = append(ds, Difference{memberPath, "<" + w[i].name + ">", "<" + g[i].name + ">"})
			}
		}
		ds = diffNodes(ds, memberPath, &w[i].value, &g[i].value)
	}
	return ds
}

// describe returns the kind and a summary of the value, for differences between kinds.
func (n *node) describe() string {
	switch n.kind {
	case literal, number, text:
		return n.kind.String() + " " + n.text
	case list:
		return fmt.Sprintf("list of %d", len(n.members))
	case record:
		return "record " + n.memberNames()
	default:
		return n.kind.String()
	}
}
