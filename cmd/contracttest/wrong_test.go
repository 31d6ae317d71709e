package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// newWrongServer serves an unfinished implementation: it answers every call, and each reply has
// several faults.
func newWrongServer(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json") // without a charset, and JSON for everybody
		switch path := strings.TrimPrefix(r.URL.Path, "/shop/index.php/api/rest"); {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusCreated) // the contract wants 200, and a Location
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case r.Header.Get("Authorization") == "" && !strings.HasPrefix(path, "/products"):
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"messages":{"error":[{"code":401,"message":"::error::who are you?"}]}}`)
		case strings.Count(path, "/") == 1:
			_, _ = io.WriteString(w, `{"1": {"entity_id": 1, "sku": "kettle-steel"}}`) // blanks, and a number
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"not found"}`)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

// newAlmostRightServer serves a demo store with two faults: the status of changes, and the
// media type of JSON.
func newAlmostRightServer(t *testing.T) *httptest.Server {
	t.Helper()
	base, _ := startPortico(t, "documented")
	proxy := apptest.ProxyTo(t, base)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodPut && r.StatusCode == http.StatusOK {
			r.StatusCode = http.StatusAccepted
		}
		if r.Request.Method == http.MethodGet && strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			r.Header.Set("Content-Type", "application/json")
		}
		return nil
	}
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	return srv
}

// jsonReport is the part of a JSON report that the tests read.
type jsonReport struct {
	URL    string
	Failed int
	Causes []struct {
		Cause string
		Runs  []string
	}
}

// TestWrongServer checks the reports for an unfinished implementation: all cases fail, for few
// causes.
func TestWrongServer(t *testing.T) {
	t.Parallel()
	srv := newWrongServer(t)
	folder := t.TempDir()
	jsonFile, summaryFile := filepath.Join(folder, "report.json"), filepath.Join(folder, "summary.md")
	address := strings.TrimPrefix(srv.URL, "http://") + "/shop/index.php/api/rest/"
	p := startProcess(t, "--url", address, "--run", "^(addresses|categories|wire)/", "--json", jsonFile, "--markdown", summaryFile)
	if code := p.Wait(t); code != 1 {
		t.Fatalf("exit code %d, want 1", code)
	}
	screen := p.Stdout.Text()
	if want := fmt.Sprintf("testing %s/shop/index.php/api/rest, dialect documented\n", srv.URL); !strings.HasPrefix(screen, want) {
		t.Errorf("the first line is %.100q, want %q", screen, want)
	}
	var r jsonReport
	apptest.Parse(t, apptest.ReadFile(t, jsonFile), &r)
	runs := 0
	for _, c := range r.Causes {
		runs += len(c.Runs)
	}
	if r.Failed < 50 || runs != r.Failed || len(r.Causes) > 12 {
		t.Errorf("%d failures, of which %d have one of %d causes; want more than 50, all, and at most 12", r.Failed, runs, len(r.Causes))
	}
	if got := strings.Count(screen, "FAILED  ") - 2; got != len(r.Causes) {
		t.Errorf("%d failures are shown in full, want one for each of the %d causes", got, len(r.Causes))
	}
	if lines := strings.Count(screen, "\n"); lines > 500 {
		t.Errorf("the report has %d lines", lines)
	}
	for _, want := range []string{"status of an accepted POST: want 200, got 201\n", "no charset in the Content-Type of JSON: want application/json; charset=utf-8, got application/json\n", "   no answer  product_categories (404)\n"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if summary := apptest.ReadFile(t, summaryFile); strings.Count(summary, "\n### ") < len(r.Causes) {
		t.Errorf("the summary does not show all causes: %.200s", summary)
	}
}

// TestRepeatCommands pastes the commands in the reports of failures into a shell, and checks that
// they fail in the same way, with signatures of the methods PLAINTEXT and HMAC-SHA1.
func TestRepeatCommands(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "curl")
	srv := newAlmostRightServer(t)
	for _, method := range testenv.Rows(t, []string{"PLAINTEXT", "HMAC-SHA1"}, 2) {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			credentials := apptest.NewFile(t, "shop's credentials.yaml", strings.Replace(string(contracttests.DemoCredentialsFile()), "signature: PLAINTEXT", "signature: "+method, 1))
			p := startProcess(t, "--url", srv.URL, "--credentials", credentials, "--run", "^stockitems/.*/json$")
			if code := p.Wait(t); code != 1 {
				t.Fatalf("exit code %d, want 1", code)
			}
			screen := p.Stdout.Text()
			if strings.Contains(screen, "dddddddd") {
				t.Errorf("the report has a secret:\n%s", screen)
			}
			ids := regexp.MustCompile(`(?m)^FAILED  (stockitems/.*)$`).FindAllStringSubmatch(screen, -1)
			cases := linesAfter(screen, "  repeat the case:\n")
			requests := linesAfter(screen, "  repeat the request:\n")
			if len(ids) == 0 || len(cases) != len(ids) || len(requests) != len(ids) {
				t.Fatalf("%d failures, %d commands for cases and %d for requests:\n%s", len(ids), len(cases), len(requests), screen)
			}
			for i, line := range cases {
				code, output := pasteIntoShell(t, line)
				if code != 1 || !strings.Contains(output, "FAILED  "+ids[i][1]+"\n") || !strings.Contains(output, "FAILED  1 run: 0 passed, 1 failed") {
					t.Errorf("exit code %d of\n%s\n%s", code, line, output)
				}
			}
			for _, line := range requests {
				code, output := pasteIntoShell(t, line)
				isWrong := strings.Contains(output, "HTTP/1.1 202 ") || strings.Contains(output, "Content-Type: application/json\r\n")
				if code != 0 || !isWrong || strings.Contains(output, "oauth_problem") {
					t.Errorf("exit code %d of\n%s\n%s", code, line, output)
				}
			}
		})
	}
}

