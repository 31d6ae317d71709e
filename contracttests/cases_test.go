package contracttests

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCasesShowTheirClauses: a case that names a list of fields expects a record of
// just these, one that names a message expects it with its code, and one that names
// a field of a body sends it or, where the field is required, is refused without.
func TestCasesShowTheirClauses(t *testing.T) {
	s, err := NewSuite()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]clause{}
	for _, c := range s.clauses {
		byName[c.Name] = c
	}
	checked := 0
	refused := map[string]bool{} // the required fields that a case is refused without
	for i := range s.cases {
		c := &s.cases[i]
		for _, name := range c.Clauses {
			clause := byName[name]
			var shows func(*Call) bool
			switch {
			case len(clause.Fields) > 0:
				shows = func(call *Call) bool { return s.showsFields(call, &clause) }
			case clause.Message != "":
				shows = func(call *Call) bool { return showsMessage(call, &clause) }
			case clause.Field != "":
				shows = func(call *Call) bool {
					lacks := clause.Required && lacksField(call, &clause)
					refused[name] = refused[name] || lacks
					return lacks || sendsField(call, &clause)
				}
			default:
				continue
			}
			checked++
			shown := false
			for _, call := range s.calls(c) { // all of them: refused is about each
				shown = shows(call) || shown
			}
			if !shown {
				t.Errorf("%s/%s names %q and does not show it", c.Resource, c.Name, name)
			}
		}
	}
	for _, clause := range s.clauses {
		if clause.Required && !refused[clause.Name] {
			t.Errorf("no case is refused for want of %s", clause.Name)
		}
	}
	if checked < 150 {
		t.Errorf("%d clauses checked: some are lost", checked)
	}
}

// calls returns the calls of a case, those that make what it needs included.
func (s *Suite) calls(c *Case) []*Call {
	var all []*Call
	makings, _ := s.makings(c)
	for _, m := range makings {
		all = append(all, &Call{Call: s.makers[m.maker].Call, Send: &m.send})
	}
	for i := range c.Steps {
		all = append(all, &c.Steps[i])
	}
	return all
}

func (s *Suite) showsFields(call *Call, c *clause) bool {
	e := call.expectation(Documented)
	if e == nil {
		return false
	}
	want := slices.Sorted(slices.Values(slices.Concat(c.Fields, c.Besides)))
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
			if view.dialect == Documented && slices.Equal(names, want) || slices.ContainsFunc(fields, func(f field) bool { return has(f.of, depth+1) }) {
				return true
			}
		}
		return false
	}
	return has(e.Record, 0) || has(e.List, 0)
}

func showsMessage(call *Call, c *clause) bool {
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
				entries = append(entries, entry{number, message.text})
			}
			for i := range n.members {
				within(&n.members[i].value)
			}
		}
		within(&e.Tree.node)
	}
	return slices.ContainsFunc(entries, func(e entry) bool {
		return form.MatchString(e.message) && (strconv.Itoa(e.code) == c.Status || c.Status == "")
	})
}

// sendsField reports whether a call sends a field, and lacksField whether it is refused
// without it, or with an empty one.
func sendsField(call *Call, c *clause) bool {
	_, name := c.place()
	return takes(call, c) && call.Body != nil && strings.Contains(*call.Body, name) || slices.ContainsFunc(sentRecords(call, c), func(r *node) bool { return r.has(name) })
}

func lacksField(call *Call, c *clause) bool {
	_, name := c.place()
	return isRefused(call) && slices.ContainsFunc(sentRecords(call, c), func(r *node) bool {
		value, _ := r.member(name)
		return len(value.members) == 0 && strings.TrimSpace(value.text) == ""
	})
}

// takes reports whether a call is the one whose body a clause is about.
func takes(call *Call, c *clause) bool {
	path := regexp.MustCompile(`:[a-z_]+`).ReplaceAllString(c.Call, `[^/]+`)
	return regexp.MustCompile(`\A` + path + `(/store/[^/]+)?\z`).MatchString(variable.ReplaceAllString(call.Call, "x"))
}

// sentRecords returns the records of a body that may have the field of a clause.
func sentRecords(call *Call, c *clause) []*node {
	if !takes(call, c) || call.Send == nil {
		return nil
	}
	in, _ := c.place()
	return recordsIn(&call.Send.node, in)
}

func isRefused(call *Call) bool {
	e := call.expectation(Documented)
	return e != nil && (len(e.Errors) > 0 || e.Tree != nil && e.Status >= 207)
}

// TestCasesClaimNoOrder: the original has no stable order for a list that a filter, a
// store view or a category selects, so that a case which says what comes first asks for
// an order. The document orders categories by position, and the addresses of a customer
// have an order of their own.
func TestCasesClaimNoOrder(t *testing.T) {
	s, err := NewSuite()
	if err != nil {
		t.Fatal(err)
	}
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
				if e := call.expectation(d); e != nil && claimsOrder(call, e) && !strings.Contains(call.Call, "order=") {
					t.Errorf("%s/%s, step %d claims an order in %s and asks for none: %s", c.Resource, c.Name, j+1, d, call.Call)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d lists checked: some are lost", checked)
	}
}

// claimsOrder reports whether what is expected of a list depends on its order: which of
// several entries is where, or which are on a page.
func claimsOrder(call *Call, e *Expectation) bool {
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
