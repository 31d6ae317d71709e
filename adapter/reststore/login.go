package reststore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
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
	// renewals has the last *renewal by preparedRequest.op, unless the request then succeeded. The mapping
	// limits the number of its entries.
	renewals sync.Map
}

// loginPause is the time in which a request of the mapping that was rejected with a new token does not log in
// again. So requests for which the user lacks a right do not cause a login each. Other requests that are rejected do
// log in, because backends may invalidate a token early: with the next login of the same user, for example.
const loginPause = 10 * time.Second

func (in *login) check(l *loader, p place) {
	l.checkHeader(p.In("header"), in.Header, "")
	l.Require(p.Count("token", "token_header") == 1, p, "must have exactly one of token and token_header")
	in.credentials = []any{l.options.User, l.options.Secret}
}

// loginOperation is the operation of login requests, which contain secrets.
const loginOperation = "login"

// A token is the result of a login request, and its time.
type token struct {
	text   string
	issued time.Time
}

// sendAuthorized sends a request with credentials or with a signature. If the backend rejects a token, by
// status 401 or according to Expired, it logs in again and repeats the request once, which
// is safe for writes as well because a request with a rejected token has no effect. A request
// that is rejected with a token that was issued for it is an error of kind Internal.
func (c *client) sendAuthorized(ctx context.Context, m *preparedRequest) (*response, error) {
	if signer := c.connection.Auth.OAuth1; signer != nil {
		signed, err := signer.headers(m)
		if err != nil {
			return nil, errorOf(ctx, adapter.Internal, m.op, err)
		}
		return c.sendOnce(ctx, m, signed)
	}
	in := c.connection.Auth.Login
	if in == nil {
		return c.sendOnce(ctx, m, nil)
	}
	for rejected := ""; ; {
		token, isNew, err := c.authToken(ctx, rejected)
		if err != nil {
			return nil, err
		}
		if token == rejected {
			in.renewals.Store(m.op, &renewal{at: time.Now()})
			return nil, lacksRight(m, errSameToken)
		}
		r, err := c.sendOnce(ctx, m, map[string]string{in.Header: in.Prefix + token})
		refusal := c.rejection(ctx, r, err)
		if refusal == nil {
			if rejected != "" {
				in.renewals.Delete(m.op)
			}
			return r, err
		}
		if !in.renews(m.op, token, rejected, isNew) {
			return nil, lacksRight(m, refusal)
		}
		rejected = token
	}
}

// ErrRefused is matched by errors that say that the backend refuses the credentials, or a right that they lack.
var ErrRefused = errors.New("the backend refuses the credentials")

// A credentialsError is an error that matches [ErrRefused].
type credentialsError struct{ error }

// Is reports whether target is ErrRefused.
func (credentialsError) Is(target error) bool { return target == ErrRefused } //nolint:errorlint // a sentinel

// Unwrap returns the error itself.
func (e credentialsError) Unwrap() error { return e.error }

var errSameToken = errors.New("the login issues the token again that was rejected")

// A renewal is a login because a request was rejected, or a request that was rejected with a new token.
type renewal struct {
	at       time.Time
	rejected string // the token before; "" if there was none
}

// renews reports whether a request that was rejected with a token logs in again, and notes that it does. before
// is the token with which it was rejected before, "" for none. Requests that were rejected with one token share a
// login.
func (l *login) renews(op, token, before string, isNew bool) bool {
	now := time.Now()
	if isNew {
		l.renewals.Store(op, &renewal{now, before})
		return false
	}
	known, _ := l.renewals.Load(op)
	if last, _ := known.(*renewal); last != nil && now.Sub(last.at) < loginPause {
		return last.rejected == token
	}
	l.renewals.Store(op, &renewal{now, token})
	return true
}

// lacksRight returns the error of a request that is rejected with a new token.
func lacksRight(m *preparedRequest, rejected error) error {
	return &adapter.Error{Kind: adapter.Internal, Op: m.op, Err: credentialsError{fmt.Errorf("the backend refuses the request with a new token (%w): the user rest.user probably lacks a right", rejected)}}
}

// rejection returns what the error of a response says if it means that the token is not valid, otherwise nil.
func (c *client) rejection(ctx context.Context, r *response, err error) error {
	known, ok := errors.AsType[*responseError](err)
	if !ok || r == nil {
		return nil
	}
	expired := c.connection.Auth.Login.Expired
	if known.status != http.StatusUnauthorized && expired == nil {
		return nil
	}
	if known.status != http.StatusUnauthorized {
		if holds, err := expired.holds(ctx, c.ruleInput(r)); err != nil || !holds {
			return nil
		}
	}
	return known.err.Err
}

// authToken returns a token other than the rejected one, logging in if necessary, and whether a login
// has issued it for this call. It only returns the rejected one if the login does.
func (c *client) authToken(ctx context.Context, rejected string) (token string, isNew bool, err error) {
	l := c.connection.Auth.Login
	if text := l.cachedToken(rejected); text != "" {
		return text, false, nil
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
		return text, true, o.Err
	case <-ctx.Done():
		return "", false, ctx.Err()
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
			err = &adapter.Error{Kind: adapter.Internal, Op: m.op, Err: credentialsError{err}}
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
		return "", &adapter.Error{Kind: adapter.Internal, Op: m.op, Err: credentialsError{fmt.Errorf("%s: the response has no token: check rest.user and rest.secret", l.Request.at)}}
	}
	l.cached.Store(&token{text, time.Now()})
	return text, nil
}
