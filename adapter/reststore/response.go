package reststore

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxErrorText limits the number of bytes of the response text that error rules see.
const maxErrorText = 4096

// A response is a complete response of the backend.
type response struct {
	request *preparedRequest
	status  int
	header  http.Header
	body    []byte
	// hasErrors: a GraphQL response has errors, whatever its status.
	hasErrors bool
}

// succeeded reports whether the status means success, and there are no GraphQL errors.
func (r *response) succeeded() bool { return r.status >= 200 && r.status < 300 && !r.hasErrors }

// interpretResponse returns the error that a response means, or nil.
func (c *client) interpretResponse(ctx context.Context, r *response) error {
	var err error
	if r.request.GraphQL != nil && r.succeeded() {
		r.hasErrors, err = expr.HasErrors(r.body)
	}
	// Rules see a list of documents only if there are none in it.
	if !r.succeeded() || !r.request.returnsDocuments {
		if err := c.meaning(ctx, r); err != nil {
			return err
		}
	}
	if len(r.body) > 0 && !jsonType(r.header.Get("Content-Type")) {
		return malformed(r, errors.New("its type is not JSON"))
	}
	if err != nil {
		return malformed(r, err)
	}
	return nil
}

// kind returns the error kind of a response that no rule of the mapping matches. It is
// Unavailable for GraphQL errors with a success status: they may mean anything. A GraphQL
// endpoint that is not found does not mean a record that is not found.
func (r *response) kind() adapter.ErrorKind {
	kind := kindOfStatus(r.status)
	if r.request.GraphQL != nil && kind == adapter.NotFound {
		return adapter.Internal
	}
	return kind
}

// meaning returns the error that a response means by its status and by the first error rule
// that matches, or nil. A rule whose expression fails, perhaps because the body has another
// form, does not match.
func (c *client) meaning(ctx context.Context, r *response) error {
	var input map[string]any
	matched, repeats, reason := false, false, ""
	known := adapter.Error{Kind: r.kind(), Op: r.request.op}
	hasChanged := r.status == http.StatusPreconditionFailed
	for _, rule := range c.connection.Errors {
		if r.succeeded() && !rule.AnyStatus {
			continue
		}
		if input == nil {
			input = c.ruleInput(r)
		}
		if holds, err := rule.When.holds(ctx, input); err != nil || !holds {
			continue
		}
		if rule.Kind != nil {
			known.Kind, hasChanged = rule.Kind.ErrorKind, rule.Kind.changed
		}
		repeats = rule.Repeat
		known.Field = evalText(ctx, rule.Field, input)
		if reason = evalText(ctx, rule.Reason, input); reason != "" {
			reason = ", " + strconv.Quote(reason[:min(len(reason), 200)])
		}
		matched = true
		break
	}
	if r.hasErrors && reason == "" {
		reason = " with GraphQL errors"
	}
	known.Err = fmt.Errorf("status %d%s", r.status, reason)
	if hasChanged {
		known.Err = fmt.Errorf("%w: %w", replica.ErrChanged, known.Err)
	}
	switch {
	case r.succeeded() && !matched:
		return nil
	case r.status >= 300 && r.status < 400:
		known.Err = fmt.Errorf("status %d: not following the redirect to %.100q; set rest.url to its target", r.status, redirectTarget(r.header.Get("Location")))
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		known.Err = fmt.Errorf("%w: check rest.user and rest.secret", known.Err)
	}
	if known.Kind == adapter.Unavailable && !r.succeeded() {
		known.RetryAfter = after(r.header.Get("Retry-After"), time.Now())
	}
	return &responseError{status: r.status, repeats: repeats, err: &known}
}

// unusableDocuments returns the error of a response without the expected documents: the
// error that an any_status rule finds in it, or a malformed response.
func (c *client) unusableDocuments(ctx context.Context, r *response, err error) error {
	if meant := c.meaning(ctx, r); meant != nil {
		return meant
	}
	return malformed(r, err)
}

// A responseError is an error in a complete response of the backend, or a response that
// cannot be read. Unlike a transport error, it has the response's status.
type responseError struct {
	status  int
	repeats bool // a rule allows to send the request again
	err     *adapter.Error
}

func (a *responseError) Error() string { return a.err.Error() }
func (a *responseError) Unwrap() error { return a.err }

// Is reports whether target is [ErrRefused] and the status refuses the credentials.
func (a *responseError) Is(target error) bool { return target == ErrRefused && refuses(a.status) }

// malformed returns the error of a response that does not have the expected form.
func malformed(r *response, err error) error {
	return &responseError{status: http.StatusOK, err: &adapter.Error{Kind: adapter.Unavailable, Op: r.request.op, Err: fmt.Errorf("cannot read the response of type %.100q: %w", r.header.Get("Content-Type"), err)}}
}

// redirectTarget returns scheme and host of a redirect's target. The rest must not be
// logged.
func redirectTarget(location string) string {
	if to, err := url.Parse(location); err == nil && to.Scheme != "" && to.Host != "" {
		return to.Scheme + "://" + to.Host
	}
	return "another path of the same host"
}

// jsonType reports whether a Content-Type is a JSON type or empty.
func jsonType(contentType string) bool {
	if contentType == "" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (t == "application/json" || strings.HasSuffix(t, "+json") || t == "text/json")
}

// evalText returns the string that an expression returns, or "" for anything else.
func evalText(ctx context.Context, e *expression, input any) string {
	v, _ := e.eval(ctx, input)
	text, _ := v.(string)
	return text
}

// headerTexts returns the headers for expressions, by their names in lower case.
func (r *response) headerTexts() map[string]any {
	headers := make(map[string]any, len(r.header))
	for name, values := range r.header {
		headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return headers
}

// ruleInput returns the input of error rules. A body that is not JSON is null.
func (c *client) ruleInput(r *response) map[string]any {
	body, err := expr.Decode(r.body, c.connection.Limits.Depth)
	if err != nil {
		body = nil
	}
	text := strings.ToValidUTF8(string(r.body[:min(len(r.body), maxErrorText)]), "")
	return map[string]any{"status": r.status, "headers": r.headerTexts(), "body": body, "text": text}
}
