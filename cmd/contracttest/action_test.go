package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// A githubAction is the part of an action.yml that the tests read.
type githubAction struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Runs struct {
		Steps []struct {
			Uses, Name, Shell, Run string
			Env                    map[string]string
		}
	}
}

// loadAction reads contracttests/action/action.yml.
func loadAction(t *testing.T) githubAction {
	t.Helper()
	var a githubAction
	if err := yaml.Unmarshal([]byte(apptest.ReadFile(t, "../../contracttests/action/action.yml")), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// inputExpression matches the expressions that the action uses.
var inputExpression = regexp.MustCompile(`\$\{\{ inputs\.([a-z-]+) \}\}`)

// runStep runs the shell of a step as GitHub does, with inputs for the action.
func (a *githubAction) runStep(t *testing.T, name, temp string, inputs map[string]string) (code int, output, summary string) {
	t.Helper()
	at := slices.IndexFunc(a.Runs.Steps, func(s struct {
		Uses, Name, Shell, Run string
		Env                    map[string]string
	}) bool {
		return s.Name == name
	})
	step := a.Runs.Steps[at]
	if step.Shell != "bash" || strings.Contains(step.Run, "${{") {
		t.Fatalf("step %s: shell %q, and no input may become part of a script", name, step.Shell)
	}
	actionPath, err := filepath.Abs("../../contracttests/action")
	if err != nil {
		t.Fatal(err)
	}
	summaryFile := filepath.Join(t.TempDir(), "summary.md")
	shell := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -ldflags=-w", "GITHUB_ACTIONS=true", "CI=true",
		"GITHUB_ACTION_PATH="+actionPath, "RUNNER_TEMP="+temp, "GITHUB_STEP_SUMMARY="+summaryFile)
	for variable, value := range step.Env {
		shell.Env = append(shell.Env, variable+"="+inputExpression.ReplaceAllStringFunc(value, func(expression string) string {
			input := inputExpression.FindStringSubmatch(expression)[1]
			declared, known := a.Inputs[input]
			if !known {
				t.Fatalf("%s uses the unknown input %s", name, input)
			}
			if given, ok := inputs[input]; ok {
				return given
			}
			return declared.Default
		}))
	}
	out, err := shell.CombinedOutput()
	if err != nil && shell.ProcessState == nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(summaryFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return shell.ProcessState.ExitCode(), string(out), string(data)
}

// TestAction runs the steps of the action with the environment that GitHub gives them.
func TestAction(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "bash")
	action := loadAction(t)
	temp := t.TempDir()
	if code, output, _ := action.runStep(t, "Build contracttest", temp, nil); code != 0 {
		t.Fatalf("exit code %d: %s", code, output)
	}
	base, _ := startPortico(t, "documented")
	wrong := newWrongServer(t)
	for _, tt := range []struct {
		name            string
		inputs          map[string]string
		code            int
		output, summary []string
	}{
		{"demo store", map[string]string{"url": base, "run": "^categories/", "reports": "out/reports"}, 0,
			[]string{"PASSED  "}, []string{"## Store REST contract: passed"}},
		{"credentials from a secret", map[string]string{"url": base, "clause": "^Gaps: credentials", "run": "/json$", "credentials-text": string(contracttests.DemoCredentialsFile())}, 0,
			[]string{"PASSED  "}, []string{"## Store REST contract: passed"}},
		{"wrong server", map[string]string{"url": wrong.URL + "/shop/index.php", "run": "^(addresses|categories)/"}, 1,
			[]string{"FAILED  "}, []string{"## Store REST contract: failed", "<details><summary>The same in "}},
		{"nothing listens", map[string]string{"url": "127.0.0.1:1"}, 2, []string{"nothing listens on 127.0.0.1:1"}, nil},
		{"not a URL", map[string]string{"url": "ftp://shop.example"}, 2, []string{"--url: the scheme must be http or https"}, nil},
		{"unknown dialect", map[string]string{"url": base, "dialect": "other"}, 2, []string{`--dialect: unknown dialect "other"`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, output, summary := action.runStep(t, "Test", temp, tt.inputs)
			if code != tt.code {
				t.Errorf("exit code %d, want %d:\n%s", code, tt.code, output)
			}
			for _, want := range tt.output {
				if !strings.Contains(output, want) {
					t.Errorf("the log has no %q:\n%s", want, output)
				}
			}
			for _, want := range tt.summary {
				if !strings.Contains(summary, want) {
					t.Errorf("the summary has no %q:\n%s", want, summary)
				}
			}
			start, _, _ := strings.Cut(output, "\n")
			if token, stopped := strings.CutPrefix(start, "::stop-commands::"); !stopped || len(token) != 32 || !strings.HasSuffix(output, "\n::"+token+"::\n") {
				t.Errorf("GitHub obeys commands of the tested server:\n%s", output)
			}
		})
	}
}

// TestActionInputs checks that each flag of the action exists, and that the workflow in the
// guide uses inputs that exist.
func TestActionInputs(t *testing.T) {
	t.Parallel()
	action := loadAction(t)
	flags := rootCommand().Flags()
	for _, step := range action.Runs.Steps {
		for variable := range step.Env {
			name, ok := strings.CutPrefix(variable, envPrefix)
			if name = strings.ToLower(strings.ReplaceAll(name, "_", "-")); ok && flags.Lookup(name) == nil {
				t.Errorf("the action sets %s, but there is no flag --%s", variable, name)
			}
		}
	}
	block := regexp.MustCompile("(?s)```yaml\n(# \\.github/workflows/.*?)```").FindStringSubmatch(apptest.ReadFile(t, "../../contracttests/README.md"))
	if block == nil {
		t.Fatal("the guide has no workflow")
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(block[1]), &workflow); err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, step := range workflow.Jobs["contract"].Steps {
		if !strings.Contains(step.Uses, "/contracttests/action@") {
			continue
		}
		used++
		for _, input := range slices.Sorted(maps.Keys(step.With)) {
			if _, known := action.Inputs[input]; !known {
				t.Errorf("the guide uses the unknown input %s", input)
			}
		}
		for input, declared := range action.Inputs {
			if declared.Required && step.With[input] == "" {
				t.Errorf("the guide does not set the input %s", input)
			}
		}
	}
	if used != 1 {
		t.Errorf("the guide uses the action %d times, want once", used)
	}
}
