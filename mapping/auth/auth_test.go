package auth

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/mapping/contract"
)

func TestRecorded(t *testing.T) {
	data, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name  string
		Steps []struct {
			Method, URL, Authorization, Body, Problem, Role string
			ContentType                                     string `json:"content_type"`
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			a, _, _ := newAuthenticator(Options{})
			for i, s := range c.Steps {
				r := get(s.URL, s.Authorization)
				r.Method, r.ContentType = s.Method, s.ContentType
				r.Form = func() ([]byte, error) { return []byte(s.Body), nil }
				p, err := a.Authenticate(t.Context(), r)
				if got := problemOf(t, err); got != strings.TrimPrefix(s.Problem, "oauth_problem=") {
					t.Errorf("step %d: problem %q, want %q", i+1, got, s.Problem)
				}
				if err == nil && p.Role.String() != s.Role {
					t.Errorf("step %d: role %s, want %s", i+1, p.Role, s.Role)
				}
			}
		})
	}
}

const customerTarget = "/api/rest/customers/1?attrs=email"

func TestChecks(t *testing.T) {
	plain := func(pairs ...string) string { return plaintext().with(pairs...).header() }
	hmac := func(pairs ...string) string { return nonced("fresh").with(pairs...).header() }
	form := func(extra string) string { return customerTarget + "&" + plaintext().form() + extra }
	const long = "0123456789abcdef0123456789abcdef" // 32 characters
	tests := []struct {
		name, target, authorization, want string
	}{
		{"0 brackets and at are fine", "/api/rest/x?filter[1][eq]=a@b.c&a=%5B", plain(), ""},
		{"0 bad escape in the query", "/api/rest/x?a=%zz", plain(), "internal_error&message=Invalid URI supplied"},
		{"0 cut escape in the path", "/api/rest/x%4", plain(), "internal_error&message=Invalid URI supplied"},
		{"0 quote in an absolute form", "http://store.example/api/rest/x?a=\"", plain(), "internal_error&message=Invalid URI supplied"},
		{"1 version absent", "", plaintext().without("version").header(), ""},
		{"1 version 1", "", plain("version", "1"), ""},
		{"1 version 1.00", "", plain("version", "1.00"), ""},
		{"1 version 1.1", "", plain("version", "1.1"), "version_rejected"},
		{"1 version empty", "", plain("version", ""), "version_rejected"},
		{"1 version hexadecimal", "", plain("version", "0x1p0"), "version_rejected"},
		{"1 version a list", form("&oauth_version[]=1"), "OAuth", "version_rejected"},
		{"2 key absent", "", plaintext().without("consumer_key").header(), "parameter_absent&oauth_parameters_absent=oauth_consumer_key"},
		{"2 key empty", "", plain("consumer_key", ""), "parameter_absent&oauth_parameters_absent=oauth_consumer_key"},
		{"2 key zero", "", plain("consumer_key", "0"), "parameter_absent&oauth_parameters_absent=oauth_consumer_key"},
		{"2 method absent", "", plaintext().without("signature_method").header(), "parameter_absent&oauth_parameters_absent=oauth_signature_method"},
		{"2 signature zero", "", plain("signature", "0"), "parameter_absent&oauth_parameters_absent=oauth_signature"},
		{"2 nothing at all", "", "OAuth", "parameter_absent&oauth_parameters_absent=oauth_consumer_key"},
		{"3 list", form("&oauth_other[]=1"), "OAuth", "parameter_rejected&message=oauth_other"},
		{"3 list with index", form("&oauth_token[x]=1"), "OAuth", "parameter_rejected&message=oauth_token"},
		{"3 first list of two", form("&oauth_p[]=1&oauth_o[]=1"), "OAuth", "parameter_rejected&message=oauth_p"},
		{"3 list overwritten by text", form("&oauth_p[]=1&oauth_p=1"), "OAuth", ""},
		{"3 name of a list in bad UTF-8", form("&oauth_p%ff[]=1"), "OAuth", "parameter_rejected&message=oauth_p\uFFFD"},
		{"3 no list in a header", "", plain("other[]", "1"), ""},
		{"4 key of 31", "", plain("consumer_key", consumerKey[1:]), "consumer_key_rejected"},
		{"4 key of 33", "", plain("consumer_key", consumerKey+"a"), "consumer_key_rejected"},
		{"5 lower case", "", plain("signature_method", "plaintext"), "signature_method_rejected"},
		{"5 HMAC-SHA256", "", hmac("signature_method", "HMAC-SHA256"), "signature_method_rejected"},
		{"6 nonce absent", "", nonced("").without("nonce").header(), "parameter_absent&oauth_parameters_absent=oauth_nonce"},
		{"6 nonce zero", "", nonced("0").header(), "parameter_absent&oauth_parameters_absent=oauth_nonce"},
		{"6 timestamp absent", "", nonced("n").without("timestamp").header(), "parameter_absent&oauth_parameters_absent=oauth_timestamp"},
		{"6 timestamp zero", "", hmac("timestamp", "0"), "parameter_absent&oauth_parameters_absent=oauth_timestamp"},
		{"7 timestamp 600 s ahead", "", hmac("timestamp", "1800000600"), "signature_invalid"},
		{"7 timestamp 601 s ahead", "", hmac("timestamp", "1800000601"), "timestamp_refused"},
		{"7 timestamp with a tail", "", hmac("timestamp", "5x"), "signature_invalid"},
		{"7 timestamp negative", "", hmac("timestamp", "-5"), "timestamp_refused"},
		{"7 timestamp two zeros", "", hmac("timestamp", "00"), "timestamp_refused"},
		{"7 timestamp without digits", "", hmac("timestamp", "x5"), "timestamp_refused"},
		{"7 timestamp beyond 64 bits", "", hmac("timestamp", strings.Repeat("9", 40)), "timestamp_refused"},
		{"7 PLAINTEXT has no timestamp", "", plain("timestamp", "x"), ""},
		{"8 used with the same timestamp", "", nonced("used").with("timestamp", "7").header(), "nonce_used"},
		{"8b used with another timestamp", "", nonced("used").with("timestamp", "8").header(), "nonce_used"},
		{"8b first 32 characters used", "", nonced(long + "tail").header(), "nonce_used"},
		{"8b first 31 characters used", "", nonced(long[:31] + "tail").header(), "signature_invalid"},
		{"8 PLAINTEXT has no nonce", "", plain("nonce", "used"), ""},
		{"9 unknown key", "", plain("consumer_key", unknown), "consumer_key_rejected"},
		{"9 key in capitals", "", plain("consumer_key", strings.ToUpper(consumerKey)), ""},
		{"9 key with a NUL", "", plain("consumer_key", consumerKey[:31]+"\x00"), "consumer_key_rejected"},
		{"9 key in bad UTF-8", "", plain("consumer_key", consumerKey[:31]+"\xff"), "consumer_key_rejected"},
		{"10 token absent", "", plaintext().without("token").header(), "parameter_absent&oauth_parameters_absent=oauth_token"},
		{"10 token zero", "", plain("token", "0"), "parameter_absent&oauth_parameters_absent=oauth_token"},
		{"11 token of 33", "", plain("token", adminToken+"c"), "token_rejected"},
		{"11 token unknown", "", plain("token", unknown), "token_rejected"},
		{"11 request token", "", plain("token", requestToken), "token_rejected"},
		{"11 token in capitals", "", plain("token", strings.ToUpper(adminToken)), ""},
		{"12 revoked", "", plain("token", revokedToken), "token_revoked"},
		{"13 of another consumer", "", plain("token", foreignToken), "token_rejected"},
		{"14 wrong secret", "", plain("signature", consumerSecret+"&"+customerSecret), "signature_invalid"},
		{"14 secrets in capitals", "", plain("signature", strings.ToUpper(consumerSecret+"&"+adminSecret)), "signature_invalid"},
		{"14 HMAC with a PLAINTEXT signature", "", hmac("signature", consumerSecret+"&"+adminSecret), "signature_invalid"},
		{"14 RSA-SHA1", "", hmac("signature_method", "RSA-SHA1"), "signature_method_rejected"},
		{"15 token of nobody", "", plain("token", nobodysToken), "internal_error&message=User type is unknown"},

		// Two faults: the earlier check answers.
		{"0 before 1", "/api/rest/x?a=^", plain("version", "2"), "internal_error&message=Invalid URI supplied"},
		{"1 before 2", "", plaintext().with("version", "2").without("consumer_key").header(), "version_rejected"},
		{"2 key before method", "", plaintext().without("consumer_key", "signature_method", "signature").header(), "parameter_absent&oauth_parameters_absent=oauth_consumer_key"},
		{"2 method before signature", "", plaintext().without("signature_method", "signature").header(), "parameter_absent&oauth_parameters_absent=oauth_signature_method"},
		{"2 before 3", "/?oauth_other[]=1", "OAuth", "parameter_absent&oauth_parameters_absent=oauth_consumer_key"},
		{"3 before 4", form("&oauth_consumer_key[]=1"), "OAuth", "parameter_rejected&message=oauth_consumer_key"},
		{"4 before 5", "", plain("consumer_key", "a", "signature_method", "x"), "consumer_key_rejected"},
		{"5 before 6", "", nonced("").with("signature_method", "x").without("nonce").header(), "signature_method_rejected"},
		{"6 nonce before timestamp", "", nonced("").without("nonce", "timestamp").header(), "parameter_absent&oauth_parameters_absent=oauth_nonce"},
		{"6 before 7", "", nonced("").with("timestamp", "-1").header(), "parameter_absent&oauth_parameters_absent=oauth_nonce"},
		{"7 before 8", "", nonced("used").with("timestamp", "-1").header(), "timestamp_refused"},
		{"8 before 9", "", nonced("used").with("consumer_key", unknown).header(), "nonce_used"},
		{"9 before 10", "", plaintext().with("consumer_key", unknown).without("token").header(), "consumer_key_rejected"},
		{"10 before 14", "", plaintext().with("signature", "x").without("token").header(), "parameter_absent&oauth_parameters_absent=oauth_token"},
		{"11 before 12", "", plain("token", revokedRequest), "token_rejected"},
		{"12 before 13", "", plain("token", revokedForeign), "token_revoked"},
		{"13 before 14", "", plain("token", foreignToken, "signature", "x"), "token_rejected"},
		{"13 before RSA-SHA1", "", hmac("signature_method", "RSA-SHA1", "token", foreignToken), "token_rejected"},
		{"14 before 15", "", plain("token", nobodysToken, "signature", "x"), "signature_invalid"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, _, nonces := newAuthenticator(Options{})
			nonces.stored = map[string]int64{"used": 7, long: 7}
			if test.target == "" {
				test.target = customerTarget
			}
			_, err := a.Authenticate(t.Context(), get(test.target, test.authorization))
			if got := problemOf(t, err); got != test.want {
				t.Errorf("problem %q, want %q", got, test.want)
			}
		})
	}
}

