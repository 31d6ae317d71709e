package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/passthrough"
)

const (
	// noCall is the name in logs and metrics of requests that are not calls of the contract.
	noCall = "none"
	// notFound is the reply to a request that is for no part of Portico.
	notFound = "Not found\n"
)

// goesToLegacy reports whether the rules send a request to the legacy system.
func (a *api) goesToLegacy(r *http.Request) bool {
	address := a.address(r)
	return passthrough.CanForward(r) && a.Rules.For(&address).To == passthrough.Legacy
}

func (a *api) address(r *http.Request) contract.Address {
	address, _ := a.service.Table().Address(r.Method, r.URL.EscapedPath())
	return address
}

// forward forwards a request to the legacy system and returns its reply to the client. The
// error is that of a body that could not be completed.
func (a *api) forward(c *gin.Context, buf []byte) (mapping.Response, error) {
	r, scheme := c.Request, a.Scheme(c.Request)
	ctx, cancel := a.withDeadline(r.Context())
	defer cancel()
	response := mapping.Response{Call: noCall}
	notAcceptable := false
	call := passthrough.Call{Address: a.address(r), Scheme: scheme, Trusted: a.trusted(r.RemoteAddr)}
	if mapping.IsAPIRequest(r) {
		admission, refusal, ok := a.service.AuthorizeLegacy(ctx, r, scheme, buf)
		if !ok {
			a.write(c, &refusal)
			return refusal, nil
		}
		response.Call, response.Role, call.Sign = call.Address.Name(), admission.Role, admission.Sign
		notAcceptable = admission.NotAcceptable
	}
	if answered, ok := a.serveCachedLegacy(ctx, c, call, buf, &response); ok {
		return answered, nil
	}
	var writer http.ResponseWriter = c.Writer
	if mapping.IsAPIRequest(r) && !call.Address.ReadOnly {
		done := sync.OnceFunc(a.service.BeginLegacyWrite(ctx, r))
		defer done() // even if forwarding fails
		writer = &invalidatingWriter{c.Writer, done}
	}
	id := c.Writer.Header()["X-Request-Id"]
	delete(c.Writer.Header(), "X-Request-Id") // the reply has only the legacy system's headers
	err := a.Legacy.Serve(ctx, writer, r, call)
	var broken *passthrough.Broken
	if err != nil && !errors.As(err, &broken) {
		c.Writer.Header()["X-Request-Id"] = id
		refusal := a.forwardError(c, scheme, err, buf)
		refusal.Role = response.Role
		return refusal, nil
	}
	c.Writer.WriteHeaderNow() // for a reply without a body
	response.Legacy = true
	response.Status, response.Format = c.Writer.Status(), formatOf(c.Writer.Header().Get("Content-Type"))
	response.ClientError = notAcceptable && response.Status == http.StatusInternalServerError
	if broken != nil && !broken.Gone {
		a.Log.LogAttrs(ctx, slog.LevelError, "reply of the legacy system broke off", slog.String("call", response.Call), slog.Any("error", broken.Cause))
	}
	return response, err
}

// forwardError answers a request that could not be forwarded.
func (a *api) forwardError(c *gin.Context, scheme string, err error, buf []byte) mapping.Response {
	ctx := c.Request.Context()
	if errors.Is(err, passthrough.ErrRequestBody) {
		err = mapping.ErrUnreadableBody
	}
	var response mapping.Response
	switch {
	case mapping.IsAPIRequest(c.Request):
		response = a.service.ErrorResponse(ctx, c.Request, scheme, err, buf)
	case errors.Is(err, mapping.ErrUnreadableBody):
		response = plain(http.StatusBadRequest, "The body of the request cannot be read\n", buf)
	default:
		a.Log.LogAttrs(ctx, slog.LevelError, "request not forwarded", slog.Any("error", err))
		response = plain(http.StatusServiceUnavailable, "The store cannot answer now\n", buf)
		response.RetryAfter = max(1, mapping.RetryAfter(err))
	}
	a.write(c, &response)
	return response
}

// plain returns a text reply to a request outside the interface.
func plain(status int, text string, buf []byte) mapping.Response {
	return mapping.Response{Status: status, ContentType: "text/plain; charset=utf-8", Body: append(buf, text...), Call: noCall}
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
