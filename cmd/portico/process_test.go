package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/contracttests/programs"
)

// hang is how long a test waits for what should happen at once before it fails.
const hang = 30 * time.Second

// TestMain removes what built made.
func TestMain(m *testing.M) {
	code := m.Run()
	if built.folder != "" {
		_ = os.RemoveAll(built.folder)
	}
	os.Exit(code)
}

// built is the program as users run it, built once for all tests.
var built struct {
	once   sync.Once
	folder string
	err    error
}

// portico returns the path of the built program.
func portico(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.folder, built.err = os.MkdirTemp("", "portico-built-"); built.err != nil {
			return
		}
		output, err := exec.Command("go", "build", "-o", built.folder+string(filepath.Separator), ".").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, output)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.folder, "portico")
}

// A process is a running "portico serve".
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *output
	contract, ops  string          // base URLs
	temporary      string          // its folder for temporary files
	ended          <-chan struct{} // closed when it has ended
}

// start runs "portico serve" on free ports of loopback with more arguments and
// environment, waits until it has said where it listens, and kills it at the end
// of the test if it still runs.
func start(t testing.TB, environ []string, arguments ...string) *process {
	t.Helper()
	p := launch(t, environ, append([]string{"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}, arguments...)...)
	said := p.stdout.await(t, p, "/readyz)\n")
	if slices.Contains(arguments, "--demo") {
		said = p.stdout.await(t, p, "/demo/reset'\n")
	}
	p.contract = strings.TrimSuffix(word(t, said, "contract"), "/api/rest")
	p.ops = word(t, said, "operations")
	return p
}

// launch runs "portico serve" with the given arguments and waits for nothing.
func launch(t testing.TB, environ []string, arguments ...string) *process {
	t.Helper()
	p := &process{stdout: newOutput(), stderr: newOutput(), temporary: t.TempDir()}
	p.cmd = exec.Command(portico(t), append([]string{"serve"}, arguments...)...)
	p.cmd.Env = append(withoutSettings(os.Environ()), append([]string{"TMPDIR=" + p.temporary, quickPasswords}, environ...)...)
	p.cmd.Dir = t.TempDir() // a relative DSN must not reach the sources
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	t.Cleanup(func() { // after it has ended
		if t.Failed() {
			t.Logf("stderr of the program:\n%s", p.stderr.text())
		}
	})
	p.ended = programs.Start(t, p.cmd)
	return p
}

// quickPasswords has passwords hashed at the least cost: at the default one most of the
// time of the contract suite is bcrypt's.
const quickPasswords = "PORTICO_AUTH_PASSWORD_COST=4"

// withoutSettings removes the settings of whoever runs the tests.
func withoutSettings(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, "PORTICO_") })
}

// signal sends s to the program.
func (p *process) signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// wait returns the exit code of the program once it has ended.
func (p *process) wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(hang):
		t.Fatal("the program does not end")
		return 0
	}
}

// stop asks the program to end, and fails the test unless it ends well.
func (p *process) stop(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d after SIGTERM, want 0", code)
	}
}

// An output collects what a program writes and lets tests wait for a part of it.
type output struct {
	mu    sync.Mutex
	bytes bytes.Buffer
	more  chan struct{} // closed at the next Write
}

func newOutput() *output { return &output{more: make(chan struct{})} }

// Write adds to the output. It never fails.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.bytes.Write(b)
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes.String()
}

// await returns the output once it holds want; p is the program that writes it.
func (o *output) await(t testing.TB, p *process, want string) string {
	t.Helper()
	guard := time.After(hang)
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

// word returns the word that follows name in text.
func word(t testing.TB, text, name string) string {
	t.Helper()
	fields := strings.Fields(text)
	if at := slices.Index(fields, name); at >= 0 && at+1 < len(fields) {
		return fields[at+1]
	}
	t.Fatalf("no %s in\n%s", name, text)
	return ""
}
