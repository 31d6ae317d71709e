package repository

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"go.yaml.in/yaml/v3"
)

// chartRoot is the folder of the Helm chart.
const chartRoot = "../../config/helm/portico"

// A chartValue is a value of the chart, or a section of values.
type chartValue struct {
	Description string
	Properties  map[string]chartValue
}

// readChartYAML decodes a file of the chart.
func readChartYAML(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(apptest.ReadFile(t, filepath.Join(chartRoot, name))), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestChartSchema checks that the default values satisfy the schema, and that it refuses others.
func TestChartSchema(t *testing.T) {
	schema := adaptertest.CompileSchema(t, apptest.ReadFile(t, filepath.Join(chartRoot, "values.schema.json")))
	for _, tt := range []struct {
		name   string
		change func(values map[string]any)
		valid  bool
	}{
		{"defaults", func(map[string]any) {}, true},
		{"unknown value", func(values map[string]any) { values["replicas"] = 2 }, false},
		{"unknown value of a section", func(values map[string]any) { values["image"].(map[string]any)["name"] = "x" }, false},
		{"any setting", func(values map[string]any) { values["config"] = map[string]any{"dialect": "magento"} }, true},
		{"no token", func(values map[string]any) {
			delete(values["existingSecret"].(map[string]any)["keys"].(map[string]any), "ops.token")
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var values map[string]any
			readChartYAML(t, "values.yaml", &values)
			tt.change(values)
			if err := schema.Validate(values); (err == nil) != tt.valid {
				t.Errorf("%v; want valid: %t", err, tt.valid)
			}
		})
	}
}

// TestChartREADME checks that the table of values in the README of the chart is up to date. After a
// change of the values run:
//
//	go test ./config/repository -run ChartREADME -update
func TestChartREADME(t *testing.T) {
	var values map[string]any
	readChartYAML(t, "values.yaml", &values)
	var schema chartValue
	apptest.Parse(t, apptest.ReadFile(t, filepath.Join(chartRoot, "values.schema.json")), &schema)
	delete(schema.Properties, "global") // Helm's own
	var table strings.Builder
	table.WriteString("| Value | Default | What it is |\n|---|---|---|\n")
	chartTable(t, &table, "", values, schema)

	name := filepath.Join(chartRoot, "README.md")
	before, got, after, err := cutGenerated(apptest.ReadFile(t, name), "values")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(name, []byte(before+table.String()+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table.String(), got); diff != "" {
		t.Errorf("%s is out of date, run this test with -update (-want +got):\n%s", name, diff)
	}
}

// chartTable adds the rows of a section to a table: its values with their defaults, by their names.
func chartTable(t *testing.T, table *strings.Builder, section string, values map[string]any, schema chartValue) {
	t.Helper()
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
		if _, ok := values[name]; !ok {
			t.Errorf("values.yaml does not have %s", section+name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		of := schema.Properties[name]
		if of.Properties != nil {
			inner, _ := values[name].(map[string]any)
			chartTable(t, table, section+name+".", inner, of)
			continue
		}
		if of.Description == "" {
			t.Errorf("values.schema.json does not describe %s", section+name)
		}
		value, err := json.Marshal(values[name])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(table, "| `%s%s` | `%s` | %s |\n", section, name, value, of.Description)
	}
}

// TestChartRules checks that the chart has all rules of Prometheus, and no copy of them.
func TestChartRules(t *testing.T) {
	var settings struct {
		RuleFiles []string `yaml:"rule_files"`
	}
	readConfigFile(t, "prometheus/prometheus.yml", &settings)
	files, err := filepath.Glob(filepath.Join(chartRoot, "rules", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var linked []string
	for _, file := range files {
		target, err := os.Readlink(file)
		if err != nil {
			t.Fatal(err)
		}
		linked = append(linked, target)
	}
	var want []string
	for _, name := range settings.RuleFiles {
		want = append(want, "../../../prometheus/"+name)
	}
	slices.Sort(want)
	if slices.Sort(linked); !slices.Equal(linked, want) {
		t.Errorf("the chart has links to %q, Prometheus reads %q", linked, want)
	}
}

// TestChartSettings checks that the chart knows the secret settings, and that the settings that it
// makes itself exist.
func TestChartSettings(t *testing.T) {
	var secrets []string
	known := map[string]bool{}
	for _, s := range allSettings(t) {
		known[s.Name] = true
		if s.Secret {
			secrets = append(secrets, s.Name)
		}
	}
	slices.Sort(secrets)
	text := apptest.ReadFile(t, filepath.Join(chartRoot, "templates", "_checks.tpl"))
	if got := strings.Fields(chartDefinition(t, text, "portico.secretSettings")); !slices.Equal(got, secrets) {
		t.Errorf("the chart knows the secrets %q, want %q", got, secrets)
	}
	var own map[string]string
	if err := yaml.Unmarshal([]byte(chartDefinition(t, text, "portico.ownSettings")), &own); err != nil || len(own) == 0 {
		t.Fatalf("%v, %v", own, err)
	}
	for name := range own {
		if !known[name] {
			t.Errorf("the chart makes %s, which is no setting", name)
		}
	}
}

// chartDefinition returns the text between the lines that define a template.
func chartDefinition(t *testing.T, text, name string) string {
	t.Helper()
	_, text, found := strings.Cut(text, `{{- define "`+name+`" -}}`)
	text, _, ended := strings.Cut(text, "{{- end -}}")
	if !found || !ended {
		t.Fatalf("no definition of %s", name)
	}
	return text
}

// TestChartMetric checks that the rule in the README of the chart makes the metric by which the
// chart scales, from one that the program has.
func TestChartMetric(t *testing.T) {
	var rules struct {
		Rules struct {
			Custom []struct {
				SeriesQuery, MetricsQuery string
				Name                      struct{ Matches, As string }
			}
		}
	}
	_, block, _ := strings.Cut(apptest.ReadFile(t, filepath.Join(chartRoot, "README.md")), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	// The keys are in camel case, which package yaml would not match.
	block = regexp.MustCompile(`(seriesQuery|metricsQuery):`).ReplaceAllStringFunc(block, strings.ToLower)
	if err := yaml.Unmarshal([]byte(block), &rules); err != nil || len(rules.Rules.Custom) != 1 {
		t.Fatalf("%+v, %v", rules, err)
	}
	r := rules.Rules.Custom[0]
	series, _, _ := strings.Cut(r.SeriesQuery, "{")
	if !regexp.MustCompile(r.Name.Matches).MatchString(series) {
		t.Errorf("the rule for %s is not for %s", r.Name.Matches, series)
	}
	if scaler := apptest.ReadFile(t, filepath.Join(chartRoot, "templates", "horizontalpodautoscaler.yaml")); !strings.Contains(scaler, "metric: {name: "+r.Name.As+"}") {
		t.Errorf("the chart does not scale by %s", r.Name.As)
	}
	metrics := apptest.ReadFile(t, path.Join("..", "..", "mapping", "httpapi", "metrics.go"))
	if !strings.Contains(metrics, `"`+series+`"`) {
		t.Errorf("the program has no metric %s", series)
	}
}
