package httpapi

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/adapter/tracing"
)

// traceOf returns the id of the trace that a request belongs to, 32 lowercase hexadecimal digits,
// and whether the trace is sampled. That is the trace of the request's span or, if there is none,
// the one that a valid header traceparent names (W3C Trace Context). The id is "" without either.
func traceOf(r *http.Request) (id string, sampled bool) {
	if id := tracing.ID(r.Context()); id != "" {
		return id, tracing.Sampled(r.Context())
	}
	values := r.Header["Traceparent"]
	if len(values) != 1 {
		return "", false
	}
	// Of later versions than 00 more may follow.
	const (
		length      = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		sampledFlag = 1
	)
	header := values[0]
	if len(header) < length || len(header) > length && (header[:2] == "00" || header[length] != '-') {
		return "", false
	}
	version, trace, span, flags := header[:2], header[3:35], header[36:52], header[53:length]
	if header[2] != '-' || header[35] != '-' || header[52] != '-' ||
		!isHex(version) || version == "ff" || !isID(trace) || !isID(span) || !isHex(flags) {
		return "", false
	}
	return trace, strings.IndexByte(hexDigits, flags[1])&sampledFlag != 0
}

const hexDigits = "0123456789abcdef"

func isHex(text string) bool { return strings.Trim(text, hexDigits) == "" }

// isID reports whether text is an id in a header traceparent: one of zeros only is none.
func isID(text string) bool { return isHex(text) && strings.Trim(text, "0") != "" }
