package reststore

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	dghubble "github.com/dghubble/oauth1"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// A fixedNonce is a source of one nonce.
type fixedNonce string

func (n fixedNonce) Nonce() string { return string(n) }

// independentSignature returns the signature of a request with the same time, nonce, key and token by another
// implementation. It signs for the given host.
func independentSignature(t *testing.T, sent *http.Request, host string, given map[string]string) (signature string) {
	t.Helper()
	config := dghubble.Config{ConsumerKey: "the+key", ConsumerSecret: "s e&cret", Noncer: fixedNonce(given["oauth_nonce"])}
	if given["oauth_signature_method"] == "HMAC-SHA256" {
		config.Signer = &dghubble.HMAC256Signer{ConsumerSecret: config.ConsumerSecret}
	}
	again := &http.Request{Method: sent.Method, URL: new(*sent.URL), Header: http.Header{}}
	again.URL.Host = host
	base := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		signature = oauthParameters(t, r)["oauth_signature"]
		return httpResponse(200, ""), nil
	})}
	client := config.Client(context.WithValue(t.Context(), dghubble.HTTPClient, base), dghubble.NewToken("token/1", "tökensecret"))
	if _, err := client.Do(again); err != nil {
		t.Fatal(err)
	}
	return signature
}

// oauthParameters returns the parameters of the header Authorization of a request.
func oauthParameters(t *testing.T, r *http.Request) map[string]string {
	t.Helper()
	all := map[string]string{}
	list, isOAuth := strings.CutPrefix(r.Header.Get("Authorization"), "OAuth ")
	for pair := range strings.SplitSeq(list, ", ") {
		name, value, _ := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.Trim(value, `"`))
		if err != nil || !isOAuth {
			t.Errorf("header %q", r.Header.Get("Authorization"))
		}
		all[name] = decoded
	}
	return all
}

// TestOAuth1 compares the signatures of requests with the signatures of another implementation at the same
// time: the clock of the test stands still.
func TestOAuth1(t *testing.T) {
	for _, c := range []struct{ name, auth, base, host, method string }{
		{"defaults", "{}", "http://shop.example/rest", "shop.example", "HMAC-SHA256"},
		{"SHA1", "{method: HMAC-SHA1}", "https://shop.example", "shop.example", "HMAC-SHA1"},
		{"a port", "{}", "http://Shop.Example:8080/rest", "shop.example:8080", "HMAC-SHA256"},
		{"a port that is left out", "{port: false}", "http://shop.example:8080/rest", "shop.example", "HMAC-SHA256"},
		{"a default port", "{}", "https://shop.example:443", "shop.example", "HMAC-SHA256"},
		{"a default port of the other scheme", "{port: false}", "https://shop.example:80", "shop.example", "HMAC-SHA256"},
		{"an address with a port that is left out", "{port: false}", "http://[::1]:8080", "[::1]", "HMAC-SHA256"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := strings.Replace(writingMapping, "name: writing\n", "name: writing\nconnection:\n  retry: {budget: 1}\n  auth: {oauth1: "+c.auth+"}\n", 1)
				m = strings.Replace(m, `fetch: {path: '/p/{$id}', item: .}`, `fetch: {path: '/p/{$id}', query: {"search[page size]": '"é +&=~*"', a: '"1"'}, item: .}`, 1)
				b, err := Open(Options{Mapping: []byte(m), File: "test.yaml", URL: c.base, User: "the+key:token/1", Secret: "s e&cret:tökensecret", IDs: groups})
				if err != nil {
					t.Fatal(err)
				}
				count, nonces := 0, map[string]bool{}
				b.client.resty.SetTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
					given := oauthParameters(t, r)
					count, nonces[given["oauth_nonce"]] = count+1, true
					if want := independentSignature(t, r, c.host, given); given["oauth_signature"] != want || given["oauth_signature_method"] != c.method {
						t.Errorf("%s %s: %v, want the signature %q by %s", r.Method, r.URL, given, want, c.method)
					}
					if count == 1 {
						return httpResponse(503, ""), nil
					}
					return httpResponse(200, `{"id": "a/b +c", "url": "u"}`), nil
				}))
				_, err = b.Fetch(t.Context(), adapter.Products, []string{"a/b +c"})
				image := attrs{"content": "\x89PNG"}.Record(schemas.Of(adapter.ProductImages))
				if _, imageErr := b.Create(t.Context(), &replica.Write{Resource: adapter.ProductImages, RootID: "1", New: image}); imageErr != nil || err != nil {
					t.Error(err, imageErr)
				}
				if count != 4 || len(nonces) != 4 { // a retry, a form with a file, and JSON
					t.Errorf("%d requests with %d nonces", count, len(nonces))
				}
			})
		})
	}
}

