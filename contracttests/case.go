package contracttests

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Case states what the contract asks of one thing, makes what it needs for that
// and runs on any store. cases/README.md describes the keys.
type Case struct {
	Resource    string   `yaml:"-"` // name of the file it stands in, without ending
	Name        string   `yaml:"name"`
	Clauses     []string `yaml:"clauses"`
	Dialect     Dialect  `yaml:"dialect"`
	Differences []int    `yaml:"differences"`
	Formats     []string `yaml:"formats"`
	Make        []making `yaml:"make"`
	Exclusive   []string `yaml:"exclusive"`
	Writes      string   `yaml:"writes"`
	Steps       []Call   `yaml:"steps"`
	Finally     []Call   `yaml:"finally"`

	dialectDifferences []DialectDifference // those that Differences names
}

// A Call is one request of a case and what is expected of the answer.
type Call struct {
	As          string            `yaml:"as"`
	Call        string            `yaml:"call"`
	Send        *tree             `yaml:"send"`
	SendAs      string            `yaml:"send_as"`
	Body        *string           `yaml:"body"`
	ContentType string            `yaml:"content_type"`
	Accept      string            `yaml:"accept"`
	Headers     map[string]string `yaml:"headers"`
	Formats     []string          `yaml:"formats"`
	Expect      *Expectation      `yaml:"expect"`
	Documented  *Expectation      `yaml:"documented"`
	Magento     *Expectation      `yaml:"magento"`
	Save        string            `yaml:"save"`
	Bind        map[string]string `yaml:"bind"`
	OrSkip      string            `yaml:"or_skip"`
}

// An Expectation is what the contract says of one answer.
type Expectation struct {
	Status   int      `yaml:"status"`
	Crash    bool     `yaml:"crash"`
	Format   string   `yaml:"format"`
	Location string   `yaml:"location"`
	Record   string   `yaml:"record"`
	List     string   `yaml:"list"`
	Errors   []entry  `yaml:"errors"`
	Tree     *tree    `yaml:"tree"`
	Text     *string  `yaml:"text"`
	Only     []string `yaml:"only"`
	Values   *tree    `yaml:"values"`
	Like     string   `yaml:"like"`
	Except   []string `yaml:"except"`
	Entries  *tree    `yaml:"entries"`
	Has      []tree   `yaml:"has"`
	Lacks    []tree   `yaml:"lacks"`
	Count    *int     `yaml:"count"`
	AtMost   *int     `yaml:"at_most"`
	Ordered  string   `yaml:"ordered"`

	source string // the expectation as its file has it
}

// An entry is one of an error envelope: [code, message].
type entry struct {
	code    int
	message string
}

func (e *entry) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		return fmt.Errorf("line %d: an error is [code, message]", n.Line)
	}
	if err := n.Content[0].Decode(&e.code); err != nil {
		return err
	}
	return n.Content[1].Decode(&e.message)
}

// A making is one thing that a case needs: what a maker makes, under the name of
// the maker or one of its own, with other values than the maker's.
type making struct {
	maker, name string
	send        tree // fields that replace those of the maker
}

func (m *making) UnmarshalYAML(n *yaml.Node) error {
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
				return fmt.Errorf("line %d: a thing to make has the keys MAKER and send", n.Line)
			}
			m.maker, m.name = n.Content[i].Value, n.Content[i+1].Value
		}
	}
	if m.maker == "" || m.name == "" {
		return fmt.Errorf("line %d: a thing to make is MAKER, or {MAKER: name, send: {…}}", n.Line)
	}
	if fields.Kind == 0 {
		return nil
	}
	return m.send.UnmarshalYAML(&fields)
}

// A maker is how cases make what they need: one call of the Admin.
type maker struct {
	Needs []string `yaml:"needs"` // makers that go before
	Call  string   `yaml:"call"`
	Send  tree     `yaml:"send"`
}

// A tree is a value as a file of cases has it: what to send, or what to expect.
type tree struct{ node }

func (t *tree) UnmarshalYAML(n *yaml.Node) (err error) {
	t.node, err = nodeOfYAML(n, 0)
	return err
}

// nodeOfYAML returns n as a tree. Dates are texts: no format of the contract has
// any.
func nodeOfYAML(n *yaml.Node, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, errDepth
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return nodeOfYAML(n.Content[0], depth)
	case yaml.AliasNode:
		return node{}, fmt.Errorf("line %d: aliases are not supported", n.Line)
	case yaml.MappingNode:
		got := node{kind: record}
		for i := 0; i+1 < len(n.Content); i += 2 {
			value, err := nodeOfYAML(n.Content[i+1], depth+1)
			if err != nil {
				return node{}, err
			}
			if got.has(n.Content[i].Value) {
				return node{}, fmt.Errorf("line %d: %q stands there twice", n.Content[i].Line, n.Content[i].Value)
			}
			got.members = append(got.members, member{n.Content[i].Value, value})
		}
		return got, nil
	case yaml.SequenceNode:
		got := node{kind: list}
		for _, entry := range n.Content {
			value, err := nodeOfYAML(entry, depth+1)
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

// expectation returns what is expected of the call in d; nil when the call is not
// made in d.
func (c *Call) expectation(d Dialect) *Expectation {
	own := map[Dialect]*Expectation{Documented: c.Documented, Magento: c.Magento}[d]
	switch {
	case own != nil:
		return own
	case c.Expect != nil:
		return c.Expect
	case c.Documented == nil && c.Magento == nil && c.isWrite():
		return &Expectation{source: "status: 200, no body\n"}
	}
	return nil
}

func (c *Call) isWrite() bool { return !strings.HasPrefix(c.Call, "GET ") }

// isWrite reports whether the case sends anything but GET.
func (c *Case) isWrite() bool {
	return len(c.Make) > 0 || c.Writes != "" || slices.ContainsFunc(c.Steps, func(s Call) bool { return s.isWrite() })
}

// roles returns who calls in the case, each once.
func (c *Case) roles() []string {
	var roles []string
	for i := range c.Steps {
		if as := c.Steps[i].as(); !slices.Contains(roles, as) {
			roles = append(roles, as)
		}
	}
	return roles
}

// as returns who makes the call.
func (c *Call) as() string {
	if c.As == "" {
		return Admin
	}
	return c.As
}

// variable matches a name in braces; the second form binds it.
var variable = regexp.MustCompile(`\{\{(=?)([a-z0-9_.]+)\}\}`)
