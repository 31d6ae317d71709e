package doctor_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/cmd/portico/app/doctor"
)

// finds returns a check that returns a finding immediately.
func finds(group, name string, findings ...doctor.Finding) doctor.Check {
	return doctor.Check{Group: group, Name: name, Run: func(context.Context) []doctor.Finding { return findings }}
}

// TestReport runs checks of all levels and compares both forms of the report.
func TestReport(t *testing.T) {
	second := make(chan struct{})
	checks := []doctor.Check{
		{Group: "database", Name: "server", Run: func(context.Context) []doctor.Finding {
			<-second // findings are in the order of the checks
			return []doctor.Finding{{Level: doctor.OK, Found: "SQLite 3"}, {Check: "rights", Level: doctor.Fault, Found: "none", Advice: "Grant them."}}
		}},
		{Group: "redis", Name: "redis", Run: func(context.Context) []doctor.Finding {
			close(second)
			return []doctor.Finding{{Level: doctor.NotUsed, Found: "not used"}}
		}},
		finds("machine", "memory", doctor.Finding{Level: doctor.Warning, Found: "is\x1b[31m short\nof it\u202e", Advice: strings.Repeat("a", 700)}),
		finds("machine", "clock", doctor.Finding{Level: doctor.NotChecked, Found: "no database"}),
	}
	r := doctor.Run(t.Context(), checks, time.Minute)
	var text strings.Builder
	if err := r.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	advice := strings.Repeat("a", 600) + "…"
	if diff := cmp.Diff(`Database
  ok           server  SQLite 3
  fault        rights  none
                       Grant them.

Machine
  warning      memory  is�[31m short of it�
                       `+advice+`
  not checked  clock   no database

Not used: redis

1 fault, 1 warning
`, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"level":"fault","faults":1,"warnings":1,"findings":[` +
		`{"group":"database","check":"server","level":"ok","found":"SQLite 3"},` +
		`{"group":"database","check":"rights","level":"fault","found":"none","advice":"Grant them."},` +
		`{"group":"redis","check":"redis","level":"not_used","found":"not used"},` +
		`{"group":"machine","check":"memory","level":"warning","found":"is�[31m short of it�","advice":"` + advice + `"},` +
		`{"group":"machine","check":"clock","level":"not_checked","found":"no database"}]}`
	if diff := cmp.Diff(want, string(encoded)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	var colored strings.Builder
	if err := r.WriteText(&colored, true); err != nil {
		t.Fatal(err)
	}
	if got := colored.String(); !strings.Contains(got, "\x1b[31mfault      \x1b[0m") || !strings.Contains(got, "\x1b[1mDatabase\x1b[0m") {
		t.Errorf("not colored:\n%q", got)
	}
}

// TestLevels checks the worst level of a report.
func TestLevels(t *testing.T) {
	for _, tt := range []struct {
		name   string
		levels []doctor.Level
		want   doctor.Level
		says   string
	}{
		{"none", nil, doctor.OK, "no faults, no warnings"},
		{"good", []doctor.Level{doctor.OK, doctor.NotUsed, doctor.NotChecked}, doctor.OK, "no faults, no warnings"},
		{"warnings", []doctor.Level{doctor.Warning, doctor.OK, doctor.Warning}, doctor.Warning, "no faults, 2 warnings"},
		{"a fault first", []doctor.Level{doctor.Fault, doctor.Warning}, doctor.Fault, "1 fault, 1 warning"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var checks []doctor.Check
			for _, level := range tt.levels {
				checks = append(checks, finds("group", "check", doctor.Finding{Level: level}))
			}
			r := doctor.Run(t.Context(), checks, time.Minute)
			if r.Level != tt.want || r.Summary() != tt.says {
				t.Errorf("%s, %q; want %s, %q", r.Level, r.Summary(), tt.want, tt.says)
			}
		})
	}
}

// TestDeadline runs checks that wait: one that heeds its context, and one that never ends.
func TestDeadline(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	r := doctor.Run(t.Context(), []doctor.Check{
		{Group: "a", Name: "patient", Run: func(ctx context.Context) []doctor.Finding {
			<-ctx.Done()
			return []doctor.Finding{{Level: doctor.Fault, Found: ctx.Err().Error()}}
		}},
		{Group: "a", Name: "stuck", Run: func(context.Context) []doctor.Finding { <-forever; return nil }},
		finds("a", "quick", doctor.Finding{Level: doctor.OK}),
	}, time.Millisecond)
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.Check+": "+string(f.Level)+" "+f.Found)
	}
	if diff := cmp.Diff([]string{"patient: fault context deadline exceeded", "stuck: fault the check has not ended within 1ms", "quick: ok "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
