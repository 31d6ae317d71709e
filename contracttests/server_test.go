package contracttests

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// serve starts a server that passes the bytes of each request to answer and writes back
// the bytes that answer returns. It returns the base URL.
func serve(t *testing.T, answer func(request string) string) string {
	t.Helper()
	return "http://" + listenAndHandle(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for {
			request, err := readRequest(in)
			if err != nil {
				return
			}
			io.WriteString(conn, answer(request))
		}
	})
}

// listenAndHandle calls handle for every new connection until the test ends. Each
// connection is closed when handle returns.
func listenAndHandle(t *testing.T, handle func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		conns.Wait()
	})
	return l.Addr().String()
}

// readRequest reads one request without validating it.
func readRequest(in *bufio.Reader) (string, error) {
	var head strings.Builder
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		head.WriteString(line)
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return "", err
			}
		}
		if line == "\r\n" {
			break
		}
	}
	body := make([]byte, length)
	_, err := io.ReadFull(in, body)
	return head.String() + string(body), err
}

// httpReply returns a complete reply. Each header is a line.
func httpReply(status int, body string, headers ...string) string {
	head := fmt.Sprintf("HTTP/1.1 %d X\r\n", status)
	for _, h := range headers {
		head += h + "\r\n"
	}
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

// renderRecording returns the reply of a recording with values in place of its
// placeholders.
func renderRecording(t *testing.T, r Response) string {
	t.Helper()
	var headers []string
	base, body := "http://store.example", r.Body
	if r.ContentType != nil {
		headers = append(headers, "Content-Type: "+*r.ContentType)
		switch f, _ := formatOfMediaType(*r.ContentType); f.name {
		case "JSON":
			base = strings.ReplaceAll(base, "/", `\/`)
		case "XML":
			// Rendered, because some recordings lost white space to {{any}}.
			tree, err := f.parse(body)
			if err != nil {
				t.Fatal(err)
			}
			body = f.canonical(&tree)
		}
	}
	if r.Location != nil {
		headers = append(headers, "Location: "+*r.Location)
	}
	fill := strings.NewReplacer("{{datetime}}", "2012-01-02 03:04:05", "{{base_url}}", base, "{{any}}", "x")
	return httpReply(r.Status, fill.Replace(body), headers...)
}

// mustServer parses a base URL.
func mustServer(t *testing.T, base string) server {
	t.Helper()
	srv, err := parseServer(base, nil)
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

// testCredentials are credentials of all callers.
var testCredentials = Credentials{
	Consumer:  Consumer{Key: "key", Secret: "consumer-secret"},
	Admin:     Token{Token: "a", Secret: "admin-secret"},
	Customer1: Token{Token: "c1", Secret: "secret-1"},
	Customer2: Token{Token: "c2", Secret: "secret-2"},
}
