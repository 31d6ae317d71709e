package auth

import (
	"net/url"
	"strconv"
	"strings"
)

const (
	// OutOfBand is the callback of programs without a URL: their users copy the verifier by
	// hand.
	OutOfBand = "oob"
	// maxCallbackLength is the maximum length of a callback in bytes.
	maxCallbackLength = 2048
)

// ValidCallback reports whether text can be a callback (wire 13): an absolute HTTP URL with
// any path and query.
func ValidCallback(text string) bool {
	if len(text) > maxCallbackLength {
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

// Callback adds parameters to the query of a valid callback. Each parameter is a name and a
// value joined by "=", neither of which needs escapes.
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
