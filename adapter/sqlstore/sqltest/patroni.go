//go:build linux

package sqltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/portico-commerce/portico/config/testenv"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A PatroniCluster is three nodes, of which one is the primary.
type PatroniCluster struct {
	// Balancer is the address of the HAProxy that leads to the primary.
	Balancer string
	tb       testing.TB
	group    *testenv.ServerGroup
	patroni  string // path of the program
	nodes    []*node
}

// A node is a Patroni and its PostgreSQL.
type node struct {
	name, api, postgres string // name, and addresses
	settings            string // path of Patroni's file
	running             *testenv.Server
}

// StartPatroni starts a cluster, which ends with the test, and waits until it has a synchronous standby.
func StartPatroni(tb testing.TB) *PatroniCluster {
	tb.Helper()
	etcd, haproxy := testenv.Need(tb, "etcd"), testenv.Need(tb, "haproxy")
	c := &PatroniCluster{tb: tb, patroni: testenv.Need(tb, "patroni")}
	postgres, err := filepath.EvalSymlinks(testenv.Need(tb, "postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	c.group = testenv.NewServerGroup(tb, "postgres", "nobody")
	client, peer := c.group.Address(), c.group.Address()
	c.group.Start("etcd", etcd, "--name", "etcd", "--data-dir", filepath.Join(c.group.Dir, "etcd"),
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer,
		"--initial-cluster", "etcd=http://"+peer).AwaitPort(client)
	for i := range 3 {
		n := &node{name: "node" + strconv.Itoa(i+1), api: c.group.Address(), postgres: c.group.Address()}
		n.settings = c.group.Write(n.name+".yaml", fmt.Sprintf(patroniSettings, n.name, n.api, n.api, client,
			n.postgres, n.postgres, filepath.Join(c.group.Dir, n.name), filepath.Dir(postgres), filepath.Join(c.group.Dir, n.name+".pgpass")))
		c.nodes = append(c.nodes, n)
	}
	c.start(c.nodes[0])
	testenv.Await(c.tb, "the first node", func() bool { return c.primary() != nil })
	for _, n := range c.nodes[1:] {
		c.start(n)
	}
	c.startBalancer(haproxy)
	c.AwaitHealthy()
	return c
}

// patroniSettings are the settings of a node. A primary that fails is given up at once.
const patroniSettings = `
scope: shop
name: %s
restapi: {listen: "%s", connect_address: "%s"}
etcd3: {hosts: "%s"}
bootstrap:
  dcs:
    ttl: 6
    loop_wait: 1
    retry_timeout: 2
    primary_start_timeout: 0
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {max_connections: 100, wal_keep_size: 64MB}
  initdb: [{encoding: UTF8}, {locale: C}, no-sync]
postgresql:
  listen: "%s"
  connect_address: "%s"
  data_dir: %s
  bin_dir: %s
  pgpass: %s
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
  authentication:
    superuser: {username: portico, password: portico}
    replication: {username: replicator, password: replicator}
  parameters: {unix_socket_directories: "", fsync: "off", shared_buffers: 32MB, wal_log_hints: "on"}
`

// start starts the Patroni of a node.
func (c *PatroniCluster) start(n *node) {
	c.tb.Helper()
	n.running = c.group.Start(n.name, c.patroni, n.settings)
}

// startBalancer starts HAProxy, which asks the Patronis who the primary is, four times a second.
// A connection that a node refuses is refused to the client, which tries again soon.
func (c *PatroniCluster) startBalancer(path string) {
	c.tb.Helper()
	c.Balancer = c.group.Address()
	var b strings.Builder
	fmt.Fprintf(&b, `
global
    maxconn 400
defaults
    mode tcp
    timeout connect 2s
    timeout client 1h
    timeout server 1h
    timeout check 1s
    retries 0
frontend primary
    bind %s
    default_backend nodes
backend nodes
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server inter 250ms fall 2 rise 1 on-marked-down shutdown-sessions
`, c.Balancer)
	for _, n := range c.nodes {
		_, port, _ := net.SplitHostPort(n.api) // it was made here
		fmt.Fprintf(&b, "    server %s %s check port %s\n", n.name, n.postgres, port)
	}
	c.group.Start("haproxy", path, "-f", c.group.Write("haproxy.cfg", b.String())).AwaitPort(c.Balancer)
}

// DSN returns the DSN of a database that lists all nodes and selects the one that accepts writes.
func (c *PatroniCluster) DSN(database string) string {
	var hosts []string
	for _, n := range c.nodes {
		hosts = append(hosts, n.postgres)
	}
	return "postgres://portico@" + strings.Join(hosts, ",") + "/" + database + "?target_session_attrs=read-write"
}

// BalancedDSN returns the DSN of a database through HAProxy.
func (c *PatroniCluster) BalancedDSN(database string) string {
	return "postgres://portico@" + c.Balancer + "/" + database
}

// A member is a node as Patroni sees it.
type member struct {
	Name, Role, State string
	Timeline          int
}

// members returns the nodes as a Patroni that answers sees them; none if none answers.
func (c *PatroniCluster) members() []member {
	client := &http.Client{Timeout: 2 * time.Second}
	for _, n := range c.nodes {
		response, err := client.Get("http://" + n.api + "/cluster")
		if err != nil {
			continue
		}
		var found struct{ Members []member }
		err = json.NewDecoder(response.Body).Decode(&found)
		_ = response.Body.Close()
		if err == nil {
			return found.Members
		}
	}
	return nil
}

// withRole returns the node that has a role and runs, or nil.
func (c *PatroniCluster) withRole(role string) *node {
	members := c.members()
	i := slices.IndexFunc(members, func(m member) bool {
		return m.Role == role && (m.State == "running" || m.State == "streaming")
	})
	if i < 0 {
		return nil
	}
	return c.nodes[slices.IndexFunc(c.nodes, func(n *node) bool { return n.name == members[i].Name })]
}

// primary returns the primary, or nil.
func (c *PatroniCluster) primary() *node { return c.withRole("leader") }

// Primary returns the name of the primary; "" if there is none.
func (c *PatroniCluster) Primary() string {
	if n := c.primary(); n != nil {
		return n.name
	}
	return ""
}

// AwaitHealthy waits until all nodes run on one timeline, and one of them is the synchronous standby.
func (c *PatroniCluster) AwaitHealthy() {
	c.tb.Helper()
	testenv.Await(c.tb, "three nodes with a synchronous standby", func() bool {
		members := c.members()
		return len(members) == len(c.nodes) && c.withRole("leader") != nil && c.withRole("sync_standby") != nil &&
			!slices.ContainsFunc(members, func(m member) bool {
				return m.State != "running" && m.State != "streaming" || m.Timeline != members[0].Timeline
			})
	})
}

// Switchover makes the synchronous standby the primary, as an operator does for maintenance.
func (c *PatroniCluster) Switchover() {
	c.tb.Helper()
	from, to := c.primary(), c.withRole("sync_standby")
	if from == nil || to == nil {
		c.tb.Fatal("there is no primary, or no synchronous standby")
	}
	body, err := json.Marshal(map[string]string{"leader": from.name, "candidate": to.name})
	if err != nil {
		c.tb.Fatal(err)
	}
	response, err := http.Post("http://"+from.api+"/switchover", "application/json", bytes.NewReader(body))
	if err != nil {
		c.tb.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		c.tb.Fatalf("switchover: %s", response.Status)
	}
}

// KillPrimary kills the Patroni and the PostgreSQL of the primary, and returns a function that
// starts the node again.
func (c *PatroniCluster) KillPrimary() (restart func()) {
	c.tb.Helper()
	n := c.primary()
	if n == nil {
		c.tb.Fatal("there is no primary")
	}
	file, err := os.ReadFile(filepath.Join(c.group.Dir, n.name, "postmaster.pid"))
	if err != nil {
		c.tb.Fatal(err)
	}
	first, _, _ := strings.Cut(string(file), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		c.tb.Fatal(err)
	}
	n.running.Kill()
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // none if it has ended
	for _, word := range append([]string{first}, strings.Fields(string(children))...) {
		if process, err := strconv.Atoi(word); err == nil {
			_ = syscall.Kill(process, syscall.SIGKILL) // it may have ended
		}
	}
	return func() { c.start(n) }
}
