package program

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// requireOAuthProblem fails the test unless a call is refused with the given
// oauth_problem.
func requireOAuthProblem(t *testing.T, got apptest.Reply, problem string) {
	t.Helper()
	if got.Status != http.StatusUnauthorized || !strings.Contains(got.Body, "oauth_problem="+problem) {
		t.Errorf("%d %s, want %s", got.Status, got.Body, problem)
	}
}

// requireOK fails the test unless the status is 200.
func requireOK(t *testing.T, got apptest.Reply) {
	t.Helper()
	if got.Status != http.StatusOK {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestReplayedNonces checks that a signed call is answered only once, by replicas that
// share nothing but Redis, and by a program that was killed and restarted.
func TestReplayedNonces(t *testing.T) {
	t.Parallel()
	const path, host = "/api/rest/stockitems/1", "http://store.example"
	server := apptest.NewRedis(t)
	replica := func(t *testing.T, dsn string, environ ...string) *apptest.Process {
		t.Helper()
		return apptest.Start(t, append([]string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_PUBLIC_URL=" + host,
			"PORTICO_CACHE_TIMEOUT=5s"}, environ...))
	}
	call := func(t *testing.T, p *apptest.Process, authorization string) apptest.Reply {
		t.Helper()
		return apptest.Send(t, "GET", p.Contract+path, "", "Authorization", authorization)
	}
	t.Run("two replicas", func(t *testing.T) {
		shared := "PORTICO_CACHE_REDIS_URL=" + server.URL()
		first, second := replica(t, demotest.SQLite(t), shared), replica(t, demotest.SQLite(t), shared)
		one, other := apptest.SignedHeader("GET", host+path, "first"), apptest.SignedHeader("GET", host+path, "second")
		requireOK(t, call(t, first, one))
		requireOAuthProblem(t, call(t, second, one), "nonce_used")
		requireOK(t, call(t, second, other))
		requireOAuthProblem(t, call(t, first, other), "nonce_used")
	})
	for name, environ := range map[string][]string{"restart": nil, "restart-with-Redis": {"PORTICO_CACHE_REDIS_URL=" + server.URL()}} {
		t.Run(name, func(t *testing.T) {
			dsn := demotest.SQLite(t)
			once := apptest.SignedHeader("GET", host+path, name)
			before := replica(t, dsn, environ...)
			requireOK(t, call(t, before, once))
			if err := before.Cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			before.Wait(t)
			requireOAuthProblem(t, call(t, replica(t, dsn, environ...), once), "nonce_used")
		})
	}
}

// TestReplayAfterEviction checks that a signed change cannot be replayed after Redis has
// evicted its nonce.
func TestReplayAfterEviction(t *testing.T) {
	t.Parallel()
	const path, host = "/api/rest/stockitems/1", "http://store.example"
	server := apptest.NewRedis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Address})
	defer func() { _ = client.Close() }()
	for setting, value := range map[string]string{"maxmemory-policy": "allkeys-lru", "maxmemory": "3mb"} {
		if err := client.ConfigSet(t.Context(), setting, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	p := apptest.Start(t, []string{"PORTICO_CACHE_REDIS_URL=" + server.URL(), "PORTICO_PUBLIC_URL=" + host, "PORTICO_CACHE_TIMEOUT=5s"}, "--demo")
	captured := apptest.SignedHeader("PUT", host+path, "captured")
	change := func(qty string) apptest.Reply {
		return apptest.Send(t, "PUT", p.Contract+path, `{"qty":`+qty+`}`, "Authorization", captured, "Content-Type", "application/json", "Accept", "application/json")
	}
	requireOK(t, change("7"))
	known := func() bool { return client.Exists(t.Context(), "portico:nonce:captured").Val() > 0 }
	if !known() {
		t.Fatal("the nonce is not in Redis")
	}
	for i := 0; known(); i++ {
		requireOK(t, apptest.Send(t, "GET", p.Contract+"/api/rest/products?limit=100&filter[0][attribute]=sku&filter[0][neq]="+strconv.Itoa(i), ""))
	}
	requireOAuthProblem(t, change("8"), "nonce_used")
}

// TestStrangersNonces checks that calls with a wrong signature neither use up nonces of
// others nor fill a table.
func TestStrangersNonces(t *testing.T) {
	t.Parallel()
	const path, host = "/api/rest/stockitems/1", "http://store.example"
	dsn := demotest.SQLite(t)
	p := apptest.Start(t, []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_PUBLIC_URL=" + host, "PORTICO_TRUSTED_PROXIES=127.0.0.1"})
	call := func(client, authorization string) apptest.Reply {
		return apptest.Send(t, "GET", p.Contract+path, "", "Authorization", authorization, "X-Forwarded-For", client, "Accept", "application/json")
	}
	const stranger, owner = "192.0.2.1", "192.0.2.2"
	for i := range 20 {
		authorization := apptest.SignedHeader("GET", host+path, "nonce"+strconv.Itoa(i))
		forged := apptest.SignedHeader("GET", host+"/another", "nonce"+strconv.Itoa(i))
		requireOAuthProblem(t, call(stranger, forged), "signature_invalid")
		requireOAuthProblem(t, call(stranger, forged), "nonce_used") // as the original has it
		if i == 0 {
			requireOK(t, call(owner, authorization))
			requireOAuthProblem(t, call(owner, authorization), "nonce_used")
			requireOAuthProblem(t, call(stranger, authorization), "nonce_used")
		}
	}
	pool := apptest.OpenStore(t, "sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:"))
	var stored int
	if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM oauth_nonce").Scan(&stored); err != nil || stored != 1 {
		t.Errorf("%d nonces are stored, %v; want the owner's alone", stored, err)
	}
}

