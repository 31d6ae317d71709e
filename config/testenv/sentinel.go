//go:build linux

package testenv

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// masterName is the name under which the Sentinels know the master.
const masterName = "portico"

// RedisSentinels are three Sentinels that watch a master with two replicas.
type RedisSentinels struct {
	t                  testing.TB
	servers, sentinels []*Redis
}

// NewRedisSentinels starts the servers and the Sentinels, which take a server for lost that has not
// answered for downAfter (Redis's default is 30 s).
func NewRedisSentinels(t testing.TB, downAfter time.Duration) *RedisSentinels {
	t.Helper()
	g := &RedisSentinels{t: t}
	master := NewRedis(t, dataArguments()...)
	host, port, _ := net.SplitHostPort(master.Address)
	g.servers = append(g.servers, master)
	for range 2 {
		g.servers = append(g.servers, NewRedis(t, append(dataArguments(), "--replicaof", host+" "+port)...))
	}
	config := fmt.Sprintf("sentinel monitor %[1]s %s %s 2\nsentinel down-after-milliseconds %[1]s %[4]d\nsentinel failover-timeout %[1]s 5000\n",
		masterName, host, port, downAfter.Milliseconds())
	for range 3 {
		path := writeFile(t, "sentinel.conf", config)
		g.sentinels = append(g.sentinels, NewRedis(t, path, "--sentinel"))
	}
	Await(t, "the Sentinels to know all", func() bool {
		return !slices.ContainsFunc(g.sentinels, func(s *Redis) bool {
			return !strings.Contains(s.info("master0", "INFO", "sentinel"), "status=ok") ||
				!strings.Contains(s.info("master0", "INFO", "sentinel"), "slaves=2,sentinels=3")
		})
	})
	return g
}

// URL returns the URL of the Sentinels.
func (g *RedisSentinels) URL() string {
	return "redis://" + g.sentinels[0].Address + "?addr=" + g.sentinels[1].Address + "&addr=" + g.sentinels[2].Address + "&master_name=" + masterName
}

// Master returns the server that a Sentinel names as the master.
func (g *RedisSentinels) Master() *Redis {
	g.t.Helper()
	client := redis.NewSentinelClient(&redis.Options{Addr: g.sentinels[0].Address, DisableIdentity: true})
	defer func() { _ = client.Close() }()
	at, err := client.GetMasterAddrByName(g.t.Context(), masterName).Result()
	if err != nil {
		g.t.Fatal(err)
	}
	i := slices.IndexFunc(g.servers, func(s *Redis) bool { return s.Address == net.JoinHostPort(at[0], at[1]) })
	if i < 0 {
		g.t.Fatalf("the Sentinels name an unknown master: %v", at)
	}
	return g.servers[i]
}

// AwaitPromotion waits until the Sentinels name another master than lost, which takes writes.
func (g *RedisSentinels) AwaitPromotion(lost *Redis) {
	g.t.Helper()
	Await(g.t, "the promotion of a replica", func() bool {
		master := g.Master()
		return master != lost && master.info("role", "INFO", "replication") == "master"
	})
}

// AwaitReplicas waits until the master has two replicas that are in sync.
func (g *RedisSentinels) AwaitReplicas() {
	g.t.Helper()
	Await(g.t, "the replicas to be in sync", func() bool {
		master := g.Master()
		for _, s := range g.servers {
			role := s.info("role", "INFO", "replication")
			if s == master && role != "master" || s != master && (role != "slave" || s.info("master_link_status", "INFO", "replication") != "up") {
				return false
			}
		}
		return true
	})
}
