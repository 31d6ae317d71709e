package contracttests

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/config/strictyaml"
	"maps"
	"regexp"
	"slices"
	"strings"
)

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
