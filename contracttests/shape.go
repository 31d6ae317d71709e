package contracttests

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A shape is what the records of one view look like: their exact fields, with
// types, by dialect and format.
type shape struct {
	keyed    bool // in JSON a list of them is an object keyed by their id
	numbered bool // in XML the elements of a list are numbered
	views    map[view][]field
}

// A view is what a shape may differ by.
type view struct {
	dialect Dialect
	format  string
}

// A field is one of a shape.
type field struct {
	name     string
	kind     fieldKind
	of       string // the shape of the records in it, or ""
	optional bool   // it may be absent
	nullable bool   // it may be null or empty
}

// A fieldKind is a type of the table in cases/README.md.
type fieldKind struct {
	name string
	json kind
	text *regexp.Regexp // what a scalar looks like
	xml  *regexp.Regexp // the same in XML
	form *regexp.Regexp // and in text/plain
}

// fieldKinds returns the types by name.
func fieldKinds() map[string]fieldKind {
	kinds := map[string]fieldKind{}
	for _, k := range []struct {
		name            string
		json            kind
		text, xml, form string
	}{
		{name: "id", json: text, text: `\d+`},
		{name: "int", json: text, text: `-?\d+`},
		{name: "flag", json: text, text: `[01]`},
		{name: "decimal", json: text, text: `-?\d+\.\d{4}`},
		{name: "text", json: text, text: `(?s:.+)`},
		{name: "blank", json: text, text: `(?s:.*)`},
		{name: "datetime", json: text, text: `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`},
		{name: "iso", json: text, text: `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00`},
		{name: "url", json: text, text: `https?://\S+`},
		{name: "money", json: number, text: `-?\d+(\.\d{1,2})?`},
		{name: "whole", json: number, text: `-?\d+`},
		{name: "bit", json: number, text: `[01]`},
		{name: "bool", json: literal, text: `true|false`, xml: `1?`, form: `[01]`},
		{name: "texts", json: list},
		{name: "list", json: list},
		{name: "record", json: record},
		{name: "any"},
	} {
		f := fieldKind{name: k.name, json: k.json}
		if k.text != "" {
			f.text = regexp.MustCompile(`\A(` + k.text + `)\z`)
			f.xml, f.form = f.text, f.text
		}
		if k.xml != "" {
			f.xml, f.form = regexp.MustCompile(`\A(`+k.xml+`)\z`), regexp.MustCompile(`\A(`+k.form+`)\z`)
		}
		kinds[k.name] = f
	}
	return kinds
}

// A shapeFile is a file of shapes/: shapes by name.
type shapeFile map[string]struct {
	Keyed      bool      `yaml:"keyed"`
	Elements   string    `yaml:"elements"`
	Documented yaml.Node `yaml:"documented"`
	Magento    yaml.Node `yaml:"magento"`
}

// parseShapes adds the shapes of a file to shapes.
func parseShapes(data []byte, shapes map[string]*shape) error {
	var file shapeFile
	if err := decodeYAML(data, &file); err != nil {
		return err
	}
	kinds := fieldKinds()
	for name, raw := range file {
		if shapes[name] != nil {
			return fmt.Errorf("shape %q stands there twice", name)
		}
		if raw.Elements != "" && raw.Elements != "numbered" && raw.Elements != "data_item" {
			return fmt.Errorf("shape %q: elements are data_item or numbered", name)
		}
		s := &shape{keyed: raw.Keyed, numbered: raw.Elements == "numbered", views: map[view][]field{}}
		for dialect, n := range map[Dialect]yaml.Node{Documented: raw.Documented, Magento: raw.Magento} {
			if err := s.parseViews(dialect, &n, kinds); err != nil {
				return fmt.Errorf("shape %q, %s: %w", name, dialect, err)
			}
		}
		shapes[name] = s
	}
	return nil
}

