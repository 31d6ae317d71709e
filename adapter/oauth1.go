package adapter

import (
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- a method of OAuth 1.0a, and sound inside an HMAC
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// An OAuthMethod is a signature method of OAuth 1.0a, by its name in requests.
type OAuthMethod string

// The signature methods of clients.
const (
	HMACSHA1   OAuthMethod = "HMAC-SHA1"
	HMACSHA256 OAuthMethod = "HMAC-SHA256"
)

// UnmarshalText sets m to the method with this name.
func (m *OAuthMethod) UnmarshalText(name []byte) error {
	switch *m = OAuthMethod(name); *m {
	case HMACSHA1, HMACSHA256:
		return nil
	}
	return fmt.Errorf("must be %s or %s", HMACSHA1, HMACSHA256)
}

// OAuthCredentials are the credentials of a consumer and a token, with which a client signs requests to another
// server by OAuth 1.0a (RFC 5849). Formatting them does not reveal the secrets.
type OAuthCredentials struct {
	ConsumerKey, ConsumerSecret string
	Token, TokenSecret          string
}

// String returns a constant, so that logs never contain the secrets.
func (OAuthCredentials) String() string { return "OAuth credentials" }

// GoString returns the same as String, for the format verb %#v.
func (c OAuthCredentials) GoString() string { return c.String() }

// An OAuthParameter is a parameter of the header Authorization, decoded.
type OAuthParameter struct{ Name, Value string }

// Authorization returns the header Authorization of a request that is sent now. The nonce must be a new one.
// baseString returns the signature base string of the request, RFC 5849 3.4.1, whose parameters include the
// given ones.
func (c OAuthCredentials) Authorization(method OAuthMethod, now time.Time, nonce string, baseString func([]OAuthParameter) []byte) string {
	parameters := []OAuthParameter{
		{"oauth_consumer_key", c.ConsumerKey},
		{"oauth_token", c.Token},
		{"oauth_signature_method", string(method)},
		{"oauth_timestamp", strconv.FormatInt(now.Unix(), 10)},
		{"oauth_nonce", nonce},
		{"oauth_version", "1.0"},
	}
	newHash := map[OAuthMethod]func() hash.Hash{HMACSHA1: sha1.New, HMACSHA256: sha256.New}[method]
	mac := hmac.New(newHash, []byte(PercentEncode(c.ConsumerSecret)+"&"+PercentEncode(c.TokenSecret)))
	mac.Write(baseString(parameters))
	parameters = append(parameters, OAuthParameter{"oauth_signature", base64.StdEncoding.EncodeToString(mac.Sum(nil))})
	pairs := make([]string, len(parameters))
	for i, p := range parameters {
		pairs[i] = p.Name + `="` + PercentEncode(p.Value) + `"`
	}
	return "OAuth " + strings.Join(pairs, ", ")
}

// PercentEncode returns text with all bytes but the unreserved characters of RFC 3986 percent-encoded.
func PercentEncode(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
