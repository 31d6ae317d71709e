package program

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// TestDemoCurlLines runs the example commands that the demo store prints, and checks that the
// first needs no credentials and that no line is long.
func TestDemoCurlLines(t *testing.T) {
	testenv.Need(t, "curl")
	tests := []struct {
		name      string
		arguments []string
		environ   []string
		root      string // of XML
		hint      bool   // whether the output mentions the other dialect
	}{
		{name: "documented", root: "service_api", hint: true},
		{name: "magento", arguments: []string{"--dialect", "magento"}, root: "magento_api"},
		{name: "token of the operators' port", environ: []string{"PORTICO_OPS_TOKEN=" + apptest.OpsToken}, root: "service_api", hint: true},
		{name: "every interface", arguments: []string{"--listen", "0.0.0.0:0", "--demo-public"}, root: "service_api", hint: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := apptest.Start(t, tt.environ, append([]string{"--demo"}, tt.arguments...)...)
			printed := p.Stdout.Text()
			for line := range strings.Lines(printed) {
				if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 100 {
					t.Errorf("longer than 100 characters: %s", line)
				}
			}
			examples := printedExamples(printed)
			if len(examples) != 3 {
				t.Fatalf("%d examples, want 3:\n%s", len(examples), printed)
			}
			guest, console := strings.Index(printed, examples[0]), strings.Index(printed, "\n  console     "+p.Ops+"/\n")
			if guest < 0 || console < guest || strings.Index(printed, "contract ") < console || strings.Index(printed, "secret") < console {
				t.Errorf("a Guest's call and the console do not come first:\n%s", printed)
			}
			before := apptest.StockQty(t, p.Contract, apptest.DemoAdmin())
			if got := shell(t, tt.environ, examples[0]); strings.Count(got, `"sku":`) != 2 {
				t.Errorf("the first example is answered by\n%s", got)
			}
			if got := shell(t, tt.environ, examples[1]); strings.Count(got, `"item_id":`) != 2 || !strings.Contains(got, "<"+tt.root+">\n  <success>") || !strings.Contains(got, "Resource updated successful.") {
				t.Errorf("the second example is answered by\n%s", got)
			}
			if got := apptest.StockQty(t, p.Contract, apptest.DemoAdmin()); got != "5.0000" || got == before {
				t.Errorf("after the second example there are %s, want 5.0000; before it there were %s", got, before)
			}
			if got := shell(t, tt.environ, examples[2]); !strings.HasPrefix(got, "reset in ") {
				t.Errorf("the third example is answered by\n%s", got)
			}
			if got := apptest.StockQty(t, p.Contract, apptest.DemoAdmin()); got != before {
				t.Errorf("after the reset there are %s, want %s", got, before)
			}
			p.Stop(t)
			said := p.Stdout.Text()
			if hint := strings.Contains(said, "start with --dialect magento"); hint != tt.hint {
				t.Errorf("hint at --dialect magento: %t, want %t, in\n%s", hint, tt.hint, said)
			}
			for _, credential := range strings.Split("abcdef12", "") {
				if !strings.Contains(said, " "+strings.Repeat(credential, 32)) {
					t.Errorf("the demo credential %s… is not printed", credential)
				}
			}
			if strings.Contains(said+p.Stderr.Text(), apptest.OpsToken) {
				t.Error("the token of the operators' port is printed")
			}
		})
	}
}

// TestDemoWithoutPlaintext checks that the printed example commands work if PLAINTEXT is
// refused, too.
func TestDemoWithoutPlaintext(t *testing.T) {
	testenv.Need(t, "curl")
	p := apptest.Start(t, []string{"PORTICO_AUTH_REFUSE_PLAINTEXT=true"}, "--demo")
	got := apptest.Send(t, "GET", p.Contract+"/api/rest/stockitems/1", "", "Accept", "application/json", "Authorization", apptest.DemoAdmin())
	if got.Status != http.StatusUnauthorized || !strings.Contains(got.Body, `"oauth_problem=signature_method_rejected"`) {
		t.Errorf("PLAINTEXT is answered %d %s", got.Status, got.Body)
	}
	examples := printedExamples(p.Stdout.Text())
	if len(examples) != 2 {
		t.Fatalf("%d examples, want 2:\n%s", len(examples), p.Stdout.Text())
	}
	if got := shell(t, nil, examples[0]); strings.Count(got, `"sku":`) != 2 {
		t.Errorf("the first example is answered by\n%s", got)
	}
	if got := shell(t, nil, examples[1]); !strings.HasPrefix(got, "reset in ") {
		t.Errorf("the second example is answered by\n%s", got)
	}
}

