package contracttests

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// newTestClient returns a Client with the test credentials.
func newTestClient(t *testing.T, base string) *Client {
	t.Helper()
	c, err := NewClient(Target{BaseURL: base, Credentials: testCredentials, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClientDo checks that a Client sends a step as written, returns the reply, and
// prints a curl command without secrets.
func TestClientDo(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/a")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(r.Method + " " + r.RequestURI + " " + r.Header.Get("Accept") + " " + r.Header.Get("Authorization")[:5]))
	}))
	t.Cleanup(srv.Close)
	c := newTestClient(t, srv.URL+"/")
	s := Step{As: Admin, Method: http.MethodGet, Path: "//products?a=[1]", Accept: ptr("text/xml")}
	got, err := c.Do(t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != 404 || got.Header.Get("Location") != "/a" || string(got.Body) != "GET /api/rest//products?a=[1] text/xml OAuth" {
		t.Errorf("got %d %q", got.Status, got.Body)
	}
	if c.BaseURL() != srv.URL {
		t.Errorf("base URL %s", c.BaseURL())
	}
	command := c.Curl(&s)
	if !strings.HasSuffix(command, " '"+srv.URL+"/api/rest//products?a=[1]'") || strings.Contains(command, testCredentials.Admin.Secret) {
		t.Errorf("curl command %s", command)
	}
}

// TestClientDoFails checks the errors for a timeout and for an invalid base URL.
func TestClientDoFails(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(srv.Close)
	c, err := NewClient(Target{BaseURL: srv.URL, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Do(t.Context(), &Step{As: Guest, Method: http.MethodGet, Path: "/products"}); err == nil {
		t.Errorf("got %v", got)
	}
	if _, err := NewClient(Target{BaseURL: "store.example"}); err == nil {
		t.Error("a base URL without a scheme was taken")
	}
}

// TestClientProbe checks that Probe accepts all dialects and names the caller's flags in
// its errors.
func TestClientProbe(t *testing.T) {
	for _, d := range []Dialect{Documented, Magento} {
		srv := httptest.NewServer(fakeImplementation(d, nil))
		t.Cleanup(srv.Close)
		if err := newTestClient(t, srv.URL).Probe(t.Context(), "legacy"); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	err := newTestClient(t, gone.URL).Probe(t.Context(), "legacy")
	checkSentence(t, err, "or correct --legacy")
	refuses := httptest.NewServer(fakeImplementation(Magento, func(w http.ResponseWriter, r *http.Request) bool {
		if !isAdmin(r) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"messages":{"error":[{"code":401,"message":"no"}]}}`))
		return true
	}))
	t.Cleanup(refuses.Close)
	checkSentence(t, newTestClient(t, refuses.URL).Probe(t.Context(), "candidate"), "give its own with --candidate-credentials FILE")
}
