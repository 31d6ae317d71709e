package reststore

import (
	"crypto/rand"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// oauth1 signs each request by OAuth 1.0a (RFC 5849), with the credentials of the settings rest.user and
// rest.secret.
type oauth1 struct {
	Method adapter.OAuthMethod `default:"HMAC-SHA256"`
	// Port: the base string has a port that is not the scheme's default, as RFC 5849 3.4.1.2 demands.
	Port bool `default:"true"`

	credentials adapter.OAuthCredentials
}

// setCredentials sets the credentials from the settings.
func (o *oauth1) setCredentials(l *loader, p place) {
	c, isUser, isSecret := &o.credentials, false, false
	c.ConsumerKey, c.Token, isUser = strings.Cut(l.options.User, ":")
	c.ConsumerSecret, c.TokenSecret, isSecret = strings.Cut(l.options.Secret, ":")
	l.Require(isUser && c.ConsumerKey != "" && c.Token != "", p, "needs the setting rest.user as CONSUMER_KEY:ACCESS_TOKEN")
	l.Require(isSecret && c.ConsumerSecret != "" && c.TokenSecret != "", p, "needs the setting rest.secret as CONSUMER_SECRET:TOKEN_SECRET")
}

// headers returns the header that authorizes one attempt to send a request. The signature covers the method, the
// address and the query. JSON and multipart bodies are never part of it.
func (o *oauth1) headers(m *preparedRequest) (map[string]string, error) {
	target, err := url.Parse(m.url)
	if err != nil {
		return nil, err
	}
	value := o.credentials.Authorization(o.Method, time.Now(), rand.Text(), func(parameters []adapter.OAuthParameter) []byte {
		return []byte(m.Method + "&" + adapter.PercentEncode(o.address(target)) + "&" + adapter.PercentEncode(normalized(parameters, m.query)))
	})
	return map[string]string{"Authorization": value}, nil
}

// address returns the base string URI of a URL, RFC 5849 3.4.1.2.
func (o *oauth1) address(target *url.URL) string {
	host := strings.ToLower(target.Host)
	isDefault := target.Port() == map[string]string{"http": "80", "https": "443"}[target.Scheme]
	if target.Port() != "" && (isDefault || !o.Port) {
		host = strings.TrimSuffix(host, ":"+target.Port())
	}
	return target.Scheme + "://" + host + target.EscapedPath()
}

// normalized returns the normalized parameters of a request, RFC 5849 3.4.1.3.2: all pairs are encoded, and sorted
// by name and then by value.
func normalized(oauth []adapter.OAuthParameter, query url.Values) string {
	var pairs [][]string
	for _, p := range oauth {
		pairs = append(pairs, []string{p.Name, adapter.PercentEncode(p.Value)})
	}
	for name, values := range query {
		for _, v := range values {
			pairs = append(pairs, []string{adapter.PercentEncode(name), adapter.PercentEncode(v)})
		}
	}
	slices.SortFunc(pairs, slices.Compare)
	texts := make([]string, len(pairs))
	for i, pair := range pairs {
		texts[i] = strings.Join(pair, "=")
	}
	return strings.Join(texts, "&")
}
