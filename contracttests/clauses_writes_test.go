package contracttests

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestExchangesCoverMessages checks that an exchange of a clause with a message has a
// reply with this message and its code.
func TestExchangesCoverMessages(t *testing.T) {
	covered := checkExchanges(t, func(c clause) bool { return c.Message != "" }, func(c clause, s *Step) bool {
		form := regexp.MustCompile(`<[^>]+>`).ReplaceAllString(regexp.QuoteMeta(c.Message), `[^"]+`)
		return hasEntry(t, &s.Response, regexp.MustCompile(`\A`+form+`\z`), c.Status)
	})
	if covered < 35 {
		t.Errorf("%d messages are covered: some are missing", covered)
	}
}

// hasEntry reports whether a reply contains an entry of an error envelope or a batch with
// a message and a code.
func hasEntry(t *testing.T, r *Response, message *regexp.Regexp, code string) bool {
	t.Helper()
	tree, ok := parseBodyByType(t, r.ContentType, r.Body)
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

// TestExchangesCoverRequestFields checks that an exchange of an optional request field
// sends it with success, and that an exchange of a required field gets an error for a
// body that lacks only this field.
func TestExchangesCoverRequestFields(t *testing.T) {
	required := map[string][]string{} // by call and the field they are in
	for _, c := range mustLoadClauses(t) {
		if c.Required {
			in, field := c.splitField()
			required[c.Call+in] = append(required[c.Call+in], field)
		}
	}
	covered := checkExchanges(t, func(c clause) bool { return c.Field != "" }, func(c clause, s *Step) bool {
		method, path, _ := strings.Cut(c.Call, " ")
		if s.Body == nil || s.Method != method || !regexp.MustCompile("^"+regexp.MustCompile(":[a-z_]+").ReplaceAllString(path, "[^/]+")+"$").MatchString(s.Path) {
			return false
		}
		tree, ok := parseBodyByType(t, s.ContentType, *s.Body)
		if !ok {
			return false
		}
		in, field := c.splitField()
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
	if covered < 95 {
		t.Errorf("%d fields are covered: some are missing", covered)
	}
}

// splitField returns the name of the clause's field, and the name of the nested record
// that it is in, "" for the body itself.
func (c clause) splitField() (in, field string) {
	if in, field, ok := strings.Cut(c.Field, "/"); ok {
		return in, field
	}
	return "", c.Field
}

// recordsIn returns the records in a field of the body's records, or the body's own
// records if field is "".
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

// entries returns the values of a list, or n itself if it is not a list.
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

// parseBodyByType parses a body by its Content-Type, or by its first character if it has
// none. It returns false for a body that is not well-formed.
func parseBodyByType(t *testing.T, contentType *string, body string) (node, bool) {
	t.Helper()
	of := "application/json"
	switch {
	case contentType != nil:
		of = *contentType
	case strings.HasPrefix(body, "<"):
		of = "text/xml"
	}
	f, ok := formatOfMediaType(of)
	if !ok || body == "" {
		return node{}, false
	}
	tree, err := f.parse(body)
	return tree, err == nil
}

// checkExchanges checks that each exchange of one of the selected clauses has a step that
// covers it, and returns the number of these clauses.
func checkExchanges(t *testing.T, selects func(clause) bool, covers func(clause, *Step) bool) int {
	t.Helper()
	cases := loaded(t, DocumentedExchanges)
	n := 0
	for _, clause := range mustLoadClauses(t) {
		if !selects(clause) {
			continue
		}
		found := false
		for _, c := range cases {
			if !slices.Contains(c.Clauses, clause.Name) {
				continue
			}
			found = true
			if !slices.ContainsFunc(c.Steps, func(s Step) bool { return covers(clause, &s) }) {
				t.Errorf("%s/%s names %s, but does not cover it", c.File, c.Name, clause.Name)
			}
		}
		if found {
			n++
		}
	}
	return n
}
