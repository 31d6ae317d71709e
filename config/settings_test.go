package config_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/config"
)

func TestTableIsSound(t *testing.T) {
	variables := map[string]string{}
	for _, s := range config.Settings(adapterSections()...) {
		t.Run(s.Name, func(t *testing.T) {
			if other, ok := variables[s.Variable()]; ok {
				t.Errorf("%s is the variable of %s too", s.Variable(), other)
			}
			variables[s.Variable()] = s.Name
			if !regexp.MustCompile(`^[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)?$`).MatchString(s.Name) {
				t.Error("the name is not made of lower-case words")
			}
			if !strings.HasSuffix(s.Help, ".") {
				t.Errorf("the help %q is not a sentence", s.Help)
			}
			if s.Secret && s.Flag != "" {
				t.Error("a secret has a flag, so it shows in the list of processes")
			}
		})
	}
}

func TestVariable(t *testing.T) {
	tests := map[string]string{"listen": "PORTICO_LISTEN", "cache.redis_url": "PORTICO_CACHE_REDIS_URL"}
	for name, want := range tests {
		if got := (config.Setting{Name: name}).Variable(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestExampleInForce removes the "# " before every setting of the example file and checks
// that the result loads and contains only defaults.
func TestExampleInForce(t *testing.T) {
	settings := config.Settings(adapterSections()...)
	var example bytes.Buffer
	if err := config.WriteExample(&example, settings); err != nil {
		t.Fatal(err)
	}
	commented, err := config.Load(config.Sources{Sections: adapterSections(), File: writeFile(t, example.String())})
	if err != nil {
		t.Fatalf("as written: %v", err)
	}
	line := regexp.MustCompile(`(?m)^( *)# ([a-z_]+: )`)
	if found := len(line.FindAllString(example.String(), -1)); found != len(settings)+len(config.Tables()) {
		t.Errorf("%d settings and tables in the example, want %d", found, len(settings)+len(config.Tables()))
	}
	inForce, err := config.Load(config.Sources{Sections: adapterSections(), File: writeFile(t, line.ReplaceAllString(example.String(), "$1$2"))})
	if err != nil {
		t.Fatalf("in force: %v", err)
	}
	for _, r := range inForce.Rows() {
		if !strings.HasPrefix(r.Source, "portico.yaml:") {
			t.Errorf("%s comes from %s", r.Name, r.Source)
		}
	}
	if diff := cmp.Diff(commented, inForce, compareConfigs()...); diff != "" {
		t.Errorf("differs from the defaults:\n%s", diff)
	}
}

func TestListingsHideSecrets(t *testing.T) {
	c, err := config.Load(config.Sources{Sections: adapterSections(), Environ: []string{
		"PORTICO_OPS_TOKEN=a-token-of-sixteen", "PORTICO_SQL_DSN=postgres://u:dsn-password@h/d", "PORTICO_PUBLIC_URL=http://a",
	}})
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := config.WriteTable(&table, c.Rows()); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c.Rows())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"a-token-of-sixteen", "dsn-password"} {
		if strings.Contains(table.String()+string(text), secret) {
			t.Errorf("%q shows", secret)
		}
	}
	var rows []config.Row
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Rows(), rows); diff != "" {
		t.Errorf("JSON (-written +read):\n%s", diff)
	}
	lines := strings.Split(table.String(), "\n")
	at := func(name string) []string {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+" ") })
		if i < 0 {
			t.Fatalf("no line for %s", name)
		}
		return regexp.MustCompile(` {2,}`).Split(lines[i], -1)
	}
	for name, want := range map[string][]string{
		"SETTING":         {"SETTING", "VALUE", "SOURCE", "DEFAULT", "RELOAD"},
		"public_url":      {"public_url", "http://a", "environment", "-", "-"},
		"ops.token":       {"ops.token", "(set)", "environment", "-", "-"},
		"auth.secret_key": {"auth.secret_key", "(not set)", "default", "-", "-"},
	} {
		if diff := cmp.Diff(want, at(name)); diff != "" {
			t.Errorf("line of %s (-want +got):\n%s", name, diff)
		}
	}
	column := strings.Index(lines[0], "SOURCE")
	for _, line := range lines[1 : len(lines)-1] {
		if line[0] != ' ' && (line[column-1] != ' ' || line[column] == ' ') { // else it goes on from the line above
			t.Errorf("the column SOURCE is not aligned in %q", line)
		}
	}
}
