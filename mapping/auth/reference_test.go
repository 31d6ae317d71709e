package auth

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The functions here are a second, simple implementation of signature.go, with which the tests
// sign requests and compare results.

func escapeReference(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

func unescapeReference(s string) string {
	return regexp.MustCompile(`%[0-9A-Fa-f]{2}`).ReplaceAllStringFunc(s, func(escape string) string {
		b, _ := hex.DecodeString(escape[1:])
		return string(b)
	})
}

// baseReference returns the base string of a request to a URL without its query. oauth has
// complete parameter names.
func baseReference(method, address, query string, oauth map[string]string) string {
	protocol := regexp.MustCompile(`oauth_[a-z_-]+`)
	all := map[string]string{}
	for _, pair := range strings.Split(query, "&") {
		if p := strings.Split(pair, "="); len(p) == 2 && !protocol.MatchString(p[0]) {
			all[unescapeReference(p[0])] = unescapeReference(p[1])
		}
	}
	maps.Copy(all, oauth)
	delete(all, "oauth_signature")
	encoded := map[string]string{}
	var names []string
	for name, value := range all {
		encoded[escapeReference(name)] = escapeReference(value)
		names = append(names, escapeReference(name))
	}
	slices.Sort(names)
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, name+"="+encoded[name])
	}
	return method + "&" + escapeReference(address) + "&" + escapeReference(strings.Join(pairs, "&"))
}

func hmacReference(base, consumerSecret, tokenSecret string) string {
	mac := hmac.New(sha1.New, []byte(escapeReference(consumerSecret)+"&"+escapeReference(tokenSecret)))
	mac.Write([]byte(base))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signed returns f with a signature for a call to address with the administrator's secret.
func (f fields) signed(method, address, query string) fields {
	return f.signedWith(method, address, query, adminSecret)
}

// signedWith is signed with the secret of another token, "" for none.
func (f fields) signedWith(method, address, query, tokenSecret string) fields {
	return f.signedBy(method, address, query, consumerSecret, tokenSecret)
}

// signedBy is signed with the two given secrets.
func (f fields) signedBy(method, address, query, consumerSecret, tokenSecret string) fields {
	oauth := map[string]string{}
	for name, value := range f {
		oauth["oauth_"+name] = value
	}
	return f.with("signature", hmacReference(baseReference(method, address, query, oauth), consumerSecret, tokenSecret))
}
