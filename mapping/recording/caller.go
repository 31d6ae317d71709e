package recording

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// Signed reports whether a request claims to be signed, in its Authorization header
// or in its query.
func Signed(r *http.Request) bool {
	return isOAuth(r.Header.Get("Authorization")) || consumerKey(r) != ""
}

func isOAuth(authorization string) bool {
	const scheme = "oauth "
	return len(authorization) >= len(scheme) && strings.EqualFold(authorization[:len(scheme)], scheme)
}

// Consumers that have no key.
const (
	guest     = "guest"
	unnamed   = "unnamed" // signed, without a key that can be shown
	otherName = "other"   // one of too many
)

// shownKey is how much of a consumer's key is shown.
const shownKey = 8

// consumerOf names the consumer that a request says it is from: the beginning of its
// key.
func consumerOf(r *http.Request) string {
	if !Signed(r) {
		return guest
	}
	key := consumerKey(r)
	key = key[:min(len(key), shownKey)]
	if key == "" || strings.Trim(key, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") != "" {
		return unnamed
	}
	return key
}

// consumerKey returns the key of the consumer, "" where there is none.
func consumerKey(r *http.Request) string {
	const name = "oauth_consumer_key"
	if authorization := r.Header.Get("Authorization"); isOAuth(authorization) {
		for part := range strings.SplitSeq(authorization[len("oauth "):], ",") {
			if key, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok && key == name {
				if text, err := url.PathUnescape(strings.Trim(value, `"`)); err == nil {
					return text
				}
			}
		}
	}
	if !strings.Contains(r.URL.RawQuery, name) {
		return ""
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if key, value, ok := strings.Cut(pair, "="); ok && key == name {
			return contract.FormDecode(value)
		}
	}
	return ""
}
