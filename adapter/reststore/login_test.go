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
	t.Run("a token is invalid early", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := &loginTransport{}
			b := openWithLogin(t, g)
			for range 3 { // another program logs in as the same user, before each request
				if err := fetchOne(t.Context(), b); err != nil {
					t.Error(err)
				}
				g.logins++
			}
			if g.logins != 6 {
				t.Errorf("%d logins", g.logins)
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
		{"rejected token", httpResponse(200, `{"token": "old"}`), adapter.Internal, "fetch customers: GET /c: internal: the backend refuses the request with a new token (status 401: check rest.user and rest.secret): the user rest.user probably lacks a right"},
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
				if adapter.KindOf(err) != c.kind || errors.Is(err, ErrRefused) != (c.kind == adapter.Internal) || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
					t.Errorf("%v, want %s, %q", err, c.kind, c.want)
				}
			})
		})
	}
}

// TestMissingRight checks requests that are rejected with every token, as backends do where the user lacks a
// right: the error says so, others go on with the token, and a flood of them does not log in for each.
func TestMissingRight(t *testing.T) {
	const expired = `, expired: .status == 403 and .body.code == "token"}`
	for _, c := range []struct {
		name, refusal string
		sameToken     bool
		want          string
	}{
		{"status 401", `401 {}`, false, "delete customers: DELETE /c/{.id}: internal: the backend refuses the request with a new token (status 401: check rest.user and rest.secret): the user rest.user probably lacks a right"},
		{"expired holds", `403 {"code": "token"}`, false, "with a new token (status 403: check rest.user and rest.secret): the user rest.user probably lacks a right"},
		{"the login issues the same token", `401 {}`, true, "with a new token (the login issues the token again that was rejected): the user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logins, refused atomic.Int64
				b := openAt(t, tinyMappingWith(strings.Replace(loginAuth, "refresh: 10m}", "refresh: 10m"+expired, 1)), nil, "http://tiny.example")
				b.client.resty.SetTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
					switch {
					case r.URL.Path == "/in" && c.sameToken:
						logins.Add(1)
						return httpResponse(200, `{"token": "t"}`), nil
					case r.URL.Path == "/in":
						return httpResponse(200, fmt.Sprintf(`{"token": "t%d"}`, logins.Add(1))), nil
					case r.Method == http.MethodDelete:
						refused.Add(1)
						var status int
						_, _ = fmt.Sscan(c.refusal, &status)
						return httpResponse(status, c.refusal[4:]), nil
					}
					return httpResponse(200, noCustomers), nil
				}))
				remove := func() error {
					return b.Delete(t.Context(), &replica.Write{Resource: adapter.Customers, ID: "1"})
				}
				if err := fetchOne(t.Context(), b); err != nil { // the token is no longer new
					t.Fatal(err)
				}
				flood := func() {
					var all sync.WaitGroup
					for range 100 {
						all.Go(func() {
							if err := remove(); adapter.KindOf(err) != adapter.Internal || !strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "probably lacks a right") {
								t.Error(err)
							}
						})
						all.Go(func() {
							if err := fetchOne(t.Context(), b); err != nil {
								t.Error(err)
							}
						})
					}
					all.Wait()
				}
				if err := remove(); adapter.KindOf(err) != adapter.Internal || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				for range 9 {
					flood()
					time.Sleep(time.Second)
				}
				if n := logins.Load(); n != 2 {
					t.Errorf("%d logins within the pause", n)
				}
				time.Sleep(loginPause)
				before := refused.Load()
				flood()
				most := int64(3)
				if c.sameToken { // requests that were sent before the first login ended may log in as well
					most = 30
				}
				if n, sent := logins.Load(), refused.Load()-before; n < 3 || n > most || sent > 200 {
					t.Errorf("%d logins after the pause, and %d requests for 100", n, sent)
				}
			})
		})
	}
}

// A roundTripper answers requests without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
