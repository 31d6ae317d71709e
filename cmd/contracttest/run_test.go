package main

import (
	"io"
	"net"
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

// some are cases of one resource, and recorded exchanges of another.
const some = "^(smoke|customers|recorded/stock_orders|documented/stockitems)/"

// TestRunPasses runs a part of the suite against Portico, the recorded exchanges of
// its demo store included.
func TestRunPasses(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"documented", "magento"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			base, reset := startPortico(t, dialect)
			folder := t.TempDir()
			junit, html := filepath.Join(folder, "report.xml"), filepath.Join(folder, "report.html")
			p := launch(t, "--url", base, "--dialect", dialect, "--reset", reset, "--run", some, "--junit", junit, "--html", html, "--json", "-")
			if code := p.wait(t); code != 0 {
				t.Fatalf("exit code %d, want 0", code)
			}
			for name, want := range map[string]string{junit: "<testsuite", html: "<html", "stdout": `"recorded/stock_orders"`, "stderr": "passed"} {
				var got string
				switch name {
				case "stdout":
					got = p.stdout.String()
				case "stderr":
					got = p.stderr.String()
				default:
					data, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					got = string(data)
				}
				if !strings.Contains(got, want) {
					t.Errorf("%s has no %s:\n%.1000s", filepath.Base(name), want, got)
				}
			}
			if strings.Contains(p.stderr.String(), "\r") || strings.Contains(p.stderr.String(), "\x1b") {
				t.Errorf("there is no terminal, and yet a line that moves or colours: %q", p.stderr.String())
			}
		})
	}
}

// TestRunFails: an implementation with one wrong status.
func TestRunFails(t *testing.T) {
	t.Parallel()
	base, _ := startPortico(t, "documented")
	proxy := proxyTo(t, base)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodPut {
			r.StatusCode = http.StatusAccepted
		}
		return nil
	}
	broken := httptest.NewServer(proxy)
	defer broken.Close()
	t.Run("all", func(t *testing.T) {
		p := launch(t, "--url", broken.URL, "--run", "^(smoke|customers)/", "--fail-fast")
		if code := p.wait(t); code != 1 {
			t.Fatalf("exit code %d, want 1", code)
		}
		if got := p.stdout.String(); !strings.Contains(got, "FAILED") || strings.Contains(got, "dddddddd") {
			t.Errorf("no failure, or a secret:\n%s", got)
		}
		if p.stderr.Len() > 0 {
			t.Errorf("stderr %q, want nothing", p.stderr.String())
		}
	})
	t.Run("declared", func(t *testing.T) {
		gaps := write(t, "gaps.yaml", `- {case: "^(smoke|customers)/", reason: "they come with release 2"}`)
		p := launch(t, "--url", broken.URL, "--run", "^(smoke|customers)/", "--skip", gaps, "--verbose")
		if code := p.wait(t); code != 0 {
			t.Fatalf("exit code %d, want 0", code)
		}
		if want := "declared gap: they come with release 2\n"; !strings.Contains(p.stderr.String(), want) {
			t.Errorf("no %q", want)
		}
	})
}

// write writes a file and returns its name.
func write(t *testing.T, name, content string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestNothingToTest: what is no implementation is told in one sentence, in time.
func TestNothingToTest(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	serve := func(h http.HandlerFunc) string {
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		return srv.URL
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := "http://" + l.Addr().String()
	l.Close()
	for _, tt := range []struct{ name, url, want string }{
		{"down", down, "nothing listens on "},
		{"redirects", serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }), `redirects to "/login"`},
		{"HTML", serve(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<!doctype html><title>Shop</title>") }), `with a page in HTML ("Shop")`},
		{"hangs", serve(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		}), "hangs: it did not answer within"},
		{"500", serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), "answers 500 to everything"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			program(t, "contracttest") // building it does not count
			start := time.Now()
			p := launch(t, "--url", tt.url)
			if code := p.wait(t); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v, want at most 10 s", took)
			}
			got := p.stderr.String()
			if !strings.HasPrefix(got, "contracttest: ") || !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 || p.stdout.Len() > 0 {
				t.Errorf("stderr %q, want one line with %q, and nothing on stdout", got, tt.want)
			}
		})
	}
}

