package auth

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- the contract's signature method, and sound inside an HMAC
	"crypto/subtle"
	"encoding/base64"
	"hash"
	"slices"
)

// The values of oauth_signature_method (wire 12, check 5).
const (
	methodHMAC      = "HMAC-SHA1"
	methodPlaintext = "PLAINTEXT"
	methodRSA       = "RSA-SHA1"
)

// equal compares a signature with the expected one in constant time.
func equal(given, right []byte) bool { return subtle.ConstantTimeCompare(given, right) == 1 }

// verifyHMAC reports whether given is the HMAC-SHA1 signature of the request for one of the
// origins. normalized is the result of [normalize].
func verifyHMAC(given, consumerSecret, tokenSecret, method string, origins []string, path string, normalized []byte) bool {
	mac := newMAC(consumerSecret, tokenSecret)
	var (
		sum  [sha1.Size]byte
		text [28]byte // sha1.Size bytes in base64
	)
	base := make([]byte, 0, len(method)+len(path)+len(normalized)+128)
	for _, origin := range origins {
		mac.Reset()
		base = appendBaseString(base[:0], method, origin, path, normalized)
		mac.Write(base)
		base64.StdEncoding.Encode(text[:], mac.Sum(sum[:0]))
		if equal([]byte(given), text[:]) {
			return true
		}
	}
	return false
}

// newMAC returns an HMAC-SHA1 keyed with the two secrets (wire 12).
func newMAC(consumerSecret, tokenSecret string) hash.Hash {
	key := appendEscaped(nil, consumerSecret)
	key = append(key, '&')
	return hmac.New(sha1.New, appendEscaped(key, tokenSecret))
}

// appendBaseString appends the signature base string (wire 12).
func appendBaseString(dst []byte, method, origin, path string, normalized []byte) []byte {
	dst = append(dst, method...)
	dst = append(dst, '&')
	dst = appendEscaped(dst, origin)
	dst = appendEscaped(dst, path)
	dst = append(dst, '&')
	return append(dst, normalized...)
}

// normalize returns the third part of the base string: the parameters sorted by encoded name in the
// order of the rule, only the last one of each name, each encoded, and the result encoded again. If
// every pair is covered, all parameters of a name count, sorted by encoded value, but only the last
// one of each OAuth parameter does. It sorts all in place.
func normalize(all parameters, r rule) []byte {
	if r.natural {
		sortNaturally(all, r.everyPair)
	} else {
		slices.SortStableFunc(all, func(a, b parameter) int {
			order := compareEscaped(a.name, b.name)
			if order == 0 && r.everyPair && !isOAuth(a.name) {
				order = compareEscaped(a.value, b.value)
			}
			return order
		})
	}
	size := 0
	for _, p := range all {
		size += len(p.name) + len(p.value) + len("%3D%26")
	}
	normalized := make([]byte, 0, size+size/2)
	for i, p := range all {
		if i+1 < len(all) && all[i+1].name == p.name && (!r.everyPair || isOAuth(p.name)) {
			continue
		}
		if len(normalized) > 0 {
			normalized = append(normalized, "%26"...)
		}
		normalized = appendEscapedTwice(normalized, p.name)
		normalized = append(normalized, "%3D"...)
		normalized = appendEscapedTwice(normalized, p.value)
	}
	return normalized
}

// compareEscaped compares a and b by their order after encoding: an escape begins with "%",
// which sorts before all unreserved characters, and escapes sort like the bytes they encode.
func compareEscaped(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		if plain := isUnreserved(a[i]); plain != isUnreserved(b[i]) {
			if plain {
				return +1
			}
			return -1
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

// appendEscaped appends s with everything except the unreserved characters of RFC 3986
// percent-encoded.
func appendEscaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; isUnreserved(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// appendEscapedTwice appends s percent-encoded twice.
func appendEscapedTwice(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; isUnreserved(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', '2', '5', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

const upperHex = "0123456789ABCDEF"

func isUnreserved(c byte) bool {
	return isAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~'
}
