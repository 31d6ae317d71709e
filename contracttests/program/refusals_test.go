package program

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// largeBody is the size in bytes of a body that no system buffers for a server that does not read it.
const largeBody = 6 << 20

// A operationRefusal is a request with a large body that is refused before all of it is read.
type operationRefusal struct {
	name    string
	line    string // of the request
	fields  string // of its header, besides Host and the fields with the length of the body
	framing string // these fields; "": Content-Length with the size of the body
	size    int    // of the body, in bytes; 0 means largeBody
	behind  string // sent after the body
	status  int
	log     string // further text of its log entry
}

const (
	operationAsAdmin = "Content-Type: application/json\r\nAuthorization: "
	create           = "POST /api/rest/products HTTP/1.1"
	update           = "PUT /api/rest/stockitems/1 HTTP/1.1"
	chunked          = "Transfer-Encoding: chunked\r\n"
)

// refusals returns requests that the demo store refuses.
func refusals() []operationRefusal {
	admin := operationAsAdmin + apptest.DemoAdmin() + "\r\n"
	length := func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n", n) }
	return []operationRefusal{
		{name: "a bad token", line: create, fields: strings.Replace(admin, "cccc", "", 1), status: 401},
		{name: "a bad token, 50 MB", line: create, fields: strings.Replace(admin, "cccc", "", 1), size: 50 << 20, status: 401},
		{name: "a guest", line: create, status: 403},
		{name: "a guest, 50 MB", line: create, size: 50 << 20, status: 403},
		{name: "no route", line: "POST /api/rest/nothing HTTP/1.1", status: 404},
		{name: "another API", line: "POST /api/restless/products HTTP/1.1", status: 400},
		{name: "a method that does not exist", line: "PATCH /api/rest/products HTTP/1.1", status: 400},
		{name: "a method without a body", line: "HEAD /api/rest/nothing HTTP/1.1", status: 404},
		{name: "a method that is not implemented", line: "POST /api/rest/orders HTTP/1.1", fields: admin, status: 405},
		{name: "no acceptable type", line: create, fields: "Accept: image/png\r\n", status: 500},
		{name: "a bad version", line: update, fields: admin + "Version: 0\r\n", status: 400},
		{name: "a bad type of content", line: update, fields: strings.Replace(admin, "json", "pdf", 1), status: 400},
		{name: "a signed form that is too large", line: create, fields: strings.Replace(admin, "application/json", "application/x-www-form-urlencoded", 1), status: 400},
		{name: "a body over the limit", line: update, fields: admin, size: 20 << 20, status: 400, log: "the body has 20971520 bytes, and limits.body_bytes allows 16777216"},
		{name: "chunks over the limit", line: update, fields: admin, framing: chunked, size: 40 << 20, status: 400, log: "the body has more than 16777216 bytes, and limits.body_bytes allows 16777216"},
		{name: "chunks of a guest", line: create, framing: chunked, status: 403},
		{name: "a body that is not JSON", line: update, fields: admin, status: 400},
		{name: "more than the header says", line: create, framing: length(1000), status: 403},
		{name: "less than the header says", line: create, framing: length(largeBody * 2), status: 403},
		{name: "an absurd length", line: update, fields: admin, framing: length(1 << 60), status: 400, log: "the body has 1152921504606846976 bytes"},
		{name: "requests behind the body", line: create, behind: strings.Repeat("GET /api/rest/products/1 HTTP/1.1\r\nHost: x\r\n\r\n", 3), status: 403},
		{name: "the client closes", line: create, fields: "Connection: close\r\n", status: 403},
		{name: "the client closes after a short body", line: create, fields: "Connection: close\r\n", size: 200 << 10, status: 403},
		{name: "HTTP/1.0", line: "POST /api/rest/products HTTP/1.0", status: 403},
		{name: "a client that does not wait for 100", line: create, fields: "Expect: 100-continue\r\n", status: 403},
		{name: "an unknown expectation", line: create, fields: "Expect: more\r\n", status: 417},
		{name: "outside the interface", line: "POST /elsewhere HTTP/1.1", status: 404},
		{name: "a page of consent", line: "POST /oauth/authorize?oauth_token=x HTTP/1.1", fields: "Content-Type: application/x-www-form-urlencoded\r\n", status: 400},
		{name: "the request for a token", line: "POST /oauth/initiate HTTP/1.1", fields: "Content-Type: application/x-www-form-urlencoded\r\n", status: 400},
		{name: "an image", line: "POST /media/catalog/product/s/t/steel.png HTTP/1.1", status: 404},
		{name: "a broken line", line: "POST /api/rest/products", status: 400},
		{name: "a broken field", line: create, fields: "no colon\r\n", status: 400},
		{name: "two lengths", line: create, framing: length(largeBody) + length(5), status: 400},
		{name: "an unknown encoding", line: create, framing: "Transfer-Encoding: gzip\r\n", status: 501},
		{name: "a header that is too large", line: create, fields: "X-Padding: " + strings.Repeat("a", 1<<20) + "\r\n", status: 431},
	}
}