// interruptible serves Portico behind a proxy that holds the answer to the first
// request that hold names, until release is closed. held tells of it.
func interruptible(t *testing.T, base string, hold func(*http.Request) bool) (url string, held, release chan struct{}) {
	t.Helper()
	proxy := proxyTo(t, base)
	held, release = make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r)
		if hold(r) && first.CompareAndSwap(false, true) {
			close(held) // what was made is there, and the client does not know it yet
			<-release
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, held, release
}

func isCreation(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/customers")
}

// TestInterruptedRun: after a signal nothing is left behind.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	base, _ := startPortico(t, "documented")
	for name, s := range map[string]os.Signal{"SIGINT": os.Interrupt, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			url, held, release := interruptible(t, base, isCreation)
			p := launch(t, "--url", url, "--timeout", "2s", "--run", "^customers/")
			await(t, held)
			p.signal(t, s)
			code := p.wait(t)
			close(release)
			if code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if !strings.Contains(p.stderr.String(), "contracttest: interrupted: ") || p.stdout.Len() == 0 {
				t.Errorf("stderr %q, stdout %q; want it to say so, and to report what it has", p.stderr.String(), p.stdout.String())
			}
			if left := customers(t, base); strings.Contains(left, "contracttest-") {
				t.Errorf("customers are left behind: %s", left)
			}
		})
	}
}

// TestSecondSignal ends a program whose cleaning up hangs.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	base, _ := startPortico(t, "documented")
	url, held, release := interruptible(t, base, func(r *http.Request) bool { return r.Method == http.MethodDelete })
	defer close(release)
	p := launch(t, "--url", url)
	await(t, held)
	p.signal(t, os.Interrupt)
	// The program has taken the first signal when it has ended by the second; until
	// then they may fall together.
	for again := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-p.ended:
			again.Stop()
			if code := p.cmd.ProcessState.ExitCode(); code != -1 {
				t.Errorf("exit code %d, want none but the signal", code)
			}
			return
		case <-again.C:
			p.signal(t, os.Interrupt)
		case <-time.After(hang):
			t.Fatal("the program does not end")
		}
	}
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(hang):
		t.Fatal("the run never came so far")
	}
}

// customers returns the list of all customers of a demo store.
func customers(t *testing.T, base string) string {
	t.Helper()
	var o targetOptions
	o.url, o.dialect, o.timeout = base, "documented", hang
	target, _, err := o.target(nil)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/rest/customers?limit=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", target.Credentials.Authorization("admin"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), "ada@example.com") {
		t.Fatalf("no customers (%v): %s", err, body)
	}
	return string(body)
}

// TestRecordAndReplay records Portico's answers and holds it to them.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	base, reset := startPortico(t, "documented")
	calls := write(t, "calls.json", `[{"name":"a life","steps":[
 {"as":"admin","method":"POST","path":"/customers","accept":"application/json","content_type":"application/json",
  "body":"{\"firstname\":\"Al\",\"lastname\":\"Bo\",\"email\":\"al@example.com\",\"website_id\":1,\"group_id\":1,\"password\":\"letmein42\"}"},
 {"as":"admin","method":"GET","path":"/customers?order=entity_id&dir=dsc&limit=1","accept":"application/json"}]}]`)
	recorded := filepath.Join(t.TempDir(), "recorded") + string(filepath.Separator)
	if p := launch(t, "record", "--url", base, "--reset", reset, calls, "-o", recorded); p.wait(t) != 0 {
		t.Fatal("nothing was recorded")
	}
	data, err := os.ReadFile(filepath.Join(recorded, "calls.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "{{datetime}}") || !strings.Contains(string(data), "al@example.com") {
		t.Errorf("recorded %s", data)
	}
	if p := launch(t, "--url", base, "--reset", reset, "--exchanges", recorded, "--run", "^recorded/calls/", "--verbose"); p.wait(t) != 0 || !strings.Contains(p.stderr.String(), "passed  recorded/calls/a life/json") {
		t.Error("what was recorded does not replay")
	}
}
