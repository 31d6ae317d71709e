package main

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// A mutant is an implementation that is broken in one place. The suite must notice.
type mutant struct {
	name     string // what is broken; unique in a dialect
	in       string // the resource whose cases must notice; see casesOf
	dialect  string
	at       string // the calls that the fault can concern; see concerns
	fault    fault
	survives string // why the suite cannot notice; "" for all that it must
}

// in puts mutants into a resource and a dialect.
func in(resource, dialect string, mutants []mutant) []mutant {
	for i := range mutants {
		mutants[i].in, mutants[i].dialect = resource, dialect
	}
	return mutants
}

// allMutants is the table of mutants, new ones each time: some remember.
func allMutants() []mutant {
	return slices.Concat(customerMutants(), addressMutants(), productMutants(), publicMutants(), categoryListMutants(), imageMutants(), websiteMutants(),
		categoryMutants(), stockMutants(), orderMutants(), orderAddressMutants(), wireMutants())
}

// casesOf returns, by resource, which cases must notice what is wrong with it: those
// of its files, and if they do not, those of the next ones.
func casesOf() map[string][]*regexp.Regexp {
	cases := map[string][]*regexp.Regexp{}
	for resource, files := range map[string][]string{
		"customers":       {"customers"},
		"addresses":       {"addresses"},
		"products":        {"products", "catalogue"},
		"public":          {"catalogue", "products"},
		"category list":   {"catalogue", "products"},
		"images":          {"images"},
		"websites":        {"websites"},
		"categories":      {"categories"},
		"stock items":     {"stockitems"},
		"orders":          {"orders"},
		"order addresses": {"orders"},
		"wire":            {"wire", "customers|addresses|products", "stockitems|orders|websites|categories|images|catalogue"},
	} {
		for _, names := range files {
			cases[resource] = append(cases[resource], regexp.MustCompile("^("+names+")/"))
		}
	}
	return cases
}

// mostSurvivors is how many mutants of a hundred the suite may let go.
const mostSurvivors = 5

var oneInMutants = flag.Int("mutants", 16, "TestMutants tries one mutant in so many; 1 tries all")

// TestMutants breaks Portico in one place after the other, and the suite has to
// notice.
func TestMutants(t *testing.T) {
	nightly.Only(t, "mutants")
	t.Parallel()
	if alreadyRun() { // TestSuite makes the same calls
		return
	}
	suite, err := contracttests.NewSuite()
	if err != nil {
		t.Fatal(err)
	}
	cases := casesOf()
	var mutants []mutant
	for i, m := range allMutants() {
		if i%*oneInMutants == 0 {
			mutants = append(mutants, m)
		}
	}
	var table strings.Builder
	ran, survived := 0, 0
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			a, server := startDemo(t, dialect)
			target := targetOf(t, a, server, dialect)
			p := &mutator{next: a.contract, credentials: target.Credentials}
			proxy := httptest.NewServer(p)
			t.Cleanup(proxy.Close)
			target.BaseURL = proxy.URL
			skip := needless(callsOfCases(t, suite, target))
			for i := range mutants {
				m := &mutants[i]
				if m.dialect != dialect {
					continue
				}
				t.Run(m.in+"/"+m.name, func(t *testing.T) {
					ran++
					if err := a.ops.reset(t.Context()); err != nil {
						t.Fatal(err)
					}
					p.hits.Store(0)
					p.mutant.Store(m)
					defer p.mutant.Store(nil)
					start := time.Now()
					by := noticed(t, suite, target, cases[m.in], skip(m))
					fmt.Fprintf(&table, "%5d  %-6s  %5.2f s  %s: %s\n%34s%s\n", p.hits.Load(), verdict(by), time.Since(start).Seconds(), m.in, m.name, "", by)
					switch {
					case p.hits.Load() == 0:
						t.Error("it was never hit: no case calls what it breaks")
					case by == "" && m.survives == "":
						survived++
						t.Log("no case notices it")
					case by != "" && m.survives != "":
						t.Errorf("it is said to survive, and is noticed by %s", by)
					}
				})
			}
		})
	}
	t.Logf("%d mutants, %d survived\n hits\n%s", ran, survived, table.String())
	if survived*100 > ran*mostSurvivors {
		t.Errorf("%d of %d mutants survived", survived, ran)
	}
}

// callsOfCases runs the cases against what is not broken, which they must pass, and
// returns what each calls. Only cases that make a call that a fault concerns can
// notice it: the others need not be run again.
func callsOfCases(t *testing.T, suite *contracttests.Suite, target contracttests.Target) map[string][]*call {
	t.Helper()
	report, err := suite.Run(t.Context(), target, contracttests.Options{Parallel: 4})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string][]*call{}
	for i := range report.Results {
		r := &report.Results[i]
		if r.Status == contracttests.Failed {
			t.Errorf("%s fails on what is not broken: %s: %s %+v", r.ID(), r.Failure.Call, r.Failure.Broken, r.Failure.Differences)
			continue
		}
		for _, made := range r.Calls {
			line, _, _ := strings.Cut(made.Request, "\r\n")
			line, _, _ = strings.Cut(line, "\n")
			method, target, _ := strings.Cut(line, " ")
			target, _, _ = strings.Cut(target, " ")
			c := newCall(method, target)
			c.as = made.As
			calls[r.ID()] = append(calls[r.ID()], c)
		}
	}
	return calls
}

// needless returns what leaves out cases for a mutant: those that by calls make none
// that its fault concerns.
func needless(calls map[string][]*call) func(*mutant) func(id string) string {
	return func(m *mutant) func(string) string {
		return func(id string) string {
			if slices.ContainsFunc(calls[id], m.concerns) {
				return ""
			}
			return "it calls nothing that is broken"
		}
	}
}

// noticed returns which case fails first, of the first group in which one does, or why
// the cases could not be run; "" if all pass.
func noticed(t *testing.T, suite *contracttests.Suite, target contracttests.Target, groups []*regexp.Regexp, skip func(string) string) string {
	t.Helper()
	for _, group := range groups {
		report, err := suite.Run(t.Context(), target, contracttests.Options{Match: group, Parallel: 4, FailFast: true, Skip: skip})
		if report != nil {
			for i := range report.Results {
				if r := &report.Results[i]; r.Status == contracttests.Failed {
					return r.ID()
				}
			}
		}
		if err != nil {
			return err.Error()
		}
	}
	return ""
}

func verdict(by string) string {
	if by == "" {
		return "alive"
	}
	return "killed"
}

// TestMutantNames: the table is of one form, and says of each what it is.
func TestMutantNames(t *testing.T) {
	seen := map[string]bool{}
	cases := casesOf()
	for _, m := range allMutants() {
		switch key := m.dialect + "/" + m.name; {
		case seen[key]:
			t.Errorf("%s: there are two", key)
		case cases[m.in] == nil || m.at == "" || m.fault == nil || m.name == "":
			t.Errorf("%s: it is not whole", key)
		default:
			seen[key] = true
		}
	}
	t.Logf("%d mutants", len(seen))
}
