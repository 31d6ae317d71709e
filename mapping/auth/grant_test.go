package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
)

func newGranting(crash bool) (*Granting, *adaptertest.Store) {
	a, credentials, _ := newAuthenticator(Options{RSACrashes: crash})
	return NewGranting(a, credentials, crash), credentials
}

// statusOf returns the status and the text of a problem.
func statusOf(t *testing.T, err error) (int, string) {
	t.Helper()
	var p *Problem
	if err == nil {
		return http.StatusOK, ""
	}
	if !errors.As(err, &p) {
		t.Fatalf("%v is no problem", err)
	}
	return p.Status(), problemOf(t, err)
}

// programs returns the fields of a PLAINTEXT call by a program without a token.
func programs(pairs ...string) fields {
	return plaintext().without("token").with("signature", consumerSecret+"&").with(pairs...)
}

func TestInitiate(t *testing.T) {
	const initiate = "/oauth/initiate"
	hmac := func(signedURL, query string) fields {
		return nonced("n").without("token").with("callback", "oob").signedWith("POST", signedURL, query, "")
	}
	tests := []struct {
		name, authorization, target string
		status                      int
		want                        string
	}{
		{"oob", programs("callback", "oob").header(), initiate, 200, ""},
		{"URL", programs("callback", "http://client.example/cb?a=1").header(), initiate, 200, ""},
		{"no scheme, in the query", "", initiate + "?" + programs("callback", "oob").form(), 200, ""},
		{"another scheme, in the query", "Basic eDp5", initiate + "?" + programs("callback", "oob").form(), 200, ""},
		{"one source only", programs().header(), initiate + "?oauth_callback=oob", 400, "parameter_absent&oauth_parameters_absent=oauth_callback"},
		{"nothing", "", initiate, 400, "parameter_absent&oauth_parameters_absent=oauth_consumer_key"},
		{"bad target", programs("callback", "oob").header(), initiate + "?a=%zz", 500, "internal_error&message=Invalid URI supplied"},
		{"version", programs("version", "2").header(), initiate, 400, "version_rejected"},
		{"method", programs("signature_method", "X").header(), initiate, 400, "signature_method_rejected"},
		{"unknown program before the callback", programs("consumer_key", unknown).header(), initiate, 401, "consumer_key_rejected"},
		{"no callback", programs().header(), initiate, 400, "parameter_absent&oauth_parameters_absent=oauth_callback"},
		{"empty callback", programs("callback", "").header(), initiate, 400, "parameter_rejected&message=oauth_callback"},
		{"callback a list", "OAuth", initiate + "?" + programs().form() + "&oauth_callback[]=oob", 400, "parameter_rejected&message=oauth_callback"},
		{"OOB", programs("callback", "OOB").header(), initiate, 400, "parameter_rejected&message=oauth_callback"},
		{"callback before the signature", programs("callback", "foo", "signature", "x").header(), initiate, 400, "parameter_rejected&message=oauth_callback"},
		{"signature", programs("callback", "oob", "signature", consumerSecret).header(), initiate, 401, "signature_invalid"},
		{"signed with a token's secret", programs("callback", "oob", "signature", consumerSecret+"&"+adminSecret).header(), initiate, 401, "signature_invalid"},
		{"HMAC without the port", hmac("http://store.example/oauth/initiate/", "").header(), initiate + "/", 200, ""},
		{"HMAC with the port", hmac("http://store.example:8080/oauth/initiate", "").header(), initiate, 200, ""},
		{"HMAC and a query", hmac("http://store.example/oauth/initiate", "a=1").header(), initiate + "?a=1", 200, ""},
		{"HMAC without the slash that was sent", hmac("http://store.example/oauth/initiate", "").header(), initiate + "/", 401, "signature_invalid"},
		{"HMAC from too far ahead", hmac("http://store.example/oauth/initiate", "").with("timestamp", "1900000000").header(), initiate, 400, "timestamp_refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, grants := newGranting(false)
			r := get(tt.target, tt.authorization)
			r.Method, r.Host = "POST", "store.example:8080"
			token, err := g.Initiate(t.Context(), r)
			status, problem := statusOf(t, err)
			if status != tt.status || problem != tt.want {
				t.Errorf("%d %q, want %d %q", status, problem, tt.status, tt.want)
			}
			if made, ok := grants.Tokens[token.Token]; err == nil && (!ok || made.ConsumerID != 1 || made.Callback == "") {
				t.Errorf("%+v", made)
			}
			if err != nil && grants.Begun != 0 {
				t.Error("a token was made")
			}
		})
	}
}

