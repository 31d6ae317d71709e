package contracttests

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A shape lists the fields of a kind of record, with their types, for each dialect and
// format.
type shape struct {
	keyedByID        bool // in JSON, lists are objects keyed by the records' ids
	numberedElements bool // in XML, the elements of lists are numbered
	views            map[view][]field
}

// A view is a combination of dialect and format, for which a shape has its own list of
// fields.
type view struct {
	dialect Dialect
	format  string
}

// A field describes one field of a record.
type field struct {
	name     string
	kind     fieldKind
	shape    string // shape of the records in a list or record, or ""
	optional bool   // may be absent
	nullable bool   // may be null or empty
}

// A fieldKind is a type of a field, as listed in the table of cases/README.md.
type fieldKind struct {
	name    string
	example string // of a scalar, for people
	json    kind
	text    *regexp.Regexp // pattern of a scalar
	xml     *regexp.Regexp // its pattern in XML
	form    *regexp.Regexp // its pattern in text/plain
	// integer: a text that is a number with Target.NumericIntegers.
	integer bool
}

// fieldKinds returns all types by name.
func fieldKinds() map[string]fieldKind {
	kinds := map[string]fieldKind{}
	for _, k := range []struct {
		name            string
		json            kind
		example         string // for reports
		text, xml, form string
		integer         bool
	}{
		{name: "id", example: `"17" as text`, json: text, text: `\d+`, integer: true},
		{name: "int", example: `"-1" as text`, json: text, text: `-?\d+`, integer: true},
		{name: "flag", example: `"0" or "1" as text`, json: text, text: `[01]`, integer: true},
		{name: "code", example: `"1" as text`, json: text, text: `-?\d+`},
		{name: "decimal", example: `"12.5000" as text`, json: text, text: `-?\d+\.\d{4}`},
		{name: "text", example: `a text that is not empty`, json: text, text: `(?s:.+)`},
		{name: "blank", example: `a text`, json: text, text: `(?s:.*)`},
		{name: "datetime", example: `"2012-03-04 10:00:00"`, json: text, text: `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`},
		{name: "iso", example: `"2012-03-04T10:00:00+00:00"`, json: text, text: `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[-+]\d\d:\d\d`},
		{name: "url", example: `"http://…"`, json: text, text: `https?://\S+`},
		{name: "money", example: `12.5, a number`, json: number, text: `-?\d+(\.\d{1,2})?`},
		{name: "whole", example: `5, a number`, json: number, text: `-?\d+`},
		{name: "bit", example: `0 or 1, a number`, json: number, text: `[01]`},
		{name: "bool", example: `true or false`, json: literal, text: `true|false`, xml: `1?`, form: `[01]`},
		{name: "texts", json: list},
		{name: "list", json: list},
		{name: "record", json: record},
		{name: "any"},
	} {
		f := fieldKind{name: k.name, example: k.example, json: k.json, integer: k.integer}
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

// A shapeFile is the content of a file in shapes/: shapes by name.
type shapeFile map[string]struct {
	Keyed      bool
	Elements   string
	Documented shapeFields
	Magento    shapeFields
	OpenMage   shapeFields // nil: as Magento
}

// shapeFields are the fields of a shape in a dialect, by format; nil if it does not exist there.
type shapeFields map[string][]string

// UnmarshalYAML decodes a list of fields, or such a list for each format.
func (f *shapeFields) UnmarshalYAML(n *yaml.Node) error {
	var all []string
	if n.Kind == yaml.SequenceNode {
		err := n.Decode(&all)
		*f = shapeFields{"json": all, "xml": all, "text": all}
		return err
	}
	var byFormat map[string][]string
	err := n.Decode(&byFormat)
	if *f = byFormat; err == nil && byFormat["text"] == nil {
		byFormat["text"] = byFormat["json"]
	}
	return err
}

// parseShapes adds the shapes of a file to shapes. It returns an error for a name that
// shapes already contains.
func parseShapes(name string, data []byte, shapes map[string]*shape) error {
	var file shapeFile
	if err := decodeYAML(name, data, &file); err != nil {
		return err
	}
	kinds := fieldKinds()
	for name, raw := range file {
		if shapes[name] != nil {
			return fmt.Errorf("duplicate shape %q", name)
		}
		if raw.Elements != "" && raw.Elements != "numbered" && raw.Elements != "data_item" {
			return fmt.Errorf("shape %q: elements must be data_item or numbered", name)
		}
		s := &shape{keyedByID: raw.Keyed, numberedElements: raw.Elements == "numbered", views: map[view][]field{}}
		if raw.OpenMage == nil {
			raw.OpenMage = raw.Magento
		}
		for dialect, fields := range map[Dialect]shapeFields{Documented: raw.Documented, Magento: raw.Magento, OpenMage: raw.OpenMage} {
			if err := s.parseViews(dialect, fields, kinds); err != nil {
				return fmt.Errorf("shape %q, %s: %w", name, dialect, err)
			}
		}
		shapes[name] = s
	}
	return nil
}

// parseViews reads the fields of a dialect.
func (s *shape) parseViews(d Dialect, byFormat shapeFields, kinds map[string]fieldKind) error {
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

// fieldPattern matches a field in a file of shapes.
var fieldPattern = regexp.MustCompile(`\A(\S+) ([a-z]+)(?: ([a-z0-9_ ]+?))?([~*]*)\z`)

// parseField parses "NAME TYPE", "NAME list SHAPE" or "NAME record SHAPE", optionally
// followed by ~ (nullable) and * (optional).
func parseField(s string, kinds map[string]fieldKind) (field, error) {
	m := fieldPattern.FindStringSubmatch(s)
	if m == nil {
		return field{}, fmt.Errorf("field %q is not NAME TYPE", s)
	}
	k, ok := kinds[m[2]]
	if !ok || (m[3] != "") != (k.name == "list" || k.name == "record") {
		return field{}, fmt.Errorf("field %q has an unknown type", s)
	}
	return field{m[1], k, m[3], strings.Contains(m[4], "*"), strings.Contains(m[4], "~")}, nil
}

// A checker compares replies with expectations in one dialect and format, and collects
// the differences.
type checker struct {
	shapes      map[string]*shape
	view        view
	differences []Difference
	// numericIntegers is that of the target.
	numericIntegers bool
}

func (c *checker) addDifference(where, want, got string) {
	c.differences = append(c.differences, Difference{where, want, got})
}

// checkRecord checks that n is a record with the fields of the named shape. If only is
// not nil, n must have exactly the fields that it names.
func (c *checker) checkRecord(path, name string, n *node, only []string) {
	fields := c.fields(name, only)
	if n.kind != record && !(len(n.members) == 0 && mayBeEmpty(fields, c.view.format)) {
		c.addDifference(path, "a record", n.describe())
		return
	}
	known := map[string]bool{}
	for _, f := range fields {
		known[f.name] = true
		value, ok := n.member(f.name)
		switch {
		case ok:
			c.checkField(path+"."+f.name, f, value)
		case !f.optional && !(c.view.format == "text" && (f.nullable || f.kind.json == list)):
			c.addDifference(path, "field "+f.name, "fields "+n.memberNames())
		}
	}
	seen := map[string]bool{}
	for i := range n.members {
		switch m := n.members[i].name; {
		case !known[m]:
			c.addDifference(path, "no field "+m, n.members[i].value.describe())
		case seen[m]:
			c.addDifference(path, "one field "+m, "two")
		default:
			seen[m] = true
		}
	}
}

// mayBeEmpty reports whether a record with these fields may have none of them. Such a
// record is rendered as null or as an empty list.
func mayBeEmpty(fields []field, format string) bool {
	return !slices.ContainsFunc(fields, func(f field) bool { return !f.optional && !(format == "text" && f.nullable) })
}

// fields returns the fields of the named shape. If only is not nil, it returns the fields
// that only names; one that the shape does not have may have any value.
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

// checkField checks the type of the value of one field.
func (c *checker) checkField(path string, f field, n *node) {
	isEmpty := n.kind == null || n.kind == text && n.text == ""
	switch {
	case f.kind.name == "any":
	case isEmpty && c.view.format != "json" && slices.Contains([]string{"blank", "texts", "list"}, f.kind.name),
		isEmpty && c.view.format == "xml" && f.kind.name == "bool":
		// In XML, an empty list, an empty text and false are an empty element.
	case n.kind == null || isEmpty && c.view.format != "json":
		if !f.nullable {
			c.addDifference(path, f.kind.name, n.describe())
		}
	case f.kind.name == "list":
		c.checkList(path, f.shape, n, nil)
	case f.kind.name == "record":
		c.checkRecord(path, f.shape, n, nil)
	case f.kind.name == "texts":
		if n.kind != list && !(c.view.format == "text" && n.isOrdered()) {
			c.addDifference(path, "a list of texts", n.describe())
			return
		}
		for i := range n.members {
			if v := &n.members[i].value; v.kind != text && !(c.view.format != "json" && v.kind == null) {
				c.addDifference(path, "texts", v.describe())
			}
		}
	default:
		c.checkScalar(path, f.kind, n)
	}
}

// checkScalar checks a value that is neither a list nor a record.
func (c *checker) checkScalar(path string, k fieldKind, n *node) {
	want, form := k.json, k.text
	if c.numericIntegers && (k.integer || k.name == "blank" && n.kind == number) {
		want = number
	}
	switch c.view.format {
	case "xml":
		want, form = text, k.xml
	case "text":
		want, form = text, k.form
	}
	if n.kind != want || !form.MatchString(n.text) {
		c.addDifference(path, k.name+", such as "+k.example, n.describe())
	}
}

// checkList checks that n is a list of records of the named shape, with the keys or
// element names of the format.
func (c *checker) checkList(path, name string, n *node, only []string) {
	s := c.shapes[name]
	if !c.isList(s, n) {
		want := "a list"
		if s.keyedByID && c.view.format == "json" {
			want = "an object keyed by id"
		}
		c.addDifference(path, want, n.describe())
		return
	}
	for i := range n.members {
		m := &n.members[i]
		entryPath := fmt.Sprintf("%s[%d]", path, i)
		if c.view.format == "xml" {
			element := "data_item"
			if s.numberedElements && c.view.dialect == Documented {
				element = "data_item_" + strconv.Itoa(i+1)
			}
			if m.name != element {
				c.addDifference(entryPath, "<"+element+">", "<"+m.name+">")
			}
		}
		if id, ok := m.value.member("entity_id"); ok && s.keyedByID && c.view.format == "json" && id.text != m.name {
			c.addDifference(entryPath, "the key "+id.text, m.name)
		}
		c.checkRecord(entryPath, name, &m.value, only)
	}
}

// isList reports whether n has the form of a list of s in the checker's format.
func (c *checker) isList(s *shape, n *node) bool {
	switch {
	case len(n.members) == 0:
		return n.kind == list || c.view.format != "json" && n.kind != text || c.view.format == "xml" && n.kind == null
	case c.view.format == "xml":
		return n.kind == list
	case c.view.format == "text" || s.keyedByID:
		return n.kind == record && n.isOrdered()
	default:
		return n.kind == list
	}
}

// checkValues checks that n has the values of want. Records are compared field by field,
// and n may have further fields; lists must have the same length.
func (c *checker) checkValues(path string, want, n *node) {
	switch want.kind {
	case null:
		if n.kind != null && !(c.view.format != "json" && len(n.members) == 0 && n.text == "") {
			c.addDifference(path, "null", n.describe())
		}
	case record:
		for i := range want.members {
			m := &want.members[i]
			value, ok := n.member(m.name)
			if !ok && m.value.kind != null && !(m.value.kind == list && len(m.value.members) == 0) {
				c.addDifference(path+"."+m.name, m.value.describe(), "no such field")
				continue
			}
			c.checkValues(path+"."+m.name, &m.value, value)
		}
	case list:
		if len(want.members) != len(n.members) {
			c.addDifference(path, want.describe(), n.describe())
			return
		}
		for i := range want.members {
			c.checkValues(fmt.Sprintf("%s[%d]", path, i), &want.members[i].value, &n.members[i].value)
		}
	default:
		if n.kind == null && want.text == "" && c.view.format != "json" {
			return
		}
		if n.kind == null || n.kind == list || n.kind == record || !matches(want.text, n.text) {
			c.addDifference(path, want.text, n.describe())
		}
	}
}

// hasValues reports whether checkValues finds no difference.
func (c *checker) hasValues(want, n *node) bool {
	scratch := checker{shapes: c.shapes, view: c.view}
	scratch.checkValues("$", want, n)
	return len(scratch.differences) == 0
}
