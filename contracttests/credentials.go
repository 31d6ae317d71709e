package contracttests

import (
	_ "embed"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// The callers a [Step] may name in its field As.
const (
	Admin     = "admin"
	Customer1 = "customer_1"
	Customer2 = "customer_2"
	Guest     = "guest" // sends no credentials
)

// A Signature is how requests with an OAuth token are signed.
type Signature string

// The signatures the contract knows (wire 12).
const (
	Plaintext Signature = "PLAINTEXT" // sends the secrets themselves; what the zero value means
	HMACSHA1  Signature = "HMAC-SHA1"
)

// Credentials are what an implementation knows the callers of the suite by.
type Credentials struct {
	Signature Signature
	Consumer  Consumer
	Admin     Token
	Customer1 Token
	Customer2 Token
}

// A Consumer is the OAuth client all callers share.
type Consumer struct {
	Key    string
	Secret string
}

// A Token is what one caller is known by: an OAuth access token, or for an
// implementation without OAuth a bearer token or headers of its own. The zero value
// is a caller without credentials.
type Token struct {
	Token  string
	Secret string

	Bearer  string
	Headers map[string]string
}

func (t Token) given() bool { return t.Token != "" || t.Bearer != "" || len(t.Headers) > 0 }

//go:embed fixtures/demo-credentials.yaml
var demoCredentials []byte

// DemoCredentials returns the credentials of the demo store, which everybody knows.
func DemoCredentials() (Credentials, error) { return ParseCredentials(demoCredentials) }

// DemoCredentialsFile returns the file that [DemoCredentials] reads, as a pattern to
// write another by.
func DemoCredentialsFile() []byte { return slices.Clone(demoCredentials) }

// Has reports whether the caller called as can call. A Guest always can.
func (c Credentials) Has(as string) bool { return as == Guest || c.of(as).given() }

// Equal reports whether both hold the same callers. How they sign does not matter.
func (c Credentials) Equal(other Credentials) bool {
	for _, as := range []string{Admin, Customer1, Customer2} {
		a, b := c.of(as), other.of(as)
		if a.Token != b.Token || a.Secret != b.Secret || a.Bearer != b.Bearer || !maps.Equal(a.Headers, b.Headers) {
			return false
		}
	}
	return c.Consumer == other.Consumer
}

// of returns the credentials of the caller called as, none for a Guest and for a
// name that is no caller.
func (c Credentials) of(as string) Token {
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

// Authorization returns the value of the Authorization header that signs a request
// of the caller called as with PLAINTEXT. It is empty for callers without an OAuth
// token.
func (c Credentials) Authorization(as string) string {
	t := c.of(as)
	if t.Token == "" {
		return ""
	}
	return oauthHeader(append(c.oauth(t, Plaintext), parameter{"oauth_signature", c.Consumer.Secret + "&" + t.Secret}))
}

// names returns what cases call the credentials: the client and the Admin's token,
// which signatures that are to be refused name. Secrets have no name.
func (c Credentials) names() node {
	all := node{kind: record}
	for _, m := range []struct{ name, value string }{{"consumer_key", c.Consumer.Key}, {"admin_token", c.Admin.Token}} {
		if m.value != "" {
			all.members = append(all.members, member{m.name, node{kind: text, text: m.value}})
		}
	}
	return all
}

// headers returns the headers that make r a request of the caller called as.
func (c Credentials) headers(as string, srv server, r *request) []header {
	t := c.of(as)
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

// Redact returns text without what the callers are known by: a server may have sent
// it back, and a case that is to be refused names keys and tokens.
func (c Credentials) Redact(text string) string {
	var pairs []string
	for _, secret := range c.secrets() {
		for _, spelled := range []string{secret, escape(secret), url.QueryEscape(secret), strings.ReplaceAll(secret, "/", `\/`)} {
			pairs = append(pairs, spelled, "[secret]")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// redactAll redacts what a server sent where it was not expected.
func (c Credentials) redactAll(ds []Difference) []Difference {
	for i := range ds {
		ds[i].Got = c.Redact(ds[i].Got)
	}
	return ds
}

// secrets returns what must not be told, longest first, for one may be part of
// another.
func (c Credentials) secrets() []string {
	all := []string{c.Consumer.Key, c.Consumer.Secret}
	for _, t := range []Token{c.Admin, c.Customer1, c.Customer2} {
		all = append(all, t.Token, t.Secret, t.Bearer)
		for _, value := range t.Headers {
			all = append(all, value)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(all, isWord)
}

// isWord reports whether a value is too short, or too much of a word, to be a secret:
// a header may name a role, which stands in many texts.
func isWord(s string) bool {
	letters := strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) < 0
	return len(s) < 8 || letters && len(s) < 16
}

// String keeps the secrets out of what is printed by accident.
func (c Credentials) String() string { return "(credentials)" }

// GoString is String for %#v.
func (c Credentials) GoString() string { return c.String() }
