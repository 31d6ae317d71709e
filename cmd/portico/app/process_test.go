package app

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/contracttests/programs"
)

// waitTimeout is the time after which a test fails if something that should happen
// immediately has not happened.
const waitTimeout = 30 * time.Second

// programName is the name under which the test binary is the program itself.
const programName = "portico"

func TestMain(m *testing.M) {
	programs.Main(m, map[string]func(){programName: func() { Main() }})
}

// portico returns a path of the program.
func portico(t testing.TB) string { return programs.Self(t, programName) }

// A process is a running "portico serve".
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *output
	contract, ops  string          // base URLs
	temporary      string          // folder for temporary files
	ended          <-chan struct{} // closed when it has ended
}

// start runs "portico serve" on free loopback ports with more arguments and environment,
// and waits until it prints its addresses. The process is killed at the end of the test if
// it still runs.
func start(t testing.TB, environ []string, arguments ...string) *process {
	t.Helper()
	p := launch(t, environ, append([]string{"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}, arguments...)...)
	p.awaitAddresses(t, slices.Contains(arguments, "--demo"))
	return p
}

// awaitAddresses waits until the program prints its addresses.
func (p *process) awaitAddresses(t testing.TB, isDemo bool) {
	t.Helper()
	said := p.stdout.await(t, p, "/readyz)\n")
	if isDemo {
		said = p.stdout.await(t, p, "/demo/reset'\n")
	}
	p.contract = strings.TrimSuffix(wordAfter(t, said, "contract"), "/api/rest")
	p.ops = wordAfter(t, said, "operations")
}

// launch starts "portico serve" with the given arguments and does not wait.
func launch(t testing.TB, environ []string, arguments ...string) *process {
	t.Helper()
	return launchWith(t, append([]string{fastPasswordHashing}, environ...), arguments...)
}

// launchWith is launch with no settings in the environment but those of environ.
func launchWith(t testing.TB, environ []string, arguments ...string) *process {
	t.Helper()
	p := &process{stdout: newOutput(), stderr: newOutput(), temporary: t.TempDir()}
	p.cmd = exec.Command(portico(t), append([]string{"serve"}, arguments...)...)
	p.cmd.Env = append(withoutSettings(os.Environ()), append([]string{"TMPDIR=" + p.temporary}, environ...)...)
	p.cmd.Dir = t.TempDir() // a relative DSN must not reach the sources
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	t.Cleanup(func() { // runs after the process has ended
		if t.Failed() {
			t.Logf("stderr of the program:\n%s", p.stderr.text())
		}
	})
	p.ended = programs.Start(t, p.cmd)
	return p
}

// fastPasswordHashing sets the lowest cost of password hashes: at the default, bcrypt
// takes most of the time of the contract suite.
const fastPasswordHashing = "PORTICO_AUTH_PASSWORD_COST=4"

// withoutSettings removes the settings of the person who runs the tests.
func withoutSettings(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, "PORTICO_") })
}

// signal sends a signal to the program.
func (p *process) signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// wait waits for the end of the program and returns its exit code.
func (p *process) wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(waitTimeout):
		t.Fatal("the program does not end")
		return 0
	}
}

// stop terminates the program, and fails the test unless its exit code is 0.
func (p *process) stop(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d after SIGTERM, want 0", code)
	}
}

// An output collects what a program writes, and lets tests wait for a text.
type output struct {
	mu    sync.Mutex
	bytes bytes.Buffer
	more  chan struct{} // closed at the next Write
}

// newOutput returns an empty output.
func newOutput() *output { return &output{more: make(chan struct{})} }

// Write appends to the output. It never fails.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.bytes.Write(b)
}

// text returns the output so far.
func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes.String()
}

// await waits until the output contains want, and returns the output. p is the program
// that writes it.
func (o *output) await(t testing.TB, p *process, want string) string {
	t.Helper()
	guard := time.After(waitTimeout)
	for {
		o.mu.Lock()
		text, more := o.bytes.String(), o.more
		o.mu.Unlock()
		if strings.Contains(text, want) {
			return text
		}
		select {
		case <-more:
		case <-p.ended:
			if text = o.text(); !strings.Contains(text, want) {
				t.Fatalf("the program ended and never wrote %q, but:\n%s%s", want, p.stdout.text(), p.stderr.text())
			}
			return text
		case <-guard:
			t.Fatalf("the program does not write %q, but:\n%s%s", want, p.stdout.text(), p.stderr.text())
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
