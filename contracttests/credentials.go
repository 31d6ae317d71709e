package contracttests

import (
	_ "embed"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// The callers that a [Step] can name in its field As.
const (
	Admin     = "admin"
	Customer1 = "customer_1"
	Customer2 = "customer_2"
	Guest     = "guest" // sends no credentials
)

// A Signature is an OAuth signature method.
type Signature string

// The signature methods of the contract (wire 12).
const (
	Plaintext Signature = "PLAINTEXT" // sends the secrets themselves; same as the zero value
	HMACSHA1  Signature = "HMAC-SHA1"
)

// Credentials authenticate the callers of the suite. A caller whose Token is zero has no
// credentials, and the cases that need it are skipped. Printing Credentials with package
// fmt shows no secrets.
type Credentials struct {
	Signature Signature
	Consumer  Consumer
	Admin     Token
	Customer1 Token
	Customer2 Token
	Consent   Consent
}

// Consent holds the credentials for the cases of three-legged OAuth. Without its Consumer
// they are skipped.
type Consent struct {
	// Consumer is a client other than the callers' client, because letting a client act
	// revokes its other tokens for the same user. It has registered no callbacks.
	Consumer Consumer
	// Customer and Admin are users who can log in. The cases of a Login without a user name
	// are skipped.
	Customer Login
	Admin    Login
}

// A Login holds the name and the password of a user.
type Login struct{ Username, Password string }

// A Consumer is the OAuth client that all callers share.
type Consumer struct {
	Key    string
	Secret string
}

// A Token authenticates one caller: an OAuth access token or, for an implementation without
// OAuth, a bearer token or a set of headers. The zero value means that the caller has no
// credentials.
type Token struct {
	Token  string
	Secret string

	Bearer  string
	Headers map[string]string
}

// isSet reports whether the caller has credentials.
func (t Token) isSet() bool { return t.Token != "" || t.Bearer != "" || len(t.Headers) > 0 }

//go:embed fixtures/demo-credentials.yaml
var demoCredentials []byte

// DemoCredentials returns the credentials of the demo store. They are public.
func DemoCredentials() (Credentials, error) { return ParseCredentials(demoCredentials) }

// DemoCredentialsFile returns the file that [DemoCredentials] reads. It is commented, so
// that it can serve as a template for the credentials of another store.
func DemoCredentialsFile() []byte { return slices.Clone(demoCredentials) }

// Has reports whether requests of the caller named as can be sent. A Guest needs no
// credentials.
func (c Credentials) Has(as string) bool { return as == Guest || c.token(as).isSet() }

// Equal reports whether both hold the same consumer and tokens. The signature method and
// Consent are ignored.
func (c Credentials) Equal(other Credentials) bool {
	for _, as := range []string{Admin, Customer1, Customer2} {
		a, b := c.token(as), other.token(as)
		if a.Token != b.Token || a.Secret != b.Secret || a.Bearer != b.Bearer || !maps.Equal(a.Headers, b.Headers) {
			return false
		}
	}
	return c.Consumer == other.Consumer
}

// token returns the token of the caller named as. It is zero for a Guest and for unknown
// names.
func (c Credentials) token(as string) Token {
	switch as {
	case Admin:
		return c.Admin
	case Customer1:
		return c.Customer1
	case Customer2:
		return c.Customer2
	}
	return Token{}
}

// Authorization returns the value of the Authorization header for a request of the caller
// named as, signed with PLAINTEXT. It is empty if the caller has no OAuth token.
func (c Credentials) Authorization(as string) string {
	t := c.token(as)
	if t.Token == "" {
		return ""
	}
	return oauthHeader(append(c.oauthParameters(t, Plaintext), parameter{"oauth_signature", c.Consumer.Secret + "&" + t.Secret}))
}

// bindings returns the credentials that cases can use as {{oauth.consumer_key}} and
// {{oauth.admin_token}}. Cases of refused signatures need these; secrets are not
// included.
func (c Credentials) bindings() node {
	all := node{kind: record}
	for _, m := range []struct{ name, value string }{{"consumer_key", c.Consumer.Key}, {"admin_token", c.Admin.Token}} {
		if m.value != "" {
			all.members = append(all.members, member{m.name, node{kind: text, text: m.value}})
		}
	}
	return all
}

// headers returns the headers that authenticate r as the caller named as, or nil if the
// caller has no credentials.
func (c Credentials) headers(as string, srv server, r *request) []header {
	t := c.token(as)
	switch {
	case t.Bearer != "":
		return []header{{"Authorization", "Bearer " + t.Bearer}}
	case len(t.Headers) > 0:
		var hs []header
		for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
			hs = append(hs, header{name, t.Headers[name]})
		}
		return hs
	case t.Token != "" && c.Signature == HMACSHA1:
		return []header{{"Authorization", c.signHMAC(t, srv, r)}}
	case t.Token != "":
		return []header{{"Authorization", c.Authorization(as)}}
	}
	return nil
}

// Redact returns text with all keys, tokens and secrets replaced by [secret], in each
// encoding that a server may send them back in.
func (c Credentials) Redact(text string) string {
	var pairs []string
	for _, secret := range c.secrets() {
		for _, encoded := range []string{secret, escape(secret), url.QueryEscape(secret), strings.ReplaceAll(secret, "/", `\/`)} {
			pairs = append(pairs, encoded, "[secret]")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// redactDifferences redacts the received values of ds in place and returns ds.
func (c Credentials) redactDifferences(ds []Difference) []Difference {
	for i := range ds {
		ds[i].Got = c.Redact(ds[i].Got)
	}
	return ds
}

// secrets returns the values that must not be shown, the longest first, because one may
// be part of another.
func (c Credentials) secrets() []string {
	all := []string{c.Consumer.Key, c.Consumer.Secret, c.Consent.Consumer.Key, c.Consent.Consumer.Secret, c.Consent.Customer.Password, c.Consent.Admin.Password}
	for _, t := range []Token{c.Admin, c.Customer1, c.Customer2} {
		all = append(all, t.Token, t.Secret, t.Bearer)
		for _, value := range t.Headers {
			all = append(all, value)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(all, isUnlikelySecret)
}

// isUnlikelySecret reports whether a credential looks like an ordinary word, such as a
// role in a header. Redacting it would make reports unreadable.
func isUnlikelySecret(s string) bool {
	letters := strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) < 0
	return len(s) < 8 || letters && len(s) < 16
}

// String returns a constant, so that secrets are not printed by accident.
func (c Credentials) String() string { return "(credentials)" }

// GoString returns the same as String, for the format %#v.
func (c Credentials) GoString() string { return c.String() }
