package repository

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/testenv"
)

// The versions of Helm, which renders the manifests of the chart, and of Kubernetes, whose
// schemas check them.
const (
	helmProgram       = "helm.sh/helm/v3/cmd/helm@v3.22.0"
	kubernetesVersion = "v1.37.2"
)

// everyChartValue switches on every feature of the chart, with replicas and a database server.
const everyChartValue = `
image: {repository: registry.internal/portico, digest: "sha256:` + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + `", pullSecrets: [{name: registry}]}
existingSecret:
  name: shop-secrets
  keys: {ops.token: token, auth.secret_key: key, sql.dsn: dsn, cache.redis_url: redis, rest.secret: backend}
config:
  dialect: magento
  adapter: rest
  public_url: https://shop.example.com/shop
  rest: {url: "http://medusa:9000", mapping: medusa}
  limits: {image_pixels: 40000000, guest_rate: 2.5}
  tracing.sample: 0.25
  log: {format: text}
  routes:
    - {resource: products, calls: reads, to: portico}
drain: {delaySeconds: 30, shutdownTimeoutSeconds: 60}
persistence: {accessModes: [ReadWriteMany], storageClass: nfs, size: 50Gi}
service: {type: LoadBalancer, annotations: {a: b}}
ingress: {enabled: true, className: nginx, annotations: {a: b}, hosts: [shop.example.com], tls: [{secretName: tls, hosts: [shop.example.com]}]}
autoscaling: {enabled: true}
networkPolicy:
  enabled: true
  publicFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}]
  opsFromNamespaces: [monitoring]
  restrictEgress: true
  egress: [{ports: [{protocol: TCP, port: 5432}], to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]
metrics: {serviceMonitor: {enabled: true, labels: {release: prometheus}}, prometheusRule: {enabled: true, labels: {release: prometheus}}}
serviceAccount: {annotations: {a: b}}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: shop, operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}
priorityClassName: high
podAnnotations: {a: b}
podLabels: {team: shop}
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy:3128"}]
extraVolumes: [{name: mapping, configMap: {name: mapping}}]
extraVolumeMounts: [{name: mapping, mountPath: /etc/mapping, readOnly: true}]
`

// TestChart renders the chart with Helm, and checks the manifests.
func TestChart(t *testing.T) {
	testenv.OnlyNightly(t, "chart")
	h := helm{path: installHelm(t)}
	if output, err := h.run(t, "lint", "--strict", chartRoot); err != nil {
		t.Errorf("helm lint: %v\n%s", err, output)
	}
	cluster := newCluster(t)
	t.Run("faults", func(t *testing.T) { checkClusterRefuses(t, cluster) })
	for name, values := range chartVariants() {
		t.Run(name, func(t *testing.T) {
			rendered, err := h.template(t, chartRoot, values...)
			if err != nil {
				t.Fatalf("%v\n%s", err, rendered)
			}
			manifests := decodeManifests(t, rendered)
			cluster.check(t, manifests)
			checkChartPods(t, manifests)
			checkChartRules(t, manifests)
		})
	}
	t.Run("every kind", func(t *testing.T) { checkEveryKind(t, h) })
	t.Run("refused", func(t *testing.T) { checkRefusedValues(t, h) })
	t.Run("notes", func(t *testing.T) { checkNotes(t, h) })
	t.Run("packaged", func(t *testing.T) { checkPackaged(t, h) })
	t.Run("guide", func(t *testing.T) { checkHelmCommands(t, h) })
}

// chartVariants returns values for which the chart is rendered; the later ones override.
func chartVariants() map[string][]string {
	return map[string][]string{
		"defaults":                {},
		"everything":              {everyChartValue},
		"scaled by cpu":           {everyChartValue, "autoscaling: {metric: cpu}"},
		"pods migrate":            {everyChartValue, "migration: {enabled: false}"},
		"no volume":               {everyChartValue, "persistence: {enabled: false}"},
		"one replica on a server": {"existingSecret: {keys: {sql.dsn: dsn}}"},
		"settings with dots":      {"config: {log.level: debug, server.read_timeout: 50s, sql.media_dir: /data/elsewhere, server: {}}"},
		"TLS and a claim":         {"{config: {server: {tls_cert: /data/tls.crt, tls_key: /data/tls.key}}, persistence: {existingClaim: store}}"},
	}
}

