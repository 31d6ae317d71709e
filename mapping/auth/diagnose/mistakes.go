package diagnose

import (
	"crypto/subtle"
	"net/url"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/mapping/auth"
)

// A mistake is a usual one in signing.
type mistake struct {
	code string
	// about groups mistakes of which only one can be made at a time.
	about   string
	message string
	apply   func(*variant)
}

// mistakes returns the usual mistakes in signing, the likeliest of each group first.
func mistakes(s *signed, o *Options) []mistake {
	all := []mistake{
		{"query_left_out", "query", "Sign the parameters of the query, too.", func(v *variant) { v.query = nil }},
		{"query_in_url", "query", "The query belongs among the parameters of the base string, not into its URL.", func(v *variant) {
			_, query, _ := strings.Cut(s.request.Target, "?")
			v.query, v.path = nil, v.path+"?"+query
		}},
		{"query_in_url_too", "query", "The query belongs only among the parameters of the base string, not also into its URL.", func(v *variant) {
			_, query, _ := strings.Cut(s.request.Target, "?")
			v.path += "?" + query
		}},
		{"form_left_out", "form", "Sign the parameters of the form-encoded body, too.", func(v *variant) { v.form = nil }},
		{"body_signed", "form", "Only a body whose Content-Type is " + formType + " is signed; this one is not.", func(v *variant) {
			if len(v.form) == 0 {
				v.form = parsePairs(s.request.Body)
			}
		}},
		{"scheme", "scheme", "The URL of the base string has the other scheme of http and https. Behind a proxy that ends TLS, see trusted_proxies and public_url.", func(v *variant) {
			scheme, rest, _ := strings.Cut(v.origin, "://")
			other := map[string]string{"http": "https", "https": "http"}[scheme]
			v.origin = other + "://" + withoutDefaultPort(other, rest)
		}},
		{"default_port", "port", "The URL of the base string has the default port; leave it out.", func(v *variant) {
			scheme, rest, _ := strings.Cut(v.origin, "://")
			v.origin = scheme + "://" + rest + map[string]string{"http": ":80", "https": ":443"}[scheme]
		}},
		{"port_left_out", "port", "The URL of the base string lacks the port.", func(v *variant) { v.origin = withoutPort(v.origin) }},
		{"host_case", "host", "The host in the base string must be in lower case.", func(v *variant) {
			v.origin = strings.Replace(v.origin, strings.ToLower(s.request.Host), s.request.Host, 1)
		}},
		{"path_decoded", "path", "The path in the base string must be as it is sent, with its percent escapes.", func(v *variant) { v.path = decode(v.path) }},
		{"slash_added", "path", "The path in the base string has a slash at its end that the request lacks.", func(v *variant) { v.path = strings.TrimRight(v.path, "/") + "/" }},
		{"slash_left_out", "path", "The path in the base string lacks the slash at the end of the request's.", func(v *variant) { v.path = strings.TrimRight(v.path, "/") }},
		{"api_left_out", "path", "The path in the base string lacks /api/rest.", func(v *variant) { v.path = strings.Replace(v.path, "/api/rest", "", 1) }},
		{"ampersand", "key", "The key of the HMAC lacks the ampersand between the secrets, which is there even if the token secret is empty.", func(v *variant) { v.key = escape(v.secrets.Consumer) + escape(v.secrets.Token) }},
		{"token_secret_left_out", "key", "The key of the HMAC lacks the token secret after the ampersand.", func(v *variant) { v.key = escape(v.secrets.Consumer) + "&" }},
		{"consumer_secret_alone", "key", "The key of the HMAC is the consumer secret alone; an ampersand and the token secret must follow.", func(v *variant) { v.key = escape(v.secrets.Consumer) }},
		{"token_secret_alone", "key", "The key of the HMAC lacks the consumer secret before the ampersand.", func(v *variant) { v.key = "&" + escape(v.secrets.Token) }},
		{"secrets_swapped", "key", "The consumer secret must come first in the key of the HMAC, then the token secret.", func(v *variant) { v.key = escape(v.secrets.Token) + "&" + escape(v.secrets.Consumer) }},
		{"secrets_not_encoded", "key", "The secrets must be percent-encoded in the key of the HMAC.", func(v *variant) { v.key = v.secrets.Consumer + "&" + v.secrets.Token }},
		{"key_for_secret", "key", "The key of the HMAC has the consumer key in the place of the consumer secret.", func(v *variant) {
			v.key = escape(v.credentials.value("oauth_consumer_key")) + "&" + escape(v.secrets.Token)
		}},
		{"token_for_secret", "key", "The key of the HMAC has the token in the place of the token secret.", func(v *variant) {
			v.key = escape(v.secrets.Consumer) + "&" + escape(v.credentials.value("oauth_token"))
		}},
		{"values_not_encoded", "values", "Names and values must be percent-encoded before they are joined, and the result once more.", func(v *variant) {
			v.value = func(p *parameter) string { return p.value }
		}},
		{"values_encoded_twice", "values", "The values are percent-encoded once too often: decode what is sent before it is signed.", func(v *variant) {
			v.value = func(p *parameter) string { return escape(escape(p.value)) }
		}},
		{"non_ascii_encoded_twice", "values", "The bytes of non-ASCII characters are encoded as if each were a character: decode the value as UTF-8 before it is signed.", func(v *variant) {
			v.value = func(p *parameter) string { return escape(fromLatin1(p.value)) }
		}},
		{"names_not_encoded", "names", "The names of parameters must be percent-encoded, too, before they are joined with the values.", func(v *variant) {
			v.name = func(p *parameter) string { return p.name }
		}},
		{"names_encoded_twice", "names", "The names of parameters are percent-encoded once too often: decode what is sent before it is signed.", func(v *variant) {
			v.name = func(p *parameter) string { return escape(escape(p.name)) }
		}},
		{"nested_as_object", "names", "A parameter with brackets in its name is signed as the text [object Object]: sign the name and the value as they are sent.", nestedAsObject},
		{"index_left_out", "names", "The indexes are missing in names such as a[1], which are signed as a[]: sign the name as it is sent.", func(v *variant) {
			v.name = func(p *parameter) string { return escape(index.ReplaceAllString(p.name, "[]")) }
		}},
		{"first_value_only", "repeated", "Only the first value of a repeated parameter is signed: sign all.", func(v *variant) {
			seen := map[string]bool{}
			v.query = slices.DeleteFunc(slices.Clone(v.query), func(p parameter) bool {
				again := seen[p.name]
				seen[p.name] = true
				return again
			})
		}},
		{"repeated_indexed", "repeated", "The values of a repeated parameter are signed with an index in the name, such as a[0]: sign the name as it is sent.", repeatedIndexed},
		{"as_sent", "values", "Names and values must be decoded, and then percent-encoded in the base string, instead of signed as they are sent.", signAsSent},
		{"question_mark", "values", "The question mark before the query is no part of the first parameter, and names and values must be decoded and then percent-encoded.", questionMark},
		{"space_as_plus", "values", "A space must be encoded as %20 in the base string, not as a plus sign.", func(v *variant) {
			v.value = func(p *parameter) string { return url.QueryEscape(p.value) }
		}},
		{"plus_as_space", "plus", "A plus sign in the query is a plus sign in the base string: send spaces as %20, or set auth.plus_as_space on the server.", plusAsSpace},
		{"plus_kept", "plus", "A plus sign in the form-encoded body is a space in the base string: send plus signs as %2B.", func(v *variant) {
			v.form = slices.Clone(v.form)
			for i := range v.form {
				v.form[i].name, v.form[i].value = decode(v.form[i].rawName), decode(v.form[i].raw)
			}
		}},
		{"parameters_not_encoded", "normalized", "The joined parameters must be percent-encoded as a whole.", func(v *variant) { v.encodeParameters = false }},
		{"url_not_encoded", "url", "The URL must be percent-encoded in the base string.", func(v *variant) { v.encodeURL = false }},
		{"values_not_sorted", "order", "The parameters must be sorted by name, then by value.", func(v *variant) { v.byNameOnly = true }},
		{"not_sorted", "order", "The parameters must be sorted by name, then by value.", func(v *variant) { v.compare = nil }},
		{"lower_case_escapes", "hex", "The hexadecimal digits of percent escapes must be in upper case.", func(v *variant) { v.lowerHex = true }},
		{"method_case", "method", "The method must be in upper case in the base string.", func(v *variant) { v.method = strings.ToLower(v.method) }},
		{"token_left_out", "token", "Sign oauth_token, too.", without("oauth_token")},
		{"version_left_out", "version", "Sign oauth_version, too, if it is sent.", without("oauth_version")},
		{"nonce_left_out", "nonce", "Sign oauth_nonce, too.", without("oauth_nonce")},
		{"signature_signed", "signature", "oauth_signature itself is not signed.", func(v *variant) {
			v.oauth = append(slices.Clone(v.oauth), parameter{name: "oauth_signature"})
		}},
		{"realm_signed", "realm", "The realm of the header is not signed.", func(v *variant) {
			for _, p := range s.header {
				if p.name == "realm" {
					v.oauth = append(slices.Clone(v.oauth), p)
				}
			}
		}},
	}
	for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
		all = append(all, mistake{"method", "method", "The base string has the method " + method + ", not that of the request.", func(v *variant) { v.method = method }})
	}
	if u := o.PublicURL; u != nil && len(u.Path) > 1 {
		base := strings.TrimRight(u.EscapedPath(), "/")
		all = append(all,
			mistake{"base_path_left_out", "path", "The path in the base string lacks that of public_url.", func(v *variant) { v.path = strings.TrimPrefix(v.path, base) }},
			mistake{"base_path_added", "path", "The path in the base string has that of public_url, which the request lacks.", func(v *variant) { v.path = base + v.path }})
	}
	return all
}