// linesAfter returns the line after each occurrence of a heading.
func linesAfter(text, heading string) (lines []string) {
	for _, part := range strings.Split(text, heading)[1:] {
		line, _, _ := strings.Cut(part, "\n")
		lines = append(lines, line)
	}
	return lines
}

// pasteIntoShell runs a command line in a shell that finds contracttest.
func pasteIntoShell(t *testing.T, line string) (code int, output string) {
	t.Helper()
	folder := filepath.Dir(testenv.Self(t, "contracttest"))
	shell := exec.CommandContext(t.Context(), "sh", "-c", line)
	shell.Env = append(os.Environ(), "PATH="+folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	if err != nil && shell.ProcessState == nil {
		t.Fatal(err)
	}
	return shell.ProcessState.ExitCode(), string(out)
}

// TestSign checks that Portico accepts requests that "contracttest sign" has signed, and that the
// command reports missing credentials and invalid URLs.
func TestSign(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "curl")
	base, _ := startPortico(t, "documented")
	credentials := apptest.NewFile(t, "credentials.yaml", "signature: HMAC-SHA1\nconsumer: {key: "+strings.Repeat("a", 32)+", secret: "+strings.Repeat("b", 32)+
		"}\nadmin: {token: "+strings.Repeat("c", 32)+", secret: "+strings.Repeat("d", 32)+"}\n")
	url := base + "/api/rest/stockitems/1?x=%5B1%5D&limit=2"
	for _, tt := range []struct{ name, line, want string }{
		{"call", "contracttest sign --credentials " + credentials + " GET '" + url + "' | curl -sig -H @- '" + url + "'", "HTTP/1.1 200 "},
		{"wrong URL", "contracttest sign --credentials " + credentials + " GET '" + base + "/' | curl -sig -H @- '" + url + "'", "oauth_problem=signature_invalid"},
		{"form", "contracttest sign --credentials " + credentials + " --form 'qty=a+b' PUT '" + url + "' | curl -sig -H @- -X PUT -d 'qty=a+b' '" + url + "'", "HTTP/1.1 4"},
		{"form that is not signed", "contracttest sign --credentials " + credentials + " PUT '" + url + "' | curl -sig -H @- -X PUT -d 'qty=a+b' '" + url + "'", "oauth_problem=signature_invalid"},
		{"caller without credentials", "contracttest sign --credentials " + credentials + " --as customer_2 GET '" + url + "'", `there are no credentials for "customer_2"`},
		{"not a URL", "contracttest sign GET products", "the URL must be that of the request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, output := pasteIntoShell(t, tt.line)
			if !strings.Contains(output, tt.want) || strings.Contains(output, "oauth_problem") != strings.Contains(tt.want, "oauth_problem") {
				t.Errorf("want %q, got\n%s", tt.want, output)
			}
		})
	}
}
