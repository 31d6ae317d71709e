package contracttests

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestClausesOfMessages: a case that shows a message has an entry with that text
// and its code.
func TestClausesOfMessages(t *testing.T) {
	shown := inCases(t, func(c clause) bool { return c.Message != "" }, func(c clause, s *Step) bool {
		form := regexp.MustCompile(`<[^>]+>`).ReplaceAllString(regexp.QuoteMeta(c.Message), `[^"]+`)
		return hasEntry(t, &s.Response, regexp.MustCompile(`\A`+form+`\z`), c.Status)
	})
	if shown < 35 {
		t.Errorf("%d messages are shown: some are lost", shown)
	}
}

// hasEntry reports whether a reply holds an entry, of an envelope or a batch, with
// a text and a code.
func hasEntry(t *testing.T, r *Response, message *regexp.Regexp, code string) bool {
	t.Helper()
	tree, ok := parsed(t, r.ContentType, r.Body)
	var within func(n *node) bool
	within = func(n *node) bool {
		text, hasText := n.member("message")
		number, hasCode := n.member("code")
		if hasText && hasCode && message.MatchString(text.text) && number.text == code {
			return true
		}
		return slices.ContainsFunc(n.members, func(m member) bool { return within(&m.value) })
	}
	return ok && within(&tree)
}

// TestClausesOfFieldsSent: a case that shows an optional field of a body has a
// call that takes it, and one that shows a required field a call that is refused
// though its body lacks nothing but that.
func TestClausesOfFieldsSent(t *testing.T) {
	required := map[string][]string{} // by call and the field they are in
	for _, c := range clauses(t) {
		if c.Required {
			in, field := c.place()
			required[c.Call+in] = append(required[c.Call+in], field)
		}
	}
	shown := inCases(t, func(c clause) bool { return c.Field != "" }, func(c clause, s *Step) bool {
		method, path, _ := strings.Cut(c.Call, " ")
		if s.Body == nil || s.Method != method || !regexp.MustCompile("^"+regexp.MustCompile(":[a-z_]+").ReplaceAllString(path, "[^/]+")+"$").MatchString(s.Path) {
			return false
		}
		tree, ok := parsed(t, s.ContentType, *s.Body)
		if !ok {
			return false
		}
		in, field := c.place()
		for _, record := range recordsIn(&tree, in) {
			_, sent := record.member(field)
			switch {
			case !c.Required && sent && s.Response.Status/100 == 2:
				return true
			case c.Required && !sent && s.Response.Status >= 207 && !slices.ContainsFunc(required[c.Call+in], func(other string) bool {
				_, sent := record.member(other)
				return other != field && !sent
			}):
				return true
			}
		}
		return false
	})
	if shown < 95 {
		t.Errorf("%d fields are shown: some are lost", shown)
	}
}

// place returns the field that a field is in, "" for the body itself, and its own
// name.
func (c clause) place() (in, field string) {
	if in, field, ok := strings.Cut(c.Field, "/"); ok {
		return in, field
	}
	return "", c.Field
}

// recordsIn returns the records of a body, which holds one or a list of them, or
// those in one of their fields.
func recordsIn(body *node, field string) []*node {
	records := body.entries()
	if field == "" {
		return records
	}
	var inside []*node
	for _, r := range records {
		if n, ok := r.member(field); ok {
			inside = append(inside, n.entries()...)
		}
	}
	return inside
}

// entries returns the values of a list, or n where it is none.
func (n *node) entries() []*node {
	if n.kind != list {
		return []*node{n}
	}
	var values []*node
	for i := range n.members {
		values = append(values, &n.members[i].value)
	}
	return values
}

// parsed reads a body by its type, or where none is sent by how it begins. It
// fails for one that is not well-formed, as those of some requests.
func parsed(t *testing.T, contentType *string, body string) (node, bool) {
	t.Helper()
	of := "application/json"
	switch {
	case contentType != nil:
		of = *contentType
	case strings.HasPrefix(body, "<"):
		of = "text/xml"
	}
	f, ok := formatOf(of)
	if !ok || body == "" {
		return node{}, false
	}
	tree, err := f.parse(body)
	return tree, err == nil
}

// inCases checks that each case that names one of the clauses has a step that
// shows it, and returns how many clauses are named.
func inCases(t *testing.T, of func(clause) bool, shows func(clause, *Step) bool) int {
	t.Helper()
	cases, err := DocumentedExchanges()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, clause := range clauses(t) {
		if !of(clause) {
			continue
		}
		named := false
		for _, c := range cases {
			if !slices.Contains(c.Clauses, clause.Name) {
				continue
			}
			named = true
			if !slices.ContainsFunc(c.Steps, func(s Step) bool { return shows(clause, &s) }) {
				t.Errorf("%s/%s names %s and does not show it", c.File, c.Name, clause.Name)
			}
		}
		if named {
			n++
		}
	}
	return n
}
