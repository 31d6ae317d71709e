package repository

import (
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"go.yaml.in/yaml/v3"
)

// A composeFile has the parts of config/compose.yaml that the tests check.
type composeFile struct {
	Services map[string]struct {
		Build, Image             string
		EnvFile                  []string `yaml:"env_file"`
		Environment              map[string]string
		Ports, Volumes, Networks []string
		Secrets                  []struct{ Source, Target string }
		DependsOn                map[string]any `yaml:"depends_on"`
		Healthcheck              struct{ Test []string }
	}
	Networks, Volumes map[string]any
	Secrets           map[string]struct{ Environment string }
}

// substitution matches a variable of a compose file whose default, or message if it is missing,
// has no variable.
var substitution = regexp.MustCompile(`\$\{([A-Za-z_0-9]+)([^${}]*)\}`)

// substitute replaces the variables of a text, the innermost first.
func substitute(text string, replace func(name, operator, argument string) string) string {
	for substitution.MatchString(text) {
		text = substitution.ReplaceAllStringFunc(text, func(found string) string {
			parts := substitution.FindStringSubmatch(found)
			operator := parts[2][:min(2, len(parts[2]))]
			return replace(parts[1], operator, parts[2][len(operator):])
		})
	}
	return text
}

// readConfigFile decodes a file in the folder config, and returns its text.
func readConfigFile(t *testing.T, name string, into any) (text string) {
	t.Helper()
	text = apptest.ReadFile(t, filepath.Join("..", "..", "config", name))
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return text
}

