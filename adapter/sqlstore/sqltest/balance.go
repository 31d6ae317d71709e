//go:build linux

package sqltest

import (
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// checkTimeout bounds the check of a node, which does not answer if it is paused.
const checkTimeout = time.Second

// configuration of HAProxy: the first node that serves has all connections. Connections to a node that
// does not serve are closed.
const configuration = `defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  option redispatch
  retries 2
  timeout check 500ms
listen galera
  bind %s
  option httpchk
  default-server check inter 200ms fastinter 100ms fall 2 rise 3 on-marked-down shutdown-sessions
`

// Balance starts an HAProxy before the nodes, and returns the DSN of a database behind it: the first
// node has all connections, and the others are its backups.
func (c *GaleraCluster) Balance(tb testing.TB, database string) (dsn string) {
	tb.Helper()
	return c.proxy(tb, database, c.Nodes, " backup")
}

// Alternate starts an HAProxy before the first two nodes, which get the connections in turn.
func (c *GaleraCluster) Alternate(tb testing.TB, database string) (dsn string) {
	tb.Helper()
	return c.proxy(tb, database, c.Nodes[:2], "")
}

// AwaitFirst waits until the first node has the new connections of a DSN that Balance has returned.
func (c *GaleraCluster) AwaitFirst(tb testing.TB, dsn string) {
	tb.Helper()
	pool := Raw(tb, dsn)
	pool.SetMaxIdleConns(0)
	for deadline := time.Now().Add(joinTimeout); ; time.Sleep(50 * time.Millisecond) {
		var name string
		err := pool.QueryRowContext(tb.Context(), "SELECT @@wsrep_node_name").Scan(&name)
		if name == c.Nodes[0].name {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("connections reach %q, %v", name, err)
		}
	}
}

// proxy starts an HAProxy in front of some nodes. Its health check stands for the script
// clustercheck, which operators run.
func (c *GaleraCluster) proxy(tb testing.TB, database string, nodes []*GaleraNode, others string) (dsn string) {
	tb.Helper()
	path := testenv.Need(tb, "haproxy")
	address := testenv.FreeAddress(tb)
	text := strings.Builder{}
	fmt.Fprintf(&text, configuration, address)
	for i, n := range nodes {
		check := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := n.check(r.Context(), serving()); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
			}
		}))
		tb.Cleanup(check.Close)
		backup := ""
		if i > 0 {
			backup = others
		}
		fmt.Fprintf(&text, "  server %s %s port %d%s\n", n.name, n.Address(), check.Listener.Addr().(*net.TCPAddr).Port, backup)
	}
	file := filepath.Join(tb.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	testenv.StartProgram(tb, exec.CommandContext(tb.Context(), path, "-db", "-f", file))
	for deadline := time.Now().Add(joinTimeout); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return strings.Replace(c.Nodes[0].URL(database), c.Nodes[0].Address(), address, 1)
		}
		if time.Now().After(deadline) {
			tb.Fatal("haproxy does not start: ", err)
		}
	}
}