// TestRevokedEverywhere checks that a token and a key that one program revokes are refused
// within five seconds by other programs of the store, which have used them before.
func TestRevokedEverywhere(t *testing.T) {
	t.Parallel()
	dsn := demotest.SQLite(t)
	db := openDemo(t, dsn)
	_, key, err := db.Credentials().AddKey(t.Context(), adapter.APIKey{Name: "probe", Kind: adapter.AdminKey})
	if err != nil {
		t.Fatal(err)
	}
	var replicas []*apptest.Process
	for range 2 {
		replicas = append(replicas, apptest.Start(t, []string{"PORTICO_SQL_DSN=" + dsn, "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_AUTH_BEARER=true"}))
	}
	calls := map[string]string{"token": apptest.DemoAdmin(), "key": "Bearer " + key}
	ask := func(p *apptest.Process, authorization string) apptest.Reply {
		return apptest.Send(t, "GET", p.Contract+"/api/rest/stockitems/1", "", "Authorization", authorization)
	}
	for _, p := range replicas {
		for _, authorization := range calls {
			requireOK(t, ask(p, authorization))
		}
	}
	if err := db.Credentials().Revoke(t.Context(), strings.Repeat("c", 32)); err != nil {
		t.Fatal(err)
	}
	if err := db.Credentials().RevokeKey(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	for _, p := range replicas {
		for what, authorization := range calls {
			testenv.Await(t, "the refusal of the "+what, func() bool { return ask(p, authorization).Status == http.StatusUnauthorized })
			requireOAuthProblem(t, ask(p, authorization), "token_revoked")
		}
	}
	// The documented limit is five seconds; a slow machine may take longer.
	t.Logf("refused everywhere after %s", time.Since(revoked).Round(time.Millisecond))
}

// TestBearerKeys checks that API keys work with auth.bearer only, and with the rights of
// their kind.
func TestBearerKeys(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"documented", "magento"} {
		for _, on := range []string{"true", "false"} {
			t.Run(dialect+"/"+on, func(t *testing.T) {
				demo := apptest.StartDemo(t, dialect, "PORTICO_AUTH_BEARER="+on)
				credentials := openDemo(t, demo.DSN).Credentials()
				admin, adminKey, err := credentials.AddKey(t.Context(), adapter.APIKey{Name: "probe", Kind: adapter.AdminKey})
				if err != nil {
					t.Fatal(err)
				}
				_, customerKey, err := credentials.AddKey(t.Context(), adapter.APIKey{Name: "app", Kind: adapter.CustomerKey, CustomerID: 1})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range []struct {
					name, key, path string
					on, off         int
				}{
					{"administrator", adminKey, "/customers", 200, 403},
					{"administrator", adminKey, "/orders/1", 200, 403},
					{"customer's own", customerKey, "/customers/1", 200, 403},
					{"customer and another's", customerKey, "/customers/2", 404, 403},
					{"unknown", "portico_x", "/customers", 401, 403},
					{"empty", "", "/products", 401, 200},
					{"a secret of OAuth", strings.Repeat("c", 32), "/products", 401, 200},
					{"what Guests may read, as an administrator", adminKey, "/products?limit=1", 200, 200},
				} {
					want := c.off
					if on == "true" {
						want = c.on
					}
					got := apptest.Send(t, "GET", demo.Contract+"/api/rest"+c.path, "", "Authorization", "Bearer "+c.key, "Accept", "application/json")
					if got.Status != want {
						t.Errorf("%s: %d %s, want %d", c.name, got.Status, got.Body, want)
					}
					if got.Status == 401 && !strings.Contains(got.Body, `"oauth_problem=token_rejected"`) {
						t.Errorf("%s: %s", c.name, got.Body)
					}
				}
				if on == "false" {
					return
				}
				// Replies to administrators do not come from the cache.
				of := func(authorization string) string {
					return apptest.Send(t, "GET", demo.Contract+"/api/rest/products?limit=1", "", "Authorization", authorization, "Accept", "application/json").Body
				}
				if guest := of(""); guest == of("Bearer "+adminKey) || guest != of("") {
					t.Error("an administrator reads what Guests do")
				}
				if err := credentials.RevokeKey(t.Context(), admin.ID); err != nil {
					t.Fatal(err)
				}
				if err := demo.Reset(t.Context()); err != nil {
					t.Fatal(err)
				}
				requireOAuthProblem(t, apptest.Send(t, "GET", demo.Contract+"/api/rest/customers", "", "Authorization", "Bearer "+adminKey, "Accept", "application/json"), "token_rejected")
			})
		}
	}
}

