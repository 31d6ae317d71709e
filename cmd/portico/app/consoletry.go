package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	webconsole "github.com/portico-commerce/portico/cmd/portico/app/console"
	"github.com/portico-commerce/portico/config/buildinfo"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

const (
	// maxTriedBody is the number of bytes of an answer that the console shows.
	maxTriedBody = 64 << 10
	// tryTimeout limits a call of the console.
	tryTimeout = 20 * time.Second
)

// tryIt returns the calls that the console can send, and the function that sends them.
func (p *consoleParts) tryIt(d *contract.Dialect) webconsole.Try {
	t := webconsole.Try{Impersonate: p.demo || p.config.OpsImpersonate, Base: p.contractURL, Send: p.sendCall}
	for _, row := range routeRows(d, nil) {
		call := webconsole.TryCall{Name: row.Handler, Method: row.Method, Path: contract.Base + row.Path}
		for segment := range strings.SplitSeq(row.Path, "/") {
			if name, ok := strings.CutPrefix(segment, ":"); ok {
				call.Params = append(call.Params, name)
			}
		}
		t.Calls = append(t.Calls, call)
	}
	return t
}

// contractURL returns the base URL of the contract: public_url, or else the address of its port.
func (p *consoleParts) contractURL() string {
	if p.config.PublicURL != "" {
		return p.config.PublicURL
	}
	scheme := "http"
	if p.config.Server.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + cmp.Or(p.ops.contractAddress, p.config.Listen)
}

// sendCall sends a call to the contract's handler, as the contract's port gets it.
func (p *consoleParts) sendCall(ctx context.Context, r webconsole.TryRequest) (*webconsole.TryAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	base, err := url.Parse(r.Base)
	if err != nil {
		return nil, errors.New("public_url: not a URL")
	}
	target := base.EscapedPath() + r.Target
	request, err := http.NewRequestWithContext(ctx, r.Method, base.Scheme+"://"+base.Host+target, strings.NewReader(r.Body))
	if err != nil {
		return nil, webconsole.Refusal("The path or the query is not valid.")
	}
	request.RequestURI, request.RemoteAddr = target, "127.0.0.1:0"
	request.Header.Set("Accept", r.Accept)
	request.Header.Set("User-Agent", buildinfo.UserAgent("portico-console"))
	if r.ContentType != "" {
		request.Header.Set("Content-Type", r.ContentType)
	}
	answer := &webconsole.TryAnswer{}
	if r.Token != "" {
		signer, err := p.signerOf(ctx, r.Consumer, r.Token)
		if err != nil {
			return nil, err
		}
		signed := &auth.Request{Method: r.Method, Scheme: p.scheme(request), Host: base.Host, Target: target}
		authorization, err := signer.Sign(signed, time.Now())
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", authorization)
		signed.Scheme = base.Scheme // the scheme that clients use
		if answer.Authorization, err = signer.Sign(signed, time.Now()); err != nil {
			return nil, err
		}
	}
	w := &triedAnswer{header: http.Header{}}
	start := time.Now()
	if err := p.serveCall(w, request); err != nil {
		return nil, err
	}
	answer.Took = time.Since(start).Round(10 * time.Microsecond)
	answer.Status, answer.Body, answer.Cut = w.status, strings.ToValidUTF8(w.body.String(), "\uFFFD"), w.cut
	for name, values := range w.header {
		for _, value := range values {
			answer.Header = append(answer.Header, name+": "+value)
		}
	}
	slices.Sort(answer.Header)
	return answer, nil
}

// serveCall serves a call in this process. The handler breaks off an answer that it cannot complete.
func (p *consoleParts) serveCall(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if failure := recover(); failure == http.ErrAbortHandler { //nolint:errorlint // documented value
			err = webconsole.Refusal("The answer broke off. The log says why.")
		} else if failure != nil {
			panic(failure)
		}
	}()
	p.rules.ServeHTTP(w, r)
	return nil
}

// signerOf returns a signer with the secrets of a consumer and one of its tokens.
func (p *consoleParts) signerOf(ctx context.Context, consumerKey, text string) (*auth.Signer, error) {
	consumer, err := p.db.Credentials().Consumer(ctx, consumerKey)
	if err != nil {
		return nil, unknownCaller(err)
	}
	token, err := p.db.Credentials().Token(ctx, text)
	if err != nil {
		return nil, unknownCaller(err)
	}
	if token.ConsumerID != consumer.ID || token.Revoked || token.Type != adapter.AccessToken {
		return nil, unknownCaller(&adapter.Error{Kind: adapter.NotFound})
	}
	return auth.NewSigner(consumer.Key, consumer.Secret, token.Token, token.Secret), nil
}

// unknownCaller explains that there are no credentials.
func unknownCaller(err error) error {
	if adapter.KindOf(err) == adapter.NotFound {
		return webconsole.Refusal("This caller is no longer known: choose another one.")
	}
	return err
}

// A triedAnswer is the http.ResponseWriter of a call that the console sends. It holds the beginning
// of the body.
type triedAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
	cut    bool
}

// Header returns the headers.
func (a *triedAnswer) Header() http.Header { return a.header }

// WriteHeader sets the status.
func (a *triedAnswer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write appends piece to the body up to the limit maxTriedBody.
func (a *triedAnswer) Write(piece []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	room := maxTriedBody - a.body.Len()
	a.cut = a.cut || len(piece) > room
	a.body.Write(piece[:min(len(piece), room)])
	return len(piece), nil
}

// Flush does nothing: the answer is shown when it is complete.
func (a *triedAnswer) Flush() {}