// TestInitiateOnce: a nonce is used up by every endpoint.
func TestInitiateOnce(t *testing.T) {
	g, _ := newGranting(false)
	call := func() error {
		f := nonced("once").without("token").with("callback", "oob").signedWith("GET", "http://store.example/oauth/initiate", "", "")
		_, err := g.Initiate(t.Context(), get("/oauth/initiate", f.header()))
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	if status, problem := statusOf(t, call()); status != 401 || problem != "nonce_used" {
		t.Errorf("%d %s", status, problem)
	}
}

// TestRegisteredCallback: the registered callback replaces an out-of-band one.
func TestRegisteredCallback(t *testing.T) {
	for registered, want := range map[string]string{"https://a.example/": "https://a.example/", "javascript:x": "oob", "": "oob"} {
		g, grants := newGranting(false)
		grants.Client.Callback = registered
		for asked, want := range map[string]string{"oob": want, "http://own.example/": "http://own.example/"} {
			token, err := g.Initiate(t.Context(), get("/oauth/initiate", programs("callback", asked).header()))
			if err != nil || token.Callback != want {
				t.Errorf("%s registered, %s asked for: %q, %v; want %q", registered, asked, token.Callback, err, want)
			}
		}
	}
}

func TestToken(t *testing.T) {
	waiting := adapter.Token{Token: strings.Repeat("w", 32), Secret: "ws", Type: adapter.RequestToken, ConsumerID: 1}
	checkExchange := adapter.Token{Token: strings.Repeat("g", 32), Secret: "gs", Type: adapter.RequestToken, ConsumerID: 1, CustomerID: 12, Verifier: strings.Repeat("8", 32)}
	foreign, revoked, access := checkExchange, checkExchange, checkExchange
	foreign.Token, foreign.ConsumerID = strings.Repeat("h", 32), 2
	revoked.Token, revoked.Revoked = strings.Repeat("i", 32), true
	access.Token, access.Type = strings.Repeat("j", 32), adapter.AccessToken
	right := checkExchange.Verifier
	const rejected, wrong = "token_rejected", "verifier_invalid"
	with := func(t adapter.Token, pairs ...string) fields {
		return plaintext().with("token", t.Token, "verifier", right, "signature", consumerSecret+"&"+t.Secret).with(pairs...)
	}
	tests := []struct {
		name   string
		fields fields
		status int
		want   string
	}{
		{"granted", with(checkExchange), 200, ""},
		{"in capitals", with(checkExchange, "token", strings.ToUpper(checkExchange.Token)), 200, ""},
		{"no token", with(checkExchange).without("token"), 400, "parameter_absent&oauth_parameters_absent=oauth_token"},
		{"short token", with(checkExchange, "token", "ccccc"), 401, rejected},
		{"unknown token", with(checkExchange, "token", unknown), 401, rejected},
		{"token with a NUL", with(checkExchange, "token", unknown[1:]+"\x00"), 401, rejected},
		{"no verifier", with(checkExchange).without("verifier"), 400, "parameter_absent&oauth_parameters_absent=oauth_verifier"},
		{"no verifier, of an access token", with(access).without("verifier"), 400, "parameter_absent&oauth_parameters_absent=oauth_verifier"},
		{"empty verifier", with(checkExchange, "verifier", ""), 400, "parameter_absent&oauth_parameters_absent=oauth_verifier"},
		{"verifier 0", with(checkExchange, "verifier", "0"), 400, "parameter_absent&oauth_parameters_absent=oauth_verifier"},
		{"blank verifier", with(checkExchange, "verifier", " "), 401, wrong},
		{"short verifier", with(checkExchange, "verifier", "9"), 401, wrong},
		{"wrong verifier", with(checkExchange, "verifier", unknown), 401, wrong},
		{"wrong verifier of another's token", with(foreign, "verifier", unknown), 401, wrong},
		{"another's token", with(foreign), 401, rejected},
		{"access token", with(access), 401, "token_used"},
		{"revoked", with(revoked), 401, "token_revoked"},
		{"wrong signature", with(checkExchange, "signature", consumerSecret+"&"), 401, "signature_invalid"},
		{"nobody has consented", with(waiting), 401, wrong},
		{"nobody has consented, no verifier", with(waiting).without("verifier"), 400, "parameter_absent&oauth_parameters_absent=oauth_verifier"},
		{"nobody has consented, empty verifier", with(waiting, "verifier", ""), 400, "parameter_absent&oauth_parameters_absent=oauth_verifier"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, grants := newGranting(false)
			for _, token := range []adapter.Token{waiting, checkExchange, foreign, revoked, access} {
				grants.Tokens[token.Token] = token
			}
			token, err := g.Token(t.Context(), get("/oauth/token", tt.fields.header()))
			status, problem := statusOf(t, err)
			if status != tt.status || problem != tt.want {
				t.Errorf("%d %q, want %d %q", status, problem, tt.status, tt.want)
			}
			if err != nil {
				return
			}
			if _, err := g.auth.Authenticate(t.Context(), get("/", plaintext().with("token", token.Token, "signature", consumerSecret+"&"+token.Secret).header())); err != nil {
				t.Errorf("the new token is refused: %v", err)
			}
			for token, want := range map[adapter.Token]string{checkExchange: rejected, token: "token_used"} {
				if _, err := g.Token(t.Context(), get("/oauth/token", with(token).header())); problemOf(t, err) != want {
					t.Errorf("again: %v, want %s", err, want)
				}
			}
		})
	}
	t.Run("nobody has consented, as the original has it", func(t *testing.T) {
		g, grants := newGranting(true)
		grants.Tokens[waiting.Token] = waiting
		if _, err := g.Token(t.Context(), get("/oauth/token", with(waiting).header())); !errors.Is(err, ErrNotConsented) {
			t.Errorf("%v, want %v", err, ErrNotConsented)
		}
	})
}

