package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/buildinfo"
	"github.com/portico-commerce/portico/contracttests"
)

// execute runs the program in this process.
func execute(t *testing.T, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := rootCommand()
	cmd.SetArgs(arguments)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// TestVersion checks that the command "version" prints the build, as text and as JSON.
func TestVersion(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var want strings.Builder
		if err := buildinfo.Read().Write(&want, "contracttest", asJSON); err != nil {
			t.Fatal(err)
		}
		if got, _, err := execute(t, "version", fmt.Sprintf("--json=%t", asJSON)); err != nil || got != want.String() {
			t.Errorf("got %q, %v, want %q", got, err, want.String())
		}
	}
}

// TestInvalidFlags checks that errors in flags and files are reported before the first
// request.
func TestInvalidFlags(t *testing.T) {
	t.Parallel()
	called := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was called", r.URL)
	}))
	defer called.Close()
	const secret = "hunter22hunter22"
	files := map[string]string{
		"credentials.yaml": "admin: {bearer: " + secret + ", token: " + secret + "}",
		"fixtures.yaml":    "websiet: 1",
		"expected.yaml":    "- {call: createOrder, field: sku, reason: x}",
		"gaps.yaml":        "- {case: '^nothing$', reason: x}",
		"plain.pem":        "no certificate",
		"bad.json":         "{}",
		"large":            strings.Repeat(" ", maxFileSize+1),
	}
	folder := t.TempDir()
	for name, content := range files {
		apptest.WriteFile(t, filepath.Join(folder, name), content)
	}
	in := func(name string) string { return filepath.Join(folder, name) }
	for _, tt := range []struct {
		name      string
		arguments []string
		want      string
	}{
		{"no URL", []string{"--url", ""}, "--url is not set: give the base URL of the implementation"},
		{"argument", []string{"http://h"}, `unknown command "http://h"`},
		{"unknown flag", []string{"--ulr", "x"}, "unknown flag: --ulr"},
		{"integers", []string{"--integers", "numbers"}, `--integers must be text or number, not "numbers"`},
		{"integers of the document", []string{"--integers", "number"}, `--integers number needs another --dialect`},
		{"dialect", []string{"--dialect", "shopware"}, `--dialect: unknown dialect "shopware": must be documented, magento or openmage`},
		{"timeout", []string{"--timeout", "0s"}, "--timeout must be greater than 0s"},
		{"parallel", []string{"--parallel", "0"}, "--parallel must be at least 1"},
		{"run", []string{"--run", "("}, "--run: error parsing regexp"},
		{"credentials", []string{"--credentials", in("credentials.yaml")}, "credentials.yaml: credentials:1: admin needs exactly one of these: token and secret, bearer"},
		{"no credentials", []string{"--credentials", in("none.yaml")}, "none.yaml: no such file"},
		{"large credentials", []string{"--credentials", in("large")}, "is larger than"},
		{"fixtures", []string{"--fixtures", in("fixtures.yaml")}, `fixtures: no case uses the name "websiet"`},
		{"no fixtures", []string{"--fixtures", in("none.yaml")}, "none.yaml: no such file"},
		{"expected", []string{"--expect", in("expected.yaml")}, `expected.yaml:1: [0].call names no call`},
		{"gaps", []string{"--skip", in("gaps.yaml")}, `gaps.yaml: entry 1: no case matches "^nothing$"`},
		{"exchanges", []string{"--exchanges", folder}, "bad.json: json: cannot unmarshal"},
		{"no exchanges", []string{"--exchanges", in("none")}, "no files of exchanges"},
		{"CA", []string{"--ca", in("plain.pem")}, "plain.pem holds no certificate in PEM"},
		{"CA and insecure", []string{"--ca", in("plain.pem"), "--insecure"}, "give one of the two"},
		{"reset and read-only", []string{"--reset", "true", "--read-only"}, "give one of the two"},
		{"report nowhere", []string{"--junit", in("none/report.xml")}, "--junit: folder"},
		{"report into a folder", []string{"--html", folder}, "--html: " + folder + " is a folder"},
		{"two reports", []string{"--junit", "-", "--json", "-"}, "only one report can go to standard output"},
		{"record without input", []string{"record"}, "requires at least 1 arg"},
		{"record without output", []string{"record", in("bad.json")}, "-o is not set: name the file or folder to write"},
		{"record of no list", []string{"record", in("bad.json"), "-o", in("out.json")}, "bad.json: json: cannot unmarshal"},
		{"record twice", []string{"record", in("bad.json"), in("../" + filepath.Base(folder) + "/bad.json"), "-o", in("out")}, "would both be written to"},
		{"list of a dialect", []string{"list", "--dialect", "x"}, `--dialect: unknown dialect "x": must be documented, magento or openmage`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			arguments := tt.arguments
			if tt.arguments[0] != "list" {
				arguments = append(arguments, "--url", called.URL)
			}
			if tt.name == "no URL" {
				arguments = tt.arguments
			}
			stdout, stderr, err := execute(t, arguments...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			if strings.Contains(err.Error()+stdout+stderr, secret) {
				t.Errorf("the output contains a secret: %v %s %s", err, stdout, stderr)
			}
			if stdout != "" {
				t.Errorf("stdout %q, want nothing", stdout)
			}
		})
	}
}