// A helm runs the program helm.
type helm struct{ path string }

// run runs a command, and returns its output.
func (h helm) run(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), h.path, arguments...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stderr.String(), err
	}
	return stdout.String(), nil
}

// template returns the manifests of a chart as YAML, or Helm's objections to the values.
func (h helm) template(t *testing.T, chart string, values ...string) (string, error) {
	t.Helper()
	arguments := []string{"template", "shop", chart}
	for _, text := range values {
		arguments = append(arguments, "--values", apptest.NewFile(t, "file.yaml", text))
	}
	return h.run(t, arguments...)
}

// installHelm builds Helm, and returns its path. This Helm renders for kubernetesVersion; the
// releases of Helm have such a version built in, too.
func installHelm(t *testing.T) (path string) {
	t.Helper()
	folder := t.TempDir()
	major, minor, _ := strings.Cut(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	var flags strings.Builder
	for _, of := range []string{"chartutil", "lint/rules"} {
		variable := " -X helm.sh/helm/v3/pkg/" + of + ".k8sVersion"
		flags.WriteString(variable + "Major=" + major + variable + "Minor=" + minor)
	}
	command := exec.CommandContext(t.Context(), "go", "install", "-ldflags", flags.String(), helmProgram)
	command.Env = append(os.Environ(), "GOBIN="+folder)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go install %s: %v\n%s", helmProgram, err, output)
	}
	return filepath.Join(folder, "helm")
}

// A manifest describes an object of Kubernetes.
type manifest map[string]any

// kind returns the kind of the object.
func (m manifest) kind() string { kind, _ := m["kind"].(string); return kind }

// at returns the value at a path of keys and indexes, or nil.
func (m manifest) at(path ...any) any {
	var value any = map[string]any(m)
	for _, step := range path {
		switch in := value.(type) {
		case map[string]any:
			key, _ := step.(string)
			value = in[key]
		case []any:
			index, ok := step.(int)
			if !ok || index >= len(in) {
				return nil
			}
			value = in[index]
		default:
			return nil
		}
	}
	return value
}

// decodeManifests decodes the documents of a YAML stream.
func decodeManifests(t *testing.T, text string) (all []manifest) {
	t.Helper()
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var m map[string]any
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if m != nil {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		t.Fatal("no manifests")
	}
	return all
}

