package main

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// someCases selects cases of a resource that only reads and of one that writes, and recorded exchanges of another.
const someCases = "^((smoke|categories|documented/stockitems)/|recorded/stock_orders/stock list)"

// TestRunPasses checks a run of some cases and recordings against Portico, with all
// reports.
func TestRunPasses(t *testing.T) {
	t.Parallel()
	for _, dialect := range testenv.Rows(t, []string{"documented", "magento"}, 2) {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			base, reset := startPortico(t, dialect)
			folder := t.TempDir()
			junit, html := filepath.Join(folder, "report.xml"), filepath.Join(folder, "report.html")
			p := startProcess(t, "--url", base, "--dialect", dialect, "--reset", reset, "--run", someCases, "--junit", junit, "--html", html, "--json", "-")
			if code := p.Wait(t); code != 0 {
				t.Fatalf("exit code %d, want 0", code)
			}
			for name, want := range map[string]string{junit: "<testsuite", html: "<html", "stdout": `"recorded/stock_orders"`, "stderr": "passed"} {
				var got string
				switch name {
				case "stdout":
					got = p.Stdout.Text()
				case "stderr":
					got = p.Stderr.Text()
				default:
					got = apptest.ReadFile(t, name)
				}
				if !strings.Contains(got, want) {
					t.Errorf("%s has no %s:\n%.1000s", filepath.Base(name), want, got)
				}
			}
			if strings.Contains(p.Stderr.Text(), "\r") || strings.Contains(p.Stderr.Text(), "\x1b") {
				t.Errorf("control characters without a terminal: %q", p.Stderr.Text())
			}
		})
	}
}

// TestRunFails checks a run against an implementation with a wrong status, with and
// without a declared gap.
func TestRunFails(t *testing.T) {
	t.Parallel()
	base, _ := startPortico(t, "documented")
	proxy := apptest.ProxyTo(t, base)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodPut {
			r.StatusCode = http.StatusAccepted
		}
		return nil
	}
	broken := httptest.NewServer(proxy)
	defer broken.Close()
	t.Run("all", func(t *testing.T) {
		p := startProcess(t, "--url", broken.URL, "--run", "^(smoke|customers)/", "--fail-fast")
		if code := p.Wait(t); code != 1 {
			t.Fatalf("exit code %d, want 1", code)
		}
		if got := p.Stdout.Text(); !strings.Contains(got, "FAILED") || strings.Contains(got, "dddddddd") {
			t.Errorf("no failure, or a secret:\n%s", got)
		}
		if p.Stderr.Text() != "" {
			t.Errorf("stderr %q, want nothing", p.Stderr.Text())
		}
	})
	t.Run("declared", func(t *testing.T) {
		gaps := apptest.NewFile(t, "gaps.yaml", `- {case: "^(smoke|customers)/", reason: "they come with release 2"}`)
		p := startProcess(t, "--url", broken.URL, "--run", "^(smoke|customers)/", "--skip", gaps, "--verbose")
		if code := p.Wait(t); code != 0 {
			t.Fatalf("exit code %d, want 0", code)
		}
		if want := "declared gap: they come with release 2\n"; !strings.Contains(p.Stderr.Text(), want) {
			t.Errorf("no %q", want)
		}
	})
}

// TestUnusableTargets checks that a target that cannot be tested is reported in one
// sentence.
func TestUnusableTargets(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	serve := func(h http.HandlerFunc) string {
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		return srv.URL
	}
	const patient = "3m"
	for _, tt := range []struct{ name, url, timeout, want string }{
		{"down", "http://" + testenv.FreeAddress(t), patient, "nothing listens on "},
		{"redirects", serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }), patient, `redirects to "/login"`},
		{"HTML", serve(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<!doctype html><title>Shop</title>") }), patient, `with an HTML page ("Shop")`},
		{"hangs", serve(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		}), "1s", "hangs: it did not answer within"},
		{"500", serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), patient, "answers every request with 500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := startProcess(t, "--url", tt.url, "--timeout", tt.timeout)
			if code := p.Wait(t); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			got := p.Stderr.Text()
			if !strings.HasPrefix(got, "contracttest: ") || !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 || p.Stdout.Text() != "" {
				t.Errorf("stderr %q, want one line with %q, and nothing on stdout", got, tt.want)
			}
		})
	}
}

