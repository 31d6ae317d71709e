package contract

import (
	"net/http"
	"strings"
)

// Base is the path that those of all routes follow. Elsewhere below apiPrefix the
// word in the place of restType names another kind of interface, which only looks
// like this one.
const (
	Base      = apiPrefix + restType
	apiPrefix = "/api/"
	restType  = "rest"
)

// An Address is what a request is for.
type Address struct {
	APIType string // what stands in the place of "rest"
	Route   *Route // nil when no route matches
	Params  Params
	Method  Method
	Known   bool // Method is one of the contract's
	Reads   bool // the request asks, and changes nothing
}

// Address returns the address of a request by its method and its path, still
// encoded. ok is false for paths that do not belong to the interface (wire 2); then
// the address tells of the method alone.
func (t *Table) Address(method, path string) (a Address, ok bool) {
	a.Method, a.Known = ParseMethod(method)
	a.Reads = a.Method == GET || method == http.MethodHead || method == http.MethodOptions
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

// IsREST reports whether the address is of this interface, whatever its route.
func (a *Address) IsREST() bool { return a.APIType == restType }

// Name returns the name of the call, fit for a label: that of the route table, or
// "other" for what the table does not serve.
func (a *Address) Name() string {
	if a.Route == nil || !a.Known || a.Route.Calls[a.Method] == "" {
		return "other"
	}
	return a.Route.Calls[a.Method]
}
