package auth

import (
	"bytes"
	"slices"
	"strings"
)

// A rule defines the parameters that a signature covers, and their order. The zero value covers the
// same parameters as the original, sorted by bytes: the last value of each name, and from the query
// only pairs with exactly one "=" (wire 12).
type rule struct {
	// everyPair covers every pair, one without "=" with an empty value, as RFC 5849 says
	// (3.4.1.3) and as the libraries do that follow it. This is no less secure, because the
	// signature covers the whole request.
	everyPair bool
	// natural sorts in natural order, as the original and its PHP client do, and not by
	// bytes, as RFC 5849 says.
	natural bool
	// plusAsSpace reads a plus in the query as a space. The original keeps it.
	plusAsSpace bool
}

// rules returns the rules by which c may have been signed, at most eight.
func (a *Authenticator) rules(c *call) []rule {
	all := []rule{{}, {natural: true}, {everyPair: true}, {everyPair: true, natural: true}}
	if a.plusAsSpace && strings.Contains(c.query, "+") {
		for _, r := range all[:len(all):len(all)] {
			r.plusAsSpace = true
			all = append(all, r)
		}
	}
	return all
}

// verifyRules reports whether given is the HMAC-SHA1 signature of c under one of the rules for one
// of the origins. Most calls are the same under all rules, so that a wrong signature costs one
// comparison for each origin.
func (a *Authenticator) verifyRules(c *call, given, consumerSecret, tokenSecret string) bool {
	method, origins := strings.ToUpper(c.request.Method), a.candidateOrigins(c.request)
	var tried [][]byte
	for _, r := range a.rules(c) {
		normalized := normalize(c.signed(r), r)
		if slices.ContainsFunc(tried, func(t []byte) bool { return bytes.Equal(t, normalized) }) {
			continue
		}
		if verifyHMAC(given, consumerSecret, tokenSecret, method, origins, c.path, normalized) {
			return true
		}
		tried = append(tried, normalized)
	}
	return false
}

// signed returns the parameters that a signature covers under a rule. If of each name only the last
// value counts, a parameter of the query overrides one of the body, and an OAuth parameter overrides
// both.
func (c *call) signed(r rule) parameters {
	all := make(parameters, 0, strings.Count(c.form, "&")+strings.Count(c.query, "&")+2+len(c.oauth))
	all = appendSignedForm(all, c.form)
	all = appendSignedQuery(all, c.query, r)
	for _, p := range c.oauth {
		if p.name != "oauth_signature" {
			all = append(all, p)
		}
	}
	return all
}
