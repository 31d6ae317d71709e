package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/buildinfo"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// TestBrokenReplies checks that a reply that breaks off reaches the client in a way that it can
// detect as incomplete, and both connections are closed.
func TestBrokenReplies(t *testing.T) {
	long := strings.Repeat("x", 1<<16) // more than any buffer holds
	tests := []struct{ name, reply string }{
		{"known length", "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + long},
		{"known length, short", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n" + long + "\r\n"},
		{"in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc"},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old := newLegacySystem(t, func(in *bufio.Reader, out net.Conn) {
				if _, err := http.ReadRequest(in); err == nil {
					_, _ = io.WriteString(out, tt.reply)
				}
			})
			f := newTestProxy(t, old.url(), nil)
			conn := f.dial(t)
			if _, err := io.WriteString(conn, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil { // a short reply may not have been sent at all
				_, err = io.Copy(io.Discard, response.Body)
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the client sees %v", err)
			}
			var broken *proxy.Broken
			if err := f.outcome(t); !errors.As(err, &broken) || broken.Gone {
				t.Errorf("error %v", err)
			}
			old.awaitClose(t)
		})
	}
}

// TestClientGone checks that a disconnected client does not count as a failure of the legacy
// store, and the connection to that system is closed.
func TestClientGone(t *testing.T) {
	t.Run("while it waits", func(t *testing.T) {
		asked := make(chan string, 1)
		old := newLegacySystem(t, func(in *bufio.Reader, out net.Conn) {
			answering("", asked)(in, out)
			_, _ = in.ReadByte() // until it is closed
		})
		f := newTestProxy(t, old.url(), nil)
		conn := f.dial(t)
		if _, err := io.WriteString(conn, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-asked
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.outcome(t); adapter.KindOf(err) == adapter.Unavailable {
			t.Error(err)
		}
		old.awaitClose(t)
	})
	t.Run("in the middle of its body", func(t *testing.T) {
		asked := make(chan string, 1)
		old := newLegacySystem(t, func(in *bufio.Reader, out net.Conn) {
			answering("", asked)(in, out)
			_, _ = io.Copy(io.Discard, in)
		})
		f := newTestProxy(t, old.url(), nil)
		conn := f.dial(t)
		if _, err := io.WriteString(conn, "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"); err != nil {
			t.Fatal(err)
		}
		<-asked
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.outcome(t); err == nil || adapter.KindOf(err) == adapter.Unavailable {
			t.Error(err)
		}
		old.awaitClose(t)
	})
	t.Run("while it sends too slowly", func(t *testing.T) {
		old := newLegacySystem(t, func(in *bufio.Reader, _ net.Conn) { _, _ = io.Copy(io.Discard, in) })
		f := newTestProxy(t, old.url(), nil)
		limited := httptest.NewUnstartedServer(f.Config.Handler)
		limited.Config.ReadTimeout = 200 * time.Millisecond
		limited.Start()
		defer limited.Close()
		f.Server = limited
		got := f.talk(t, "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc")
		if err := f.outcome(t); !errors.Is(err, proxy.ErrRequestBody) && !errors.Is(err, context.Canceled) {
			t.Errorf("%v, answered %q", err, got)
		}
		old.awaitClose(t)
	})
	t.Run("in the middle of the reply", func(t *testing.T) {
		old := newLegacySystem(t, func(in *bufio.Reader, out net.Conn) {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			for _, err := io.WriteString(out, "HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n"); err == nil; {
				_, err = out.Write(make([]byte, 1<<16))
			}
		})
		f := newTestProxy(t, old.url(), nil)
		conn := f.dial(t)
		if _, err := io.WriteString(conn, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, 1<<16)); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		var broken *proxy.Broken
		if err := f.outcome(t); !errors.As(err, &broken) || !broken.Gone {
			t.Errorf("error %v", err)
		}
		old.awaitClose(t)
	})
}

// TestBodiesStream checks that each peer receives the beginning before the other has sent the
// end.
func TestBodiesStream(t *testing.T) {
	for _, sent := range []string{"Transfer-Encoding: chunked", "Content-Length: 6"} {
		t.Run(sent, func(t *testing.T) {
			piece := func(text string) string {
				if strings.HasPrefix(sent, "Content") {
					return text
				}
				return fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
			}
			got := make(chan string)
			old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for range 2 {
					text := make([]byte, 3)
					if _, err := io.ReadFull(r.Body, text); err != nil {
						t.Error(err)
					}
					got <- string(text)
				}
				for _, text := range []string{"reply ", "streams"} {
					_, _ = io.WriteString(w, text)
					w.(http.Flusher).Flush()
					<-got
				}
			}))
			defer old.Close()
			f := newTestProxy(t, old.URL, nil)
			conn := f.dial(t)
			for i, text := range []string{"abc", "def"} {
				head := ""
				if i == 0 {
					head = "POST /a HTTP/1.1\r\nHost: h\r\n" + sent + "\r\n\r\n"
				}
				if _, err := io.WriteString(conn, head+piece(text)); err != nil {
					t.Fatal(err)
				}
				if arrived := <-got; arrived != text {
					t.Errorf("arrived %q", arrived)
				}
			}
			if strings.HasPrefix(sent, "Transfer") {
				if _, err := io.WriteString(conn, "0\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"reply ", "streams"} {
				text := make([]byte, len(want))
				if _, err := io.ReadFull(response.Body, text); err != nil || string(text) != want {
					t.Errorf("%q %v", text, err)
				}
				got <- ""
			}
		})
	}
}