// send sends the whole request, as most clients do, and returns the reply. The body is a text that no format
// allows.
func (r operationRefusal) send(conn net.Conn) (*http.Response, error) {
	size := cmp.Or(r.size, largeBody)
	framing := cmp.Or(r.framing, "Content-Length: "+strconv.Itoa(size)+"\r\n")
	if _, err := io.WriteString(conn, r.line+"\r\nHost: shop.example\r\n"+r.fields+framing+"\r\n"); err != nil {
		return nil, fmt.Errorf("the head: %w", err)
	}
	piece := bytes.Repeat([]byte("a"), 64<<10)
	for sent := 0; sent < size; sent += len(piece) {
		piece = piece[:min(len(piece), size-sent)]
		text := piece
		if r.framing == chunked {
			text = fmt.Appendf(nil, "%x\r\n%s\r\n", len(piece), piece)
		}
		if _, err := conn.Write(text); err != nil {
			return nil, fmt.Errorf("after %d bytes of the body: %w", sent, err)
		}
	}
	end := r.behind
	if r.framing == chunked {
		end = "0\r\n\r\n" + end
	}
	if _, err := io.WriteString(conn, end); err != nil {
		return nil, fmt.Errorf("after the body: %w", err)
	}
	method, _, _ := strings.Cut(r.line, " ")
	reply, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return nil, fmt.Errorf("the reply: %w", err)
	}
	_, err = io.ReadAll(reply.Body)
	return reply, err
}

// check sends r over a connection of its own and checks the status of the reply.
func (r operationRefusal) check(t *testing.T, address string, secure *tls.Config) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if secure != nil {
		conn = tls.Client(conn, secure)
	}
	defer func() { _ = conn.Close() }()
	reply, err := r.send(conn)
	if err != nil {
		t.Fatal(err)
	}
	if reply.StatusCode != r.status {
		t.Errorf("status %d, want %d", reply.StatusCode, r.status)
	}
}

// addressOf returns host and port of a base URL.
func addressOf(base string) string {
	_, address, _ := strings.Cut(base, "://")
	address, _, _ = strings.Cut(address, "/")
	return address
}

// TestRefusalsArrive checks that clients that send all of a large request before they read get to see why it is
// refused: outside nightly runs with TLS one in four of them.
func TestRefusalsArrive(t *testing.T) {
	t.Parallel()
	pair := apptest.NewKeyPair(t, 1)
	secure := &tls.Config{RootCAs: apptest.NewTLSClient(t, &tls.Config{}, pair).Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "127.0.0.1"}
	for _, with := range []struct {
		name    string
		environ []string
		secure  *tls.Config
		oneIn   int // of the requests
	}{
		{"plain", nil, nil, 1},
		{"TLS", apptest.NewKeyFolder(t, pair).Environ(), secure, 4},
	} {
		t.Run(with.name, func(t *testing.T) {
			t.Parallel()
			p := apptest.Start(t, with.environ, "--demo")
			for _, r := range testenv.Rows(t, refusals(), with.oneIn) {
				t.Run(r.name, func(t *testing.T) {
					r.check(t, addressOf(p.Contract), with.secure)
					p.Stderr.Await(t, p, r.log)
				})
			}
			if used := apptest.ScrapeMetrics(t, p.Ops).Sum("portico_budget_refused_total", `budget="unread"`); used != 0 {
				t.Errorf("%v connections were closed at once", used)
			}
			p.Stop(t)
		})
	}
}

// TestRefusalsArriveElsewhere is TestRefusalsArrive with settings that refuse more.
func TestRefusalsArriveElsewhere(t *testing.T) {
	t.Parallel()
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		w.WriteHeader(http.StatusPaymentRequired)
	}))
	t.Cleanup(old.Close)
	front := func(auth string) []string {
		return []string{apptest.RoutesFile(t, "resource: all, to: legacy"), "PORTICO_LEGACY_URL=" + old.URL, "PORTICO_LEGACY_AUTH=" + auth}
	}
	admin := operationAsAdmin + apptest.DemoAdmin() + "\r\n"
	for _, tt := range []struct {
		name    string
		environ []string
		before  int // requests that are answered before
		operationRefusal
	}{
		{"guests beyond their rate", []string{"PORTICO_LIMITS_GUEST_RATE=0.0001", "PORTICO_LIMITS_GUEST_BURST=1"}, 1, operationRefusal{line: create, status: 429}},
		{"consumers beyond their rate", []string{"PORTICO_LIMITS_CONSUMER_RATE=0.0001", "PORTICO_LIMITS_CONSUMER_BURST=1"}, 1, operationRefusal{line: update, fields: admin, status: 429}},
		{"outside the base path", []string{"PORTICO_PUBLIC_URL=http://shop.example/shop"}, 0, operationRefusal{line: create, status: 404}},
		{"below the base path", []string{"PORTICO_PUBLIC_URL=http://shop.example/shop"}, 0, operationRefusal{line: "POST /shop/api/rest/products HTTP/1.1", status: 403}},
		{"no acceptable type in the dialect magento", []string{"PORTICO_DIALECT=magento"}, 0, operationRefusal{line: create, status: 500}},
		{"a body over a small limit", []string{"PORTICO_LIMITS_BODY_BYTES=2KiB"}, 0, operationRefusal{line: update, fields: admin, status: 400, log: "limits.body_bytes allows 2048"}},
		{"by Portico before the legacy store", front("own"), 0, operationRefusal{line: create, fields: strings.Replace(admin, "cccc", "", 1), status: 401}},
		{"by the legacy store", front("caller"), 0, operationRefusal{line: create, fields: admin, size: 50 << 20, status: 402}},
		{"by the legacy store, outside the interface", front("caller"), 0, operationRefusal{line: "POST /elsewhere HTTP/1.1", size: 50 << 20, status: 402}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := apptest.Start(t, append(tt.environ, apptest.LegacyConsumer()...), "--demo")
			for range tt.before {
				small := tt.operationRefusal
				small.size, small.status = 1, http.StatusForbidden
				if tt.fields != "" {
					small.status = http.StatusBadRequest
				}
				small.check(t, addressOf(p.Contract), nil)
			}
			tt.check(t, addressOf(p.Contract), nil)
			p.Stderr.Await(t, p, tt.log)
		})
	}
}