// printedExamples returns the commands that the demo store prints, one text for each paragraph.
func printedExamples(printed string) []string {
	var examples []string
	for paragraph := range strings.SplitSeq(printed, "\n\n") {
		if _, commands, _ := strings.Cut(paragraph, ":\n"); strings.HasPrefix(commands, "  curl ") || strings.HasPrefix(commands, "  me=") {
			examples = append(examples, commands)
		}
	}
	return examples
}

// shell runs a command line and returns its output.
func shell(t *testing.T, environ []string, line string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", line)
	command.Env = append(append(os.Environ(), "NO_PROXY=*"), environ...)
	got, err := command.Output()
	if err != nil {
		t.Fatalf("%s\n%v", line, err)
	}
	return string(got)
}

// TestDemoLeavesNothing checks that the demo store removes its temporary files at the end.
func TestDemoLeavesNothing(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := apptest.Start(t, nil, "--demo")
			made, err := filepath.Glob(filepath.Join(p.Temporary, "*"))
			if err != nil || len(made) != 1 {
				t.Fatalf("%d temporary folders, want 1 (%v)", len(made), err)
			}
			if info, err := os.Stat(made[0]); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("mode %v (%v), want one for the owner alone", info.Mode(), err)
			}
			p.Signal(t, signal)
			if code := p.Wait(t); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			if left, err := os.ReadDir(p.Temporary); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
			if left, err := os.ReadDir(p.Cmd.Dir); err != nil || len(left) > 0 {
				t.Errorf("left behind where it was started: %v (%v)", left, err)
			}
		})
	}
}

// TestLogFormats checks the log line of a call in each format.
func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{"json": `"resource":"stock_items","request_id":"order-17","path":`, "text": "msg=request call=getStockItem method=GET status=200 role=admin resource=stock_items request_id=order-17 path="} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p := apptest.Start(t, nil, "--demo", "--log-format", format)
			apptest.Send(t, "GET", p.Contract+"/api/rest/stockitems/1", "", "Accept", "application/json", "Authorization", apptest.DemoAdmin(), "X-Request-Id", "order-17")
			var cached []string
			for _, id := range []string{"guest-1", "guest-2"} {
				r := apptest.Send(t, "GET", p.Contract+"/api/rest/products/1", "", "Accept", "application/json", "X-Request-Id", id)
				cached = append(cached, "cache\\W+"+r.Header.Get("X-Cache")+"\\W+request_id\\W+"+id)
			}
			p.Stop(t)
			said := p.Stderr.Text()
			for _, line := range []string{"started", "stopping"} {
				if !regexp.MustCompile(`msg\W+` + line + `\W+version\W+\S+\W+dialect\W+documented\W+adapter\W+sql\W+database\W+temporary\b`).MatchString(said) {
					t.Errorf("no line %q in\n%s", line, said)
				}
			}
			if !strings.Contains(said, want) {
				t.Errorf("no %q in\n%s", want, said)
			}
			if !regexp.MustCompile(strings.Join(cached, `\b.*\n.*`)).MatchString(said) || strings.HasSuffix(cached[1], "MISS") {
				t.Errorf("no %q in\n%s", cached, said)
			}
		})
	}
	t.Run("nothing below the level", func(t *testing.T) {
		t.Parallel()
		p := apptest.Start(t, nil, "--demo", "--log-level", "error")
		apptest.StockQty(t, p.Contract, apptest.DemoAdmin())
		p.Stop(t)
		if said := p.Stderr.Text(); said != "" {
			t.Errorf("logged:\n%s", said)
		}
	})
}
