package contracttests

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// An Asker makes the requests of steps against one server, whatever it answers: for
// who compares servers, and knows of each no more than where it is and what it knows
// the callers by. It may be used by several goroutines.
type Asker struct{ p *player }

// A Reply is what a server answered.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// NewAsker returns an asker of target, of which BaseURL, TLS, Credentials and Timeout
// count. It fails when BaseURL is no http(s)://host[:port][/path].
func NewAsker(target Target) (*Asker, error) {
	srv, err := parseServer(target.BaseURL, target.TLS)
	if err != nil {
		return nil, err
	}
	target.Dialect = ""
	return &Asker{&player{target: target, server: srv}}, nil
}

// BaseURL returns the base URL of the server, without a slash at its end.
func (a *Asker) BaseURL() string { return a.p.server.baseURL() }

// Probe is [Probe], for either dialect. The advice in its error names the flags
// --side and --side-credentials in place of --url and --credentials.
func (a *Asker) Probe(ctx context.Context, side string) error {
	err := a.p.look(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return errors.New(strings.NewReplacer("--url", "--"+side, "--credentials", "--"+side+"-credentials").Replace(err.Error()))
}

// Ask signs and makes the request of a step, and returns the reply. It fails when
// there is no whole reply within Target.Timeout, or a minute, and 32 MiB. The error
// holds no secrets.
func (a *Asker) Ask(ctx context.Context, s *Step) (*Reply, error) {
	r := newRequest(a.p.server, a.p.target.Credentials, s)
	got, err := a.p.send(ctx, &r)
	if err != nil {
		return nil, err
	}
	return &Reply{got.status, got.header, []byte(got.body)}, nil
}

// Curl returns a command that makes the request of a step again. Credentials are left
// to shell variables.
func (a *Asker) Curl(s *Step) string {
	r := newRequest(a.p.server, a.p.target.Credentials, s)
	return a.p.target.Credentials.Redact(curl(a.p.server, &r))
}
