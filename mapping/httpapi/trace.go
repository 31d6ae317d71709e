package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/adapter/tracing"
	"github.com/portico-commerce/portico/mapping/contract"
)

// trace records the span of a request, and makes its context hold it for all that follows.
func (a *API) trace(c *gin.Context) {
	s, method := stateOf(c), contract.MethodLabel(c.Request.Method)
	ctx, span := tracing.StartServer(c.Request.Context(), a.Tracer, c.Request.Header, method)
	defer span.End()
	c.Request = c.Request.WithContext(ctx)
	c.Next()
	if span.Recording() {
		a.describe(span, s, c.Request, method)
	}
}

// describe names a span after the route of its request, and sets its attributes. It leaves out the
// parts that may contain personal data from clients: the query, and paths that no route has.
func (a *API) describe(span tracing.Span, s *state, r *http.Request, method string) {
	response := &s.response
	name := response.Call
	if s.isCall {
		if route := a.service.Address(&s.request).Route; route != nil {
			name = contract.Base + route.Path
			span.SetString("http.route", name)
			if path := r.URL.EscapedPath(); isPlain(path) {
				span.SetString("url.path", path)
			}
		}
	}
	span.SetName(method + " " + name)
	span.SetString("http.request.method", method)
	span.SetString("url.scheme", s.request.Scheme)
	span.SetString("network.protocol.version", protocolVersion(r))
	span.SetInt("http.response.status_code", response.Status)
	span.SetInt("http.response.body.size", max(s.Size(), 0))
	span.SetString("portico.request_id", s.id)
	span.SetString("portico.call", response.Call)
	span.SetString("portico.role", response.Role)
	span.SetString("portico.format", response.Format)
	span.SetString("portico.cache", response.CacheOutcome)
	span.SetString("portico.problem", response.Problem)
	if response.Legacy {
		span.SetString("portico.side", "legacy")
	}
	switch {
	case s.broken:
		span.Fail("incomplete_reply")
	case response.Status >= http.StatusInternalServerError && !response.ClientError:
		span.Fail(strconv.Itoa(response.Status))
	}
}

// protocolVersion returns the version of HTTP as conventions write it.
func protocolVersion(r *http.Request) string {
	if r.ProtoMajor >= 2 {
		return strconv.Itoa(r.ProtoMajor)
	}
	return strconv.Itoa(r.ProtoMajor) + "." + strconv.Itoa(r.ProtoMinor)
}

// isPlain reports whether a path has only ids and names of resources, which are no personal
// data.
func isPlain(path string) bool {
	return strings.Trim(path, "/_0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

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