// TestFlagsFromEnvironment checks that environment variables set the flags that the
// command line does not set.
func TestFlagsFromEnvironment(t *testing.T) {
	flagsOf := func(arguments ...string) (*pflag.FlagSet, *runOptions) {
		var o runOptions
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.target.addFlags(flags)
		o.addFlags(flags)
		if err := flags.Parse(arguments); err != nil {
			t.Fatal(err)
		}
		return flags, &o
	}
	environ := map[string]string{"CONTRACTTEST_URL": "http://a", "CONTRACTTEST_READ_ONLY": "true", "CONTRACTTEST_DIALECT": "magento", "CONTRACTTEST_JUNIT": ""}
	flags, o := flagsOf("--dialect", "documented")
	if err := setFromEnvironment(flags, func(name string) string { return environ[name] }); err != nil {
		t.Fatal(err)
	}
	if o.target.url != "http://a" || !o.readOnly || o.target.dialect != "documented" || o.junit != "" {
		t.Errorf("options %+v", o)
	}
	environ = map[string]string{"CONTRACTTEST_PARALLEL": "many", "CONTRACTTEST_TIMEOUT": "1"}
	err := setFromEnvironment(flags, func(name string) string { return environ[name] })
	if want := "CONTRACTTEST_PARALLEL: \"many\" is not a valid value of --parallel\nCONTRACTTEST_TIMEOUT: \"1\" is not a valid value of --timeout"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestLoadStore checks that the fixtures of the demo store are used only with its
// credentials.
func TestLoadStore(t *testing.T) {
	folder := t.TempDir()
	file := func(name string, content []byte) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	demoCredentials := file("demo-credentials.yaml", contracttests.DemoCredentialsFile())
	demoFixtures := file("demo-fixtures.yaml", contracttests.DemoFixtureFile())
	bearer, website := file("bearer.yaml", []byte("admin: {bearer: b}")), file("website.yaml", []byte("website: 1"))
	for _, tt := range []struct {
		name, credentials, fixtures string
		demo                        bool
	}{
		{"no flags", "", "", true},
		{"the demo's credentials", demoCredentials, "", true},
		{"other credentials", bearer, "", false},
		{"other credentials, the demo's fixtures", bearer, demoFixtures, true},
		{"other credentials and fixtures", bearer, website, false},
		{"other fixtures", "", website, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := targetOptions{credentials: tt.credentials, fixtures: tt.fixtures}
			var target contracttests.Target
			demo, err := o.loadStore(nil, &target)
			if err != nil || demo != tt.demo {
				t.Errorf("demo %t and error %v, want %t", demo, err, tt.demo)
			}
		})
	}
	t.Run("standard input", func(t *testing.T) {
		cmd := rootCommand()
		cmd.SetIn(strings.NewReader("customer_2: {bearer: b}"))
		o := targetOptions{credentials: "-"}
		var target contracttests.Target
		if _, err := o.loadStore(cmd, &target); err != nil || !target.Credentials.Has("customer_2") || target.Credentials.Has("admin") {
			t.Errorf("credentials are not those of standard input, error %v", err)
		}
	})
}

