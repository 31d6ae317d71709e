package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A console runs commands in this process. It has the environment variables, as "NAME=value",
// that it adds to those of the process. Of two with the same name the last one counts.
type console []string

// with returns a console with more variables.
func (c console) with(variables ...string) console { return slices.Concat(c, variables) }

// get returns the value of a variable that the console adds.
func (c console) get(name string) string { return (&program{environ: c}).getenv(name) }

// testMemoryLimit keeps a server in this process from changing the memory limit of the tests.
const testMemoryLimit = "GOMEMLIMIT=off"

// run runs a command. It cancels commands that do not end.
func (c console) run(t testing.TB, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	return c.runWith(t, nil, 4*waitTimeout, arguments...) // a sweep takes 20 s
}

// runWith is run with in as standard input, for commands that may take longer.
func (c console) runWith(t testing.TB, in io.Reader, timeout time.Duration, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var out, warnings bytes.Buffer
	p := newProgram()
	p.environ = slices.Concat(p.environ, []string{testMemoryLimit}, c)
	root := p.rootCommand()
	root.SetArgs(arguments)
	root.SetIn(in)
	root.SetOut(&out)
	root.SetErr(&warnings)
	err = root.ExecuteContext(ctx)
	return out.String(), warnings.String(), err
}

// run runs a command in the environment of the process.
func run(t testing.TB, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	return console{}.run(t, arguments...)
}

// mustRun is the method of [console] in the environment of the process.
func mustRun(t testing.TB, arguments ...string) string {
	t.Helper()
	return console{}.mustRun(t, arguments...)
}

// mustRun runs a command that must succeed, and returns its standard output.
func (c console) mustRun(t testing.TB, arguments ...string) string {
	t.Helper()
	stdout, stderr, err := c.run(t, arguments...)
	if err != nil {
		t.Fatalf("portico %s: %v\n%s", strings.Join(arguments, " "), err, stderr)
	}
	return stdout
}

// TestRoutesCommand compares the output with the route table and with the source files it
// names.
func TestRoutesCommand(t *testing.T) {
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			var rows []routeRow
			if err := json.Unmarshal([]byte(mustRun(t, "routes", "--json", "--dialect", d.Name)), &rows); err != nil {
				t.Fatal(err)
			}
			printed := map[string]routeRow{}
			for _, row := range rows {
				printed[row.Method+" "+row.Path] = row
			}
			if len(printed) != len(rows) {
				t.Errorf("%d rows name only %d calls", len(rows), len(printed))
			}
			lines := strings.Split(strings.TrimSpace(mustRun(t, "routes", "--dialect", d.Name)), "\n")
			if len(lines) != len(rows)+1 {
				t.Errorf("the table has %d lines, want a heading and %d rows", len(lines), len(rows))
			}
			for i, line := range lines[1:] {
				checkRouteLine(t, line, rows[i])
			}
			for _, route := range contract.Routes(contract.StandardFields()) {
				for _, m := range contract.Methods() {
					row, shown := printed[m.String()+" "+route.Path]
					if want := roles(d, route, m); strings.Join(row.Roles, " ") != strings.Join(want, " ") {
						t.Errorf("%s %s: roles %v, want %v", m, route.Path, row.Roles, want)
					}
					if shown && (row.Handler != route.Calls[m] || row.Format != route.DefaultFormat(m).String()) {
						t.Errorf("%s %s: handler %q in %q", m, route.Path, row.Handler, row.Format)
					}
				}
			}
		})
	}
}

// checkRouteLine compares a line of the table with a row of the JSON output, and checks
// that the handler is at the position in the row.
func checkRouteLine(t *testing.T, line string, row routeRow) {
	t.Helper()
	want := []string{row.Method, row.Path, strings.Join(row.Roles, ","), row.Format, row.Handler, row.File}
	if got := strings.Join(strings.Fields(line), " "); got != strings.Join(want, " ") {
		t.Errorf("the line %q, want %q", got, want)
	}
	name, number, _ := strings.Cut(row.File, ":")
	source, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Error(err)
		return
	}
	at, err := strconv.Atoi(number)
	lines := strings.Split(string(source), "\n")
	if err != nil || at < 1 || at > len(lines) || !strings.Contains(lines[at-1], ") "+row.Handler+"(") {
		t.Errorf("%s is not at %s", row.Handler, row.File)
	}
}

// roles returns the names of the roles that the route serves.
func roles(d *contract.Dialect, route *contract.Route, m contract.Method) (names []string) {
	for _, role := range contract.Roles() {
		if route.Access(d, role, m) == contract.Serve {
			names = append(names, role.String())
		}
	}
	return names
}

const (
	secretKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	opsToken  = "a-token-nobody-knows"
)

