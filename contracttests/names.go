package contracttests

import (
	"fmt"
	"strconv"
	"strings"
)

// bindings are the values that the {{name}} variables of a case stand for.
type bindings map[string]node

// An unboundError is the name of a variable that has no value.
type unboundError string

func (u unboundError) Error() string { return fmt.Sprintf("unknown name %q", string(u)) }

// isPlaceholder reports whether a name is a placeholder instead of a variable.
// Placeholders are resolved later: {{base_url}} when the request is sent, the others when
// the reply is compared.
func isPlaceholder(name string) bool {
	return name == "base_url" || name == "any" || name == "datetime" || name == "recent"
}

// lookup returns the value of a variable. The name may be a path into a tree, such as
// orders.0.id. It returns an unboundError if there is no such value.
func (v bindings) lookup(name string) (*node, error) {
	first, rest, nested := strings.Cut(name, ".")
	n, ok := v[first]
	if !ok {
		return nil, unboundError(name)
	}
	if !nested {
		return &n, nil
	}
	at, ok := n.lookup(rest)
	if !ok {
		return nil, unboundError(name)
	}
	return at, nil
}

// lookup returns the node at a dotted path below n, such as stock_data.item_id. In a
// list, and in an object keyed by id, a number is the index of a member.
func (n *node) lookup(place string) (*node, bool) {
	for key := range strings.SplitSeq(place, ".") {
		value, ok := n.member(key)
		if i, err := strconv.Atoi(key); err == nil && (n.isOrdered() || n.kind == list) {
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

// expandText returns s with its variables replaced. {{=name}} and placeholders are
// unchanged. It returns an error if a variable has no value, or stands for a list or
// record.
func (v bindings) expandText(s string) (string, error) {
	var failed error
	got := variablePattern.ReplaceAllStringFunc(s, func(braced string) string {
		m := variablePattern.FindStringSubmatch(braced)
		if m[1] != "" || isPlaceholder(m[2]) {
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

// expandTree returns n with its variables replaced, in names and in texts. A text that
// consists of one variable is replaced by the variable's value of any kind, such as a
// number or a list.
func (v bindings) expandTree(n *node) (node, error) {
	got := *n
	if n.kind == text {
		if m := variablePattern.FindStringSubmatch(n.text); m != nil && m[0] == n.text && m[1] == "" && !isPlaceholder(m[2]) {
			value, err := v.lookup(m[2])
			if err != nil {
				return node{}, err
			}
			return *value, nil
		}
		var err error
		got.text, err = v.expandText(n.text)
		return got, err
	}
	got.members = make([]member, len(n.members))
	for i := range n.members {
		name, err := v.expandText(n.members[i].name)
		if err != nil {
			return node{}, err
		}
		value, err := v.expandTree(&n.members[i].value)
		if err != nil {
			return node{}, err
		}
		got.members[i] = member{name, value}
	}
	return got, nil
}

// mapTexts returns a copy of n in which f is applied to each text.
func (n *node) mapTexts(f func(string) string) node {
	got := *n
	if n.kind == text {
		got.text = f(n.text)
	}
	got.members = make([]member, len(n.members))
	for i := range n.members {
		got.members[i] = member{n.members[i].name, n.members[i].value.mapTexts(f)}
	}
	return got
}

// expandExpectation returns a copy of e with its variables replaced, and with the base
// path of srv appended to each {{base_url}}.
func (v bindings) expandExpectation(srv server, e *Expectation) (*Expectation, error) {
	got := *e
	var failed error
	replaceText := func(s string) string {
		s, err := v.expandText(s)
		if err != nil {
			failed = err
		}
		return srv.withBasePath(s)
	}
	replace := func(t yamlTree) yamlTree {
		n, err := v.expandTree(&t.node)
		if err != nil {
			failed = err
		}
		return yamlTree{n.mapTexts(srv.withBasePath)}
	}
	replaceAll := func(all []yamlTree) []yamlTree {
		var got []yamlTree
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
