package diagnose

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- the contract's signature method, and sound inside an HMAC
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/mapping/auth"
)

// A parameter is a name and a value, decoded and as sent.
type parameter struct {
	name, value   string
	rawName, raw  string
	quoted, valid bool // in quotes; with an equals sign
}

type parameters []parameter

// value returns the last value of a name, or "".
func (p parameters) value(name string) string {
	for _, one := range slices.Backward(p) {
		if one.name == name {
			return one.value
		}
	}
	return ""
}

// oauth returns the OAuth parameters among p.
func (p parameters) oauth() (found parameters) {
	for _, one := range p {
		if strings.HasPrefix(one.name, "oauth_") && len(found) < maxParameters {
			found = append(found, one)
		}
	}
	return found
}

// Sources of OAuth parameters.
const (
	inHeader = "in the header Authorization"
	inForm   = "in the body"
	inQuery  = "in the query"
)

// A signed is a request in the parts that its signature covers.
type signed struct {
	request           *Request
	scheme            string
	path              string
	header            parameters // of the header Authorization
	form, query       parameters
	oauth             parameters // only the effective ones
	source            string     // where they are
	signature, method string     // of the request
}

// newSigned returns the parts of r.
func newSigned(r *Request, scheme string) *signed {
	s := &signed{request: r, scheme: scheme, source: inHeader}
	var query string
	s.path, query, _ = strings.Cut(r.Target, "?")
	s.query = parsePairs(query)
	if strings.HasPrefix(r.Header.Get("Content-Type"), formType) {
		s.form = withPlusAsSpace(parsePairs(r.Body))
	}
	authorization := r.Header.Get("Authorization")
	if _, credentials, ok := strings.Cut(authorization, " "); ok && auth.Signed(authorization) {
		s.header = parseHeader(credentials)
	}
	switch s.oauth = s.header.oauth(); {
	case len(s.oauth) > 0:
	case len(s.form.oauth()) > 0:
		s.oauth, s.source = s.form.oauth(), inForm
	case len(s.query.oauth()) > 0:
		s.oauth, s.source = s.query.oauth(), inQuery
	}
	s.signature, s.method = s.oauth.value("oauth_signature"), s.oauth.value("oauth_signature_method")
	return s
}

// ignoredSources returns where there are OAuth parameters that do not count.
func (s *signed) ignoredSources() (where []string) {
	if s.source == inHeader && len(s.form.oauth()) > 0 {
		where = append(where, inForm)
	}
	if s.source != inQuery && len(s.query.oauth()) > 0 {
		where = append(where, inQuery)
	}
	return where
}

// parseHeader parses the parameters of an Authorization header without its scheme.
func parseHeader(credentials string) (all parameters) {
	for part := range strings.SplitSeq(credentials, ",") {
		name, raw, ok := strings.Cut(strings.TrimSpace(part), "=")
		inner, quoted := strings.CutPrefix(raw, `"`)
		if quoted {
			inner, quoted = strings.CutSuffix(inner, `"`)
		}
		if !quoted {
			inner = strings.Trim(raw, `"`)
		}
		all = append(all, parameter{name: decode(name), value: decode(inner), rawName: name, raw: inner, quoted: quoted, valid: ok})
	}
	return all
}

// parsePairs parses a query or a form-encoded body. A plus sign remains one.
func parsePairs(form string) (all parameters) {
	for pair := range strings.SplitSeq(form, "&") {
		if pair == "" {
			continue
		}
		name, raw, ok := strings.Cut(pair, "=")
		all = append(all, parameter{name: decode(name), value: decode(raw), rawName: name, raw: raw, valid: ok})
	}
	return all
}

// withPlusAsSpace returns parameters whose plus signs stand for spaces.
func withPlusAsSpace(all parameters) parameters {
	read := slices.Clone(all)
	for i := range read {
		p := &read[i]
		p.name, p.value = decode(strings.ReplaceAll(p.rawName, "+", " ")), decode(strings.ReplaceAll(p.raw, "+", " "))
	}
	return read
}

// decode decodes percent escapes; a text with an invalid one is returned as it is.
func decode(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		return decoded
	}
	return s
}

// escape encodes everything but the unreserved characters of RFC 3986.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// authRequest returns the request as package auth takes it.
func (s *signed) authRequest() *auth.Request {
	r := s.request
	return &auth.Request{
		Method: r.Method, Scheme: s.scheme, Host: r.Host, Target: r.Target, Authorization: r.Header.Get("Authorization"),
		ContentType: r.Header.Get("Content-Type"), Form: func() ([]byte, error) { return []byte(r.Body), nil },
	}
}

