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

// maxErrorText limits how many bytes of the response text error rules see.
const maxErrorText = 4096

// interpretResponse returns a successful response, or the error that the response means.
func (c *client) interpretResponse(ctx context.Context, m *preparedRequest, status int, headers http.Header, body []byte) (*response, error) {
	success := status >= 200 && status < 300
	if success {
		r := &response{request: m, status: status, header: headers, body: body}
		if !m.returnsDocuments {
			if err := c.errorInSuccess(ctx, r); err != nil {
				return nil, err
			}
		}
		if len(body) > 0 && !jsonType(headers.Get("Content-Type")) {
			return nil, c.malformedResponse(m, headers, errors.New("its type is not JSON"))
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
		known.Err = fmt.Errorf("status %d: not following the redirect to %.100q; set rest.url to its target", status, redirectTarget(headers))
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		known.Err = fmt.Errorf("status %d%s: check rest.user and rest.secret", status, reason)
	}
	if known.Kind == adapter.Unavailable {
		known.RetryAfter = retryAfter(headers.Get("Retry-After"), time.Now())
	}
	return nil, &responseError{status, &known}
}

// errorInSuccess returns the error that an any_status rule finds in a response with a
// success status, or nil.
func (c *client) errorInSuccess(ctx context.Context, r *response) error {
	kind, field, reason := c.matchRule(ctx, r.status, r.header, r.body, true)
	if kind == nil {
		return nil
	}
	return &responseError{r.status, &adapter.Error{Kind: *kind, Op: r.request.op, Field: field, Err: fmt.Errorf("status %d%s", r.status, reason)}}
}

// unusableDocuments returns the error of a response without the expected documents: the
// error that an any_status rule finds in it, or a malformed response.
func (c *client) unusableDocuments(ctx context.Context, r *response, err error) error {
	if meant := c.errorInSuccess(ctx, r); meant != nil {
		return meant
	}
	return c.malformedResponse(r.request, r.header, err)
}

// A responseError is an error in a complete response of the backend, or a response that
// cannot be read. Unlike a transport error, it has the response's status.
type responseError struct {
	status int
	err    *adapter.Error
}

func (a *responseError) Error() string { return a.err.Error() }
func (a *responseError) Unwrap() error { return a.err }

// malformedResponse returns the error of a response that does not have the expected form.
func (c *client) malformedResponse(m *preparedRequest, headers http.Header, err error) error {
	return &responseError{http.StatusOK, &adapter.Error{Kind: adapter.Unavailable, Op: m.op, Err: fmt.Errorf("cannot read the response of type %.100q: %w", headers.Get("Content-Type"), err)}}
}

// redirectTarget returns scheme and host of a redirect's target. The rest is not fit for a
// log.
func redirectTarget(headers http.Header) string {
	location := headers.Get("Location")
	if i := strings.Index(location, "://"); i >= 0 {
		if j := strings.IndexAny(location[i+3:], "/?#"); j >= 0 {
			location = location[:i+3+j]
		}
		return location[:i+3] + location[max(i+3, strings.LastIndexByte(location, '@')+1):] // without credentials
	}
	return "another path of the same host"
}

// matchRule returns the kind, field and reason of the first error rule that matches a
// response. A rule whose expression fails, perhaps because the body has another form, does
// not match.
func (c *client) matchRule(ctx context.Context, status int, headers http.Header, body []byte, success bool) (kind *adapter.ErrorKind, field, reason string) {
	var input map[string]any
	for i := range c.connection.Errors {
		r := c.connection.Errors[i]
		if success && !r.AnyStatus {
			continue
		}
		if input == nil {
			input = c.ruleInput(status, headers, body)
		}
		if holds, err := r.When.evalBool(ctx, input); err != nil || !holds {
			continue
		}
		field, reason = evalText(ctx, r.Field, input), evalText(ctx, r.Reason, input)
		if reason != "" {
			reason = ", " + strconv.Quote(reason[:min(len(reason), 200)])
		}
		if meant, ok := kinds[r.Kind]; ok {
			kind = &meant
		}
		return kind, field, reason
	}
	return nil, "", ""
}

// evalText returns the string that an expression returns, or "" for anything else.
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

// ruleInput returns the input of error rules. A body that is not JSON is null.
func (c *client) ruleInput(status int, headers http.Header, body []byte) map[string]any {
	all := map[string]any{}
	for name, values := range headers {
		all[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	decoded, err := decode(body, c.connection.Limits.Depth)
	if err != nil {
		decoded = nil
	}
	text := strings.ToValidUTF8(string(body[:min(len(body), maxErrorText)]), "")
	return map[string]any{"status": status, "headers": all, "body": decoded, "text": text}
}

// retryAfter parses the value of a Retry-After header: seconds or a date. The result is
// rounded up to whole seconds and cut to a day. It is 0 for a time that has passed and for
// a value that is neither.
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
