package contracttests

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mustLoadClauses returns all clauses.
func mustLoadClauses(t *testing.T) []clause {
	t.Helper()
	all, err := loadClauses()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDataCitesSections checks that every clause, every difference between the dialects
// and every exchange cites existing sections of the specification.
func TestDataCitesSections(t *testing.T) {
	t.Parallel()
	pages, err := LoadSpec()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range mustLoadClauses(t) {
		if _, ok := pages.Find(c.Section); !ok {
			t.Errorf("clause %q is of the section %q, which does not exist", c.Name, c.Section)
		}
	}
	suite := loaded(t, NewSuite)
	differences := map[int]bool{}
	for i := range suite.cases {
		for _, d := range suite.cases[i].dialectDifferences {
			differences[d.Number] = true
			if _, ok := pages.Find(d.Section); !ok {
				t.Errorf("difference %d is of the section %q, which does not exist", d.Number, d.Section)
			}
		}
	}
	if len(differences) < 100 {
		t.Errorf("%d differences: some are missing", len(differences))
	}

	recorded := loaded(t, Exchanges)
	documented := loaded(t, DocumentedExchanges)
	words := regexp.MustCompile(`( \([^()]+\))?(; |$)`) // after a citation
	for _, c := range slices.Concat(recorded, documented) {
		for _, part := range strings.Split(strings.TrimSuffix(words.ReplaceAllString(c.Clause, "\n"), "\n"), "\n") {
			cited := pages.Citations(part)
			if len(cited) == 0 || !regexp.MustCompile(`^[a-z_]+ [0-9., and]+$`).MatchString(part) {
				t.Errorf("%s/%s cites %q, in which %q is not a citation", c.File, c.Name, c.Clause, part)
			}
			for _, one := range cited {
				if _, ok := pages.Find(one); !ok {
					t.Errorf("%s/%s cites %s, which does not exist", c.File, c.Name, one)
				}
			}
		}
	}
}

// TestClausesHaveExchanges checks that every testable clause is covered by a documented
// exchange, and that every documented exchange covers a clause. With -v it prints the
// exchanges of each clause.
func TestClausesHaveExchanges(t *testing.T) {
	cases := loaded(t, DocumentedExchanges)
	coveredBy := map[string][]string{}
	for _, c := range cases {
		if len(c.Clauses) == 0 {
			t.Errorf("%s/%s covers no clause", c.File, c.Name)
		}
		for _, name := range c.Clauses {
			coveredBy[name] = append(coveredBy[name], c.File+"/"+c.Name)
		}
	}
	counts := map[string]int{}
	known := map[string]bool{}
	for _, clause := range mustLoadClauses(t) {
		cases := coveredBy[clause.Name]
		switch {
		case known[clause.Name]:
			t.Errorf("duplicate clause %s", clause.Name)
		case clause.Access != "read" && clause.Access != "write", clause.Says == "":
			t.Errorf("%s has access %q and says %q", clause.Name, clause.Access, clause.Says)
		case clause.Untestable != "" && len(cases) > 0:
			t.Errorf("%s is marked as untestable, but has exchanges", clause.Name)
		case clause.Untestable == "" && len(cases) == 0:
			t.Errorf("no exchange covers %s: %s", clause.Name, clause.Says)
		}
		known[clause.Name] = true
		counts[clause.Access]++
		if len(cases) == 0 {
			cases = []string{"none"}
		}
		t.Logf("%s (%s): %s%s", clause.Name, clause.Access, clause.Says, "\n  "+strings.Join(cases, "\n  "))
	}
	for name, cases := range coveredBy {
		if !known[name] {
			t.Errorf("%s covers the unknown clause %q", cases[0], name)
		}
	}
	if counts["read"] < 100 || counts["write"] < 180 {
		t.Errorf("%d clauses on reading and %d on writing: some are missing", counts["read"], counts["write"])
	}
}

// TestExchangesCoverFieldLists checks that an exchange of a clause with a list of fields
// has a record with exactly these fields.
func TestExchangesCoverFieldLists(t *testing.T) {
	cases := loaded(t, DocumentedExchanges)
	lists := map[string][]string{}
	for _, clause := range mustLoadClauses(t) {
		if len(clause.Fields) > 0 {
			lists[clause.Name] = slices.Sorted(slices.Values(slices.Concat(clause.Fields, clause.AlsoReturned)))
		}
	}
	if len(lists) < 20 {
		t.Errorf("%d lists of fields: some are missing", len(lists))
	}
	for _, c := range cases {
		for _, name := range c.Clauses {
			fields, ok := lists[name]
			if ok && !slices.ContainsFunc(c.Steps, func(s Step) bool { return hasRecordWithFields(t, &s.Response, fields) }) {
				t.Errorf("%s/%s covers %s, but has no record of %s", c.File, c.Name, name, strings.Join(fields, ", "))
			}
		}
	}
}

// hasRecordWithFields reports whether a reply contains a record with exactly these
// fields, which must be sorted.
func hasRecordWithFields(t *testing.T, r *Response, fields []string) bool {
	t.Helper()
	if r.Status != 200 || r.ContentType == nil {
		return false
	}
	f, ok := formatOfMediaType(*r.ContentType)
	if !ok || f.name == "form" { // in which empty values vanish
		return false
	}
	tree, err := f.parse(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var within func(n *node) bool
	within = func(n *node) bool {
		var names []string
		for i := range n.members {
			names = append(names, n.members[i].name)
		}
		if slices.Sort(names); slices.Equal(names, fields) {
			return true
		}
		return slices.ContainsFunc(n.members, func(m member) bool { return within(&m.value) })
	}
	return within(&tree)
}

// TestExchangesCoverCalls checks that an exchange of a clause about a GET makes such a
// request, and that an exchange about the default format makes it without Accept.
func TestExchangesCoverCalls(t *testing.T) {
	cases := loaded(t, DocumentedExchanges)
	parts := map[string]string{
		"Customers": `/customers`, "Customer addresses": `/customers/\d+/addresses|/customers/addresses`, "Products": `/products`,
		"Product images": `/products/[^/]+/images`, "Product websites": `/products/[^/]+/websites`, "Product categories": `/products/[^/]+/categories`,
		"Stock items": `/stockitems`, "Orders": `/orders`, "Order addresses": `/orders/[^/]+/addresses`,
	}
	for _, c := range cases {
		for _, name := range c.Clauses {
			section, row, _ := strings.Cut(name, ": ")
			path, ok := parts[section]
			if !ok || !strings.HasPrefix(row, "GET") {
				continue
			}
			call := regexp.MustCompile("^(" + path + ")")
			if !slices.ContainsFunc(c.Steps, func(s Step) bool {
				return s.Method == "GET" && call.MatchString(s.Path) && (s.Accept == nil || !strings.HasSuffix(row, ", format"))
			}) {
				t.Errorf("%s/%s names %s without such a call", c.File, c.Name, name)
			}
		}
	}
}
