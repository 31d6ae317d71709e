package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// credentialLength is the length in bytes of consumer keys and of tokens.
	credentialLength = 32
	// nonceLength is the number of significant characters of a nonce.
	nonceLength = 32
	// TimestampAhead is how far a client's clock may be ahead of this machine's.
	TimestampAhead = 10 * time.Minute
)

// failedNonceLife is how long a nonce that came with a wrong signature counts as used for the
// client that sent it.
const failedNonceLife = 10 * time.Minute

// consumer runs checks 1 to 7 and 9 and returns the consumer. settleNonce runs check 8.
func (a *Authenticator) consumer(ctx context.Context, c *call) (adapter.Consumer, error) {
	if err := a.checkParameters(c.oauth); err != nil {
		return adapter.Consumer{}, err
	}
	if c.oauth.text("oauth_signature_method") != methodPlaintext {
		timestamp, now := leadingInteger(c.oauth.text("oauth_timestamp")), a.now().Unix()
		if timestamp <= 0 || timestamp > now+int64(TimestampAhead/time.Second) || a.timestampMaxAge > 0 && timestamp < now-int64(a.timestampMaxAge/time.Second) {
			return adapter.Consumer{}, problem("timestamp_refused")
		}
		if !c.request.Again {
			c.nonce, c.timestamp = storedNonce(c.oauth.text("oauth_nonce")), timestamp
		}
	}
	consumer, known, err := a.cache.Load().consumers.get(ctx, c.oauth.text("oauth_consumer_key"))
	if err != nil {
		return adapter.Consumer{}, err
	}
	if !known {
		return adapter.Consumer{}, problem("consumer_key_rejected")
	}
	return consumer, nil
}

// checkParameters runs checks 1 to 6, which do not need the store.
func (a *Authenticator) checkParameters(oauth parameters) error {
	if version, sent := oauth.get("oauth_version"); sent && (version.list || !isOne(version.value)) {
		return problem("version_rejected")
	}
	for _, name := range [...]string{"oauth_consumer_key", "oauth_signature_method", "oauth_signature"} {
		if !oauth.isPresent(name) {
			return parameterAbsent(name)
		}
	}
	for _, p := range oauth {
		if p.list {
			return parameterRejected(p.name)
		}
	}
	if len(oauth.text("oauth_consumer_key")) != credentialLength {
		return problem("consumer_key_rejected")
	}
	switch oauth.text("oauth_signature_method") {
	case methodPlaintext:
		if a.refusePlaintext {
			return problem("signature_method_rejected")
		}
		return nil
	case methodHMAC, methodRSA:
	default:
		return problem("signature_method_rejected")
	}
	for _, name := range [...]string{"oauth_nonce", "oauth_timestamp"} {
		if !oauth.isPresent(name) {
			return parameterAbsent(name)
		}
	}
	return nil
}

// settleNonce runs check 8 for a call whose other checks ended with err, and returns the error of
// the call as a whole. Check 8 precedes all later checks, but only a valid signature uses up a
// nonce, so that other callers can neither use up a client's nonces nor fill the store. To the
// client itself a nonce must look used even after a wrong signature (wire 12), so such nonces are
// cached in memory for a while, by address, consumer and token.
func (a *Authenticator) settleNonce(ctx context.Context, c *call, err error) error {
	var store *adapter.Error
	if c.nonce == "" || errors.As(err, &store) { // do not ask a store that has just failed
		return err
	}
	failed := a.cache.Load().failedNonces
	attempt := strings.Join([]string{c.request.Client, c.oauth.text("oauth_consumer_key"), c.oauth.text("oauth_token"), c.nonce}, "\n")
	_, used := failed.load(attempt)
	var storeErr error
	switch {
	case used:
	case c.signatureValid:
		var fresh bool
		fresh, storeErr = a.nonces.Use(ctx, c.nonce, c.timestamp)
		used = !fresh
	default:
		used, storeErr = a.nonces.Used(ctx, c.nonce)
	}
	switch {
	case storeErr != nil:
		return fmt.Errorf("auth: check nonce: %w", storeErr)
	case used:
		return problem("nonce_used")
	case c.signatureInvalid:
		failed.store(attempt, entry[struct{}]{until: a.now().Add(failedNonceLife)})
	}
	return err
}

// token runs checks 10 to 13 and returns the token.
func (a *Authenticator) token(ctx context.Context, c *call, consumer adapter.Consumer) (adapter.Token, error) {
	text, err := tokenText(c)
	if err != nil {
		return adapter.Token{}, err
	}
	token, known, err := a.cache.Load().tokens.get(ctx, text)
	switch {
	case err != nil:
		return adapter.Token{}, err
	case !known || token.Type != adapter.AccessToken:
		return adapter.Token{}, problem("token_rejected")
	case token.Revoked:
		return adapter.Token{}, problem("token_revoked")
	case token.ConsumerID != consumer.ID:
		return adapter.Token{}, problem("token_rejected")
	}
	return token, nil
}

// tokenText runs check 10 and the part of check 11 that does not need the store.
func tokenText(c *call) (string, error) {
	if !c.oauth.isPresent("oauth_token") {
		return "", parameterAbsent("oauth_token")
	}
	text := c.oauth.text("oauth_token")
	if len(text) != credentialLength {
		return "", problem("token_rejected")
	}
	return text, nil
}

// isOne reports whether s is a decimal number equal to 1; surrounding blanks are ignored
// (check 1).
func isOne(s string) bool {
	s = strings.Trim(s, " \t\n\r\v\f")
	for i := 0; i < len(s); i++ {
		if strings.IndexByte("0123456789.+-eE", s[i]) < 0 {
			return false // no hexadecimal, no infinity, no underscores
		}
	}
	number, err := strconv.ParseFloat(s, 64)
	return err == nil && number == 1
}

// leadingInteger returns the integer that s begins with, or 0; leading blanks are ignored.
// Integers out of range are clamped.
func leadingInteger(s string) int64 {
	s = strings.TrimLeft(s, " \t\n\r\v\f")
	end := 0
	for end < len(s) && ('0' <= s[end] && s[end] <= '9' || end == 0 && (s[0] == '-' || s[0] == '+')) {
		end++
	}
	number, _ := strconv.ParseInt(s[:end], 10, 64) // clamped on overflow, 0 without digits
	return number
}

// storedNonce returns the part of a nonce that is stored (check 8b). Characters that a store
// cannot hold are replaced with U+FFFD.
func storedNonce(nonce string) string {
	nonce = strings.Map(func(r rune) rune {
		if r == 0 {
			return utf8.RuneError
		}
		return r
	}, nonce)
	count := 0
	for i := range nonce {
		if count == nonceLength {
			return nonce[:i]
		}
		count++
	}
	return nonce
}

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
