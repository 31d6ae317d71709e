package diagnose

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// MaxText is the maximum size of a request that [Parse] reads, in bytes.
const MaxText = 1 << 20

// A Request is a request as its sender wrote it.
type Request struct {
	Method string
	Scheme string // http or https; empty if the text does not say it
	Host   string // with the port, if there is one
	Target string // path and query as sent
	Header http.Header
	Body   string
}

// Parse reads a raw HTTP request: a request line, or the URL of a GET request alone, header lines and,
// after an empty line, a body. Lines may end without a carriage return.
func Parse(text string) (*Request, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("the request is longer than %d bytes", MaxText)
	}
	line, rest := cutLine(strings.TrimLeft(text, " \t\r\n"))
	words := strings.Fields(line)
	if len(words) == 1 && strings.Contains(words[0], "://") {
		words = []string{http.MethodGet, words[0]}
	}
	if len(words) < 2 || len(words) > 3 || len(words) == 3 && !strings.HasPrefix(words[2], "HTTP/") {
		return nil, errors.New(`the text is no request: it must begin with a line such as "GET /api/rest/products HTTP/1.1", or with a URL`)
	}
	r := &Request{Method: words[0], Header: http.Header{}}
	if err := r.setURL(words[1]); err != nil {
		return nil, err
	}
	for rest != "" {
		line, rest = cutLine(rest)
		if line == "" {
			r.Body = bodyOf(r.Header, rest)
			break
		}
		folded := []string{line}
		for rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
			line, rest = cutLine(rest)
			folded = append(folded, strings.TrimSpace(line))
		}
		if err := r.addHeader(strings.Join(folded, " ")); err != nil {
			return nil, err
		}
	}
	if host := r.Header.Get("Host"); host != "" && r.Host == "" {
		r.Host = host
	}
	if r.Host == "" {
		return nil, errors.New("the request has no header Host, which signatures cover")
	}
	return r, nil
}

// bodyOf returns the body that begins a text: as many bytes as Content-Length says, and
// without it, or if the text is shorter, the text without the line breaks at its end, which
// people add.
func bodyOf(header http.Header, text string) string {
	if n, err := strconv.Atoi(header.Get("Content-Length")); err == nil && n >= 0 && n <= len(text) {
		return text[:n]
	}
	return strings.TrimRight(text, "\r\n")
}

// cutLine returns the first line of a text without its end, and the rest.
func cutLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

// addHeader adds a header line.
func (r *Request) addHeader(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t") {
		const most = 40
		return fmt.Errorf("the line %q is no header: it must be a name, a colon and a value", line[:min(len(line), most)])
	}
	r.Header.Add(name, strings.TrimSpace(value))
	return nil
}

// setURL sets the target, and the scheme and the host of an absolute URL.
func (r *Request) setURL(text string) error {
	if strings.HasPrefix(text, "/") {
		r.Target = text
		return nil
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "http", text
	}
	if r.Scheme = strings.ToLower(scheme); r.Scheme != "http" && r.Scheme != "https" {
		return errors.New("the URL must begin with http:// or https://")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	r.Host, r.Target = rest[:end], rest[end:]
	if at := strings.LastIndexByte(r.Host, '@'); at >= 0 { // user and password are not part of the host
		r.Host = r.Host[at+1:]
	}
	if u, err := url.Parse(r.Scheme + "://" + r.Host); err != nil || u.Host == "" {
		return errors.New("the URL has no valid host")
	}
	r.Target, _, _ = strings.Cut(r.Target, "#")
	if !strings.HasPrefix(r.Target, "/") {
		r.Target = "/" + r.Target
	}
	return nil
}
