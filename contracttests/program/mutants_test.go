package program

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// A mutant is an implementation with one fault, which the suite must notice.
type mutant struct {
	name     string // the broken behavior; unique in a dialect
	in       string // the resource whose cases must notice; see casesByResource
	dialect  string
	calls    string // patterns of the calls that the fault can affect; see matchesPattern
	fault    fault
	survives string // why the suite cannot notice it; "" if it must
}

// assignTo sets resource and dialect of mutants.
func assignTo(resource, dialect string, mutants []mutant) []mutant {
	for i := range mutants {
		mutants[i].in, mutants[i].dialect = resource, dialect
	}
	return mutants
}

// allMutants returns the table of mutants. Each call makes new ones, because some have
// state.
func allMutants() []mutant {
	return slices.Concat(customerMutants(), addressMutants(), productMutants(), publicMutants(), categoryListMutants(), imageMutants(), websiteMutants(),
		categoryMutants(), stockMutants(), orderMutants(), orderAddressMutants(), wireMutants())
}

// casesByResource returns, for each resource, patterns of the cases that must notice its
// mutants. If the cases of one pattern notice nothing, the cases of the next are run.
func casesByResource() map[string][]*regexp.Regexp {
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

// maxSurvivorPercent is the percentage of mutants that the suite may miss.
const maxSurvivorPercent = 5

var mutantInterval = flag.Int("mutants", 16, "TestMutants tries one in `N` mutants; 1 tries all")

// TestMutants checks that the suite notices when Portico is broken in one place. It tries
// the mutants one after the other.
func TestMutants(t *testing.T) {
	testenv.OnlyNightly(t, "mutants")
	t.Parallel()
	if !testenv.Nightly() { // TestSuite makes the same calls
		return
	}
	suite := apptest.Suite(t)
	cases := casesByResource()
	var mutants []mutant
	for i, m := range allMutants() {
		if i%*mutantInterval == 0 {
			mutants = append(mutants, m)
		}
	}
	var table strings.Builder
	ran, survived := 0, 0
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			demo := apptest.StartDemo(t, dialect)
			target := demo.Target(t)
			p := &mutantProxy{next: forwardTo(t, target.BaseURL), credentials: target.Credentials}
			proxy := httptest.NewServer(p)
			t.Cleanup(proxy.Close)
			target.BaseURL = proxy.URL
			skip := irrelevantCases(callsOfCases(t, suite, target))
			for i := range mutants {
				m := &mutants[i]
				if m.dialect != dialect {
					continue
				}
				t.Run(m.in+"/"+m.name, func(t *testing.T) {
					ran++
					if err := demo.Reset(t.Context()); err != nil {
						t.Fatal(err)
					}
					p.hits.Store(0)
					p.mutant.Store(m)
					defer p.mutant.Store(nil)
					start := time.Now()
					by := firstFailingCase(t, suite, target, cases[m.in], skip(m))
					fmt.Fprintf(&table, "%5d  %-6s  %5.2f s  %s: %s\n%34s%s\n", p.hits.Load(), verdict(by), time.Since(start).Seconds(), m.in, m.name, "", by)
					switch {
					case p.hits.Load() == 0:
						t.Error("it had no effect: no case makes a call that it breaks")
					case by == "" && m.survives == "":
						survived++
						t.Log("no case notices it")
					case by != "" && m.survives != "":
						t.Errorf("it is declared to survive, but %s notices it", by)
					}
				})
			}
		})
	}
	t.Logf("%d mutants, %d survived\n hits\n%s", ran, survived, table.String())
	if survived*100 > ran*maxSurvivorPercent {
		t.Errorf("%d of %d mutants survived", survived, ran)
	}
}

// callsOfCases runs the cases against Portico without a fault, which they must pass, and
// returns the calls that each case makes. Only a case that makes a call that matches a
// mutant can notice it, so the others need not be run again.
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
			t.Errorf("%s fails without a fault: %s: %s %+v", r.ID(), r.Failure.Call, r.Failure.Broken, r.Failure.Differences)
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

// irrelevantCases returns, for each mutant, a function with the reason to skip a case,
// which is "" for a case that makes a call that matches the mutant.
func irrelevantCases(calls map[string][]*call) func(*mutant) func(id string) string {
	return func(m *mutant) func(string) string {
		return func(id string) string {
			if slices.ContainsFunc(calls[id], m.matches) {
				return ""
			}
			return "it makes no call that the mutant breaks"
		}
	}
}

// firstFailingCase returns the id of the first case that fails, from the first group in
// which one fails, or the error that kept the suite from running. It returns "" if all
// cases pass.
func firstFailingCase(t *testing.T, suite *contracttests.Suite, target contracttests.Target, groups []*regexp.Regexp, skip func(string) string) string {
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

// verdict names the result for a mutant that the case by noticed, "" for none.
func verdict(by string) string {
	if by == "" {
		return "alive"
	}
	return "killed"
}

// TestMutantNames checks that the mutants are complete, and that their names are unique.
func TestMutantNames(t *testing.T) {
	seen := map[string]bool{}
	cases := casesByResource()
	for _, m := range allMutants() {
		switch key := m.dialect + "/" + m.name; {
		case seen[key]:
			t.Errorf("%s: there are two", key)
		case cases[m.in] == nil || m.calls == "" || m.fault == nil || m.name == "":
			t.Errorf("%s: a field is missing or its resource has no cases", key)
		default:
			seen[key] = true
		}
	}
	t.Logf("%d mutants", len(seen))
}
