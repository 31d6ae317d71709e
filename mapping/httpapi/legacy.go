package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/resource"
)

const (
	// noCall is the name in logs and metrics of requests that are not calls of the contract.
	noCall = "none"
	// notFound is the reply to a request that is for no part of Portico.
	notFound = "Not found\n"
)

// beginRequest returns which system gets a request. The caller calls end when the request has
// ended.
func (a *API) beginRequest(c *gin.Context, s *state) (to proxy.Target, end func(), err error) {
	end = func() {}
	if len(a.Rules) == 0 || !proxy.CanForward(s.request.HTTP) {
		return proxy.Portico, end, nil
	}
	address := a.service.Address(&s.request)
	rule := a.Rules.For(address)
	if a.BeginWrite == nil || !s.isCall || address.ReadOnly || address.Route == nil {
		return rule.To, end, nil
	}
	leaveTrail(c, s)
	ctx, cancel := a.withDeadline(c.Request.Context())
	defer cancel()
	return a.BeginWrite(ctx, address.Route.Resource, rule)
}

// forward forwards a request to the legacy store and returns its reply to the client. It fails only
// if the reply body could not be completed.
func (a *API) forward(c *gin.Context, s *state) error {
	leaveTrail(c, s)
	ctx, cancel := a.withDeadline(c.Request.Context())
	defer cancel()
	response := resource.Response{Call: noCall}
	notAcceptable := false
	call := proxy.Call{Address: *a.service.Address(&s.request), Scheme: s.request.Scheme, Trusted: a.trusted(c.Request.RemoteAddr)}
	if a.PublicHTTPS {
		call.Scheme = "https"
	}
	if s.isCall {
		admission, refusal, ok := a.service.AuthorizeLegacy(ctx, &s.request, s.buffer[:0])
		if !ok {
			a.reply(c, s, refusal)
			return nil
		}
		response.Call, response.Role, call.Sign = call.Address.Name(), admission.Role, admission.Sign
		notAcceptable = admission.NotAcceptable
	}
	if a.serveCachedLegacy(ctx, c, s, call, &response) {
		return nil
	}
	var writer http.ResponseWriter = c.Writer
	if s.isCall && !call.Address.ReadOnly {
		done := sync.OnceFunc(a.service.BeginLegacyWrite(ctx, &s.request))
		defer done() // even if forwarding fails
		followed := a.followWrite(ctx, s)
		writer = &legacyWriteWriter{c.Writer, func(status int, header http.Header) {
			followed(status, header)
			done()
		}}
	}
	id := c.Writer.Header()["X-Request-Id"]
	delete(c.Writer.Header(), "X-Request-Id") // the reply has only the legacy store's headers
	err := a.Legacy.Serve(ctx, writer, c.Request, call)
	var broken *proxy.Broken
	if err != nil && !errors.As(err, &broken) {
		c.Writer.Header()["X-Request-Id"] = id
		a.forwardError(c, s, err)
		s.response.Role = response.Role
		return nil
	}
	c.Writer.WriteHeaderNow() // for a reply without a body
	response.Legacy = true
	response.Status, response.Format = c.Writer.Status(), formatOf(c.Writer.Header().Get("Content-Type"))
	response.ClientError = notAcceptable && response.Status == http.StatusInternalServerError
	s.response = response
	if broken != nil && !broken.Gone {
		a.Log.LogAttrs(ctx, slog.LevelError, "reply of the legacy store broke off", slog.String("call", response.Call), slog.Any("error", broken.Cause))
	}
	return err
}

// followWrite prepares for a write that is forwarded. It returns a function that must be called
// with the beginning of the reply before the client gets it: that function waits until reads here
// show the changes of the write, as far as FollowWrite does.
func (a *API) followWrite(ctx context.Context, s *state) func(status int, header http.Header) {
	if a.FollowWrite == nil {
		return func(int, http.Header) {}
	}
	items := a.service.BatchItems(&s.request)
	return func(status int, header http.Header) {
		if write, ok := a.service.LegacyWrite(ctx, &s.request, status, header, items); ok {
			a.FollowWrite(ctx, write)
		}
	}
}

