package contract

import (
	"bytes"
	"net/url"
	"strings"
)

// ReplaceBase returns a text with word in the place of a base URL, as text, JSON and
// forms spell it, and only where it ends: http://h:80 is no part of http://h:8080. An
// empty base is nowhere.
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
		case len(after) > 0 && goesOn(after[0]):
			out = append(out, base...)
		default:
			out = append(out, word...)
		}
		text = after
	}
}

// goesOn reports whether a host or a port may go on with c.
func goesOn(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ':' || c == '.' || c == '-'
}
