//go:build linux

package sqltest

import (
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"net/url"
	"testing"
)

// serverConnections is the number of connections to the server for each database.
const serverConnections = 6

// A Bouncer is a running PgBouncer.
type Bouncer struct {
	tb      testing.TB
	address string
}

// StartBouncer starts a PgBouncer for all databases of the server of a DSN, which ends with the test. mode is
// session or transaction.
func StartBouncer(tb testing.TB, dsn, mode string) *Bouncer {
	tb.Helper()
	path := testenv.Need(tb, "pgbouncer")
	server := parse(tb, dsn)
	g := testenv.NewServerGroup(tb, "postgres", "nobody")
	b := &Bouncer{tb: tb, address: g.Address()}
	listen, err := url.Parse("//" + b.address)
	if err != nil {
		tb.Fatal(err)
	}
	users := g.Write("users.txt", fmt.Sprintf("%q \"\"\n", server.User.Username()))
	settings := g.Write("pgbouncer.ini", fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = %s
listen_port = %s
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = %s
default_pool_size = %d
max_client_conn = 400
server_fast_close = 1
`, server.Hostname(), server.Port(), listen.Hostname(), listen.Port(), users, mode, serverConnections))
	g.Start("pgbouncer", path, settings).AwaitPort(b.address)
	return b
}

// Through returns the DSN of a database of the server through the PgBouncer.
func (b *Bouncer) Through(dsn string) string {
	b.tb.Helper()
	u := parse(b.tb, dsn)
	u.Host = b.address
	return u.String()
}

// parse returns a DSN that is a URL.
func parse(tb testing.TB, dsn string) *url.URL {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" {
		tb.Fatalf("%s is no URL of a PostgreSQL", dsn)
	}
	return u
}
