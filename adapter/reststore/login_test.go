package reststore

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const loginAuth = `  auth: {login: {request: {path: /in, body: '{user: $user, secret: $secret}'}, token: .token, refresh: 10m}}`

// A loginTransport issues tokens. Only the latest token is valid, for a number of
// requests.
type loginTransport struct {
	mu               sync.Mutex
	logins           int
	requestsPerToken int // 0: unlimited
	remaining        int
	respond          func(n int) *http.Response // instead of a token
	block            chan struct{}              // if not nil, logins wait until it is closed
	requests         atomic.Int64
}

func (g *loginTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/in" {
		body, _ := io.ReadAll(r.Body)
		if string(body) != `{"secret":"hush","user":"u"}` || r.Header.Get("Authorization") != "" {
			return httpResponse(400, ""), nil
		}
		g.mu.Lock()
		g.logins++
		n := g.logins
		g.remaining = g.requestsPerToken
		g.mu.Unlock()
		if g.block != nil {
			<-g.block
		}
		if g.respond != nil {
			return g.respond(n), nil
		}
		return httpResponse(200, fmt.Sprintf(`{"token": "t%d"}`, n)), nil
	}
	g.requests.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Header.Get("Authorization") != fmt.Sprintf("Bearer t%d", g.logins) || g.requestsPerToken > 0 && g.remaining == 0 {
		return httpResponse(401, ""), nil
	}
	g.remaining--
	return httpResponse(200, noCustomers), nil
}

// openWithLogin opens tinyMapping with a login to g.
func openWithLogin(t *testing.T, g *loginTransport) *Backend {
	t.Helper()
	b := openAt(t, tinyMappingWith(loginAuth), nil, "http://tiny.example")
	b.client.resty.SetTransport(g)
	return b
}

func fetchOne(ctx context.Context, b *Backend) error {
	_, err := b.Fetch(ctx, adapter.Customers, []string{"1"})
	return err
}

func TestLogin(t *testing.T) {
	t.Run("concurrent callers share a login", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := &loginTransport{block: make(chan struct{})}
			b := openWithLogin(t, g)
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if err := fetchOne(t.Context(), b); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			close(g.block)
			all.Wait()
			if g.logins != 1 || g.requests.Load() != 50 {
				t.Errorf("%d logins, %d requests", g.logins, g.requests.Load())
			}
		})
	})
	t.Run("concurrent callers with rejected token share a login", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := &loginTransport{requestsPerToken: 60}
			b := openWithLogin(t, g)
			if err := fetchOne(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			g.remaining, g.block = 0, make(chan struct{})
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					err := error(nil)
					if i%2 == 0 {
						err = fetchOne(t.Context(), b)
					} else { // a write with a rejected token has no effect and may be repeated
						err = b.Delete(t.Context(), &replica.Write{Resource: adapter.Customers, ID: "1"})
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			close(g.block)
			all.Wait()
			if g.logins != 2 {
				t.Errorf("%d logins", g.logins)
			}
		})
	})
	t.Run("refresh interval", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := &loginTransport{}
			b := openWithLogin(t, g)
			for _, pause := range []time.Duration{0, 9 * time.Minute, 2 * time.Minute, 0} {
				time.Sleep(pause)
				if err := fetchOne(t.Context(), b); err != nil {
					t.Error(err)
				}
			}
			if g.logins != 2 || g.requests.Load() != 4 {
				t.Errorf("%d logins, %d requests", g.logins, g.requests.Load())
			}
		})
	})
	t.Run("canceled caller", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := &loginTransport{block: make(chan struct{})}
			b := openWithLogin(t, g)
			ctx, cancel := context.WithCancel(t.Context())
			left, stayed := make(chan error, 1), make(chan error, 1)
			go func() { left <- fetchOne(ctx, b) }()
			synctest.Wait()
			go func() { stayed <- fetchOne(t.Context(), b) }()
			synctest.Wait()
			cancel()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("canceled caller: %v", err)
			}
			close(g.block)
			if err := <-stayed; err != nil || g.logins != 1 {
				t.Errorf("other caller: %v, %d logins", err, g.logins)
			}
		})
	})
	for _, c := range []struct {
		name   string
		answer *http.Response
		kind   adapter.ErrorKind
		want   string
	}{
		{"unauthorized", httpResponse(401, `{"secret": "hush"}`), adapter.Internal, "check rest.user and rest.secret"},
		{"not found", httpResponse(404, ""), adapter.Internal, "status 404"},
		{"unavailable", httpResponse(503, "", "Retry-After: 9"), adapter.Unavailable, "status 503"},
		{"no token", httpResponse(200, `{}`), adapter.Internal, "the response has no token"},
		{"invalid token", httpResponse(200, `{"token": "a\nb"}`), adapter.Internal, "the response has no token"},
		{"not JSON", httpResponse(200, `hush`), adapter.Unavailable, "cannot read the response"},
		{"rejected token", httpResponse(200, `{"token": "old"}`), adapter.Internal, "rejects the token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body, _ := io.ReadAll(c.answer.Body)
				g := &loginTransport{respond: func(int) *http.Response {
					again := *c.answer
					again.Body = io.NopCloser(strings.NewReader(string(body)))
					return &again
				}}
				err := fetchOne(t.Context(), openWithLogin(t, g))
				if adapter.KindOf(err) != c.kind || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
					t.Errorf("%v, want %s, %q", err, c.kind, c.want)
				}
			})
		})
	}
}
