package contract

import (
	"bytes"
	"net/url"
	"strings"
)

// ReplaceBase replaces every occurrence of a base URL in text with word. It finds the
// URL in plain, JSON-escaped and form-encoded spelling, and only where host and port
// end: http://h:80 does not match in http://h:8080. An empty base matches nothing.
func ReplaceBase(text []byte, base, word string) []byte {
	base = strings.TrimRight(base, "/")
	if base == "" {
		return text
	}
	for _, spelled := range []string{base, strings.ReplaceAll(base, "/", `\/`), url.QueryEscape(base)} {
		text = replaceWhole(text, spelled, word)
	}
	return text
}

func replaceWhole(text []byte, base, word string) []byte {
	if !bytes.Contains(text, []byte(base)) {
		return text
	}
	out := make([]byte, 0, len(text))
	for {
		before, after, found := bytes.Cut(text, []byte(base))
		out = append(out, before...)
		switch {
		case !found:
			return out
		case len(after) > 0 && extendsHost(after[0]):
			out = append(out, base...)
		default:
			out = append(out, word...)
		}
		text = after
	}
}

// extendsHost reports whether c could continue a host name or a port.
func extendsHost(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ':' || c == '.' || c == '-'
}
