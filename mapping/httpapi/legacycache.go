package httpapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
	"github.com/portico-commerce/portico/mapping/resource"
)

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
