package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
)

// TestConsentCases checks that the cases of three-legged OAuth find deviations, each caused by a
// proxy that changes the replies of Portico to one kind of request.
func TestConsentCases(t *testing.T) {
	t.Parallel()
	at := func(path string) func(*http.Response) bool {
		return func(r *http.Response) bool { return strings.HasPrefix(r.Request.URL.Path, path) }
	}
	text := func(from, to string) func(*http.Response, string) string {
		return func(_ *http.Response, body string) string { return strings.ReplaceAll(body, from, to) }
	}
	location := func(from, to string) func(*http.Response, string) string {
		return func(r *http.Response, body string) string {
			r.Header.Set("Location", strings.ReplaceAll(r.Header.Get("Location"), from, to))
			return body
		}
	}
	suite, base := apptest.Suite(t), ""
	type deviation struct {
		name   string
		of     func(*http.Response) bool
		change func(*http.Response, string) string
		want   []string // parts of the names of all cases that fail
	}
	for i, tt := range testenv.Rows(t, []deviation{
		{"the callback is not confirmed", at("/oauth/initiate"), text("&oauth_callback_confirmed=true", ""),
			[]string{"asks for a request token", "refused an access token", "logs in", "takes a verifier", "rejects", "pop-up"}},
		{"another problem", at("/oauth/initiate"), text("signature_invalid", "signature_wrong"), []string{"refused a request token"}},
		{"another status of problems", at("/oauth/token"), func(r *http.Response, body string) string {
			if r.StatusCode == http.StatusUnauthorized {
				r.StatusCode = http.StatusForbidden
			}
			return body
		}, []string{"refused an access token", "logs in", "takes a verifier"}},
		{"JSON in place of a form", at("/oauth/token"), func(r *http.Response, body string) string {
			r.Header.Set("Content-Type", "application/json")
			return body
		}, []string{"refused an access token", "logs in", "takes a verifier"}},
		{"no form to log in", at("/oauth/authorize"), text("login[password]", "password"), []string{"a customer logs in", "a customer takes a verifier", "a customer rejects", "a customer decides in a pop-up"}},
		{"the log-in form leads to another host", at("/admin"), text(`action="http://127.0.0.1`, `action="http://evil.example`),
			[]string{"an administrator logs in", "an administrator takes a verifier", "an administrator rejects", "an administrator decides in a pop-up"}},
		{"no message after a wrong password", at("/admin"), text("Invalid User Name or Password.", ""), []string{"an administrator logs in"}},
		{"another verifier", at("/admin/oauth_authorize/confirm"), location("oauth_verifier=", "oauth_verifier=0"),
			[]string{"an administrator logs in", "an administrator decides in a pop-up"}},
		{"the callback loses its query", at("/oauth/authorize/confirm"), location("keep=1&", ""), []string{"a customer logs in", "a customer decides in a pop-up"}},
		{"no verifier on the page", at("/oauth/authorize/confirm"), text("Verifier code: ", "Code "), []string{"a customer takes a verifier"}},
		{"the program does not learn of the rejection", at("/oauth/authorize/reject"), location("rejected=1", ""), []string{"a customer rejects", "a customer decides in a pop-up"}},
		{"the parent of the pop-up does not learn", at("/oauth/authorize/confirmSimple"), location("simple=1", ""), []string{"a customer decides in a pop-up"}},
		{"a form for an invalid request", at("/admin"), text("<main>", "<main><form></form>"), []string{"an administrator logs in", "an administrator has no valid request"}},
		{"the access token is refused", at("/api/rest"), func(r *http.Response, body string) string {
			r.StatusCode = http.StatusUnauthorized
			return body
		}, []string{"logs in", "takes a verifier"}},
		{"a request token is accepted", at("/api/rest"), func(r *http.Response, body string) string {
			r.StatusCode = http.StatusOK
			return body
		}, []string{"refused an access token"}},
	}, 4) {
		// After ten wrong passwords Portico limits attempts to log in.
		if i%8 == 0 {
			base, _ = startPortico(t, "documented")
		}
		// The cases run one after the other, because authorizing a program revokes its other
		// tokens.
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(changingProxy(t, base, tt.of, tt.change))
			defer srv.Close()
			for _, r := range consentResults(t, suite, srv.URL, contracttests.DemoCredentialsFile()) {
				isWanted := slices.ContainsFunc(tt.want, func(part string) bool { return strings.Contains(r.Name, part) })
				if failed := r.Status == contracttests.Failed; failed != isWanted {
					t.Errorf("%s: %s, want failed: %v; %+v", r.Name, r.Status, isWanted, r.Failure)
				}
			}
		})
	}
}

// changingProxy returns a proxy that changes the replies for which of returns true.
func changingProxy(t *testing.T, base string, of func(*http.Response) bool, change func(*http.Response, string) string) http.Handler {
	t.Helper()
	proxy := apptest.ProxyTo(t, base)
	proxy.ModifyResponse = func(r *http.Response) error {
		if !of(r) {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		changed := change(r, string(body))
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
		r.Header.Set("Content-Length", strconv.Itoa(len(changed)))
		return nil
	}
	return proxy
}

// consentResults runs the cases of three-legged OAuth, and checks that no report has a
// secret.
func consentResults(t *testing.T, suite *contracttests.Suite, base string, credentials []byte) []contracttests.Result {
	t.Helper()
	target := contracttests.Target{BaseURL: base, Dialect: contracttests.Documented}
	var err error
	if target.Credentials, err = contracttests.ParseCredentials(credentials); err != nil {
		t.Fatal(err)
	}
	r, err := suite.Run(t.Context(), target, contracttests.Options{Match: regexp.MustCompile("^oauth/")})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"ada-password-1", "admin-password-1", strings.Repeat("8", 32), "portico_customer=e"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("the report has the secret %s", secret)
		}
	}
	if len(r.Results) < 13 {
		t.Fatalf("%d results", len(r.Results))
	}
	return r.Results
}

// TestConsentSkips checks that cases are skipped with a reason if the credentials that they need
// are missing.
func TestConsentSkips(t *testing.T) {
	t.Parallel()
	suite := apptest.Suite(t)
	base, _ := startPortico(t, "documented")
	demo := string(contracttests.DemoCredentialsFile())
	withoutConsent, _, _ := strings.Cut(demo, "consent:")
	withoutAdmin := demo[:strings.LastIndex(demo, "  admin:")]
	for _, tt := range []struct {
		name, credentials, reason string
		of                        func(name string) bool
	}{
		{"no consumer", withoutConsent, "the credentials have no consent.consumer", func(string) bool { return true }},
		{"no administrator", withoutAdmin, "the credentials have no consent.admin", func(name string) bool {
			return strings.HasPrefix(name, "an administrator") && !strings.Contains(name, "no valid request")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range consentResults(t, suite, base, []byte(tt.credentials)) {
				want, reason := contracttests.Passed, ""
				if tt.of(r.Name) {
					want, reason = contracttests.Skipped, tt.reason
				}
				if r.Status != want || r.Reason != reason {
					t.Errorf("%s: %s %q, want %s %q; %+v", r.Name, r.Status, r.Reason, want, reason, r.Failure)
				}
			}
		})
	}
}
