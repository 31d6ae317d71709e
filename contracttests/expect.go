package contracttests

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mediaTypes are what an answer in a format calls itself (wire 5).
func mediaType(format string) string {
	return map[string]string{
		"json": "application/json; charset=utf-8",
		"xml":  "application/xml; charset=utf-8",
		"text": "text/plain; charset=utf-8",
		"html": "text/html; charset=utf-8",
	}[format]
}

// root is the name of the root element in XML (contract 2, convention 1).
func (d Dialect) root() string {
	if d == Magento {
		return "magento_api"
	}
	return "service_api"
}

// check returns where the reply is not as e says, and its body as a tree. What e
// names has been put in place of its names.
func (c *checker) check(e *Expectation, like *node, got *reply) ([]Difference, *node) {
	c.ds = nil
	if e.Crash {
		// Which status the original dies with, and with what body, depends on its
		// configuration: only that it fails is the contract's.
		if got.status < http.StatusInternalServerError {
			c.differ("status", "500 or above", strconv.Itoa(got.status))
		}
		c.headers(e, got)
		return c.ds, &node{}
	}
	status := e.Status
	if status == 0 {
		status = http.StatusOK
		if n := len(e.Errors); n > 0 {
			status = e.Errors[n-1].code
		}
	}
	if got.status != status {
		c.differ("status", strconv.Itoa(status), strconv.Itoa(got.status))
	}
	c.headers(e, got)
	switch {
	case e.Text != nil:
		c.header("Content-Type", mediaType(c.view.format), got.header)
		if !matches(*e.Text, got.body) {
			c.differ("body", *e.Text, got.body)
		}
		return c.ds, &node{}
	case e.Record == "" && e.List == "" && e.Tree == nil && len(e.Errors) == 0:
		if got.body != "" {
			c.differ("body", "none", got.body)
		}
		return c.ds, &node{}
	}
	c.header("Content-Type", mediaType(c.view.format), got.header)
	body, ok := c.parse(got.body)
	if !ok {
		return c.ds, body
	}
	switch {
	case e.Record != "":
		c.record("$", e.Record, body, e.Only)
		if e.Values != nil {
			c.values("$", &e.Values.node, body)
		}
		if like != nil {
			c.like(e, like, body)
		}
	case e.List != "":
		c.list("$", e.List, body, e.Only)
		c.entries(e, body)
	case len(e.Errors) > 0:
		c.whole(envelope(e.Errors), body)
	default:
		c.whole(&e.Tree.node, body)
	}
	return c.ds, body
}

// headers checks what stands beside the body. Nothing but a failed signature ever
// asks for credentials, and no answer lists methods (wire 3 and 4).
func (c *checker) headers(e *Expectation, got *reply) {
	if e.Location == "" {
		c.noHeader("Location", got.header)
	} else {
		c.header("Location", e.Location, got.header)
	}
	c.noHeader("Allow", got.header)
	c.noHeader("WWW-Authenticate", got.header)
}

func (c *checker) noHeader(name string, got http.Header) {
	if values := got.Values(name); len(values) > 0 {
		c.differ(name, "no such header", strings.Join(values, "; "))
	}
}

// header checks a header. {{=name}} in want stands for an id.
func (c *checker) header(name, want string, got http.Header) {
	values := got.Values(name)
	if len(values) != 1 {
		c.differ(name, want, strconv.Itoa(len(values))+" such headers")
		return
	}
	ok := foldMedia(want) == foldMedia(values[0])
	if name == "Location" {
		ok = locationForm(want).MatchString(values[0])
	}
	if !ok {
		c.differ(name, want, values[0])
	}
}

// locationForm returns what a Location matches, its ids as groups.
func locationForm(want string) *regexp.Regexp {
	var form strings.Builder
	rest := 0
	for _, at := range variable.FindAllStringIndex(want, -1) {
		form.WriteString(regexp.QuoteMeta(want[rest:at[0]]) + `([1-9]\d*)`)
		rest = at[1]
	}
	return regexp.MustCompile(`\A` + form.String() + regexp.QuoteMeta(want[rest:]) + `\z`)
}

// parse reads a body in the format of c and returns what is in the root, having
// checked that it is rendered as the contract has it.
func (c *checker) parse(body string) (*node, bool) {
	f, _ := formatOf(mediaType(c.view.format))
	tree, err := f.parse(body)
	if err != nil {
		c.differ("body", f.name, fmt.Sprintf("none (%v): %s", err, body))
		return &node{}, false
	}
	if canonical := f.canonical(&tree); canonical != body {
		c.differ("rendering of the body", canonical, body)
	}
	if c.view.format != "xml" {
		return &tree, true
	}
	if root := tree.members[0].name; root != c.view.dialect.root() {
		c.differ("root element", c.view.dialect.root(), root)
	}
	return &tree.members[0].value, true
}

