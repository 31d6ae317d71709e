package repository

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// Modules that hold the schemas of the objects that a cluster accepts: the OpenAPI document of
// Kubernetes, and the resource definitions of the Prometheus operator.
const (
	kubernetesModule         = "k8s.io/kubernetes@" + kubernetesVersion
	prometheusOperatorModule = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
)

// A cluster knows the schema of each kind of object, by its apiVersion and kind.
type cluster map[string]*jsonschema.Schema

// newCluster returns the cluster of a version of Kubernetes with the Prometheus operator.
func newCluster(t *testing.T) cluster {
	t.Helper()
	c := cluster{}
	compiler := jsonschema.NewCompiler()
	c.addKubernetes(t, compiler)
	c.addDefinitions(t, compiler)
	return c
}

// addKubernetes adds the kinds of Kubernetes itself.
func (c cluster) addKubernetes(t *testing.T, compiler *jsonschema.Compiler) {
	t.Helper()
	var document map[string]any
	apptest.Parse(t, apptest.ReadFile(t, filepath.Join(goDownload(t, kubernetesModule), "api", "openapi-spec", "swagger.json")), &document)
	makeStrict(document)
	const name = "kubernetes.json"
	if err := compiler.AddResource(name, document); err != nil {
		t.Fatal(err)
	}
	definitions, _ := document["definitions"].(map[string]any)
	wanted := []string{"apps/v1", "autoscaling/v2", "batch/v1", "networking.k8s.io/v1", "policy/v1", "v1"}
	for definition, of := range definitions {
		kinds, _ := of.(map[string]any)["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) != 1 { // others are options of requests
			continue
		}
		kind := manifest(kinds[0].(map[string]any))
		group, _ := kind.at("group").(string)
		version, _ := kind.at("version").(string)
		apiVersion := strings.TrimPrefix(group+"/"+version, "/")
		if slices.Contains(wanted, apiVersion) {
			c.add(t, compiler, apiVersion, kind.kind(), name+"#/definitions/"+definition)
		}
	}
}

// addDefinitions adds the kinds of the Prometheus operator.
func (c cluster) addDefinitions(t *testing.T, compiler *jsonschema.Compiler) {
	t.Helper()
	folder := filepath.Join(goDownload(t, prometheusOperatorModule), "example", "prometheus-operator-crd")
	for _, plural := range []string{"servicemonitors", "prometheusrules"} {
		name := "monitoring.coreos.com_" + plural + ".yaml"
		var definition map[string]any
		if err := yaml.Unmarshal([]byte(apptest.ReadFile(t, filepath.Join(folder, name))), &definition); err != nil {
			t.Fatal(err)
		}
		resource := manifest(definition)
		schema, ok := resource.at("spec", "versions", 0, "schema", "openAPIV3Schema").(map[string]any)
		kind, named := resource.at("spec", "names", "kind").(string)
		if !ok || !named {
			t.Fatalf("%s has no schema", name)
		}
		makeStrict(schema)
		text, err := json.Marshal(schema) // numbers in the validator's form
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err == nil {
			err = compiler.AddResource(name, document)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.add(t, compiler, "monitoring.coreos.com/v1", kind, name)
	}
}

// add adds a kind with the schema at an address.
func (c cluster) add(t *testing.T, compiler *jsonschema.Compiler, apiVersion, kind, address string) {
	t.Helper()
	schema, err := compiler.Compile(address)
	if err != nil {
		t.Fatalf("%s %s: %v", apiVersion, kind, err)
	}
	c[apiVersion+" "+kind] = schema
}

// makeStrict makes a schema refuse properties that it does not describe, and gives OpenAPI's types
// of numbers and texts the same meaning for a validator of JSON Schema.
func makeStrict(schema map[string]any) {
	if properties, ok := schema["properties"].(map[string]any); ok && len(properties) > 0 {
		// Metadata of an object is described elsewhere.
		if _, given := schema["additionalProperties"]; !given && schema["x-kubernetes-preserve-unknown-fields"] == nil {
			schema["additionalProperties"] = false
		}
	}
	if schema["format"] == "int-or-string" || schema["x-kubernetes-int-or-string"] == true {
		schema["type"] = []any{"integer", "string"}
	}
	for _, part := range schema {
		switch part := part.(type) {
		case map[string]any:
			makeStrict(part)
		case []any:
			for _, item := range part {
				if inner, ok := item.(map[string]any); ok {
					makeStrict(inner)
				}
			}
		}
	}
}

// check checks that the cluster accepts objects.
func (c cluster) check(t *testing.T, manifests []manifest) {
	t.Helper()
	names := map[string]bool{}
	for _, m := range manifests {
		apiVersion, _ := m["apiVersion"].(string)
		name, _ := m.at("metadata", "name").(string)
		schema := c[apiVersion+" "+m.kind()]
		if schema == nil {
			t.Errorf("Kubernetes %s has no %s %s", kubernetesVersion, apiVersion, m.kind())
			continue
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s %s: %v", m.kind(), name, err)
		}
		if names[m.kind()+" "+name] {
			t.Errorf("two objects are called %s %s", m.kind(), name)
		}
		names[m.kind()+" "+name] = true
	}
}

// goDownload returns the folder of a module that the Go command downloads.
func goDownload(t *testing.T, module string) (folder string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	command.Dir = t.TempDir() // outside of this module
	output, err := command.Output()
	var downloaded struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(output, &downloaded); err != nil || jsonErr != nil {
		t.Fatalf("go mod download %s: %v %s", module, err, downloaded.Error)
	}
	return downloaded.Dir
}

// checkClusterRefuses checks that the schemas of a cluster find faults of manifests.
func checkClusterRefuses(t *testing.T, c cluster) {
	t.Helper()
	for name, tt := range map[string]struct{ manifest, complaint string }{
		"unknown field":     {"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {port: 80}}", "'port' not allowed"},
		"wrong type":        {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: two, selector: {}, template: {}}}", "want integer"},
		"missing field":     {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {}}}", "missing property 'selector'"},
		"unknown in a rule": {"{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: a}, spec: {groups: [{name: a, rule: []}]}}", "'rule' not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			var m map[string]any
			if err := yaml.Unmarshal([]byte(tt.manifest), &m); err != nil {
				t.Fatal(err)
			}
			apiVersion, _ := m["apiVersion"].(string)
			if err := c[apiVersion+" "+manifest(m).kind()].Validate(m); err == nil || !strings.Contains(err.Error(), tt.complaint) {
				t.Errorf("%v, want %q", err, tt.complaint)
			}
		})
	}
}