// TestGrantingIsImmediate: cached tokens neither prevent the exchange of a token right after the
// user's consent, nor keep the previous token valid.
func TestGrantingIsImmediate(t *testing.T) {
	g, _ := newGranting(false)
	before := get("/", plaintext().header())
	if _, err := g.auth.Authenticate(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	request, err := g.Initiate(t.Context(), get("/oauth/initiate", programs("callback", "oob").header()))
	if err != nil {
		t.Fatal(err)
	}
	exchange := func(verifier string) error {
		f := plaintext().with("token", request.Token, "verifier", verifier, "signature", consumerSecret+"&"+request.Secret)
		_, err := g.Token(t.Context(), get("/oauth/token", f.header()))
		return err
	}
	if got := problemOf(t, exchange(unknown)); got != "verifier_invalid" {
		t.Error(got)
	}
	if _, _, err := g.Waiting(t.Context(), strings.ToUpper(request.Token)); err != nil {
		t.Errorf("it does not wait: %v", err)
	}
	checkExchange, err := g.Authorize(t.Context(), request.Token, 11, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.auth.Authenticate(t.Context(), before); problemOf(t, err) != "token_rejected" {
		t.Errorf("the token before is still good: %v", err)
	}
	if err := exchange(checkExchange.Verifier); err != nil {
		t.Error(err)
	}
}

func TestWaiting(t *testing.T) {
	g, grants := newGranting(false)
	checkExchange, err := g.Initiate(t.Context(), get("/oauth/initiate", programs("callback", "oob").header()))
	if err == nil {
		_, err = g.Authorize(t.Context(), checkExchange.Token, 11, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"none": "", "short": "x", "unknown": unknown, "access token": customerToken, "revoked": revokedRequest, "decided": checkExchange.Token, "odd": strings.Repeat("\xff", 32),
	} {
		if _, _, err := g.Waiting(t.Context(), token); problemOf(t, err) == "" {
			t.Errorf("%s: it waits", name)
		}
	}
	if _, err := g.Authorize(t.Context(), checkExchange.Token, 11, 0); problemOf(t, err) != "token_rejected" {
		t.Errorf("decided twice: %v", err)
	}
	if err := g.Reject(t.Context(), checkExchange.Token); problemOf(t, err) != "token_rejected" {
		t.Errorf("rejected after consent: %v", err)
	}
	second, err := g.Initiate(t.Context(), get("/oauth/initiate", programs("callback", "oob", "nonce", "second").header()))
	if err == nil {
		err = g.Reject(t.Context(), second.Token)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := g.Waiting(t.Context(), second.Token); problemOf(t, err) != "token_rejected" {
		t.Errorf("waits after it was rejected: %v", err)
	}
	grants.Fail = errors.New("down")
	var refused *Problem
	for name, call := range map[string]func() error{
		"waiting":   func() error { _, _, err := g.Waiting(t.Context(), requestToken); return err },
		"authorise": func() error { _, err := g.Authorize(t.Context(), requestToken, 1, 0); return err },
		"reject":    func() error { return g.Reject(t.Context(), requestToken) },
		"initiate": func() error {
			_, err := g.Initiate(t.Context(), get("/oauth/initiate", programs("callback", "oob").header()))
			return err
		},
		"token": func() error {
			_, err := g.Token(t.Context(), get("/oauth/token", plaintext().with("verifier", unknown).header()))
			return err
		},
	} {
		if err := call(); err == nil || errors.As(err, &refused) {
			t.Errorf("%s while the store is down: %v", name, err)
		}
	}
}
