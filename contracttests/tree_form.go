package contracttests

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// parseForm parses a form-encoded body. A name like a[b][c] becomes nested records. Pairs
// of the same record that are not adjacent become separate records, so that a body in
// another order compares as different.
func parseForm(body string) (node, error) {
	root := node{kind: record}
	if body == "" {
		return root, nil
	}
	for pair := range strings.SplitSeq(body, "&") {
		rawName, rawValue, found := strings.Cut(pair, "=")
		if !found {
			return node{}, fmt.Errorf("pair %.80q has no =", pair)
		}
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return node{}, err
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return node{}, err
		}
		path := splitFormName(name)
		if len(path) > maxDepth {
			return node{}, errDepth
		}
		n := &root
		for _, key := range path[:len(path)-1] {
			n = n.lastOrNewRecord(key)
		}
		n.members = append(n.members, member{path[len(path)-1], node{kind: text, text: value}})
	}
	return root, nil
}

// lastOrNewRecord returns the last member if it is a record with the name, and otherwise
// appends such a record.
func (n *node) lastOrNewRecord(name string) *node {
	if i := len(n.members) - 1; i >= 0 && n.members[i].name == name && n.members[i].value.kind == record {
		return &n.members[i].value
	}
	n.members = append(n.members, member{name, node{kind: record}})
	return &n.members[len(n.members)-1].value
}

// splitFormName returns the keys of a name like a[b][c]. A name of any other form is a
// single key.
func splitFormName(name string) []string {
	first, rest, nested := strings.Cut(name, "[")
	if !nested || first == "" || !strings.HasSuffix(rest, "]") {
		return []string{name}
	}
	keys := append([]string{first}, strings.Split(rest[:len(rest)-1], "][")...)
	if slices.ContainsFunc(keys, func(key string) bool { return strings.ContainsAny(key, "[]") }) {
		return []string{name}
	}
	return keys
}

// renderForm writes n in the form notation of the contract (wire 7, text/plain).
func renderForm(b *strings.Builder, n *node) {
	renderPairs(b, n, "")
}

// renderPairs writes the pairs of a record. prefix is the encoded name of the record, or
// "" for the root.
func renderPairs(b *strings.Builder, n *node, prefix string) {
	for i := range n.members {
		m := &n.members[i]
		name := escapeForm(m.name)
		if prefix != "" {
			name = prefix + "%5B" + name + "%5D"
		}
		if m.value.kind == record {
			renderPairs(b, &m.value, name)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name + "=" + escapeForm(m.value.text))
	}
}

// escapeForm encodes s as in a form. Unlike RFC 3986, forms also escape the tilde.
func escapeForm(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "~", "%7E")
}
