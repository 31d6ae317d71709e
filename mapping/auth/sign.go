package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// A Signer signs requests as one client of another server. What it signs with does
// not show.
type Signer struct {
	consumerKey, consumerSecret, token, tokenSecret string
}

// NewSigner returns the signer of a consumer and a token.
func NewSigner(consumerKey, consumerSecret, token, tokenSecret string) *Signer {
	return &Signer{consumerKey, consumerSecret, token, tokenSecret}
}

// String tells nothing, so that no log does.
func (s *Signer) String() string { return "auth.Signer" }

// GoString is String, for those who ask for Go.
func (s *Signer) GoString() string { return s.String() }

// Signed reports whether an Authorization value is of the OAuth scheme: without one
// the caller is a Guest.
func Signed(authorization string) bool {
	_, ok := cutScheme(authorization)
	return ok
}

// Signer returns the signer of the consumer and the token that r names, nil for a
// Guest's. It verifies nothing: r must be one that [Authenticator.Authenticate] has
// accepted. Errors are those of Authenticate.
func (a *Authenticator) Signer(ctx context.Context, r *Request) (*Signer, error) {
	credentials, ok := cutScheme(r.Authorization)
	if !ok {
		return nil, nil //nolint:nilnil // as it is documented
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
	// The texts are as they were sent: no server minds the case of their letters.
	return NewSigner(c.oauth.text("oauth_consumer_key"), consumer.Secret, c.oauth.text("oauth_token"), token.Secret), nil
}

// Sign returns the Authorization value that signs r, which is the request as it is
// going to be sent: with HMAC-SHA1, a nonce of its own, and the host without its
// port, as servers behind one that hides the port expect it (wire 12). r.Authorization
// does not matter. An error is that of Request.Form, wrapped.
func (s *Signer) Sign(r *Request, now time.Time) (string, error) {
	return s.sign(r, now, rand.Text()) // of fewer than nonceLength characters
}

func (s *Signer) sign(r *Request, now time.Time, nonce string) (string, error) {
	c := &call{request: r}
	c.path, c.query = splitTarget(r.Target)
	if err := c.readForm(); err != nil {
		return "", err
	}
	c.oauth = parameters{
		{name: "oauth_consumer_key", value: s.consumerKey},
		{name: "oauth_token", value: s.token},
		{name: "oauth_signature_method", value: methodHMAC},
		{name: "oauth_timestamp", value: strconv.FormatInt(now.Unix(), 10)},
		{name: "oauth_nonce", value: nonce},
		{name: "oauth_version", value: "1.0"},
	}
	all := origins(r.Scheme, r.Host)
	bare := all[len(all)-1]
	base := appendBaseString(nil, strings.ToUpper(r.Method), bare, c.path, normalize(c.signed(onlyLast), onlyLast))
	mac := newMAC(s.consumerSecret, s.tokenSecret)
	mac.Write(base)
	signature := base64.StdEncoding.EncodeToString(mac.Sum(nil))

	value := []byte("OAuth ")
	for _, p := range append(c.oauth, parameter{name: "oauth_signature", value: signature}) {
		value = append(value, p.name+`="`...)
		value = append(appendEscaped(value, p.value), `", `...)
	}
	return string(value[:len(value)-len(", ")]), nil
}
