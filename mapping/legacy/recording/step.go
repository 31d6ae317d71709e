package recording

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/redact"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A conversation is one exchange in the file format of the contract suite.
type conversation struct {
	Name  string `json:"name"`
	Note  string `json:"note,omitempty"`
	Reset bool   `json:"reset"` // false: the state before the exchange is unknown
	Steps []step `json:"steps"`
}

type step struct {
	As          string            `json:"as"`
	Method      string            `json:"method"`
	Path        string            `json:"path"` // below /api/rest, or "!" and the whole request target
	Accept      *string           `json:"accept,omitempty"`
	ContentType *string           `json:"content_type,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Body        *string           `json:"body,omitempty"`
	Response    response          `json:"response"`
}

type response struct {
	Status          int     `json:"status"`
	ContentType     *string `json:"content_type,omitempty"`
	Location        *string `json:"location,omitempty"`
	WWWAuthenticate *string `json:"www_authenticate,omitempty"`
	Allow           *string `json:"allow,omitempty"`
	Body            string  `json:"body"`
}

// Names of callers in the suite.
const (
	admin    = "admin"
	customer = "customer_1"
)

// Placeholders in the suite.
const (
	baseURL  = "{{base_url}}"
	anything = "{{any}}"
)

var (
	errUnreadable = errors.New("recording: the request cannot be masked")
	errTooLong    = errors.New("recording: a body exceeds the size limit")
)

// newConversation returns the conversation for an exchange, without its name. Errors are
// errUnreadable and errTooLong.
func newConversation(o *Options, e *proxy.Exchange) (*conversation, error) {
	m, most := o.Mask, o.BodyBytes
	switch {
	case e.Broken || e.Status < http.StatusOK || e.Status > 599:
		return nil, errUnreadable
	case e.RequestBody.Cut, e.ReplyBody.Cut, len(e.RequestBody.Bytes) > most, len(e.ReplyBody.Bytes) > most:
		return nil, errTooLong
	}
	bases := append([]string{e.Scheme + "://" + e.Request.Host + o.BasePath}, o.Bases...)
	var notes []string
	s := step{Method: contract.MethodLabel(e.Request.Method), Headers: m.Headers(e.Request.Header)}
	s.Accept, s.ContentType = removeHeader(s.Headers, "Accept"), removeHeader(s.Headers, "Content-Type")
	if e.Request.Header.Get("Content-Type") != "" && s.ContentType == nil {
		return nil, errUnreadable // without the header the body has another meaning
	}
	var note string
	if s.As, note = caller(e); note != "" {
		notes = append(notes, note)
	}
	s.Path = target(m, e)
	if len(e.RequestBody.Bytes) > 0 {
		body, err := masked(m, e.Route, e.Request.Header.Get("Content-Type"), e.RequestBody.Bytes)
		if err != nil {
			return nil, errUnreadable
		}
		text := withPlaceholder(string(body), bases)
		s.Body = &text
	}
	if s.Response, note = maskedReply(o, bases, e); note != "" {
		notes = append(notes, note)
	}
	if script := resource.ScriptOf(e.Request); script != "" {
		notes = append(notes, "It was called behind "+string(script)+".")
	}
	if e.Legacy {
		notes = append(notes, "The legacy store answered.")
	}
	return &conversation{Note: strings.Join(notes, " "), Steps: []step{s}}, nil
}

// removeHeader removes a header from headers and returns its value.
func removeHeader(headers map[string]string, name string) *string {
	value, sent := headers[name]
	if !sent {
		return nil
	}
	delete(headers, name)
	return &value
}

// caller returns the suite's name for the caller, and a note if it cannot be the same one.
func caller(e *proxy.Exchange) (as, note string) {
	switch {
	case e.Role == contract.Admin.String():
		return admin, ""
	case e.Role == contract.Customer.String():
		return customer, "The caller was a Customer, whose identity is not recorded."
	case !redact.Signed(e.Request):
		return redact.Guest, ""
	case e.Status == http.StatusUnauthorized:
		return admin, "OAuth rejected the call."
	}
	return admin, "The caller is unknown: only the legacy store knew."
}

// target returns the masked path and query of the request.
func target(m *redact.Masker, e *proxy.Exchange) string {
	path := m.Path(e.Route, e.Request.URL.EscapedPath())
	if below, ok := strings.CutPrefix(path, contract.Base); ok && strings.HasPrefix(below, "/") {
		path = below
	} else {
		path = "!" + path
	}
	if query := m.Query(e.Route, e.Request.URL.RawQuery); query != "" || e.Request.URL.ForceQuery {
		path += "?" + query
	}
	return path
}

// maskedReply returns the masked reply, and a note if its body is left out.
func maskedReply(o *Options, bases []string, e *proxy.Exchange) (response, string) {
	m := o.Mask
	r := response{Status: e.Status}
	for _, header := range []struct {
		name string
		into **string
		mask func(string) string
	}{
		{"Content-Type", &r.ContentType, m.MediaTypes}, {"Www-Authenticate", &r.WWWAuthenticate, m.Challenge}, {"Allow", &r.Allow, redact.Methods},
	} {
		if values := e.ReplyHeader[header.name]; len(values) > 0 {
			value := header.mask(values[0])
			*header.into = &value
		}
	}
	if place := e.ReplyHeader.Get("Location"); place != "" {
		if below, ok := strings.CutPrefix(place, o.BasePath); ok && strings.HasPrefix(below, contract.Base) {
			place = below
		}
		base, path := "", withPlaceholder(place, bases)
		if below, ok := strings.CutPrefix(path, baseURL); ok {
			base, path = baseURL, below
		}
		route := e.Route
		if !strings.HasPrefix(path, contract.Base) {
			route = nil // the record that it names is not one of the interface
		}
		path, query, queried := strings.Cut(path, "?")
		if path = base + m.Path(route, path); queried {
			path += "?" + m.Query(route, query)
		}
		r.Location = &path
	}
	body, err := e.PlainReply(o.BodyBytes) // the suite does not ask for compressed replies
	if err == nil {
		body, err = masked(m, e.Route, e.ReplyHeader.Get("Content-Type"), body)
	}
	if err != nil {
		r.Body = anything
		return r, fmt.Sprintf("The body of the reply (%d bytes) is not recorded.", len(e.ReplyBody.Bytes))
	}
	r.Body = withPlaceholder(string(body), bases)
	return r, ""
}

// masked returns the masked body.
func masked(m *redact.Masker, route *contract.Route, contentType string, body []byte) ([]byte, error) {
	if len(body) == 0 {
		return nil, nil
	}
	f, err := redact.BodyFormat(contentType, body)
	if err == nil {
		var kept []byte
		if kept, err = m.Body(route, f, body); err == nil && utf8.Valid(kept) {
			return kept, nil
		}
	}
	return m.Plain(body)
}

// withPlaceholder replaces the base URLs with the placeholder.
func withPlaceholder(s string, bases []string) string {
	text := []byte(s)
	for _, base := range bases {
		text = contract.ReplaceBase(text, base, baseURL)
	}
	return string(text)
}

// name returns a name for the conversation that is unique in its file.
func name(e *proxy.Exchange, number int) string {
	return fmt.Sprintf("%s %s #%d", e.Name(), e.Start.UTC().Format(time.RFC3339), number)
}
