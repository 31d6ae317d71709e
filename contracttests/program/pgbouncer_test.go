//go:build linux

package program

import (
	"context"
	"encoding/hex"
	"hash/crc32"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/contracttests"
)

// TestSuitePgBouncer starts four replicas at once on an empty database through PgBouncer in
// transaction mode, and runs the suite against them in turn.
func TestSuitePgBouncer(t *testing.T) {
	testenv.OnlyNightly(t, "pgbouncer")
	for _, dialect := range dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			dsn, media := sqltest.Postgres(t), t.TempDir()
			bouncer := sqltest.StartBouncer(t, dsn, "transaction")
			environ := []string{
				"PORTICO_DIALECT=" + dialect, "PORTICO_SQL_DSN=" + bouncer.Through(dsn), "PORTICO_SQL_DIRECT_DSN=" + dsn, "PORTICO_SQL_POOL_MODE=transaction",
				"PORTICO_SQL_MEDIA_DIR=" + media, "PORTICO_AUTH_SECRET_KEY=" + apptest.SecretKey, apptest.WithoutReplyCache, // which replicas without Redis do not share
			}
			replicas := make([]*apptest.Process, 4)
			for i := range replicas {
				replicas[i] = apptest.Launch(t, environ, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
			}
			for _, p := range replicas {
				p.AwaitAddresses(t, false)
			}
			key, err := hex.DecodeString(apptest.SecretKey)
			if err != nil {
				t.Fatal(err)
			}
			db := demotest.Open(t, sqlstore.Options{DSN: bouncer.Through(dsn), PerTransaction: true, MediaDir: media, SecretKey: string(key)})
			reset := func(ctx context.Context) error { return db.Reset(ctx, demotest.Data(t)) }
			if err := reset(t.Context()); err != nil {
				t.Fatal(err)
			}
			target := apptest.DemoTarget(t, inTurn(t, replicas), dialect, reset)
			target.Fixtures = apptest.WritableFixtures(t)
			report := runSuite(t, t.Context(), target, contracttests.Options{Parallel: 4})
			if n := report.Count(contracttests.Skipped); n > 0 {
				t.Errorf("%d cases were skipped", n)
			}
		})
	}
}

// inTurn returns the base URL of a server that gives each request to the next replica, except that
// requests with the same nonce get the same one: nonces of refused signatures are remembered by the
// process.
func inTurn(t *testing.T, replicas []*apptest.Process) string {
	t.Helper()
	var targets []*url.URL
	for _, p := range replicas {
		u, err := url.Parse(p.Contract)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, u)
	}
	nonce := regexp.MustCompile(`oauth_nonce="([^"]*)"`)
	var n atomic.Uint32
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		turn := n.Add(1)
		if found := nonce.FindStringSubmatch(r.In.Header.Get("Authorization")); found != nil {
			turn = crc32.ChecksumIEEE([]byte(found[1]))
		}
		r.SetURL(targets[int(turn)%len(targets)])
		r.Out.Host = r.In.Host // which is signed
	}})
	t.Cleanup(front.Close)
	return front.URL
}
