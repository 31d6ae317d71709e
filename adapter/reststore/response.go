package reststore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// maxErrorText bounds how much of a reply's text rules see.
const maxErrorText = 4096

// judge returns a reply, or the error that it means.
func (c *client) interpret(ctx context.Context, m *preparedRequest, status int, headers http.Header, body []byte) (*response, error) {
	success := status >= 200 && status < 300
	if success {
		r := &response{request: m, status: status, header: headers, body: body}
		if !m.returnsDocuments {
			if err := c.errorInSuccess(ctx, r); err != nil {
				return nil, err
			}
		}
		if len(body) > 0 && !jsonType(headers.Get("Content-Type")) {
			return nil, c.malformedResponse(m, headers, errors.New("it is no JSON"))
		}
		return r, nil
	}
	kind, field, reason := c.matchRule(ctx, status, headers, body, false)
	known := adapter.Error{Kind: kindOfStatus(status), Op: m.op, Field: field, Err: fmt.Errorf("status %d%s", status, reason)}
	if kind != nil {
		known.Kind = *kind
	}
	switch {
	case status >= 300 && status < 400:
		known.Err = fmt.Errorf("status %d, a redirect to %.100q that is not followed: set the URL that it leads to", status, redirectTarget(headers))
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		known.Err = fmt.Errorf("status %d%s: check the user and the secret of the backend", status, reason)
	}
	if known.Kind == adapter.Unavailable {
		known.RetryAfter = retryAfter(headers.Get("Retry-After"), time.Now())
	}
	return nil, &responseError{status, &known}
}

// meant returns the error that a reply of success means all the same, by a rule of
// any_status.
func (c *client) errorInSuccess(ctx context.Context, r *response) error {
	kind, field, reason := c.matchRule(ctx, r.status, r.header, r.body, true)
	if kind == nil {
		return nil
	}
	return &responseError{r.status, &adapter.Error{Kind: *kind, Op: r.request.op, Field: field, Err: fmt.Errorf("status %d%s", r.status, reason)}}
}

// unfit returns the error of a reply that has not the documents it should have.
func (c *client) unusableDocuments(ctx context.Context, r *response, err error) error {
	if meant := c.errorInSuccess(ctx, r); meant != nil {
		return meant
	}
	return c.malformedResponse(r.request, r.header, err)
}

// An answered is an error that the backend answered with, or an answer that cannot be
// read: another attempt would bring the same.
type responseError struct {
	status int
	err    *adapter.Error
}

func (a *responseError) Error() string { return a.err.Error() }
func (a *responseError) Unwrap() error { return a.err }

// malformed returns the error of a reply that is not what was promised.
func (c *client) malformedResponse(m *preparedRequest, headers http.Header, err error) error {
	return &responseError{http.StatusOK, &adapter.Error{Kind: adapter.Unavailable, Op: m.op, Err: fmt.Errorf("the reply, %.100q, cannot be read: %w", headers.Get("Content-Type"), err)}}
}

// target returns scheme and host that a redirect leads to; the rest may hold more than
// a log should.
func redirectTarget(headers http.Header) string {
	location := headers.Get("Location")
	if i := strings.Index(location, "://"); i >= 0 {
		if j := strings.IndexAny(location[i+3:], "/?#"); j >= 0 {
			location = location[:i+3+j]
		}
		return location[:i+3] + location[max(i+3, strings.LastIndexByte(location, '@')+1):] // without a password
	}
	return "another path of the same host"
}

// rule finds the rule that holds for a reply. An expression that fails, as on a body of
// a form that it does not expect, holds for nothing and says nothing.
func (c *client) matchRule(ctx context.Context, status int, headers http.Header, body []byte, success bool) (kind *adapter.ErrorKind, field, reason string) {
	var input map[string]any
	for i := range c.connection.errors {
		r := &c.connection.errors[i]
		if success && !r.anyStatus {
			continue
		}
		if input == nil {
			input = c.ruleInput(status, headers, body)
		}
		if holds, err := r.when.evalBool(ctx, input); err != nil || !holds {
			continue
		}
		field, reason = evalText(ctx, r.field, input), evalText(ctx, r.reason, input)
		if reason != "" {
			reason = ", " + strconv.Quote(reason[:min(len(reason), 200)])
		}
		if r.hasKind {
			kind = &r.kind
		}
		return kind, field, reason
	}
	return nil, "", ""
}

// textOf returns the text that an expression gives, "" for anything else.
func evalText(ctx context.Context, e *expression, input any) string {
	if e == nil {
		return ""
	}
	v, err := e.eval(ctx, input)
	text, _ := v.(string)
	if err != nil {
		return ""
	}
	return text
}

// errorInput is what rules look at. A body that is no JSON is null.
func (c *client) ruleInput(status int, headers http.Header, body []byte) map[string]any {
	all := map[string]any{}
	for name, values := range headers {
		all[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	decoded, err := decode(body, c.connection.limits.depth)
	if err != nil {
		decoded = nil
	}
	text := strings.ToValidUTF8(string(body[:min(len(body), maxErrorText)]), "")
	return map[string]any{"status": status, "headers": all, "body": decoded, "text": text}
}

// retryAfter returns the pause that a backend asks for, in whole seconds and at most a
// day; 0 when it names none.
func retryAfter(value string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	at, err := http.ParseTime(value)
	if err != nil || !at.After(now) {
		return 0
	}
	return min((at.Sub(now) + time.Second - 1).Truncate(time.Second), most)
}
