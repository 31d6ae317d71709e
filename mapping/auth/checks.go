package auth

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// credentialLength is the length of a consumer key and of a token in bytes.
	credentialLength = 32
	// nonceLength is how many characters of a nonce count.
	nonceLength = 32
	// timestampAhead is how far a client's clock may be ahead, in seconds.
	timestampAhead = 600
)

// failedNonceLife is how long a nonce counts as used for a client whose signature with it
// was wrong.
const failedNonceLife = 10 * time.Minute

// consumer runs checks 1 to 7 and 9 and returns the consumer. Check 8 is left to
// settleNonce.
func (a *Authenticator) consumer(ctx context.Context, c *call) (adapter.Consumer, error) {
	if err := a.checkParameters(c.oauth); err != nil {
		return adapter.Consumer{}, err
	}
	if c.oauth.text("oauth_signature_method") != methodPlaintext {
		timestamp, now := leadingInteger(c.oauth.text("oauth_timestamp")), a.now().Unix()
		if timestamp <= 0 || timestamp > now+timestampAhead || a.timestampMaxAge > 0 && timestamp < now-int64(a.timestampMaxAge/time.Second) {
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

// checkParameters runs checks 1 to 6, which need no store.
func (a *Authenticator) checkParameters(oauth parameters) error {
	if version, sent := oauth.get("oauth_version"); sent && (version.list || !isOne(version.value)) {
		return problem("version_rejected")
	}
	for _, name := range [...]string{"oauth_consumer_key", "oauth_signature_method", "oauth_signature"} {
		if !oauth.filled(name) {
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
		if !oauth.filled(name) {
			return parameterAbsent(name)
		}
	}
	return nil
}

// settleNonce runs check 8 for a call whose other checks ended with err, nil for none,
// and returns what is wrong with the call as a whole. Check 8 comes before all that follow
// it, but a nonce is used up only by a signature that is valid: nobody else can use up a
// client's nonces, or fill the store. To the client itself it must look as if its nonce
// had been used up by a signature that was wrong (wire 12), so that is remembered for a
// while: by address, consumer and token, and not in the store.
func (a *Authenticator) settleNonce(ctx context.Context, c *call, err error) error {
	var store *adapter.Error
	if c.nonce == "" || errors.As(err, &store) { // a store that does not answer is not asked again
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

// tokenText runs check 10 and, of check 11, what needs no store.
func tokenText(c *call) (string, error) {
	if !c.oauth.filled("oauth_token") {
		return "", parameterAbsent("oauth_token")
	}
	text := c.oauth.text("oauth_token")
	if len(text) != credentialLength {
		return "", problem("token_rejected")
	}
	return text, nil
}

// isOne reports whether s is a decimal number equal to 1, blanks around it
// aside (check 1).
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

// leadingInteger returns the whole number s begins with, blanks before it
// aside, or 0. What does not fit is cut to what does.
func leadingInteger(s string) int64 {
	s = strings.TrimLeft(s, " \t\n\r\v\f")
	end := 0
	for end < len(s) && ('0' <= s[end] && s[end] <= '9' || end == 0 && (s[0] == '-' || s[0] == '+')) {
		end++
	}
	number, _ := strconv.ParseInt(s[:end], 10, 64) // on overflow the nearest one, without digits 0
	return number
}

// storedNonce returns the part of a nonce that is stored (check 8b). What no
// store can hold becomes U+FFFD.
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
