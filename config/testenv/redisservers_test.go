//go:build linux

package testenv_test

import (
	"testing"
	"time"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/redis/go-redis/v9"
)

// TestClusterFailover reads a key after the master that stored it was killed.
func TestClusterFailover(t *testing.T) {
	testenv.OnlyNightly(t, "rediscluster")
	c := testenv.NewRedisCluster(t, 2*time.Second)
	o, err := redis.ParseClusterURL(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClusterClient(o)
	defer client.Close()
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Wait(t.Context(), 1, time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	lost := c.Master("key")
	lost.Kill()
	if promoted := c.AwaitPromotion("key", lost); promoted == lost {
		t.Error("the killed master was promoted")
	}
	lost.Start()
	c.AwaitReplicas()
	client.ReloadState(t.Context())
	if got, err := client.Get(t.Context(), "key").Result(); err != nil || got != "value" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestSentinelFailover asks the Sentinels for the master after it was killed.
func TestSentinelFailover(t *testing.T) {
	testenv.OnlyNightly(t, "sentinel")
	g := testenv.NewRedisSentinels(t, time.Second)
	o, err := redis.ParseFailoverURL(g.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewFailoverClient(o)
	defer client.Close()
	lost := g.Master()
	lost.Kill()
	g.AwaitPromotion(lost)
	testenv.Await(t, "the promoted replica to take writes", func() bool { return client.Set(t.Context(), "key", "value", 0).Err() == nil })
}
