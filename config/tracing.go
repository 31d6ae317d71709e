package config

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Tracing configures traces. Without Endpoint there are none.
type Tracing struct {
	Endpoint string      `setting:"tracing.endpoint" form:"URL" help:"URL of the OpenTelemetry collector that gets traces by OTLP over HTTP, such as http://127.0.0.1:4318. Without a path Portico adds /v1/traces. Empty: nothing is traced."`
	Sample   float64     `setting:"tracing.sample" form:"share" default:"0.01" help:"Share of the requests that are traced. For a request with a traceparent, its caller has decided: Portico traces what the caller traces."`
	Headers  http.Header `setting:"tracing.headers" form:"headers" secret:"true" help:"Headers for the collector, such as Authorization=Bearer%20KEY: names and values with percent signs for special characters, separated by commas, as in OTEL_EXPORTER_OTLP_HEADERS."` // may hold credentials
}

// SpansURL returns the URL to which spans are posted.
func (t Tracing) SpansURL() string {
	if u, err := url.Parse(t.Endpoint); err == nil && t.Endpoint != "" && u.Path == "" {
		return t.Endpoint + "/v1/traces"
	}
	return t.Endpoint
}

// maxHeaders is the maximum length of tracing.headers in bytes.
const maxHeaders = 8 << 10

// errHeaders does not repeat the text, which may hold credentials.
var errHeaders = errors.New("must be names and values such as Authorization=Bearer%20KEY, separated by commas")

func validHeaders(text string) error {
	_, err := parseHeaders(text)
	return err
}

// parseHeaders parses a list of headers in the form of OTEL_EXPORTER_OTLP_HEADERS.
func parseHeaders(text string) (http.Header, error) {
	header := http.Header{}
	if text = strings.TrimSpace(text); text == "" {
		return header, nil
	}
	if len(text) > maxHeaders {
		return nil, errHeaders
	}
	for part := range strings.SplitSeq(text, ",") {
		name, escaped, found := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		if name = strings.TrimSpace(name); !found || err != nil || !isToken(name) || !isPrintable(value) {
			return nil, errHeaders
		}
		header.Add(name, value)
	}
	return header, nil
}

// isToken reports whether a text can be the name of a header.
func isToken(text string) bool {
	return text != "" && strings.Trim(text, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// isPrintable reports whether a text can be the value of a header.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