// parseViews reads the fields of a dialect: a list, or a list by format.
func (s *shape) parseViews(d Dialect, n *yaml.Node, kinds map[string]fieldKind) error {
	byFormat := map[string][]string{}
	switch n.Kind {
	case 0: // the shape does not exist in this dialect
		return nil
	case yaml.SequenceNode:
		var all []string
		if err := n.Decode(&all); err != nil {
			return err
		}
		for _, format := range []string{"json", "xml", "text"} {
			byFormat[format] = all
		}
	default:
		if err := n.Decode(&byFormat); err != nil {
			return err
		}
		if byFormat["text"] == nil {
			byFormat["text"] = byFormat["json"]
		}
	}
	for format, texts := range byFormat {
		for _, text := range texts {
			f, err := parseField(text, kinds)
			if err != nil {
				return err
			}
			s.views[view{d, format}] = append(s.views[view{d, format}], f)
		}
	}
	return nil
}

var fieldForm = regexp.MustCompile(`\A(\S+) ([a-z]+)(?: ([a-z0-9_ ]+?))?([~*]*)\z`)

// parseField reads "name type", "name list SHAPE" or "name record SHAPE", with ~
// and * behind.
func parseField(s string, kinds map[string]fieldKind) (field, error) {
	m := fieldForm.FindStringSubmatch(s)
	if m == nil {
		return field{}, fmt.Errorf("field %q is not NAME TYPE", s)
	}
	k, ok := kinds[m[2]]
	if !ok || (m[3] != "") != (k.name == "list" || k.name == "record") {
		return field{}, fmt.Errorf("field %q has an unknown type", s)
	}
	return field{m[1], k, m[3], strings.Contains(m[4], "*"), strings.Contains(m[4], "~")}, nil
}

// A checker compares answers with what is expected, in one dialect and format.
type checker struct {
	shapes map[string]*shape
	view   view
	ds     []Difference
}

func (c *checker) differ(where, want, got string) {
	c.ds = append(c.ds, Difference{where, want, got})
}

// record checks that n is a record of the shape. only, if not nil, names the exact
// fields instead.
func (c *checker) record(at, name string, n *node, only []string) {
	fields := c.fields(name, only)
	if n.kind != record && !(len(n.members) == 0 && allAbsent(fields, c.view.format)) {
		c.differ(at, "a record", n.describe())
		return
	}
	known := map[string]bool{}
	for _, f := range fields {
		known[f.name] = true
		value, ok := n.member(f.name)
		switch {
		case ok:
			c.field(at+"."+f.name, f, value)
		case !f.optional && !(c.view.format == "text" && (f.nullable || f.kind.json == list)):
			c.differ(at, "field "+f.name, "fields "+n.names())
		}
	}
	seen := map[string]bool{}
	for i := range n.members {
		switch m := n.members[i].name; {
		case !known[m]:
			c.differ(at, "no field "+m, n.members[i].value.describe())
		case seen[m]:
			c.differ(at, "field "+m+" once", "twice")
		default:
			seen[m] = true
		}
	}
}

// allAbsent reports whether a record of the fields may have none: an empty one is
// written as null or an empty list.
func allAbsent(fields []field, format string) bool {
	return !slices.ContainsFunc(fields, func(f field) bool { return !f.optional && !(format == "text" && f.nullable) })
}

// fields returns the fields of a shape, or of those named in only. A field that
// only a selection shows may be anything.
func (c *checker) fields(name string, only []string) []field {
	all := c.shapes[name].views[c.view]
	if only == nil {
		return all
	}
	var chosen []field
	for _, want := range only {
		i := slices.IndexFunc(all, func(f field) bool { return f.name == want })
		if i < 0 {
			chosen = append(chosen, field{name: want, kind: fieldKind{name: "any"}, nullable: true})
			continue
		}
		chosen = append(chosen, all[i])
	}
	return chosen
}

