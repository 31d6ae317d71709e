package contracttests

import (
	"fmt"
	"strconv"
	"strings"
)

// names are what the names in braces stand for.
type names map[string]node

// An unbound error says that a name stands for nothing.
type unbound string

func (u unbound) Error() string { return fmt.Sprintf("nothing is called %q", string(u)) }

// isReserved reports whether a name is no variable: it stands for itself until the
// request is sent or the answer compared.
func isReserved(name string) bool {
	return name == "base_url" || name == "any" || name == "datetime" || name == "recent"
}

// lookup returns what a name such as orders.0.id stands for.
func (v names) lookup(name string) (*node, error) {
	first, rest, nested := strings.Cut(name, ".")
	n, ok := v[first]
	if !ok {
		return nil, unbound(name)
	}
	if !nested {
		return &n, nil
	}
	at, ok := n.at(rest)
	if !ok {
		return nil, unbound(name)
	}
	return at, nil
}

// at returns what stands at a place such as stock_data.item_id. Numbers count
// members where none has that name.
func (n *node) at(place string) (*node, bool) {
	for key := range strings.SplitSeq(place, ".") {
		value, ok := n.member(key)
		if i, err := strconv.Atoi(key); err == nil && (n.isMap() || n.kind == list) {
			if ok = i >= 0 && i < len(n.members); ok {
				value = &n.members[i].value
			}
		}
		if !ok {
			return nil, false
		}
		n = value
	}
	return n, true
}

// text returns s with the names in it replaced. Those that bind stay.
func (v names) text(s string) (string, error) {
	var failed error
	got := variable.ReplaceAllStringFunc(s, func(braced string) string {
		m := variable.FindStringSubmatch(braced)
		if m[1] != "" || isReserved(m[2]) {
			return braced
		}
		n, err := v.lookup(m[2])
		if err == nil && (n.kind == record || n.kind == list) {
			err = fmt.Errorf("%q is a %s, not a text", m[2], n.kind)
		}
		if err != nil {
			failed = err
			return braced
		}
		return n.text
	})
	return got, failed
}

// tree returns n with the names in it replaced. A text that is one name becomes
// what that stands for.
func (v names) tree(n *node) (node, error) {
	got := *n
	if n.kind == text {
		if m := variable.FindStringSubmatch(n.text); m != nil && m[0] == n.text && m[1] == "" && !isReserved(m[2]) {
			value, err := v.lookup(m[2])
			if err != nil {
				return node{}, err
			}
			return *value, nil
		}
		var err error
		got.text, err = v.text(n.text)
		return got, err
	}
	got.members = make([]member, len(n.members))
	for i := range n.members {
		name, err := v.text(n.members[i].name)
		if err != nil {
			return node{}, err
		}
		value, err := v.tree(&n.members[i].value)
		if err != nil {
			return node{}, err
		}
		got.members[i] = member{name, value}
	}
	return got, nil
}

// withTexts returns n with f of each of its texts.
func (n *node) withTexts(f func(string) string) node {
	got := *n
	if n.kind == text {
		got.text = f(n.text)
	}
	got.members = make([]member, len(n.members))
	for i := range n.members {
		got.members[i] = member{n.members[i].name, n.members[i].value.withTexts(f)}
	}
	return got
}

// expectation returns e of a server with the names in it replaced.
func (v names) expectation(srv server, e *Expectation) (*Expectation, error) {
	got := *e
	var failed error
	replaceText := func(s string) string {
		s, err := v.text(s)
		if err != nil {
			failed = err
		}
		return srv.expected(s)
	}
	replace := func(t tree) tree {
		n, err := v.tree(&t.node)
		if err != nil {
			failed = err
		}
		return tree{n.withTexts(srv.expected)}
	}
	replaceAll := func(all []tree) []tree {
		var got []tree
		for _, t := range all {
			got = append(got, replace(t))
		}
		return got
	}
	got.Location = replaceText(e.Location)
	got.Errors = nil
	for _, entry := range e.Errors {
		entry.message = replaceText(entry.message)
		got.Errors = append(got.Errors, entry)
	}
	if e.Text != nil {
		text := replaceText(*e.Text)
		got.Text = &text
	}
	if e.Tree != nil {
		t := replace(*e.Tree)
		got.Tree = &t
	}
	if e.Values != nil {
		t := replace(*e.Values)
		got.Values = &t
	}
	if e.Entries != nil {
		t := replace(*e.Entries)
		got.Entries = &t
	}
	got.Has, got.Lacks = replaceAll(e.Has), replaceAll(e.Lacks)
	return &got, failed
}
