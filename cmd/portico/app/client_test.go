package app

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A client calls a server as one caller over persistent connections. Unlike send it is
// safe for concurrent use, and returns errors so that the server may die.
type client struct {
	base, authorization string // authorization is "" for a Guest
	http                http.Client
}

// newClient returns a client for the server at base. An empty authorization calls as a
// Guest.
func newClient(t testing.TB, base, authorization string) *client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 50}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{base: base, authorization: authorization, http: http.Client{Transport: transport, Timeout: waitTimeout}}
}

// call sends one request, with JSON in both directions, and reads the whole reply. path is
// below /api/rest, or a URL.
func (c *client) call(ctx context.Context, method, path, body string) (reply, error) {
	if strings.HasPrefix(path, "/") {
		path = c.base + "/api/rest" + path
	}
	request, err := http.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	if c.authorization != "" {
		request.Header.Set("Authorization", c.authorization)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return reply{}, err
	}
	content, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return reply{}, err
	}
	return reply{status: response.StatusCode, header: response.Header, body: string(content), closes: response.Close}, nil
}

// get reads path from a server that must answer.
func (c *client) get(t testing.TB, path string) reply {
	t.Helper()
	got, err := c.call(t.Context(), http.MethodGet, path, "")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// read decodes the record at path, which must exist, into into.
func (c *client) read(t *testing.T, path string, into any) {
	t.Helper()
	got := c.get(t, path)
	if got.status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	parse(t, got.body, into)
}