func TestRSACrashes(t *testing.T) {
	a, _, nonces := newAuthenticator(Options{RSACrashes: true})
	rsa := func(nonce string) fields { return nonced(nonce).with("signature_method", "RSA-SHA1") }
	if _, err := a.Authenticate(t.Context(), get("/", rsa("1").header())); !errors.Is(err, ErrUnverifiable) {
		t.Errorf("error %v, want ErrUnverifiable", err)
	}
	if len(nonces.stored) != 0 {
		t.Error("a signature that cannot be verified used its nonce up")
	}
	_, err := a.Authenticate(t.Context(), get("/", rsa("2").with("token", unknown).header()))
	if got := problemOf(t, err); got != "token_rejected" {
		t.Errorf("unknown token: problem %q", got)
	}
}

// TestRefusePlaintext: the method is rejected in every position like an unknown one, before any
// store is asked; other methods are not affected.
func TestRefusePlaintext(t *testing.T) {
	const (
		urlencoded = "application/x-www-form-urlencoded"
		address    = "http://127.0.0.1:8080/api/rest/customers/1"
	)
	wrong := plaintext().with("signature", "x")
	hmac := nonced("n").signed("GET", address, "")
	tests := []struct {
		name, query, authorization, body string
		want                             string
	}{
		{"header", "", plaintext().header(), "", "signature_method_rejected"},
		{"query", plaintext().form(), "OAuth", "", "signature_method_rejected"},
		{"body", "", "OAuth", plaintext().form(), "signature_method_rejected"},
		{"wrong secrets", "", wrong.header(), "", "signature_method_rejected"},
		{"wrong secrets in the query", wrong.form(), "OAuth", "", "signature_method_rejected"},
		{"unknown consumer", "", plaintext().with("consumer_key", unknown).header(), "", "signature_method_rejected"},
		{"4 before 5", "", plaintext().with("consumer_key", "a").header(), "", "consumer_key_rejected"},
		{"query of a guest", plaintext().form(), "", "", ""},
		{"HMAC-SHA1", "", hmac.header(), "", ""},
		{"HMAC-SHA1 in the query", hmac.form(), "OAuth", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, credentials, _ := newAuthenticator(Options{RefusePlaintext: true})
			target := "/api/rest/customers/1"
			if test.query != "" {
				target += "?" + test.query
			}
			r := get(target, test.authorization)
			r.Host, r.ContentType = "127.0.0.1:8080", urlencoded
			r.Form = func() ([]byte, error) { return []byte(test.body), nil }
			_, err := a.Authenticate(t.Context(), r)
			if got := problemOf(t, err); got != test.want {
				t.Errorf("problem %q, want %q", got, test.want)
			}
			if test.want != "" && len(credentials.Asked) > 0 {
				t.Errorf("the store was asked for %v", credentials.Asked)
			}
		})
	}
}