// checkEveryKind checks that the variant with everything has an object of each template.
func checkEveryKind(t *testing.T, h helm) {
	t.Helper()
	text, err := h.template(t, chartRoot, everyChartValue)
	if err != nil {
		t.Fatal(text)
	}
	kinds := map[string]bool{}
	for _, m := range decodeManifests(t, text) {
		kinds[m.kind()] = true
	}
	want := []string{
		"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Ingress", "Job", "NetworkPolicy", "PersistentVolumeClaim", "Pod",
		"PodDisruptionBudget", "PrometheusRule", "Service", "ServiceAccount", "ServiceMonitor",
	}
	if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	templates, err := filepath.Glob(filepath.Join(chartRoot, "templates", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range templates {
		if !strings.Contains(text, "# Source: portico/templates/"+filepath.Base(path)+"\n") {
			t.Errorf("nothing comes from %s", path)
		}
	}
}

// checkChartPods checks the rules for pods that the cluster's schema lacks, and that the
// program accepts its configuration.
func checkChartPods(t *testing.T, manifests []manifest) {
	t.Helper()
	configs := map[any]any{}
	for _, m := range manifests {
		if m.kind() == "ConfigMap" {
			configs[m.at("metadata", "name")] = m.at("data", "portico.yaml")
		}
	}
	pods := 0
	for _, m := range manifests {
		spec, _ := m.at("spec", "template", "spec").(map[string]any)
		if m.kind() == "Pod" {
			spec, _ = m.at("spec").(map[string]any)
		}
		if spec == nil {
			continue
		}
		pods++
		pod := manifest(spec)
		for _, want := range []struct {
			path  []any
			value any
		}{
			{[]any{"automountServiceAccountToken"}, false},
			{[]any{"enableServiceLinks"}, false},
			{[]any{"securityContext", "runAsNonRoot"}, true},
			{[]any{"securityContext", "seccompProfile", "type"}, "RuntimeDefault"},
			{[]any{"containers", 0, "securityContext", "readOnlyRootFilesystem"}, true},
			{[]any{"containers", 0, "securityContext", "allowPrivilegeEscalation"}, false},
			{[]any{"containers", 0, "securityContext", "capabilities", "drop", 0}, "ALL"},
		} {
			if got := pod.at(want.path...); got != want.value {
				t.Errorf("%s: %v is %v, want %v", m.kind(), want.path, got, want.value)
			}
		}
		arguments, _ := pod.at("containers", 0, "args").([]any)
		if _, _, err := apptest.Run(t, arguments[0].(string), "--help"); err != nil {
			t.Errorf("%s: no command %v: %v", m.kind(), arguments[0], err)
		}
		if m.kind() == "Pod" {
			continue // the test needs no settings
		}
		cfg := loadPodConfig(t, pod, configs)
		if grace, ok := pod.at("terminationGracePeriodSeconds").(int); m.kind() == "Deployment" && (!ok || float64(grace) <= (durationOf(t, cfg["server.drain_delay"])+durationOf(t, cfg["server.shutdown_timeout"])).Seconds()) {
			t.Errorf("a pod is given %d seconds to end, and takes %s and %s", grace, cfg["server.drain_delay"].Value, cfg["server.shutdown_timeout"].Value)
		}
	}
	if pods == 0 {
		t.Error("no pods")
	}
}

// loadPodConfig loads the configuration of a pod as the program does, with secrets of its own.
func loadPodConfig(t *testing.T, pod manifest, configs map[any]any) map[string]config.Row {
	t.Helper()
	secrets := map[string]string{
		"PORTICO_OPS_TOKEN_FILE": apptest.OpsToken, "PORTICO_AUTH_SECRET_KEY_FILE": apptest.SecretKey, "PORTICO_SQL_DSN_FILE": "postgres://portico:x@db/portico",
		"PORTICO_CACHE_REDIS_URL_FILE": "redis://redis:6379/0", "PORTICO_REST_SECRET_FILE": "secret",
	}
	volumes, _ := pod.at("volumes").([]any)
	var file string
	for _, v := range volumes {
		if name := manifest(v.(map[string]any)).at("configMap", "name"); configs[name] != nil {
			file = apptest.NewFile(t, "file.yaml", configs[name].(string))
		}
	}
	var environ []string
	entries, _ := pod.at("containers", 0, "env").([]any)
	for _, e := range entries {
		entry := manifest(e.(map[string]any))
		name, _ := entry.at("name").(string)
		value, _ := entry.at("value").(string)
		switch {
		case name == "PORTICO_CONFIG":
			value = file
		case secrets[name] != "":
			value = apptest.NewFile(t, "file.yaml", secrets[name]+"\n")
		case strings.HasSuffix(name, "_FILE"):
			t.Errorf("no secret for %s", name)
		}
		environ = append(environ, name+"="+value)
	}
	_, cfg := settingRows(t, environ...)
	if cfg["ops.listen"].Value != ":9464" || cfg["listen"].Value != ":8080" || cfg["ops.token"].Value != "(set)" || cfg["auth.secret_key"].Value != "(set)" {
		t.Errorf("ports %s and %s, token %s; want those of the probes", cfg["listen"].Value, cfg["ops.listen"].Value, cfg["ops.token"].Value)
	}
	return cfg
}

// checkChartRules checks the alerts and recording rules with promtool.
func checkChartRules(t *testing.T, manifests []manifest) {
	t.Helper()
	testenv.Need(t, "promtool")
	for _, m := range manifests {
		if m.kind() != "PrometheusRule" {
			continue
		}
		text, err := yaml.Marshal(m["spec"])
		if err != nil {
			t.Fatal(err)
		}
		if output, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", apptest.NewFile(t, "file.yaml", string(text))).CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, output)
		}
	}
}
