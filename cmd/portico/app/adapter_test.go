package app

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestNamesOfAdapters checks the rules for the names that a program of another module may give its
// adapters.
func TestNamesOfAdapters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		options []Option
		invalid bool
	}{
		{"built in only", nil, false},
		{"one of each", []Option{WithBackend(program.Backend{Name: "csv"}), WithAdapter(program.Adapter{Name: "warehouse2"})}, false},
		{"twice", []Option{WithBackend(program.Backend{Name: "csv"}), WithAdapter(program.Adapter{Name: "csv"})}, true},
		{"of a built-in backend", []Option{WithBackend(program.Backend{Name: "rest"})}, true},
		{"of the database", []Option{WithAdapter(program.Adapter{Name: "sql"})}, true},
		{"of a section of settings", []Option{WithAdapter(program.Adapter{Name: "cache"})}, true},
		{"of a setting", []Option{WithAdapter(program.Adapter{Name: "dialect"})}, true},
		{"none", []Option{WithAdapter(program.Adapter{})}, true},
		{"upper case", []Option{WithAdapter(program.Adapter{Name: "Warehouse"})}, true},
		{"a dot", []Option{WithAdapter(program.Adapter{Name: "ware.house"})}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := newProgram(tt.options...).CheckNames(); (err != nil) != tt.invalid {
				t.Errorf("error %v, want one: %t", err, tt.invalid)
			}
		})
	}
}

// noRecords is an adapter that offers no resource.
type noRecords struct{}

func (noRecords) Name() string               { return "empty" }
func (noRecords) Ping(context.Context) error { return nil }
func (noRecords) Close() error               { return nil }
func (noRecords) Store(r adapter.Resource) (adapter.Store, error) {
	return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "store " + string(r)}
}

// TestOwnAdapter runs commands with an adapter of another module.
func TestOwnAdapter(t *testing.T) {
	t.Chdir(t.TempDir())
	run := func(arguments ...string) (string, error) {
		root := rootCommand(newProgram(WithAdapter(program.Adapter{
			Name: "empty", Settings: []config.Setting{{Name: "file", Kind: config.Text, Default: "x.json", Help: "A file."}},
			Open: func(context.Context, *program.Environment) (adapter.Adapter, error) { return noRecords{}, nil },
		})))
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(arguments)
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	for _, tt := range []struct {
		name, arguments, want string
		fails                 bool
	}{
		{"settings", "config --adapter empty", "x.json", false},
		{"routes", "routes --adapter empty", "not offered", false},
		{"routes of the database", "routes", "mapping/handlers/orders.go", false},
		{"routes in JSON", "routes --adapter empty --json", `"not_offered": true`, false},
		{"cases of calls that are not offered", "routes --adapter empty --gaps", `- case: ^orders/`, false},
		{"seed", "seed --adapter empty --dataset none.json", "has stores of its own", true},
		{"ids", "ids check --adapter empty", "has no backend", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := run(strings.Fields(tt.arguments)...)
			if err != nil {
				out += err.Error()
			}
			if (err != nil) != tt.fails || !strings.Contains(out, tt.want) {
				t.Errorf("error %v, output without %q:\n%s", err, tt.want, out)
			}
		})
	}
	if out, err := run("routes", "--gaps"); err != nil || !strings.HasSuffix(out, "\n[]\n") {
		t.Errorf("%v: the database has no gaps:\n%s", err, out)
	}
	if out, err := run("routes"); err != nil || strings.Contains(out, "not offered") {
		t.Errorf("%v: the database offers every resource:\n%s", err, out)
	}
}

// TestGaps checks that exactly the cases that call orders are printed as gaps.
func TestGaps(t *testing.T) {
	t.Parallel()
	suite := apptest.Suite(t)
	table := contract.NewTable(contract.Routes(contract.StandardFields()))
	var missing []*contract.Route
	for _, r := range contract.Routes(contract.StandardFields()) {
		if strings.HasPrefix(r.Path, "/orders") {
			missing = append(missing, r)
		}
	}
	var out bytes.Buffer
	if err := writeGaps(&out, "empty", missing); err != nil {
		t.Fatal(err)
	}
	var gaps []struct{ Case, Reason string }
	if err := yaml.Unmarshal(out.Bytes(), &gaps); err != nil {
		t.Fatal(err)
	}
	matches := make([]int, len(gaps))
	for _, c := range suite.CaseCalls() {
		calls := slices.ContainsFunc(c.Paths, func(path string) bool {
			called, _ := table.Match(path)
			return called != nil && strings.HasPrefix(called.Path, "/orders")
		})
		is := false
		for i, g := range gaps {
			if regexp.MustCompile(g.Case).MatchString(c.Resource + "/" + c.Name + "/json") {
				matches[i]++
				is = true
			}
		}
		if is != calls {
			t.Errorf("%s/%s: a gap %t, calls orders %t", c.Resource, c.Name, is, calls)
		}
	}
	if len(gaps) == 0 || slices.Contains(matches, 0) {
		t.Errorf("gaps without cases: %v of\n%s", matches, out.String())
	}
}
