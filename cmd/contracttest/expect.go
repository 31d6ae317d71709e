package main

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
)

// An expectedList is the content of a file for --expect, in the form of "portico compare --expect",
// where legacy is the value that the contract wants, and candidate the one of the implementation.
type expectedList struct {
	table *contract.Table
	all   *compare.Expectations
	found []atomic.Bool // by the indexes of all
}

// parseExpected parses a file for --expect.
func parseExpected(name string, data []byte) (*expectedList, error) {
	l := &expectedList{table: contract.NewTable(contract.Routes(contract.StandardFields()))}
	var err error
	if l.all, err = compare.ParseExpectations(name, data, l.table, contract.Methods()...); err != nil {
		return nil, fmt.Errorf("--expect: %w", err)
	}
	l.found = make([]atomic.Bool, len(l.all.All()))
	return l, nil
}

// accept implements [contracttests.Target.Accept].
func (l *expectedList) accept(method, path string, d contracttests.Difference) string {
	path, _, _ = strings.Cut(path, "?")
	address, _ := l.table.Address(method, contract.Base+path)
	resource, record := "", ""
	if address.Route != nil {
		resource = address.Route.Resource
		record = strings.TrimRight(strings.Join(address.Params[:], "/"), "/")
	}
	i, ok := l.all.Find(address.Name(), resource, record, toCompared(d))
	if !ok {
		return ""
	}
	l.found[i].Store(true)
	return l.all.All()[i].Reason
}

// writeUnused writes the entries that accepted nothing: they may be misspelled or out of date.
func (l *expectedList) writeUnused(w io.Writer) {
	for i, x := range l.all.All() {
		if !l.found[i].Load() {
			fmt.Fprintf(w, "expected and never found: %s %s: %s\n", x.Call+x.Resource, x.Field, x.Reason)
		}
	}
}

// toCompared returns a difference in the words of package compare.
func toCompared(d contracttests.Difference) *compare.Difference {
	got := &compare.Difference{Field: strings.ToLower(d.Where), Legacy: valueOf(d.Want), Candidate: valueOf(d.Got)}
	if field, ok := map[string]string{"status": "status-code", "root element": "root", "rendering of the body": "rendering"}[d.Where]; ok {
		got.Field = field
	}
	if !strings.HasPrefix(d.Where, "$") {
		return got
	}
	var names []string
	for i, part := range strings.Split(d.Where, ".")[1:] {
		part, _, _ = strings.Cut(part, "[")
		if i == 0 && part != "" && strings.Trim(part, "0123456789") == "" {
			got.Record = part
			continue
		}
		names = append(names, part)
	}
	for _, prefix := range []string{"field ", "no field "} { // of a record
		if name, ok := strings.CutPrefix(d.Want, prefix); ok {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		got.Field = "records"
	case names[0] == "messages":
		got.Field = "messages"
	default:
		got.Field = strings.Join(names, ".")
	}
	return got
}

// valueOf returns a value as its difference describes it, without its kind; nil for none.
func valueOf(described string) *string {
	described = strings.TrimPrefix(described, "as before: ")
	if described == "no such field" || described == "no such header" {
		return nil
	}
	for _, kind := range []string{"text ", "number ", "literal "} {
		described = strings.TrimPrefix(described, kind)
	}
	return &described
}