// TestParallel checks the default of --parallel. Cases run concurrently only if the store
// cannot be the original, whose indexers fail then.
func TestParallel(t *testing.T) {
	credentials := filepath.Join(t.TempDir(), "credentials.yaml")
	if err := os.WriteFile(credentials, []byte("admin: {bearer: b}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		arguments []string
		environ   string
		want      int
	}{
		{"demo store", nil, "", 4},
		{"demo store in magento, which may be the original", []string{"--dialect", "magento"}, "", 1},
		{"another store", []string{"--credentials", credentials}, "", 1},
		{"another store, by flag", []string{"--credentials", credentials, "--parallel", "3"}, "", 3},
		{"demo store, by environment", nil, "2", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var o runOptions
			cmd := &cobra.Command{}
			cmd.SetErr(io.Discard)
			o.target.addFlags(cmd.Flags())
			o.addFlags(cmd.Flags())
			if err := cmd.ParseFlags(append([]string{"--url", "http://127.0.0.1:1"}, tt.arguments...)); err != nil {
				t.Fatal(err)
			}
			environ := map[string]string{"CONTRACTTEST_PARALLEL": tt.environ}
			if err := setFromEnvironment(cmd.Flags(), func(name string) string { return environ[name] }); err != nil {
				t.Fatal(err)
			}
			p, err := o.plan(cmd)
			if err != nil {
				t.Fatal(err)
			}
			if p.options.Parallel != tt.want {
				t.Errorf("%d cases at the same time, want %d", p.options.Parallel, tt.want)
			}
		})
	}
}

// TestParseGaps checks the errors for invalid files of gaps, and which cases a gap
// matches.
func TestParseGaps(t *testing.T) {
	cases := []contracttests.Result{{Resource: "orders", Name: "a", Format: "json"}, {Resource: "customers", Name: "b", Format: "xml"}}
	for _, tt := range []struct{ name, file, want string }{
		{"none", "# nothing", ""},
		{"one", "- {case: ^orders/, reason: later}", ""},
		{"no reason", "- case: ^orders/", `entry 1 ("^orders/") needs both a case and a reason`},
		{"empty reason", "- {case: ^orders/, reason: ' '}", "needs both"},
		{"no case", "- reason: later", "needs both"},
		{"no expression", "- {case: '(', reason: x}", "entry 1: error parsing regexp"},
		{"no such case", "- {case: ^orders/, reason: x}\n- {case: stores, reason: x}", `entry 2: no case matches "stores"`},
		{"other key", "- {case: a, reason: b, until: c}", "not a list of {case: REGEX, reason: sentence}"},
		{"no list", "case: a", "not a list of"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseGaps([]byte(tt.file), cases)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	gaps, err := parseGaps([]byte("- {case: ^orders/, reason: later}"), cases)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"orders/a/json": "declared gap: later", "customers/b/xml": ""} {
		if got := gaps.reasonFor(id); got != want {
			t.Errorf("%s: reason %q, want %q", id, got, want)
		}
	}
}

// TestReset checks a reset by POST and the errors for its replies.
func TestReset(t *testing.T) {
	var last *http.Request
	status := http.StatusOK
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = w.Write([]byte("what it says\n"))
	}))
	defer srv.Close()
	config := &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	for _, tt := range []struct {
		status int
		want   string
	}{
		{204, ""},
		{302, `answers 302 Found: "what it says"`},
		{401, "answers 401 Unauthorized: set its token in CONTRACTTEST_RESET_TOKEN"},
		{500, `answers 500 Internal Server Error: "what it says"`},
	} {
		status = tt.status
		err := newResetFunc(srv.URL+"/reset", "the-token", config)(t.Context())
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "--reset: ")) {
			t.Errorf("%d: error %v, want %q", tt.status, err, tt.want)
		}
		if last.Method != http.MethodPost || last.URL.Path != "/reset" || last.Header.Get("Authorization") != "Bearer the-token" {
			t.Errorf("%s %s was called with %q", last.Method, last.URL, last.Header)
		}
	}
	if err := newResetFunc("http://127.0.0.1:1/", "", nil)(t.Context()); err == nil {
		t.Error("no error although nothing listens there")
	}
}

