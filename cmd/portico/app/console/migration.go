package console

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Migration has the functions that supply the page of the migration.
type Migration struct {
	// Plan returns the migration state of each resource, as this process sees it.
	Plan func(context.Context) (*plan.Plan, error)
	// Routes returns the routes in force as lines of configuration.
	Routes func() []string
	// Preview returns the changes that other lines would make.
	Preview func(ctx context.Context, lines string) (*Preview, error)
	// ResourceOf is the resource of each call.
	ResourceOf map[string]string
}

// A Preview is the effect of a change of routes. If there are faults, the plans are nil.
type Preview struct {
	Faults        []string // reasons for which the lines would be refused
	Before, After *plan.Plan
}

// A migrationPage is the data of the page.
type migrationPage struct {
	Plan    *plan.Plan
	Rows    []resourceRow
	Lines   string // in the form
	Preview *previewPage
}

// A resourceRow is a resource with the trend of its differences.
type resourceRow struct {
	plan.Resource
	IsNext bool
	// Trend is the share of answers that differed in each minute of the last hour.
	Trend chart
	// Recent counts the differences of the last hour.
	Recent int64
}

// A previewPage is a preview, resource by resource.
type previewPage struct {
	Faults   []string
	Rows     []previewRow
	Warnings []string // that the change would bring
}

// A previewRow is a resource before and after a change.
type previewRow struct {
	Name          string
	Before, After plan.Resource
}

const migrationPath = "/console/migration"

func (v *visit) showMigration() error {
	return v.renderMigration(strings.Join(v.Migration.Routes(), "\n"), nil)
}

// previewRoutes shows the effect of other routes. It changes nothing.
func (v *visit) previewRoutes() error {
	lines := strings.ReplaceAll(v.r.PostForm.Get("lines"), "\r\n", "\n")
	preview, err := v.Migration.Preview(v.r.Context(), lines)
	if err != nil {
		return err
	}
	v.path = migrationPath
	return v.renderMigration(lines, newPreviewPage(preview))
}

func (v *visit) renderMigration(lines string, preview *previewPage) error {
	plan, err := v.Migration.Plan(v.r.Context())
	if err != nil {
		return err
	}
	p := migrationPage{Plan: plan, Lines: lines, Preview: preview}
	samples := v.history.all()
	for i := range plan.Resources {
		r := plan.Resources[i]
		row := resourceRow{Resource: r, IsNext: r.Name == plan.Next}
		if r.Compared != nil {
			row.Trend, row.Recent = v.trendOf(r.Name, samples)
		}
		p.Rows = append(p.Rows, row)
	}
	return v.show(http.StatusOK, "migration", "Migration", p)
}

// trendOf returns a chart of the share of different answers of a resource, and the number of
// differences, in the last hour.
func (c *Console) trendOf(resource string, samples []sample) (chart, int64) {
	sum := func(s *sample, of func(compared) float64) (total float64) {
		for call, n := range s.shadow {
			if c.Migration.ResourceOf[call] == resource {
				total += of(n)
			}
		}
		return total
	}
	different := func(s *sample) float64 { return sum(s, func(n compared) float64 { return n.different }) }
	answers := func(s *sample) float64 { return sum(s, func(n compared) float64 { return n.answers }) }
	trend := newChart("Differences of "+resource, samples, func(from, to sample) (float64, bool) { return ratio(from, to, different, answers) }, shareText, 0.01)
	first, last := since(samples, time.Hour), samples[len(samples)-1]
	return trend, int64(different(&last) - different(&first))
}

// newPreviewPage compares the two plans of a preview.
func newPreviewPage(p *Preview) *previewPage {
	page := &previewPage{Faults: p.Faults}
	if len(p.Faults) > 0 {
		return page
	}
	for i := range p.After.Resources {
		after := p.After.Resources[i]
		at := slices.IndexFunc(p.Before.Resources, func(r plan.Resource) bool { return r.Name == after.Name })
		if at < 0 {
			continue
		}
		before := p.Before.Resources[at]
		if before.Reads != after.Reads || before.Writes != after.Writes || before.Shadow != after.Shadow || before.State != after.State {
			page.Rows = append(page.Rows, previewRow{after.Name, before, after})
		}
	}
	for _, warning := range p.After.Warnings {
		if !slices.Contains(p.Before.Warnings, warning) {
			page.Warnings = append(page.Warnings, warning)
		}
	}
	return page
}

// stateText returns a state for people: reads_moved is "reads moved".
func stateText(s plan.State) string { return strings.ReplaceAll(string(s), "_", " ") }

// differText formats the number of different answers out of all.
func differText(different, all int64) string {
	if different == 0 {
		return countText(all) + " same"
	}
	return fmt.Sprintf("%s of %s differ", countText(different), countText(all))
}

// outboxText counts the writes of a resource that have not yet been repeated at the legacy store.
func outboxText(m *plan.Mirror) string {
	var parts []string
	for _, part := range []struct {
		n    int64
		name string
	}{{m.Waiting, "waiting"}, {m.Parked, "parked"}, {m.Held, "held"}, {m.Unknown, "unknown"}} {
		if part.n > 0 {
			parts = append(parts, countText(part.n)+" "+part.name)
		}
	}
	if len(parts) == 0 {
		return "empty"
	}
	return strings.Join(parts, ", ")
}
