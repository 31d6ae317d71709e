package contracttests

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed cases/*.yaml shapes/*.yaml makers.yaml differences.yaml
var suiteFiles embed.FS

// A Suite is the cases and what they are written with.
type Suite struct {
	cases   []Case
	shapes  map[string]*shape
	makers  map[string]maker
	clauses []clause
	// fixtures are those of the demo store: what any store may have, by name.
	fixtures Fixtures
}

// A difference is an entry of differences.yaml, which cases name by its number.
type difference struct {
	DialectDifference `yaml:",inline"`

	Clause     string `yaml:"clause"`
	Documented string `yaml:"documented"`
	Magento    string `yaml:"magento"`
}

// NewSuite returns the suite that comes with the package. It fails when one of its
// files is broken; the error names file, case and step.
func NewSuite() (*Suite, error) { return loadSuite(suiteFiles) }

// loadSuite reads a suite from the folders cases and shapes and the files beside
// them.
func loadSuite(fsys fs.FS) (*Suite, error) {
	s := &Suite{shapes: map[string]*shape{}}
	var err error
	if s.clauses, err = loadClauses(); err != nil {
		return nil, fmt.Errorf("clauses.json: %w", err)
	}
	var differences []difference
	for _, part := range []struct {
		pattern string
		parse   func(name string, data []byte) error
	}{
		{"makers.yaml", func(_ string, data []byte) error { return decodeYAML(data, &s.makers) }},
		{"differences.yaml", func(_ string, data []byte) error { return decodeYAML(data, &differences) }},
		{"shapes/*.yaml", func(_ string, data []byte) error { return parseShapes(data, s.shapes) }},
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
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return s, s.validate(differences)
}

// parseCases adds the cases of a file.
func (s *Suite) parseCases(file string, data []byte) error {
	var cases []Case
	if err := decodeYAML(data, &cases); err != nil {
		return err
	}
	// The expectations once more, as they stand: a report shows them.
	type sources struct{ Expect, Documented, Magento yaml.Node }
	var raw []struct{ Steps, Finally []sources }
	if err := yaml.Unmarshal(data, &raw); err != nil {
		return err
	}
	resource := strings.TrimSuffix(path.Base(file), ".yaml")
	for i := range cases {
		c := &cases[i]
		c.Resource = resource
		if len(c.Formats) == 0 {
			c.Formats = []string{"json"}
		}
		for j := range c.Steps {
			for e, n := range map[*Expectation]yaml.Node{
				c.Steps[j].Expect: raw[i].Steps[j].Expect, c.Steps[j].Documented: raw[i].Steps[j].Documented, c.Steps[j].Magento: raw[i].Steps[j].Magento,
			} {
				if e == nil {
					continue
				}
				source, err := yaml.Marshal(&n)
				if err != nil {
					return err
				}
				e.source = string(source)
			}
		}
	}
	s.cases = append(s.cases, cases...)
	return nil
}

// validate refuses cases that could not be run, or could not be told apart.
func (s *Suite) validate(differences []difference) error {
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
			v.fail("differences.yaml: number %d stands there twice, or lacks something, or names no clause", d.Number)
		}
		v.differences[d.Number] = d.DialectDifference
	}
	for name, shape := range s.shapes {
		for _, fields := range shape.views {
			for _, f := range fields {
				if f.of != "" && s.shapes[f.of] == nil {
					v.fail("shape %q: there is no shape %q", name, f.of)
				}
			}
		}
	}
	for name := range s.makers {
		if _, err := s.makings(&Case{Make: []making{{maker: name, name: name}}}); err != nil {
			v.fail("makers.yaml: %q: %v", name, err)
		}
	}
	shown := map[int]bool{}
	ids := map[string]bool{}
	for i := range s.cases {
		c := &s.cases[i]
		v.where = c.Resource + "/" + c.Name
		if c.Name == "" || ids[v.where] {
			v.fail("has no name, or one that stands there twice")
		}
		ids[v.where] = true
		v.check(c)
		for _, n := range c.Differences {
			shown[n] = true
		}
	}
	v.where = "differences.yaml"
	for _, d := range differences {
		if !shown[d.Number] {
			v.fail("no case shows number %d", d.Number)
		}
	}
	return errors.Join(v.errs...)
}

// A validator gathers what is wrong with cases.
type validator struct {
	suite       *Suite
	differences map[int]DialectDifference
	clauses     map[string]bool
	where       string
	dialect     Dialect         // of the case, or "" for both
	bound       map[string]bool // names bound so far in the case
	saved       map[string]bool
	errs        []error
}

func (v *validator) fail(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s: "+format, append([]any{v.where}, args...)...))
}

func (v *validator) check(c *Case) {
	if len(c.Clauses) == 0 || len(c.Steps) == 0 {
		v.fail("has no clauses or no steps")
	}
	for _, name := range c.Clauses {
		if !v.clauses[name] {
			v.fail("no clause is called %q", name)
		}
	}
	for _, n := range c.Differences {
		d, ok := v.differences[n]
		if !ok {
			v.fail("differences.yaml has no number %d", n)
		}
		c.dialectDifferences = append(c.dialectDifferences, d)
	}
	if c.Dialect != "" && c.Dialect != Documented && c.Dialect != Magento {
		v.fail("unknown dialect %q", c.Dialect)
	}
	v.dialect = c.Dialect
	v.formats(c.Formats)
	v.bound, v.saved = map[string]bool{"unique": true, "oauth": true}, map[string]bool{}
	all, err := v.suite.makings(c)
	if err != nil {
		v.fail("%v", err)
	}
	for _, m := range all {
		v.tree(&m.send.node)
		v.bound[m.name] = true
	}
	for i := range c.Steps {
		v.call(&c.Steps[i], fmt.Sprintf("step %d", i+1))
	}
	for i := range c.Finally {
		v.call(&c.Finally[i], fmt.Sprintf("at last, step %d", i+1))
	}
}

func (v *validator) formats(all []string) {
	for _, f := range all {
		if mediaType(f) == "" || f == "html" {
			v.fail("unknown format %q", f)
		}
	}
}

func (v *validator) call(c *Call, what string) {
	before := v.where
	v.where += ", " + what
	defer func() { v.where = before }()
	method, path, _ := strings.Cut(c.Call, " ")
	if !isToken(method) || !strings.HasPrefix(strings.TrimPrefix(path, "!"), "/") && path != "" {
		v.fail("%q is not METHOD /path", c.Call)
	}
	if !slices.Contains([]string{"", Admin, Customer1, Customer2, Guest}, c.As) {
		v.fail("unknown caller %q", c.As)
	}
	if c.Send != nil && c.Body != nil {
		v.fail("has both a body and something to send")
	}
	if c.SendAs != "" {
		v.formats([]string{c.SendAs})
	}
	v.formats(c.Formats)
	v.text(path)
	if c.Send != nil {
		v.tree(&c.Send.node)
	}
	if c.Body != nil {
		v.text(*c.Body)
	}
	for _, value := range c.Headers {
		v.text(value)
	}
	if c.expectation(Documented) == nil && c.expectation(Magento) == nil {
		v.fail("expects nothing")
	}
	for _, e := range []*Expectation{c.Expect, c.Documented, c.Magento} {
		if e != nil {
			v.expectation(e)
		}
	}
	for _, d := range []Dialect{Documented, Magento} {
		if e := c.expectation(d); e != nil && (v.dialect == "" || v.dialect == d) {
			v.shape(d, e.Record+e.List) // one of the two is ""
			if e.Crash && d != Magento {
				v.fail("expects a crash in %s", d)
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

// shape refuses a shape that is unknown, or has no fields in a dialect: every list
// that is empty would be one of it.
func (v *validator) shape(d Dialect, name string) {
	if name == "" {
		return
	}
	if s := v.suite.shapes[name]; s == nil || len(s.views[view{d, "json"}]) == 0 {
		v.fail("there is no shape %q in %s", name, d)
	}
}

func (v *validator) expectation(e *Expectation) {
	kinds := 0
	for _, has := range []bool{e.Record != "", e.List != "", len(e.Errors) > 0, e.Tree != nil, e.Text != nil} {
		if has {
			kinds++
		}
	}
	if kinds > 1 {
		v.fail("expects more than one of record, list, errors, tree and text")
	}
	if e.Crash && (kinds > 0 || e.Status != 0) {
		v.fail("expects a crash, which has any status from 500 on and any body, and more")
	}
	if e.Record == "" && (e.Values != nil || e.Like != "") || e.List == "" && (e.Entries != nil || len(e.Has)+len(e.Lacks) > 0 || e.Count != nil || e.AtMost != nil || e.Ordered != "") {
		v.fail("says what a record or list holds, and expects none")
	}
	if e.Like != "" && !v.saved[e.Like] {
		v.fail("no step before saves %q", e.Like)
	}
	if e.Format != "" {
		v.formats([]string{e.Format})
	}
	for _, m := range variable.FindAllStringSubmatch(e.Location, -1) {
		if m[1] != "" {
			v.bound[m[2]] = true
		}
	}
	v.text(e.Location)
	for _, entry := range e.Errors {
		v.text(entry.message)
	}
	if e.Text != nil {
		v.text(*e.Text)
	}
	for _, t := range []*tree{e.Tree, e.Values, e.Entries} {
		if t != nil {
			v.tree(&t.node)
		}
	}
	if e.Entries != nil && e.Entries.kind != list && e.Entries.kind != text {
		v.fail("entries is no list, nor the name of one")
	}
	all := slices.Concat(e.Has, e.Lacks)
	for i := range all {
		v.tree(&all[i].node)
	}
}

// text refuses a name that neither the case binds nor a fixture can have.
func (v *validator) text(s string) {
	for _, m := range variable.FindAllStringSubmatch(s, -1) {
		first, _, _ := strings.Cut(m[2], ".")
		if _, isFixture := v.suite.fixtures.values[first]; m[1] == "" && !isReserved(first) && !v.bound[first] && !isFixture {
			v.fail("nothing is called %q", m[2])
		}
	}
}

func (v *validator) tree(n *node) {
	if n.kind == text {
		v.text(n.text)
	}
	for i := range n.members {
		v.text(n.members[i].name)
		v.tree(&n.members[i].value)
	}
}

// makings returns what is to be made for a case, in order, with what those things
// need, and whole bodies.
func (s *Suite) makings(c *Case) ([]making, error) {
	var all []making
	has := map[string]bool{}
	var add func(m making, depth int) error
	add = func(m making, depth int) error {
		maker, ok := s.makers[m.maker]
		if !ok || depth > maxDepth {
			return fmt.Errorf("no maker is called %q, or it needs itself", m.maker)
		}
		for _, need := range maker.Needs {
			if !has[need] {
				if err := add(making{maker: need, name: need}, depth+1); err != nil {
					return err
				}
			}
		}
		has[m.name] = true
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

// merge returns base with the fields of changes, those that are null left out.
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
