package repository

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"go.yaml.in/yaml/v3"
)

// A prometheusServer is a private Prometheus.
type prometheusServer struct{ url string }

// startPrometheus runs Prometheus with features on a free loopback port until the test ends. It
// uses a copy of config/prometheus that scrapes the operators' ports ops with token, and
// evaluates everything every second.
func startPrometheus(t *testing.T, token, features string, ops ...string) *prometheusServer {
	t.Helper()
	testenv.Need(t, "prometheus")
	folder := t.TempDir()
	settings := filepath.Join(folder, "prometheus.yml")
	copyPrometheusSettings(t, folder, token, ops)
	if output, err := exec.CommandContext(t.Context(), "promtool", "check", "config", settings).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, output)
	}
	p := apptest.StartProgram(t, nil, "prometheus", "--config.file="+settings, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address=127.0.0.1:0",
		"--enable-feature="+features)
	p.Stderr.Await(t, p, "Server is ready to receive web requests.")
	address := regexp.MustCompile(`msg="Listening on".* address=(\S+)`).FindStringSubmatch(p.Stderr.Text())
	if address == nil {
		t.Fatalf("Prometheus does not say where it listens:\n%s", p.Stderr.Text())
	}
	return &prometheusServer{url: "http://" + address[1]}
}

// copyPrometheusSettings writes the files that Prometheus reads to folder.
func copyPrometheusSettings(t *testing.T, folder, token string, ops []string) {
	t.Helper()
	const often = "1s"
	var settings struct {
		Global    map[string]any
		RuleFiles []string         `yaml:"rule_files"`
		Scrape    []map[string]any `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal([]byte(apptest.ReadFile(t, filepath.Join(prometheusRoot, "prometheus.yml"))), &settings); err != nil {
		t.Fatal(err)
	}
	for name := range settings.Global {
		settings.Global[name] = often // intervals and timeouts all
	}
	if len(settings.Scrape) != 1 {
		t.Fatalf("%d jobs are scraped, not one", len(settings.Scrape))
	}
	tokenFile := filepath.Join(folder, "token")
	job := settings.Scrape[0]
	var targets []string
	for _, address := range ops {
		targets = append(targets, strings.TrimPrefix(address, "http://"))
	}
	job["static_configs"] = []any{map[string]any{"targets": targets}}
	authorization, ok := job["authorization"].(map[string]any)
	if !ok {
		t.Fatal("the job sends no token")
	}
	authorization["credentials_file"] = tokenFile
	text, err := yaml.Marshal(map[string]any{"global": settings.Global, "rule_files": settings.RuleFiles, "scrape_configs": settings.Scrape})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{tokenFile: token, filepath.Join(folder, "prometheus.yml"): string(text)}
	interval := regexp.MustCompile(`(?m)^( +interval:) .*$`)
	for _, name := range settings.RuleFiles {
		files[filepath.Join(folder, name)] = interval.ReplaceAllString(apptest.ReadFile(t, filepath.Join(prometheusRoot, name)), "$1 "+often)
	}
	for path, text := range files {
		apptest.WriteFile(t, path, text)
	}
}

// A sample is one series at one time.
type sample struct {
	Metric map[string]string
	Value  [2]any // when, and the number as text
}

// number reports whether the sample is a number; 0/0 is not.
func (s sample) number() bool {
	text, ok := s.Value[1].(string)
	value, err := strconv.ParseFloat(text, 64)
	return ok && err == nil && value == value
}

// query evaluates an expression now. An invalid expression fails the test.
func (p *prometheusServer) query(t *testing.T, expr string) []sample {
	t.Helper()
	var data struct{ Result []sample }
	p.ask(t, "query", url.Values{"query": {expr}}, &data)
	return data.Result
}

// labelValues returns the values of a label among the series that match.
func (p *prometheusServer) labelValues(t *testing.T, label, match string) (values []string) {
	t.Helper()
	p.ask(t, "label/"+label+"/values", url.Values{"match[]": {match}}, &values)
	return values
}

// exemplars returns the values of a label of the exemplars that a metric had in the last hour.
func (p *prometheusServer) exemplars(t *testing.T, metric, label string) (values []string) {
	t.Helper()
	var series []struct {
		Exemplars []struct{ Labels map[string]string }
	}
	now := time.Now()
	p.ask(t, "query_exemplars", url.Values{
		"query": {metric}, "start": {strconv.FormatInt(now.Add(-time.Hour).Unix(), 10)}, "end": {strconv.FormatInt(now.Add(time.Hour).Unix(), 10)},
	}, &series)
	for _, one := range series {
		for _, exemplar := range one.Exemplars {
			values = append(values, exemplar.Labels[label])
		}
	}
	return values
}

// ask calls the API of Prometheus and decodes the result into into.
func (p *prometheusServer) ask(t *testing.T, path string, parameters url.Values, into any) {
	t.Helper()
	got := apptest.Send(t, http.MethodGet, p.url+"/api/v1/"+path+"?"+parameters.Encode(), "")
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	apptest.Parse(t, got.Body, &answer)
	if answer.Status != "success" {
		t.Fatalf("Prometheus answers %d %s to %v", got.Status, answer.Error, parameters)
	}
	apptest.Parse(t, string(answer.Data), into)
}

// asGrafana replaces the variables of an expression as Grafana does, for a scrape interval
// of a second and these replicas.
func asGrafana(expr string, instances []string) string {
	var escaped []string
	for _, instance := range instances {
		escaped = append(escaped, strings.ReplaceAll(regexp.QuoteMeta(instance), `\`, `\\`))
	}
	return strings.NewReplacer(
		"$__rate_interval", "4s", // four scrapes
		"$__range", "3600s",
		"$instance", "("+strings.Join(escaped, "|")+")",
	).Replace(expr)
}

// metricNames returns the names of the metrics in an expression that belong to Portico, to
// the process or to recording rules.
func metricNames(expr string) []string {
	expr = regexp.MustCompile(`"[^"]*"`).ReplaceAllString(expr, "")
	return regexp.MustCompile(`\b(?:[a-z_]+:)?(?:portico|go|process)_[a-z_]+(?::[a-z0-9_]+)?\b`).FindAllString(expr, -1)
}

// family returns the name under which /metrics describes a metric: for a part of a histogram,
// the histogram's.
func family(name string, families map[string]string) string {
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if whole, ok := strings.CutSuffix(name, part); ok && families[whole] != "" {
			return whole
		}
	}
	return name
}

// metricFamilies returns the types of the metrics in the output of /metrics, by name.
func metricFamilies(text string) map[string]string {
	families := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		var name, kind string
		if n, _ := fmt.Sscanf(line, "# TYPE %s %s", &name, &kind); n == 2 {
			families[name] = kind
		}
	}
	return families
}
