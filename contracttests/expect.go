package contracttests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mediaType returns the Content-Type of replies in a format (wire 5), or "" for an
// unknown format.
func mediaType(format string) string {
	return map[string]string{
		"json": "application/json; charset=utf-8",
		"xml":  "application/xml; charset=utf-8",
		"text": "text/plain; charset=utf-8",
		"html": "text/html; charset=utf-8",
	}[format]
}

// rootElement returns the name of the root element in XML (contract 2, convention 1).
func (d Dialect) rootElement() string {
	if d == Documented {
		return "service_api"
	}
	return "magento_api"
}

// check compares a reply with an expectation, whose variables have been replaced. like is
// the record that e.Like names, or nil. It returns the differences and the parsed body,
// which is an empty node if the reply has none.
func (c *checker) check(e *Expectation, like *node, got *reply) ([]Difference, *node) {
	c.differences = nil
	if e.Crash {
		// The status and the body of a crash depend on the configuration of the original.
		// The contract requires only that the request fails.
		if got.status < http.StatusInternalServerError {
			c.addDifference("status", "500 or above", strconv.Itoa(got.status))
		}
		c.checkHeaders(e, got)
		return c.differences, &node{}
	}
	status := e.Status
	if status == 0 {
		status = http.StatusOK
		if n := len(e.Errors); n > 0 {
			status = e.Errors[n-1].code
		}
	}
	if got.status != status {
		c.addDifference("status", strconv.Itoa(status), strconv.Itoa(got.status))
	}
	c.checkHeaders(e, got)
	switch {
	case e.Text != nil:
		c.checkHeader("Content-Type", mediaType(c.view.format), got.header)
		body := got.body
		if c.numericIntegers {
			body = withTextsOf(*e.Text, body)
		}
		if !matches(*e.Text, body) {
			c.addDifference("body", *e.Text, body)
		}
		return c.differences, &node{}
	case e.Record == "" && e.List == "" && e.Tree == nil && len(e.Errors) == 0:
		if got.body != "" {
			c.addDifference("body", "none", got.body)
		}
		return c.differences, &node{}
	}
	c.checkHeader("Content-Type", mediaType(c.view.format), got.header)
	body, ok := c.parseBody(got.body)
	if !ok {
		return c.differences, body
	}
	switch {
	case e.Record != "":
		c.checkRecord("$", e.Record, body, e.Only)
		if e.Values != nil {
			c.checkValues("$", &e.Values.node, body)
		}
		if like != nil {
			c.checkUnchanged(e, like, body)
		}
	case e.List != "":
		c.checkList("$", e.List, body, e.Only)
		c.checkEntries(e, body)
	case len(e.Errors) > 0:
		c.checkWholeBody(errorEnvelope(e.Errors), body)
	default:
		c.checkWholeBody(&e.Tree.node, body)
	}
	return c.differences, body
}

// withTextsOf returns a body in JSON with texts for the integers that are texts in want. It returns any
// other body unchanged.
func withTextsOf(want, body string) string {
	wantTree, err := parseJSON(want)
	if err != nil {
		return body
	}
	tree, err := parseJSON(body)
	if err != nil || canonicalJSON(&tree) != body {
		return body
	}
	tree.adoptTexts(&wantTree)
	return canonicalJSON(&tree)
}

// checkHeaders checks the Location, and that the reply has neither an Allow nor a
// WWW-Authenticate header. Only replies to invalid signatures have the latter, and no
// reply has the former (wire 3 and 4).
func (c *checker) checkHeaders(e *Expectation, got *reply) {
	if e.Location == "" {
		c.checkNoHeader("Location", got.header)
	} else {
		c.checkHeader("Location", e.Location, got.header)
	}
	c.checkNoHeader("Allow", got.header)
	c.checkNoHeader("WWW-Authenticate", got.header)
}

// checkNoHeader checks that the reply does not have a header.
func (c *checker) checkNoHeader(name string, got http.Header) {
	if values := got.Values(name); len(values) > 0 {
		c.addDifference(name, "no such header", strings.Join(values, "; "))
	}
}

