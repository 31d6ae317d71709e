package mapping_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

func TestHandlersAndCalls(t *testing.T) {
	names := map[contract.Method]*regexp.Regexp{}
	for method, verbs := range map[contract.Method]string{contract.GET: "get|list", contract.POST: "create", contract.PUT: "update", contract.DELETE: "delete"} {
		names[method] = regexp.MustCompile("^(" + verbs + ")([A-Z][a-z]*)+$")
	}
	type meaning struct {
		method contract.Method
		shape  contract.Shape
		help   string
	}
	meanings := map[string]meaning{}
	for _, r := range contract.Routes(contract.StandardFields()) {
		if r.Fields == nil {
			t.Errorf("%s has no fields", r.Path)
		}
		what, _, _ := strings.Cut(r.Help, " as ")        // a store view does not change the operation
		what, _, _ = strings.Cut(what, " of a category") // nor does a category
		for _, m := range contract.Methods() {
			call := r.Calls[m]
			if call == "" {
				continue
			}
			if !names[m].MatchString(call) {
				t.Errorf("%s %s is called %s", m, r.Path, call)
			}
			this := meaning{m, r.Shape, what}
			if other, ok := meanings[call]; ok && other != this {
				t.Errorf("%s means %v and %v", call, other, this)
			}
			meanings[call] = this
		}
	}
	for _, call := range mapping.Calls() {
		if _, ok := meanings[call]; !ok {
			t.Errorf("handler %s is not a call in the route table", call)
		}
	}
}
