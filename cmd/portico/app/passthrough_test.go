package app

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/contracttests"
)

// A recordingRelay forwards connections to a server and records the bytes of each
// exchange.
type recordingRelay struct {
	t       *testing.T
	address string // host:port of the listener
	mu      sync.Mutex
	seen    []rawExchange
}

// A rawExchange has the bytes of a request and its reply.
type rawExchange struct{ request, reply []byte }

// newRecordingRelay starts listening. connect starts the forwarding to a base URL, until
// the test ends.
func newRecordingRelay(t *testing.T) (w *recordingRelay, connect func(to string)) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w = &recordingRelay{t: t, address: listener.Addr().String()}
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

// relay forwards one exchange after the other until one end closes the connection.
func (w *recordingRelay) relay(client net.Conn, to string) {
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
		w.seen = append(w.seen, rawExchange{bytes.Clone(request.Bytes()), bytes.Clone(reply.Bytes())})
		w.mu.Unlock()
		if _, err := client.Write(reply.Bytes()); err != nil || response.Close {
			return
		}
	}
}

// takeExchanges returns the exchanges since the last call.
func (w *recordingRelay) takeExchanges() []rawExchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// A message is a parsed request or reply: its first line, its sorted headers, and the
// bytes of its body.
type message struct {
	first   string
	headers []string
	body    string
}

// hopHeaders returns the headers that belong to one connection, or that a proxy adds.
func hopHeaders() []string {
	return []string{"connection", "transfer-encoding", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"}
}

// parseMessage parses a request or reply, without hopHeaders.
func parseMessage(t *testing.T, raw []byte, request bool) message {
	t.Helper()
	head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	lines := strings.Split(string(head), "\r\n")
	m := message{first: lines[0]}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		name, value = strings.ToLower(name), strings.TrimSpace(value)
		// An empty body may have Content-Length: 0 or no header.
		if !slices.Contains(hopHeaders(), name) && (name != "content-length" || value != "0") {
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
	// A reply to HEAD has no body.
	text, err := io.ReadAll(body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	m.body = string(text)
	return m
}

// sameMessages compares the messages on both ends of the proxy, except for the headers in
// but.
func sameMessages(t *testing.T, outside, inside []rawExchange, but ...string) {
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
		// With an absolute target the Host header is replaced, too.
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

const allToLegacy = "resource: all, to: legacy"

// TestRecordedExchangesPassThrough replays recorded exchanges through a server in front, on another
// engine, that forwards to one in the role of the legacy store. The replies must be correct, and
// all bytes the same on both ends of the front server.
func TestRecordedExchangesPassThrough(t *testing.T) {
	t.Parallel()
	cases := apptest.Exchanges(t)
	signedAnew := slices.DeleteFunc(slices.Clone(cases), func(c contracttests.Exchange) bool {
		return !strings.HasPrefix(c.File, "stock") && !strings.HasPrefix(c.File, "orders")
	})
	tests := []struct {
		name, auth string
		cases      []contracttests.Exchange
		changed    []string // headers
	}{
		{"keep", "keep", apptest.SampleExchanges(t, cases, 8), []string{"x-http-method-override"}},
		{"caller", "caller", apptest.SampleExchanges(t, signedAnew, 6), []string{"authorization", "host", "x-http-method-override"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outside, connectOutside := newRecordingRelay(t)
			inside, connectInside := newRecordingRelay(t)
			behind, behindServer := startDemo(t, "magento", "PORTICO_PUBLIC_URL=http://"+outside.address)
			connectInside(behindServer.URL)

			front := apptest.OpenRecords(t, sqlstore.Options{DSN: newFrontDSN(t), Migrate: true})
			if tt.auth != "keep" { // Portico must have the callers' credentials
				if err := front.Load(t.Context(), demotest.Data(t), nil); err != nil {
					t.Fatal(err)
				}
			}
			_, frontServer := serveApp(t, front, nil, "magento", apptest.RoutesFile(t, allToLegacy),
				"PORTICO_LEGACY_URL=http://"+inside.address, "PORTICO_LEGACY_AUTH="+tt.auth)
			connectOutside(frontServer.URL)

			frontServer.URL = "http://" + outside.address
			target := targetOf(t, behind, frontServer, "magento")
			want := contracttests.Summary{Passed: len(tt.cases)}
			if got := contracttests.Replay(t, target, tt.cases); got != want && !t.Failed() {
				t.Errorf("got %+v, want %+v", got, want)
			}
			sameMessages(t, outside.takeExchanges(), inside.takeExchanges(), tt.changed...)
		})
	}
}

// newFrontDSN returns the DSN of an empty database of another engine than SQLite, if one
// is available.
func newFrontDSN(t testing.TB) string {
	if testing.Short() {
		return "sqlite:" + filepath.Join(t.TempDir(), "front.db")
	}
	return sqltest.Postgres(t)
}
