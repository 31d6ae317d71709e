package auth

import (
	"net/url"
	"strconv"
	"strings"
)

const (
	// OutOfBand is the callback of programs that no browser can be sent to: their
	// users copy the verifier.
	OutOfBand = "oob"
	// longestCallback bounds a callback, in bytes.
	longestCallback = 2048
)

// ValidCallback reports whether users can be sent to a URL (wire 13): an absolute one
// of HTTP, with whatever else there is in one.
func ValidCallback(text string) bool {
	if len(text) > longestCallback {
		return false
	}
	before, fragment, _ := strings.Cut(text, "#")
	if !validURI(before) || !validURI(fragment) {
		return false
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return false
	}
	if port := u.Port(); port != "" {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// Callback returns a valid callback with parameters added to its query, each a name
// and a value that need no escapes, joined by "=".
func Callback(callback string, parameters ...string) string {
	before, fragment, fragmented := strings.Cut(callback, "#")
	separator := "?"
	if strings.Contains(before, "?") {
		separator = "&"
	}
	before += separator + strings.Join(parameters, "&")
	if fragmented {
		before += "#" + fragment
	}
	return before
}
