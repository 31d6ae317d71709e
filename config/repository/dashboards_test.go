package repository

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"go.yaml.in/yaml/v3"
)

// The paths of the files for operators.
const (
	dashboardFile  = "../../config/grafana/portico.json"
	prometheusRoot = "../../config/prometheus"
	runbooks       = "https://github.com/portico-commerce/portico/blob/main/cmd/portico/OPERATIONS.md#"
)

// A dashboard has the parts of a Grafana dashboard that the tests check.
type dashboard struct {
	UID           string
	SchemaVersion int
	Panels        []dashboardPanel
	Annotations   struct{ List []dashboardQuery }
	Templating    struct {
		List []struct {
			Name, Type, Definition string
		}
	}
}

// A dashboardPanel is a panel, or a row of panels.
type dashboardPanel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []dashboardQuery
	Panels                   []dashboardPanel // the panels of a collapsed row
}

// A dashboardQuery is a query of a panel or of an annotation.
type dashboardQuery struct {
	Name                string // of an annotation
	RefID, LegendFormat string // of a panel's
	Expr                string
	Datasource          struct{ Type, UID string }
}

// readDashboard returns the dashboard of Portico.
func readDashboard(t *testing.T) *dashboard {
	t.Helper()
	d := new(dashboard)
	apptest.Parse(t, apptest.ReadFile(t, dashboardFile), d)
	return d
}

// A rule is a recording rule or an alert.
type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

// readRules returns the rules in a file of config/prometheus.
func readRules(t *testing.T, name string) (rules []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(apptest.ReadFile(t, filepath.Join(prometheusRoot, name))), &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		rules = append(rules, group.Rules...)
	}
	if len(rules) == 0 {
		t.Fatalf("%s has no rules", name)
	}
	return rules
}

// TestPromtool checks the configuration of Prometheus with promtool.
func TestPromtool(t *testing.T) {
	testenv.Need(t, "promtool")
	checks := map[string]string{
		"settings": "check config prometheus.yml",
		"rules":    "check rules rules.yml alerts.yml",
	}
	for name, arguments := range checks {
		t.Run(name, func(t *testing.T) { promtool(t, arguments) })
	}
}

// TestRules runs the unit tests of the rules and alerts with promtool.
func TestRules(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	testenv.Need(t, "promtool")
	promtool(t, "test rules tests.yml")
}

// promtool runs promtool in the folder of the rules.
func promtool(t *testing.T, arguments string) {
	t.Helper()
	tool := exec.CommandContext(t.Context(), "promtool", strings.Fields(arguments)...)
	tool.Dir = prometheusRoot
	if output, err := tool.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", arguments, err, output)
	}
}

// TestAlerts checks that every alert has a severity, descriptions, a section in the
// operations guide, and tests in which it fires and in which it does not.
func TestAlerts(t *testing.T) {
	var cases struct {
		Tests []struct {
			Alerts []struct {
				Name     string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(apptest.ReadFile(t, filepath.Join(prometheusRoot, "tests.yml"))), &cases); err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range cases.Tests {
		for _, alert := range test.Alerts {
			if len(alert.Expected) > 0 {
				fires[alert.Name] = true
			} else {
				silent[alert.Name] = true
			}
		}
	}
	titles := map[string]bool{}
	for _, panel := range readDashboard(t).Panels {
		titles[panel.Title] = true
	}
	sections := anchors(apptest.ReadFile(t, filepath.Join("..", "..", "cmd", "portico", "OPERATIONS.md")))
	quoted := regexp.MustCompile(`"([^"]+)"`)
	for _, alert := range readRules(t, "alerts.yml") {
		t.Run(alert.Alert, func(t *testing.T) {
			if !fires[alert.Alert] || !silent[alert.Alert] {
				t.Errorf("in tests.yml: fires %t, does not fire %t; both have to be tested", fires[alert.Alert], silent[alert.Alert])
			}
			if severity := alert.Labels["severity"]; severity != "critical" && severity != "warning" {
				t.Errorf("severity %q", severity)
			}
			if alert.Annotations["summary"] == "" || alert.Annotations["description"] == "" {
				t.Error("no summary, or no description")
			}
			for _, title := range quoted.FindAllStringSubmatch(alert.Annotations["description"], -1) {
				if !titles[title[1]] {
					t.Errorf("the description names a panel %q, which the dashboard does not have", title[1])
				}
			}
			anchor := strings.ToLower(alert.Alert)
			if !sections[anchor] || alert.Annotations["runbook_url"] != runbooks+anchor {
				t.Errorf("OPERATIONS.md has no section of it, or runbook_url does not name that: %q", alert.Annotations["runbook_url"])
			}
		})
	}
}

// TestDashboard checks the dashboard for faults.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	for _, fault := range dashboardFaults(d) {
		t.Error(fault)
	}
	if len(queriesOf(d)) < 40 {
		t.Errorf("%d queries: they are not where this test looks for them", len(queriesOf(d)))
	}
}

