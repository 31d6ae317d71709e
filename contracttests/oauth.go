package contracttests

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" // #nosec G505 -- the contract's signature method, and sound inside an HMAC
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A parameter is a name and its value, both decoded.
type parameter struct{ name, value string }

// oauth returns the parameters that every signed request has besides its signature.
func (c Credentials) oauth(t Token, method Signature) []parameter {
	return []parameter{
		{"oauth_version", "1.0"},
		{"oauth_signature_method", string(method)},
		{"oauth_consumer_key", c.Consumer.Key},
		{"oauth_token", t.Token},
	}
}

// oauthHeader returns the value of an Authorization header with the parameters.
func oauthHeader(ps []parameter) string {
	parts := make([]string, len(ps))
	for i, p := range ps {
		parts[i] = fmt.Sprintf(`%s="%s"`, p.name, escape(p.value))
	}
	return "OAuth " + strings.Join(parts, ", ")
}

// signHMAC returns the value of the Authorization header that signs r, once: the
// nonce is never used again.
func (c Credentials) signHMAC(t Token, srv server, r *request) string {
	return c.signHMACWith(t, srv, r, rand.Text(), strconv.FormatInt(time.Now().Unix(), 10))
}

func (c Credentials) signHMACWith(t Token, srv server, r *request, nonce, timestamp string) string {
	own := append(c.oauth(t, HMACSHA1), parameter{"oauth_nonce", nonce}, parameter{"oauth_timestamp", timestamp})
	mac := hmac.New(sha1.New, []byte(escape(c.Consumer.Secret)+"&"+escape(t.Secret)))
	mac.Write([]byte(baseString(srv, r, own)))
	return oauthHeader(append(own, parameter{"oauth_signature", base64.StdEncoding.EncodeToString(mac.Sum(nil))}))
}

// baseString returns what is signed (wire 12): the method, the URL without its query,
// and all parameters sorted by encoded name, of each name the last.
func baseString(srv server, r *request, own []parameter) string {
	path, query, _ := strings.Cut(r.target, "?")
	if isAbsolute(path) {
		_, path, _ = strings.Cut(path, "://")
		_, path, _ = strings.Cut(path, "/")
		path = "/" + path
	}
	host := strings.ToLower(r.host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[srv.scheme])

	values := map[string]string{}
	for _, p := range slices.Concat(bodyParameters(r), queryParameters(query), own) {
		values[escape(p.name)] = escape(p.value)
	}
	pairs := make([]string, 0, len(values))
	for name, value := range values {
		pairs = append(pairs, name+"="+value)
	}
	// By name alone: the "=" after a name sorts behind the digits of a longer one.
	slices.SortFunc(pairs, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	})
	return r.method + "&" + escape(srv.scheme+"://"+host+path) + "&" + escape(strings.Join(pairs, "&"))
}

// queryParameters returns those of a query that the original signs: pairs with
// exactly one "=", in which a plus is a plus.
func queryParameters(query string) []parameter {
	var all []parameter
	for pair := range strings.SplitSeq(query, "&") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || strings.Contains(value, "=") || strings.Contains(name, "oauth_") {
			continue
		}
		all = append(all, parameter{unescape(name), unescape(value)})
	}
	return all
}

// bodyParameters returns those of an urlencoded body. Other bodies are not signed.
func bodyParameters(r *request) []parameter {
	if r.body == nil {
		return nil
	}
	urlencoded := slices.ContainsFunc(r.headers, func(h header) bool {
		media, _, _ := strings.Cut(foldMedia(h.value), ";")
		return strings.EqualFold(h.name, "Content-Type") && media == "application/x-www-form-urlencoded"
	})
	if !urlencoded {
		return nil
	}
	var all []parameter
	for pair := range strings.SplitSeq(*r.body, "&") {
		name, value, _ := strings.Cut(strings.ReplaceAll(pair, "+", " "), "=")
		if name != "" && !strings.Contains(name, "oauth_") {
			all = append(all, parameter{unescape(name), unescape(value)})
		}
	}
	return all
}

// unescape decodes percent escapes; a text with a broken one stays as it is.
func unescape(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		return decoded
	}
	return s
}

// escape encodes all but the unreserved characters of RFC 3986.
func escape(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}
