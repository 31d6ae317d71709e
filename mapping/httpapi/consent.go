package httpapi

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping/consent"
	"github.com/portico-commerce/portico/mapping/pipeline"
	"github.com/portico-commerce/portico/mapping/resource"
)

// serveConsent answers a request for an OAuth endpoint or page. call is its name in logs and
// metrics.
func (a *API) serveConsent(c *gin.Context, s *state, call string) {
	ctx, cancel := a.withDeadline(c.Request.Context())
	defer cancel()
	visitor := consent.Visitor{Scheme: s.request.Scheme, Address: s.request.Client}
	problem, err := a.Consent.Serve(ctx, c.Writer, c.Request, visitor)
	if err == nil {
		c.Writer.WriteHeaderNow() // of a reply without a body
		// The contract demands a status of 500 for some errors of the program.
		s.response = resource.Response{Call: call, Status: c.Writer.Status(), Problem: problem, ClientError: true}
		return
	}
	response := plain(http.StatusBadRequest, "The form cannot be read\n", s.buffer[:0])
	if !errors.Is(err, consent.ErrForm) {
		a.Log.LogAttrs(ctx, slog.LevelError, "request not answered", slog.String("call", call), slog.Any("error", err))
		response = plain(http.StatusInternalServerError, "Internal error\n", s.buffer[:0])
		if after := pipeline.RetryAfter(err); after > 0 {
			response = plain(http.StatusServiceUnavailable, "The store cannot answer now\n", s.buffer[:0])
			response.RetryAfter = after
		}
	}
	response.Call = call
	a.reply(c, s, response)
}
