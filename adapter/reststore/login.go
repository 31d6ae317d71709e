package reststore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/sync/singleflight"

	"github.com/portico-commerce/portico/adapter"
)

// A login gets a token that other requests are sent with. Callers that need one at the
// same time share a log-in. It is safe for concurrent use.
type login struct {
	request     *request
	token       *expression
	credentials []any // $user and $secret
	refresh     time.Duration
	header      header // its value is what goes before the token

	flight singleflight.Group
	mu     sync.Mutex
	cached token
}

// A token is what a log-in returned, and when.
type token struct {
	text   string
	issued time.Time
}

// authorized sends a message with what the backend wants to know its sender by. A
// token that is refused is replaced once: the backend says by its refusal that nothing
// was done.
func (c *client) sendAuthorized(ctx context.Context, m *preparedRequest) (*response, error) {
	a := c.connection.auth
	switch {
	case a.login == nil && a.fixed == nil:
		return c.sendOnce(ctx, m, header{})
	case a.fixed != nil:
		return c.sendOnce(ctx, m, *a.fixed)
	}
	token, err := c.authToken(ctx, "")
	if err != nil {
		return nil, err
	}
	send := func() (*response, error) {
		return c.sendOnce(ctx, m, header{a.login.header.name, a.login.header.value + token})
	}
	r, err := send()
	var refusal *responseError
	if errors.As(err, &refusal) && refusal.status == http.StatusUnauthorized {
		if token, err = c.authToken(ctx, token); err != nil {
			return nil, err
		}
		return send()
	}
	return r, err
}

// logIn returns a token that is not the refused one.
func (c *client) authToken(ctx context.Context, rejected string) (string, error) {
	l := c.connection.auth.login
	for range 2 { // a log-in that was under way may return the refused one
		if text := l.cachedToken(rejected); text != "" {
			return text, nil
		}
		// It goes on for the others when this caller leaves.
		outcome := l.flight.DoChan("", func() (any, error) {
			if text := l.cachedToken(rejected); text != "" {
				return text, nil
			}
			return c.requestToken(context.WithoutCancel(ctx))
		})
		select {
		case o := <-outcome:
			if o.Err != nil {
				return "", o.Err
			}
			if text := o.Val.(string); text != rejected {
				return text, nil
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return "", &adapter.Error{Kind: adapter.Internal, Op: "login upstream", Err: errors.New("the backend hands out a token that it refuses")}
}

// fresh returns the latest token, "" when it is the refused one or too old.
func (l *login) cachedToken(rejected string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cached.text == rejected || l.refresh > 0 && time.Since(l.cached.issued) >= l.refresh {
		return ""
	}
	return l.cached.text
}

// newToken logs in.
func (c *client) requestToken(ctx context.Context) (string, error) {
	l := c.connection.auth.login
	k := call{"upstream", "login"}
	m, err := c.prepare(ctx, k, l.request, nil, l.credentials...)
	if err != nil {
		return "", errorOf(ctx, adapter.Internal, k.op(), err)
	}
	r, err := c.sendOnce(ctx, m, header{})
	if err != nil {
		// What the backend says of credentials is no answer to the call that needs them.
		if kind := adapter.KindOf(err); kind != adapter.Unavailable {
			err = &adapter.Error{Kind: adapter.Internal, Op: m.op, Err: err}
		}
		return "", err
	}
	body, err := decode(r.body, c.connection.limits.depth)
	if err != nil {
		return "", c.malformedResponse(m, r.header, err)
	}
	v, err := l.token.eval(ctx, body)
	text, ok := v.(string)
	if err != nil || !ok || text == "" || !httpguts.ValidHeaderFieldValue(text) {
		return "", &adapter.Error{Kind: adapter.Internal, Op: m.op, Err: fmt.Errorf("%s: the reply has no token", l.token.at)}
	}
	l.mu.Lock()
	l.cached = token{text, time.Now()}
	l.mu.Unlock()
	return text, nil
}
