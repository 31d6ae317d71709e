package contracttests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	maxCredentialsFile = 64 << 10 // bytes of a file of credentials
	maxCredentialValue = 8 << 10  // bytes of one value in it
	maxHeaders         = 16       // of one caller
)

// ParseCredentials reads credentials from YAML or JSON. The keys consumer, admin,
// customer_1 and customer_2 hold keys, tokens and headers, and signature holds the
// signature method; [DemoCredentialsFile] is an example. The "credentials" object of a
// data set has the same format. Errors contain no secrets.
func ParseCredentials(data []byte) (Credentials, error) {
	c, err := parseCredentials(data)
	if err != nil {
		return Credentials{}, fmt.Errorf("credentials: %w", err)
	}
	return c, nil
}

// parseCredentials is ParseCredentials without the prefix of its errors.
func parseCredentials(data []byte) (Credentials, error) {
	var c Credentials
	if len(data) > maxCredentialsFile {
		return c, fmt.Errorf("larger than %d bytes", maxCredentialsFile)
	}
	root, err := readSections(data)
	if err != nil {
		return c, err
	}
	if err := root.checkKeys("", "signature", "consumer", Admin, Customer1, Customer2, "consent"); err != nil {
		return c, err
	}
	if c.Signature, err = root.parseSignature(); err != nil {
		return c, err
	}
	consumer, err := root.section("consumer")
	if err != nil {
		return c, err
	}
	if err := errors.Join(consumer.checkKeys("consumer", "key", "secret", "name"),
		consumer.readTexts("consumer", map[string]*string{"key": &c.Consumer.Key, "secret": &c.Consumer.Secret})); err != nil {
		return c, err
	}
	if (c.Consumer.Key == "") != (c.Consumer.Secret == "") {
		return c, errors.New("consumer needs both a key and a secret")
	}
	callers := map[string]*Token{Admin: &c.Admin, Customer1: &c.Customer1, Customer2: &c.Customer2}
	for _, as := range slices.Sorted(maps.Keys(callers)) {
		s, err := root.section(as)
		if err != nil {
			return c, err
		}
		if *callers[as], err = s.parseToken(as); err != nil {
			return c, err
		}
		if callers[as].Token != "" && c.Consumer.Key == "" {
			return c, fmt.Errorf("%s has an OAuth token, but there is no consumer that it belongs to", as)
		}
	}
	if c.Consent, err = root.parseConsent(); err != nil {
		return c, err
	}
	if !c.Admin.isSet() && !c.Customer1.isSet() && !c.Customer2.isSet() {
		return c, errors.New("at least one of admin, customer_1 and customer_2 must be set")
	}
	return c, nil
}

// A section is one object of a credentials file. Its values are string, section, or nil
// for an empty value.
type section map[string]any

// readSections parses a YAML or JSON file that consists only of objects and scalar
// values. All scalars become texts.
func readSections(data []byte) (section, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	if trimmed := bytes.TrimSpace(data); bytes.HasPrefix(trimmed, []byte("{")) {
		return readJSONSections(trimmed)
	}
	var document yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	switch err := dec.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty")
	case err != nil:
		return nil, yamlError(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one document")
	}
	return yamlSection(document.Content[0])
}

// yamlError returns an error with the line at which the YAML parser failed. It drops the
// parser's own message, which may quote secrets of the file.
func yamlError(err error) error {
	if line := regexp.MustCompile(`\bline \d+`).FindString(err.Error()); line != "" {
		return fmt.Errorf("invalid YAML or JSON at %s", line)
	}
	return errors.New("invalid YAML or JSON")
}

// yamlSection converts a YAML mapping. It returns an error for duplicate keys and for
// lists.
func yamlSection(n *yaml.Node) (section, error) {
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: expected KEY: VALUE", n.Line)
	}
	s := section{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if _, duplicate := s[key.Value]; duplicate || key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: the key is a duplicate or not a text", key.Line)
		}
		switch value.Kind {
		case yaml.MappingNode:
			inner, err := yamlSection(value)
			if err != nil {
				return nil, err
			}
			s[key.Value] = inner
		case yaml.ScalarNode:
			// The value as written, because digits are a text here.
			s[key.Value] = value.Value
			if value.ShortTag() == "!!null" {
				s[key.Value] = nil
			}
		default:
			return nil, fmt.Errorf("line %d: must be a text or keys with values; quote a text that begins with a special character", value.Line)
		}
	}
	return s, nil
}

// readJSONSections parses a file that is one JSON object.
func readJSONSections(data []byte) (section, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var root map[string]any
	if err := dec.Decode(&root); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("invalid JSON at byte %d", syntax.Offset)
		}
		return nil, errors.New("invalid JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON object")
	}
	return jsonSection(root)
}

// jsonSection converts a JSON object. It returns an error for lists and booleans.
func jsonSection(object map[string]any) (section, error) {
	s := section{}
	for key, value := range object {
		switch value := value.(type) {
		case nil, string:
			s[key] = value
		case json.Number:
			s[key] = value.String()
		case map[string]any:
			inner, err := jsonSection(value)
			if err != nil {
				return nil, err
			}
			s[key] = inner
		default:
			return nil, fmt.Errorf("%s must be a text or an object", quoteKey(key))
		}
	}
	return s, nil
}

// checkKeys returns an error if the section has a key that is not among keys. The error
// names the section with in, which is empty for the root.
func (s section) checkKeys(in string, keys ...string) error {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(keys, key) {
			if in != "" {
				in = " of " + in
			}
			return fmt.Errorf("unknown key %s%s: use %s", quoteKey(key), in, strings.Join(keys, ", "))
		}
	}
	return nil
}

