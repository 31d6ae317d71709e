//go:build linux

package sqltest

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"testing"
)

// A Magento2 is a running Magento 2 shop.
type Magento2 struct {
	URL          string // without /rest
	User, Secret string // of an administrator with all rights

	authorization string
}

// RunningMagento2 is NamedMagento2 for a test that only a live shop can answer. It skips the test if the
// environment names no shop: Portico's tests cannot install Magento 2.
func RunningMagento2(tb testing.TB, store string) *Magento2 {
	tb.Helper()
	m, isNamed := NamedMagento2(tb, store)
	if !isNamed {
		tb.Skip("no live Magento 2 is named: set PORTICO_TEST_MAGENTO2_URL, _USER and _SECRET to run the tests with it")
	}
	return m
}

// NamedMagento2 returns the shop that PORTICO_TEST_MAGENTO2_URL names, with its administrator
// in PORTICO_TEST_MAGENTO2_USER and PORTICO_TEST_MAGENTO2_SECRET, and runs the shell command
// PORTICO_TEST_MAGENTO2_RESET, if there is one, with store as its parameter $1: "demo" or "rich", as
// package magento1test names the legacy stores. After it the shop must have the websites, store views,
// customer groups and attribute sets of that store, and nothing else. It reports false
// if the environment names no shop.
func NamedMagento2(tb testing.TB, store string) (m *Magento2, isNamed bool) {
	tb.Helper()
	const setting = "PORTICO_TEST_MAGENTO2_"
	m = &Magento2{URL: os.Getenv(setting + "URL"), User: os.Getenv(setting + "USER"), Secret: os.Getenv(setting + "SECRET")}
	if m.URL == "" {
		return nil, false
	}
	if reset := os.Getenv(setting + "RESET"); reset != "" {
		if out, err := exec.CommandContext(tb.Context(), "sh", "-c", reset, "reset", store).CombinedOutput(); err != nil {
			tb.Fatalf("%s: %v\n%s", reset, err, out)
		}
	}
	return m, true
}

// Call sends an administrator's request at the default scope: see CallAt.
func (m *Magento2) Call(tb testing.TB, method, path string, body any) any {
	tb.Helper()
	return m.CallAt(tb, "all", method, path, body)
}

// CallAt sends an administrator's request to a path below /rest/SCOPE/V1, with body as JSON unless it
// is nil, and returns the decoded response, with numbers as json.Number. scope is the code of a store
// view, or all. It fails the test unless the status is 200. It is not safe for concurrent use.
func (m *Magento2) CallAt(tb testing.TB, scope, method, path string, body any) any {
	tb.Helper()
	if m.authorization == "" {
		token, _ := m.send(tb, "all", http.MethodPost, "/integration/admin/token", map[string]string{"username": m.User, "password": m.Secret}).(string)
		m.authorization = "Bearer " + token
	}
	return m.send(tb, scope, method, path, body)
}

func (m *Magento2) send(tb testing.TB, scope, method, path string, body any) (reply any) {
	tb.Helper()
	if _, err := SendLive(tb, method, m.URL+"/rest/"+scope+"/V1"+path, m.authorization, body, &reply); err != nil {
		tb.Fatalf("%s %s: %v", method, path, err)
	}
	return reply
}

// Find returns the only document of a list whose field has a value.
func (m *Magento2) Find(tb testing.TB, list, field, value string) map[string]any {
	tb.Helper()
	const filter = "searchCriteria[filter_groups][0][filters][0]"
	query := url.Values{filter + "[field]": {field}, filter + "[value]": {value}}
	found, _ := LiveValue(m.Call(tb, http.MethodGet, list+"?"+query.Encode(), nil), "items").([]any)
	if len(found) != 1 {
		tb.Fatalf("%s has %d with the %s %s, want 1", list, len(found), field, value)
	}
	document, _ := found[0].(map[string]any)
	return document
}
