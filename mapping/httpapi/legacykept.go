package httpapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/passthrough"
)

// passKept answers a request with a reply of the old system that is kept, or kept
// from now on. about is what is known of it. ok is false where it has to be passed on.
func (a *api) passKept(ctx context.Context, c *gin.Context, call passthrough.Call, buf []byte, about *mapping.Response) (response mapping.Response, ok bool) {
	if !mapping.IsAPIRequest(c.Request) || call.Sign != nil {
		return response, false
	}
	reply, ok, err := a.service.CachedLegacy(ctx, c.Request, call.Scheme, call.ForwardedHost(c.Request), func(ctx context.Context, headers []string, most int) (mapping.LegacyReply, error) {
		answer, err := a.Legacy.AskForAll(ctx, c.Request, call, headers, most)
		var broken *passthrough.Broken
		switch {
		case errors.As(err, &broken): // too long, or cut off: no reply to keep
			return mapping.LegacyReply{}, nil
		case err != nil:
			return mapping.LegacyReply{}, err
		}
		return mapping.LegacyReply{Status: answer.Status, Header: answer.Header, Body: answer.Body}, nil
	})
	if err != nil {
		return a.refusePassing(c, call.Scheme, err, buf), true
	}
	if !ok {
		return response, false
	}
	header := headers{c.Writer.Header(), make([]string, 0, mostHeaders)}
	maps.Copy(header.header, reply.Header)
	response = *about
	response.Status, response.Legacy, response.CacheOutcome, response.Age = reply.Status, true, reply.CacheOutcome, reply.Age
	describeKept(&header, &response)
	header.set("Content-Length", strconv.Itoa(len(reply.Body)))
	response.Format = formatOf(reply.Header.Get("Content-Type"))
	c.Writer.WriteHeader(reply.Status)
	c.Writer.WriteHeaderNow()
	_, _ = c.Writer.Write(reply.Body) // a client that has gone cannot be told so
	return response, true
}

// acknowledging is where the reply to a write is written: before the client can know
// of it, what is kept from before has to end.
type acknowledging struct {
	http.ResponseWriter
	before func()
}

// WriteHeader ends what is kept, and writes the headers.
func (w *acknowledging) WriteHeader(status int) {
	w.before()
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *acknowledging) Unwrap() http.ResponseWriter { return w.ResponseWriter }
