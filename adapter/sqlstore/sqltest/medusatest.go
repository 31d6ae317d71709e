//go:build linux

package sqltest

import (
	"net/http"
	"testing"
)

// A Medusa is a running server with an empty shop.
type Medusa struct {
	URL string `json:"url"`
	// User and Password are the credentials of an administrator.
	User     string `json:"user"`
	Password string `json:"password"`
	Currency string `json:"currency"`
	// The ids of objects that products and orders refer to: sales region, stock location,
	// shipping profile and sales channel.
	Region   string `json:"region"`
	Location string `json:"location"`
	Profile  string `json:"profile"`
	Channel  string `json:"channel"`

	authorization string
}

// StartMedusa starts a Medusa that ends with the test, or returns the running one that
// PORTICO_TEST_MEDUSA names. It skips the test if the environment requests neither.
func StartMedusa(tb testing.TB) *Medusa {
	tb.Helper()
	m := &Medusa{}
	StartLive(tb, "medusa", m)
	return m
}

// Vars returns the variables of the mapping.
func (m *Medusa) Vars() map[string]string {
	return map[string]string{"currency": m.Currency, "location": m.Location, "region": m.Region, "profile": m.Profile}
}

// Call sends an administrator's request, with body as JSON unless it is nil, and returns
// the decoded response, with numbers as json.Number. It fails the test unless the status
// is 200. It is not safe for concurrent use.
func (m *Medusa) Call(tb testing.TB, method, path string, body any) map[string]any {
	tb.Helper()
	if m.authorization == "" {
		var reply map[string]any
		if _, err := SendLive(tb, http.MethodPost, m.URL+"/auth/user/emailpass", "", map[string]any{"email": m.User, "password": m.Password}, &reply); err != nil {
			tb.Fatalf("log in: %v", err)
		}
		token, _ := reply["token"].(string)
		m.authorization = "Bearer " + token
	}
	var reply map[string]any
	if _, err := SendLive(tb, method, m.URL+path, m.authorization, body, &reply); err != nil {
		tb.Fatalf("%s %s: %v", method, path, err)
	}
	return reply
}