// plusAsSpace reads plus signs in the query as spaces.
func plusAsSpace(v *variant) { v.query = withPlusAsSpace(v.query) }

// acceptedWays returns the ways to sign s that a server accepts, in the form of mistakes. The first
// way follows RFC 5849. Each of the others has another base string than the ways before it.
func acceptedWays(s *signed, o *Options) [][]mistake {
	natural := mistake{"natural_order", "order", "The parameters are sorted in natural order, in which a2 comes before a10, as the original does it. It is accepted; so is the order by bytes of RFC 5849, which the base string below has.", func(v *variant) { v.compare = auth.CompareNatural }}
	plus := mistake{"plus_as_space", "plus", "A plus sign in the query is signed as a space. It is accepted because auth.plus_as_space is on.", plusAsSpace}
	candidates := [][]mistake{nil, {natural}}
	if o.PlusAsSpace {
		candidates = append(candidates, []mistake{plus}, []mistake{natural, plus})
	}
	var ways [][]mistake
	seen := map[string]bool{}
	for _, way := range candidates {
		if base := s.with(&Secrets{}, way).base(); !seen[base] {
			seen[base] = true
			ways = append(ways, way)
		}
	}
	return ways
}

// explainAccepted reports how an accepted signature deviates from RFC 5849.
func (r *Report) explainAccepted(s *signed, o *Options) {
	if s.method != "HMAC-SHA1" {
		return
	}
	origins := []string{s.origin()}
	if o.PublicURL != nil {
		origins = append(origins, o.PublicURL.Scheme+"://"+withoutDefaultPort(o.PublicURL.Scheme, strings.ToLower(o.PublicURL.Host)))
	}
	for _, origin := range origins {
		origins = append(origins, withoutPort(origin))
	}
	for _, way := range acceptedWays(s, o) {
		for _, lastOnly := range []bool{false, true} {
			for _, origin := range origins {
				v := s.with(o.Secrets, way)
				v.lastOnly, v.origin = lastOnly, origin
				if v.signature() == s.signature {
					r.acceptWay(way)
					return
				}
			}
		}
	}
}