// TestResetByCommand checks a reset by a shell command and the error that shows its
// output.
func TestResetByCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // without a shell
	}
	made := filepath.Join(t.TempDir(), "made")
	if err := newResetFunc("touch '"+made+"' && true", "", nil)(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(made); err != nil {
		t.Error(err)
	}
	err := newResetFunc("seq 1000; echo 'disk full' >&2; exit 3", "", nil)(t.Context())
	if err == nil || !strings.Contains(err.Error(), "--reset: exit status 3: ") || !strings.HasSuffix(err.Error(), `disk full"`) || len(err.Error()) > 2*maxOutputShown {
		t.Errorf("error %v, want one with the end of the output", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newResetFunc("true", "", nil)(ctx); err == nil {
		t.Error("the command ran in spite of the canceled context")
	}
}

// TestTLS checks which certificates --ca and --insecure accept.
func TestTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	ca := apptest.NewFile(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})))
	for name, tt := range map[string]struct {
		o  targetOptions
		ok bool
	}{"nothing": {targetOptions{}, false}, "insecure": {targetOptions{insecure: true}, true}, "authority": {targetOptions{ca: ca}, true}} {
		config, err := contracttests.Trust(tt.o.ca, tt.o.insecure)
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		response, err := client.Get(srv.URL)
		if err == nil {
			_ = response.Body.Close()
		}
		client.CloseIdleConnections()
		if (err == nil) != tt.ok {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestTemplatesParse checks that the printed templates are valid credentials and
// fixtures.
func TestTemplatesParse(t *testing.T) {
	credentials, _, err := execute(t, "credentials")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := contracttests.ParseCredentials([]byte(credentials)); err != nil {
		t.Error(err)
	}
	fixtures, _, err := execute(t, "fixtures")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := contracttests.ParseFixtures([]byte(fixtures)); err != nil {
		t.Error(err)
	}
}

// TestList checks that the list has all cases and clauses, as text and as JSON.
func TestList(t *testing.T) {
	text, _, err := execute(t, "list")
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := execute(t, "list", "--json", "--dialect", "magento")
	if err != nil {
		t.Fatal(err)
	}
	var l listing
	apptest.Parse(t, out, &l)
	if len(l.Cases) == 0 || len(l.Clauses) < 100 {
		t.Fatalf("%d cases and %d clauses", len(l.Cases), len(l.Clauses))
	}
	first := l.Cases[0]
	if first.Name == "" || len(first.Formats) == 0 || len(first.Clauses) == 0 || !strings.Contains(text, "  "+first.Name+" (") {
		t.Errorf("case %+v is not in the text", first)
	}
	shown, unshown := false, false
	for _, c := range l.Clauses {
		if !strings.Contains(text, c.Clause) {
			t.Errorf("clause %q is not in the text", c.Clause)
		}
		shown = shown || c.Clause == first.Clauses[0] && c.Cases > 0
		unshown = unshown || c.Untestable != "" && strings.Contains(text, "not covered: "+c.Clause+": "+c.Untestable+"\n")
	}
	if !shown || !unshown || !strings.Contains(text, " rows of the document are covered.\n") {
		t.Errorf("shown %t, unshown %t", shown, unshown)
	}
}

// TestREADME checks that the table of flags in contracttests/README.md has exactly the
// flags of the program.
func TestREADME(t *testing.T) {
	path := filepath.Join("..", "..", "contracttests", "README.md")
	named := map[string]bool{}
	for line := range strings.Lines(apptest.ReadFile(t, path)) {
		if flag, ok := strings.CutPrefix(line, "| `--"); ok {
			named[flag[:strings.IndexAny(flag, " `")]] = true
		}
	}
	root := rootCommand()
	root.Flags().VisitAll(func(f *pflag.Flag) {
		if !named[f.Name] {
			t.Errorf("%s does not name --%s", path, f.Name)
		}
		delete(named, f.Name)
	})
	for name := range named {
		t.Errorf("%s names --%s, which does not exist", path, name)
	}
}
