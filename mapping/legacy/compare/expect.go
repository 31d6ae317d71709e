package compare

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/portico-commerce/portico/config/strictyaml"
	"github.com/portico-commerce/portico/mapping/contract"
)

// An Expectation is a difference that someone accepts, for a reason.
type Expectation struct {
	// Call or Resource is the name of the call or of the resource with the difference. One is "". The
	// resource all stands for every call.
	Call, Resource string
	// Field is the field that may differ, including everything inside it, in the form of
	// Difference.Field.
	Field  string `need:"true"`
	Reason string `need:"true"`
	// Record has the keys of a record with slashes between them, or "" for all: 5 is the
	// product 5 in lists and alone with all its parts, 5/12 its image 12.
	Record string
	// Legacy and Candidate are the accepted values, as Difference has them or without the
	// quotes of a text; nil accepts any.
	Legacy, Candidate *string

	noLegacy, noCandidate bool // the system must have no value
}

// IsGeneral reports whether x accepts any values in any record.
func (x *Expectation) IsGeneral() bool {
	return x.Record == "" && x.Legacy == nil && x.Candidate == nil && !x.noLegacy && !x.noCandidate
}

// acceptsValues reports whether x accepts the values of a difference.
func (x *Expectation) acceptsValues(d, masked *Difference) bool {
	return (isExpected(x.Legacy, x.noLegacy, d.Legacy) || isExpected(x.Legacy, x.noLegacy, masked.Legacy)) &&
		(isExpected(x.Candidate, x.noCandidate, d.Candidate) || isExpected(x.Candidate, x.noCandidate, masked.Candidate))
}

// isExpected reports whether a difference may have value: any if expected is nil, unless none
// is set.
func isExpected(expected *string, none bool, value *string) bool {
	switch {
	case none:
		return value == nil
	case expected == nil:
		return true
	case value == nil:
		return false
	case *expected == *value:
		return true
	}
	text, err := strconv.Unquote(*value)
	return err == nil && text == *expected
}

// Expectations are accepted differences. They are immutable.
type Expectations struct {
	all   []Expectation
	scope map[string][]int // indexes of all, by call and by resource
}

// All returns the expectations in the order of their file.
func (e *Expectations) All() []Expectation { return e.all }

// With returns the expectations of e, and after them those of more.
func (e *Expectations) With(more *Expectations) *Expectations {
	joined := &Expectations{scope: map[string][]int{}}
	for _, from := range []*Expectations{e, more} {
		before := len(joined.all)
		joined.all = append(joined.all, from.all...)
		for scope, indexes := range from.scope {
			for _, i := range indexes {
				joined.scope[scope] = append(joined.scope[scope], before+i)
			}
		}
	}
	return joined
}

// Find returns the index of the first expectation that accepts a difference, and whether
// there is one. record has the keys of the record that the request addresses, with slashes
// between them; it is "" for a list of the store.
func (e *Expectations) Find(call, resource, record string, d *Difference) (index int, ok bool) {
	path := strings.Trim(record+"/"+d.Record, "/")
	masked := d.Masked()
	for _, scope := range []string{"call " + call, "resource " + resource, allResources} {
		for _, i := range e.scope[scope] {
			x := &e.all[i]
			inRecord := x.Record == "" || path == x.Record || strings.HasPrefix(path, x.Record+"/")
			if inRecord && within(d.Field, x.Field) && x.acceptsValues(d, &masked) {
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

// ParseExpectations reads expectations from a YAML file, whose name is for errors: a list of
// entries with the keys call or resource, field, reason and, optionally, record, legacy and
// candidate, where null stands for no value. The error joins all faults, with their lines. The
// resources must exist in table, and the calls be those with one of the methods.
func ParseExpectations(file string, data []byte, table *contract.Table, methods ...contract.Method) (*Expectations, error) {
	if len(data) > maxExpectationsFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", file, maxExpectationsFile)
	}
	e := &Expectations{scope: map[string][]int{}}
	p := expectationParser{Decoder: strictyaml.Decoder{File: file, MayBeEmpty: true}, known: scopes(table, methods)}
	p.Check = p.check
	p.Decode(data, &e.all)
	if len(e.all) > maxExpectations {
		p.FaultAt(0, "must be a list of at most %d expectations", maxExpectations)
	}
	for i, x := range e.all {
		for _, scope := range []string{"call " + x.Call, "resource " + x.Resource} {
			if p.known[scope] {
				e.scope[scope] = append(e.scope[scope], i)
			}
		}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return e, nil
}

// allResources is the scope of the expectations for every call.
const allResources = "resource all"

// scopes returns the names of all calls with one of the methods, and of all resources.
func scopes(table *contract.Table, methods []contract.Method) map[string]bool {
	known := map[string]bool{"call other": true, allResources: true}
	for _, r := range table.Routes() {
		known["resource "+r.Resource] = true
		for _, m := range methods {
			if call := r.Calls[m]; call != "" {
				known["call "+call] = true
			}
		}
	}
	return known
}

// An expectationParser reads expectations, and collects all their faults.
type expectationParser struct {
	strictyaml.Decoder
	known map[string]bool // see scopes
}

// check records the faults of a decoded value, and completes expectations.
func (p *expectationParser) check(at strictyaml.Place, v any) {
	switch v := v.(type) {
	case *string:
		isValue := at.Name() == "legacy" || at.Name() == "candidate" // which may be an empty text
		p.Require(isValue || strings.TrimSpace(*v) != "", at, "must not be empty")
	case *Expectation:
		p.checkExpectation(at, v)
	}
}

// checkExpectation completes an expectation, and checks it as a whole.
func (p *expectationParser) checkExpectation(at strictyaml.Place, x *Expectation) {
	isNull := func(name string) bool { in := at.In(name); return in.Node != nil && !in.IsSet() }
	x.noLegacy, x.noCandidate = isNull("legacy"), isNull("candidate")
	for _, name := range []string{"call", "resource", "record"} {
		p.Require(!isNull(name), at.In(name), "must not be empty")
	}
	p.Require(at.Count("call", "resource") == 1, at, "must have either a call or a resource")
	p.Require(x.Call == "" || p.known["call "+x.Call], at.In("call"), "names no call that is compared: see \"portico routes\"")
	p.Require(x.Resource == "" || p.known["resource "+x.Resource], at.In("resource"), "names no resource")
}
