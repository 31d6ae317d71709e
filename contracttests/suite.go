package contracttests

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/portico-commerce/portico/config/strictyaml"
	"go.yaml.in/yaml/v3"
)

//go:embed cases/*.yaml shapes/*.yaml makers.yaml differences.yaml
var suiteFiles embed.FS

// A Suite holds the test cases of the contract together with the shapes, makers, clauses
// and fixtures that they refer to. It is read-only after loading and safe for concurrent
// use.
type Suite struct {
	cases    []Case
	shapes   map[string]*shape
	makers   map[string]maker
	clauses  []clause
	fixtures Fixtures // of the demo store; their names are all that a case may use
}

// A DialectBehavior is an entry of differences.yaml: one behavior that the dialects disagree on. Cases
// refer to it by number.
type DialectBehavior struct {
	DialectDifference

	Clause     string // that determines the behavior in the documented dialect
	Documented string // the behavior in this dialect
	Magento    string // in this one
	OpenMage   string // and in this one; "" if it is as in Magento
}

// DialectBehaviors returns all behaviors that the dialects disagree on, by number.
func DialectBehaviors() ([]DialectBehavior, error) {
	data, err := suiteFiles.ReadFile("differences.yaml")
	if err != nil {
		return nil, err
	}
	var all []DialectBehavior
	if err := decodeYAML("differences.yaml", data, &all); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b DialectBehavior) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}

// NewSuite returns the suite that is built into the package. It returns an error if one
// of the suite's files is invalid; the error names the file, the case and the step.
func NewSuite() (*Suite, error) { return loadSuite(suiteFiles) }

