package contracttests

import (
	"fmt"
	"slices"
	"strings"
)

// maxDepth bounds the nesting of a body. The contract's deepest is below ten.
const maxDepth = 64

// errDepth is what a parser says of a body nested deeper than maxDepth.
var errDepth = fmt.Errorf("nested deeper than %d", maxDepth)

type kind uint8

const (
	null    kind = iota // JSON null, an element that closes itself
	literal             // JSON true or false
	number              // text is the number as written
	text
	list   // members in an order that counts
	record // members by name
)

func (k kind) String() string {
	return [...]string{"null", "literal", "number", "text", "list", "record"}[k]
}

// A node is one value of a body in any format, with all that two bodies may
// differ in but white space and escapes. Those are checked by rendering the
// tree again (see [format.canonical]).
type node struct {
	kind    kind
	text    string // of a literal, number or text
	members []member
}

// A member is an entry of a list or record. The entries of a JSON array have no
// name, those of a list in XML have the element's.
type member struct {
	name  string
	value node
}

// isMap reports whether the members of a record stand in an order that counts:
// entries keyed by id (contract 2, convention 2) and the two lists of a batch
// reply, the one begun first standing first (wire 11).
func (n *node) isMap() bool {
	digits, batch := true, true
	for i := range n.members {
		name := n.members[i].name
		digits = digits && name != "" && strings.Trim(name, "0123456789") == ""
		batch = batch && (name == "success" || name == "error")
	}
	return digits || batch
}

// member returns the value of the first member called name, null where there is none.
func (n *node) member(name string) (*node, bool) {
	for i := range n.members {
		if n.members[i].name == name {
			return &n.members[i].value, true
		}
	}
	return &node{}, false
}

// has reports whether a member is called name.
func (n *node) has(name string) bool {
	_, ok := n.member(name)
	return ok
}

// comparable returns the members in the order they are compared in: as they
// stand where the order counts, else by name.
func (n *node) comparable() []member {
	if n.kind == list || n.isMap() {
		return n.members
	}
	return slices.SortedStableFunc(slices.Values(n.members), func(a, b member) int {
		return strings.Compare(a.name, b.name)
	})
}

// names returns the members' names, those of a long list cut short.
func (n *node) names() string {
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

// diffNodes appends the differences between two trees to ds. Texts of want may
// hold placeholders; {{any}} alone stands for a value of any kind.
func diffNodes(ds []Difference, at string, want, got *node) []Difference {
	if want.kind == text && want.text == "{{any}}" {
		return ds
	}
	if want.kind != got.kind {
		return append(ds, Difference{at, want.describe(), got.describe()})
	}
	switch want.kind {
	case list:
		if len(want.members) != len(got.members) {
			return append(ds, Difference{at, fmt.Sprintf("%d entries", len(want.members)), fmt.Sprintf("%d entries", len(got.members))})
		}
	case record:
		w, g := want.comparable(), got.comparable()
		if !slices.EqualFunc(w, g, func(a, b member) bool { return a.name == b.name }) {
			return append(ds, Difference{at, "fields " + want.names(), "fields " + got.names()})
		}
	default:
		if !matches(want.text, got.text) {
			ds = append(ds, Difference{at, want.text, got.text})
		}
		return ds
	}
	w, g := want.comparable(), got.comparable()
	for i := range w {
		place := at + "." + w[i].name
		if want.kind == list {
			place = fmt.Sprintf("%s[%d]", at, i)
			if w[i].name != g[i].name {
				ds = append(ds, Difference{place, "<" + w[i].name + ">", "<" + g[i].name + ">"})
			}
		}
		ds = diffNodes(ds, place, &w[i].value, &g[i].value)
	}
	return ds
}

// describe says what a node is where the kind is the difference.
func (n *node) describe() string {
	switch n.kind {
	case literal, number, text:
		return n.kind.String() + " " + n.text
	case list:
		return fmt.Sprintf("list of %d", len(n.members))
	case record:
		return "record " + n.names()
	default:
		return n.kind.String()
	}
}