// holdingProxy serves base through a proxy. The proxy holds the reply to the first
// request that hold selects until the caller closes release; held is closed at that time.
func holdingProxy(t *testing.T, base string, hold func(*http.Request) bool) (url string, held, release chan struct{}) {
	t.Helper()
	proxy := apptest.ProxyTo(t, base)
	held, release = make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r)
		if hold(r) && first.CompareAndSwap(false, true) {
			close(held) // the proxy has the reply, but the client does not
			<-release
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, held, release
}

// isCreation reports whether a request creates a customer.
func isCreation(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/customers")
}

// TestInterruptedRun checks that a run that is interrupted by a signal deletes the objects that it
// has created.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	base, _ := startPortico(t, "documented")
	for name, s := range map[string]os.Signal{"SIGINT": os.Interrupt, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			url, held, release := holdingProxy(t, base, isCreation)
			p := startProcess(t, "--url", url, "--timeout", "2s", "--run", "^customers/")
			testenv.Receive(t, "the run to get this far", held)
			p.Signal(t, s)
			code := p.Wait(t)
			close(release)
			if code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if !strings.Contains(p.Stderr.Text(), "contracttest: interrupted: ") || p.Stdout.Text() == "" {
				t.Errorf("stderr %q, stdout %q; want a message and a report of the cases that have ended", p.Stderr.Text(), p.Stdout.Text())
			}
			if left := customers(t, base); strings.Contains(left, "contracttest-") {
				t.Errorf("customers were not deleted: %s", left)
			}
		})
	}
}

// TestSecondSignal checks that a second signal ends a program whose cleanup hangs.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	base, _ := startPortico(t, "documented")
	url, held, release := holdingProxy(t, base, func(r *http.Request) bool { return r.Method == http.MethodDelete })
	defer close(release)
	p := startProcess(t, "--url", url)
	testenv.Receive(t, "the run to get this far", held)
	p.Signal(t, os.Interrupt)
	// The first signal may not have been handled yet when the second arrives, so send
	// signals until the program exits.
	for again := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-p.Ended:
			again.Stop()
			if code := p.Cmd.ProcessState.ExitCode(); code != -1 {
				t.Errorf("exit code %d, want none but the signal", code)
			}
			return
		case <-again.C:
			p.Signal(t, os.Interrupt)
		case <-time.After(testenv.Patience(t)):
			t.Fatal("the program does not exit")
		}
	}
}

// customers returns the list of all customers of a demo store as JSON.
func customers(t *testing.T, base string) string {
	t.Helper()
	got := apptest.NewClient(t, base, apptest.DemoAdmin()).Get(t, "/customers?limit=0")
	if !strings.Contains(got.Body, "ada@example.com") {
		t.Fatalf("no customers: %d %s", got.Status, got.Body)
	}
	return got.Body
}

// TestRecordAndReplay checks that recorded replies of Portico replay on Portico.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	base, reset := startPortico(t, "documented")
	calls := apptest.NewFile(t, "calls.json", `[{"name":"a life","steps":[
 {"as":"admin","method":"POST","path":"/customers","accept":"application/json","content_type":"application/json",
  "body":"{\"firstname\":\"Al\",\"lastname\":\"Bo\",\"email\":\"al@example.com\",\"website_id\":1,\"group_id\":1,\"password\":\"letmein42\"}"},
 {"as":"admin","method":"GET","path":"/customers?order=entity_id&dir=dsc&limit=1","accept":"application/json"}]}]`)
	recorded := filepath.Join(t.TempDir(), "recorded") + string(filepath.Separator)
	if p := startProcess(t, "record", "--url", base, "--reset", reset, calls, "-o", recorded); p.Wait(t) != 0 {
		t.Fatal("recording failed")
	}
	if data := apptest.ReadFile(t, filepath.Join(recorded, "calls.json")); !strings.Contains(data, "{{datetime}}") || !strings.Contains(data, "al@example.com") {
		t.Errorf("recorded %s", data)
	}
	if p := startProcess(t, "--url", base, "--reset", reset, "--exchanges", recorded, "--run", "^recorded/calls/", "--verbose"); p.Wait(t) != 0 || !strings.Contains(p.Stderr.Text(), "passed  recorded/calls/a life/json") {
		t.Error("the recording does not replay")
	}
}
