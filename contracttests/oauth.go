package contracttests

import (
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- the contract's signature method, and sound inside an HMAC
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A parameter is a name and a value, both decoded.
type parameter struct{ name, value string }

// oauthParameters returns the OAuth parameters that every signed request has, without the
// signature.
func (c Credentials) oauthParameters(t Token, method Signature) []parameter {
	return []parameter{
		{"oauth_version", "1.0"},
		{"oauth_signature_method", string(method)},
		{"oauth_consumer_key", c.Consumer.Key},
		{"oauth_token", t.Token},
	}
}

// oauthHeader returns the value of an OAuth Authorization header with the given
// parameters.
func oauthHeader(ps []parameter) string {
	parts := make([]string, len(ps))
	for i, p := range ps {
		parts[i] = fmt.Sprintf(`%s="%s"`, p.name, escape(p.value))
	}
	return "OAuth " + strings.Join(parts, ", ")
}

// signHMAC returns the value of an Authorization header that signs r with HMAC-SHA1. Each call needs
// a new nonce; timestamp is in Unix seconds.
func (c Credentials) signHMAC(t Token, srv server, r *request, nonce, timestamp string) string {
	params := append(c.oauthParameters(t, HMACSHA1), parameter{"oauth_nonce", nonce}, parameter{"oauth_timestamp", timestamp})
	mac := hmac.New(sha1.New, []byte(escape(c.Consumer.Secret)+"&"+escape(t.Secret)))
	mac.Write([]byte(baseString(srv, r, params)))
	return oauthHeader(append(params, parameter{"oauth_signature", base64.StdEncoding.EncodeToString(mac.Sum(nil))}))
}

// baseString returns the text that is signed (wire 12): the method, the URL without its
// query, and all parameters sorted by encoded name. If a name occurs several times, its
// last value counts.
func baseString(srv server, r *request, oauth []parameter) string {
	path, query, _ := strings.Cut(r.target, "?")
	if isAbsolute(path) {
		_, path, _ = strings.Cut(path, "://")
		_, path, _ = strings.Cut(path, "/")
		path = "/" + path
	}
	host := strings.ToLower(r.host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[srv.scheme])

	values := map[string]string{}
	for _, p := range slices.Concat(bodyParameters(r), queryParameters(query), oauth) {
		values[escape(p.name)] = escape(p.value)
	}
	pairs := make([]string, 0, len(values))
	for name, value := range values {
		pairs = append(pairs, name+"="+value)
	}
	// Compare only the names: "=" sorts after digits, so whole pairs would put a1 before a.
	slices.SortFunc(pairs, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	})
	return r.method + "&" + escape(srv.scheme+"://"+host+path) + "&" + escape(strings.Join(pairs, "&"))
}

// queryParameters returns the parameters of a query that the original signs: pairs with
// exactly one "=". A plus sign is not decoded to a blank.
func queryParameters(query string) []parameter {
	var signed []parameter
	for pair := range strings.SplitSeq(query, "&") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || strings.Contains(value, "=") || strings.Contains(name, "oauth_") {
			continue
		}
		signed = append(signed, parameter{unescape(name), unescape(value)})
	}
	return signed
}

// bodyParameters returns the parameters of a form-encoded body, and nil for other bodies,
// which are not signed.
func bodyParameters(r *request) []parameter {
	if r.body == nil {
		return nil
	}
	urlencoded := slices.ContainsFunc(r.headers, func(h header) bool {
		media, _, _ := strings.Cut(normalizeMediaType(h.value), ";")
		return strings.EqualFold(h.name, "Content-Type") && media == "application/x-www-form-urlencoded"
	})
	if !urlencoded {
		return nil
	}
	var signed []parameter
	for pair := range strings.SplitSeq(*r.body, "&") {
		name, value, _ := strings.Cut(strings.ReplaceAll(pair, "+", " "), "=")
		if name != "" && !strings.Contains(name, "oauth_") {
			signed = append(signed, parameter{unescape(name), unescape(value)})
		}
	}
	return signed
}

// unescape decodes percent escapes. It returns s unchanged if one of them is invalid.
func unescape(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		return decoded
	}
	return s
}

// escape percent-encodes all bytes but the unreserved characters of RFC 3986.
func escape(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}
