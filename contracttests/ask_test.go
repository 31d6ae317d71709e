package contracttests

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func newTestAsker(t *testing.T, base string) *Asker {
	t.Helper()
	a, err := NewAsker(Target{BaseURL: base, Credentials: testCredentials, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAsk(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/a")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(r.Method + " " + r.RequestURI + " " + r.Header.Get("Accept") + " " + r.Header.Get("Authorization")[:5]))
	}))
	t.Cleanup(srv.Close)
	a := newTestAsker(t, srv.URL+"/")
	s := Step{As: Admin, Method: http.MethodGet, Path: "//products?a=[1]", Accept: ptr("text/xml")}
	got, err := a.Ask(t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != 404 || got.Header.Get("Location") != "/a" || string(got.Body) != "GET /api/rest//products?a=[1] text/xml OAuth" {
		t.Errorf("got %d %q", got.Status, got.Body)
	}
	if a.BaseURL() != srv.URL {
		t.Errorf("base URL %s", a.BaseURL())
	}
	again := a.Curl(&s)
	if !strings.HasSuffix(again, " '"+srv.URL+"/api/rest//products?a=[1]'") || strings.Contains(again, testCredentials.Admin.Secret) {
		t.Errorf("to ask again: %s", again)
	}
}

func TestAskFails(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(srv.Close)
	a, err := NewAsker(Target{BaseURL: srv.URL, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Ask(t.Context(), &Step{As: Guest, Method: http.MethodGet, Path: "/products"}); err == nil {
		t.Errorf("got %v", got)
	}
	if _, err := NewAsker(Target{BaseURL: "store.example"}); err == nil {
		t.Error("a base URL without a scheme was taken")
	}
}

func TestAskerProbe(t *testing.T) {
	for _, d := range []Dialect{Documented, Magento} {
		srv := httptest.NewServer(implementation(d, nil))
		t.Cleanup(srv.Close)
		if err := newTestAsker(t, srv.URL).Probe(t.Context(), "legacy"); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	err := newTestAsker(t, gone.URL).Probe(t.Context(), "legacy")
	checkSentence(t, err, "or correct --legacy")
	refuses := httptest.NewServer(implementation(Magento, func(w http.ResponseWriter, r *http.Request) bool {
		if !isAdmin(r) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"messages":{"error":[{"code":401,"message":"no"}]}}`))
		return true
	}))
	t.Cleanup(refuses.Close)
	checkSentence(t, newTestAsker(t, refuses.URL).Probe(t.Context(), "candidate"), "give its own with --candidate-credentials FILE")
}