// TestOAuth1Parameters normalizes the parameters of the example in RFC 5849 3.4.1.3.2.
func TestOAuth1Parameters(t *testing.T) {
	oauth := []adapter.OAuthParameter{{Name: "oauth_consumer_key", Value: "9djdj82h48djs9d2"}, {Name: "oauth_token", Value: "kkk9d7dh3k39sjv7"},
		{Name: "oauth_signature_method", Value: "HMAC-SHA1"}, {Name: "oauth_timestamp", Value: "137131201"}, {Name: "oauth_nonce", Value: "7d8f3e4a"}}
	query := url.Values{"b5": {"=%3D"}, "a3": {"a", "2 q"}, "c@": {""}, "a2": {"r b"}, "c2": {""}}
	want := "a2=r%20b&a3=2%20q&a3=a&b5=%3D%253D&c%40=&c2=&oauth_consumer_key=9djdj82h48djs9d2&oauth_nonce=7d8f3e4a&oauth_signature_method=HMAC-SHA1&oauth_timestamp=137131201&oauth_token=kkk9d7dh3k39sjv7"
	if got := normalized(oauth, query); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func TestOAuth1Settings(t *testing.T) {
	for _, c := range []struct{ auth, user, secret, want string }{
		{"{}", "key", "a:b", "connection.auth.oauth1 needs the setting rest.user as CONSUMER_KEY:ACCESS_TOKEN"},
		{"{}", "key:", "a:b", "CONSUMER_KEY:ACCESS_TOKEN"},
		{"{}", "key:token", "", "needs the setting rest.secret as CONSUMER_SECRET:TOKEN_SECRET"},
		{"{}", "key:token", ":hush", "CONSUMER_SECRET:TOKEN_SECRET"},
		{"{method: PLAINTEXT}", "key:token", "a:b", "oauth1.method must be HMAC-SHA1 or HMAC-SHA256"},
		{"{}, bearer: x", "key:token", "a:b", "must have oauth1 alone or together with login"},
	} {
		o := Options{Mapping: []byte(tinyMappingWith("  auth: {oauth1: " + c.auth + "}")), URL: "http://tiny.example", User: c.user, Secret: c.secret}
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	for _, remark := range Check(Options{Mapping: []byte(tinyMappingWith("  auth: {oauth1: {}}"))}) { // without the settings
		if remark.Level == Fault {
			t.Error(remark)
		}
	}
}

// TestLoginOrOAuth1 opens a mapping with both ways to authenticate.
func TestLoginOrOAuth1(t *testing.T) {
	const both = `
  auth:
    login: {request: {path: /login, body: '{user: $user}'}, token: .token}
    oauth1: {port: false}`
	for user, want := range map[string]string{"admin": "login", "key:token": "oauth1"} {
		b, err := Open(Options{Mapping: []byte(tinyMappingWith(both[1:])), URL: "http://shop.invalid", User: user, Secret: "s:t", IDs: memoryIDs{}})
		if err != nil {
			t.Fatal(err)
		}
		a := b.mapping.Connection.Auth
		if got := map[bool]string{a.Login != nil: "login", a.OAuth1 != nil: "oauth1"}[true]; got != want || (a.Login != nil) == (a.OAuth1 != nil) {
			t.Errorf("as %s: %s, want %s", user, got, want)
		}
	}
	_, err := Open(Options{Mapping: []byte(tinyMappingWith(both[1:])), URL: "http://shop.invalid", User: "key:token", Secret: "s", IDs: memoryIDs{}})
	if err == nil || !strings.Contains(err.Error(), "rest.secret as CONSUMER_SECRET:TOKEN_SECRET") {
		t.Errorf("a secret without a colon: %v", err)
	}
}
