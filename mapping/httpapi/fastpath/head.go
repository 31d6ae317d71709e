package fastpath

import (
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// maxFields is the number of header fields of a request that are parsed.
const maxFields = 32

// parseHead parses the head of a request, which must end with the empty line. It returns nil for a
// request that is not simple, or that net/http may refuse.
func parseHead(head, remote string) *http.Request {
	const start, end = "GET /", " HTTP/1.1\r\n"
	if !strings.HasPrefix(head, start) || strings.Index(head, "\r\n\r\n") != len(head)-len("\r\n\r\n") {
		return nil
	}
	at := strings.IndexByte(head, '\r')
	line, fields := head[:at+2], head[at+2:len(head)-2]
	if !strings.HasSuffix(line, end) {
		return nil
	}
	target := line[len(start)-1 : len(line)-len(end)]
	path, query, hasQuery := strings.Cut(target, "?")
	if hasQuery && query == "" || strings.HasPrefix(path, "//") || !consistsOf(path, isPath) || !consistsOf(query, isVisible) {
		return nil
	}
	r := &struct {
		http.Request
		url.URL
	}{
		Request: http.Request{
			Method: http.MethodGet, RequestURI: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Body: http.NoBody, RemoteAddr: remote,
		},
		URL: url.URL{Path: path, RawQuery: query},
	}
	r.Request.URL = &r.URL
	if !parseFields(&r.Request, fields) || r.Request.Host == "" {
		return nil
	}
	return &r.Request
}

// parseFields parses the header fields of a request, each of which ends with CRLF. ok is false if
// there is one that may make the request another one than a simple GET, or that net/http may refuse.
func parseFields(r *http.Request, fields string) (ok bool) {
	count := strings.Count(fields, "\n")
	if count > maxFields {
		return false
	}
	r.Header = make(http.Header, count)
	values := make([]string, 0, count)
	for fields != "" {
		line, rest, _ := strings.Cut(fields, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if len(name) == len(line) || name == "" || !consistsOf(name, isName) || !consistsOf(value, isValue) {
			return false
		}
		fields = rest
		switch name = textproto.CanonicalMIMEHeaderKey(name); name {
		case "Host":
			if r.Host != "" || !consistsOf(value, isHost) {
				return false
			}
			r.Host = value
			continue
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return false
			}
		case "Content-Length", "Transfer-Encoding", "Trailer", "Expect", "Upgrade", "Pragma":
			return false
		}
		if _, repeated := r.Header[name]; repeated {
			r.Header[name] = append(r.Header[name], value)
			continue
		}
		values = append(values, value)
		r.Header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	return true
}

// consistsOf reports whether all bytes of a text are of a kind. The kinds are smaller than what the
// protocol allows: a request that has other bytes is rare.
func consistsOf(text string, kind func(byte) bool) bool {
	for i := range len(text) {
		if !kind(text[i]) {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isName(c byte) bool { return isAlphanumeric(c) || c == '-' }

func isHost(c byte) bool { return isAlphanumeric(c) || c == '.' || c == '-' || c == ':' }

func isPath(c byte) bool {
	return isAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~' || c == '/'
}

func isVisible(c byte) bool { return '!' <= c && c <= '~' }

func isValue(c byte) bool { return isVisible(c) || c == ' ' }