// TestConfigCommand checks values, sources and defaults in the output, and that it shows
// no secrets.
func TestConfigCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "portico.yaml")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:7001\nlog:\n  level: warn\n  format: json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := console{"PORTICO_AUTH_SECRET_KEY=" + secretKey, "PORTICO_OPS_TOKEN=" + opsToken, "PORTICO_LOG_LEVEL=error"}
	arguments := []string{"config", "--config", file, "--log-level", "debug", "--dialect", "magento"}

	table := commands.mustRun(t, arguments...)
	asJSON := commands.mustRun(t, append(arguments, "--json")...)
	for _, printed := range []string{table, asJSON} {
		for _, secret := range []string{secretKey, opsToken} {
			if strings.Contains(printed, secret) {
				t.Errorf("a secret is shown in\n%s", printed)
			}
		}
	}
	var rows []config.Row
	if err := json.Unmarshal([]byte(asJSON), &rows); err != nil {
		t.Fatal(err)
	}
	byName := map[string]config.Row{}
	for _, row := range rows {
		byName[row.Name] = row
	}
	for _, s := range newProgram().settings() {
		row, shown := byName[s.Name]
		if !shown || row.Default != s.Default || row.Environment != s.Variable() || row.Help == "" {
			t.Errorf("%s: %+v", s.Name, row)
		}
		if !strings.Contains(table, "\n"+s.Name+" ") {
			t.Errorf("%s has no line in the table", s.Name)
		}
	}
	for name, want := range map[string][2]string{
		"auth.secret_key":   {"(set)", "environment PORTICO_AUTH_SECRET_KEY"},
		"ops.token":         {"(set)", "environment PORTICO_OPS_TOKEN"},
		"dialect":           {"magento", "flag --dialect"},
		"listen":            {"127.0.0.1:7001", file + ":1"},
		"log.format":        {"json", file + ":4"},
		"log.level":         {"debug", "flag --log-level"},
		"limits.body_bytes": {"16MiB", "default"},
		"sql.dsn":           {"sqlite:portico.db", "default"},
	} {
		if row := byName[name]; row.Value != want[0] || row.Source != want[1] {
			t.Errorf("%s is %q from %q, want %q from %q", name, row.Value, row.Source, want[0], want[1])
		}
	}
	if example := mustRun(t, "config", "--example"); !strings.Contains(example, "# dsn: sqlite:portico.db") {
		t.Errorf("the example file lacks the adapter's settings:\n%s", example)
	}
}

// TestVersionCommand checks that "portico version" prints the build, as text and as JSON.
func TestVersionCommand(t *testing.T) {
	build := newProgram().build
	for _, asJSON := range []bool{false, true} {
		var want strings.Builder
		if err := build.Write(&want, "portico", asJSON); err != nil {
			t.Fatal(err)
		}
		if got := mustRun(t, "version", fmt.Sprintf("--json=%t", asJSON)); got != want.String() {
			t.Errorf("version prints %q, want %q", got, want.String())
		}
	}
}

