package auth

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
)

// The credentials of the demo data set, and additional ones for errors.
var (
	consumerKey    = strings.Repeat("a", 32)
	consumerSecret = strings.Repeat("b", 32)
	adminToken     = strings.Repeat("c", 32)
	adminSecret    = strings.Repeat("d", 32)
	customerToken  = strings.Repeat("e", 32)
	customerSecret = strings.Repeat("f", 32)
	unknown        = strings.Repeat("z", 32)
	requestToken   = strings.Repeat("1", 32)
	revokedToken   = strings.Repeat("2", 32)
	foreignToken   = strings.Repeat("3", 32) // of another consumer
	nobodysToken   = strings.Repeat("4", 32)
	bothsToken     = strings.Repeat("5", 32) // of an administrator and a customer
	revokedRequest = strings.Repeat("6", 32) // a revoked request token
	revokedForeign = strings.Repeat("7", 32) // a revoked token of another consumer
)

// newCredentials returns the credentials.
func newCredentials() *adaptertest.Store {
	return adaptertest.New(adapter.Consumer{ID: 1, Name: "Demo", Key: consumerKey, Secret: consumerSecret},
		adapter.Token{Token: adminToken, Secret: adminSecret, Type: adapter.AccessToken, ConsumerID: 1, AdminID: 11},
		adapter.Token{Token: customerToken, Secret: customerSecret, Type: adapter.AccessToken, ConsumerID: 1, CustomerID: 12},
		adapter.Token{Token: requestToken, Secret: adminSecret, Type: adapter.RequestToken, ConsumerID: 1},
		adapter.Token{Token: revokedToken, Secret: adminSecret, Type: adapter.AccessToken, ConsumerID: 1, AdminID: 11, Revoked: true},
		adapter.Token{Token: foreignToken, Secret: adminSecret, Type: adapter.AccessToken, ConsumerID: 2, AdminID: 11},
		adapter.Token{Token: nobodysToken, Secret: adminSecret, Type: adapter.AccessToken, ConsumerID: 1},
		adapter.Token{Token: bothsToken, Secret: adminSecret, Type: adapter.AccessToken, ConsumerID: 1, AdminID: 11, CustomerID: 12},
		adapter.Token{Token: revokedRequest, Secret: adminSecret, Type: adapter.RequestToken, ConsumerID: 1, Revoked: true},
		adapter.Token{Token: revokedForeign, Secret: adminSecret, Type: adapter.AccessToken, ConsumerID: 2, AdminID: 11, Revoked: true},
	)
}

// memoryNonces is an in-memory store of nonces that counts calls.
type memoryNonces struct {
	mu     sync.Mutex
	stored map[string]int64
	asked  int // calls of Used
	fail   error
}

func (n *memoryNonces) Use(_ context.Context, nonce string, timestamp int64) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return false, n.fail
	}
	if _, used := n.stored[nonce]; used {
		return false, nil
	}
	n.stored[nonce] = timestamp
	return true, nil
}

func (n *memoryNonces) Used(_ context.Context, nonce string) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	_, used := n.stored[nonce]
	return used, n.fail
}

// serverTime is the time of the server in the tests.
const serverTime = 1_800_000_000

// newAuthenticator returns an Authenticator with new stores, at serverTime.
func newAuthenticator(o Options) (*Authenticator, *adaptertest.Store, *memoryNonces) {
	credentials, nonces := newCredentials(), &memoryNonces{stored: map[string]int64{}}
	if o.Now == nil {
		o.Now = func() time.Time { return time.Unix(serverTime, 0) }
	}
	return New(credentials, nonces, o), credentials, nonces
}

// fields are OAuth parameters by their names without the prefix "oauth_".
type fields map[string]string

// plaintext returns the fields of a valid PLAINTEXT call by the administrator.
func plaintext() fields {
	return fields{"version": "1.0", "signature_method": "PLAINTEXT", "consumer_key": consumerKey, "token": adminToken,
		"signature": consumerSecret + "&" + adminSecret}
}

// nonced returns the fields of an unsigned HMAC call by the administrator.
func nonced(nonce string) fields {
	return fields{"version": "1.0", "signature_method": "HMAC-SHA1", "consumer_key": consumerKey, "token": adminToken,
		"nonce": nonce, "timestamp": "1330000000", "signature": "x"}
}

// with returns f changed by pairs of name and value.
func (f fields) with(pairs ...string) fields {
	for i := 0; i < len(pairs); i += 2 {
		f[pairs[i]] = pairs[i+1]
	}
	return f
}

// without returns f with names removed.
func (f fields) without(names ...string) fields {
	for _, name := range names {
		delete(f, name)
	}
	return f
}

// header returns f as an Authorization header.
func (f fields) header() string {
	var parts []string
	for name, value := range f {
		parts = append(parts, "oauth_"+name+`="`+escapeReference(value)+`"`)
	}
	return "OAuth " + strings.Join(parts, ", ")
}

// form returns f as a query or a form-encoded body.
func (f fields) form() string {
	values := url.Values{}
	for name, value := range f {
		values.Set("oauth_"+name, value)
	}
	return values.Encode()
}

// get returns a request for target with an Authorization header.
func get(target, authorization string) *Request {
	return &Request{Method: "GET", Scheme: "http", Host: "store.example", Target: target, Authorization: authorization}
}

// problemOf returns the text of a *Problem, and fails the test on another error.
func problemOf(t testing.TB, err error) string {
	t.Helper()
	var p *Problem
	if err == nil {
		return ""
	}
	if !errors.As(err, &p) {
		t.Fatalf("error %v is no *Problem", err)
	}
	return strings.TrimPrefix(p.Error(), "oauth_problem=")
}