// base returns the base string of RFC 5849.
func (s *signed) base() string {
	return newVariant(s, &Secrets{}).base()
}

// origin returns the scheme and the host of the request as the base string has them.
func (s *signed) origin() string {
	return s.scheme + "://" + withoutDefaultPort(s.scheme, strings.ToLower(s.request.Host))
}

// with returns the way to sign s that makes mistakes.
func (s *signed) with(secrets *Secrets, made []mistake) *variant {
	v := newVariant(s, secrets)
	for _, m := range made {
		m.apply(v)
	}
	return v
}

// A variant is a way to sign a request. Mistakes change it.
type variant struct {
	method, origin, path string
	oauth, query, form   parameters
	name, value          func(*parameter) string // the encoded name and value of a parameter
	compare              func(a, b string) int   // the order of encoded names and values; nil: as sent
	lastOnly             bool                    // covered are the last value of a name, and pairs with one "="
	byNameOnly           bool                    // values of the same name are in the order in which they are sent
	encodeParameters     bool                    // the joined parameters are encoded once more
	encodeURL            bool
	lowerHex             bool
	key                  string
	credentials          parameters // the OAuth parameters, the signature included
	secrets              *Secrets
}

// newVariant returns the right way to sign s.
func newVariant(s *signed, secrets *Secrets) *variant {
	v := &variant{
		method: strings.ToUpper(s.request.Method), origin: s.origin(), path: s.path,
		encodeParameters: true, encodeURL: true, key: escape(secrets.Consumer) + "&" + escape(secrets.Token), credentials: s.oauth, secrets: secrets,
		name: func(p *parameter) string { return escape(p.name) }, value: func(p *parameter) string { return escape(p.value) }, compare: strings.Compare,
	}
	for _, p := range s.oauth {
		if p.name != "oauth_signature" {
			v.oauth = append(v.oauth, p)
		}
	}
	for _, p := range s.query {
		if !strings.HasPrefix(p.name, "oauth_") {
			v.query = append(v.query, p)
		}
	}
	for _, p := range s.form {
		if !strings.HasPrefix(p.name, "oauth_") {
			v.form = append(v.form, p)
		}
	}
	return v
}

// withoutDefaultPort returns a host without the default port of the scheme.
func withoutDefaultPort(scheme, host string) string {
	return strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[scheme])
}

// base returns the base string of a variant.
func (v *variant) base() string {
	type pair struct{ name, value string }
	var pairs []pair
	lists := []parameters{v.query, v.form, v.oauth}
	if v.lastOnly {
		lists = []parameters{v.form, v.query, v.oauth} // a parameter of the query overrides one of the body
	}
	for _, list := range lists {
		for i := range list {
			if p := &list[i]; !v.lastOnly || p.valid && !strings.Contains(p.raw, "=") {
				pairs = append(pairs, pair{v.name(p), v.value(p)})
			}
		}
	}
	if v.lastOnly {
		last := map[string]int{}
		for i, p := range pairs {
			last[p.name] = i
		}
		kept := pairs[:0]
		for i, p := range pairs {
			if last[p.name] == i {
				kept = append(kept, p)
			}
		}
		pairs = kept
	}
	if v.compare != nil {
		slices.SortStableFunc(pairs, func(a, b pair) int {
			if byName := cmp.Or(v.compare(a.name, b.name), strings.Compare(a.name, b.name)); byName != 0 || v.byNameOnly {
				return byName
			}
			return v.compare(a.value, b.value)
		})
	}
	joined := make([]string, len(pairs))
	for i, p := range pairs {
		joined[i] = p.name + "=" + p.value
	}
	address, normalized := v.origin+v.path, strings.Join(joined, "&")
	if v.encodeURL {
		address = escape(address)
	}
	if v.encodeParameters {
		normalized = escape(normalized)
	}
	base := v.method + "&" + address + "&" + normalized
	if v.lowerHex {
		base = lowerEscapes(base)
	}
	return base
}

// lowerEscapes returns s with the hexadecimal digits of its escapes in lower case.
func lowerEscapes(s string) string {
	out := []byte(s)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:i+3], strings.ToLower(string(out[i+1:i+3])))
		}
	}
	return string(out)
}

// signature returns the HMAC-SHA1 signature of a variant.
func (v *variant) signature() string {
	mac := hmac.New(sha1.New, []byte(v.key))
	mac.Write([]byte(v.base()))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
