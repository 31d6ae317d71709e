//go:build linux

package testenv

import (
	"net"
	"slices"
	"strconv"
	"testing"
	"time"
)

const (
	masters  = 3
	lastSlot = 16383
)

// A RedisCluster is a Redis Cluster of three masters with a replica each.
type RedisCluster struct {
	t       testing.TB
	servers []*Redis
}

// NewRedisCluster starts a cluster whose nodes take another node for lost after nodeTimeout without
// an answer (Redis's default is 15 s). A replica is promoted about a second after that.
func NewRedisCluster(t testing.TB, nodeTimeout time.Duration) *RedisCluster {
	t.Helper()
	c := &RedisCluster{t: t}
	var busPorts []string
	for range 2 * masters {
		_, busPort, _ := net.SplitHostPort(FreeAddress(t))
		busPorts = append(busPorts, busPort)
		c.servers = append(c.servers, NewRedis(t, append(dataArguments(), "--cluster-enabled", "yes", "--cluster-port", busPort,
			"--cluster-node-timeout", strconv.FormatInt(nodeTimeout.Milliseconds(), 10), "--cluster-replica-validity-factor", "0")...))
	}
	for i, s := range c.servers {
		s.do("CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i < masters {
			s.do("CLUSTER", "ADDSLOTSRANGE", i*(lastSlot+1)/masters, (i+1)*(lastSlot+1)/masters-1)
		}
		host, port, _ := net.SplitHostPort(s.Address)
		c.servers[0].do("CLUSTER", "MEET", host, port, busPorts[i])
	}
	c.awaitAll("the nodes to know each other", func(s *Redis) bool {
		return s.info("cluster_known_nodes", "CLUSTER", "INFO") == strconv.Itoa(2*masters)
	})
	for i, s := range c.servers[masters:] {
		id, err := c.servers[i].client.Do(t.Context(), "CLUSTER", "MYID").Text()
		if err != nil {
			t.Fatal(err)
		}
		Await(t, "a node to become a replica", func() bool { return s.client.Do(t.Context(), "CLUSTER", "REPLICATE", id).Err() == nil })
	}
	c.AwaitReplicas()
	return c
}

// awaitAll waits until done reports true for all nodes.
func (c *RedisCluster) awaitAll(what string, done func(*Redis) bool) {
	c.t.Helper()
	Await(c.t, what, func() bool { return !slices.ContainsFunc(c.servers, func(s *Redis) bool { return !done(s) }) })
}

// AwaitReplicas waits until all nodes answer, all slots are served, and all replicas are in sync.
func (c *RedisCluster) AwaitReplicas() {
	c.t.Helper()
	c.awaitAll("the cluster to be whole", func(s *Redis) bool {
		if s.info("cluster_state", "CLUSTER", "INFO") != "ok" {
			return false
		}
		//lint:ignore SA1019 CLUSTER SHARDS, which replaces it, lists nodes that have failed, too
		slots, err := s.client.ClusterSlots(c.t.Context()).Result()
		for _, slot := range slots {
			if len(slot.Nodes) != 2 {
				return false
			}
		}
		inSync := s.info("role", "INFO", "replication") == "master" && s.info("connected_slaves", "INFO", "replication") == "1" ||
			s.info("master_link_status", "INFO", "replication") == "up"
		return err == nil && len(slots) >= masters && inSync
	})
}

// URL returns the URL of the cluster, which names three of its nodes.
func (c *RedisCluster) URL() string {
	return "redis://" + c.servers[0].Address + "?addr=" + c.servers[1].Address + "&addr=" + c.servers[2].Address
}

// Master returns the master that stores a key, according to a node that answers.
func (c *RedisCluster) Master(key string) *Redis {
	c.t.Helper()
	var master *Redis
	Await(c.t, "a master of "+key, func() bool {
		master = c.master(key)
		return master != nil
	})
	return master
}

func (c *RedisCluster) master(key string) *Redis {
	for _, s := range c.servers {
		slot, err := s.client.ClusterKeySlot(c.t.Context(), key).Result()
		if err != nil {
			continue
		}
		//lint:ignore SA1019 as in AwaitReplicas
		ranges, err := s.client.ClusterSlots(c.t.Context()).Result()
		if err != nil {
			continue
		}
		for _, r := range ranges {
			if int(slot) < r.Start || int(slot) > r.End || len(r.Nodes) == 0 {
				continue
			}
			if i := slices.IndexFunc(c.servers, func(s *Redis) bool { return s.Address == r.Nodes[0].Addr }); i >= 0 {
				return c.servers[i]
			}
		}
	}
	return nil
}

// AwaitPromotion waits until another node than lost, a master that was killed or paused, serves the
// slot of a key, and returns it.
func (c *RedisCluster) AwaitPromotion(key string, lost *Redis) *Redis {
	c.t.Helper()
	var promoted *Redis
	Await(c.t, "the promotion of a replica", func() bool {
		for _, s := range c.servers {
			if s == lost || s.client.Exists(c.t.Context(), key).Err() != nil { // others redirect
				continue
			}
			promoted = s
			return true
		}
		return false
	})
	return promoted
}
