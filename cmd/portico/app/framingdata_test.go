package app

import (
	"fmt"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"math/rand/v2"
	"slices"
	"strings"
)

// cachedTarget is the target of a request whose reply is cached.
const cachedTarget = "/api/rest/products/1"

// writeTarget is the target of calls of an administrator whose body is read.
const writeTarget = "/api/rest/stockitems/1"

// A generator generates the data of hostile and broken clients for one connection.
type generator struct{ *rand.Rand }

// pick returns one of all.
func (g generator) pick(all ...string) string { return all[g.IntN(len(all))] }

// oneIn reports whether something happens that happens once in n times.
func (g generator) oneIn(n int) bool { return g.IntN(n) == 0 }

// sequence returns the bytes of a connection in the pieces in which they arrive.
func (g generator) sequence() (pieces []string) {
	var text strings.Builder
	bounds := []int{0} // where requests and their bodies begin
	if !g.oneIn(3) {
		text.WriteString(g.simpleRequest())
		bounds = append(bounds, text.Len())
	}
	for range 1 + g.IntN(4) {
		head, body := g.request()
		text.WriteString(head)
		bounds = append(bounds, text.Len())
		text.WriteString(body)
		bounds = append(bounds, text.Len())
		if g.oneIn(8) {
			text.WriteString(g.pick("\r\n", "\n", "\r\n\r\n", "\r", " ", "\x00"))
		}
	}
	if g.oneIn(10) { // broken off
		return g.cut(text.String()[:g.IntN(text.Len()+1)], nil)
	}
	return g.cut(text.String(), bounds)
}

// cut cuts a text into pieces: at some of the bounds, at the ends of lines, anywhere, or not at all.
func (g generator) cut(text string, bounds []int) (pieces []string) {
	var cuts []int
	switch g.IntN(5) {
	case 0:
	case 1:
		cuts = slices.Clone(bounds)
	case 2:
		cuts = slices.DeleteFunc(slices.Clone(bounds), func(int) bool { return g.oneIn(2) })
	case 3:
		for at := range len(text) {
			if text[at] == '\n' && g.oneIn(4) {
				cuts = append(cuts, at+1)
			}
		}
	default:
		for range 1 + g.IntN(6) {
			cuts = append(cuts, g.IntN(len(text)+1))
		}
	}
	slices.Sort(cuts)
	from := 0
	for _, at := range append(cuts, len(text)) {
		if at > from && at <= len(text) {
			pieces = append(pieces, text[from:at])
			from = at
		}
	}
	return pieces
}

// simpleRequest returns a request whose reply is cached, without anything unusual.
func (g generator) simpleRequest() string {
	return "GET " + cachedTarget + " HTTP/1.1\r\nHost: shop.example\r\nAccept: application/json\r\nX-Request-Id: " + fmt.Sprint(g.Uint32()) + "\r\n\r\n"
}

// request returns the head and the body of a request. Much of it is usual, so that servers go on to
// read the rest.
func (g generator) request() (head, body string) {
	if g.oneIn(4) {
		return g.simpleRequest(), ""
	}
	method := g.pick("GET", "GET", "POST", "POST", "PUT", "PUT", "PUT", "HEAD", "DELETE", "OPTIONS")
	if g.oneIn(15) {
		method = g.pick("get", "TRACE", "CONNECT", "PATCH", "PRI", "GE T", "", "G\x00T", "POST\t", "M-SEARCH")
	}
	lines := []string{method + " " + g.target(method) + " " + g.protocol()}
	lines = append(lines, g.host()...)
	if method == "PUT" {
		lines = append(lines, "Authorization: "+apptest.DemoAdmin(), "Content-Type: application/json")
	}
	lines = append(lines, "Accept: application/json")
	for g.oneIn(3) {
		lines = append(lines, g.field())
	}
	framing, body := g.body(method)
	// Before the other headers or after them, as the last ones may be in another piece.
	lines = slices.Insert(lines, 1+g.IntN(len(lines)), framing...)
	return g.join(append(lines, "")), body
}

// join ends lines, nearly always as the protocol demands.
func (g generator) join(lines []string) string {
	var text strings.Builder
	bare := g.oneIn(10)
	for _, line := range lines {
		text.WriteString(line)
		switch {
		case bare && g.oneIn(2):
			text.WriteString("\n")
		case g.oneIn(150):
			text.WriteString(g.pick("\r", "\r\r\n", "\n\r", "\r\n ", "\x00\r\n"))
		default:
			text.WriteString("\r\n")
		}
	}
	return text.String()
}

func (g generator) target(method string) string {
	switch {
	case method == "PUT":
		return writeTarget
	case g.oneIn(12):
		return g.pick("*", "/", "", "//api/rest/products/1", "http:", "shop.example:80", "/api/rest/products/1#a", "/%zz", "/api/rest/products/1?a=%00&b", "/a b", "/\x7f", "/ä", "?", "/api/rest/products/1?")
	case g.oneIn(8):
		return g.pick("http://shop.example", "http://other.example:8080", "https://shop.example", "HTTP://shop.example", "ftp://a") + cachedTarget
	}
	return g.pick(cachedTarget, cachedTarget, "/api/rest/products", "/api/rest/nothing", "/oauth/initiate", "/elsewhere", "/api/rest/stockitems/1")
}

func (g generator) protocol() string {
	if g.oneIn(12) {
		return g.pick("HTTP/1.0", "HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/1.1 ", "HTTP/01.1", "", "HTTP/1.10")
	}
	return "HTTP/1.1"
}