// checkHeader checks that the reply has a header once, with the value want. In a
// Location, {{=name}} matches any id.
func (c *checker) checkHeader(name, want string, got http.Header) {
	values := got.Values(name)
	if len(values) != 1 {
		c.addDifference(name, want, strconv.Itoa(len(values))+" such headers")
		return
	}
	ok := normalizeMediaType(want) == normalizeMediaType(values[0])
	if name == "Location" {
		ok = locationPattern(want).MatchString(values[0])
	}
	if !ok {
		c.addDifference(name, want, values[0])
	}
}

// locationPattern returns a pattern for a Location. Each {{=name}} of want becomes a
// group that matches an id.
func locationPattern(want string) *regexp.Regexp {
	var pattern strings.Builder
	rest := 0
	for _, at := range variablePattern.FindAllStringIndex(want, -1) {
		pattern.WriteString(regexp.QuoteMeta(want[rest:at[0]]) + `([1-9]\d*)`)
		rest = at[1]
	}
	return regexp.MustCompile(`\A` + pattern.String() + regexp.QuoteMeta(want[rest:]) + `\z`)
}

// parseBody parses a body in the checker's format and checks that it is rendered
// canonically. For XML it checks the name of the root element and returns the element's
// content. It returns false if the body cannot be parsed.
func (c *checker) parseBody(body string) (*node, bool) {
	f, _ := formatOfMediaType(mediaType(c.view.format))
	tree, err := f.parse(body)
	if err != nil {
		c.addDifference("body", f.name, fmt.Sprintf("none (%v): %s", err, body))
		return &node{}, false
	}
	if canonical := f.canonical(&tree); canonical != body {
		c.addDifference("rendering of the body", canonical, body)
	}
	if c.view.format != "xml" {
		return &tree, true
	}
	if root := tree.members[0].name; root != c.view.dialect.rootElement() {
		c.addDifference("root element", c.view.dialect.rootElement(), root)
	}
	return &tree.members[0].value, true
}

// checkUnchanged checks that a record has the same fields and values as before, except
// the fields that e lists in Except and Values.
func (c *checker) checkUnchanged(e *Expectation, before, n *node) {
	mayDiffer := func(name string) bool {
		return slices.Contains(e.Except, name) || e.Values != nil && e.Values.has(name)
	}
	for i := range before.members {
		m := &before.members[i]
		if mayDiffer(m.name) {
			continue
		}
		value, ok := n.member(m.name)
		if !ok {
			c.addDifference("$."+m.name, "as before: "+m.value.describe(), "no such field")
			continue
		}
		for _, d := range diffNodes(nil, "$."+m.name, &m.value, value) {
			c.addDifference(d.Where, "as before: "+d.Want, d.Got)
		}
	}
	for i := range n.members {
		if name := n.members[i].name; !mayDiffer(name) && !before.has(name) {
			c.addDifference("$."+name, "as before: no such field", n.members[i].value.describe())
		}
	}
}

// checkEntries checks the number, the values and the order of the records of a list.
func (c *checker) checkEntries(e *Expectation, body *node) {
	got := make([]*node, len(body.members))
	for i := range body.members {
		got[i] = &body.members[i].value
	}
	if e.Count != nil && len(got) != *e.Count {
		c.addDifference("$", fmt.Sprintf("%d entries", *e.Count), fmt.Sprintf("%d", len(got)))
	}
	if e.AtMost != nil && len(got) > *e.AtMost {
		c.addDifference("$", fmt.Sprintf("at most %d entries", *e.AtMost), fmt.Sprintf("%d", len(got)))
	}
	if e.Entries != nil {
		if want := e.Entries.members; len(got) != len(want) {
			c.addDifference("$", fmt.Sprintf("%d entries", len(want)), fmt.Sprintf("%d: %.400s", len(got), describeAll(got)))
		} else {
			for i := range want {
				c.checkValues(fmt.Sprintf("$[%d]", i), &want[i].value, got[i])
			}
		}
	}
	from := 0
	for i := range e.Has {
		at := slices.IndexFunc(got[from:], func(n *node) bool { return c.hasValues(&e.Has[i].node, n) })
		if at < 0 {
			c.addDifference("$", "an entry (in this order) with "+canonicalJSON(&e.Has[i].node), fmt.Sprintf("no such entry among %d", len(got)-from))
			return
		}
		from += at + 1
	}
	for i := range e.Lacks {
		if at := slices.IndexFunc(got, func(n *node) bool { return c.hasValues(&e.Lacks[i].node, n) }); at >= 0 {
			c.addDifference(fmt.Sprintf("$[%d]", at), "no entry with "+canonicalJSON(&e.Lacks[i].node), "such an entry")
		}
	}
	if e.Ordered != "" {
		c.checkOrder(e.Ordered, got)
	}
}

