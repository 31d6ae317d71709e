package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/httpapi"
)

// An embedder is a program that mounts Portico on its own engine, with middleware on both
// sides of Portico's.
type embedder struct {
	*served
	mu     sync.Mutex
	outer  []string       // seen by the middleware before Portico's
	inner  []string       // seen by the middleware after Portico's
	copies []*gin.Context // of the inner middleware
}

// embed mounts Portico between the middleware of an embedder. The inner middleware adds the
// header X-Call, refuses orders, panics at PUT, and passes the replies to requests with the
// header X-Wrap through a writer of its own.
func embed(t *testing.T, options httpapi.Options, between func(adapter.Adapter) adapter.Adapter) *embedder {
	t.Helper()
	e := &embedder{}
	engine := newEngine()
	engine.Use(gin.RecoveryWithWriter(io.Discard), func(c *gin.Context) {
		if a := httpapi.AddressOf(c); a.Route != nil {
			t.Errorf("%s has a route before Portico has seen it", c.Request.URL)
		}
		c.Next()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.outer = append(e.outer, describe(c))
	})
	engine.GET("/hello", func(c *gin.Context) { c.String(http.StatusOK, "own route") })
	var err error
	if e.served, err = mount(t, engine, options, between); err != nil {
		t.Fatal(err)
	}
	engine.Use(func(c *gin.Context) {
		elsewhere := c.Copy()
		go describe(elsewhere) // while Portico works on the request
		a := httpapi.AddressOf(c)
		e.mu.Lock()
		e.inner, e.copies = append(e.inner, describe(c)), append(e.copies, elsewhere)
		e.mu.Unlock()
		c.Header("X-Call", a.Name())
		switch {
		case c.Request.Method == http.MethodPut:
			panic("no change today")
		case a.Route != nil && strings.HasPrefix(a.Route.Path, "/orders"):
			c.AbortWithStatusJSON(http.StatusForbidden, gin.H{"refused": a.Name()})
		case c.GetHeader("X-Wrap") != "":
			c.Writer = shouting{c.Writer}
		}
	})
	engine.GET("/hello/logged", func(c *gin.Context) { c.String(http.StatusAccepted, "own route") })
	e.start(t, httptest.NewServer(engine))
	return e
}

// describe returns the route and the call that c is addressed to.
func describe(c *gin.Context) string {
	a := httpapi.AddressOf(c)
	if a.Route == nil {
		return fmt.Sprint("- ", a.IsREST())
	}
	return a.Route.Path + " " + a.Name() + " " + strings.Join(a.Params[:], ",")
}

// shouting is a writer that changes bodies but not their length.
type shouting struct{ gin.ResponseWriter }

// Write writes a piece of a body in capitals.
func (s shouting) Write(piece []byte) (int, error) {
	return s.ResponseWriter.Write(bytes.ToUpper(piece))
}

