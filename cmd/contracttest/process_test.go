package main

import (
	"bytes"
	"errors"
	"io"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app"
	"github.com/portico-commerce/portico/contracttests/programs"
)

// processTimeout limits how long a test waits for something that should happen
// immediately.
const processTimeout = 60 * time.Second

// TestMain removes the environment variables that would set flags.
func TestMain(m *testing.M) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, "PORTICO_") && name != passwordCost {
			_ = os.Unsetenv(name)
		}
	}
	programs.Main(m, map[string]func(){"contracttest": main, "portico": func() { app.Main() }})
}

// passwordCost is the setting of the cost of password hashes, which tests set to the
// lowest.
const passwordCost = "PORTICO_AUTH_PASSWORD_COST"

// A process is a running contracttest.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer // complete when done is closed
	done           <-chan struct{}
}

// startProcess starts contracttest. At the end of the test it is killed if it still runs.
func startProcess(t *testing.T, arguments ...string) *process {
	t.Helper()
	p := &process{}
	p.cmd = exec.Command(programs.Self(t, "contracttest"), arguments...)
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	t.Cleanup(func() { // runs after the program has exited
		if t.Failed() {
			t.Logf("contracttest %s\n%s%s", strings.Join(arguments, " "), p.stdout.String(), p.stderr.String())
		}
	})
	p.done = programs.Start(t, p.cmd)
	return p
}

// wait returns the exit code, or -1 if a signal ended the program.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(processTimeout):
		t.Fatal("the program does not exit")
		return 0
	}
}

// signal sends a signal unless the program has exited.
func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// startPortico serves the demo store until the test ends. It returns the base URL and the
// URL that resets the store.
func startPortico(t *testing.T, dialect string) (base, reset string) {
	t.Helper()
	cmd := exec.Command(programs.Self(t, "portico"), "serve", "--demo", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--log-level", "error", "--dialect", dialect)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), passwordCost+"=4")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		guard := time.AfterFunc(processTimeout, func() { _ = cmd.Process.Kill() })
		defer guard.Stop()
		_ = cmd.Process.Signal(os.Interrupt) // portico then deletes its store
		_ = cmd.Wait()
	})
	guard := time.AfterFunc(processTimeout, func() { _ = cmd.Process.Kill() })
	defer guard.Stop()
	var output strings.Builder
	addresses := regexp.MustCompile(`(?s)contract +(\S+)/api/rest\n.*'(\S+/demo/reset)'`)
	for buffer := make([]byte, 4096); ; {
		n, err := out.Read(buffer)
		output.Write(buffer[:n])
		if found := addresses.FindStringSubmatch(output.String()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return found[1], found[2]
		}
		if err != nil {
			t.Fatalf("portico printed %q and then %v", output.String(), err)
		}
	}
}

// proxyTo returns a proxy that forwards requests unchanged.
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