// dashboardFaults returns the faults that make a dashboard hard to read, or make Grafana
// show it differently than intended.
func dashboardFaults(d *dashboard) (faults []string) {
	fault := func(format string, arguments ...any) { faults = append(faults, fmt.Sprintf(format, arguments...)) }
	ids, titles, taken := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if p.ID == 0 || ids[p.ID] {
			fault("%s: the id %d is none, or taken", p.Title, p.ID)
		}
		if p.Title == "" || titles[p.Title] {
			fault("panel %d: the title %q is none, or taken", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		at := p.GridPos
		if at.W < 1 || at.H < 1 || at.X < 0 || at.Y < 0 || at.X+at.W > 24 {
			fault("%s: %+v is outside of the 24 columns", p.Title, at)
		}
		over := map[string]bool{}
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok && !over[other] {
					fault("%s lies over %s", p.Title, other)
					over[other] = true
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			if len(p.Panels) > 0 {
				fault("%s: a folded row hides its panels from this test", p.Title)
			}
			continue
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			fault("%s: no description, no unit or no query", p.Title)
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if refs[q.RefID] {
				fault("%s: two queries are called %s", p.Title, q.RefID)
			}
			refs[q.RefID] = true
			if q.Datasource.UID != "${datasource}" || q.Datasource.Type != "prometheus" {
				fault("%s: query %s asks %v, not the data source that is chosen", p.Title, q.RefID, q.Datasource)
			}
			if p.Type != "table" && q.LegendFormat == "" {
				fault("%s: query %s has no legend", p.Title, q.RefID)
			}
		}
	}
	for _, name := range []string{"datasource", "instance"} {
		if !slices.ContainsFunc(d.Templating.List, func(v struct{ Name, Type, Definition string }) bool { return v.Name == name }) {
			fault("no variable %s", name)
		}
	}
	return faults
}

// TestDashboardFaults checks that dashboardFaults finds every kind of fault.
func TestDashboardFaults(t *testing.T) {
	panel := func(id int, title, x, query string) string {
		return fmt.Sprintf(`{"id":%d,"type":"timeseries","title":%q,"description":"D","gridPos":{"x":%s,"y":1,"w":12,"h":8},
			"fieldConfig":{"defaults":{"unit":"s"}},"targets":[%s]}`, id, title, x, query)
	}
	const (
		query     = `{"refId":"A","expr":"up","legendFormat":"up","datasource":{"type":"prometheus","uid":"${datasource}"}}`
		row       = `{"id":1,"type":"row","title":"R","gridPos":{"x":0,"y":0,"w":24,"h":1}}`
		variables = `{"name":"datasource"},{"name":"instance"}`
	)
	tests := []struct {
		name, panels, variables, want string // want "" for none
	}{
		{"none", row + "," + panel(2, "P", "0", query) + "," + panel(3, "Q", "12", query), variables, ""},
		{"an id twice", panel(2, "P", "0", query) + "," + panel(2, "Q", "12", query), variables, "Q: the id 2 is none, or taken"},
		{"a title twice", panel(2, "P", "0", query) + "," + panel(3, "P", "12", query), variables, `panel 3: the title "P" is none, or taken`},
		{"panels over each other", panel(2, "P", "0", query) + "," + panel(3, "Q", "11", query), variables, "Q lies over P"},
		{"too far right", panel(2, "P", "13", query), variables, "P: {X:13 Y:1 W:12 H:8} is outside of the 24 columns"},
		{"no query", panel(2, "P", "0", ""), variables, "P: no description, no unit or no query"},
		{"no description", strings.Replace(panel(2, "P", "0", query), `"D"`, `""`, 1), variables, "P: no description, no unit or no query"},
		{"no unit", strings.Replace(panel(2, "P", "0", query), `"s"`, `""`, 1), variables, "P: no description, no unit or no query"},
		{"queries of one name", panel(2, "P", "0", query+","+query), variables, "P: two queries are called A"},
		{"another data source", panel(2, "P", "0", strings.Replace(query, "${datasource}", "x", 1)), variables, "P: query A asks {prometheus x}, not the data source that is chosen"},
		{"no legend", panel(2, "P", "0", strings.Replace(query, `"legendFormat":"up",`, "", 1)), variables, "P: query A has no legend"},
		{"a folded row", strings.Replace(row, `"row"`, `"row","panels":[{"id":7}]`, 1), variables, "R: a folded row hides its panels from this test"},
		{"no variable", panel(2, "P", "0", query), `{"name":"datasource"}`, "no variable instance"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := new(dashboard)
			apptest.Parse(t, `{"panels":[`+tt.panels+`],"templating":{"list":[`+tt.variables+`]}}`, d)
			if got := strings.Join(dashboardFaults(d), "\n"); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A metricQuery is an expression and its position.
type metricQuery struct{ where, expr, legend string }

// queriesOf returns the queries of a dashboard's panels and annotations.
func queriesOf(d *dashboard) (queries []metricQuery) {
	for _, panel := range d.Panels {
		for _, q := range panel.Targets {
			queries = append(queries, metricQuery{"panel " + panel.Title + ", query " + q.RefID, q.Expr, q.LegendFormat})
		}
	}
	for _, a := range d.Annotations.List {
		if a.Datasource.Type == "prometheus" {
			// An annotation has data only at the moments that it marks.
			queries = append(queries, metricQuery{"annotation " + a.Name, wouldFire(a.Expr), ""})
		}
	}
	return queries
}

// wouldFire rewrites the expression of an alert so that it returns data if all its series
// exist, whether or not the alert fires: comparisons become numbers, alternatives must all
// have data, offsets of a day are removed because a young Prometheus has no older data,
// and absent becomes its argument.
func wouldFire(expr string) string {
	expr = regexp.MustCompile(` (>=|<=|==|!=|>|<) (?:bool )?`).ReplaceAllString(expr, " $1 bool ")
	expr = regexp.MustCompile(`\bor\b`).ReplaceAllString(expr, "and")
	return strings.NewReplacer(" offset 1d", "", "absent(", "(").Replace(expr)
}

// TestWouldFire checks the rewriting of expressions.
func TestWouldFire(t *testing.T) {
	for expr, want := range map[string]string{
		`up{job="portico"} == 0 or absent(up{job="portico"})`: `up{job="portico"} == bool 0 and (up{job="portico"})`,
		"a > bool 0":                     "a > bool 0",
		"a < 0.5 * (a offset 1d)":        "a < bool 0.5 * (a)",
		`sum(f{call=~"x|y"}) >= 10`:      `sum(f{call=~"x|y"}) >= bool 10`,
		"a > 14.4 * 0.001 and b > 1\nor": "a > bool 14.4 * 0.001 and b > bool 1\nand",
	} {
		if got := wouldFire(expr); got != want {
			t.Errorf("%s: got %s, want %s", expr, got, want)
		}
	}
}
