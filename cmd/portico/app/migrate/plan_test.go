package migrate

import (
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// TestPlanText checks the rare parts of the text: colors, and resources that share a paragraph.
func TestPlanText(t *testing.T) {
	part := func(name, step string, state plan.State) plan.Resource {
		return plan.Resource{Name: name, State: state, Back: "b", Step: plan.Step{Name: step, Title: "Title of " + step + ".", Lines: []string{"routes: []"}}}
	}
	plan := &plan.Plan{
		Legacy: "http://old", Next: "orders", Warnings: []string{"w"}, Unknown: []string{"u"}, Follow: &plan.Follow{LagSeconds: new(2.4), Compared: time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)},
		Sweep:     &plan.Sweep{Sample: "1%", Resources: map[string]plan.Compared{"products": {Answers: 9, Different: 2, Accepted: 1}}},
		Resources: []plan.Resource{part("products", "shadow", plan.InFront), part("orders", "move_reads", plan.Shadowed), part("order_items", "move_reads", plan.Shadowed)},
	}
	for _, colored := range []bool{false, true} {
		var out strings.Builder
		if err := (&planText{Plan: plan, colored: colored}).write(&out); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		want := []string{"products     in front", "orders, order_items: shadowed (next)", "Warning: w", "Unknown: u", "2 seconds behind, everything compared at 2024-03-01 12:00 UTC", ", a sample of 1%, of ", "2 of 9 differ, and 1 as accepted"}
		if colored {
			want = append(want, "\x1b[33mWarning: w\x1b[0m\n", "\n\x1b[1mproducts: in front\x1b[0m\n")
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("colored %t: no %q in\n%s", colored, w, text)
			}
		}
		if strings.Count(text, "\nroutes: []\n") != 2 || strings.Contains(text, "\x1b") != colored {
			t.Errorf("colored %t:\n%s", colored, text)
		}
	}
}

// TestFollowOf checks the choice among several servers of the one whose follower status is used.
func TestFollowOf(t *testing.T) {
	cfg := &config.Config{Follow: config.Follow{DSN: "x"}}
	lag := 1.0
	follows := ServerStatus{Status: Status{Follow: &plan.Follow{LagSeconds: &lag}}}
	if got := followOf(cfg, []ServerStatus{{}, follows}); got.LagSeconds != &lag {
		t.Errorf("%+v", got)
	}
	if got := followOf(cfg, []ServerStatus{{}}); got == nil || got.LagSeconds != nil {
		t.Errorf("no server says that it follows: %+v", got)
	}
	if got := followOf(&config.Config{}, []ServerStatus{{}}); got != nil {
		t.Errorf("not configured: %+v", got)
	}
}