// field checks the value of one field.
func (c *checker) field(at string, f field, n *node) {
	isEmpty := n.kind == null || n.kind == text && n.text == ""
	switch {
	case f.kind.name == "any":
	case isEmpty && c.view.format != "json" && slices.Contains([]string{"blank", "texts", "list"}, f.kind.name),
		isEmpty && c.view.format == "xml" && f.kind.name == "bool":
		// An empty list, an empty text and false are an empty element.
	case n.kind == null || isEmpty && c.view.format != "json":
		if !f.nullable {
			c.differ(at, f.kind.name, n.describe())
		}
	case f.kind.name == "list":
		c.list(at, f.of, n, nil)
	case f.kind.name == "record":
		c.record(at, f.of, n, nil)
	case f.kind.name == "texts":
		if n.kind != list && !(c.view.format == "text" && n.isMap()) {
			c.differ(at, "a list of texts", n.describe())
			return
		}
		for i := range n.members {
			if v := &n.members[i].value; v.kind != text && !(c.view.format != "json" && v.kind == null) {
				c.differ(at, "texts", v.describe())
			}
		}
	default:
		c.scalar(at, f.kind, n)
	}
}

func (c *checker) scalar(at string, k fieldKind, n *node) {
	want, form := k.json, k.text
	switch c.view.format {
	case "xml":
		want, form = text, k.xml
	case "text":
		want, form = text, k.form
	}
	if n.kind != want || !form.MatchString(n.text) {
		c.differ(at, k.name, n.describe())
	}
}

// list checks that n is a list of records of the shape.
func (c *checker) list(at, name string, n *node, only []string) {
	s := c.shapes[name]
	if !c.isList(s, n) {
		want := "a list"
		if s.keyed && c.view.format == "json" {
			want = "an object keyed by id"
		}
		c.differ(at, want, n.describe())
		return
	}
	for i := range n.members {
		m := &n.members[i]
		place := fmt.Sprintf("%s[%d]", at, i)
		if c.view.format == "xml" {
			element := "data_item"
			if s.numbered && c.view.dialect == Documented {
				element = "data_item_" + strconv.Itoa(i+1)
			}
			if m.name != element {
				c.differ(place, "<"+element+">", "<"+m.name+">")
			}
		}
		if id, ok := m.value.member("entity_id"); ok && s.keyed && c.view.format == "json" && id.text != m.name {
			c.differ(place, "the key "+id.text, m.name)
		}
		c.record(place, name, &m.value, only)
	}
}

// isList reports whether n is what a list is written as.
func (c *checker) isList(s *shape, n *node) bool {
	switch {
	case len(n.members) == 0:
		return n.kind == list || c.view.format != "json" && n.kind != text || c.view.format == "xml" && n.kind == null
	case c.view.format == "xml":
		return n.kind == list
	case c.view.format == "text" || s.keyed:
		return n.kind == record && n.isMap()
	default:
		return n.kind == list
	}
}

// values checks that n holds what want says, field by field.
func (c *checker) values(at string, want, n *node) {
	switch want.kind {
	case null:
		if n.kind != null && !(c.view.format != "json" && len(n.members) == 0 && n.text == "") {
			c.differ(at, "null", n.describe())
		}
	case record:
		for i := range want.members {
			m := &want.members[i]
			value, ok := n.member(m.name)
			if !ok && m.value.kind != null && !(m.value.kind == list && len(m.value.members) == 0) {
				c.differ(at+"."+m.name, m.value.describe(), "no such field")
				continue
			}
			c.values(at+"."+m.name, &m.value, value)
		}
	case list:
		if len(want.members) != len(n.members) {
			c.differ(at, want.describe(), n.describe())
			return
		}
		for i := range want.members {
			c.values(fmt.Sprintf("%s[%d]", at, i), &want.members[i].value, &n.members[i].value)
		}
	default:
		if n.kind == null && want.text == "" && c.view.format != "json" {
			return
		}
		if n.kind == null || n.kind == list || n.kind == record || !matches(want.text, n.text) {
			c.differ(at, want.text, n.describe())
		}
	}
}

// holds reports whether n holds what want says.
func (c *checker) holds(want, n *node) bool {
	probe := checker{shapes: c.shapes, view: c.view}
	probe.values("$", want, n)
	return len(probe.ds) == 0
}
