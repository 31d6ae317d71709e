package app

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// A localServer is the program served in this process, with its own HTTP servers and their
// limits.
type localServer struct {
	app           *app
	contract, ops string // base URLs
	log           *apptest.Output
}

// serveLocal serves the demo store with settings from environ. With reset, the operators' port
// offers the reset of a demo.
func serveLocal(t testing.TB, reset bool, environ ...string) *localServer {
	t.Helper()
	l, cfg := openLocal(t, reset, environ...)
	log := program.NewLogger(l.log, cfg)
	l.contract = listen(t, newServer(cfg, l.app.contract, log))
	l.ops = listen(t, newServer(cfg, l.app.ops.handler(), log))
	return l
}

// openLocal wires the program for serveLocal without serving it.
func openLocal(t testing.TB, reset bool, environ ...string) (*localServer, *config.Config) {
	t.Helper()
	data := demotest.Data(t)
	db, err := openDemo(t.Context(), t.TempDir(), data, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Sources{Sections: newProgram().Sections(), Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if !reset {
		data = nil
	}
	t.Cleanup(func() { // after the last request
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &localServer{log: apptest.NewOutput()}
	if l.app, err = newApp(t.Context(), newProgram(), cfg, db, data, program.NewLogger(l.log, cfg)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.app.close(); err != nil {
			t.Error(err)
		}
	})
	return l, cfg
}

// listen serves on a free port until the test ends and returns the base URL.
func listen(t testing.TB, server *http.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, server, listener)
	return "http://" + listener.Addr().String()
}

// serveOn serves on listener until the test ends.
func serveOn(t testing.TB, server *http.Server, listener net.Listener) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
}

// TestReadinessFollowsTheUpstream checks that /readyz fails after the database is closed.
func TestReadinessFollowsTheUpstream(t *testing.T) {
	t.Parallel()
	l := serveLocal(t, true)
	if err := l.app.db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := apptest.Send(t, "GET", l.ops+"/readyz", ""); got.Status != http.StatusServiceUnavailable || got.Body != "upstream unavailable\n" {
		t.Errorf("/readyz answers %d %q", got.Status, got.Body)
	}
	if got := apptest.Send(t, "GET", l.ops+"/healthz", ""); got.Status != http.StatusOK {
		t.Errorf("/healthz answers %d", got.Status)
	}
	if got := apptest.Send(t, "POST", l.ops+"/demo/reset", ""); got.Status != http.StatusInternalServerError || strings.Contains(got.Body, "sql") {
		t.Errorf("/demo/reset answers %d %q", got.Status, got.Body)
	}
	got := apptest.Send(t, "GET", l.contract+"/api/rest/stockitems/1", "", "Authorization", apptest.DemoAdmin(), "Accept", "application/json")
	if want := `{"messages":{"error":[{"code":503,"message":"Resource internal error."}]}}`; got.Status != http.StatusServiceUnavailable || got.Body != want {
		t.Errorf("a call is answered %d %q", got.Status, got.Body)
	}
}

// TestConsentWithoutStore checks that the consent pages and token endpoints answer 503,
// and blame no credentials, while the store is unavailable.
func TestConsentWithoutStore(t *testing.T) {
	t.Parallel()
	a, server := startDemo(t, "magento")
	if err := a.db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{
		"/oauth/authorize?oauth_token=" + strings.Repeat("c", 32),
		"/oauth/initiate?oauth_signature_method=PLAINTEXT&oauth_signature=x&oauth_consumer_key=" + strings.Repeat("a", 32),
	} {
		got := apptest.Send(t, "GET", server.URL+target, "")
		if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || got.Body != "The store cannot answer now\n" {
			t.Errorf("%s: %d %v %s", target, got.Status, got.Header, got.Body)
		}
	}
	got := apptest.Send(t, "POST", server.URL+"/admin/oauth_authorize/index/", "a="+strings.Repeat("a", 20_000), "Content-Type", "application/x-www-form-urlencoded")
	if got.Status != http.StatusBadRequest {
		t.Errorf("a form that is too long: %d %s", got.Status, got.Body)
	}
}
