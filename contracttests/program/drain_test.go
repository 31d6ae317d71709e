package program

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestDraining checks the program while it drains, and that a second signal ends it.
func TestDraining(t *testing.T) {
	for name, second := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": os.Interrupt} {
		t.Run(name, func(t *testing.T) {
			p := apptest.Start(t, []string{"PORTICO_SERVER_DRAIN_DELAY=1h", "PORTICO_SERVER_SHUTDOWN_TIMEOUT=1h"}, "--demo")
			persistent := apptest.NewClient(t, p.Contract, apptest.DemoAdmin())
			if got := persistent.Get(t, "/stockitems/1"); got.Status != http.StatusOK || got.Closes {
				t.Fatalf("before: %d, closes %t", got.Status, got.Closes)
			}
			put := beginPut(t, p)
			p.Signal(t, syscall.SIGTERM)
			p.Stderr.Await(t, p, "msg=draining for=1h0m0s")

			if got := apptest.Send(t, "GET", p.Ops+"/readyz", ""); got.Status != http.StatusServiceUnavailable || got.Body != "draining\n" {
				t.Errorf("/readyz answers %d %q", got.Status, got.Body)
			}
			if got := apptest.Send(t, "GET", p.Ops+"/healthz", ""); got.Status != http.StatusOK {
				t.Errorf("/healthz answers %d", got.Status)
			}
			for _, connection := range []string{"persistent", "new"} { // the reply asks the client to close the first
				if got := persistent.Get(t, "/stockitems/1"); got.Status != http.StatusOK || !got.Closes {
					t.Errorf("over a %s connection: %d, closes %t", connection, got.Status, got.Closes)
				}
			}

			p.Signal(t, second)
			if code := p.Wait(t); code != 1 {
				t.Errorf("exit code %d after a second signal, want 1", code)
			}
			if answer, err := io.ReadAll(put.in); len(answer) > 0 {
				t.Errorf("the request in flight is answered %q (%v)", answer, err)
			}
			if said := p.Stderr.Text(); !strings.Contains(said, "a second signal") || strings.Contains(said, "panic") {
				t.Errorf("stderr:\n%s", said)
			}
			if left, err := os.ReadDir(p.Temporary); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
}

// TestSecondSignalWhileRequestsFinish checks that a second signal ends a program that
// waits for requests in flight.
func TestSecondSignalWhileRequestsFinish(t *testing.T) {
	p := apptest.Start(t, []string{"PORTICO_SERVER_SHUTDOWN_TIMEOUT=1h"}, "--demo")
	put := beginPut(t, p)
	p.Signal(t, syscall.SIGTERM)
	p.Stderr.Await(t, p, "msg=stopping")
	p.Signal(t, syscall.SIGTERM)
	if code := p.Wait(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if answer, err := io.ReadAll(put.in); len(answer) > 0 {
		t.Errorf("the request in flight is answered %q (%v)", answer, err)
	}
}

// TestDrainingOverHTTP2 checks that an HTTP/2 connection is closed while the program
// drains, without failing a request.
func TestDrainingOverHTTP2(t *testing.T) {
	pair := apptest.NewKeyPair(t, 1)
	p := apptest.Start(t, append(apptest.NewKeyFolder(t, pair).Environ(), "PORTICO_SERVER_DRAIN_DELAY=1h"), "--demo")
	client := apptest.NewTLSClient(t, &tls.Config{}, pair)
	ctx, cancel := context.WithTimeout(t.Context(), apptest.WaitTimeout)
	defer cancel()
	reused := false
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
	get := func() {
		t.Helper()
		request, err := http.NewRequestWithContext(traced, http.MethodGet, p.Contract+"/api/rest/products", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := apptest.ReadReply(t, response); got.Status != http.StatusOK || response.ProtoMajor != 2 {
			t.Fatalf("%d over %s", got.Status, response.Proto)
		}
	}
	get()
	if get(); !reused {
		t.Fatal("the connection is not persistent")
	}
	p.Signal(t, syscall.SIGTERM)
	p.Stderr.Await(t, p, "msg=draining")
	for reused { // until ctx ends
		get()
	}
}

// A slowPut is an update whose body has been sent in part. The server is waiting for the
// rest.
type slowPut struct {
	conn net.Conn
	in   *bufio.Reader
	rest string
}

// beginPut starts an update of the quantity of stock item 1 to 77.
func beginPut(t *testing.T, p *apptest.Process) *slowPut {
	t.Helper()
	address := strings.TrimPrefix(p.Contract, "http://")
	conn, err := net.DialTimeout("tcp", address, apptest.WaitTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(apptest.WaitTimeout)); err != nil {
		t.Fatal(err)
	}
	put := &slowPut{conn: conn, in: bufio.NewReader(conn), rest: `:"77"}`}
	const begun = `{"qty"`
	put.write(t, "PUT /api/rest/stockitems/1 HTTP/1.1\r\nHost: "+address+"\r\nAccept: application/json\r\nContent-Type: application/json\r\n"+
		"Expect: 100-continue\r\nContent-Length: 12\r\nAuthorization: "+apptest.DemoAdmin()+"\r\n\r\n")
	// The server asks for the body once the handler reads it.
	if line, err := put.in.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q (%v)", line, err)
	}
	if _, err := put.in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	put.write(t, begun)
	return put
}

// write sends another part of the request.
func (put *slowPut) write(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(put.conn, text); err != nil {
		t.Fatal(err)
	}
}

// TestGracefulStop ends the program while a client has sent only half of a request. The
// program must wait for the other half, and answer.
func TestGracefulStop(t *testing.T) {
	p := apptest.Start(t, nil, "--demo")
	if got := apptest.Send(t, "GET", p.Ops+"/readyz", ""); got.Status != http.StatusOK || got.Body != "ready\n" {
		t.Errorf("before: /readyz answers %d %q", got.Status, got.Body)
	}
	put := beginPut(t, p)
	p.Signal(t, syscall.SIGTERM)
	p.Stderr.Await(t, p, "msg=stopping")

	if got := apptest.Send(t, "GET", p.Ops+"/readyz", ""); got.Status != http.StatusServiceUnavailable || got.Body != "draining\n" {
		t.Errorf("while it drains: /readyz answers %d %q", got.Status, got.Body)
	}
	if got := apptest.Send(t, "GET", p.Ops+"/healthz", ""); got.Status != http.StatusOK {
		t.Errorf("while it drains: /healthz answers %d", got.Status)
	}
	for began := time.Now(); ; { // until the port is closed to others
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.Contract, "http://"), apptest.WaitTimeout)
		if err != nil {
			break
		}
		_ = conn.Close()
		if time.Since(began) > apptest.WaitTimeout {
			t.Fatal("while it drains, the program takes new connections")
		}
	}

	put.write(t, put.rest)
	response, err := http.ReadResponse(put.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := apptest.ReadReply(t, response); got.Status != http.StatusOK || got.Body != "" {
		t.Errorf("the request in flight is answered %d %q, want 200", got.Status, got.Body)
	}
	if code := p.Wait(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if left, err := os.ReadDir(p.Temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// TestStopDoesNotWaitForever checks that the program ends after server.shutdown_timeout
// although the body of a request is never completed.
func TestStopDoesNotWaitForever(t *testing.T) {
	p := apptest.Start(t, []string{"PORTICO_SERVER_SHUTDOWN_TIMEOUT=20ms"}, "--demo")
	beginPut(t, p)
	p.Signal(t, syscall.SIGTERM)
	if code := p.Wait(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if said := p.Stderr.Text(); !strings.Contains(said, "server.shutdown_timeout") || strings.Contains(said, "panic") {
		t.Errorf("stderr:\n%s", said)
	}
	if left, err := os.ReadDir(p.Temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
