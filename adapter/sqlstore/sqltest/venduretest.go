//go:build linux

package sqltest

import (
	"net/http"
	"testing"
)

// A Vendure is a running server with an empty shop.
type Vendure struct {
	URL string `json:"url"`
	// User and Password are the credentials of the superadministrator.
	User     string `json:"user"`
	Password string `json:"password"`
	Location string `json:"location"` // id of the stock location
	Imported string `json:"imported"` // state of orders that were imported from a legacy store

	authorization string
}

// StartVendure starts a Vendure that ends with the test, or returns the running one that
// PORTICO_TEST_VENDURE names. It skips the test if the environment requests neither.
func StartVendure(tb testing.TB) *Vendure {
	tb.Helper()
	v := &Vendure{}
	StartLive(tb, "vendure", v)
	return v
}

// Vars returns the variables of the mapping.
func (v *Vendure) Vars() map[string]string {
	return map[string]string{"location": v.Location, "imported": v.Imported}
}

// Call sends an administrator's GraphQL request and returns its data, with numbers as
// json.Number. It fails the test if the response has errors. It is not safe for concurrent use.
func (v *Vendure) Call(tb testing.TB, query string, variables map[string]any) map[string]any {
	tb.Helper()
	if v.authorization == "" {
		header, _ := v.send(tb, "mutation ($user: String!, $password: String!) { login(username: $user, password: $password) { __typename } }",
			map[string]any{"user": v.User, "password": v.Password})
		v.authorization = "Bearer " + header.Get("vendure-auth-token")
	}
	_, data := v.send(tb, query, variables)
	return data
}

func (v *Vendure) send(tb testing.TB, query string, variables map[string]any) (http.Header, map[string]any) {
	tb.Helper()
	var reply map[string]any
	header, err := SendLive(tb, http.MethodPost, v.URL+"/admin-api", v.authorization, map[string]any{"query": query, "variables": variables}, &reply)
	data, ok := reply["data"].(map[string]any)
	if err != nil || !ok || reply["errors"] != nil {
		tb.Fatalf("%s: %v, %v", query, err, reply["errors"])
	}
	return header, data
}