// TestRefusals checks that wrong commands fail with a helpful message and leave no files
// behind.
func TestRefusals(t *testing.T) {
	const demoIsPublic = "its credentials are public"
	free := []string{"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}
	tests := []struct {
		name      string
		arguments []string
		environ   map[string]string
		want      []string // parts of the message
	}{
		{name: "demo on every interface", arguments: []string{"serve", "--demo", "--listen", ":0", "--ops-listen", "127.0.0.1:0"}, want: []string{demoIsPublic, "--demo-public"}},
		{name: "demo on 0.0.0.0", arguments: []string{"serve", "--demo", "--listen", "0.0.0.0:0", "--ops-listen", "127.0.0.1:0"}, want: []string{demoIsPublic, "0.0.0.0:0"}},
		{name: "demo on IPv6", arguments: []string{"serve", "--demo", "--listen", "[::]:0", "--ops-listen", "127.0.0.1:0"}, want: []string{demoIsPublic}},
		{name: "demo on another host", arguments: []string{"serve", "--demo", "--listen", "192.0.2.1:0", "--ops-listen", "127.0.0.1:0"}, want: []string{demoIsPublic}},
		{name: "demo by a name", arguments: []string{"serve", "--demo", "--listen", "portico.example:0", "--ops-listen", "127.0.0.1:0"}, want: []string{demoIsPublic}},
		{name: "demo by the environment", arguments: []string{"serve", "--demo"}, environ: map[string]string{"PORTICO_LISTEN": "0.0.0.0:0"}, want: []string{demoIsPublic}},
		{name: "operators' port of a demo", arguments: []string{"serve", "--demo", "--listen", "127.0.0.1:0", "--ops-listen", "0.0.0.0:0"},
			environ: map[string]string{"PORTICO_OPS_TOKEN": opsToken}, want: []string{demoIsPublic}},
		{name: "public operators' port without a token", arguments: []string{"serve", "--demo", "--demo-public", "--listen", "127.0.0.1:0", "--ops-listen", "0.0.0.0:0"},
			want: []string{"ops.token", "must be set"}},
		{name: "dialect", arguments: append([]string{"serve", "--demo", "--dialect", "soap"}, free...), want: []string{"flag --dialect", `"soap" must be one of documented, magento`}},
		{name: "dialect of routes", arguments: []string{"routes", "--dialect", "soap"}, want: []string{`dialect: "soap"`, "documented, magento"}},
		{name: "log level", arguments: append([]string{"serve", "--demo", "--log-level", "loud"}, free...), want: []string{"flag --log-level", "debug, info, warn, error"}},
		{name: "log format", arguments: append([]string{"serve", "--demo", "--log-format", "xml"}, free...), want: []string{"flag --log-format", "text, json"}},
		{name: "address", arguments: []string{"serve", "--demo", "--listen", "8080"}, want: []string{"flag --listen", "must be host:port"}},
		{name: "same port twice", arguments: []string{"serve", "--demo", "--listen", "127.0.0.1:7070", "--ops-listen", "127.0.0.1:7070"}, want: []string{"ops.listen", "must differ"}},
		{name: "unknown flag", arguments: []string{"serve", "--demos"}, want: []string{"unknown flag: --demos"}},
		{name: "argument too many", arguments: []string{"serve", "demo"}, want: []string{"demo"}},
		{name: "unknown command", arguments: []string{"server"}, want: []string{`unknown command "server"`}},
		{name: "no such file of settings", arguments: []string{"serve", "--demo", "--config", "missing.yaml"}, want: []string{"missing.yaml", "no such file"}},
		{name: "misspelt setting", arguments: []string{"serve", "--demo"}, environ: map[string]string{"PORTICO_LISTENN": "x"}, want: []string{"PORTICO_LISTENN", "did you mean PORTICO_LISTEN?"}},
		{name: "database that cannot be", arguments: append([]string{"serve"}, free...), environ: map[string]string{"PORTICO_SQL_DSN": "sqlite:"}, want: []string{"environment PORTICO_SQL_DSN: sql.dsn", "must be \"sqlite:\""}},
		{name: "database in no folder", arguments: append([]string{"serve"}, free...), environ: map[string]string{"PORTICO_SQL_DSN": "sqlite:/no/such/folder/p.db"}, want: []string{"sql.dsn", "PORTICO_SQL_DSN"}},
		{name: "seed without a file", arguments: []string{"seed"}, want: []string{"dataset"}},
		{name: "token of nobody", arguments: []string{"credentials", "add-token", "--consumer", "x"}, want: []string{"admin", "customer"}},
		{name: "token of two", arguments: []string{"credentials", "add-token", "--consumer", "x", "--admin", "1", "--customer", "1"}, want: []string{"admin", "customer"}},
		{name: "consumer without a name", arguments: []string{"credentials", "add-consumer"}, want: []string{"name"}},
		{name: "revoke nothing", arguments: []string{"credentials", "revoke"}, want: []string{"accepts 1 arg"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("TMPDIR", t.TempDir())
			for name, value := range tt.environ {
				t.Setenv(name, value)
			}
			stdout, _, err := run(t, tt.arguments...)
			if err == nil {
				t.Fatalf("the command succeeds:\n%s", stdout)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message lacks %q:\n%v", want, err)
				}
			}
			for _, folder := range []string{".", os.TempDir()} {
				if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
					t.Errorf("left behind: %v %v", left, err)
				}
			}
		})
	}
}

// TestAllFaultsAreReported checks that one run reports the faults of file, environment and
// flags together.
func TestAllFaultsAreReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "portico.yaml")
	if err := os.WriteFile(file, []byte("colour: red\nlimits:\n  body_bytes: plenty\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := console{"PORTICO_AUTH_SECRET_KEY=short-secret", "PORTICO_STOCK_BACKORDERS=7"}
	_, _, err := commands.run(t, "serve", "--config", file, "--dialect", "soap", "--ops-listen", "0.0.0.0:1")
	if err == nil {
		t.Fatal("the command succeeds")
	}
	for _, want := range []string{"faults in the configuration: 6", file + ":1: colour", file + ":3: limits.body_bytes", "auth.secret_key", "stock.backorders", "dialect",
		"ops.token", `"portico config" lists every setting`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "short-secret") {
		t.Errorf("the message shows a secret:\n%v", err)
	}
}

// TestPortInUse checks the error if one of the two ports is in use.
func TestPortInUse(t *testing.T) {
	for flag, other := range map[string]string{"--listen": "--ops-listen", "--ops-listen": "--listen"} {
		t.Run(flag, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = taken.Close() }()
			_, _, err = run(t, "serve", "--demo", flag, taken.Addr().String(), other, "127.0.0.1:0")
			if err == nil {
				t.Fatal("the command succeeds")
			}
			variable := "PORTICO_" + strings.ToUpper(strings.ReplaceAll(flag[2:], "-", "_"))
			for _, want := range []string{taken.Addr().String(), "in use", fmt.Sprintf("(%s, %s)", flag, variable), "free address"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message lacks %q:\n%v", want, err)
				}
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}
