package fastpath

import (
	"bufio"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

const simpleHead = "GET /api/rest/products?limit=4 HTTP/1.1\r\nHost: shop.example:8080\r\nAccept: application/json\r\n\r\n"

// TestParseHead checks which heads are left to net/http.
func TestParseHead(t *testing.T) {
	t.Parallel()
	field := func(line string) string { return strings.Replace(simpleHead, "\r\n\r\n", "\r\n"+line+"\r\n\r\n", 1) }
	for name, tt := range map[string]struct {
		head   string
		simple bool
	}{
		"simple":             {simpleHead, true},
		"more fields":        {field("accept: text/xml\r\nX-Request-Id: a\r\ncookie:  a=b; c \r\nEmpty:"), true},
		"keep-alive":         {field("Connection: Keep-Alive"), true},
		"close":              {field("Connection: close"), false},
		"upgrade":            {field("Connection: upgrade\r\nUpgrade: h2c"), false},
		"body":               {field("Content-Length: 1"), false},
		"empty body":         {field("Content-Length: 0"), false},
		"chunks":             {field("Transfer-Encoding: chunked"), false},
		"expectation":        {field("Expect: 100-continue"), false},
		"trailer":            {field("Trailer: A"), false},
		"folded line":        {field(" more"), false},
		"blank in a name":    {field("A : b"), false},
		"odd name":           {field("A_b: c"), false},
		"no colon":           {field("abc"), false},
		"odd value":          {field("A: \x7f"), false},
		"line feed in value": {field("A: b\nContent-Length: 5"), false},
		"two hosts":          {field("Host: other.example"), false},
		"no host":            {"GET /a HTTP/1.1\r\nA: b\r\n\r\n", false},
		"empty host":         {"GET /a HTTP/1.1\r\nHost: \r\n\r\n", false},
		"odd host":           {"GET /a HTTP/1.1\r\nHost: a/b\r\n\r\n", false},
		"no fields":          {"GET /a HTTP/1.1\r\n\r\n", false},
		"HTTP/1.0":           {strings.Replace(simpleHead, "1.1", "1.0", 1), false},
		"another method":     {strings.Replace(simpleHead, "GET", "PUT", 1), false},
		"address of a proxy": {strings.Replace(simpleHead, "/api", "http://a/api", 1), false},
		"escaped path":       {strings.Replace(simpleHead, "/api", "/%61pi", 1), false},
		"double slash":       {strings.Replace(simpleHead, "/api", "//api", 1), false},
		"empty query":        {strings.Replace(simpleHead, "?limit=4", "?", 1), false},
		"blank in target":    {strings.Replace(simpleHead, "?limit", "? limit", 1), false},
		"not complete":       {simpleHead[:len(simpleHead)-2], false},
		"more than a head":   {simpleHead + "GET", false},
		"two requests":       {simpleHead + simpleHead, false},
		"many fields":        {field(strings.Repeat("A: b\r\n", maxFields) + "A: b"), false},
		"nothing":            {"", false},
		"empty line":         {"\r\n\r\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := parseHead(tt.head, ""); (got != nil) != tt.simple {
				t.Errorf("simple: %v, want %v", got != nil, tt.simple)
			}
			compareParsers(t, tt.head)
		})
	}
}

// FuzzParseHead checks that a head that is parsed here means the same to net/http.
func FuzzParseHead(f *testing.F) {
	for _, fields := range []string{"", "A: b\r\n", "Connection: keep-alive\r\nA: b\r\na: c\r\n", "Content-Length: 5\r\n", "Version: 1\r\nIf-None-Match: W/\"a\", *\r\n", "A: b\n\r\n"} {
		f.Add(strings.TrimSuffix(simpleHead, "\r\n") + fields + "\r\n")
	}
	f.Add("GET /a?b#c HTTP/1.1\r\nHost: a\r\n\r\n")
	f.Fuzz(func(t *testing.T, head string) { compareParsers(t, head) })
}

// compareParsers fails if a head is parsed here and net/http would parse it otherwise.
func compareParsers(t *testing.T, head string) {
	t.Helper()
	got := parseHead(head, "192.0.2.1:1")
	if got == nil {
		return
	}
	in := bufio.NewReader(strings.NewReader(head))
	want, err := http.ReadRequest(in)
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", head, err)
	}
	if in.Buffered() > 0 {
		t.Fatalf("net/http leaves %d bytes of %q", in.Buffered(), head)
	}
	want.RemoteAddr = "192.0.2.1:1"
	for name, values := range map[string][2]any{
		"method": {got.Method, want.Method}, "URL": {got.URL, want.URL}, "header": {got.Header, want.Header}, "host": {got.Host, want.Host},
		"target": {got.RequestURI, want.RequestURI}, "protocol": {got.Proto, want.Proto}, "body": {got.Body, want.Body}, "length": {got.ContentLength, want.ContentLength},
		"close": {got.Close, want.Close}, "client": {got.RemoteAddr, want.RemoteAddr},
	} {
		if !reflect.DeepEqual(values[0], values[1]) {
			t.Errorf("%s of %q: %#v, net/http has %#v", name, head, values[0], values[1])
		}
	}
}
