package app

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// checkExit fails the test unless a command has ended with an exit code.
func checkExit(t *testing.T, err error, code int) {
	t.Helper()
	if got := apptest.ExitCode(err); got != code {
		t.Errorf("exit code %d, want %d: %v", got, code, err)
	}
}

// TestMappingCheck runs "portico mapping check" on files with faults, with warnings and with
// neither.
func TestMappingCheck(t *testing.T) {
	t.Parallel()
	rest := strings.Replace(apptest.PeopleMapping, "group_id: 1, ", "", 1)
	for _, c := range []struct {
		name, content string
		code          int
		want          string // in the output
		levels        string // of the remarks in JSON
	}{
		{"notes", apptest.PeopleMapping, 0, "people.yaml has no faults\n", "note note note"},
		{"a warning", rest, 0, "people.yaml:6: warning: resources.customers gives no value of group_id, ", "warning note note note"},
		{"faults", strings.NewReplacer("id: id", "idd: id", "key: .number", "key: .number[").Replace(apptest.PeopleMapping), 1, "resources.customers.idd is unknown; ", "fault fault fault"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := apptest.NewFile(t, "people.yaml", c.content)
			out, stderr, err := apptest.Environment{}.Run(t, "mapping", "check", file)
			checkExit(t, err, c.code)
			if !strings.Contains(out, c.want) || strings.Contains(out, "has no faults") != (c.code == 0) {
				t.Errorf("printed %s%s, want %q", out, stderr, c.want)
			}
			out, _, err = apptest.Environment{"PORTICO_REST_MAPPING=" + file}.Run(t, "mapping", "check", "--json")
			checkExit(t, err, c.code)
			var remarks []reststore.Remark
			apptest.Parse(t, out, &remarks)
			var levels []string
			for _, r := range remarks {
				levels = append(levels, string(r.Level))
			}
			if got := strings.Join(levels, " "); got != c.levels {
				t.Errorf("levels %q, want %q:\n%s", got, c.levels, out)
			}
		})
	}
	_, _, err := apptest.Environment{}.Run(t, "mapping", "check", "./missing.yaml")
	checkExit(t, err, program.ExitCannotRun)
}

// TestMappingTry runs "portico mapping try" on complete records, on incomplete ones, and on one
// that does not exist.
func TestMappingTry(t *testing.T) {
	t.Parallel()
	number := int64(7)
	server := httptest.NewServer(apptest.NewPeople(apptest.Person{ID: "ada", Number: &number, Email: "ada@example.com\u009b31m", Name: "Ada"}))
	t.Cleanup(server.Close)
	file := apptest.NewFile(t, "people.yaml", apptest.PeopleMapping)
	lacking := apptest.NewFile(t, "lacking.yaml", strings.Replace(apptest.PeopleMapping, "website_id: 1, group_id: 1, ", "", 1))
	leftOut := apptest.NewFile(t, "left.yaml", strings.Replace(apptest.PeopleMapping, "firstname: .name}", "firstname: [.name]}", 1))
	with := []string{"mapping", "try", "--rest-url", server.URL, "--resource", "customers"}
	for _, c := range []struct {
		name      string
		arguments []string
		code      int
		want      []string // in the output
	}{
		{"by id", []string{file, "--id", "ada"}, 0, []string{
			"fetch customers: GET " + server.URL + "/people?ids=ada\n  status 200\n", `"name": "Ada"`, `customers "ada", which carries the legacy id 7`, `read  "ada@example.com�31m"`, "rest  1\n"}},
		{"by legacy id", []string{file, "--key", "7"}, 0, []string{"find customers: GET " + server.URL + "/people?number=7\n"}},
		{"lacking values", []string{lacking, "--id", "ada"}, 1, []string{
			"  customers.group_id has no value and no default: map it in read, or give one in rest\n", "  customers.website_id has no value"}},
		{"a value that does not fit", []string{leftOut, "--id", "ada"}, 1, []string{"\nleft out\n", "firstname of customers is not a string\n"}},
		{"no record", []string{file, "--id", "eve"}, 1, []string{"/people?ids=eve\n"}},
		{"another resource", []string{file, "--id", "ada", "--resource", "products"}, 2, nil},
		{"no URL", []string{file, "--id", "ada", "--rest-url", ""}, 2, nil},
		{"a mapping with faults", []string{apptest.NewFile(t, "ill.yaml", "name: x\n"), "--id", "ada"}, 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			arguments := slices.Concat(with, c.arguments)
			out, stderr, err := apptest.Environment{}.Run(t, arguments...)
			checkExit(t, err, c.code)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("printed %s%s, want %q", out, stderr, want)
				}
			}
			out, _, err = apptest.Environment{}.Run(t, append(arguments, "--json")...)
			checkExit(t, err, c.code)
			if c.code < 2 && !json.Valid([]byte(out)) {
				t.Errorf("printed %s", out)
			}
		})
	}
}

// TestMappingNew checks that the file of "portico mapping new" has neither faults nor warnings,
// agrees with the JSON Schema of "portico mapping schema", and is not overwritten.
func TestMappingNew(t *testing.T) {
	t.Chdir(t.TempDir())
	schema := adaptertest.CompileSchema(t, apptest.MustRun(t, "mapping", "schema"))
	var all []string
	for _, r := range adapter.Resources() {
		if r != adapter.Admins {
			all = append(all, string(r))
		}
	}
	for name, arguments := range map[string][]string{
		"usual": nil, "graphql": {"--graphql"},
		"whole": {"--resources", strings.Join(all, ",")}, "wholegraphql": {"--graphql", "--resources", strings.Join(all, ",")},
	} {
		apptest.MustRun(t, append([]string{"mapping", "new", name}, arguments...)...)
		content, err := os.ReadFile(name + ".yaml")
		var v any
		if err == nil {
			err = yaml.Unmarshal(content, &v)
		}
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if printed := apptest.MustRun(t, append([]string{"mapping", "new", name, "--stdout"}, arguments...)...); printed != string(content) {
			t.Errorf("%s: prints\n%s", name, printed)
		}
		if out := apptest.MustRun(t, "mapping", "check", "./"+name+".yaml"); strings.Contains(out, "warning: ") {
			t.Errorf("%s: %s", name, out)
		}
	}
	for _, c := range []struct{ name, arguments, want string }{
		{"a file that exists", "usual", "file exists: choose another name"},
		{"a name that is a path", "../shop", "must consist of lower-case letters"},
		{"an unknown resource", "shop --resources clients", `no resource "clients": use some of websites, `},
		{"a part without its root", "shop --resources stock_items", "stock_items are parts of products: add these"},
		{"no resource", "shop --resources=", "name a resource"},
	} {
		_, _, err := apptest.Run(t, append([]string{"mapping", "new"}, strings.Fields(c.arguments)...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
