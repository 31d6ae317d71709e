package app

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/config"
)

// A composeFile has the parts of config/compose.yaml that the tests check.
type composeFile struct {
	Services map[string]struct {
		Build, Image             string
		Environment              map[string]string
		Ports, Volumes, Networks []string
		Secrets                  []string
		DependsOn                map[string]any `yaml:"depends_on"`
		Healthcheck              struct{ Test []string }
	}
	Networks, Volumes map[string]any
	Secrets           map[string]struct{ Environment string }
}

// substitution matches a variable of a compose file.
var substitution = regexp.MustCompile(`\$\{([A-Za-z_0-9]+)([^}]*)\}`)

// readConfigFile decodes a file in the folder config, and returns its text.
func readConfigFile(t *testing.T, name string, into any) (text string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(content)
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
			if _, err := os.Stat(filepath.Join("..", "..", "..", "config", s.Build, "Dockerfile")); err != nil {
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
			if _, err := os.Stat(filepath.Join("..", "..", "..", "config", source)); err != nil {
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
			if _, ok := file.Secrets[secret]; !ok {
				t.Errorf("%s: secret %s is not declared", name, secret)
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
// message.
func checkSubstitutions(t *testing.T, text string) {
	t.Helper()
	all := substitution.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		t.Error("nothing comes from the environment")
	}
	for _, found := range all {
		message, demanded := strings.CutPrefix(found[2], ":?")
		value, hasDefault := strings.CutPrefix(found[2], ":-")
		if !(demanded && message != "") && !(hasDefault && value != "") {
			t.Errorf("%s may be missing or empty", found[0])
		}
		if !strings.Contains(text, "#   export "+found[1]+"=") {
			t.Errorf("the beginning of the file does not say to set %s", found[1])
		}
	}
}

// checkComposeSettings loads the settings of the service portico.
func checkComposeSettings(t *testing.T, file *composeFile) {
	t.Helper()
	given := map[string]string{
		"PORTICO_OPS_TOKEN": opsToken, "PORTICO_AUTH_SECRET_KEY": secretKey, "POSTGRES_PASSWORD": strings.Repeat("5e", 24),
		"PORTICO_DIALECT": "magento",
	}
	known := map[string]bool{}
	for _, s := range newProgram().settings() {
		known[s.Variable()] = true
	}
	var environ []string
	for name, text := range file.Services["portico"].Environment {
		if !known[name] {
			t.Errorf("%s is no setting", name)
		}
		environ = append(environ, name+"="+substitution.ReplaceAllStringFunc(text, func(v string) string {
			return given[substitution.FindStringSubmatch(v)[1]]
		}))
	}
	cfg, err := config.Load(config.Sources{Sections: newProgram().sections(), Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.OpsToken != opsToken || len(cfg.Auth.SecretKey) == 0 || cfg.Adapter != "sql" ||
		!strings.HasPrefix(cfg.Sections["sql"]["dsn"], "postgres://") || !strings.Contains(cfg.Sections["sql"]["dsn"], "@postgres:") {
		t.Error("the secrets do not reach the settings")
	}
	if cfg.Dialect != "magento" || !strings.HasPrefix(cfg.Lists.SpoolDir, "/data/") {
		t.Errorf("dialect %s, replies spooled to %s; want the dialect of the environment, and the volume", cfg.Dialect, cfg.Lists.SpoolDir)
	}
	// The settings on which the other services rely.
	_, opsPort, err := net.SplitHostPort(cfg.OpsListen)
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
	secret := strings.TrimPrefix(scraped.Authorization.CredentialsFile, "/run/secrets/")
	if !slices.Contains(file.Services["prometheus"].Secrets, secret) || file.Secrets[secret].Environment != "PORTICO_OPS_TOKEN" {
		t.Errorf("Prometheus takes its token from %s", scraped.Authorization.CredentialsFile)
	}
}
