package contracttests

import (
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/portico-commerce/portico/config/strictyaml"
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
		return []header{{"Authorization", c.signHMAC(t, srv, r, rand.Text(), strconv.FormatInt(time.Now().Unix(), 10))}}
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
			if strings.Contains(text, encoded) { // a replacer costs much more than this
				pairs = append(pairs, encoded, "[secret]")
			}
		}
	}
	if len(pairs) == 0 {
		return text
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

const (
	maxCredentialsFile = 64 << 10 // bytes of a file of credentials
	maxCredentialValue = 8 << 10  // bytes of one value in it
	maxHeaders         = 16       // of one caller
)

// A credentialsFile is a file of credentials, or the "credentials" object of a data set.
type credentialsFile struct {
	Signature Signature `default:"PLAINTEXT"`
	Consumer  consumerFile
	Admin     callerFile
	Customer1 callerFile `yaml:"customer_1"`
	Customer2 callerFile `yaml:"customer_2"`
	Consent   struct {
		Consumer consumerFile
		Customer Login
		Admin    Login
	}
}

// Data sets also name the consumer and have the ids of the callers, which the suite ignores.
type (
	consumerFile struct {
		Consumer
		Name string
	}
	callerFile struct {
		Token
		AdminID    string `yaml:"admin_id"`
		CustomerID string `yaml:"customer_id"`
	}
)

// UnmarshalText accepts the signature methods of the contract.
func (s *Signature) UnmarshalText(text []byte) error {
	if *s = Signature(text); *s != Plaintext && *s != HMACSHA1 {
		return fmt.Errorf("must be %s or %s", Plaintext, HMACSHA1)
	}
	return nil
}

// ParseCredentials reads credentials from YAML or JSON. The keys consumer, admin,
// customer_1 and customer_2 hold keys, tokens and headers, and signature holds the
// signature method; [DemoCredentialsFile] is an example. The "credentials" object of a
// data set has the same format. Errors contain no secrets.
func ParseCredentials(data []byte) (Credentials, error) {
	if len(data) > maxCredentialsFile {
		return Credentials{}, fmt.Errorf("credentials: larger than %d bytes", maxCredentialsFile)
	}
	if json.Valid(data) { // which is YAML, but for the slashes that some programs escape
		data = []byte(strings.NewReplacer(`\\`, `\\`, `\/`, `/`).Replace(string(data)))
	}
	var file credentialsFile
	d := credentialsDecoder{strictyaml.Decoder{File: "credentials"}}
	d.Check = d.check
	d.Decode(data, &file)
	if err := d.Err(); err != nil {
		return Credentials{}, err
	}
	c := Credentials{
		Signature: file.Signature, Consumer: file.Consumer.Consumer,
		Admin: file.Admin.Token, Customer1: file.Customer1.Token, Customer2: file.Customer2.Token,
		Consent: Consent{file.Consent.Consumer.Consumer, file.Consent.Customer, file.Consent.Admin},
	}
	if !c.Admin.isSet() && !c.Customer1.isSet() && !c.Customer2.isSet() {
		return Credentials{}, errors.New("credentials: at least one of admin, customer_1 and customer_2 must be set")
	}
	return c, nil
}

// A credentialsDecoder decodes a file of credentials.
type credentialsDecoder struct{ strictyaml.Decoder }

// check records the faults of a decoded value.
func (d *credentialsDecoder) check(p strictyaml.Place, v any) {
	switch v := v.(type) {
	case *string:
		d.Require(isHeaderValue(*v), p, "must consist of 1 to %d printable ASCII characters, without blanks at its ends", maxCredentialValue)
	case *consumerFile:
		d.Require((v.Key == "") == (v.Secret == ""), p, "needs both a key and a secret")
	case *Login:
		d.Require((v.Username == "") == (v.Password == ""), p, "needs both a username and a password")
	case *callerFile:
		d.checkCaller(p, v)
	case *credentialsFile:
		for name, caller := range map[string]callerFile{Admin: v.Admin, Customer1: v.Customer1, Customer2: v.Customer2} {
			d.Require(caller.Token.Token == "" || v.Consumer.Key != "", p.In(name), "has an OAuth token, but there is no consumer that it belongs to")
		}
	}
}

// checkCaller records a fault unless the caller has no members, or exactly one kind of credentials.
func (d *credentialsDecoder) checkCaller(p strictyaml.Place, c *callerFile) {
	kinds := 0
	for _, given := range []bool{c.Token.Token != "" || c.Secret != "", c.Bearer != "", len(c.Headers) > 0} {
		if given {
			kinds++
		}
	}
	empty := true
	for range p.Members() {
		empty = false
	}
	switch {
	case !empty && kinds != 1:
		d.Fault(p, "needs exactly one of these: token and secret, bearer, headers")
	case (c.Token.Token == "") != (c.Secret == ""):
		d.Fault(p, "needs both a token and a secret")
	}
	headers := p.In("headers")
	d.Require(len(c.Headers) <= maxHeaders, headers, "has more than %d headers", maxHeaders)
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		header := headers.In(name)
		d.Require(credentialHeaderPattern.MatchString(name) && !isReservedHeader(name) && !strings.EqualFold(name, "Accept") && !strings.EqualFold(name, "Content-Type"),
			header, "cannot be used as a header of credentials")
		d.Require(header.IsSet(), header, "has no value")
	}
}

// isHeaderValue reports whether a value can be sent in a header as is.
func isHeaderValue(value string) bool {
	return value != "" && len(value) <= maxCredentialValue && strings.TrimSpace(value) == value &&
		strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// credentialHeaderPattern is stricter than HTTP, because the names are also part of the
// command lines in reports.
var credentialHeaderPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)
