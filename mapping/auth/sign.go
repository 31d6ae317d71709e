package auth

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// A Signer signs requests as one client of another server. Formatting it does not reveal its
// secrets.
type Signer struct{ credentials adapter.OAuthCredentials }

// NewSigner returns a signer with the credentials of a consumer and a token.
func NewSigner(consumerKey, consumerSecret, token, tokenSecret string) *Signer {
	return &Signer{adapter.OAuthCredentials{ConsumerKey: consumerKey, ConsumerSecret: consumerSecret, Token: token, TokenSecret: tokenSecret}}
}

// String returns a constant, so that logs never contain the secrets.
func (s *Signer) String() string { return "auth.Signer" }

// GoString returns the same as String, for the format verb %#v.
func (s *Signer) GoString() string { return s.String() }

// Signed reports whether an Authorization header has the OAuth scheme. Without it the caller
// is a Guest.
func Signed(authorization string) bool {
	_, ok := cutScheme(authorization)
	return ok
}

// Signer returns a signer with the consumer and the token named in r, or nil for a Guest. It
// verifies nothing: call it only for requests that [Authenticator.Authenticate] has accepted. It
// returns the same errors as Authenticate.
func (a *Authenticator) Signer(ctx context.Context, r *Request) (*Signer, error) {
	credentials, ok := cutScheme(r.Authorization)
	if !ok {
		return nil, nil //nolint:nilnil // documented
	}
	c, err := newCall(r, credentials)
	if err != nil {
		return nil, err
	}
	known := a.cache.Load()
	consumer, ok, err := known.consumers.get(ctx, c.oauth.text("oauth_consumer_key"))
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, problem("consumer_key_rejected")
	}
	token, err := a.token(ctx, c, consumer)
	if err != nil {
		return nil, err
	}
	// Keep the spelling of the request: servers ignore the letter case of keys and tokens.
	return NewSigner(c.oauth.text("oauth_consumer_key"), consumer.Secret, c.oauth.text("oauth_token"), token.Secret), nil
}

// Sign returns the Authorization header for r as it will be sent: an HMAC-SHA1 signature with a new
// nonce, computed as the original expects it (wire 12): for the host without its port, which a
// proxy in front of the server may hide, and with the parameters in natural order. It ignores
// r.Authorization. It wraps the error of Request.Form.
func (s *Signer) Sign(r *Request, now time.Time) (string, error) {
	return s.sign(r, now, rand.Text()) // shorter than nonceLength
}

func (s *Signer) sign(r *Request, now time.Time, nonce string) (string, error) {
	c := &call{request: r}
	c.path, c.query = splitTarget(r.Target)
	if err := c.readForm(); err != nil {
		return "", err
	}
	return s.credentials.Authorization(methodHMAC, now, nonce, func(signed []adapter.OAuthParameter) []byte {
		c.oauth = make(parameters, len(signed))
		for i, p := range signed {
			c.oauth[i] = parameter{name: p.Name, value: p.Value}
		}
		expected := rule{natural: true}
		all := origins(r.Scheme, r.Host)
		bare := all[len(all)-1]
		return appendBaseString(nil, strings.ToUpper(r.Method), bare, c.path, normalize(c.signed(expected), expected))
	}), nil
}