// loadSuite reads a suite from makers.yaml, differences.yaml and the folders shapes and
// cases of fsys, and validates it.
func loadSuite(fsys fs.FS) (*Suite, error) {
	s := &Suite{shapes: map[string]*shape{}}
	var err error
	if s.clauses, err = loadClauses(); err != nil {
		return nil, fmt.Errorf("clauses.json: %w", err)
	}
	var differences []DialectBehavior
	for _, part := range []struct {
		pattern string
		parse   func(name string, data []byte) error
	}{
		{"makers.yaml", func(name string, data []byte) error { return decodeYAML(name, data, &s.makers) }},
		{"differences.yaml", func(name string, data []byte) error { return decodeYAML(name, data, &differences) }},
		{"shapes/*.yaml", func(name string, data []byte) error { return parseShapes(name, data, s.shapes) }},
		{"cases/*.yaml", s.parseCases},
	} {
		files, err := fs.Glob(fsys, part.pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			data, err := fs.ReadFile(fsys, name)
			if err == nil {
				err = part.parse(name, data)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if err := s.validate(differences); err != nil {
		return s, err
	}
	s.cases = append(s.cases, consentCases()...)
	return s, nil
}

// parseCases appends the cases of one YAML file to the suite. The file's name without
// extension is the resource of its cases.
func (s *Suite) parseCases(file string, data []byte) error {
	var cases []Case
	d := strictyaml.Decoder{File: file, Aliases: true}
	d.Check = func(p strictyaml.Place, v any) {
		if e, ok := v.(*Expectation); ok && p.IsSet() {
			e.source = sync.OnceValue(func() string { // few expectations are reported
				source, err := yaml.Marshal(p.Node)
				if err != nil {
					return err.Error()
				}
				return string(source)
			})
		}
	}
	if err := decodeWith(&d, data, &cases); err != nil {
		return err
	}
	resource := strings.TrimSuffix(path.Base(file), ".yaml")
	for i := range cases {
		c := &cases[i]
		c.Resource = resource
		if len(c.Formats) == 0 {
			c.Formats = []string{"json"}
		}
	}
	s.cases = append(s.cases, cases...)
	return nil
}

// validate sets the demo fixtures, resolves the references between the suite's files, and
// returns all errors that it finds: duplicate names, unknown references, expectations
// that contradict each other or could never fail.
func (s *Suite) validate(differences []DialectBehavior) error {
	var err error
	if s.fixtures, err = DemoFixtures(); err != nil {
		return err
	}
	v := validator{suite: s, differences: map[int]DialectDifference{}, clauses: map[string]bool{}}
	for i := range s.clauses {
		v.clauses[s.clauses[i].Name] = true
	}
	for _, d := range differences {
		if _, ok := v.differences[d.Number]; ok || d.Number == 0 || d.Says == "" || d.Section == "" || d.Documented == "" || d.Magento == "" || !v.clauses[d.Clause] {
			v.errorf("differences.yaml: number %d is used twice, lacks a key, or names an unknown clause", d.Number)
		}
		v.differences[d.Number] = d.DialectDifference
	}
	for name, shape := range s.shapes {
		for _, fields := range shape.views {
			for _, f := range fields {
				if f.shape != "" && s.shapes[f.shape] == nil {
					v.errorf("shape %q refers to the unknown shape %q", name, f.shape)
				}
			}
		}
	}
	for name := range s.makers {
		if _, err := s.prerequisites(&Case{Make: []prerequisite{{maker: name, name: name}}}); err != nil {
			v.errorf("makers.yaml: %q: %v", name, err)
		}
	}
	covered := map[int]bool{}
	ids := map[string]bool{}
	for i := range s.cases {
		c := &s.cases[i]
		v.location = c.Resource + "/" + c.Name
		if c.Name == "" || ids[v.location] {
			v.errorf("has no name, or that of another case of its file")
		}
		ids[v.location] = true
		v.validateCase(c)
		for _, n := range c.Differences {
			covered[n] = true
		}
	}
	v.location = "differences.yaml"
	for _, d := range differences {
		if !covered[d.Number] {
			v.errorf("no case covers number %d", d.Number)
		}
	}
	return errors.Join(v.errs...)
}

// A validator collects the errors of all cases.
type validator struct {
	suite       *Suite
	differences map[int]DialectDifference
	clauses     map[string]bool
	location    string
	dialect     Dialect         // of the case, or "" for both
	bound       map[string]bool // variables bound so far in the case
	saved       map[string]bool // records saved so far in the case
	errs        []error
}

// errorf records an error at the current location.
func (v *validator) errorf(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s: "+format, append([]any{v.location}, args...)...))
}

// validateCase checks one case. It also resolves the numbers of the case's differences.
func (v *validator) validateCase(c *Case) {
	if len(c.Clauses) == 0 || len(c.Steps) == 0 {
		v.errorf("has no clauses or no steps")
	}
	for _, name := range c.Clauses {
		if !v.clauses[name] {
			v.errorf("unknown clause %q", name)
		}
	}
	for _, n := range c.Differences {
		d, ok := v.differences[n]
		if !ok {
			v.errorf("differences.yaml has no number %d", n)
		}
		c.dialectDifferences = append(c.dialectDifferences, d)
	}
	if c.Dialect != "" && c.Dialect.Check() != nil {
		v.errorf("unknown dialect %q", c.Dialect)
	}
	v.dialect = c.Dialect
	v.validateFormats(c.Formats)
	v.bound, v.saved = map[string]bool{"unique": true, "oauth": true}, map[string]bool{}
	prerequisites, err := v.suite.prerequisites(c)
	if err != nil {
		v.errorf("%v", err)
	}
	for _, m := range prerequisites {
		v.validateTree(&m.send.node)
		v.bound[m.name] = true
	}
	for i := range c.Steps {
		v.validateCall(&c.Steps[i], fmt.Sprintf("step %d", i+1))
	}
	for i := range c.Finally {
		v.validateCall(&c.Finally[i], fmt.Sprintf("finally, step %d", i+1))
	}
}

// validateFormats records an error for each format that a case cannot be run in.
func (v *validator) validateFormats(all []string) {
	for _, f := range all {
		if mediaType(f) == "" || f == "html" {
			v.errorf("unknown format %q", f)
		}
	}
}

// validateCall checks one step: its request, its expectations, and the names that it
// uses. The names that the step binds or saves become known to the following steps.
func (v *validator) validateCall(c *Call, what string) {
	before := v.location
	v.location += ", " + what
	defer func() { v.location = before }()
	method, path, _ := strings.Cut(c.Call, " ")
	if !isToken(method) || !strings.HasPrefix(strings.TrimPrefix(path, "!"), "/") && path != "" {
		v.errorf("call %q is not of the form METHOD /path", c.Call)
	}
	if !slices.Contains([]string{"", Admin, Customer1, Customer2, Guest}, c.As) {
		v.errorf("unknown caller %q", c.As)
	}
	if c.Send != nil && c.Body != nil {
		v.errorf("has both send and body")
	}
	if c.SendAs != "" {
		v.validateFormats([]string{c.SendAs})
	}
	v.validateFormats(c.Formats)
	v.validateVariables(path)
	if c.Send != nil {
		v.validateTree(&c.Send.node)
	}
	if c.Body != nil {
		v.validateVariables(*c.Body)
	}
	for _, value := range c.Headers {
		v.validateVariables(value)
	}
	if !slices.ContainsFunc(Dialects(), func(d Dialect) bool { return c.expectation(d) != nil }) {
		v.errorf("states no expectation")
	}
	for _, e := range []*Expectation{c.Expect, c.Documented, c.Magento, c.OpenMage} {
		if e != nil {
			v.validateExpectation(e)
		}
	}
	for _, d := range Dialects() {
		if e := c.expectation(d); e != nil && d.runs(v.dialect) {
			v.validateShape(d, e.Record+e.List) // one of the two is ""
			if e.Crash && d == Documented {
				v.errorf("expects a crash in %s", d)
			}
		}
	}
	if c.Save != "" {
		v.saved[c.Save] = true
	}
	for name := range maps.Keys(c.Bind) {
		v.bound[name] = true
	}
}

// validateShape records an error if a shape is unknown or has no fields in a dialect.
// Without fields, the shape would accept every empty list.
func (v *validator) validateShape(d Dialect, name string) {
	if name == "" {
		return
	}
	if s := v.suite.shapes[name]; s == nil || len(s.views[view{d, "json"}]) == 0 {
		v.errorf("unknown shape %q in %s", name, d)
	}
}

// validateExpectation checks that an expectation does not contradict itself and that it
// uses known names only. Names that it binds become known.
func (v *validator) validateExpectation(e *Expectation) {
	kinds := 0
	for _, has := range []bool{e.Record != "", e.List != "", len(e.Errors) > 0, e.Tree != nil, e.Text != nil} {
		if has {
			kinds++
		}
	}
	if kinds > 1 {
		v.errorf("expects more than one of record, list, errors, tree and text")
	}
	if e.Crash && (kinds > 0 || e.Status != 0) {
		v.errorf("expects a crash together with a status or a body")
	}
	if e.Record == "" && (e.Values != nil || e.Like != "") || e.List == "" && (e.Entries != nil || len(e.Has)+len(e.Lacks) > 0 || e.Count != nil || e.AtMost != nil || e.Ordered != "") {
		v.errorf("states the content of a record or list without record or list")
	}
	if e.Like != "" && !v.saved[e.Like] {
		v.errorf("no earlier step saves %q", e.Like)
	}
	if e.Format != "" && (e.Format != "html" || e.Text == nil) {
		v.validateFormats([]string{e.Format})
	}
	for _, m := range variablePattern.FindAllStringSubmatch(e.Location, -1) {
		if m[1] != "" {
			v.bound[m[2]] = true
		}
	}
	v.validateVariables(e.Location)
	for _, entry := range e.Errors {
		v.validateVariables(entry.message)
	}
	if e.Text != nil {
		v.validateVariables(*e.Text)
	}
	for _, t := range []*yamlTree{e.Tree, e.Values, e.Entries} {
		if t != nil {
			v.validateTree(&t.node)
		}
	}
	if e.Entries != nil && e.Entries.kind != list && e.Entries.kind != text {
		v.errorf("entries is neither a list nor the name of one")
	}
	all := slices.Concat(e.Has, e.Lacks)
	for i := range all {
		v.validateTree(&all[i].node)
	}
}

// validateVariables records an error for each {{name}} in s that is neither bound by the
// case, nor a fixture, nor a placeholder.
func (v *validator) validateVariables(s string) {
	for _, m := range variablePattern.FindAllStringSubmatch(s, -1) {
		first, _, _ := strings.Cut(m[2], ".")
		if _, isFixture := v.suite.fixtures.values[first]; m[1] == "" && !isPlaceholder(first) && !v.bound[first] && !isFixture {
			v.errorf("%w", unboundError(m[2]))
		}
	}
}

// validateTree calls validateVariables for all names and texts of a tree.
func (v *validator) validateTree(n *node) {
	if n.kind == text {
		v.validateVariables(n.text)
	}
	for i := range n.members {
		v.validateVariables(n.members[i].name)
		v.validateTree(&n.members[i].value)
	}
}

// prerequisites returns the objects that have to be created before a case runs, in order
// of creation. It includes the prerequisites of those objects. The send field of each
// entry is the complete body: the maker's, with the fields that the case overrides.
func (s *Suite) prerequisites(c *Case) ([]prerequisite, error) {
	var all []prerequisite
	added := map[string]bool{}
	var add func(m prerequisite, depth int) error
	add = func(m prerequisite, depth int) error {
		maker, ok := s.makers[m.maker]
		if !ok || depth > maxDepth {
			return fmt.Errorf("maker %q does not exist, or needs itself", m.maker)
		}
		for _, need := range maker.Needs {
			if !added[need] {
				if err := add(prerequisite{maker: need, name: need}, depth+1); err != nil {
					return err
				}
			}
		}
		added[m.name] = true
		m.send.node = merge(&maker.Send.node, &m.send.node)
		all = append(all, m)
		return nil
	}
	for _, m := range c.Make {
		if err := add(m, 0); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// merge returns the fields of base overridden by the fields of changes. A field that is
// null in changes is removed.
func merge(base, changes *node) node {
	got := node{kind: record}
	for _, m := range base.members {
		if changed, ok := changes.member(m.name); ok {
			m.value = *changed
		}
		got.members = append(got.members, m)
	}
	for _, m := range changes.members {
		if !base.has(m.name) {
			got.members = append(got.members, m)
		}
	}
	got.members = slices.DeleteFunc(got.members, func(m member) bool {
		changed, ok := changes.member(m.name)
		return ok && changed.kind == null
	})
	return got
}
