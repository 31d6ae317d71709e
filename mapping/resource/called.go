package resource

import (
	"context"
	"net/http"
	"net/url"

	"github.com/portico-commerce/portico/mapping/contract"
)

// calledKey is the context key of a called.
type calledKey struct{}

// A called is the path of a request before its script was cut off.
type called struct {
	script contract.Script
	path   string // encoded
}

// CutScript returns r as if its client had called the interface itself, at path behind, which is encoded
// and has no escapes that the path of r lacks. RequestURI, which clients sign, does not change.
func CutScript(r *http.Request, script contract.Script, behind string) *http.Request {
	below, address := r.WithContext(context.WithValue(r.Context(), calledKey{}, called{script, r.URL.EscapedPath()})), *r.URL
	address.RawPath = behind
	address.Path = unescaped(behind)
	below.URL = &address
	return below
}

// ScriptOf returns the script that the client of r called.
func ScriptOf(r *http.Request) contract.Script {
	c, _ := r.Context().Value(calledKey{}).(called)
	return c.script
}

// CalledURI returns the path and the query that the client of r called, below the base path.
func CalledURI(r *http.Request) string {
	c, ok := r.Context().Value(calledKey{}).(called)
	if !ok {
		return r.URL.RequestURI()
	}
	address := *r.URL
	address.Path, address.RawPath = unescaped(c.path), c.path
	return address.RequestURI()
}

// unescaped returns a valid encoded path without its escapes.
func unescaped(path string) string {
	text, err := url.PathUnescape(path)
	if err != nil {
		return path // never: it comes from a URL
	}
	return text
}
