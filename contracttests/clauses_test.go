package contracttests

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/contracttests/spec"
)

func clauses(t *testing.T) []clause {
	t.Helper()
	all, err := loadClauses()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSections: every clause, and every difference between the dialects, names its
// section of the specification, and every exchange the sections that it shows.
func TestSections(t *testing.T) {
	pages, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clauses(t) {
		if _, ok := pages.Find(c.Section); !ok {
			t.Errorf("clause %q is of the section %q, which does not exist", c.Name, c.Section)
		}
	}
	suite, err := NewSuite()
	if err != nil {
		t.Fatal(err)
	}
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
		t.Errorf("%d differences: some are lost", len(differences))
	}

	recorded, err := Exchanges()
	if err != nil {
		t.Fatal(err)
	}
	documented, err := DocumentedExchanges()
	if err != nil {
		t.Fatal(err)
	}
	words := regexp.MustCompile(`( \([^()]+\))?(; |$)`) // behind a citation
	for _, c := range slices.Concat(recorded, documented) {
		for _, part := range strings.Split(strings.TrimSuffix(words.ReplaceAllString(c.Clause, "\n"), "\n"), "\n") {
			cited := pages.Citations(part)
			if len(cited) == 0 || !regexp.MustCompile(`^[a-z_]+ [0-9., and]+$`).MatchString(part) {
				t.Errorf("%s/%s shows %q, in which %q is no citation", c.File, c.Name, c.Clause, part)
			}
			for _, one := range cited {
				if _, ok := pages.Find(one); !ok {
					t.Errorf("%s/%s shows %s, which does not exist", c.File, c.Name, one)
				}
			}
		}
	}
}

// TestClausesHaveCases: every clause is shown by a case of the document's own, and
// every such case shows one. With -v it prints which case shows what.
func TestClausesHaveCases(t *testing.T) {
	cases, err := DocumentedExchanges()
	if err != nil {
		t.Fatal(err)
	}
	shownBy := map[string][]string{}
	for _, c := range cases {
		if len(c.Clauses) == 0 {
			t.Errorf("%s/%s shows no clause", c.File, c.Name)
		}
		for _, name := range c.Clauses {
			shownBy[name] = append(shownBy[name], c.File+"/"+c.Name)
		}
	}
	sides := map[string]int{}
	known := map[string]bool{}
	for _, clause := range clauses(t) {
		cases := shownBy[clause.Name]
		switch {
		case known[clause.Name]:
			t.Errorf("%s stands there twice", clause.Name)
		case clause.Side != "read" && clause.Side != "write", clause.Says == "":
			t.Errorf("%s has side %q and says %q", clause.Name, clause.Side, clause.Says)
		case clause.Unshown != "" && len(cases) > 0:
			t.Errorf("%s has cases and a reason to have none", clause.Name)
		case clause.Unshown == "" && len(cases) == 0:
			t.Errorf("no case shows %s: %s", clause.Name, clause.Says)
		}
		known[clause.Name] = true
		sides[clause.Side]++
		if len(cases) == 0 {
			cases = []string{"none"}
		}
		t.Logf("%s (%s): %s%s", clause.Name, clause.Side, clause.Says, "\n  "+strings.Join(cases, "\n  "))
	}
	for name, cases := range shownBy {
		if !known[name] {
			t.Errorf("%s shows the unknown clause %q", cases[0], name)
		}
	}
	if sides["read"] < 100 || sides["write"] < 180 {
		t.Errorf("%d clauses on reading and %d on writing: some are lost", sides["read"], sides["write"])
	}
}

// TestClausesOfFields: a case that shows a list of fields has a record with
// exactly these.
func TestClausesOfFields(t *testing.T) {
	cases, err := DocumentedExchanges()
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string][]string{}
	for _, clause := range clauses(t) {
		if len(clause.Fields) > 0 {
			lists[clause.Name] = slices.Sorted(slices.Values(slices.Concat(clause.Fields, clause.Besides)))
		}
	}
	if len(lists) < 20 {
		t.Errorf("%d lists of fields: some are lost", len(lists))
	}
	for _, c := range cases {
		for _, name := range c.Clauses {
			fields, ok := lists[name]
			if ok && !slices.ContainsFunc(c.Steps, func(s Step) bool { return showsRecord(t, &s.Response, fields) }) {
				t.Errorf("%s/%s names %s, and shows no record of %s", c.File, c.Name, name, strings.Join(fields, ", "))
			}
		}
	}
}

// showsRecord reports whether a reply holds a record with exactly these fields,
// which are sorted.
func showsRecord(t *testing.T, r *Response, fields []string) bool {
	t.Helper()
	if r.Status != 200 || r.ContentType == nil {
		return false
	}
	f, ok := formatOf(*r.ContentType)
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

// TestClausesOfCalls: a case that shows what a call reads makes that call, and
// one of a default format makes it without Accept.
func TestClausesOfCalls(t *testing.T) {
	cases, err := DocumentedExchanges()
	if err != nil {
		t.Fatal(err)
	}
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
