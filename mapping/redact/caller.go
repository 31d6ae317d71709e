package redact

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// Signed reports whether a request carries OAuth parameters, in its Authorization header or
// in its query.
func Signed(r *http.Request) bool {
	return isOAuth(r.Header.Get("Authorization")) || consumerKey(r) != ""
}

func isOAuth(authorization string) bool {
	const scheme = "oauth "
	return len(authorization) >= len(scheme) && strings.EqualFold(authorization[:len(scheme)], scheme)
}

// Names of the consumers of requests without a consumer key that can be shown.
const (
	Guest   = "guest"
	Unnamed = "unnamed" // signed, but with a key that cannot be shown
)

// shownKeyLength is the number of characters of a consumer key that are shown.
const shownKeyLength = 8

// Consumer returns the name under which a request's consumer is shown: the beginning of the
// key it claims, [Guest] or [Unnamed]. Anyone can claim a key, so the number of names has no
// bound.
func Consumer(r *http.Request) string {
	if !Signed(r) {
		return Guest
	}
	return KeyName(consumerKey(r))
}

// KeyName returns the name of a consumer with a key, as [Consumer] does.
func KeyName(key string) string {
	key = key[:min(len(key), shownKeyLength)]
	if key == "" || !isKey(key) {
		return Unnamed
	}
	return key
}

// isKey reports whether s has only characters of keys.
func isKey(s string) bool {
	return strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") == ""
}

// consumerKey returns the consumer key of a request, or "" without one.
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
