package contract

import (
	"net/http"
	"strings"
)

// Base is the path prefix of every route. A different word in the place of restType
// names another API type, which the contract recognizes but does not serve.
const (
	Base      = apiPrefix + restType
	apiPrefix = "/api/"
	restType  = "rest"
)

// An Address is the target of a request: its route, the parameters of its path and its
// method.
type Address struct {
	APIType  string // the path segment in the place of "rest"
	Route    *Route // nil when no route matches
	Params   Params
	Method   Method
	Known    bool // Method is one of the contract's four methods
	ReadOnly bool // the method is GET, HEAD or OPTIONS
}

// Address resolves the method and the path of a request; the path is still encoded. It
// reports false for a path outside the interface (wire 2); only the fields that describe
// the method are set then.
func (t *Table) Address(method, path string) (a Address, ok bool) {
	a.Method, a.Known = ParseMethod(method)
	a.ReadOnly = a.Method == GET || method == http.MethodHead || method == http.MethodOptions
	if !strings.HasPrefix(path, Base) {
		return a, false
	}
	rest := ""
	a.APIType, rest, _ = strings.Cut(path[len(apiPrefix):], "/")
	if a.APIType == restType {
		a.Route, a.Params = t.Match(rest)
	}
	return a, true
}

// Outside reports whether the path is outside the interface.
func (a *Address) Outside() bool { return a.APIType == "" }

// IsREST reports whether the request is for the REST API type, with or without a route.
func (a *Address) IsREST() bool { return a.APIType == restType }

// Name returns the name of the call, for use as a metric label: the name in the route
// table, or "other" for a request that the table does not serve.
func (a *Address) Name() string {
	if a.Route == nil || !a.Known || a.Route.Calls[a.Method] == "" {
		return "other"
	}
	return a.Route.Calls[a.Method]
}
