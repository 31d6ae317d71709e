package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/mapping/contract"
)

// An Expectation is a difference that someone accepts, for a reason.
type Expectation struct {
	// Call or Resource says where: the name of a call, or that of a resource. One is "".
	Call, Resource string
	// Field is the field that may differ, including everything inside it, in the form of
	// Difference.Field.
	Field  string
	Reason string
	// Record has the keys of a record with slashes between them, or "" for all: 5 is the
	// product 5 in lists and alone with all its parts, 5/12 its image 12.
	Record string
	// Legacy and Candidate are the accepted values, as Difference has them or without the
	// quotes of a text; nil accepts any.
	Legacy, Candidate *ExpectedValue
}

// IsGeneral reports whether x accepts any values in any record.
func (x *Expectation) IsGeneral() bool {
	return x.Record == "" && x.Legacy == nil && x.Candidate == nil
}

// An ExpectedValue is a value of an expectation. Text is nil if the system must have none.
type ExpectedValue struct{ Text *string }

// matches reports whether a difference may have value. Without an expectation it may have
// any.
func (e *ExpectedValue) matches(value *string) bool {
	switch {
	case e == nil:
		return true
	case e.Text == nil || value == nil:
		return e.Text == nil && value == nil
	case *e.Text == *value:
		return true
	}
	text, err := strconv.Unquote(*value)
	return err == nil && text == *e.Text
}

// Expectations are accepted differences. They are immutable.
type Expectations struct {
	all   []Expectation
	scope map[string][]int // indexes of all, by call and by resource
}

// All returns the expectations in the order of their file.
func (e *Expectations) All() []Expectation { return e.all }

// Find returns the index of the first expectation that accepts a difference, and whether
// there is one. record has the keys of the record that the request addresses, with slashes
// between them; it is "" for a list of the store.
func (e *Expectations) Find(call, resource, record string, d *Difference) (index int, ok bool) {
	path := strings.Trim(record+"/"+d.Record, "/")
	masked := d.Masked()
	for _, scope := range []string{"call " + call, "resource " + resource} {
		for _, i := range e.scope[scope] {
			x := &e.all[i]
			inRecord := x.Record == "" || path == x.Record || strings.HasPrefix(path, x.Record+"/")
			if inRecord && within(d.Field, x.Field) && (x.Legacy.matches(d.Legacy) || x.Legacy.matches(masked.Legacy)) &&
				(x.Candidate.matches(d.Candidate) || x.Candidate.matches(masked.Candidate)) {
				return i, true
			}
		}
	}
	return 0, false
}

const (
	maxExpectationsFile = 1 << 20 // bytes
	maxExpectations     = 10_000
)

// ParseExpectations reads expectations from YAML: a list of entries with the keys call or
// resource, field, reason and, optionally, record, legacy and candidate. The error joins all
// faults, with their lines. The calls and resources must be those of table.
func ParseExpectations(data []byte, table *contract.Table) (*Expectations, error) {
	if len(data) > maxExpectationsFile {
		return nil, fmt.Errorf("larger than %d bytes", maxExpectationsFile)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root, more yaml.Node
	if err := decoder.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New("is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: "))
	}
	e := &Expectations{scope: map[string][]int{}}
	if len(root.Content) == 0 {
		return e, nil
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be a single YAML document")
	}
	list := root.Content[0]
	if list.Kind != yaml.SequenceNode || len(list.Content) > maxExpectations {
		return nil, fmt.Errorf("line %d: must be a list of at most %d expectations", list.Line, maxExpectations)
	}
	known := scopes(table)
	var faults []error
	for _, node := range list.Content {
		p := expectationParser{node: node, known: known}
		x := p.parse()
		faults = append(faults, p.faults...)
		for _, scope := range []string{"call " + x.Call, "resource " + x.Resource} {
			if known[scope] {
				e.scope[scope] = append(e.scope[scope], len(e.all))
			}
		}
		e.all = append(e.all, x)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return e, nil
}

// scopes returns the names of all calls that read, and of all resources.
func scopes(table *contract.Table) map[string]bool {
	known := map[string]bool{"call other": true}
	for _, r := range table.Routes() {
		known["resource "+r.Resource] = true
		if call := r.Calls[contract.GET]; call != "" {
			known["call "+call] = true
		}
	}
	return known
}

// An expectationParser reads one expectation, and collects all its faults.
type expectationParser struct {
	node   *yaml.Node
	known  map[string]bool
	faults []error
}

func (p *expectationParser) fault(line int, format string, arguments ...any) {
	p.faults = append(p.faults, fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, arguments...)))
}

func (p *expectationParser) parse() (x Expectation) {
	if p.node.Kind != yaml.MappingNode || isSpecial(p.node) {
		p.fault(p.node.Line, "an expectation must be a mapping with the keys call or resource, field and reason")
		return x
	}
	texts := map[string]*string{"call": &x.Call, "resource": &x.Resource, "field": &x.Field, "reason": &x.Reason, "record": &x.Record}
	values := map[string]**ExpectedValue{"legacy": &x.Legacy, "candidate": &x.Candidate}
	seen := map[string]bool{}
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		key, value := p.node.Content[i], p.node.Content[i+1]
		text, isText := texts[key.Value]
		expected, isValue := values[key.Value]
		empty := value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null"
		switch {
		case seen[key.Value]:
			p.fault(key.Line, "%s is repeated", key.Value)
		case !isText && !isValue:
			p.fault(key.Line, "unknown key %q: an expectation has call or resource, field, reason, record, legacy and candidate", key.Value)
		case value.Kind != yaml.ScalarNode || isSpecial(value):
			p.fault(value.Line, "%s must be a plain value", key.Value)
		case isText && (empty || strings.TrimSpace(value.Value) == ""):
			p.fault(value.Line, "%s must not be empty", key.Value)
		case isText:
			*text = value.Value
		case empty:
			*expected = &ExpectedValue{}
		default:
			*expected = &ExpectedValue{Text: &value.Value}
		}
		seen[key.Value] = true
	}
	p.check(&x, seen)
	return x
}

// check adds the faults of x as a whole. seen has its keys.
func (p *expectationParser) check(x *Expectation, seen map[string]bool) {
	if seen["call"] == seen["resource"] {
		p.fault(p.node.Line, "an expectation needs either a call or a resource")
	}
	for _, key := range []string{"field", "reason"} {
		if !seen[key] {
			p.fault(p.node.Line, "an expectation needs a %s", key)
		}
	}
	if x.Call != "" && !p.known["call "+x.Call] {
		p.fault(p.node.Line, "no call that reads is called %q: see \"portico routes\"", x.Call)
	}
	if x.Resource != "" && !p.known["resource "+x.Resource] {
		p.fault(p.node.Line, "no resource is called %q", x.Resource)
	}
}

// isSpecial reports whether a node uses features of YAML that a list of values does not
// need, such as aliases, which can expand exponentially.
func isSpecial(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0
}
