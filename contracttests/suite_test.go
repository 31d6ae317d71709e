package contracttests

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestLoadSuiteErrors checks that loading a suite finds cases that cannot run or cannot
// fail.
func TestLoadSuiteErrors(t *testing.T) {
	const good = "- {name: a, clauses: ['Customers: GET'], steps: [{call: GET /customers/1, expect: {record: s}}]}\n"
	for _, test := range []struct{ name, file, text, says string }{
		{"nothing wrong", "cases/x.yaml", good, ""},
		{"an unknown key", "cases/x.yaml", strings.Replace(good, "name: a", "name: a, nam: b", 1), "nam"},
		{"no clause", "cases/x.yaml", strings.Replace(good, "'Customers: GET'", "", 1), "no clauses"},
		{"an unknown clause", "cases/x.yaml", strings.Replace(good, "Customers: GET", "Customers: HEAD", 1), "unknown clause"},
		{"a duplicate name", "cases/x.yaml", good + good, "that of another case"},
		{"an unknown shape", "cases/x.yaml", strings.Replace(good, "record: s", "record: t", 1), `unknown shape "t"`},
		{"a shape without fields in a dialect", "shapes/x.yaml", "s: {documented: [entity_id id]}\n", `unknown shape "s" in magento`},
		{"a GET that expects nothing", "cases/x.yaml", strings.Replace(good, ", expect: {record: s}", "", 1), "states no expectation"},
		{"two things expected", "cases/x.yaml", strings.Replace(good, "record: s", "record: s, list: s", 1), "more than one"},
		{"a crash with a status", "cases/x.yaml", strings.Replace(good, "expect: {record: s}", "magento: {crash: true, status: 500}", 1), "expects a crash"},
		{"a crash with a body", "cases/x.yaml", strings.Replace(good, "expect: {record: s}", "magento: {crash: true, record: s}", 1), "expects a crash"},
		{"a crash in the document's dialect", "cases/x.yaml", strings.Replace(good, "record: s", "crash: true", 1), "expects a crash in documented"},
		{"values without a record", "cases/x.yaml", strings.Replace(good, "record: s", "values: {a: b}", 1), "without record or list"},
		{"entries that are no list", "cases/x.yaml", strings.Replace(good, "record: s", "list: s, entries: {a: b}", 1), "neither a list"},
		{"a case in no format", "cases/x.yaml", strings.Replace(good, "steps", "formats: [html], steps", 1), "unknown format"},
		{"an unknown saved record", "cases/x.yaml", strings.Replace(good, "record: s", "record: s, like: before", 1), `saves "before"`},
		{"an unknown name", "cases/x.yaml", strings.Replace(good, "GET /customers/1", "'GET /customers/{{custmer}}'", 1), `unknown name "custmer"`},
		{"a name that is bound later", "cases/x.yaml", strings.Replace(good, "steps: [", "steps: [{call: 'GET /products/{{p}}', expect: {record: s}}, {call: GET /products, expect: {list: s}, bind: {p: 0.entity_id}}, ", 1), `unknown name "p"`},
		{"an unknown maker", "cases/x.yaml", strings.Replace(good, "steps", "make: [cart], steps", 1), `maker "cart" does not exist`},
		{"a maker that needs itself", "makers.yaml", "a: {needs: [b], call: POST /a}\nb: {needs: [a], call: POST /b}\n", "needs itself"},
		{"an unknown format", "cases/x.yaml", strings.Replace(good, "steps", "formats: [yaml], steps", 1), "unknown format"},
		{"an unknown caller", "cases/x.yaml", strings.Replace(good, "call: ", "as: root, call: ", 1), "unknown caller"},
		{"a call without a path", "cases/x.yaml", strings.Replace(good, "GET /customers/1", "GET customers", 1), "METHOD /path"},
		{"an error that is no pair", "cases/x.yaml", strings.Replace(good, "record: s", "errors: [404]", 1), "[code, message]"},
		{"an alias", "cases/x.yaml", strings.Replace(good, "record: s", "record: s, values: &v {a: *v}", 1), "aliases"},
		{"a difference without a case", "differences.yaml", "- {number: 1, says: x, clause: 'Customers: GET', section: customers 1, documented: a, magento: b}\n", "no case covers number 1"},
		{"a difference without a dialect", "differences.yaml", "- {number: 1, says: x, clause: 'Customers: GET', section: customers 1, documented: a}\n", "lacks a key"},
		{"a difference without a section", "differences.yaml", "- {number: 1, says: x, clause: 'Customers: GET', documented: a, magento: b}\n", "lacks a key"},
		{"an unknown difference", "cases/x.yaml", strings.Replace(good, "steps", "differences: [7], steps", 1), "no number 7"},
		{"a shape of an unknown shape", "shapes/y.yaml", "y: {documented: [a list z]}\n", `unknown shape "z"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := fstest.MapFS{
				"cases/x.yaml":     {Data: []byte(good)},
				"shapes/x.yaml":    {Data: []byte("s: {documented: [entity_id id], magento: [entity_id id]}\n")},
				"makers.yaml":      {},
				"differences.yaml": {},
			}
			files[test.file] = &fstest.MapFile{Data: []byte(test.text)}
			_, err := loadSuite(files)
			switch {
			case test.says == "" && err != nil:
				t.Error(err)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("got %v, want %s", err, test.says)
			}
		})
	}
}

// TestEveryClauseHasACase checks that the cases cover every clause that is not marked as
// untestable.
func TestEveryClauseHasACase(t *testing.T) {
	s := loaded(t, NewSuite)
	cases := map[string]int{}
	for i := range s.cases {
		for _, name := range s.cases[i].Clauses {
			cases[name]++
		}
	}
	for _, c := range s.clauses {
		if c.Untestable == "" && cases[c.Name] == 0 {
			t.Errorf("no case covers %s: %s", c.Name, c.Says)
		}
	}
}

// TestExpectationSources checks that reports show the text of an expectation, and not the name
// of an anchor in a file of cases.
func TestExpectationSources(t *testing.T) {
	s := loaded(t, NewSuite)
	for i := range s.cases {
		for _, step := range s.cases[i].Steps {
			for _, e := range []*Expectation{step.Expect, step.Documented, step.Magento} {
				if e != nil && strings.ContainsAny(e.source()[:1], "*&") {
					t.Errorf("%s, %s: %s", s.cases[i].Name, step.Call, e.source())
				}
			}
		}
	}
}

// FuzzParseFixtures checks that every parsed fixture can be looked up.
func FuzzParseFixtures(f *testing.F) {
	f.Add(demoFixtures)
	f.Add([]byte("website: 1\norders: [{id: 5}]"))
	f.Add([]byte("website: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fixtures, err := ParseFixtures(data)
		if err != nil {
			return
		}
		for name := range fixtures.values {
			if _, err := fixtures.values.lookup(name); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzShapes checks that parsing any shapes and checking any body with them does not
// panic.
func FuzzShapes(f *testing.F) {
	f.Add([]byte("thing: {keyed: true, documented: {json: [entity_id id, name text~]}}"), `{"1":{"entity_id":"1","name":null}}`)
	f.Fuzz(func(t *testing.T, data []byte, body string) {
		shapes := map[string]*shape{}
		if parseShapes("f", data, shapes) != nil {
			return
		}
		for _, format := range []string{"json", "xml", "text"} {
			for name, s := range shapes {
				for _, fields := range s.views {
					for _, field := range fields {
						if field.shape != "" && shapes[field.shape] == nil {
							return
						}
					}
				}
				c := checker{shapes: shapes, view: view{Documented, format}}
				c.check(&Expectation{List: name}, nil, &reply{status: 200, body: body})
				c.check(&Expectation{Record: name}, nil, &reply{status: 200, body: body})
			}
		}
	})
}
