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
	maxCredentials = 64 << 10 // bytes of a file of credentials
	maxCredential  = 8 << 10  // bytes of one value in it
	maxHeaders     = 16       // of one caller
)

// ParseCredentials reads credentials, as YAML or JSON: what callers are known by under
// consumer, admin, customer_1 and customer_2, and under signature how requests are
// signed. The "credentials" object of a data set is such a file too. No error tells
// a secret.
func ParseCredentials(data []byte) (Credentials, error) {
	c, err := parseCredentials(data)
	if err != nil {
		return Credentials{}, fmt.Errorf("credentials: %w", err)
	}
	return c, nil
}

func parseCredentials(data []byte) (Credentials, error) {
	var c Credentials
	if len(data) > maxCredentials {
		return c, fmt.Errorf("larger than %d bytes", maxCredentials)
	}
	root, err := readSections(data)
	if err != nil {
		return c, err
	}
	if err := root.allow("", "signature", "consumer", Admin, Customer1, Customer2); err != nil {
		return c, err
	}
	if c.Signature, err = root.signature(); err != nil {
		return c, err
	}
	consumer, err := root.section("consumer")
	if err != nil {
		return c, err
	}
	if err := errors.Join(consumer.allow("consumer", "key", "secret", "name"),
		consumer.texts("consumer", map[string]*string{"key": &c.Consumer.Key, "secret": &c.Consumer.Secret})); err != nil {
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
		if *callers[as], err = s.token(as); err != nil {
			return c, err
		}
		if callers[as].Token != "" && c.Consumer.Key == "" {
			return c, fmt.Errorf("%s has an OAuth token, and there is no consumer it belongs to", as)
		}
	}
	if !c.Admin.given() && !c.Customer1.given() && !c.Customer2.given() {
		return c, errors.New("none of admin, customer_1 and customer_2 has any")
	}
	return c, nil
}

// A section is one object of a file: texts, further sections, and nil for what is
// left empty.
type section map[string]any

// readSections reads a file of nothing but sections and texts.
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
		return nil, notYAML(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one document")
	}
	return yamlSection(document.Content[0])
}

// notYAML tells where YAML ends to be some. What the parser says besides may quote
// the file, which holds secrets.
func notYAML(err error) error {
	if line := regexp.MustCompile(`\bline \d+`).FindString(err.Error()); line != "" {
		return fmt.Errorf("%s is neither YAML nor JSON", line)
	}
	return errors.New("the file is neither YAML nor JSON")
}

func yamlSection(n *yaml.Node) (section, error) {
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: a key and a value are expected", n.Line)
	}
	s := section{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if _, twice := s[key.Value]; twice || key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: the key stands there twice, or is no text", key.Line)
		}
		switch value.Kind {
		case yaml.MappingNode:
			inner, err := yamlSection(value)
			if err != nil {
				return nil, err
			}
			s[key.Value] = inner
		case yaml.ScalarNode:
			// As it is written: digits are a text here, not a number.
			s[key.Value] = value.Value
			if value.ShortTag() == "!!null" {
				s[key.Value] = nil
			}
		default:
			return nil, fmt.Errorf("line %d: neither a text nor keys and values; a text that begins with a sign stands in quotes", value.Line)
		}
	}
	return s, nil
}

func readJSONSections(data []byte) (section, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var root map[string]any
	if err := dec.Decode(&root); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("not JSON from byte %d on", syntax.Offset)
		}
		return nil, errors.New("not JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON object")
	}
	return jsonSection(root)
}

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
			return nil, fmt.Errorf("%s is neither a text nor an object", quoteKey(key))
		}
	}
	return s, nil
}

// allow refuses keys but the allowed ones. in is where the section stands.
func (s section) allow(in string, keys ...string) error {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(keys, key) {
			if in != "" {
				in = " of " + in
			}
			return fmt.Errorf("%s is no key%s: use %s", quoteKey(key), in, strings.Join(keys, ", "))
		}
	}
	return nil
}

// quoteKey quotes a key, cut: somebody may have written a secret in its place.
func quoteKey(key string) string {
	const shown = 20
	if len(key) > shown {
		return fmt.Sprintf("%q…", key[:shown])
	}
	return fmt.Sprintf("%q", key)
}

// section returns the section under key, nil where there is none.
func (s section) section(key string) (section, error) {
	switch value := s[key].(type) {
	case nil:
		return nil, nil
	case section:
		return value, nil
	}
	return nil, fmt.Errorf("%s needs keys and values, not a text", key)
}

// texts reads the texts under the keys of into. A text that is not there is "".
func (s section) texts(in string, into map[string]*string) error {
	for _, key := range slices.Sorted(maps.Keys(into)) {
		switch value := s[key].(type) {
		case nil:
		case string:
			if !sendable(value) {
				return fmt.Errorf("%s.%s has characters that no header may hold, or is empty or longer than %d bytes", in, key, maxCredential)
			}
			*into[key] = value
		default:
			return fmt.Errorf("%s.%s needs a text", in, key)
		}
	}
	return nil
}

// sendable reports whether a value can stand in a header as it is.
func sendable(value string) bool {
	return value != "" && len(value) <= maxCredential && strings.TrimSpace(value) == value &&
		strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

func (s section) signature() (Signature, error) {
	switch value := s["signature"]; value {
	case nil, string(Plaintext):
		return Plaintext, nil
	case string(HMACSHA1):
		return HMACSHA1, nil
	}
	return "", fmt.Errorf("signature is %s or %s", Plaintext, HMACSHA1)
}

// token reads what the caller called as is known by: one of the three kinds.
func (s section) token(as string) (Token, error) {
	var t Token
	// Data sets tell whose token it is, which the suite's fixtures say.
	if err := s.allow(as, "token", "secret", "bearer", "headers", "admin_id", "customer_id"); err != nil {
		return t, err
	}
	if err := s.texts(as, map[string]*string{"token": &t.Token, "secret": &t.Secret, "bearer": &t.Bearer}); err != nil {
		return t, err
	}
	headers, err := s.section("headers")
	if err != nil {
		return t, fmt.Errorf("%s.%w", as, err)
	}
	if t.Headers, err = headers.headers(as + ".headers"); err != nil {
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
		return t, fmt.Errorf("%s needs a token and a secret, or a bearer, or headers, and one of these alone", as)
	case (t.Token == "") != (t.Secret == ""):
		return t, fmt.Errorf("%s needs both a token and a secret", as)
	}
	return t, nil
}

// credentialHeader is narrower than what HTTP allows: the names also stand in the
// command lines that reports show.
var credentialHeader = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

func (s section) headers(in string) (map[string]string, error) {
	if len(s) > maxHeaders {
		return nil, fmt.Errorf("%s has more than %d headers", in, maxHeaders)
	}
	var all map[string]string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !credentialHeader.MatchString(name) || ownHeader(name) || strings.EqualFold(name, "Accept") || strings.EqualFold(name, "Content-Type") {
			return nil, fmt.Errorf("%s.%s is no header that can be set", in, quoteKey(name))
		}
		value := ""
		if err := s.texts(in, map[string]*string{name: &value}); err != nil {
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
