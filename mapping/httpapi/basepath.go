package httpapi

import (
	"context"
	"net/http"
	"strings"
)

// outsideBase is the context key that marks a request outside the base path.
type outsideBase struct{}

// Below returns the handler of a shop in a subdirectory. Requests below the base path, such
// as /shop, go to inside, which sees their paths without it; RequestURI, which clients sign,
// does not change. All other requests go to api, an engine on which Portico is mounted, which
// answers them with 404. Without a base path Below returns inside.
func Below(basePath string, inside, api http.Handler) http.Handler {
	if basePath == "" {
		return inside
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.EscapedPath(), basePath)
		if !ok || rest != "" && rest[0] != '/' {
			api.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), outsideBase{}, true)))
			return
		}
		below, address := r.WithContext(r.Context()), *r.URL
		if rest == "" {
			address.Path, address.RawPath = "/", ""
		} else {
			address.Path, address.RawPath = strings.TrimPrefix(address.Path, basePath), strings.TrimPrefix(address.RawPath, basePath)
		}
		below.URL = &address
		inside.ServeHTTP(w, below)
	})
}

// isOutside reports whether r is not below the base path.
func (a *API) isOutside(r *http.Request) bool {
	return a.BasePath != "" && r.Context().Value(outsideBase{}) != nil
}