// acceptWay adds a hint for each deviation of an accepted signature from RFC 5849.
func (r *Report) acceptWay(way []mistake) {
	for _, m := range way {
		r.hint(m.code, "%s", m.message)
	}
}

// without returns a change that leaves out an OAuth parameter.
func without(name string) func(*variant) {
	return func(v *variant) {
		v.oauth = slices.DeleteFunc(slices.Clone(v.oauth), func(p parameter) bool { return p.name == name })
	}
}

// withoutPort returns an origin without its port.
func withoutPort(origin string) string {
	if at := strings.LastIndexByte(origin, ':'); at > strings.LastIndexByte(origin, ']') && at > len("https") {
		return origin[:at]
	}
	return origin
}

// maxSearched is the size in bytes of the target and the body of a request for which pairs of
// mistakes are tried.
const maxSearched = 16 << 10

// findMistakes looks for the mistakes with which the signature fits.
func (r *Report) findMistakes(s *signed, o *Options) {
	code, _, _ := strings.Cut(r.Problem, "&")
	if s.method == "PLAINTEXT" {
		r.findPlaintextMistake(s, o.Secrets)
		return
	}
	if code != "signature_invalid" && code != "timestamp_refused" || s.method != "HMAC-SHA1" {
		return
	}
	given := strings.ReplaceAll(s.signature, " ", "+") // lost escapes are found elsewhere
	fits := func(way []mistake, made ...mistake) bool {
		for _, m := range made {
			if slices.ContainsFunc(way, func(w mistake) bool { return w.about == m.about }) {
				return false
			}
		}
		v := s.with(o.Secrets, slices.Concat(way, made))
		return subtle.ConstantTimeCompare([]byte(v.signature()), []byte(given)) == 1
	}
	ways, all := acceptedWays(s, o), mistakes(s, o)
	for _, way := range ways {
		if fits(way) {
			if code == "signature_invalid" {
				r.fault("signature_altered", "The signature is right, but is not sent as it was computed.")
			}
			r.acceptWay(way)
			return
		}
	}
	for _, way := range ways {
		for _, m := range all {
			if fits(way, m) {
				r.nameMistakes(way, m)
				return
			}
		}
	}
	if made := libraryMistakes(all, func(made ...mistake) bool { return fits(nil, made...) }); made != nil {
		r.nameMistakes(nil, made...)
		return
	}
	if len(s.request.Target)+len(s.request.Body) <= maxSearched {
		for _, way := range ways {
			for i, one := range all {
				for _, other := range all[i+1:] {
					if one.about != other.about && fits(way, one, other) {
						r.nameMistakes(way, one, other)
						return
					}
				}
			}
		}
	}
	r.fault("signature", "The signature fits none of the usual mistakes: compare the secrets, and the base string below with the client's, character by character.")
}

