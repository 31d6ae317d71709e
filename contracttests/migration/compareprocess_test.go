package migration_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/migrate"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// launchCompare runs "portico compare" as a process.
func launchCompare(t *testing.T, arguments ...string) *apptest.Process {
	t.Helper()
	return apptest.StartProgram(t, nil, apptest.Program(t), append([]string{"compare"}, arguments...)...)
}

// writeSomeReads writes a few reads to a file and returns its name.
func writeSomeReads(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "reads.json")
	var steps []contracttests.Step
	for _, path := range []string{"/products", "/customers", "/orders/1", "/stockitems?limit=<script>alert(1)</script>"} {
		accept := "application/json"
		steps = append(steps, contracttests.Step{As: "admin", Method: http.MethodGet, Path: strings.NewReplacer("<", "%3C", ">", "%3E").Replace(path), Accept: &accept})
	}
	steps = append(steps, contracttests.Step{As: "admin", Method: http.MethodDelete, Path: "/customers/1"})
	writeRequests(t, file, []contracttests.Exchange{{Name: "some", Steps: steps}})
	return file
}

// TestCompareExitCodes checks the exit code for each result, and that reports are written
// to the given files.
func TestCompareExitCodes(t *testing.T) {
	legacy := apptest.StartDemo(t, "magento")
	candidate := apptest.StartDemo(t, "documented")
	reads := writeSomeReads(t)
	for _, tt := range []struct {
		name, candidate string
		code            int
		said            string // on standard error
	}{
		{"equal", legacy.Contract, 0, ""},
		{"different", candidate.Contract, 1, "portico: the answers of the two systems differ\n"},
		{"not there", "http://127.0.0.1:1", 2, "portico: nothing listens on 127.0.0.1:1: start the implementation, or correct --candidate\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			page, report := filepath.Join(folder, "page.html"), filepath.Join(folder, "report.json")
			p := launchCompare(t, "--legacy", legacy.Contract, "--candidate", tt.candidate, "--requests", reads, "--html", page, "--json", report)
			if code := p.Wait(t); code != tt.code || p.Stderr.Text() != tt.said {
				t.Errorf("exit code %d, want %d; it said %q", code, tt.code, p.Stderr.Text())
			}
			written, err := os.ReadFile(report)
			if tt.code == program.ExitCannotRun {
				if err == nil || p.Stdout.Text() != "" {
					t.Error("there is a report of nothing")
				}
				return
			}
			var found migrate.Report
			apptest.Parse(t, string(written), &found)
			if found.Compared != 4 || len(found.LeftOut) != 1 || (found.Different > 0) != (tt.code == 1) || len(found.Calls) != 4 {
				t.Errorf("the report is %s", written)
			}
			if !strings.Contains(p.Stdout.Text(), found.Verdict()+": "+legacy.Contract+" and "+tt.candidate) {
				t.Errorf("the table is %s", p.Stdout.Text())
			}
			checkComparePage(t, page, &found)
		})
	}
}

// checkComparePage checks that the HTML report is well-formed, runs no scripts, loads
// nothing, and contains every difference of the JSON report.
func checkComparePage(t *testing.T, name string, found *migrate.Report) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the page is %v (%v)", info, err)
	}
	root, err := html.Parse(strings.NewReader(apptest.ReadFile(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	elements := map[string]int{}
	for n := range root.Descendants() {
		switch n.Type {
		case html.TextNode:
			said.WriteString(n.Data)
		case html.ElementNode:
			elements[n.Data]++
			for _, a := range n.Attr {
				if a.Key == "src" || a.Key == "href" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
		}
	}
	if elements["script"] != 0 || elements["h1"] != 1 || elements["main"] != 1 || elements["details"] != len(found.Fields) {
		t.Errorf("the page has %v", elements)
	}
	for _, f := range found.Fields {
		for _, e := range f.Examples {
			for _, text := range []string{f.Field, e.Request, e.Display(e.Legacy), e.Display(e.Candidate), e.Curl} {
				if !strings.Contains(said.String(), text) {
					t.Errorf("the page does not say %q", text)
				}
			}
		}
	}
	if !strings.Contains(said.String(), found.Verdict()) || !strings.Contains(said.String(), found.LeftOut[0].Reason) {
		t.Error("the page has no verdict, or not what was left out")
	}
}

// TestCompareProgress checks that a progress bar is drawn only on a terminal.
func TestCompareProgress(t *testing.T) {
	script := testenv.Need(t, "script")
	legacy := apptest.StartDemo(t, "magento")
	arguments := []string{"--legacy", legacy.Contract, "--candidate", legacy.Contract, "--requests", writeSomeReads(t)}
	if p := launchCompare(t, arguments...); p.Wait(t) != 0 || p.Stderr.Text() != "" || strings.Contains(p.Stdout.Text(), "\r") {
		t.Errorf("without a terminal it wrote %q", p.Stderr.Text())
	}
	command := apptest.Program(t) + " compare '" + strings.Join(arguments, "' '") + "'"
	p := apptest.StartProgram(t, nil, script, "-qec", command, "/dev/null")
	if p.Wait(t) != 0 || !strings.Contains(p.Stdout.Text(), "0 differ · /api/rest/") {
		t.Errorf("on a terminal it wrote %q", p.Stdout.Text())
	}
}

// TestCompareInterrupted checks that SIGINT ends a comparison that hangs, with a message.
func TestCompareInterrupted(t *testing.T) {
	legacy := apptest.StartDemo(t, "magento")
	demo := apptest.ProxyTo(t, legacy.Contract)
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hangs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/rest/orders") {
			once.Do(func() { close(held) })
			<-release
		}
		demo.ServeHTTP(w, r)
	}))
	t.Cleanup(hangs.Close)
	t.Cleanup(func() { close(release) })
	p := launchCompare(t, "--legacy", legacy.Contract, "--candidate", hangs.URL, "--requests", writeSomeReads(t))
	testenv.Receive(t, "the comparison to get this far", held)
	p.Signal(t, os.Interrupt)
	if code := p.Wait(t); code != program.ExitCannotRun || !strings.Contains(p.Stderr.Text(), "portico: interrupted") || p.Stdout.Text() != "" {
		t.Errorf("exit code %d; it said %q", code, p.Stderr.Text())
	}
}

// TestCompareGivesUp checks that a comparison ends if one of the systems stops answering.
func TestCompareGivesUp(t *testing.T) {
	legacy := apptest.StartDemo(t, "magento")
	demo := apptest.ProxyTo(t, legacy.Contract)
	dies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/rest/orders") {
			panic(http.ErrAbortHandler)
		}
		demo.ServeHTTP(w, r)
	}))
	t.Cleanup(dies.Close)
	file := filepath.Join(t.TempDir(), "orders.json")
	var steps []contracttests.Step
	for range 5 { // as many unanswered requests end a comparison
		steps = append(steps, contracttests.Step{As: "admin", Method: http.MethodGet, Path: "/orders"})
	}
	writeRequests(t, file, []contracttests.Exchange{{Name: "orders", Steps: steps}})
	_, _, err := runCompare(t, "--legacy", legacy.Contract, "--candidate", dies.URL, "--requests", file)
	if err == nil || !strings.Contains(err.Error(), dies.URL+" has stopped answering: ") {
		t.Errorf("error %v", err)
	}
}
