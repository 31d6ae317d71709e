package console

import (
	"context"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// testSituation is a migration in which products are shadowed.
func testSituation() *plan.Situation {
	lag := 2.5
	return &plan.Situation{
		Legacy: "http://old.example",
		Rules:  proxy.Rules{{Resource: "all", To: proxy.Legacy}, {Resource: "products", Calls: proxy.Reads, To: proxy.Legacy, Shadow: true}},
		Resources: []plan.Part{
			{Name: "products", Root: "products", Calls: []string{"getProduct", "listProducts"}, Writes: true},
			{Name: "orders", Root: "orders", Calls: []string{"listOrders"}},
		},
		Shadow: &plan.Shadow{Since: time.Unix(0, 0), Calls: []compare.ShadowCount{{Call: "getProduct", Outcomes: map[string]int64{"same": 5, "different": 3}, Fields: map[string]int64{"price": 3}}}},
		Import: &plan.Import{At: time.Unix(60, 0)},
		Follow: &plan.Follow{LagSeconds: &lag},
		Sweep:  &plan.Sweep{Legacy: "http://old.example", Ended: time.Unix(120, 0), Complete: true, Resources: map[string]plan.Compared{"orders": {Answers: 1200}}},
		Mirrors: map[string]plan.Mirror{
			"products": {Owner: "legacy", Waiting: 2},
		},
	}
}

// TestMigration: the page has a row for each resource with its evidence, the trend of its
// differences, and the lines of its next step.
func TestMigration(t *testing.T) {
	t.Parallel()
	p := newProgram()
	s := newSite(t, func(o *Options) {
		o.Gatherer = p.registry
		o.Migration = Migration{
			Plan:       func(context.Context) (*plan.Plan, error) { return plan.New(testSituation()), nil },
			Routes:     func() []string { return plan.Lines(testSituation().Rules) },
			ResourceOf: map[string]string{"getProduct": "products", "listProducts": "products"},
		}
	})
	p.shadow.WithLabelValues("getProduct", "same").Add(4)
	s.console.history.take()
	s.clock.advance(time.Minute)
	p.shadow.WithLabelValues("getProduct", "same").Add(1)
	p.shadow.WithLabelValues("listProducts", "different").Add(3)
	p.shadow.WithLabelValues("listOrders", "different").Add(7)
	s.console.history.take()
	page := s.get(migrationPath).text
	for _, want := range []string{
		"http://old.example", "2.5 s behind", "legacy, shadowed", "3 of 8 differ", "1\u202f200 same", "<td>2 waiting</td>",
		"Differences of products in the last hour: 75% in the last minute", "<td>3 <svg", "Let Portico answer the reads",
		"  - {resource: products, calls: reads, to: portico, shadow: true}", `<textarea id="lines"`, "{resource: all, to: legacy}",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// TestPreview: other lines are shown with their effect, or with the reasons for which they would be
// refused.
func TestPreview(t *testing.T) {
	t.Parallel()
	var asked string
	s := newSite(t, func(o *Options) {
		o.Migration = Migration{
			Plan:   func(context.Context) (*plan.Plan, error) { return plan.New(testSituation()), nil },
			Routes: func() []string { return []string{"routes: []"} },
			Preview: func(_ context.Context, lines string) (*Preview, error) {
				asked = lines
				after := testSituation()
				switch lines {
				case "faulty":
					return &Preview{Faults: []string{"lines:1: <not> routes"}}, nil
				case "moved":
					after.Rules = append(after.Rules, proxy.Rule{Resource: "orders", To: proxy.Portico})
				}
				return &Preview{Before: plan.New(testSituation()), After: plan.New(after)}, nil
			},
		}
	})
	for lines, want := range map[string][]string{
		"faulty": {"lines:1: &lt;not&gt; routes", "would be refused"},
		"moved":  {"They would change:", "<td>compared → moved</td>", "<td>legacy → portico</td>", ">moved</textarea>"},
		"same":   {"change nothing."},
	} {
		got := s.submit(migrationPath, migrationPath+"/preview", url.Values{"lines": {lines}})
		for _, text := range want {
			if got.StatusCode != http.StatusOK || !strings.Contains(got.text, text) {
				t.Errorf("%s: %d, without %q:\n%s", lines, got.StatusCode, text, got.text)
			}
		}
	}
	s.submit(migrationPath, migrationPath+"/preview", url.Values{"lines": {"a\r\nb"}})
	if asked != "a\nb" {
		t.Errorf("asked for %q", asked)
	}
}