// checkRefusedValues checks Helm's messages for values that cannot work.
func checkRefusedValues(t *testing.T, h helm) {
	t.Helper()
	server := "existingSecret: {keys: {sql.dsn: dsn}}"
	for name, tt := range map[string]struct {
		values    []string
		complaint string
	}{
		"unknown value":            {[]string{"replicas: 2"}, "'replicas' not allowed"},
		"wrong type":               {[]string{"service: {port: http}"}, "at '/service/port'"},
		"unknown policy":           {[]string{"image: {pullPolicy: Sometimes}"}, "value must be one of 'Always'"},
		"no host":                  {[]string{"ingress: {enabled: true}"}, "at '/ingress/hosts': minItems"},
		"no token":                 {[]string{"existingSecret: {keys: {ops.token: null}}"}, "missing property 'ops.token'"},
		"replicas on SQLite":       {[]string{"replicaCount: 2"}, "SQLite is for a single process: set replicaCount to 1"},
		"autoscaling on SQLite":    {[]string{"autoscaling: {enabled: true}"}, "SQLite is for a single process"},
		"SQLite without a volume":  {[]string{"persistence: {enabled: false}"}, "SQLite without a volume loses all data"},
		"replicas on one's volume": {[]string{server, "replicaCount: 2"}, "set persistence.accessModes to [ReadWriteMany]"},
		"secret setting":           {[]string{"config: {sql: {dsn: \"postgres://u:p@h/d\"}}"}, "leave out sql.dsn, which is a secret"},
		"secret with a dot":        {[]string{"config: {ops.token: 0123456789abcdef}"}, "leave out ops.token, which is a secret"},
		"secret of another Secret": {[]string{"{existingSecret: {keys: {shop.secret: s}}, config: {shop: {secret: x}}}"}, "leave out shop.secret, which is a secret"},
		"the chart's setting":      {[]string{"config: {server: {drain_delay: 5s}}"}, "leave out server.drain_delay: set drain.delaySeconds"},
		"the chart's port":         {[]string{"config: {listen: \":80\"}"}, "leave out listen"},
		"all faults":               {[]string{"{replicaCount: 2, config: {sql.migrate: auto}}"}, "leave out sql.migrate: set migration.enabled\n  SQLite is for"},
		"fewest above most":        {[]string{everyChartValue, "autoscaling: {minReplicas: 11}"}, "autoscaling.maxReplicas is below"},
		"cpu without a request":    {[]string{everyChartValue, "{autoscaling: {metric: cpu}, resources: {requests: {cpu: null}}}"}, "set resources.requests.cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			if output, err := h.template(t, chartRoot, tt.values...); err == nil || !strings.Contains(output, tt.complaint) {
				t.Errorf("got %v\n%s\nwant %q", err, output, tt.complaint)
			}
		})
	}
}