// like checks that a record holds what an earlier one held, but for the fields
// that are expected to differ.
func (c *checker) like(e *Expectation, before, n *node) {
	differs := func(name string) bool {
		return slices.Contains(e.Except, name) || e.Values != nil && e.Values.has(name)
	}
	for i := range before.members {
		m := &before.members[i]
		if differs(m.name) {
			continue
		}
		value, ok := n.member(m.name)
		if !ok {
			c.differ("$."+m.name, "as before: "+m.value.describe(), "no such field")
			continue
		}
		for _, d := range diffNodes(nil, "$."+m.name, &m.value, value) {
			c.differ(d.Where, "as before: "+d.Want, d.Got)
		}
	}
	for i := range n.members {
		if name := n.members[i].name; !differs(name) && !before.has(name) {
			c.differ("$."+name, "as before: no such field", n.members[i].value.describe())
		}
	}
}

// entries checks which records a list holds.
func (c *checker) entries(e *Expectation, body *node) {
	got := make([]*node, len(body.members))
	for i := range body.members {
		got[i] = &body.members[i].value
	}
	if e.Count != nil && len(got) != *e.Count {
		c.differ("$", fmt.Sprintf("%d entries", *e.Count), fmt.Sprintf("%d", len(got)))
	}
	if e.AtMost != nil && len(got) > *e.AtMost {
		c.differ("$", fmt.Sprintf("at most %d entries", *e.AtMost), fmt.Sprintf("%d", len(got)))
	}
	if e.Entries != nil {
		if want := e.Entries.members; len(got) != len(want) {
			c.differ("$", fmt.Sprintf("%d entries", len(want)), fmt.Sprintf("%d: %.400s", len(got), describeAll(got)))
		} else {
			for i := range want {
				c.values(fmt.Sprintf("$[%d]", i), &want[i].value, got[i])
			}
		}
	}
	from := 0
	for i := range e.Has {
		at := slices.IndexFunc(got[from:], func(n *node) bool { return c.holds(&e.Has[i].node, n) })
		if at < 0 {
			c.differ("$", "an entry (in this order) with "+canonicalJSON(&e.Has[i].node), fmt.Sprintf("%d entries without", len(got)-from))
			return
		}
		from += at + 1
	}
	for i := range e.Lacks {
		if at := slices.IndexFunc(got, func(n *node) bool { return c.holds(&e.Lacks[i].node, n) }); at >= 0 {
			c.differ(fmt.Sprintf("$[%d]", at), "no entry with "+canonicalJSON(&e.Lacks[i].node), "it is there")
		}
	}
	if e.Ordered != "" {
		c.ordered(e.Ordered, got)
	}
}

func describeAll(nodes []*node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, canonicalJSON(n))
	}
	return strings.Join(all, ", ")
}

func canonicalJSON(n *node) string {
	var b strings.Builder
	renderJSON(&b, n)
	return b.String()
}

// ordered checks that the numbers in a field ascend, or with "-" before its name
// descend.
func (c *checker) ordered(by string, got []*node) {
	name, descending := strings.CutPrefix(by, "-")
	var before float64
	for i, n := range got {
		value, _ := n.member(name)
		number, err := strconv.ParseFloat(value.text, 64)
		if err != nil {
			c.differ(fmt.Sprintf("$[%d].%s", i, name), "a number", value.describe())
			return
		}
		if i > 0 && (descending && number > before || !descending && number < before) {
			c.differ(fmt.Sprintf("$[%d].%s", i, name), "a list ordered by "+by, fmt.Sprintf("%v after %v", number, before))
			return
		}
		before = number
	}
}

// whole checks that a body is want and nothing else.
func (c *checker) whole(want, body *node) {
	w := inFormat(want, c.view.format)
	c.ds = diffNodes(c.ds, "$", &w, body)
}

// envelope returns the envelope of errors with these entries (wire 8).
func envelope(errors []entry) *node {
	all := node{kind: list}
	for _, e := range errors {
		all.members = append(all.members, member{"", node{kind: record, members: []member{
			{"code", node{kind: number, text: strconv.Itoa(e.code)}},
			{"message", node{kind: text, text: e.message}},
		}}})
	}
	return &node{kind: record, members: []member{{"messages", node{kind: record, members: []member{{"error", all}}}}}}
}

// inFormat returns a tree as it stands in a format: numbers are texts in XML and
// forms, and lists have named entries there (wire 7). A name that begins with @ is an
// attribute in XML.
func inFormat(n *node, format string) node {
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
		m.value = inFormat(&m.value, format)
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
