package contracttests

import (
	"fmt"
	"net/url"
	"strings"
)

// parseForm reads a form-encoded body. A name like a[b][c] opens the records a
// and b; pairs of one record that do not stand together stay apart, and so are
// found different.
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
		path := splitName(name)
		if len(path) > maxDepth {
			return node{}, errDepth
		}
		n := &root
		for _, key := range path[:len(path)-1] {
			n = n.lastRecord(key)
		}
		n.members = append(n.members, member{path[len(path)-1], node{kind: text, text: value}})
	}
	return root, nil
}

// lastRecord returns the last member if it is a record called name, else a new
// one put at the end.
func (n *node) lastRecord(name string) *node {
	if i := len(n.members) - 1; i >= 0 && n.members[i].name == name && n.members[i].value.kind == record {
		return &n.members[i].value
	}
	n.members = append(n.members, member{name, node{kind: record}})
	return &n.members[len(n.members)-1].value
}

// splitName returns the keys of a name like a[b][c]; a name of another form is
// one key.
func splitName(name string) []string {
	first, rest, nested := strings.Cut(name, "[")
	if !nested || first == "" || !strings.HasSuffix(rest, "]") {
		return []string{name}
	}
	keys := append([]string{first}, strings.Split(rest[:len(rest)-1], "][")...)
	for _, key := range keys {
		if strings.ContainsAny(key, "[]") {
			return []string{name}
		}
	}
	return keys
}

// renderForm writes n as the contract has it (wire 7, text/plain).
func renderForm(b *strings.Builder, n *node) {
	renderPairs(b, n, "")
}

func renderPairs(b *strings.Builder, n *node, prefix string) {
	for i := range n.members {
		m := &n.members[i]
		name := formEscape(m.name)
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
		b.WriteString(name + "=" + formEscape(m.value.text))
	}
}

// formEscape encodes as forms do, which unlike RFC 3986 leaves no tilde.
func formEscape(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "~", "%7E")
}
