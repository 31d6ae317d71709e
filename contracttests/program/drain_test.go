package program

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
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

// A balancer distributes calls over replicas in turn, except replicas whose /readyz fails.
// It does not repeat calls.
type balancer struct {
	replicas []*balancedReplica
	turn     atomic.Uint64
}

// A balancedReplica is one replica behind a balancer.
type balancedReplica struct {
	p            *apptest.Process
	admin, guest *apptest.Client
	ready        atomic.Bool
	answered     atomic.Int64
}

// newBalancer starts polling /readyz of the programs, and returns when all are ready.
func newBalancer(t *testing.T, ctx context.Context, asking *sync.WaitGroup, programs ...*apptest.Process) *balancer {
	t.Helper()
	b := &balancer{}
	for _, p := range programs {
		r := &balancedReplica{p: p, admin: apptest.NewClient(t, p.Contract, apptest.DemoAdmin()), guest: apptest.NewClient(t, p.Contract, "")}
		b.replicas = append(b.replicas, r)
		first := make(chan struct{})
		asking.Go(func() {
			operators := &http.Client{Timeout: apptest.WaitTimeout}
			defer operators.CloseIdleConnections()
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for asked := false; ctx.Err() == nil; {
				response, err := operators.Get(p.Ops + "/readyz")
				if err == nil {
					_ = response.Body.Close()
				}
				r.ready.Store(err == nil && response.StatusCode == http.StatusOK)
				if !asked {
					asked = true
					close(first)
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
		<-first
		if !r.ready.Load() {
			t.Fatal("a replica is not ready")
		}
	}
	return b
}

// next returns the next replica that is ready.
func (b *balancer) next() *balancedReplica {
	for {
		if r := b.replicas[b.turn.Add(1)%uint64(len(b.replicas))]; r.ready.Load() {
			return r
		}
	}
}

// TestReplicaEndsUnderLoad ends one of two replicas while clients read and write: no call
// may fail.
func TestReplicaEndsUnderLoad(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	const (
		clients = 6
		enough  = 50 // answers of each phase
	)
	environ := []string{"PORTICO_SQL_DSN=" + demotest.SQLite(t), "PORTICO_LOG_LEVEL=warn", "PORTICO_SERVER_DRAIN_DELAY=2s"}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ending, staying := apptest.Start(t, environ), apptest.Start(t, environ)
	b := newBalancer(t, ctx, &running, ending, staying)

	var answered atomic.Int64
	failures := make(chan string, clients)
	var load sync.WaitGroup
	stop := make(chan struct{})
	for number := range clients {
		load.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				r := b.next()
				caller, method, path, body := r.guest, http.MethodGet, "/products?limit=5", ""
				if number%2 == 1 { // http.Client does not repeat this method
					caller, method, path, body = r.admin, http.MethodPut, fmt.Sprintf("/stockitems/%d", number), fmt.Sprintf(`{"qty":"%d"}`, 10+round%10)
				}
				got, err := caller.Call(t.Context(), method, path, body)
				if err != nil || got.Status != http.StatusOK {
					failures <- fmt.Sprintf("%s %s: %d %s (%v)", method, path, got.Status, got.Body, err)
					return
				}
				r.answered.Add(1)
				answered.Add(1)
			}
		})
	}
	// await waits until a replica has answered that many more calls.
	await := func(r *balancedReplica) {
		t.Helper()
		guard := time.After(testenv.Patience(t))
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for until := r.answered.Load() + enough; r.answered.Load() < until; {
			select {
			case failure := <-failures:
				t.Error(failure)
				return
			case <-guard:
				t.Fatal("the calls do not go on")
			case <-tick.C:
			}
		}
	}
	await(b.replicas[0])
	await(b.replicas[1])
	ending.Signal(t, syscall.SIGTERM)
	if code := ending.Wait(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	await(b.replicas[1])
	close(stop)
	load.Wait()
	close(failures)
	for failure := range failures {
		t.Error(failure)
	}
	t.Logf("%d calls were answered, %d of them by the replica that ended", answered.Load(), b.replicas[0].answered.Load())
	cancel()
	running.Wait()
	staying.Stop(t)
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
