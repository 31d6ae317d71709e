package program

import (
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"net"
	"strings"
	"syscall"
	"testing"
)

// TestReadyCommand runs "portico ready" while a program is ready, while it drains, and
// after its end, with each form of its address.
func TestReadyCommand(t *testing.T) {
	p := apptest.Start(t, []string{"PORTICO_SERVER_DRAIN_DELAY=1h"}, "--demo", "--demo-public", "--ops-listen", "127.0.0.1:0")
	host, port, err := net.SplitHostPort(strings.TrimPrefix(p.Ops, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	commands := apptest.Environment{"PORTICO_OPS_TOKEN=" + apptest.OpsToken} // readiness needs none
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	addresses := []string{host, "localhost", "0.0.0.0", ""}
	for _, host := range addresses {
		if said := commands.MustRun(t, "ready", "--ops-listen", net.JoinHostPort(host, port)); said != "ready\n" {
			t.Errorf("%q: %q", host, said)
		}
	}
	ask := func(want string) {
		t.Helper()
		for _, host := range addresses {
			said, _, err := commands.Run(t, "ready", "--ops-listen", net.JoinHostPort(host, port))
			if err == nil || !strings.Contains(err.Error(), want) || said != "" {
				t.Errorf("%q: %q, %v, want %q", host, said, err, want)
			}
		}
	}
	p.Signal(t, syscall.SIGTERM)
	p.Stderr.Await(t, p, "msg=draining")
	ask("not ready: draining")
	p.Signal(t, syscall.SIGTERM)
	p.Wait(t)
	ask("connection refused\nstart the server with")
}

// TestReadyWithoutAnswer asks a server that accepts connections and never answers.
func TestReadyWithoutAnswer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	if _, _, err := (apptest.Environment{}).Run(t, "ready", "--ops-listen", silent.Addr().String()); err == nil || !strings.HasPrefix(err.Error(), "no answer: ") {
		t.Errorf("got %v", err)
	}
}