// TestMount checks the view and the permissions of an embedder's middleware.
func TestMount(t *testing.T) {
	e := embed(t, httpapi.Options{GuestRate: 0.001, GuestBurst: 3}, unchanged)
	const noRoute = "- true"
	for _, tt := range []struct {
		name         string
		lines        []string
		status       int
		body         string // its beginning
		outer, inner string // "": did not see it
		call         string // in the log; "": not logged
	}{
		{"a call", []string{"GET " + item + " HTTP/1.1", admin}, 200, `{"item_id":"1"`, "/stockitems/:id getStockItem 1,,", "=", "getStockItem"},
		{"a wrapped writer", []string{"GET " + item + " HTTP/1.1", admin, "X-Wrap: 1"}, 200, `{"ITEM_ID":"1"`, "/stockitems/:id getStockItem 1,,", "=", "getStockItem"},
		{"a refused call", []string{"GET /api/rest/orders/5/comments HTTP/1.1", admin}, 403, `{"refused":"listOrderComments"}`, "/orders/:id/comments listOrderComments 5,,", "=", "listOrderComments"},
		{"an unknown method", []string{"BREW " + item + " HTTP/1.1", admin}, 400, "", "/stockitems/:id other 1,,", "=", "other"},
		{"a panic", []string{"PUT " + item + " HTTP/1.1", admin, "Accept: application/json"}, 500, `{"messages":{"error":[{"code":500,`, "/stockitems/:id updateStockItem 1,,", "=", "updateStockItem"},
		{"no route", []string{"GET /api/rest/nowhere HTTP/1.1"}, 404, "", noRoute, "=", "other"},
		{"outside", []string{"GET /nowhere HTTP/1.1"}, 404, "Not found\n", "- false", "=", "none"},
		{"guest", []string{"GET /api/rest/products/1 HTTP/1.1"}, 200, "", "/products/:id getProduct 1,,", "=", "getProduct"},
		{"guest again", []string{"GET /api/rest/products/1 HTTP/1.1"}, 200, "", "/products/:id getProduct 1,,", "=", "getProduct"},
		{"a guest too many", []string{"GET /api/rest/products/1 HTTP/1.1"}, 429, "", "/products/:id getProduct 1,,", "", "getProduct"},
		{"a route of the engine", []string{"GET /hello HTTP/1.1"}, 200, "own route", "- false", "", ""},
		{"a route behind the middleware", []string{"GET /hello/logged HTTP/1.1"}, 202, "own route", "- false", "=", "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e.outer, e.inner = nil, nil
			before := len(e.linesOf(t, "INFO"))
			got := e.call(t, append(tt.lines, "Host: x")...)
			if got.StatusCode != tt.status || !strings.HasPrefix(got.body, tt.body) {
				t.Errorf("%d %s, want %d %s", got.StatusCode, got.body, tt.status, tt.body)
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			if tt.inner == "=" {
				tt.inner = tt.outer
			}
			if outer, inner := strings.Join(e.outer, " "), strings.Join(e.inner, " "); outer != tt.outer || inner != tt.inner {
				t.Errorf("the middleware saw %q and %q, want %q and %q", outer, inner, tt.outer, tt.inner)
			}
			if sent := got.Header.Get("X-Call") != ""; sent != (tt.inner != "") {
				t.Errorf("X-Call is %q", got.Header.Get("X-Call"))
			}
			lines := e.linesOf(t, "INFO")[before:]
			if tt.call == "" {
				if len(lines) != 0 || got.Header.Get("X-Request-Id") != "" {
					t.Errorf("logged: %v", lines)
				}
				return
			}
			if len(lines) != 1 || lines[0]["call"] != tt.call || lines[0]["status"] != float64(tt.status) ||
				lines[0]["request_id"] != got.Header.Get("X-Request-Id") || lines[0]["bytes"] != float64(len(got.body)) {
				t.Errorf("logged: %v", lines)
			}
		})
	}
}

// TestMountConcurrently checks that middleware sees the route of its own request, also when
// the request is over.
func TestMountConcurrently(t *testing.T) {
	e := embed(t, httpapi.Options{}, unchanged)
	const requests = 40
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range requests {
				path, want := fmt.Sprint("/api/rest/stockitems/", worker*requests+i+1), "getStockItem"
				if i%2 == 1 {
					path, want = "/api/rest/nowhere", "other"
				}
				response, err := http.Get("http://" + e.address + path)
				if err != nil {
					t.Error(err)
					return
				}
				_ = response.Body.Close()
				if got := response.Header.Get("X-Call"); got != want {
					t.Errorf("%s is %s", path, got)
				}
			}
		})
	}
	group.Wait()
	e.end()
	seen := map[string]int{}
	for _, c := range e.copies {
		seen[describe(c)]++
	}
	for _, one := range e.outer {
		seen[one]++
	}
	for one, n := range seen {
		if want := 2; one == "- true" && n != 4*requests || one != "- true" && n != want {
			t.Errorf("%s was seen %d times", one, n)
		}
	}
	if len(seen) != 4*requests/2+1 {
		t.Errorf("%d addresses were seen", len(seen))
	}
}

// TestMountBelowRecovery checks that a list that breaks off does not look complete, although
// the engine recovers from the panic that breaks the connection.
func TestMountBelowRecovery(t *testing.T) {
	upstream := &endlessUpstream{items: 2000, asked: func(_ context.Context, list int) error {
		if list > 1 {
			return errors.New("no more")
		}
		return nil
	}}
	e := embed(t, httpapi.Options{}, func(real adapter.Adapter) adapter.Adapter {
		upstream.Adapter = real
		return upstream
	})
	c := e.dial(t)
	c.send(allItems, "Host: x", admin, "Accept: text/plain")
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err := io.ReadAll(response.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the list ends after %d bytes with %v", len(body), err)
	}
	e.end()
	if cut := e.cut(t); cut != 1 {
		t.Errorf("%v replies are counted as cut", cut)
	}
}