// TestRefusalsArriveOverHTTP2 checks that clients of HTTP/2 see why a large request is refused.
func TestRefusalsArriveOverHTTP2(t *testing.T) {
	t.Parallel()
	pair := apptest.NewKeyPair(t, 1)
	p := apptest.Start(t, apptest.NewKeyFolder(t, pair).Environ(), "--demo")
	client := apptest.NewTLSClient(t, &tls.Config{}, pair)
	for range 3 {
		response, err := client.Post(p.Contract+"/api/rest/products", "application/json", io.LimitReader(operationEndless{}, 50<<20))
		if err != nil {
			t.Fatal(err)
		}
		if got := apptest.ReadReply(t, response); got.Status != http.StatusForbidden || response.ProtoMajor != 2 {
			t.Errorf("%d over %s", got.Status, response.Proto)
		}
	}
}

// operationEndless is a body of blanks.
type operationEndless struct{}

// Read fills p.
func (operationEndless) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte(" "), len(p))), nil
}

// TestRefusalsArriveAtPython checks that the client of Python's standard library, which sends all of a request before
// it reads, sees why it is refused.
func TestRefusalsArriveAtPython(t *testing.T) {
	t.Parallel()
	python := testenv.Need(t, "python3")
	const program = `
import http.client, ssl, sys
address, mode, size = sys.argv[1:]
if mode == "TLS":
    c = http.client.HTTPSConnection(address, context=ssl._create_unverified_context())
else:
    c = http.client.HTTPConnection(address)
body = b"a" * int(size)
c.request("POST", "/api/rest/products", iter([body]) if mode == "chunked" else body, {"Content-Type": "application/json", "Accept": "application/json"}, encode_chunked=mode == "chunked")
r = c.getresponse()
print(r.status, r.read().decode())
`
	pair := apptest.NewKeyPair(t, 1)
	plain, secure := apptest.Start(t, nil, "--demo"), apptest.Start(t, apptest.NewKeyFolder(t, pair).Environ(), "--demo")
	for mode, p := range map[string]*apptest.Process{"length": plain, "chunked": plain, "TLS": secure} {
		for _, size := range []int{5 << 20, 50 << 20} {
			t.Run(fmt.Sprint(mode, size), func(t *testing.T) {
				said, err := exec.Command(python, "-c", program, addressOf(p.Contract), mode, strconv.Itoa(size)).CombinedOutput()
				if err != nil || !strings.HasPrefix(string(said), `403 {"messages"`) {
					t.Errorf("%v: %s", err, said)
				}
			})
		}
	}
}

// TestEndWhileRefused checks that the program waits at its end for a client that is still sending a request which
// has been refused, but not for longer than for requests.
func TestEndWhileRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		timeout string
		goesOn  bool
	}{
		"the client goes on":      {"1h", true},
		"the client does nothing": {"10ms", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := apptest.Start(t, []string{"PORTICO_SERVER_SHUTDOWN_TIMEOUT=" + tt.timeout}, "--demo")
			conn, err := net.Dial("tcp", addressOf(p.Contract))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := fmt.Fprintf(conn, "%s\r\nHost: x\r\nContent-Length: %d\r\n\r\n", create, largeBody); err != nil {
				t.Fatal(err)
			}
			testenv.Await(t, "the refusal", func() bool {
				return apptest.ScrapeMetrics(t, p.Ops).Sum("portico_budget_used", `budget="unread"`) == 1
			})
			began := time.Now()
			p.Signal(t, syscall.SIGTERM)
			p.Stderr.Await(t, p, "msg=stopping")
			if tt.goesOn {
				if _, err := conn.Write(make([]byte, largeBody)); err != nil {
					t.Error(err)
				}
				if reply, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || reply.StatusCode != http.StatusForbidden {
					t.Errorf("%v, %v", reply, err)
				}
				_ = conn.Close()
			}
			p.Wait(t)
			t.Logf("ended after %s", time.Since(began))
		})
	}
}
