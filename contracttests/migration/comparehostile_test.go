//go:build linux

package migration_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/migrate"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// A hostileReply is the text that a hostile system sends in place of a reply, and the finding that
// the report must have.
type hostileReply struct {
	name, want string
	send       func(conn net.Conn)
}

// hostileReplies returns replies that no system should send.
func hostileReplies(elsewhere string) []hostileReply {
	text := func(reply string) func(net.Conn) {
		return func(conn net.Conn) { _, _ = io.WriteString(conn, reply) }
	}
	// endless sends a piece until the other side closes the connection, or has taken far too much.
	endless := func(head, piece string, pause time.Duration) func(net.Conn) {
		return func(conn net.Conn) {
			_, err := io.WriteString(conn, head)
			for sent := 0; err == nil && sent < maxHostileMemory; sent += len(piece) {
				if _, err = io.WriteString(conn, piece); pause > 0 {
					time.Sleep(pause)
				}
			}
		}
	}
	const json, ok = "Content-Type: application/json\r\n", "HTTP/1.1 200 OK\r\n"
	bomb := func(conn net.Conn) {
		var b bytes.Buffer
		packed := gzip.NewWriter(&b)
		_, _ = packed.Write(make([]byte, 64<<20))
		_ = packed.Close()
		_, _ = fmt.Fprintf(conn, "%s%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", ok, json, b.Len(), b.String())
	}
	nothing := "Content-Length: 0\r\n\r\n"
	return []hostileReply{
		{"an endless body", "the reply is longer than 32 MiB", endless(ok+json+"\r\n", strings.Repeat(" ", 64<<10), 0)},
		{"an endless body in chunks", "the reply is longer than 32 MiB", endless(ok+json+"Transfer-Encoding: chunked\r\n\r\n", "1000\r\n"+strings.Repeat(" ", 0x1000)+"\r\n", 0)},
		{"an endless header", "the headers of the reply are longer than 256 KiB", endless(ok+"X: ", strings.Repeat("x", 64<<10), 0)},
		{"endless headers", "the headers of the reply are longer than 256 KiB", endless(ok, "X: y\r\n", 0)},
		{"millions of headers", "the headers of the reply are longer than 256 KiB", numbered(ok, nothing)},
		{"slow bytes", "i/o timeout", endless(ok+json+"\r\n", " ", 10*time.Millisecond)},
		{"slow headers", "i/o timeout", endless(ok, "X: y\r\n", 10*time.Millisecond)},
		{"a header that is none", `malformed MIME header`, text(ok + "\x1b[2J\x1b]0;owned\x07 " + strings.Repeat("evil ", 20_000) + "\r\n\r\n")},
		{"a status that is none", `malformed HTTP`, text("HTTP/1.1 \x1b[2J" + strings.Repeat("9", 100_000) + "\r\n\r\n")},
		{"no HTTP", `malformed HTTP`, text("\x00\x17\x03\x1b[31mgarbage\r\n\r\n")},
		{"a redirect to another host", "302", text("HTTP/1.1 302 Found\r\nLocation: " + elsewhere + "/api/rest/stockitems\r\n" + nothing)},
		{"a redirect to itself", "302", text("HTTP/1.1 302 Found\r\nLocation: /api/rest/stockitems\r\nSet-Cookie: session=evil; Path=/\r\n" + nothing)},
		{"a body that is shorter than its length", "unexpected EOF", text(ok + json + "Content-Length: 1000\r\n\r\n[]")},
		{"a body that is longer than its length", "bytes after the end of the reply", text(ok + json + "Content-Length: 2\r\n\r\n[] and more")},
		{"two lengths", "", text(ok + json + "Content-Length: 2\r\nContent-Length: 7\r\n\r\n[] and more")},
		{"a negative length", "", text(ok + json + "Content-Length: -1\r\n\r\n[]")},
		{"a chunk of no size", "", text(ok + json + "Transfer-Encoding: chunked\r\n\r\n\x1b\r\n")},
		{"a compressed body that nobody asked for", "", bomb},
		{"invalid UTF-8", "", text(ok + json + "\r\n[\"\xff\xfe\x1b[2J\"]")},
		{"a deep body", "", text(ok + json + "\r\n" + strings.Repeat("[", 1<<20))},
		{"a body of many values", "", text(ok + json + "\r\n[" + strings.Repeat("1,", 1<<22) + "1]")},
		{"many entities", "", text(ok + "Content-Type: application/xml\r\n\r\n<!DOCTYPE a [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;\"><!ENTITY e \"&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;\"><!ENTITY f \"&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;\">]><a>&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;</a>")},
		{"a reset", "", func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) }},
		{"nothing", "EOF", text("")},
	}
}

