package contracttests

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// A Client sends the requests of exchanges to one server and returns its replies without
// comparing them. It is safe for concurrent use.
type Client struct{ session *session }

// A Reply is a complete reply of a server. Its Location has no base path.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// NewClient returns a Client for the BaseURL, TLS, Credentials and Timeout of target; the
// other fields are ignored. It returns an error if BaseURL is not
// http(s)://host[:port][/path].
func NewClient(target Target) (*Client, error) {
	srv, err := parseServer(target.BaseURL, target.TLS)
	if err != nil {
		return nil, err
	}
	target.Dialect = ""
	return &Client{&session{target: target, server: srv}}, nil
}

// BaseURL returns the base URL of the server without a trailing slash.
func (c *Client) BaseURL() string { return c.session.server.baseURL() }

// Probe is like the function [Probe], but accepts either dialect. The advice in its
// errors names the flags --NAME and --NAME-credentials instead of --url and
// --credentials.
func (c *Client) Probe(ctx context.Context, name string) error {
	err := c.session.probeTarget(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return errors.New(strings.NewReplacer("--url", "--"+name, "--credentials", "--"+name+"-credentials").Replace(err.Error()))
}

// Do signs and sends the request of a step, and returns the reply. It returns an error if
// no complete reply of at most 32 MiB arrives within Target.Timeout, or one minute if
// that is 0. The error contains no secrets.
func (c *Client) Do(ctx context.Context, s *Step) (*Reply, error) {
	r := newRequest(c.session.server, c.session.target.Credentials, s)
	got, err := c.session.send(ctx, &r)
	if err != nil {
		return nil, err
	}
	return &Reply{got.status, got.header, []byte(got.body)}, nil
}

// Curl returns a curl command that repeats the request of a step. It contains shell
// variables in place of the credentials.
func (c *Client) Curl(s *Step) string {
	r := newRequest(c.session.server, c.session.target.Credentials, s)
	return c.session.target.Credentials.Redact(curl(c.session.server, &r, ""))
}
