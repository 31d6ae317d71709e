package contracttests

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Case is one test: a requirement of the contract on one behavior, and the steps that
// check it. It creates the objects that it needs, so it runs on any store.
// cases/README.md describes the fields.
type Case struct {
	Resource    string `yaml:"-"` // name of the case's file without extension
	Name        string
	Clauses     []string
	Dialect     Dialect
	Differences []int
	Formats     []string
	Numbers     bool
	Make        []prerequisite
	Exclusive   []string
	Writes      string
	Steps       []Call
	Finally     []Call

	dialectDifferences []DialectDifference // the entries with the numbers in Differences
	visit              func(*visit) error  // in place of Steps; nil in files
	visitReads         bool                // visit sends only GET requests
}

// A Call is one step of a case: a request, and the reply that is expected in each
// dialect. cases/README.md describes the fields.
type Call struct {
	As          string
	Call        string
	Send        *yamlTree
	SendAs      string `yaml:"send_as"`
	Body        *string
	ContentType string `yaml:"content_type"`
	Accept      string
	Headers     map[string]string
	Formats     []string
	Expect      *Expectation
	Documented  *Expectation
	Magento     *Expectation
	OpenMage    *Expectation
	Save        string
	Bind        map[string]string
	OrSkip      string `yaml:"or_skip"`
}

// An Expectation describes the reply that the contract requires. cases/README.md
// describes the fields.
type Expectation struct {
	Status   int
	Crash    bool
	Format   string
	Location string
	Record   string
	List     string
	Errors   []errorEntry
	Tree     *yamlTree
	Text     *string
	Only     []string
	Values   *yamlTree
	Like     string
	Except   []string
	Entries  *yamlTree
	Has      []yamlTree
	Lacks    []yamlTree
	Count    *int
	AtMost   *int `yaml:"at_most"`
	Ordered  string

	source func() string // returns the YAML text of the expectation, for reports
}

// An errorEntry is one entry of an error envelope. In YAML it is written [code, message].
type errorEntry struct {
	code    int
	message string
}

// UnmarshalYAML decodes [code, message].
func (e *errorEntry) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		return errors.New("must be [code, message]")
	}
	if err := n.Content[0].Decode(&e.code); err != nil {
		return err
	}
	return n.Content[1].Decode(&e.message)
}

// A prerequisite is an object that is created before a case runs. In YAML it is the name
// of a maker, or {MAKER: name, send: {…}}.
type prerequisite struct {
	maker string
	name  string   // variable that is bound to the object's id
	send  yamlTree // fields that override the maker's
}

// UnmarshalYAML decodes the name of a maker, or {MAKER: name, send: {…}}.
func (m *prerequisite) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		m.maker, m.name = n.Value, n.Value
		return nil
	}
	var fields yaml.Node
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "send" {
				fields = *n.Content[i+1]
				continue
			}
			if m.maker != "" {
				return errors.New("must have only the keys MAKER and send")
			}
			m.maker, m.name = n.Content[i].Value, n.Content[i+1].Value
		}
	}
	if m.maker == "" || m.name == "" {
		return errors.New("must be MAKER or {MAKER: name, send: {…}}")
	}
	if fields.Kind == 0 {
		return nil
	}
	return m.send.UnmarshalYAML(&fields)
}

// A maker describes how cases create a kind of object, such as a customer: by one call as
// the Admin.
type maker struct {
	Needs []string // makers that run first
	Call  string
	Send  yamlTree
}

// A yamlTree is a value of a YAML file: a body to send, or values to expect.
type yamlTree struct{ node }

// UnmarshalYAML decodes any YAML value.
func (t *yamlTree) UnmarshalYAML(n *yaml.Node) (err error) {
	t.node, err = nodeFromYAML(n, 0)
	return err
}

