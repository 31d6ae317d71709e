package apptest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/config/testenv"
)

// WaitTimeout is the time after which a test fails if something that should happen
// immediately has not happened.
const WaitTimeout = 3 * time.Minute

// programName is the name under which the test binary is the program itself.
const programName = "portico"

// Main is called by TestMain and does not return. It runs the tests, or one of mains if the test binary was
// started under its name, as [Program] does with "portico". [Environment.Run] runs its commands with runCommand.
func Main(m *testing.M, runCommand func(context.Context, *exec.Cmd) (exitCode int), mains map[string]func()) {
	run = runCommand
	testenv.Main(m, mains)
}

// Program returns a path of the program.
func Program(t testing.TB) string { return testenv.Self(t, programName) }

// A Process is a running program, most often "portico serve".
type Process struct {
	Cmd            *exec.Cmd
	Stdout, Stderr *Output
	Contract, Ops  string          // base URLs
	Temporary      string          // folder for temporary files
	Ended          <-chan struct{} // closed when it has ended
}

// Start runs "portico serve" on free loopback ports with more arguments and environment,
// and waits until it prints its addresses. The process is killed at the end of the test if
// it still runs.
func Start(t testing.TB, environ []string, arguments ...string) *Process {
	t.Helper()
	p := Launch(t, environ, append([]string{"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}, arguments...)...)
	p.AwaitAddresses(t, slices.Contains(arguments, "--demo"))
	return p
}

// AwaitAddresses waits until the program prints its addresses.
func (p *Process) AwaitAddresses(t testing.TB, isDemo bool) {
	t.Helper()
	said := p.Stdout.Await(t, p, "/readyz)\n")
	if isDemo {
		said = p.Stdout.Await(t, p, "/demo/reset'\n")
	}
	p.Contract = strings.TrimSuffix(wordAfter(t, said, "contract"), "/api/rest")
	p.Ops = wordAfter(t, said, "operations")
}

// Launch starts "portico serve" with the given arguments and does not wait.
func Launch(t testing.TB, environ []string, arguments ...string) *Process {
	t.Helper()
	return LaunchWith(t, append([]string{FastPasswordHashing}, environ...), arguments...)
}

// LaunchWith is Launch with only the settings of environ in the environment.
func LaunchWith(t testing.TB, environ []string, arguments ...string) *Process {
	t.Helper()
	return StartProgram(t, environ, Program(t), append([]string{"serve"}, arguments...)...)
}

// StartProgram starts a program with environ added to the environment of the process, without the
// settings of the process. It is killed at the end of the test if it still runs.
func StartProgram(t testing.TB, environ []string, path string, arguments ...string) *Process {
	t.Helper()
	p := &Process{Stdout: NewOutput(), Stderr: NewOutput(), Temporary: t.TempDir()}
	p.Cmd = exec.Command(path, arguments...)
	p.Cmd.Env = slices.Concat(WithoutSettings(os.Environ()), []string{"TMPDIR=" + p.Temporary}, environ)
	p.Cmd.Dir = t.TempDir() // a relative DSN must not reach the sources
	p.Cmd.Stdout, p.Cmd.Stderr = p.Stdout, p.Stderr
	t.Cleanup(func() { // runs after the process has ended
		if t.Failed() {
			t.Logf("output of %s %s:\n%s\nand its errors:\n%s", filepath.Base(path), strings.Join(arguments, " "), p.Stdout.Text(), p.Stderr.Text())
		}
	})
	p.Ended = testenv.StartProgram(t, p.Cmd)
	return p
}

// FastPasswordHashing sets the lowest cost of password hashes: at the default, bcrypt
// takes most of the time of the contract suite.
const FastPasswordHashing = "PORTICO_AUTH_PASSWORD_COST=4"

// WithoutSettings removes the settings of the person who runs the tests.
func WithoutSettings(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, "PORTICO_") })
}

// Signal sends a signal to the program.
func (p *Process) Signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// Wait waits for the end of the program and returns its exit code.
func (p *Process) Wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.Ended:
		return p.Cmd.ProcessState.ExitCode()
	case <-time.After(testenv.Patience(t)):
		t.Fatal("the program does not end")
		return 0
	}
}

// Stop terminates the program, and fails the test unless its exit code is 0.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGTERM)
	if code := p.Wait(t); code != 0 {
		t.Fatalf("exit code %d after SIGTERM, want 0", code)
	}
}

// An Output collects the output of a program, and lets tests wait for a text.
type Output struct {
	mu    sync.Mutex
	bytes bytes.Buffer
	more  chan struct{} // closed at the next Write
}

// NewOutput returns an empty output.
func NewOutput() *Output { return &Output{more: make(chan struct{})} }

// Write appends to the output. It never fails.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.bytes.Write(b)
}

// Text returns the output so far.
func (o *Output) Text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes.String()
}

// Await waits until the output contains want, and returns the output. p is the program
// that writes it.
func (o *Output) Await(t testing.TB, p *Process, want string) string {
	t.Helper()
	guard := time.After(testenv.Patience(t))
	for {
		o.mu.Lock()
		text, more := o.bytes.String(), o.more
		o.mu.Unlock()
		if strings.Contains(text, want) {
			return text
		}
		select {
		case <-more:
		case <-p.Ended:
			if text = o.Text(); !strings.Contains(text, want) {
				t.Fatalf("the program ended and never wrote %q, but:\n%s%s", want, p.Stdout.Text(), p.Stderr.Text())
			}
			return text
		case <-guard:
			t.Fatalf("the program does not write %q, but:\n%s%s", want, p.Stdout.Text(), p.Stderr.Text())
		}
	}
}

// wordAfter returns the word that follows name in text.
func wordAfter(t testing.TB, text, name string) string {
	t.Helper()
	fields := strings.Fields(text)
	if at := slices.Index(fields, name); at >= 0 && at+1 < len(fields) {
		return fields[at+1]
	}
	t.Fatalf("no %s in\n%s", name, text)
	return ""
}

// A Scrape holds the metrics of a program at one moment, by series as written in the
// exposition format: name{label="value",…}.
type Scrape map[string]float64

// ScrapeMetrics reads the metrics from the operators' port at ops.
func ScrapeMetrics(t testing.TB, ops string) Scrape {
	t.Helper()
	response, err := http.Get(ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	found := Scrape{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if series, value, ok := cutLast(lines.Text(), " "); ok && !strings.HasPrefix(series, "#") {
			if n, err := strconv.ParseFloat(value, 64); err == nil {
				found[series] = n
			}
		}
	}
	return found
}

// cutLast is strings.Cut at the last instance of sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Sum adds up the series of a metric that have all labels written name="value", and no label
// written !name="value".
func (s Scrape) Sum(name string, labels ...string) (total float64) {
	for series, value := range s {
		of, rest, _ := strings.Cut(series, "{")
		if of == name && !slices.ContainsFunc(labels, func(label string) bool {
			unwanted, not := strings.CutPrefix(label, "!")
			return strings.Contains(rest, unwanted) == not
		}) {
			total += value
		}
	}
	return total
}

// Sent returns the number of calls that were sent to the upstream, with labels as for Sum.
func (s Scrape) Sent(labels ...string) float64 {
	return s.Sum("portico_upstream_calls_total", append(labels, `!kind="refused_open"`, `!kind="refused_full"`)...)
}
