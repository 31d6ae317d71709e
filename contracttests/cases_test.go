package contracttests

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCasesCoverTheirClauses checks that a case exercises its clauses: a case of a list
// of fields expects a record with exactly these fields, a case of a message expects the
// message with its code, and a case of a request field sends the field. For each
// required field, a case expects an error without it.
func TestCasesCoverTheirClauses(t *testing.T) {
	t.Parallel()
	s := loaded(t, NewSuite)
	byName := map[string]clause{}
	for _, c := range s.clauses {
		byName[c.Name] = c
	}
	checked := 0
	requiredCovered := map[string]bool{} // required fields whose absence a case tests
	for i := range s.cases {
		c := &s.cases[i]
		for _, name := range c.Clauses {
			clause := byName[name]
			var covers func(*Call) bool
			switch {
			case len(clause.Fields) > 0:
				covers = func(call *Call) bool { return s.expectsFields(call, &clause) }
			case clause.Message != "":
				covers = func(call *Call) bool { return expectsMessage(call, &clause) }
			case clause.Field != "":
				covers = func(call *Call) bool {
					lacks := clause.Required && lacksField(call, &clause)
					requiredCovered[name] = requiredCovered[name] || lacks
					return lacks || sendsField(call, &clause)
				}
			default:
				continue
			}
			checked++
			covered := false
			for _, call := range s.allCalls(c) { // do not stop early: requiredCovered needs all calls
				covered = covers(call) || covered
			}
			if !covered {
				t.Errorf("%s/%s names %q, but does not cover it", c.Resource, c.Name, name)
			}
		}
	}
	for _, clause := range s.clauses {
		if clause.Required && !requiredCovered[clause.Name] {
			t.Errorf("no case tests the error for a missing %s", clause.Name)
		}
	}
	if checked < 150 {
		t.Errorf("%d clauses checked: some are missing", checked)
	}
}

// expectsFields reports whether a call expects a record with exactly the fields of a
// clause, at any depth.
func (s *Suite) expectsFields(call *Call, c *clause) bool {
	e := call.expectation(Documented)
	if e == nil {
		return false
	}
	want := slices.Sorted(slices.Values(slices.Concat(c.Fields, c.AlsoReturned)))
	if slices.Equal(slices.Sorted(slices.Values(e.Only)), want) {
		return true
	}
	var has func(name string, depth int) bool
	has = func(name string, depth int) bool {
		shape := s.shapes[name]
		if shape == nil || depth > 5 {
			return false
		}
		for view, fields := range shape.views {
			var names []string
			for _, f := range fields {
				names = append(names, f.name)
			}
			slices.Sort(names)
			if view.dialect == Documented && slices.Equal(names, want) || slices.ContainsFunc(fields, func(f field) bool { return has(f.shape, depth+1) }) {
				return true
			}
		}
		return false
	}
	return has(e.Record, 0) || has(e.List, 0)
}

// expectsMessage reports whether a call expects the error message of a clause with its
// code.
func expectsMessage(call *Call, c *clause) bool {
	e := call.expectation(Documented)
	if e == nil {
		return false
	}
	form := regexp.MustCompile(`\A` + regexp.MustCompile(`<[^>]+>`).ReplaceAllString(regexp.QuoteMeta(c.Message), `.+`) + `\z`)
	entries := slices.Clone(e.Errors)
	if e.Tree != nil {
		var within func(n *node)
		within = func(n *node) {
			message, ok := n.member("message")
			code, _ := n.member("code")
			if number, err := strconv.Atoi(code.text); ok && err == nil {
				entries = append(entries, errorEntry{number, message.text})
			}
			for i := range n.members {
				within(&n.members[i].value)
			}
		}
		within(&e.Tree.node)
	}
	return slices.ContainsFunc(entries, func(e errorEntry) bool {
		return form.MatchString(e.message) && (strconv.Itoa(e.code) == c.Status || c.Status == "")
	})
}

// sendsField reports whether a call sends the field of a clause.
func sendsField(call *Call, c *clause) bool {
	_, name := c.splitField()
	return isClauseCall(call, c) && call.Body != nil && strings.Contains(*call.Body, name) || slices.ContainsFunc(sentRecords(call, c), func(r *node) bool { return r.has(name) })
}

// lacksField reports whether a call expects an error for a body in which the field of a
// clause is missing or empty.
func lacksField(call *Call, c *clause) bool {
	_, name := c.splitField()
	return expectsError(call) && slices.ContainsFunc(sentRecords(call, c), func(r *node) bool {
		value, _ := r.member(name)
		return len(value.members) == 0 && strings.TrimSpace(value.text) == ""
	})
}

// isClauseCall reports whether a call is the one whose body a clause describes.
func isClauseCall(call *Call, c *clause) bool {
	path := regexp.MustCompile(`:[a-z_]+`).ReplaceAllString(c.Call, `[^/]+`)
	return regexp.MustCompile(`\A` + path + `(/store/[^/]+)?\z`).MatchString(variablePattern.ReplaceAllString(call.Call, "x"))
}

// sentRecords returns the records of a call's body that may have the field of a clause.
func sentRecords(call *Call, c *clause) []*node {
	if !isClauseCall(call, c) || call.Send == nil {
		return nil
	}
	in, _ := c.splitField()
	return recordsIn(&call.Send.node, in)
}

// expectsError reports whether a call expects an error in documented.
func expectsError(call *Call) bool {
	e := call.expectation(Documented)
	return e != nil && (len(e.Errors) > 0 || e.Tree != nil && e.Status >= 207)
}

// TestCasesStateOrder checks that a case requests an order if its expectation depends on
// the order of a list that is selected by a filter, a store view or a category. The
// original has no stable order for these. Two kinds of list are exempt: the document
// orders categories by position, and the addresses of a customer have a stable order.
func TestCasesStateOrder(t *testing.T) {
	s := loaded(t, NewSuite)
	selected := regexp.MustCompile(`^GET /(products|customers|orders|stockitems)(/store/[^/?]+|/category/[^/?]+){0,2}(\?.*)?$`)
	by := regexp.MustCompile(`/store/|/category/|[?&](filter\[|store=|category_id=)`)
	checked := 0
	for i := range s.cases {
		c := &s.cases[i]
		for j := range c.Steps {
			call := &c.Steps[j]
			if !selected.MatchString(call.Call) || !by.MatchString(call.Call) {
				continue
			}
			checked++
			for _, d := range []Dialect{Documented, Magento} {
				if c.Dialect != "" && c.Dialect != d || d == Documented && strings.Contains(call.Call, "category") {
					continue
				}
				if e := call.expectation(d); e != nil && dependsOnOrder(call, e) && !strings.Contains(call.Call, "order=") {
					t.Errorf("%s/%s, step %d depends on an order in %s, but does not request one: %s", c.Resource, c.Name, j+1, d, call.Call)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d lists checked: some are missing", checked)
	}
}

// dependsOnOrder reports whether an expectation of a list depends on its order: on the
// positions of several entries, or on which entries are on a page.
func dependsOnOrder(call *Call, e *Expectation) bool {
	if e.List == "" {
		return false
	}
	entries := 0
	if e.Entries != nil {
		entries = len(e.Entries.members)
		if e.Entries.kind != list {
			entries = 2 // the name of a list
		}
	}
	for _, place := range call.Bind {
		if entry, _, _ := strings.Cut(place, "."); entry != "0" {
			return true
		}
	}
	paged := regexp.MustCompile(`[?&](limit|page)=`).MatchString(call.Call)
	return e.Ordered != "" || entries > 1 || len(e.Has) > 1 || paged && entries > 0
}
