package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/contracttests"
)

// A wire relays connections to a server and keeps what went by, exchange by exchange.
type wire struct {
	t       *testing.T
	address string // host:port, where it listens
	mu      sync.Mutex
	seen    []exchanged
}

// exchanged is a request and its reply, as bytes.
type exchanged struct{ request, reply []byte }

// newWire relays to the server at a base URL until the test ends. With to "" it is
// told later, by connect.
func newWire(t *testing.T) (w *wire, connect func(to string)) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w = &wire{t: t, address: listener.Addr().String()}
	var connections sync.WaitGroup
	return w, func(to string) {
		connections.Go(func() {
			for {
				client, err := listener.Accept()
				if err != nil {
					return
				}
				connections.Go(func() { w.relay(client, strings.TrimPrefix(to, "http://")) })
			}
		})
		t.Cleanup(func() {
			if err := listener.Close(); err != nil {
				t.Error(err)
			}
			connections.Wait()
		})
	}
}

// relay carries one exchange after the other until a side closes.
func (w *wire) relay(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer server.Close()
	var request, reply bytes.Buffer
	fromClient, fromServer := bufio.NewReader(io.TeeReader(client, &request)), bufio.NewReader(io.TeeReader(server, &reply))
	for {
		request.Reset()
		reply.Reset()
		r, err := http.ReadRequest(fromClient)
		if err != nil {
			return // closed
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.t.Error(err)
			return
		}
		if _, err := server.Write(request.Bytes()); err != nil {
			w.t.Error(err)
			return
		}
		response, err := http.ReadResponse(fromServer, r)
		if err != nil {
			w.t.Errorf("%s: %v", request.String(), err)
			return
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			w.t.Error(err)
			return
		}
		w.mu.Lock()
		w.seen = append(w.seen, exchanged{bytes.Clone(request.Bytes()), bytes.Clone(reply.Bytes())})
		w.mu.Unlock()
		if _, err := client.Write(reply.Bytes()); err != nil || response.Close {
			return
		}
	}
}