// TestLargeBodies checks that 64 MiB pass in both directions unchanged and in little memory.
func TestLargeBodies(t *testing.T) {
	const size, bound = 64 << 20, 8 << 20
	block := bytes.Repeat([]byte("portico "), 1<<13)
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.Copy(w, r.Body)
	}))
	defer old.Close()
	f := newTestProxy(t, old.URL, nil)
	full := f.Config.Handler
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		full.ServeHTTP(w, r)
	})
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	sent, received := sha256.New(), sha256.New()
	reader, writer := io.Pipe()
	go func() {
		for left := size; left > 0; left -= len(block) {
			sent.Write(block)
			if _, err := writer.Write(block); err != nil {
				return
			}
		}
		_ = writer.Close()
	}()
	request, err := http.NewRequestWithContext(t.Context(), "POST", f.URL, reader)
	if err != nil {
		t.Fatal(err)
	}
	response, err := f.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	most := uint64(0)
	for at := 0; ; {
		n, err := io.CopyN(received, response.Body, 8<<20)
		at += int(n)
		runtime.GC()
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapAlloc)
		if err == io.EOF {
			if at != size {
				t.Errorf("%d bytes came back", at)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(sent.Sum(nil), received.Sum(nil)) {
		t.Error("others came back")
	}
	if most > before.HeapAlloc+bound {
		t.Errorf("%d bytes more were in use", most-before.HeapAlloc)
	}
	if err := f.outcome(t); err != nil {
		t.Error(err)
	}
}

// TestNoLeaks checks that after requests that end in many ways, the number of goroutines is the
// same.
func TestNoLeaks(t *testing.T) {
	kinds := []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\nabc", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", "garbage\r\n\r\n", "", empty,
	}
	next := make(chan string, len(kinds))
	old := newLegacySystem(t, func(in *bufio.Reader, out net.Conn) {
		if _, err := http.ReadRequest(in); err == nil {
			_, _ = io.WriteString(out, <-next)
		}
	})
	f := newTestProxy(t, old.url(), nil)
	round := func() {
		for _, kind := range kinds {
			next <- kind
			f.talkLoosely(t, "POST /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx")
			_ = f.outcome(t)
			old.awaitClose(t)
			f.system.Close() // or the next request meets a connection that is being closed
		}
	}
	round()
	f.system.Close()
	before := runtime.NumGoroutine()
	for range 20 {
		round()
	}
	f.system.Close()
	if !testenv.Poll(t, func() bool { return runtime.NumGoroutine() <= before+3 }) {
		t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
	}
}

// talkLoosely is like talk, but accepts replies that break off.
func (f *testProxy) talkLoosely(t *testing.T, request string) {
	t.Helper()
	conn := f.dial(t)
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn)
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestFetch(t *testing.T) {
	tests := []struct {
		name, reply, body string
		want              error
	}{
		{"whole", "HTTP/1.1 404 No\r\nContent-Length: 3\r\nX-A: b\r\n\r\nabc", "abc", nil},
		{"in chunks", "HTTP/1.1 404 No\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc", nil},
		{"too long", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde", "", proxy.ErrReplyTooLong},
		{"too long in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\nabc\r\n0\r\n\r\n", "", proxy.ErrReplyTooLong},
		{"broken", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", "", io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			heads := make(chan string, 1)
			old := newLegacySystem(t, func(in *bufio.Reader, out net.Conn) {
				request, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				heads <- request.Method + " " + request.RequestURI + " " + request.Header.Get("Accept")
				_, _ = io.WriteString(out, tt.reply)
			})
			f := newTestProxy(t, old.url(), nil)
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/a?b", strings.NewReader("read before"))
			r.Header.Set("Accept", "text/xml")
			got, err := f.system.Fetch(t.Context(), r, proxy.Call{Scheme: "http"}, 4)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if head := <-heads; head != "GET /a?b text/xml" {
				t.Errorf("asked %q", head)
			}
			if err == nil && (got.Status != 404 || string(got.Body) != tt.body || got.Header.Get("X-A") != "b") {
				t.Errorf("%+v", got)
			}
			old.awaitClose(t)
		})
	}
}

// TestFetchShared checks that the legacy store gets nothing that identifies the client, except
// the named headers.
func TestFetchShared(t *testing.T) {
	tests := []struct {
		name    string
		trusted bool
		want    string
	}{
		{"client", false, "GET /a?b HTTP/1.1|Host: example.com|User-Agent: " + buildinfo.UserAgent("portico") + "|Accept: text/xml|X-Forwarded-Host: example.com|X-Forwarded-Proto: https|"},
		{"trusted proxy", true, "GET /a?b HTTP/1.1|Host: example.com|User-Agent: " + buildinfo.UserAgent("portico") + "|Accept: text/xml|X-Forwarded-Host: shop.example|X-Forwarded-Proto: https|"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			heads := make(chan string, 1)
			f := newTestProxy(t, newLegacySystem(t, answering(empty, heads)).url(), nil)
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/a?b", nil)
			for _, header := range [][2]string{
				{"Accept", "text/xml"}, {"User-Agent", "attacker"}, {"X-Anything", "1"}, {"Cookie", "a=b"}, {"Connection", "Accept"},
				{"X-Forwarded-Host", "shop.example"}, {"X-Forwarded-For", "9.9.9.9"}, {"X-Forwarded-Proto", "http"}, {"Forwarded", "for=9.9.9.9"},
			} {
				r.Header.Set(header[0], header[1])
			}
			if _, err := f.system.FetchShared(t.Context(), r, proxy.Call{Scheme: "https", Trusted: tt.trusted}, []string{"Accept", "Version"}, 4); err != nil {
				t.Fatal(err)
			}
			if head := strings.ReplaceAll(<-heads, "\r\n", "|"); head != tt.want {
				t.Errorf("sent %q, want %q", head, tt.want)
			}
		})
	}
}
