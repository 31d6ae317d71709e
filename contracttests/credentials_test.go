package contracttests

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseCredentials checks the accepted formats of credentials files.
func TestParseCredentials(t *testing.T) {
	oauth := Credentials{
		Signature: Plaintext,
		Consumer:  Consumer{Key: "key", Secret: "consumer-secret"},
		Admin:     Token{Token: "1111", Secret: "admin-secret"},
	}
	for _, tt := range []struct {
		name, file string
		want       Credentials
	}{
		{"YAML", "consumer: {key: key, secret: consumer-secret}\nadmin:\n  token: 1111 # digits are a text\n  secret: admin-secret\ncustomer_1:\n", oauth},
		{"object of a data set", `{"consumer":{"key":"key","secret":"consumer-secret"},"admin":{"token":"1111","secret":"admin-secret","admin_id":1}}`, oauth},
		{"JSON with tabs and escapes", "\n{\n\t\"consumer\":\t{\"key\":\"key\",\"secret\":\"consumer\\u002dsecret\", \"name\": \"a\\/b\"},\n\t\"admin\": {\"token\":\"1111\",\"secret\":\"admin-secret\"}}\n", oauth},
		{"bearer", "customer_2: {bearer: abc/def+g==}", Credentials{Signature: Plaintext, Customer2: Token{Bearer: "abc/def+g=="}}},
		{"headers", "admin: {headers: {X-Api-Key: secret-key, X-Role: admin}}", Credentials{Signature: Plaintext, Admin: Token{Headers: map[string]string{"X-Api-Key": "secret-key", "X-Role": "admin"}}}},
		{"signed", "signature: HMAC-SHA1\nadmin: {bearer: b}", Credentials{Signature: HMACSHA1, Admin: Token{Bearer: "b"}}},
		{"consent", "admin: {bearer: b}\nconsent: {consumer: {key: k, secret: s}, customer: {username: a@b.example, password: p q}}", Credentials{
			Signature: Plaintext, Admin: Token{Bearer: "b"}, Consent: Consent{Consumer: Consumer{"k", "s"}, Customer: Login{"a@b.example", "p q"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseCredentials([]byte(tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseCredentialsErrors checks the errors for invalid credentials files. Each file
// contains "hunter22hunter22", which no error may repeat.
func TestParseCredentialsErrors(t *testing.T) {
	const secret = "hunter22hunter22"
	for _, tt := range []struct{ name, file, want string }{
		{"empty", "", "credentials: is empty"},
		{"comments alone", "# nothing yet: " + secret, "credentials: is empty"},
		{"nobody", "signature: PLAINTEXT", "at least one of admin, customer_1 and customer_2 must be set"},
		{"no keys", secret, "credentials:1: the file must be a mapping such as {name: value}"},
		{"unknown key", "amdin: {bearer: " + secret + "}", `credentials:1: amdin is unknown; known members are signature, consumer, admin, customer_1, customer_2, consent; did you mean admin?`},
		{"unknown key of a caller", "admin: {sercet: " + secret + "}", `admin.sercet is unknown; known members are token, secret, bearer`},
		{"unknown key of the consumer", "consumer: {k: " + secret + "}", `consumer.k is unknown; known members are key, secret`},
		{"key twice", "admin: {bearer: x}\nadmin: {bearer: " + secret + "}", "credentials:2: admin is already defined in line 1"},
		{"caller without anything", "admin: {admin_id: 1}\ncustomer_1: {bearer: " + secret + "}", "admin needs exactly one of these"},
		{"two kinds", "admin: {bearer: " + secret + ", token: a, secret: b}", "exactly one of these: token and secret, bearer, headers"},
		{"token without secret", "consumer: {key: k, secret: s}\nadmin: {token: " + secret + "}", "admin needs both a token and a secret"},
		{"secret without token", "consumer: {key: k, secret: s}\nadmin: {secret: " + secret + "}", "admin needs both a token and a secret"},
		{"token without consumer", "customer_1: {token: a, secret: " + secret + "}", "customer_1 has an OAuth token, but there is no consumer"},
		{"half a consumer", "consumer: {secret: " + secret + "}\nadmin: {bearer: b}", "consumer needs both a key and a secret"},
		{"text for a caller", "admin: " + secret, "admin must be a mapping such as {name: value}"},
		{"section for a text", "admin: {bearer: {a: " + secret + "}}", "admin.bearer must be a string"},
		{"list", "admin: {bearer: [" + secret + "]}", "admin.bearer must be a string"},
		{"alias", "admin: {bearer: *" + secret + "}", "must not use anchors, aliases and tags: quote a text that begins with *"},
		{"list in JSON", `{"admin":{"bearer":["` + secret + `"]}}`, `admin.bearer must be a string`},
		{"empty text", `{"admin":{"bearer":""},"customer_1":{"bearer":"` + secret + `"}}`, "admin.bearer must consist of 1 to 8192 printable"},
		{"line end", `{"admin":{"bearer":"` + secret + `\r\nX: y"}}`, "admin.bearer must consist of 1 to 8192 printable ASCII characters"},
		{"long text", "admin: {bearer: " + strings.Repeat(secret, 600) + "}", "must consist of 1 to 8192"},
		{"header name", "admin: {headers: {'a b': " + secret + "}}", `admin.headers."a b" cannot be used as a header`},
		{"header of the engine", "admin: {headers: {host: " + secret + "}}", `admin.headers.host cannot be used as a header`},
		{"header without value", "admin: {headers: {X-Key: }}", `admin.headers.X-Key has no value`},
		{"signature", "signature: " + secret + "\nadmin: {bearer: b}", "signature must be PLAINTEXT or HMAC-SHA1"},
		{"unknown key of consent", "admin: {bearer: b}\nconsent: {user: " + secret + "}", `consent.user is unknown; known members are consumer, customer, admin`},
		{"unknown key of a user", "admin: {bearer: b}\nconsent: {admin: {name: " + secret + "}}", `consent.admin.name is unknown; known members are username, password`},
		{"half a consumer of consent", "admin: {bearer: b}\nconsent: {consumer: {secret: " + secret + "}}", "consent.consumer needs both a key and a secret"},
		{"half a user", "admin: {bearer: b}\nconsent: {customer: {password: " + secret + "}}", "consent.customer needs both a username and a password"},
		{"text for consent", "admin: {bearer: b}\nconsent: " + secret, "consent must be a mapping"},
		{"no YAML", "admin: {bearer: " + secret, "is not YAML: line 1"},
		{"no JSON", `{"admin": ` + secret, "is not YAML: line 1"},
		{"JSON and more", `{"admin":{"bearer":"b"}} ` + secret, "is not YAML: "},
		{"two documents", "admin: {bearer: b}\n---\nadmin: {bearer: " + secret + "}", "credentials:2: must be a single YAML document"},
		{"no UTF-8", "admin: {bearer: \xff" + secret + "}", "is not YAML: invalid leading UTF-8 octet"},
		{"long key", secret + secret + secret + ": x", "is unknown"},
		{"too large", strings.Repeat("#"+secret+"\n", 4000), "larger than 65536 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseCredentials([]byte(tt.file))
			if err == nil || !strings.HasPrefix(err.Error(), "credentials:") || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one of credentials with %q", err, tt.want)
			}
			if tt.name != "long key" && strings.Contains(err.Error(), secret) {
				t.Errorf("the error contains the secret: %v", err)
			}
			if len(err.Error()) > 300 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// FuzzParseCredentials checks that parsed credentials make valid headers.
func FuzzParseCredentials(f *testing.F) {
	f.Add(demoCredentials)
	f.Add([]byte(`{"consumer":{"key":"k","secret":"s"},"admin":{"headers":{"X":"y"}}}`))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCredentials(data)
		if err != nil {
			return
		}
		// Each credential must be valid as the value of one header.
		for _, as := range []string{Admin, Customer1, Customer2} {
			for _, h := range c.headers(as, server{scheme: "http"}, &request{}) {
				if strings.ContainsAny(h.name+h.value, "\r\n") || h.value == "" {
					t.Errorf("header %q: %q", h.name, h.value)
				}
			}
		}
	})
}

// TestDemoCredentials checks that the demo store has credentials for all callers.
func TestDemoCredentials(t *testing.T) {
	c, err := DemoCredentials()
	if err != nil {
		t.Fatal(err)
	}
	for _, as := range []string{Admin, Customer1, Customer2, Guest} {
		if !c.Has(as) {
			t.Errorf("no credentials of %s", as)
		}
	}
	for _, as := range []string{"", "nobody"} {
		if c.Has(as) {
			t.Errorf("credentials of %q", as)
		}
	}
	c.Customer2 = Token{}
	if c.Has(Customer2) {
		t.Error("credentials of a customer who has none")
	}
}

// TestEqualCredentials checks which credentials are equal.
func TestEqualCredentials(t *testing.T) {
	same, signed, other := testCredentials, testCredentials, testCredentials
	signed.Signature = HMACSHA1
	other.Customer2.Secret = "another"
	for name, tt := range map[string]struct {
		c    Credentials
		want bool
	}{"same": {same, true}, "signed otherwise": {signed, true}, "another secret": {other, false}, "none": {Credentials{}, false}} {
		if got := testCredentials.Equal(tt.c); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestHMACVector checks the HMAC-SHA1 signature against the test vector of the contract
// (wire 12).
func TestHMACVector(t *testing.T) {
	long := func(s string) string { return strings.Repeat(s, 32) }
	c := Credentials{Consumer: Consumer{long("a"), long("b")}, Admin: Token{Token: long("c"), Secret: long("d")}}
	for name, target := range map[string]string{
		"path":            "/api/rest/customers/1?attrs=email",
		"absolute target": "http://store.example/api/rest/customers/1?attrs=email",
		"not signed":      "/api/rest/customers/1?x&attrs=email&oauth_x=y&a=b=c",
	} {
		r := request{method: "GET", target: target, host: "Store.Example:80"}
		got := c.signHMAC(c.Admin, server{scheme: "http"}, &r, "n1", "1330000000")
		want := `OAuth oauth_version="1.0", oauth_signature_method="HMAC-SHA1", oauth_consumer_key="` + long("a") + `", oauth_token="` + long("c") +
			`", oauth_nonce="n1", oauth_timestamp="1330000000", oauth_signature="4NYcMU5jtqDwD2UfxYFuxEfoe0A%3D"`
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", name, got, want)
		}
	}
}

// TestBaseString checks the text that is signed for requests of all kinds.
func TestBaseString(t *testing.T) {
	form := []header{{"content-type", "application/x-www-form-urlencoded; charset=utf-8"}}
	for _, tt := range []struct {
		name   string
		scheme string
		r      request
		want   string // decoded once
	}{
		{"port", "http", request{method: "GET", target: "/x", host: "H:8080"}, "GET&http://h:8080/x&o=1"},
		{"port of the scheme", "https", request{method: "GET", target: "/x", host: "h:443"}, "GET&https://h/x&o=1"},
		{"port of the other scheme", "https", request{method: "GET", target: "/x", host: "h:80"}, "GET&https://h:80/x&o=1"},
		{"path as sent", "http", request{method: "PUT", target: "//a/%31/", host: "h"}, "PUT&http://h//a/%31/&o=1"},
		{"plus is a plus", "http", request{method: "GET", target: "/?q=a+b%20c", host: "h"}, "GET&http://h/&o=1&q=a%2Bb%20c"},
		{"last of a name", "http", request{method: "GET", target: "/?a=1&a=2", host: "h"}, "GET&http://h/&a=2&o=1"},
		{"sorted by encoded name", "http", request{method: "GET", target: "/?a1=x&a=y&a[b]=z", host: "h"}, "GET&http://h/&a=y&a%5Bb%5D=z&a1=x&o=1"},
		{"broken escape", "http", request{method: "GET", target: "/?a=%zz", host: "h"}, "GET&http://h/&a=%25zz&o=1"},
		{"body of a form", "http", request{method: "POST", target: "/?b=1", host: "h", headers: form, body: ptr("a=x+y&b=2&oauth_t=z&&c")}, "POST&http://h/&a=x%20y&b=1&c=&o=1"},
		{"other body", "http", request{method: "POST", target: "/", host: "h", body: ptr("a=x")}, "POST&http://h/&o=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := baseString(server{scheme: tt.scheme}, &tt.r, []parameter{{"o", "1"}})
			parts := strings.Split(got, "&")
			for i := range parts {
				decoded, err := url.PathUnescape(parts[i])
				if err != nil || escape(decoded) != parts[i] {
					t.Errorf("part %q is not encoded once", parts[i])
				}
				parts[i] = decoded
			}
			if joined := strings.Join(parts, "&"); joined != tt.want {
				t.Errorf("%s, want %s", joined, tt.want)
			}
		})
	}
}

// TestRequestCredentials checks the headers that each kind of credentials adds to a
// request.
func TestRequestCredentials(t *testing.T) {
	c := testCredentials
	c.Signature = HMACSHA1
	c.Customer1 = Token{Bearer: "the-bearer"}
	c.Customer2 = Token{Headers: map[string]string{"X-Role": "customer", "X-Api-Key": "the-api-key"}}
	srv := mustServer(t, "http://h:1")
	text := func(s Step) string {
		r := newRequest(srv, c, &s)
		return string(r.bytes())
	}
	for _, tt := range []struct {
		name string
		step Step
		want string // of the head, after the first two lines
	}{
		{"bearer", Step{As: Customer1, Method: "GET"}, "Authorization: Bearer the-bearer\r\n\r\n"},
		{"headers", Step{As: Customer2, Method: "GET", Accept: ptr("a")}, "Accept: a\r\nX-Api-Key: the-api-key\r\nX-Role: customer\r\n\r\n"},
		{"own Authorization", Step{As: Customer2, Method: "GET", Headers: map[string]string{"Authorization": "x"}}, "Authorization: x\r\n\r\n"},
		{"guest", Step{As: Guest, Method: "GET"}, "\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := text(tt.step), "GET /api/rest HTTP/1.1\r\nHost: h:1\r\n"+tt.want; got != want {
				t.Errorf("request %q, want %q", got, want)
			}
		})
	}
	t.Run("signed", func(t *testing.T) {
		s := Step{As: Admin, Method: "GET"}
		one, two := text(s), text(s)
		if !strings.Contains(one, `oauth_signature_method="HMAC-SHA1"`) || strings.Contains(one, "secret") {
			t.Errorf("request %q", one)
		}
		if one == two {
			t.Error("two requests have the same nonce")
		}
	})
	t.Run("command line", func(t *testing.T) {
		r := newRequest(srv, c, &Step{As: Customer2, Method: "GET"})
		got := curl(srv, &r, "")
		if want := ` -H "X-Api-Key: $X_API_KEY_CUSTOMER_2" -H "X-Role: $X_ROLE_CUSTOMER_2" `; !strings.Contains(got, want) {
			t.Errorf("command %s, want one with %s", got, want)
		}
	})
}

// TestRedact checks that secrets are redacted in all encodings, and that ordinary words
// are not.
func TestRedact(t *testing.T) {
	c := testCredentials
	c.Customer1 = Token{Bearer: "a/b+c==d"}
	c.Customer2 = Token{Headers: map[string]string{"X-Role": "customer", "X-Api-Key": "admin-secret-2"}}
	c.Consumer.Key, c.Admin.Token = "the-key-17", "the-token-18" // values that cases can use
	for text, want := range map[string]string{
		"nothing":                              "nothing",
		"consumer-secret&admin-secret":         "[secret]&[secret]",
		"admin-secret-2":                       "[secret]",
		"a/b+c==d a%2Fb%2Bc%3D%3Dd a\\/b+c==d": "[secret] [secret] [secret]",
		"customer":                             "customer",
		"key=the-key-17 token=the-token-18":    "key=[secret] token=[secret]",
	} {
		if got := c.Redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestCredentialsAreNotPrinted checks that package fmt prints no secrets.
func TestCredentialsAreNotPrinted(t *testing.T) {
	target := Target{BaseURL: "http://h", Credentials: testCredentials}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, target); strings.Contains(got, "secret") {
			t.Errorf("%s prints a secret: %s", verb, got)
		}
	}
}
