package app

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestRoutesCommand compares the output with the route table and with the source files it
// names.
func TestRoutesCommand(t *testing.T) {
	t.Parallel()
	for _, d := range contract.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			var rows []routeRow
			apptest.Parse(t, apptest.MustRun(t, "routes", "--json", "--dialect", d.Name), &rows)
			printed := map[string]routeRow{}
			for _, row := range rows {
				printed[row.Method+" "+row.Path] = row
			}
			if len(printed) != len(rows) {
				t.Errorf("%d rows name only %d calls", len(rows), len(printed))
			}
			lines := strings.Split(strings.TrimSpace(apptest.MustRun(t, "routes", "--dialect", d.Name)), "\n")
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

// checkRouteLine compares a line of the table with a row of the JSON output, and checks that the
// handler, an exported method of the same name, is at the position in the row, and that a write
// names an existing file of rules or "none", and a read names no file.
func checkRouteLine(t *testing.T, line string, row routeRow) {
	t.Helper()
	want := []string{row.Method, row.Path, strings.Join(row.Roles, ","), row.Format, row.Handler, row.File, cmp.Or(row.Rule, "-")}
	if got := strings.Join(strings.Fields(line), " "); got != strings.Join(want, " ") {
		t.Errorf("the line %q, want %q", got, want)
	}
	if (row.Method == "GET") != (row.Rule == "") {
		t.Errorf("%s: the rule is %q", row.Handler, row.Rule)
	}
	if row.Rule != "" && row.Rule != "none" {
		_, err := os.Stat(filepath.Join("..", "..", "..", filepath.FromSlash(row.Rule)))
		if err != nil || !strings.HasPrefix(row.Rule, "adapter/rules/") {
			t.Errorf("%s: rule %q: %v", row.Handler, row.Rule, err)
		}
	}
	name, number, _ := strings.Cut(row.File, ":")
	source, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Error(err)
		return
	}
	at, err := strconv.Atoi(number)
	lines := strings.Split(string(source), "\n")
	if err != nil || at < 1 || at > len(lines) || !strings.Contains(lines[at-1], ") "+strings.ToUpper(row.Handler[:1])+row.Handler[1:]+"(") {
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

// TestConfigCommand checks values, sources and defaults in the output, and that it shows
// no secrets.
func TestConfigCommand(t *testing.T) {
	t.Parallel()
	file := apptest.NewFile(t, "portico.yaml", "listen: 127.0.0.1:7001\nlog:\n  level: warn\n  format: json\n")
	commands := apptest.Environment{"PORTICO_AUTH_SECRET_KEY=" + apptest.SecretKey, "PORTICO_OPS_TOKEN=" + apptest.OpsToken, "PORTICO_LOG_LEVEL=error"}
	arguments := []string{"config", "--config", file, "--log-level", "debug", "--dialect", "magento"}

	table := commands.MustRun(t, arguments...)
	asJSON := commands.MustRun(t, append(arguments, "--json")...)
	for _, printed := range []string{table, asJSON} {
		for _, secret := range []string{apptest.SecretKey, apptest.OpsToken} {
			if strings.Contains(printed, secret) {
				t.Errorf("a secret is shown in\n%s", printed)
			}
		}
	}
	var rows []config.Row
	apptest.Parse(t, asJSON, &rows)
	byName := map[string]config.Row{}
	for _, row := range rows {
		byName[row.Name] = row
	}
	for _, s := range newProgram().Settings() {
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
	if example := apptest.MustRun(t, "config", "--example"); !strings.Contains(example, "# dsn: sqlite:portico.db") {
		t.Errorf("the example file lacks the adapter's settings:\n%s", example)
	}
}

// TestVersionCommand checks that "portico version" prints the build, as text and as JSON.
func TestVersionCommand(t *testing.T) {
	build := newProgram().Build
	for _, asJSON := range []bool{false, true} {
		var want strings.Builder
		if err := build.Write(&want, "portico", asJSON); err != nil {
			t.Fatal(err)
		}
		if got := apptest.MustRun(t, "version", fmt.Sprintf("--json=%t", asJSON)); got != want.String() {
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
			environ: map[string]string{"PORTICO_OPS_TOKEN": apptest.OpsToken}, want: []string{demoIsPublic}},
		{name: "public operators' port without a token", arguments: []string{"serve", "--demo", "--demo-public", "--listen", "127.0.0.1:0", "--ops-listen", "0.0.0.0:0"},
			want: []string{"ops.token", "must be set"}},
		{name: "dialect", arguments: append([]string{"serve", "--demo", "--dialect", "soap"}, free...), want: []string{"flag --dialect", `"soap" must be one of documented, magento, openmage`}},
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
			stdout, _, err := apptest.Run(t, tt.arguments...)
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
	t.Parallel()
	file := apptest.NewFile(t, "portico.yaml", "colour: red\nlimits:\n  body_bytes: plenty\n")
	commands := apptest.Environment{"PORTICO_AUTH_SECRET_KEY=short-secret", "PORTICO_STOCK_BACKORDERS=7"}
	_, _, err := commands.Run(t, "serve", "--config", file, "--dialect", "soap", "--ops-listen", "0.0.0.0:1")
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
			_, _, err = apptest.Run(t, "serve", "--demo", flag, taken.Addr().String(), other, "127.0.0.1:0")
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
