package program

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// TestCall sends calls of each kind of caller to a server with the demo store.
func TestCall(t *testing.T) {
	server := apptest.StartDemo(t, "documented")
	body := apptest.NewFile(t, "item.xml", `<r><qty>7</qty></r>`)
	secret := func(letter string) string { return apptest.NewFile(t, "secret", strings.Repeat(letter, 32)+"\n") }
	for _, tt := range []struct {
		name      string
		arguments []string
		stdout    string // its beginning
		stderr    string
		err       string
	}{
		{"guest", []string{"/products?limit=1"}, `{"`, "200 OK", ""},
		{"admin", []string{"--demo", "--as", "admin", "GET", "/stockitems/1"}, `{"item_id":"1"`, "200 OK", ""},
		{"admin by id", []string{"--demo", "--as", "admin:1", "get", "/api/rest/stockitems/1"}, `{"item_id":"1"`, "200 OK", ""},
		{"XML with headers", []string{"--demo", "--as", "admin", "-i", "--accept", "text/xml", "/stockitems/1"}, "HTTP/1.1 200 OK\nCache-Control: ", "", ""},
		{"customer", []string{"--demo", "--as", "customer:1", "/customers/1"}, `{"`, "200 OK", ""},
		{"body", []string{"--demo", "--as", "admin", "--data", `{"qty":5}`, "PUT", "/stockitems/1"}, "", "200 OK", ""},
		{"body of a file", []string{"--demo", "--as", "admin", "--data", "@" + body, "PUT", "/stockitems/1"}, "", "200 OK", ""},
		{"given credentials", []string{"--consumer-key", strings.Repeat("a", 32), "--consumer-secret-file", secret("b"), "--token", strings.Repeat("c", 32), "--token-secret-file", secret("d"), "/orders"},
			"{", "200 OK", ""},
		{"refused", []string{"/stockitems/1"}, `{"messages"`, "403 Forbidden", "the server answers 403 Forbidden"},
		{"wrong secret", []string{"--consumer-key", strings.Repeat("a", 32), "--consumer-secret-file", secret("x"), "--token", strings.Repeat("c", 32), "--token-secret-file", secret("d"), "/orders"},
			`{"messages"`, "401 Unauthorized", "is it the server of this store?"},
		{"nobody", []string{"--demo", "--as", "customer:999", "/orders"}, "", "", "no token acts for this customer"},
		{"another consumer", []string{"--demo", "--as", "admin", "--consumer", "x", "/orders"}, "", "", "no token acts for this admin"},
		{"no id", []string{"--demo", "--as", "admin:x", "/orders"}, "", "", "must be a positive number"},
		{"no caller", []string{"--demo", "--as", "ada", "/orders"}, "", "", "--as must be"},
		{"no path", []string{"products"}, "", "", "must begin with a slash"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, err := apptest.Run(t, append([]string{"call", "--url", server.Contract + "/"}, tt.arguments...)...)
			if !strings.HasPrefix(stdout, tt.stdout) || tt.stdout != "" && !strings.HasSuffix(stdout, "\n") || tt.stderr != strings.TrimSpace(stderr) {
				t.Errorf("%q, %q", stdout, stderr)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v, want %q", err, tt.err)
			}
		})
	}
	t.Run("a proxy that is not trusted", func(t *testing.T) {
		proxy := httptest.NewTLSServer(apptest.ProxyTo(t, server.Contract))
		defer proxy.Close()
		authority := apptest.NewFile(t, "tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})))
		if _, _, err := apptest.Run(t, "call", "--url", proxy.URL, "--cacert", authority, "--demo", "--as", "admin", "/orders"); err == nil || !strings.Contains(err.Error(), "trusted_proxies") {
			t.Errorf("%v, want advice on trusted_proxies", err)
		}
	})
	t.Run("JSON", func(t *testing.T) {
		var reply struct {
			Status int
			Header http.Header `json:"headers"`
			Body   string
		}
		apptest.Parse(t, apptest.MustRun(t, "call", "--json", "--demo", "--as", "admin", "--url", server.Contract, "/stockitems/1"), &reply)
		if reply.Status != 200 || reply.Header.Get("Content-Type") == "" || !strings.Contains(reply.Body, `"qty":7`) && !strings.Contains(reply.Body, `"qty":"7`) {
			t.Errorf("%+v", reply)
		}
	})
}

// TestCallFromStore signs with credentials of a configured store, and explains such a call.
func TestCallFromStore(t *testing.T) {
	_, commands := apptest.NewStore(t, apptest.SecretKey)
	if _, _, err := commands.Run(t, "call", "--as", "admin", "/orders"); err == nil || !strings.Contains(err.Error(), "use --demo") {
		t.Fatalf("without a store: %v", err)
	}
	commands.MustRun(t, "seed", "--dataset", apptest.WriteDataset(t, map[string]any{"credentials": nil}))
	call := func(as string, arguments ...string) (string, error) {
		stdout, _, err := commands.Run(t, append([]string{"call", "--as", as}, arguments...)...)
		return stdout, err
	}
	if _, err := call("admin", "--url", "http://127.0.0.1:1", "/orders"); err == nil || !strings.Contains(err.Error(), "no token acts for this admin") {
		t.Fatal(err)
	}
	key := commands.AddConsumer(t, "ERP").Key
	commands.AddToken(t, key, "--customer", "1")
	server := apptest.Start(t, commands)
	email := demotest.Data(t).Records[adapter.Customers][0].Get("email").Text()
	for who, want := range map[string]string{"customer:1": "", "customer:" + email: "", "customer:nobody@example.com": "exactly one customer", "customer:2": "no token acts"} {
		stdout, err := call(who, "--url", server.Contract, "--consumer", key, "/customers/1")
		if want == "" && (err != nil || !strings.Contains(stdout, `"email"`)) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %s", who, err, stdout)
		}
	}
	stdout, _, err := commands.Run(t, "oauth", "explain", "-H", `Authorization: OAuth oauth_consumer_key="`+key+`"`, "http://x/")
	if err == nil || !strings.Contains(stdout, "parameter_absent") || strings.Contains(stdout, "No consumer") {
		t.Errorf("%v\n%s", err, stdout)
	}
}