// host returns the fields for the host: nearly always one.
func (g generator) host() []string {
	if !g.oneIn(8) {
		return []string{"Host: shop.example"}
	}
	return [][]string{
		nil, {"Host:"}, {"Host:", "Host: shop.example"}, {"Host: shop.example", "Host:"}, {"Host: a", "Host: b"}, {"Host: a", "host: a"},
		{"Host: a/b"}, {"Host: a b"}, {"Host: [::1]:80"}, {"Host:shop.example:8080 "}, {"HOST: a"}, {"Host : a"}, {"Host: \x7f"},
	}[g.IntN(13)]
}

// field returns a header that does not concern the body: harmless, long, or broken.
func (g generator) field() string {
	switch g.IntN(12) {
	case 0:
		return "X-Padding: " + strings.Repeat("a", g.IntN(6000))
	case 1:
		return "Connection: " + g.pick("close", "keep-alive", "Keep-Alive", "upgrade", "close, keep-alive", "")
	case 2:
		return g.pick("X-A: b\r\n more", "X-A: b\r\n\tmore\r\n  and more", "X-A:\r\n b", " X-A: b", "X-A: b\r\n Content-Length: 5")
	case 3:
		return g.pick("X A: b", "X-A : b", "X-A", ": b", "X-\x00: b", "X-A: \x00", "X-Ä: b", "X-A: ä", "X-A: b\rc", "X_A: b", "(X): b")
	case 4:
		return "Expect: " + g.pick("100-continue", "100-Continue", "100-continue", "other", "")
	case 5:
		return g.pick("Upgrade: h2c", "Upgrade: websocket", "HTTP2-Settings: a", "Trailer: X-A", "TE: trailers", "Keep-Alive: max=1")
	}
	return g.pick("X-A: b", "X-Request-Id: a", "User-Agent: test", "Cookie: a=b; c", "If-None-Match: *", "X-Forwarded-For: 192.0.2.1")
}

// body returns the headers that determine the end of the body, and the body.
func (g generator) body(method string) (framing []string, body string) {
	if method == "GET" && !g.oneIn(3) || g.oneIn(12) {
		return nil, g.pick("", "", "", g.content())
	}
	content := g.content()
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		return []string{fmt.Sprintf("Content-Length: %d", len(content))}, content
	case 4: // lies
		return []string{fmt.Sprintf("Content-Length: %d", max(0, len(content)+g.IntN(200)-100))}, content
	case 5:
		same := fmt.Sprintf("Content-Length: %d", len(content))
		return []string{same, g.pick(same, "content-length:"+fmt.Sprint(len(content)), "Content-Length: 0", fmt.Sprintf("Content-Length: %d", len(content)+1), "Content-Length:")}, content
	case 6:
		return []string{"Content-Length: " + g.pick("+5", "-1", "0x5", "5, 5", "5 5", "", "5;", "00005", "99999999999999999999", "9223372036854775807", "17000000", "0", "٥")}, content
	case 7:
		return []string{fmt.Sprintf("Content-Length: %d", g.IntN(len(content)+1)), "Transfer-Encoding: chunked"}, g.chunked(content)
	case 8:
		return []string{"Transfer-Encoding: " + g.pick("chunked, chunked", "gzip, chunked", "identity", "xchunked", "Chunked", " chunked", "chunked ", "\x0bchunked", "", "chunked;a", "chunked\r\nTransfer-Encoding: chunked")}, g.chunked(content)
	}
	return []string{"Transfer-Encoding: chunked"}, g.chunked(content)
}

// content returns the content of a body, which often looks like a request.
func (g generator) content() string {
	switch g.IntN(8) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("a", g.IntN(9000))
	case 2:
		if g.oneIn(25) { // more than net/http reads of a body that the handler leaves
			return strings.Repeat("b", 256<<10+g.IntN(3)*5000-5000)
		}
		return "{}"
	case 3:
		return g.simpleRequest() + g.simpleRequest()
	case 4:
		return "\r\n" + g.simpleRequest()
	case 5:
		return strings.Repeat("a", 4096-g.IntN(600)) + g.simpleRequest()
	}
	return g.simpleRequest()
}

// chunked returns content in chunks, with some faults.
func (g generator) chunked(content string) string {
	var text strings.Builder
	end := "\r\n"
	if g.oneIn(15) {
		end = "\n"
	}
	for content != "" {
		n := 1 + g.IntN(len(content))
		size := fmt.Sprintf("%x", n)
		if g.oneIn(20) {
			size = g.pick("0x"+size, size+" ", " "+size, "-"+size, "+"+size, "0000"+size, size+"g", "", "ffffffffffffffff", "10000000000000000")
		}
		if g.oneIn(12) {
			size += g.pick(";a=b", `;a="b;c"`, " ; a", ";"+strings.Repeat("e", g.IntN(300)), ";a\rb", ";a\nb")
		}
		text.WriteString(size + end + content[:n])
		content = content[n:]
		if g.oneIn(40) {
			text.WriteString(g.pick("", "\n", "x\r\n", "\r"))
			continue
		}
		text.WriteString(end)
	}
	if g.oneIn(20) {
		return text.String() // no last chunk
	}
	text.WriteString(g.pick("0", "0", "0", "000", "0;a") + end)
	if g.oneIn(10) {
		text.WriteString(g.pick("X-Trailer: a", "Content-Length: 5", "Host: b", "X-T: a\r\n b", "broken", " ") + end)
	}
	if !g.oneIn(20) {
		text.WriteString(end)
	}
	return text.String()
}