// TestKeysAreLimited checks that calls with an API key are rate-limited like a consumer's
// calls.
func TestKeysAreLimited(t *testing.T) {
	t.Parallel()
	demo := apptest.StartDemo(t, "magento", "PORTICO_AUTH_BEARER=true", "PORTICO_LIMITS_CONSUMER_RATE=0.001", "PORTICO_LIMITS_CONSUMER_BURST=2")
	credentials := openDemo(t, demo.DSN).Credentials()
	var keys [2]string
	for i := range keys {
		var err error
		if _, keys[i], err = credentials.AddKey(t.Context(), adapter.APIKey{Name: "probe", Kind: adapter.AdminKey}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range keys {
		for i, want := range []int{200, 200, 429} {
			if got := apptest.Send(t, "GET", demo.Contract+"/api/rest/stockitems/1", "", "Authorization", "Bearer "+key, "Accept", "application/json"); got.Status != want {
				t.Errorf("call %d: %d %s, want %d", i+1, got.Status, got.Body, want)
			}
		}
	}
}

// TestKeysAreNotSigned checks that calls with an API key, which has no secret to sign
// with, are not forwarded to the legacy store, except calls of administrators where
// Portico signs with its own token.
func TestKeysAreNotSigned(t *testing.T) {
	t.Parallel()
	old := apptest.NewLegacyStub(t)
	for _, tt := range []struct {
		name, auth string
		kind       adapter.KeyKind
		customer   int64
		want       int
	}{
		{"caller", "caller", adapter.AdminKey, 0, http.StatusForbidden}, {"caller, customer", "caller", adapter.CustomerKey, 1, http.StatusForbidden},
		{"own", "own", adapter.AdminKey, 0, http.StatusOK}, {"own, customer", "own", adapter.CustomerKey, 1, http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			front := apptest.StartDemo(t, "documented", append(apptest.LegacyConsumer(), "PORTICO_AUTH_BEARER=true", "PORTICO_LEGACY_AUTH="+tt.auth,
				apptest.RoutesFile(t, "resource: all, to: legacy"), "PORTICO_LEGACY_URL="+old.URL)...)
			_, key, err := openDemo(t, front.DSN).Credentials().AddKey(t.Context(), adapter.APIKey{Name: "probe", Kind: tt.kind, CustomerID: tt.customer})
			if err != nil {
				t.Fatal(err)
			}
			got := apptest.Send(t, "GET", front.Contract+"/api/rest/orders/1", "", "Authorization", "Bearer "+key, "Accept", "application/json")
			if forwarded := old.Last() != nil; got.Status != tt.want || forwarded != (tt.want == http.StatusOK) {
				t.Errorf("%d %s, the legacy store was asked: %t; want %d", got.Status, got.Body, forwarded, tt.want)
			}
		})
	}
}

// openDemo opens the database of a store besides the program.
func openDemo(t *testing.T, dsn string) *sqlstore.DB {
	t.Helper()
	db := apptest.OpenRecords(t, sqlstore.Options{DSN: dsn})
	return db
}