// TestCompose checks that the files named in config/compose.yaml exist, and that the
// program accepts its settings.
func TestCompose(t *testing.T) {
	var file composeFile
	text := readConfigFile(t, "compose.yaml", &file)
	for _, name := range []string{"portico", "postgres", "redis", "prometheus", "grafana"} {
		if _, ok := file.Services[name]; !ok {
			t.Errorf("no service %s", name)
		}
	}
	usedVolumes := map[string]bool{}
	for name, s := range file.Services {
		if s.Build == "" && (!strings.Contains(s.Image, ":") || strings.HasSuffix(s.Image, ":latest")) {
			t.Errorf("%s: image %q has no version", name, s.Image)
		}
		if len(s.Healthcheck.Test) < 2 {
			t.Errorf("%s has no health check", name)
		}
		if s.Build != "" {
			if _, err := os.Stat(filepath.Join("..", "..", "config", s.Build, "Dockerfile")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, volume := range s.Volumes {
			source, target, _ := strings.Cut(volume, ":")
			if !strings.HasPrefix(source, ".") {
				if _, ok := file.Volumes[source]; !ok {
					t.Errorf("%s: volume %s is not declared", name, source)
				}
				usedVolumes[source] = true
				continue
			}
			if _, err := os.Stat(filepath.Join("..", "..", "config", source)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.HasSuffix(target, ":ro") {
				t.Errorf("%s may write to %s", name, source)
			}
		}
		for _, network := range s.Networks {
			if _, ok := file.Networks[network]; !ok {
				t.Errorf("%s: network %s is not declared", name, network)
			}
		}
		for _, secret := range s.Secrets {
			if _, ok := file.Secrets[secret.Source]; !ok {
				t.Errorf("%s: secret %s is not declared", name, secret.Source)
			}
		}
		for other := range s.DependsOn {
			if _, ok := file.Services[other]; !ok {
				t.Errorf("%s depends on %s, which is no service", name, other)
			}
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") || strings.HasSuffix(port, ":9464") {
				t.Errorf("%s publishes %s", name, port)
			}
		}
	}
	for name := range file.Volumes {
		if !usedVolumes[name] {
			t.Errorf("volume %s is not used", name)
		}
	}
	checkSubstitutions(t, text)
	checkComposeSettings(t, &file)
}

// checkSubstitutions checks that each value from the environment has a default or an error
// message, and that the beginning of the file names the variables without a default.
func checkSubstitutions(t *testing.T, text string) {
	t.Helper()
	all := 0
	substitute(text, func(name, operator, argument string) string {
		all++
		if argument == "" || operator != ":?" && operator != ":-" {
			t.Errorf("%s may be missing or empty", name)
		}
		if operator == ":?" && !strings.Contains(text, "#   export "+name+"=") {
			t.Errorf("the beginning of the file does not say to set %s", name)
		}
		return "x"
	})
	if all == 0 {
		t.Error("nothing comes from the environment")
	}
}

// TestComposeSettingsFile checks that the file of settings names every setting, without a value:
// docker compose takes the value from the environment. After a change of the settings run:
//
//	go test ./config/repository -run ComposeSettingsFile -update
func TestComposeSettingsFile(t *testing.T) {
	var want strings.Builder
	want.WriteString("# Every setting, each with its value in the environment, or in .env, if it has one there.\n# Written by TestComposeSettingsFile.\n")
	for _, s := range allSettings(t) {
		want.WriteString(s.Environment + "\n")
	}
	path := filepath.Join("..", "..", "config", "settings.env")
	if *update {
		if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), apptest.ReadFile(t, path)); diff != "" {
		t.Errorf("%s is out of date, run this test with -update (-want +got):\n%s", path, diff)
	}
}

// TestComposeModel checks with the library of docker compose that every setting of the environment
// reaches the container, and that the container has no other variables without it.
func TestComposeModel(t *testing.T) {
	testenv.OnlyNightly(t, "chart")
	tool := filepath.Join(t.TempDir(), "compose")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", tool, ".")
	build.Dir = filepath.Join("testdata", "compose")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	// A copy, which may have a file .env.
	folder := t.TempDir()
	for _, name := range []string{"compose.yaml", "settings.env"} {
		apptest.WriteFile(t, filepath.Join(folder, name), apptest.ReadFile(t, filepath.Join("..", "..", "config", name)))
	}
	demanded := []string{"PORTICO_OPS_TOKEN=" + apptest.OpsToken, "PORTICO_AUTH_SECRET_KEY=" + apptest.SecretKey, "POSTGRES_PASSWORD=p", "GRAFANA_PASSWORD=g"}
	var settings []string
	for _, s := range allSettings(t) {
		settings = append(settings, s.Environment+"=value-of-"+s.Name)
	}
	var file composeFile
	readConfigFile(t, "compose.yaml", &file)
	for _, tt := range []struct {
		name              string
		environ, dotEnv   []string
		reaches           []string // the variables and values that reach the container
		onlyThoseOfTheYML bool
	}{
		{"nothing but secrets", demanded, nil, demanded[:2], true},
		{"the environment", append(slices.Clone(demanded), settings...), nil, settings, false},
		{"a file .env", demanded, settings[2:], []string{"PORTICO_DIALECT=value-of-dialect"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			apptest.WriteFile(t, filepath.Join(folder, ".env"), strings.Join(tt.dotEnv, "\n")+"\n")
			command := exec.CommandContext(t.Context(), tool, filepath.Join(folder, "compose.yaml"))
			command.Env = tt.environ
			output, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			var project struct {
				Services map[string]struct{ Environment map[string]string }
			}
			apptest.Parse(t, string(output), &project)
			got := project.Services["portico"].Environment
			for _, want := range tt.reaches {
				if name, value, _ := strings.Cut(want, "="); got[name] != value {
					t.Errorf("%s is %q, want %q", name, got[name], value)
				}
			}
			if tt.onlyThoseOfTheYML && len(got) != len(file.Services["portico"].Environment) {
				t.Errorf("the container gets %v", got)
			}
		})
	}
}

// checkComposeSettings loads the settings of the service portico.
func checkComposeSettings(t *testing.T, file *composeFile) {
	t.Helper()
	given := map[string]string{
		"PORTICO_OPS_TOKEN": apptest.OpsToken, "PORTICO_AUTH_SECRET_KEY": apptest.SecretKey, "POSTGRES_PASSWORD": strings.Repeat("5e", 24),
	}
	known := map[string]bool{}
	for _, s := range allSettings(t) {
		known[s.Environment] = true
	}
	service := file.Services["portico"]
	if !slices.Equal(service.EnvFile, []string{"settings.env"}) {
		t.Errorf("the settings come from %q, not from settings.env", service.EnvFile)
	}
	environ := []string{"PORTICO_DIALECT=magento"} // as in settings.env
	for name, text := range service.Environment {
		if !known[name] {
			t.Errorf("%s is no setting", name)
		}
		if !strings.HasPrefix(text, "${"+name+":") {
			t.Errorf("%s in the environment does not reach the container", name)
		}
		environ = append(environ, name+"="+substitute(text, func(name, operator, argument string) string {
			if value, ok := given[name]; ok || operator == ":?" {
				return value
			}
			return argument
		}))
	}
	_, cfg := settingRows(t, environ...)
	if cfg["ops.token"].Value != "(set)" || cfg["auth.secret_key"].Value != "(set)" || cfg["adapter"].Value != "sql" || !slices.ContainsFunc(environ, func(entry string) bool {
		return strings.HasPrefix(entry, "PORTICO_SQL_DSN=postgres://") && strings.Contains(entry, "@postgres:")
	}) {
		t.Error("the secrets do not reach the settings")
	}
	if cfg["dialect"].Value != "magento" || !strings.HasPrefix(cfg["lists.spool_dir"].Value, "/data/") {
		t.Errorf("dialect %s, replies spooled to %s; want the dialect of the environment, and the volume", cfg["dialect"].Value, cfg["lists.spool_dir"].Value)
	}
	// The settings on which the other services rely.
	_, opsPort, err := net.SplitHostPort(cfg["ops.listen"].Value)
	if err != nil {
		t.Fatal(err)
	}
	var prometheus struct {
		ScrapeConfigs []struct {
			Authorization struct {
				CredentialsFile string `yaml:"credentials_file"`
			}
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	readConfigFile(t, filepath.Join("prometheus", "prometheus.yml"), &prometheus)
	if len(prometheus.ScrapeConfigs) == 0 || len(prometheus.ScrapeConfigs[0].StaticConfigs) == 0 {
		t.Fatal("Prometheus scrapes nothing")
	}
	scraped := prometheus.ScrapeConfigs[0]
	if !slices.Equal(scraped.StaticConfigs[0].Targets, []string{"portico:" + opsPort}) {
		t.Errorf("Prometheus scrapes %v", scraped.StaticConfigs[0].Targets)
	}
	token := path.Join("/etc/prometheus", scraped.Authorization.CredentialsFile)
	if secrets := file.Services["prometheus"].Secrets; len(secrets) != 1 || secrets[0].Target != token || file.Secrets[secrets[0].Source].Environment != "PORTICO_OPS_TOKEN" {
		t.Errorf("Prometheus takes its token from %s, and gets %v", token, secrets)
	}
}
