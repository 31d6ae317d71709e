package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/contracttests/programs"
)

// hang is how long a test waits for what should happen at once before it fails.
const hang = 60 * time.Second

// built are this program and Portico as users run them, built once for all tests.
var built struct {
	once   sync.Once
	folder string
	err    error
}

// TestMain removes what program made, and what would change the meaning of flags.
func TestMain(m *testing.M) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, environment) || strings.HasPrefix(name, "PORTICO_") {
			_ = os.Unsetenv(name)
		}
	}
	code := m.Run()
	if built.folder != "" {
		_ = os.RemoveAll(built.folder)
	}
	os.Exit(code)
}

// program returns the path of contracttest or portico.
func program(t *testing.T, name string) string {
	t.Helper()
	built.once.Do(func() {
		if built.folder, built.err = os.MkdirTemp("", "contracttest-built-"); built.err != nil {
			return
		}
		output, err := exec.Command("go", "build", "-o", built.folder+string(filepath.Separator), ".", "../portico").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, output)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.folder, name)
}

// A process is a running contracttest.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer // complete once it has ended
	ended          <-chan struct{}
}

// launch runs contracttest, and kills it at the end of the test if it still runs.
func launch(t *testing.T, arguments ...string) *process {
	t.Helper()
	p := &process{}
	p.cmd = exec.Command(program(t, "contracttest"), arguments...)
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	t.Cleanup(func() { // after it has ended
		if t.Failed() {
			t.Logf("contracttest %s\n%s%s", strings.Join(arguments, " "), p.stdout.String(), p.stderr.String())
		}
	})
	p.ended = programs.Start(t, p.cmd)
	return p
}

// wait returns the exit code, -1 if a signal ended the program.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(hang):
		t.Fatal("the program does not end")
		return 0
	}
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// startPortico serves the demo store until the test ends and returns where: the
// contract, and what puts the store back.
func startPortico(t *testing.T, dialect string) (base, reset string) {
	t.Helper()
	cmd := exec.Command(program(t, "portico"), "serve", "--demo", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--log-level", "error", "--dialect", dialect)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PORTICO_AUTH_PASSWORD_COST=4")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		guard := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
		defer guard.Stop()
		_ = cmd.Process.Signal(os.Interrupt) // so that it removes its store
		_ = cmd.Wait()
	})
	guard := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
	defer guard.Stop()
	var said strings.Builder
	where := regexp.MustCompile(`(?s)contract +(\S+)/api/rest\n.*'(\S+/demo/reset)'`)
	for buffer := make([]byte, 4096); ; {
		n, err := out.Read(buffer)
		said.Write(buffer[:n])
		if found := where.FindStringSubmatch(said.String()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return found[1], found[2]
		}
		if err != nil {
			t.Fatalf("portico said %q and then %v", said.String(), err)
		}
	}
}

// proxyTo passes requests on as they come.
func proxyTo(t *testing.T, base string) *httputil.ReverseProxy {
	t.Helper()
	upstream, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(upstream)
		r.Out.Host = r.In.Host
	}}
}