// findPlaintextMistake looks for the mistake in a PLAINTEXT signature.
func (r *Report) findPlaintextMistake(s *signed, secrets *Secrets) {
	consumer, token := secrets.Consumer, secrets.Token
	for _, m := range []struct{ code, signature, message string }{
		{"token_secret_left_out", consumer + "&", "it lacks the token secret after the ampersand"},
		{"consumer_secret_alone", consumer, "it is the consumer secret alone; an ampersand and the token secret must follow"},
		{"ampersand", consumer + token, "it lacks the ampersand between the secrets"},
		{"secrets_swapped", token + "&" + consumer, "the consumer secret must come first"},
		{"key_for_secret", s.oauth.value("oauth_consumer_key") + "&" + token, "it has the consumer key in the place of the consumer secret"},
		{"token_for_secret", consumer + "&" + s.oauth.value("oauth_token"), "it has the token in the place of the token secret"},
		{"encoded_once_too_often", escape(consumer + "&" + token), "it is percent-encoded once too often"},
	} {
		if subtle.ConstantTimeCompare([]byte(m.signature), []byte(s.signature)) == 1 {
			r.fault(m.code, "The signature is wrong: %s.", m.message)
			return
		}
	}
	r.fault("secrets", "The signature has other secrets than those that are known here.")
}
