//go:build linux

package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// provider is where Debian's package galera-4 keeps the library.
const provider = "/usr/lib/galera/libgalera_smm.so"

// joinTimeout bounds how long a node may take until it serves.
const joinTimeout = 2 * time.Minute

// A GaleraCluster is a cluster of three nodes.
type GaleraCluster struct {
	Nodes []*GaleraNode
	tb    testing.TB
}

// A GaleraNode is a server of a cluster. Kill ends it, and Pause makes it silent.
type GaleraNode struct {
	*Server
	name  string
	ports [3]int // for the group, for changes that it has missed, and for all data
}

// StartGalera starts a cluster that ends with the test.
func StartGalera(tb testing.TB) *GaleraCluster {
	tb.Helper()
	testenv.Need(tb, "rsync")
	if _, err := os.Stat(provider); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatal(err)
		}
		tb.Skipf("%s is missing, so this is not tested: install the package galera-4", provider)
	}
	c := &GaleraCluster{tb: tb}
	for i := range 3 {
		n := &GaleraNode{Server: NewMariaDB(tb), name: fmt.Sprintf("node%d", i+1)}
		for i := range n.ports {
			var err error
			if n.ports[i], err = testenv.FreePort(); err != nil {
				tb.Fatal(err)
			}
		}
		c.Nodes = append(c.Nodes, n)
	}
	for i, n := range c.Nodes {
		if i == 0 {
			n.StartWith(append(c.arguments(n), "--wsrep-new-cluster")...)
		} else {
			n.StartWith(c.arguments(n)...)
		}
		c.AwaitReady(n)
	}
	return c
}

func (n *GaleraNode) address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.ports[port]))
}

// arguments returns the arguments with which a node joins the cluster.
func (c *GaleraCluster) arguments(n *GaleraNode) []string {
	members := make([]string, len(c.Nodes))
	for i, m := range c.Nodes {
		members[i] = m.address(0)
	}
	options := []string{
		"base_host=127.0.0.1", "base_port=" + strconv.Itoa(n.ports[0]), "gmcast.listen_addr=tcp://" + n.address(0), "ist.recv_addr=" + n.address(1),
		"gcache.size=32M", "evs.keepalive_period=PT0.2S", "evs.inactive_check_period=PT0.2S", "evs.suspect_timeout=PT1S", "evs.inactive_timeout=PT2S", "evs.install_timeout=PT2S",
	}
	return []string{
		"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON", "--wsrep-provider=" + provider, "--wsrep-cluster-name=test",
		"--wsrep-node-name=" + n.name, "--wsrep-node-address=127.0.0.1", "--wsrep-sst-method=rsync", "--wsrep-sst-receive-address=" + n.address(2),
		"--wsrep-cluster-address=gcomm://" + strings.Join(members, ","), "--wsrep-provider-options=" + strings.Join(options, ";"),
	}
}

// Database creates a database, and returns its DSN at each node.
func (c *GaleraCluster) Database(name string) (dsns []string) {
	c.tb.Helper()
	c.Nodes[0].Database(name)
	for _, n := range c.Nodes {
		dsns = append(dsns, n.URL(name))
	}
	return dsns
}

// AwaitReady waits until a node serves.
func (c *GaleraCluster) AwaitReady(n *GaleraNode) {
	c.tb.Helper()
	c.await(n.name, func(ctx context.Context) error { return n.check(ctx, serving()) })
}

func (c *GaleraCluster) await(what string, check func(context.Context) error) {
	c.tb.Helper()
	for deadline := time.Now().Add(joinTimeout); ; time.Sleep(50 * time.Millisecond) {
		err := check(c.tb.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.tb.Fatalf("%s does not serve: %v", what, err)
		}
	}
}

// serving returns the status of a node that serves.
func serving() map[string]string {
	return map[string]string{"wsrep_ready": "ON", "wsrep_local_state_comment": "Synced"}
}

// check fails unless the node has a status.
func (n *GaleraNode) check(ctx context.Context, status map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for variable, want := range status {
		var name, value string
		if err := n.Admin().QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+variable+"'").Scan(&name, &value); err != nil {
			return err
		}
		if value != want {
			return fmt.Errorf("%s is %s", variable, value)
		}
	}
	return nil
}

// Isolate cuts a node off from the others: it keeps its connections to clients. [Cluster.Reconnect]
// undoes it.
func (c *GaleraCluster) Isolate(n *GaleraNode) { c.isolate(n, 1) }

// Reconnect undoes Isolate, and waits until the cluster is whole.
func (c *GaleraCluster) Reconnect(n *GaleraNode) {
	c.tb.Helper()
	c.isolate(n, 0)
	c.AwaitWhole()
}

// AwaitWhole waits until every node serves and sees all others.
func (c *GaleraCluster) AwaitWhole() {
	c.tb.Helper()
	c.await("the cluster", func(ctx context.Context) error {
		whole := serving()
		whole["wsrep_cluster_size"] = strconv.Itoa(len(c.Nodes))
		for _, n := range c.Nodes {
			if err := n.check(ctx, whole); err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
		}
		return nil
	})
}

func (c *GaleraCluster) isolate(n *GaleraNode, to int) {
	c.tb.Helper()
	if _, err := n.Admin().ExecContext(c.tb.Context(), fmt.Sprintf("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=%d'", to)); err != nil {
		c.tb.Fatal(err)
	}
}

// Rejoin starts a node again after Kill, and waits until it serves. The node applies the
// transactions that it has missed.
func (c *GaleraCluster) Rejoin(n *GaleraNode) {
	c.tb.Helper()
	arguments := c.arguments(n)
	output, err := n.Command(append(arguments, "--wsrep-recover")...).CombinedOutput()
	if err != nil {
		c.tb.Fatalf("%v\n%s", err, output)
	}
	if found := regexp.MustCompile(`Recovered position: (\S+)`).FindSubmatch(output); found != nil {
		arguments = append(arguments, "--wsrep-start-position="+string(found[1]))
	}
	n.StartWith(arguments...)
	c.AwaitWhole()
}

// Query returns the result of a SELECT of one value on a node that has applied all transactions
// committed in the cluster.
func (n *GaleraNode) Query(tb testing.TB, text string) (value string) {
	tb.Helper()
	var found sql.NullString
	if err := n.Admin().QueryRowContext(tb.Context(), "SET STATEMENT wsrep_sync_wait = 15 FOR "+text).Scan(&found); err != nil {
		tb.Fatal(err)
	}
	return found.String
}