// take returns what has gone by since the last time.
func (w *wire) take() []exchanged {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// A message is a request or a reply, taken apart: its first line, its headers in
// order of their names, and the bytes of its body.
type message struct {
	first   string
	headers []string
	body    string
}

// hops are the headers of one connection, and those that tell of the way.
func hops() []string {
	return []string{"connection", "transfer-encoding", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"}
}

func parseMessage(t *testing.T, raw []byte, request bool) message {
	t.Helper()
	head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	lines := strings.Split(string(head), "\r\n")
	m := message{first: lines[0]}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		name, value = strings.ToLower(name), strings.TrimSpace(value)
		// That there is no body may be said or not.
		if !slices.Contains(hops(), name) && (name != "content-length" || value != "0") {
			m.headers = append(m.headers, name+": "+value)
		}
	}
	slices.Sort(m.headers)
	var body io.Reader
	if request {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			t.Fatal(err)
		}
		body = r.Body
	} else {
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
		if err != nil {
			t.Fatal(err)
		}
		body = r.Body
	}
	// The body of a reply to HEAD is not there.
	text, err := io.ReadAll(body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	m.body = string(text)
	return m
}

// sameMessages compares what went by on both sides, but for the headers named.
func sameMessages(t *testing.T, outside, inside []exchanged, but ...string) {
	t.Helper()
	if len(outside) != len(inside) {
		t.Fatalf("%d exchanges outside, %d inside", len(outside), len(inside))
	}
	without := func(headers []string) []string {
		return slices.DeleteFunc(headers, func(h string) bool {
			return slices.ContainsFunc(but, func(name string) bool { return strings.HasPrefix(h, name+": ") })
		})
	}
	compare := func(a, b message) {
		t.Helper()
		// An absolute target loses what the Host header says as well.
		if method, rest, absolute := strings.Cut(a.first, " http://"); absolute {
			_, path, _ := strings.Cut(rest, "/")
			a.first = method + " /" + path
		}
		if a.headers, b.headers = without(a.headers), without(b.headers); a.first != b.first || !slices.Equal(a.headers, b.headers) || a.body != b.body {
			t.Errorf("outside\n%s\n%q\n%.300q\ninside\n%s\n%q\n%.300q", a.first, a.headers, a.body, b.first, b.headers, b.body)
		}
	}
	for i := range outside {
		compare(parseMessage(t, outside[i].request, true), parseMessage(t, inside[i].request, true))
		compare(parseMessage(t, outside[i].reply, false), parseMessage(t, inside[i].reply, false))
	}
}

// routesFile writes a configuration with the entries of the table routes, and returns
// the setting that names it.
func routesFile(t testing.TB, entries ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "routes.yaml")
	if err := os.WriteFile(name, []byte("routes:\n  - {"+strings.Join(entries, "}\n  - {")+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "PORTICO_CONFIG=" + name
}

const allToLegacy = "resource: all, to: legacy"

// TestRecordedExchangesPassThrough replays some of what the original answered through two
// servers: one in front, on another engine, and behind it one that plays the old
// system. The exchanges come out as without the first, and every byte on both sides
// of it is the same.
func TestRecordedExchangesPassThrough(t *testing.T) {
	t.Parallel()
	cases, err := contracttests.Exchanges()
	if err != nil {
		t.Fatal(err)
	}
	signedAnew := slices.DeleteFunc(slices.Clone(cases), func(c contracttests.Exchange) bool {
		return !strings.HasPrefix(c.File, "stock") && !strings.HasPrefix(c.File, "orders")
	})
	tests := []struct {
		name, auth string
		cases      []contracttests.Exchange
		changed    []string // headers
	}{
		{"keep", "keep", sampled(t, cases, 4), []string{"x-http-method-override"}},
		{"caller", "caller", sampled(t, signedAnew, 2), []string{"authorization", "host", "x-http-method-override"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outside, connectOutside := newWire(t)
			inside, connectInside := newWire(t)
			data, err := demo.Load()
			if err != nil {
				t.Fatal(err)
			}
			old := demoDB(t, "sqlite:"+filepath.Join(t.TempDir(), "old.db"))
			if err := old.Load(t.Context(), data, nil); err != nil {
				t.Fatal(err)
			}
			behind, behindServer := serveApp(t, old, data, "magento", "PORTICO_PUBLIC_URL=http://"+outside.address)
			connectInside(behindServer.URL)

			front := demoDB(t, newFrontDSN(t))
			if tt.auth != "keep" { // has to know the callers
				if err := front.Load(t.Context(), data, nil); err != nil {
					t.Fatal(err)
				}
			}
			_, frontServer := serveApp(t, front, nil, "magento", routesFile(t, allToLegacy),
				"PORTICO_LEGACY_URL=http://"+inside.address, "PORTICO_LEGACY_AUTH="+tt.auth)
			connectOutside(frontServer.URL)

			frontServer.URL = "http://" + outside.address
			target := targetOf(t, behind, frontServer, "magento")
			want := contracttests.Summary{Passed: len(tt.cases)}
			if got := contracttests.Replay(t, target, tt.cases); got != want && !t.Failed() {
				t.Errorf("got %+v, want %+v", got, want)
			}
			sameMessages(t, outside.take(), inside.take(), tt.changed...)
		})
	}
}

// newFrontDSN is an empty database of another engine than SQLite, where there is one.
func newFrontDSN(t testing.TB) string {
	if testing.Short() {
		return "sqlite:" + filepath.Join(t.TempDir(), "front.db")
	}
	return sqltest.Postgres(t)
}

// demoDB opens an empty database, which serveApp closes.
func demoDB(t testing.TB, dsn string) *sqlstore.DB {
	t.Helper()
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsn, MediaDir: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}
