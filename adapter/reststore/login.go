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
	latest token
}

// A token is what a log-in returned, and when.
type token struct {
	text  string
	since time.Time
}

// authorized sends a message with what the backend wants to know its sender by. A
// token that is refused is replaced once: the backend says by its refusal that nothing
// was done.
func (c *client) authorized(ctx context.Context, m *message) (*reply, error) {
	a := c.connection.auth
	switch {
	case a.login == nil && a.fixed == nil:
		return c.once(ctx, m, header{})
	case a.fixed != nil:
		return c.once(ctx, m, *a.fixed)
	}
	token, err := c.logIn(ctx, "")
	if err != nil {
		return nil, err
	}
	send := func() (*reply, error) {
		return c.once(ctx, m, header{a.login.header.name, a.login.header.value + token})
	}
	r, err := send()
	var said *answered
	if errors.As(err, &said) && said.status == http.StatusUnauthorized {
		if token, err = c.logIn(ctx, token); err != nil {
			return nil, err
		}
		return send()
	}
	return r, err
}

// logIn returns a token that is not the refused one.
func (c *client) logIn(ctx context.Context, refused string) (string, error) {
	l := c.connection.auth.login
	for range 2 { // a log-in that was under way may return the refused one
		if text := l.fresh(refused); text != "" {
			return text, nil
		}
		// It goes on for the others when this caller leaves.
		outcome := l.flight.DoChan("", func() (any, error) {
			if text := l.fresh(refused); text != "" {
				return text, nil
			}
			return c.newToken(context.WithoutCancel(ctx))
		})
		select {
		case o := <-outcome:
			if o.Err != nil {
				return "", o.Err
			}
			if text := o.Val.(string); text != refused {
				return text, nil
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return "", &adapter.Error{Kind: adapter.Internal, Op: "login upstream", Err: errors.New("the backend hands out a token that it refuses")}
}

// fresh returns the latest token, "" when it is the refused one or too old.
func (l *login) fresh(refused string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest.text == refused || l.refresh > 0 && time.Since(l.latest.since) >= l.refresh {
		return ""
	}
	return l.latest.text
}

// newToken logs in.
func (c *client) newToken(ctx context.Context) (string, error) {
	l := c.connection.auth.login
	k := call{"upstream", "login"}
	m, err := c.message(ctx, k, l.request, nil, l.credentials...)
	if err != nil {
		return "", errorOf(ctx, adapter.Internal, k.op(), err)
	}
	r, err := c.once(ctx, m, header{})
	if err != nil {
		// What the backend says of credentials is no answer to the call that needs them.
		if kind := adapter.KindOf(err); kind != adapter.Unavailable {
			err = &adapter.Error{Kind: adapter.Internal, Op: m.op, Err: err}
		}
		return "", err
	}
	body, err := decode(r.body, c.connection.limits.depth)
	if err != nil {
		return "", c.malformed(m, r.header, err)
	}
	v, err := l.token.one(ctx, body)
	text, ok := v.(string)
	if err != nil || !ok || text == "" || !httpguts.ValidHeaderFieldValue(text) {
		return "", &adapter.Error{Kind: adapter.Internal, Op: m.op, Err: fmt.Errorf("%s: the reply has no token", l.token.at)}
	}
	l.mu.Lock()
	l.latest = token{text, time.Now()}
	l.mu.Unlock()
	return text, nil
}