// checkPackaged checks that the archive of the chart needs no file outside of it.
func checkPackaged(t *testing.T, h helm) {
	t.Helper()
	folder := t.TempDir()
	if output, err := h.run(t, "package", chartRoot, "--destination", folder); err != nil {
		t.Fatalf("helm package: %v\n%s", err, output)
	}
	archives, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("%q, %v", archives, err)
	}
	want, err := h.template(t, chartRoot, everyChartValue)
	if err != nil {
		t.Fatal(want)
	}
	if got, err := h.template(t, archives[0], everyChartValue); err != nil || got != want {
		t.Errorf("the archive gives other manifests than the folder (%v)", err)
	}
}

// checkHelmCommands runs the commands of the guide for operators that begin with "helm template" or
// "helm lint", with its values, at the root of the repository.
func checkHelmCommands(t *testing.T, h helm) {
	t.Helper()
	blocks, err := blocksOf(apptest.ReadFile(t, filepath.Join("..", "..", "cmd", "portico", "OPERATIONS.md")))
	if err != nil {
		t.Fatal(err)
	}
	folder, ran := t.TempDir(), 0
	values := filepath.Join(folder, "values.yaml")
	for _, b := range blocks {
		if text, ok := strings.CutPrefix(b.text, "# values.yaml\n"); ok {
			apptest.WriteFile(t, values, text)
		}
		for line := range strings.Lines(b.text) {
			arguments := strings.Fields(strings.ReplaceAll(line, "values.yaml", values))
			if b.language != "console" || len(arguments) < 2 || arguments[0] != "helm" || !slices.Contains([]string{"template", "lint"}, arguments[1]) {
				continue
			}
			for i, argument := range arguments {
				if argument == "config/helm/portico" {
					arguments[i] = chartRoot
				}
			}
			if output, err := h.run(t, arguments[1:]...); err != nil {
				t.Errorf("line %d: %s%v\n%s", b.line, line, err, output)
			}
			ran++
		}
	}
	if ran == 0 {
		t.Error("the guide has no command")
	}
}

// checkNotes checks that the notes name everything that is missing. Helm shows notes only with a
// cluster, so they are rendered in a chart of their own, as a template.
func checkNotes(t *testing.T, h helm) {
	t.Helper()
	chart := t.TempDir()
	files := map[string]string{
		"templates/notes.yaml": `notes: {{ include "notes" . | toJson }}`,
		"templates/_notes.tpl": `{{ define "notes" }}` + apptest.ReadFile(t, filepath.Join(chartRoot, "templates", "NOTES.txt")) + "{{ end }}",
	}
	for _, name := range []string{"Chart.yaml", "values.yaml", "templates/_names.tpl", "templates/_settings.tpl"} {
		files[name] = apptest.ReadFile(t, filepath.Join(chartRoot, name))
	}
	if err := os.Mkdir(filepath.Join(chart, "templates"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		apptest.WriteFile(t, filepath.Join(chart, name), text)
	}
	for name, tt := range map[string]struct {
		values string
		want   []string
	}{
		"defaults":   {"", []string{"create secret generic portico", "--from-file=ops-token=ops.token", "The database is SQLite"}},
		"everything": {everyChartValue, []string{"create secret generic shop-secrets", "portico_requests_per_second"}},
		"no volume":  {"{persistence: {enabled: false}, existingSecret: {keys: {sql.dsn: dsn}}}", []string{"images are lost"}},
		"no scraper": {"networkPolicy: {enabled: true}", []string{"networkPolicy.opsFromNamespaces"}},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := h.template(t, chart, tt.values)
			if err != nil {
				t.Fatal(output)
			}
			notes, _ := decodeManifests(t, output)[0]["notes"].(string)
			for _, want := range tt.want {
				if !strings.Contains(notes, want) {
					t.Errorf("the notes lack %q:\n%s", want, notes)
				}
			}
		})
	}
}