// quoteKey quotes a key for an error, truncated in case the user has put a secret in its
// place.
func quoteKey(key string) string {
	const shown = 20
	if len(key) > shown {
		return fmt.Sprintf("%q…", key[:shown])
	}
	return fmt.Sprintf("%q", key)
}

// section returns the nested section at key, or nil if there is none.
func (s section) section(key string) (section, error) {
	switch value := s[key].(type) {
	case nil:
		return nil, nil
	case section:
		return value, nil
	}
	return nil, fmt.Errorf("%s must have keys and values, not a text", key)
}

// readTexts stores the texts at the keys of into in the variables that they map to.
// Missing texts leave their variable unchanged.
func (s section) readTexts(in string, into map[string]*string) error {
	for _, key := range slices.Sorted(maps.Keys(into)) {
		switch value := s[key].(type) {
		case nil:
		case string:
			if !isHeaderValue(value) {
				return fmt.Errorf("%s.%s must consist of 1 to %d printable ASCII characters, without blanks at its ends", in, key, maxCredentialValue)
			}
			*into[key] = value
		default:
			return fmt.Errorf("%s.%s must be a text", in, key)
		}
	}
	return nil
}

// isHeaderValue reports whether a value can be sent in a header as is.
func isHeaderValue(value string) bool {
	return value != "" && len(value) <= maxCredentialValue && strings.TrimSpace(value) == value &&
		strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// parseSignature returns the signature method, which is PLAINTEXT by default.
func (s section) parseSignature() (Signature, error) {
	switch value := s["signature"]; value {
	case nil, string(Plaintext):
		return Plaintext, nil
	case string(HMACSHA1):
		return HMACSHA1, nil
	}
	return "", fmt.Errorf("signature must be %s or %s", Plaintext, HMACSHA1)
}

// parseConsent returns the section consent.
func (s section) parseConsent() (c Consent, err error) {
	consent, err := s.section("consent")
	if err != nil {
		return c, err
	}
	consumer, err := consent.section("consumer")
	if err != nil {
		return c, fmt.Errorf("consent.%w", err)
	}
	err = errors.Join(
		consent.checkKeys("consent", "consumer", "customer", Admin), consumer.checkKeys("consent.consumer", "key", "secret", "name"),
		consumer.readTexts("consent.consumer", map[string]*string{"key": &c.Consumer.Key, "secret": &c.Consumer.Secret}))
	if err == nil && (c.Consumer.Key == "") != (c.Consumer.Secret == "") {
		err = errors.New("consent.consumer needs both a key and a secret")
	}
	if err != nil {
		return c, err
	}
	if c.Customer, err = consent.parseLogin("customer"); err != nil {
		return c, err
	}
	c.Admin, err = consent.parseLogin(Admin)
	return c, err
}

// parseLogin returns the user at a key of the section consent.
func (s section) parseLogin(key string) (l Login, err error) {
	user, err := s.section(key)
	if err != nil {
		return l, fmt.Errorf("consent.%w", err)
	}
	key = "consent." + key
	err = errors.Join(user.checkKeys(key, "username", "password"),
		user.readTexts(key, map[string]*string{"username": &l.Username, "password": &l.Password}))
	if err == nil && (l.Username == "") != (l.Password == "") {
		err = fmt.Errorf("%s needs both a username and a password", key)
	}
	return l, err
}

// parseToken returns the credentials of the caller named as. It returns an error unless
// the section is empty or has exactly one kind of credentials.
func (s section) parseToken(as string) (Token, error) {
	var t Token
	// Data sets also contain the ids of the callers, which the suite ignores.
	if err := s.checkKeys(as, "token", "secret", "bearer", "headers", "admin_id", "customer_id"); err != nil {
		return t, err
	}
	if err := s.readTexts(as, map[string]*string{"token": &t.Token, "secret": &t.Secret, "bearer": &t.Bearer}); err != nil {
		return t, err
	}
	headers, err := s.section("headers")
	if err != nil {
		return t, fmt.Errorf("%s.%w", as, err)
	}
	if t.Headers, err = headers.parseHeaders(as + ".headers"); err != nil {
		return t, err
	}
	kinds := 0
	for _, given := range []bool{t.Token != "" || t.Secret != "", t.Bearer != "", len(t.Headers) > 0} {
		if given {
			kinds++
		}
	}
	switch {
	case len(s) > 0 && kinds != 1:
		return t, fmt.Errorf("%s needs exactly one of these: token and secret, bearer, headers", as)
	case (t.Token == "") != (t.Secret == ""):
		return t, fmt.Errorf("%s needs both a token and a secret", as)
	}
	return t, nil
}

// credentialHeaderPattern is stricter than HTTP, because the names are also part of the
// command lines in reports.
var credentialHeaderPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// parseHeaders returns the section as a set of headers, nil if it is empty. It returns an
// error for headers that the suite sets itself.
func (s section) parseHeaders(in string) (map[string]string, error) {
	if len(s) > maxHeaders {
		return nil, fmt.Errorf("%s has more than %d headers", in, maxHeaders)
	}
	var all map[string]string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !credentialHeaderPattern.MatchString(name) || isReservedHeader(name) || strings.EqualFold(name, "Accept") || strings.EqualFold(name, "Content-Type") {
			return nil, fmt.Errorf("%s.%s cannot be used as a header of credentials", in, quoteKey(name))
		}
		value := ""
		if err := s.readTexts(in, map[string]*string{name: &value}); err != nil {
			return nil, err
		}
		if value == "" {
			return nil, fmt.Errorf("%s.%s has no value", in, name)
		}
		if all == nil {
			all = map[string]string{}
		}
		all[name] = value
	}
	return all, nil
}