func TestPrincipal(t *testing.T) {
	tests := []struct {
		name, authorization string
		want                Principal
	}{
		{"administrator", plaintext().header(), Principal{Role: contract.Admin, AdminID: 11, ConsumerID: 1}},
		{"customer", plaintext().with("token", customerToken, "signature", consumerSecret+"&"+customerSecret).header(),
			Principal{Role: contract.Customer, CustomerID: 12, ConsumerID: 1}},
		{"administrator before customer", plaintext().with("token", bothsToken).header(), Principal{Role: contract.Admin, AdminID: 11, ConsumerID: 1}},
		{"no header", "", Principal{}},
		{"Basic", "Basic YTpi", Principal{}},
		{"OAut", "OAut", Principal{}},
		{"sixth character unseen", "oAuTh" + "%" + strings.TrimPrefix(plaintext().header(), "OAuth "), Principal{Role: contract.Admin, AdminID: 11, ConsumerID: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, _, _ := newAuthenticator(Options{})
			got, err := a.Authenticate(t.Context(), get(customerTarget, test.authorization))
			if err != nil || got != test.want {
				t.Errorf("%+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestParameterSources(t *testing.T) {
	const urlencoded = "application/x-www-form-urlencoded"
	good, bad := plaintext().form(), plaintext().with("token", unknown).form()
	tests := []struct {
		name, authorization, contentType, body, query string
		want                                          string
		reads                                         int
	}{
		{"query without header is a guest", "", "", "", bad, "", 0},
		{"query", "OAuth", "", "", good, "", 0},
		{"query, a plus is a space", "OAuth", "", "", good + "&oauth_version=1+", "", 0},
		{"body", "OAuth", urlencoded, good, "", "", 1},
		{"body with charset", "OAuth", urlencoded + "; charset=utf-8", good, "", "", 1},
		{"body before query", "OAuth", urlencoded, good, bad, "", 1},
		{"body without OAuth, then query", "OAuth", urlencoded, "a=1", good, "", 1},
		{"body of another type", "OAuth", "text/plain", bad, good, "", 0},
		{"header before both", plaintext().header(), urlencoded, bad, bad, "", 0},
		{"header without OAuth, then query", "OAuth x=1, realm=\"r\"", "", "", good, "", 0},
		{"one header parameter shuts out the rest", "OAuth oauth_foo=1", "", "", good, "parameter_absent&oauth_parameters_absent=oauth_consumer_key", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, _, _ := newAuthenticator(Options{})
			r := get("/api/rest/customers?"+test.query, test.authorization)
			reads := 0
			r.ContentType = test.contentType
			r.Form = func() ([]byte, error) { reads++; return []byte(test.body), nil }
			_, err := a.Authenticate(t.Context(), r)
			if got := problemOf(t, err); got != test.want {
				t.Errorf("problem %q, want %q", got, test.want)
			}
			if reads != test.reads {
				t.Errorf("body read %d times, want %d", reads, test.reads)
			}
		})
	}
	t.Run("no body at all", func(t *testing.T) {
		a, _, _ := newAuthenticator(Options{})
		r := get("/api/rest/customers?"+good, "OAuth")
		r.ContentType = urlencoded
		if _, err := a.Authenticate(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
	t.Run("body fails", func(t *testing.T) {
		a, _, _ := newAuthenticator(Options{})
		r, broken := get("/", "OAuth"), errors.New("too large")
		r.ContentType = urlencoded
		r.Form = func() ([]byte, error) { return nil, broken }
		if _, err := a.Authenticate(t.Context(), r); !errors.Is(err, broken) {
			t.Errorf("error %v, want %v", err, broken)
		}
	})
}

func TestNonces(t *testing.T) {
	authenticate := func(a *Authenticator, f fields) string {
		_, err := a.Authenticate(t.Context(), get("/", f.header()))
		return problemOf(t, err)
	}
	t.Run("an unknown consumer stores nothing", func(t *testing.T) {
		a, _, nonces := newAuthenticator(Options{})
		for range 3 {
			if got := authenticate(a, nonced("n").with("consumer_key", unknown)); got != "consumer_key_rejected" {
				t.Errorf("problem %q", got)
			}
		}
		if len(nonces.stored) != 0 || nonces.asked != 3 {
			t.Errorf("%d nonces stored, %d asked for", len(nonces.stored), nonces.asked)
		}
	})
	const address = "http://store.example/"
	t.Run("a bad signature stores nothing", func(t *testing.T) {
		a, _, nonces := newAuthenticator(Options{})
		for i := range 3 {
			if got := authenticate(a, nonced("n"+strconv.Itoa(i))); got != "signature_invalid" {
				t.Errorf("problem %q", got)
			}
		}
		if len(nonces.stored) != 0 {
			t.Errorf("stored %v", nonces.stored)
		}
	})
	t.Run("a bad signature uses it up for its sender alone", func(t *testing.T) {
		now := time.Unix(serverTime, 0)
		a, _, nonces := newAuthenticator(Options{Now: func() time.Time { return now }})
		valid := nonced("n").signed("GET", address, "").header()
		for i, tt := range []struct{ client, authorization, want string }{
			{"192.0.2.1", nonced("n").header(), "signature_invalid"},
			{"192.0.2.1", nonced("n").header(), "nonce_used"},
			{"192.0.2.1", nonced("n").with("token", customerToken).header(), "signature_invalid"},
			{"192.0.2.2", nonced("n").header(), "signature_invalid"},
			{"192.0.2.1", valid, "nonce_used"},
			{"192.0.2.3", valid, ""},
			{"192.0.2.3", valid, "nonce_used"},
			{"192.0.2.4", nonced("n").header(), "nonce_used"},
			{"192.0.2.4", nonced("n").with("token", unknown).header(), "nonce_used"},
		} {
			r := get("/", tt.authorization)
			r.Client = tt.client
			if _, err := a.Authenticate(t.Context(), r); problemOf(t, err) != tt.want {
				t.Errorf("call %d: %v, want %s", i+1, err, tt.want)
			}
		}
		if nonces.stored["n"] != 1330000000 || len(nonces.stored) != 1 {
			t.Errorf("stored %v", nonces.stored)
		}
	})
	t.Run("a bad signature is forgotten", func(t *testing.T) {
		for name, forget := range map[string]func(*Authenticator, *time.Time){
			"in time":  func(_ *Authenticator, now *time.Time) { *now = now.Add(failedNonceLife) },
			"by Purge": func(a *Authenticator, _ *time.Time) { a.Purge() },
		} {
			now := time.Unix(serverTime, 0)
			a, _, _ := newAuthenticator(Options{Now: func() time.Time { return now }})
			if got := authenticate(a, nonced("n")); got != "signature_invalid" {
				t.Errorf("%s: problem %q", name, got)
			}
			forget(a, &now)
			if got := authenticate(a, nonced("n").signed("GET", address, "")); got != "" {
				t.Errorf("%s: problem %q", name, got)
			}
		}
	})
	t.Run("a bad signature is not forgotten with the credentials", func(t *testing.T) {
		a, _, _ := newAuthenticator(Options{})
		for _, want := range []string{"signature_invalid", "nonce_used"} {
			if got := authenticate(a, nonced("n")); got != want {
				t.Errorf("problem %q, want %s", got, want)
			}
			a.PurgeCredentials()
		}
	})
	t.Run("a token that is refused does not", func(t *testing.T) {
		for _, token := range []string{unknown, revokedToken, foreignToken, requestToken} {
			a, _, nonces := newAuthenticator(Options{})
			if got := authenticate(a, nonced("n").with("token", token)); got == "" || len(nonces.stored) != 0 {
				t.Errorf("problem %q, stored %v", got, nonces.stored)
			}
			if got := authenticate(a, nonced("n").signed("GET", address, "")); got != "" {
				t.Errorf("its owner: problem %q", got)
			}
		}
	})
	t.Run("a token of nobody does", func(t *testing.T) {
		a, credentials, nonces := newAuthenticator(Options{})
		signed := nonced("n").with("token", nobodysToken).signedWith("GET", address, "", credentials.Tokens[nobodysToken].Secret)
		if got := authenticate(a, signed); got != "internal_error&message=User type is unknown" || len(nonces.stored) != 1 {
			t.Errorf("problem %q, stored %v", got, nonces.stored)
		}
		if got := authenticate(a, signed); got != "nonce_used" {
			t.Errorf("again: problem %q", got)
		}
	})
	t.Run("a refused timestamp does not", func(t *testing.T) {
		a, _, nonces := newAuthenticator(Options{})
		if got := authenticate(a, nonced("n").with("timestamp", "-1")); got != "timestamp_refused" || len(nonces.stored) != 0 {
			t.Errorf("problem %q, stored %v", got, nonces.stored)
		}
	})
	t.Run("cut to 32 characters", func(t *testing.T) {
		a, _, nonces := newAuthenticator(Options{})
		if got := authenticate(a, nonced(strings.Repeat("é", 40)).signed("GET", address, "")); got != "" {
			t.Errorf("problem %q", got)
		}
		if _, ok := nonces.stored[strings.Repeat("é", 32)]; !ok {
			t.Errorf("stored %v", nonces.stored)
		}
	})
	t.Run("made storable", func(t *testing.T) {
		a, _, nonces := newAuthenticator(Options{})
		if got := authenticate(a, nonced("a\x00b\xffc").signed("GET", address, "")); got != "" {
			t.Errorf("problem %q", got)
		}
		if _, ok := nonces.stored["a\uFFFDb\uFFFDc"]; !ok {
			t.Errorf("stored %+q", slices.Collect(maps.Keys(nonces.stored)))
		}
	})
}

// TestTimestampMaxAge: with a maximum age an old timestamp is rejected like a future one, at
// the same position among the checks.
func TestTimestampMaxAge(t *testing.T) {
	const maxAge = 30 * time.Minute
	for _, tt := range []struct {
		name   string
		age    time.Duration
		maxAge time.Duration
		used   bool
		want   string
	}{
		{"as old as may be", maxAge, maxAge, false, ""},
		{"older", maxAge + time.Second, maxAge, false, "timestamp_refused"},
		{"older, with a nonce that was used", maxAge + time.Second, maxAge, true, "timestamp_refused"},
		{"young, with a nonce that was used", time.Minute, maxAge, true, "nonce_used"},
		{"of the future", -10 * time.Minute, maxAge, false, ""},
		{"any age", 20 * 365 * 24 * time.Hour, 0, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _, nonces := newAuthenticator(Options{TimestampMaxAge: tt.maxAge})
			if tt.used {
				nonces.stored["n"] = 1
			}
			timestamp := strconv.FormatInt(serverTime-int64(tt.age/time.Second), 10)
			_, err := a.Authenticate(t.Context(), get("/", nonced("n").with("timestamp", timestamp).signed("GET", "http://store.example/", "").header()))
			if got := problemOf(t, err); got != tt.want {
				t.Errorf("problem %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStoreFailure(t *testing.T) {
	down := &adapter.Error{Kind: adapter.Unavailable, Op: "find"}
	tests := []struct {
		name   string
		header string
		broken func(*adaptertest.Store, *memoryNonces)
	}{
		{"consumers", plaintext().header(), func(c *adaptertest.Store, _ *memoryNonces) { c.Fail = down }},
		{"nonce of a known consumer", nonced("n").header(), func(_ *adaptertest.Store, n *memoryNonces) { n.fail = down }},
		{"nonce of an unknown consumer", nonced("n").with("consumer_key", unknown).header(), func(_ *adaptertest.Store, n *memoryNonces) { n.fail = down }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, credentials, nonces := newAuthenticator(Options{})
			test.broken(credentials, nonces)
			_, err := a.Authenticate(t.Context(), get("/", test.header))
			var p *Problem
			if errors.As(err, &p) || adapter.KindOf(err) != adapter.Unavailable {
				t.Errorf("error %v, want one of kind unavailable", err)
			}
		})
	}
	t.Run("tokens", func(t *testing.T) {
		a, credentials, _ := newAuthenticator(Options{})
		if _, err := a.Authenticate(t.Context(), get("/", plaintext().header())); err != nil {
			t.Fatal(err)
		}
		credentials.Fail = down
		_, err := a.Authenticate(t.Context(), get("/", plaintext().with("token", customerToken).header()))
		if adapter.KindOf(err) != adapter.Unavailable {
			t.Errorf("error %v, want one of kind unavailable", err)
		}
	})
}

func TestErrorsHoldNoSecrets(t *testing.T) {
	a, credentials, _ := newAuthenticator(Options{})
	for _, header := range []string{
		plaintext().with("signature", consumerSecret+"&x").header(),
		plaintext().with("token", foreignToken).header(),
		nonced("n").with("signature_method", "RSA-SHA1").header(),
	} {
		_, err := a.Authenticate(t.Context(), get("/", header))
		if err == nil || strings.Contains(err.Error(), consumerSecret) || strings.Contains(err.Error(), adminSecret) {
			t.Errorf("error %v", err)
		}
	}
	a.Purge()
	credentials.Fail = errors.New("down")
	if _, err := a.Authenticate(t.Context(), get("/", plaintext().header())); err == nil || strings.Contains(err.Error(), consumerKey) {
		t.Errorf("error %v", err)
	}
}