// forwardError answers a request that could not be forwarded.
func (a *API) forwardError(c *gin.Context, s *state, err error) {
	ctx := c.Request.Context()
	if errors.Is(err, proxy.ErrRequestBody) {
		err = pipeline.ErrUnreadableBody
	}
	var response resource.Response
	switch {
	case s.isCall:
		response = a.service.ErrorResponse(ctx, &s.request, err, s.buffer[:0])
	case errors.Is(err, pipeline.ErrUnreadableBody):
		response = plain(http.StatusBadRequest, "The body of the request cannot be read\n", s.buffer[:0])
	default:
		a.Log.LogAttrs(ctx, slog.LevelError, "request not forwarded", slog.Any("error", err))
		response = plain(http.StatusServiceUnavailable, "The store cannot answer now\n", s.buffer[:0])
		response.RetryAfter = max(1, pipeline.RetryAfter(err))
	}
	a.reply(c, s, response)
}

// plain returns a text reply to a request outside the interface.
func plain(status int, text string, buf []byte) resource.Response {
	return resource.Response{Status: status, ContentType: "text/plain; charset=utf-8", Body: append(buf, text...), Call: noCall}
}

// formatOf returns the format of a reply by its Content-Type, for use as a label.
func formatOf(contentType string) string {
	mediaType, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case "application/xml", "text/xml":
		return contract.XML.String()
	case "application/json":
		return contract.JSON.String()
	case "text/plain":
		return contract.Text.String()
	default:
		return "-"
	}
}

// serveCachedLegacy answers a request with a cached reply of the legacy store, or caches the reply.
// about describes the request. It reports false if the request cannot be answered from the cache
// and must be forwarded.
func (a *API) serveCachedLegacy(ctx context.Context, c *gin.Context, s *state, call proxy.Call, about *resource.Response) bool {
	if !s.isCall || call.Sign != nil {
		return false
	}
	r := c.Request // c may serve another request before the reply has been fetched
	reply, ok, err := a.service.CachedLegacy(ctx, &s.request, call.ForwardedHost(r), func(ctx context.Context, headers []string, most int) (mapping.LegacyReply, error) {
		answer, err := a.Legacy.FetchShared(ctx, r, call, headers, most)
		var broken *proxy.Broken
		switch {
		case errors.As(err, &broken): // too long or incomplete: not cacheable
			return mapping.LegacyReply{}, nil
		case err != nil:
			return mapping.LegacyReply{}, err
		}
		return mapping.LegacyReply{Status: answer.Status, Header: answer.Header, Body: answer.Body}, nil
	})
	if err != nil {
		a.forwardError(c, s, err)
		return true
	}
	if !ok {
		return false
	}
	header := headers{c.Writer.Header(), make([]string, 0, maxHeaders)}
	maps.Copy(header.header, reply.Header)
	s.response = *about
	s.response.Status, s.response.Legacy, s.response.CacheOutcome, s.response.Age = reply.Status, true, reply.CacheOutcome, reply.Age
	setCacheHeaders(&header, &s.response)
	header.set("Content-Length", strconv.Itoa(len(reply.Body)))
	s.response.Format = formatOf(reply.Header.Get("Content-Type"))
	c.Writer.WriteHeader(reply.Status)
	c.Writer.WriteHeaderNow()
	_, _ = c.Writer.Write(reply.Body) // fails only if the client has disconnected
	return true
}

// legacyWriteWriter is a response writer for the reply to a write. It calls before with the
// status and the headers before the client can learn that the write is complete.
type legacyWriteWriter struct {
	http.ResponseWriter
	before func(status int, header http.Header)
}

// WriteHeader calls before and then writes the headers.
func (w *legacyWriteWriter) WriteHeader(status int) {
	w.before(status, w.Header())
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the underlying writer for http.ResponseController.
func (w *legacyWriteWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