// describeAll returns the nodes as JSON, separated by commas.
func describeAll(nodes []*node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, canonicalJSON(n))
	}
	return strings.Join(all, ", ")
}

// canonicalJSON returns the node rendered as JSON.
func canonicalJSON(n *node) string {
	var b strings.Builder
	renderJSON(&b, n)
	return b.String()
}

// checkOrder checks that the numbers in a field ascend from record to record, or descend
// if the name of the field has the prefix "-".
func (c *checker) checkOrder(by string, got []*node) {
	name, descending := strings.CutPrefix(by, "-")
	var before float64
	for i, n := range got {
		value, _ := n.member(name)
		number, err := strconv.ParseFloat(value.text, 64)
		if err != nil {
			c.addDifference(fmt.Sprintf("$[%d].%s", i, name), "a number", value.describe())
			return
		}
		if i > 0 && (descending && number > before || !descending && number < before) {
			c.addDifference(fmt.Sprintf("$[%d].%s", i, name), "a list ordered by "+by, fmt.Sprintf("%v after %v", number, before))
			return
		}
		before = number
	}
}

// checkWholeBody checks that a body equals want.
func (c *checker) checkWholeBody(want, body *node) {
	w := convertToFormat(want, c.view.format)
	if c.numericIntegers {
		body.adoptTexts(&w)
	}
	c.differences = diffNodes(c.differences, "$", &w, body)
}

// errorEnvelope returns the envelope of error replies with the given entries (wire 8).
func errorEnvelope(errors []errorEntry) *node {
	all := node{kind: list}
	for _, e := range errors {
		all.members = append(all.members, member{"", node{kind: record, members: []member{
			{"code", node{kind: number, text: strconv.Itoa(e.code)}},
			{"message", node{kind: text, text: e.message}},
		}}})
	}
	return &node{kind: record, members: []member{{"messages", node{kind: record, members: []member{{"error", all}}}}}}
}

// withNumbers returns a tree with numbers in place of the texts that are JSON numbers, except attributes.
func withNumbers(n *node) node {
	got := *n
	if n.kind == text && json.Valid([]byte(n.text)) && strings.Trim(n.text, "+-.0123456789eE") == "" {
		got.kind = number
	}
	got.members = slices.Clone(n.members)
	for i, m := range n.members {
		if !isAttribute(m.name) {
			got.members[i].value = withNumbers(&m.value)
		}
	}
	return got
}

// convertToFormat converts a tree to the form in which a parser of the format returns it
// (wire 7). In XML and forms numbers are texts and the entries of lists have names. Names
// with the prefix @ are attributes in XML and lose the prefix in other formats.
func convertToFormat(n *node, format string) node {
	got := *n
	switch {
	case format == "json":
	case n.kind == number:
		got.kind = text
	case n.kind == literal && n.text == "true":
		got = node{kind: text, text: "1"}
	case n.kind == literal && format == "text":
		got = node{kind: text, text: "0"}
	case n.kind == literal, n.kind == text && n.text == "" && format == "xml", n.kind == list && len(n.members) == 0,
		n.kind == record && len(n.members) == 0 && format == "xml":
		got = node{kind: null}
	}
	got.members = nil
	for i := range n.members {
		m := n.members[i]
		switch {
		case format != "xml" && strings.HasPrefix(m.name, "@"):
			m.name = m.name[1:]
		case format == "xml" && (n.kind == list || isDigits(m.name)):
			m.name = "data_item"
		case n.kind == list && format == "text":
			m.name = strconv.Itoa(i)
		}
		m.value = convertToFormat(&m.value, format)
		if format == "text" && m.value.kind == null {
			continue
		}
		got.members = append(got.members, m)
	}
	switch {
	case len(n.members) == 0, format == "json":
	case format == "text":
		got.kind = record
	case got.isXMLList():
		got.kind = list
	case got.kind == list:
		got.kind = record
	}
	return got
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
