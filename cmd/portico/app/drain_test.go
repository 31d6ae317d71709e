package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/demo/demotest"
	"github.com/portico-commerce/portico/contracttests/nightly"
)

// TestDraining checks the program while it drains, and that a second signal ends it.
func TestDraining(t *testing.T) {
	for name, second := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": os.Interrupt} {
		t.Run(name, func(t *testing.T) {
			p := start(t, []string{"PORTICO_SERVER_DRAIN_DELAY=1h", "PORTICO_SERVER_SHUTDOWN_TIMEOUT=1h"}, "--demo")
			persistent := newClient(t, p.contract, demoAdmin())
			if got := persistent.get(t, "/stockitems/1"); got.status != http.StatusOK || got.closes {
				t.Fatalf("before: %d, closes %t", got.status, got.closes)
			}
			put := beginPut(t, p)
			p.signal(t, syscall.SIGTERM)
			p.stderr.await(t, p, "msg=draining for=1h0m0s")

			if got := send(t, "GET", p.ops+"/readyz", ""); got.status != http.StatusServiceUnavailable || got.body != "draining\n" {
				t.Errorf("/readyz answers %d %q", got.status, got.body)
			}
			if got := send(t, "GET", p.ops+"/healthz", ""); got.status != http.StatusOK {
				t.Errorf("/healthz answers %d", got.status)
			}
			for _, connection := range []string{"persistent", "new"} { // the reply asks the client to close the first
				if got := persistent.get(t, "/stockitems/1"); got.status != http.StatusOK || !got.closes {
					t.Errorf("over a %s connection: %d, closes %t", connection, got.status, got.closes)
				}
			}

			p.signal(t, second)
			if code := p.wait(t); code != 1 {
				t.Errorf("exit code %d after a second signal, want 1", code)
			}
			if answer, err := io.ReadAll(put.in); len(answer) > 0 {
				t.Errorf("the request in flight is answered %q (%v)", answer, err)
			}
			if said := p.stderr.text(); !strings.Contains(said, "a second signal") || strings.Contains(said, "panic") {
				t.Errorf("stderr:\n%s", said)
			}
			if left, err := os.ReadDir(p.temporary); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
}

// TestSecondSignalWhileRequestsFinish checks that a second signal ends a program that
// waits for requests in flight.
func TestSecondSignalWhileRequestsFinish(t *testing.T) {
	p := start(t, []string{"PORTICO_SERVER_SHUTDOWN_TIMEOUT=1h"}, "--demo")
	put := beginPut(t, p)
	p.signal(t, syscall.SIGTERM)
	p.stderr.await(t, p, "msg=stopping")
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if answer, err := io.ReadAll(put.in); len(answer) > 0 {
		t.Errorf("the request in flight is answered %q (%v)", answer, err)
	}
}

// TestDrainingOverHTTP2 checks that an HTTP/2 connection is closed while the program
// drains, without failing a request.
func TestDrainingOverHTTP2(t *testing.T) {
	pair := newKeyPair(t, 1)
	p := start(t, append(newKeyFolder(t, pair).environ(), "PORTICO_SERVER_DRAIN_DELAY=1h"), "--demo")
	client := newTLSClient(t, &tls.Config{}, pair)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	reused := false
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
	get := func() {
		t.Helper()
		request, err := http.NewRequestWithContext(traced, http.MethodGet, p.contract+"/api/rest/products", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := readReply(t, response); got.status != http.StatusOK || response.ProtoMajor != 2 {
			t.Fatalf("%d over %s", got.status, response.Proto)
		}
	}
	get()
	if get(); !reused {
		t.Fatal("the connection is not persistent")
	}
	p.signal(t, syscall.SIGTERM)
	p.stderr.await(t, p, "msg=draining")
	for reused { // until ctx ends
		get()
	}
}

// A balancer distributes calls over replicas in turn, except those whose /readyz fails. It
// does not repeat calls.
type balancer struct {
	replicas []*balancedReplica
	turn     atomic.Uint64
}

// A balancedReplica is one replica behind a balancer.
type balancedReplica struct {
	p            *process
	admin, guest *client
	ready        atomic.Bool
	answered     atomic.Int64
}

// newBalancer starts polling /readyz of the programs, and returns when all are ready.
func newBalancer(t *testing.T, ctx context.Context, asking *sync.WaitGroup, programs ...*process) *balancer {
	t.Helper()
	b := &balancer{}
	for _, p := range programs {
		r := &balancedReplica{p: p, admin: newClient(t, p.contract, demoAdmin()), guest: newClient(t, p.contract, "")}
		b.replicas = append(b.replicas, r)
		first := make(chan struct{})
		asking.Go(func() {
			operators := &http.Client{Timeout: waitTimeout}
			defer operators.CloseIdleConnections()
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for asked := false; ctx.Err() == nil; {
				response, err := operators.Get(p.ops + "/readyz")
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
	nightly.Only(t, "faults")
	const (
		clients = 6
		enough  = 50 // answers of each phase
	)
	environ := []string{"PORTICO_SQL_DSN=" + demotest.SQLite(t), "PORTICO_LOG_LEVEL=warn", "PORTICO_SERVER_DRAIN_DELAY=2s"}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ending, staying := start(t, environ), start(t, environ)
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
				got, err := caller.call(t.Context(), method, path, body)
				if err != nil || got.status != http.StatusOK {
					failures <- fmt.Sprintf("%s %s: %d %s (%v)", method, path, got.status, got.body, err)
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
		guard := time.After(waitTimeout)
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
	ending.signal(t, syscall.SIGTERM)
	if code := ending.wait(t); code != 0 {
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
	staying.stop(t)
}
