package app

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
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