// numbered sends millions of headers with different names, until the other side closes the connection.
func numbered(head, end string) func(net.Conn) {
	return func(conn net.Conn) {
		w := bufio.NewWriter(conn)
		_, err := w.WriteString(head)
		for i := 0; err == nil && i < 2_000_000; i++ {
			_, err = fmt.Fprintf(w, "%x:\r\n", i)
		}
		_, _ = w.WriteString(end)
		_ = w.Flush()
	}
}

// maxHostileMemory bounds the memory of a comparison with a hostile system. collectEarly is the
// environment of programs whose memory is measured: garbage is collected before it adds up, however
// busy the machine is.
const (
	maxHostileMemory = 256 << 20
	collectEarly     = "GOGC=20"
)

// TestCompareWithHostileSystem compares a shop with a system that answers everything that a
// comparison must survive, outside nightly runs with a sixth of it. The comparison is bounded in memory and time, reports the faults, sends
// nothing to other hosts, and prints nothing that changes a terminal.
func TestCompareWithHostileSystem(t *testing.T) {
	t.Parallel()
	candidate := apptest.StartDemo(t, "magento")
	shop := apptest.ProxyTo(t, candidate.Contract)
	other := apptest.NewLegacyStub(t)
	for _, reply := range testenv.Rows(t, hostileReplies(other.URL), 6) {
		t.Run(reply.name, func(t *testing.T) {
			t.Parallel()
			timeout := "1m" // a busy machine takes its time for a long reply
			if strings.HasPrefix(reply.name, "slow") {
				timeout = "2s"
			}
			hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Cookie") != "" {
					t.Errorf("a cookie is sent: %s", r.Header.Get("Cookie"))
				}
				if !strings.HasPrefix(r.URL.Path, "/api/rest/stockitems") {
					shop.ServeHTTP(w, r)
					return
				}
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.Close() }()
				reply.send(conn)
			}))
			t.Cleanup(hostile.Close)
			file := filepath.Join(t.TempDir(), "requests.json")
			var steps []contracttests.Step
			for i := range 3 {
				steps = append(steps, contracttests.Step{As: "admin", Method: http.MethodGet, Path: fmt.Sprint("/stockitems?limit=", 1+i), Accept: new("application/json")})
			}
			writeRequests(t, file, []contracttests.Exchange{{Name: "items", Steps: steps}})
			report := filepath.Join(t.TempDir(), "report.json")
			p := apptest.StartProgram(t, []string{collectEarly}, apptest.Program(t), "compare", "--legacy", hostile.URL, "--candidate", candidate.Contract,
				"--requests", file, "--timeout", timeout, "--json", report, "--parallel", "2")
			code, peak := p.WaitForPeak(t)
			if code != 1 || peak > maxHostileMemory {
				t.Errorf("exit code %d, want 1; took %d MiB", code, peak>>20)
			}
			t.Logf("took %d MiB", peak>>20)
			printed := p.Stdout.Text() + p.Stderr.Text()
			if strings.ContainsFunc(printed, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) || len(printed) > 4<<10 {
				t.Errorf("printed %d bytes: %.2000q", len(printed), printed)
			}
			var found migrate.Report
			written := apptest.ReadFile(t, report)
			apptest.Parse(t, written, &found)
			if len(written) > 16<<10 || found.Compared != 3 || found.Different != 3 || !strings.Contains(written, reply.want) {
				t.Errorf("the report has %d bytes and not %q: %.3000s", len(written), reply.want, written)
			}
			if other.Last() != nil {
				t.Error("another host was asked")
			}
		})
	}
}
