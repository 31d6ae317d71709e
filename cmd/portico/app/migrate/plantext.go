package migrate

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
)

// A planText writes a plan for people.
type planText struct {
	*plan.Plan
	colored bool
	out     bytes.Buffer
}

// ANSI codes.
const (
	boldCode   = "1"
	yellowCode = "33"
)

// paint returns text in a color or style, if the plan is colored.
func (t *planText) paint(code, text string) string {
	if !t.colored {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// write writes the plan: a table, the evidence with warnings and unknown facts, and a paragraph for
// each resource.
func (t *planText) write(w io.Writer) error {
	if t.Legacy == "" {
		fmt.Fprintln(&t.out, "There is no legacy store: legacy.url is not set, and Portico answers alone.")
	} else {
		fmt.Fprintf(&t.out, "Moving from %s to Portico\n\n", t.Legacy)
		t.writeTable()
		t.writeEvidence()
		for _, group := range t.groups() {
			t.writeResources(group)
		}
	}
	_, err := w.Write(t.out.Bytes())
	return err
}

// writeTable writes one line for each resource. A table with colors would not be aligned.
func (t *planText) writeTable() {
	table := tabwriter.NewWriter(&t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RESOURCE\tSTATE\tCALLS\tLEGACY\tSHADOW\tSWEEP\tNEXT")
	for i := range t.Resources {
		r := &t.Resources[i]
		calls, legacy, compared, swept := "-", "-", "-", "-"
		if r.Calls != nil {
			calls, legacy = fmt.Sprint(r.Calls.Requests), recording.Percent(r.Calls.Legacy, r.Calls.Requests)
		}
		if r.Compared != nil {
			compared = differences(r.Compared.Different, r.Compared.Same+r.Compared.Different)
		}
		if r.Swept != nil {
			swept = differences(r.Swept.Different, r.Swept.Answers)
		}
		next := strings.ReplaceAll(r.Step.Name, "_", " ")
		if len(r.Step.First) > 0 {
			next += fmt.Sprintf(" (%d to settle)", len(r.Step.First))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, stateText(r.State), calls, legacy, compared, swept, next)
	}
	_ = table.Flush() // to a buffer
}

// differences formats the number of different answers out of all.
func differences(different, all int64) string {
	if different == 0 {
		return fmt.Sprintf("%d same", all)
	}
	return fmt.Sprintf("%d of %d differ", different, all)
}

// writeEvidence writes the known and the unknown facts about the shop as a whole, and the clients
// that call the legacy store outside the interface.
func (t *planText) writeEvidence() {
	fmt.Fprintln(&t.out)
	if t.Import != nil {
		fmt.Fprintf(&t.out, "Last import: %s, from the database %s\n", minuteOf(t.Import.At), t.Import.Database)
	}
	if f := t.Follow; f != nil && f.LagSeconds != nil {
		fmt.Fprintf(&t.out, "Following the legacy store: %.0f seconds behind", *f.LagSeconds)
		if !f.Compared.IsZero() {
			fmt.Fprintf(&t.out, ", everything compared at %s", minuteOf(f.Compared))
		}
		fmt.Fprintln(&t.out)
	}
	if s := t.Sweep; s != nil {
		completeness := "complete"
		switch {
		case s.Sample != plan.WholeSample:
			completeness = "a sample of " + s.Sample
		case !s.Complete:
			completeness = "without the lists that could not be read"
		}
		var answers, different, accepted int64
		for _, swept := range s.Resources {
			answers, different, accepted = answers+swept.Answers, different+swept.Different, accepted+swept.Accepted
		}
		fmt.Fprintf(&t.out, "Last sweep: %s, %s, of %s and %s as %s: %s, and %d as accepted\n", minuteOf(s.Ended), completeness, s.Legacy, s.Candidate, strings.Join(s.Callers, ", "), differences(different, answers), accepted)
	}
	var conflicts []string
	for _, outcome := range outbox.ConflictOutcomes() {
		if n := t.Conflicts[string(outcome)]; n > 0 {
			conflicts = append(conflicts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	if len(conflicts) > 0 {
		fmt.Fprintf(&t.out, "Values that both a client and the legacy store have changed: %s (see portico mirror conflicts)\n", strings.Join(conflicts, ", "))
	}
	if len(t.Outside) > 0 {
		fmt.Fprintln(&t.out, "Called at the legacy store outside the interface:")
		table := tabwriter.NewWriter(&t.out, 0, 0, 2, ' ', 0)
		for _, caller := range t.Outside {
			fmt.Fprintf(table, "  %s\t%s\t%d\tlast %s\n", caller.Kind, caller.Agent, caller.Requests, minuteOf(caller.Last))
		}
		_ = table.Flush() // to a buffer
	}
	for _, warning := range t.Warnings {
		fmt.Fprintln(&t.out, t.paint(yellowCode, "Warning: "+warning))
	}
	for _, unknown := range t.Unknown {
		fmt.Fprintln(&t.out, t.paint(yellowCode, "Unknown: "+unknown))
	}
}

// groups returns the resources in groups: adjacent resources with the same state and step are
// together.
func (t *planText) groups() (all [][]plan.Resource) {
	for i := range t.Resources {
		r := &t.Resources[i]
		if i > 0 {
			before := &t.Resources[i-1]
			if r.State == before.State && r.Back == before.Back && reflect.DeepEqual(r.Step, before.Step) {
				all[len(all)-1] = append(all[len(all)-1], *r)
				continue
			}
		}
		all = append(all, []plan.Resource{*r})
	}
	return all
}

// writeResources writes the paragraph of a group.
func (t *planText) writeResources(group []plan.Resource) {
	r := &group[0]
	var names []string
	mark := ""
	for i := range group {
		names = append(names, group[i].Name)
		if group[i].Name == t.Next {
			mark = " (next)"
		}
	}
	fmt.Fprintf(&t.out, "\n%s\n", t.paint(boldCode, strings.Join(names, ", ")+": "+stateText(r.State)+mark))
	for i := range group {
		t.writeCounts(&group[i])
	}
	fmt.Fprintf(&t.out, "  Way back: %s\n", r.Back)
	fmt.Fprintf(&t.out, "  Next: %s\n", r.Step.Title)
	for _, first := range r.Step.First {
		fmt.Fprintf(&t.out, "  %s %s\n", t.paint(yellowCode, "First:"), first)
	}
	for _, command := range r.Step.Commands {
		fmt.Fprintf(&t.out, "\n    %s\n", command)
	}
	if len(r.Step.Lines) > 0 {
		where := "  Lines for the configuration, then reload:"
		if r.Step.Restart {
			where = "  Lines for the configuration, then restart:"
		}
		fmt.Fprintf(&t.out, "%s\n\n%s\n\n", where, strings.Join(r.Step.Lines, "\n"))
	}
	if r.Step.Back != "" {
		fmt.Fprintf(&t.out, "  %s\n", r.Step.Back)
	}
}

// writeCounts writes the counts of a resource.
func (t *planText) writeCounts(r *plan.Resource) {
	if c := r.Calls; c != nil && c.Requests > 0 {
		fmt.Fprintf(&t.out, "  Calls of %s: %d, the last one at %s; refused %s, failed %s, answered by the legacy store %s\n", r.Name, c.Requests, minuteOf(c.Last),
			recording.Percent(c.Refused, c.Requests), recording.Percent(c.Failed, c.Requests), recording.Percent(c.Legacy, c.Requests))
	}
	if c := r.Compared; c != nil {
		fmt.Fprintf(&t.out, "  Shadow of %s: %s since %s; %d could not be judged because of a write, %d were not compared\n",
			r.Name, differences(c.Different, c.Same+c.Different), minuteOf(c.Since), c.Unsure, c.Missed)
	}
	if m := r.Mirror; m != nil {
		turning, outbox := "", "the outbox is empty"
		if m.Turning {
			turning = ", and they are changing sides"
		}
		if m.Waiting+m.Parked+m.Held+m.Unknown > 0 {
			outbox = fmt.Sprintf("outbox: %d waiting, %d parked, %d held, %d unknown", m.Waiting, m.Parked, m.Held, m.Unknown)
		}
		if m.Waiting > 0 {
			outbox += ", the oldest since " + minuteOf(m.Oldest)
		}
		fmt.Fprintf(&t.out, "  Writes of %s: %s has them%s; %s\n", r.Name, m.Owner, turning, outbox)
	}
}

// minuteOf formats a time.
func minuteOf(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }
