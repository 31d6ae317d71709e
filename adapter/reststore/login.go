package reststore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/sync/singleflight"
)

// A login obtains the token that other requests are sent with. Concurrent callers that
// need a token share one login request. It is safe for concurrent use.
type login struct {
	Request *request `need:"true" vars:"$user $secret" method:"POST"`
	// Token is the token in the body of the response; TokenHeader is the header that has
	// it.
	Token       *expression
	TokenHeader string `yaml:"token_header"`
	// Expired is true for error responses by which the backend rejects the token, in
	// addition to responses with the status 401.
	Expired *expression
	Refresh time.Duration `range:"1s 720h"`
	Header  string        `default:"Authorization"`
	Prefix  string        `default:"'Bearer '"` // of the token in Header

	credentials []any // $user and $secret

	flight singleflight.Group
	cached atomic.Pointer[token] // nil before the first login
}

// loginOperation is the operation of login requests, which contain secrets.
const loginOperation = "login"

// A token is the result of a login request, and its time.
type token struct {
	text   string
	issued time.Time
}

// sendAuthorized sends a request with credentials. If the backend rejects a token, by
// status 401 or according to Expired, it logs in again and repeats the request once, which
// is safe for writes as well because a request with a rejected token has no effect.
func (c *client) sendAuthorized(ctx context.Context, m *preparedRequest) (*response, error) {
	in := c.connection.Auth.Login
	if in == nil {
		return c.sendOnce(ctx, m, nil)
	}
	token, err := c.authToken(ctx, "")
	if err != nil {
		return nil, err
	}
	send := func() (*response, error) {
		return c.sendOnce(ctx, m, map[string]string{in.Header: in.Prefix + token})
	}
	r, err := send()
	if c.rejectsToken(ctx, r, err) {
		if token, err = c.authToken(ctx, token); err != nil {
			return nil, err
		}
		return send()
	}
	return r, err
}

// rejectsToken reports whether a response with this error means that the token is not
// valid.
func (c *client) rejectsToken(ctx context.Context, r *response, err error) bool {
	known, ok := errors.AsType[*responseError](err)
	if !ok || r == nil {
		return false
	}
	expired := c.connection.Auth.Login.Expired
	if known.status == http.StatusUnauthorized || expired == nil {
		return known.status == http.StatusUnauthorized
	}
	holds, err := expired.holds(ctx, c.ruleInput(r))
	return err == nil && holds
}

// authToken returns a valid token other than the rejected one, logging in if necessary.
func (c *client) authToken(ctx context.Context, rejected string) (string, error) {
	l := c.connection.Auth.Login
	if text := l.cachedToken(rejected); text != "" {
		return text, nil
	}
	// The login continues for other callers if this one is canceled. Only callers whose
	// token was rejected, too, may share it.
	outcome := l.flight.DoChan(rejected, func() (any, error) {
		if text := l.cachedToken(rejected); text != "" {
			return text, nil
		}
		return c.requestToken(context.WithoutCancel(ctx))
	})
	select {
	case o := <-outcome:
		text, _ := o.Val.(string)
		if o.Err == nil && text == rejected {
			return "", &adapter.Error{Kind: adapter.Internal, Op: "login upstream", Err: errors.New("the backend rejects the token that it has just issued")}
		}
		return text, o.Err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// cachedToken returns the cached token, or "" if it is the rejected one or too old.
func (l *login) cachedToken(rejected string) string {
	t := l.cached.Load()
	if t == nil || t.text == rejected || l.Refresh > 0 && time.Since(t.issued) >= l.Refresh {
		return ""
	}
	return t.text
}

// requestToken logs in and caches the token.
func (c *client) requestToken(ctx context.Context) (string, error) {
	l := c.connection.Auth.Login
	k := call{"upstream", loginOperation}
	m, err := c.prepare(ctx, k, l.Request, nil, l.credentials...)
	if err != nil {
		return "", errorOf(ctx, adapter.Internal, k.op(), err)
	}
	r, err := c.sendOnce(ctx, m, nil)
	if err != nil {
		// A rejected login must not look like the backend's answer to the caller's request.
		if kind := adapter.KindOf(err); kind != adapter.Unavailable {
			err = &adapter.Error{Kind: adapter.Internal, Op: m.op, Err: err}
		}
		return "", err
	}
	text := r.header.Get(l.TokenHeader)
	if l.Token != nil {
		body, err := expr.Decode(r.body, c.connection.Limits.Depth)
		if err != nil {
			return "", malformed(r, err)
		}
		text = evalText(ctx, l.Token, body)
	}
	if text == "" || !httpguts.ValidHeaderFieldValue(text) {
		return "", &adapter.Error{Kind: adapter.Internal, Op: m.op, Err: fmt.Errorf("%s: the response has no token: check rest.user and rest.secret", l.Request.at)}
	}
	l.cached.Store(&token{text, time.Now()})
	return text, nil
}