// nodeFromYAML converts a YAML value to a tree. Dates become texts, because no format of
// the contract has dates. It returns an error for aliases, for duplicate keys, and for
// values nested deeper than maxDepth.
func nodeFromYAML(n *yaml.Node, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, errDepth
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return nodeFromYAML(n.Content[0], depth)
	case yaml.AliasNode:
		return node{}, fmt.Errorf("line %d: aliases are not supported", n.Line)
	case yaml.MappingNode:
		got := node{kind: record}
		for i := 0; i+1 < len(n.Content); i += 2 {
			value, err := nodeFromYAML(n.Content[i+1], depth+1)
			if err != nil {
				return node{}, err
			}
			if got.has(n.Content[i].Value) {
				return node{}, fmt.Errorf("line %d: duplicate key %q", n.Content[i].Line, n.Content[i].Value)
			}
			got.members = append(got.members, member{n.Content[i].Value, value})
		}
		return got, nil
	case yaml.SequenceNode:
		got := node{kind: list}
		for _, entry := range n.Content {
			value, err := nodeFromYAML(entry, depth+1)
			if err != nil {
				return node{}, err
			}
			got.members = append(got.members, member{"", value})
		}
		return got, nil
	}
	switch n.ShortTag() {
	case "!!null":
		return node{kind: null}, nil
	case "!!bool":
		return node{kind: literal, text: n.Value}, nil
	case "!!int", "!!float":
		return node{kind: number, text: n.Value}, nil
	default:
		return node{kind: text, text: n.Value}, nil
	}
}

// expectation returns the reply that is expected in dialect d, or nil if the step is not
// run in d. A write that states no expectation expects 200 with an empty body.
func (c *Call) expectation(d Dialect) *Expectation {
	own := map[Dialect]*Expectation{Documented: c.Documented, Magento: c.Magento, OpenMage: cmp.Or(c.OpenMage, c.Magento)}[d]
	switch {
	case own != nil:
		return own
	case c.Expect != nil:
		return c.Expect
	case c.Documented == nil && c.Magento == nil && c.OpenMage == nil && c.isWrite():
		return &Expectation{source: func() string { return "status: 200, no body\n" }}
	}
	return nil
}

// isWrite reports whether the step sends any method but GET.
func (c *Call) isWrite() bool { return !strings.HasPrefix(c.Call, "GET ") }

// isWrite reports whether the case sends any method but GET.
func (c *Case) isWrite() bool {
	return c.visit != nil && !c.visitReads || len(c.Make) > 0 || c.Writes != "" || slices.ContainsFunc(c.Steps, func(s Call) bool { return s.isWrite() })
}

// callers returns the callers of the case's steps, each once, in order of appearance.
func (c *Case) callers() []string {
	var roles []string
	if c.visit != nil {
		roles = append(roles, Guest)
	}
	for i := range c.Steps {
		if as := c.Steps[i].caller(); !slices.Contains(roles, as) {
			roles = append(roles, as)
		}
	}
	return roles
}

// caller returns the caller of the step: As, or Admin if As is empty.
func (c *Call) caller() string {
	if c.As == "" {
		return Admin
	}
	return c.As
}

// variablePattern matches {{name}}, which is replaced by the name's value, and {{=name}},
// which binds the name to a part of the reply.
var variablePattern = regexp.MustCompile(`\{\{(=?)([a-z0-9_.]+)\}\}`)

// Cases returns one result for each case and format in the order of the files, as if
// nothing had been run: without status, calls or failure. It returns the cases that apply
// to dialect d, or all cases if d is empty.
func (s *Suite) Cases(d Dialect) []Result {
	var all []Result
	for i := range s.cases {
		c := &s.cases[i]
		if d != "" && !d.runs(c.Dialect) {
			continue
		}
		for _, format := range c.Formats {
			all = append(all, *job{c: c, format: format}.newResult())
		}
	}
	return all
}

// CaseCalls are the requests of one case.
type CaseCalls struct {
	Resource, Name string
	// Paths are the paths of the requests below /api/rest, without the query, with
	// variables such as {{customer}} in place of ids. Requests that create the
	// prerequisites of the case come first.
	Paths []string
}

// CaseCalls returns the requests of every case in the order of the files.
func (s *Suite) CaseCalls() []CaseCalls {
	all := make([]CaseCalls, len(s.cases))
	for i := range s.cases {
		c := &s.cases[i]
		all[i] = CaseCalls{Resource: c.Resource, Name: c.Name}
		for _, call := range s.allCalls(c) {
			_, target, _ := strings.Cut(call.Call, " ")
			path, _, _ := strings.Cut(target, "?")
			all[i].Paths = append(all[i].Paths, path)
		}
	}
	return all
}

// allCalls returns the steps of a case, preceded by the requests that create its
// prerequisites.
func (s *Suite) allCalls(c *Case) []*Call {
	var all []*Call
	makings, _ := s.prerequisites(c)
	for _, m := range makings {
		all = append(all, &Call{Call: s.makers[m.maker].Call, Send: &m.send})
	}
	for i := range c.Steps {
		all = append(all, &c.Steps[i])
	}
	return all
}
