package report

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"go.yaml.in/yaml/v3"
)

// TestWriteGaps checks that exactly the cases that call orders are written as gaps.
func TestWriteGaps(t *testing.T) {
	suite, err := contracttests.NewSuite()
	if err != nil {
		t.Fatal(err)
	}
	table := contract.NewTable(contract.Routes(contract.StandardFields()))
	isOrder := func(r *contract.Route) bool { return r != nil && strings.HasPrefix(r.Path, "/orders") }
	var out bytes.Buffer
	if err := WriteGaps(&out, "Orders.", func(r *contract.Route) string {
		if isOrder(r) {
			return "no " + r.Resource
		}
		return ""
	}); err != nil {
		t.Fatal(err)
	}
	var gaps []struct{ Case, Reason string }
	if err := yaml.Unmarshal(out.Bytes(), &gaps); err != nil {
		t.Fatal(err)
	}
	matches := make([]int, len(gaps))
	for _, c := range suite.CaseCalls() {
		calls := slices.ContainsFunc(c.Paths, func(path string) bool {
			called, _ := table.Match(path)
			return isOrder(called)
		})
		is := false
		for i, g := range gaps {
			if regexp.MustCompile(g.Case).MatchString(c.Resource + "/" + c.Name + "/json") {
				matches[i]++
				is = true
			}
		}
		if is != calls {
			t.Errorf("%s/%s: a gap %t, calls orders %t", c.Resource, c.Name, is, calls)
		}
	}
	if len(gaps) == 0 || slices.Contains(matches, 0) || !strings.HasPrefix(out.String(), "# Orders.\n") {
		t.Errorf("gaps without cases: %v of\n%s", matches, out.String())
	}
}
