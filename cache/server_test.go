//go:build linux

package cache_test

import (
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/redis/go-redis/v9"
)

// startRedis starts an empty server, which stores its data on disk only by the command SAVE.
func startRedis(tb testing.TB) *apptest.Redis {
	tb.Helper()
	return apptest.NewRedis(tb, "--appendonly", "no")
}

// redisClient returns a client that is independent of the cache.
func redisClient(tb testing.TB, s *apptest.Redis) *redis.Client {
	tb.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Address, DialerRetries: 1, MaxRetries: -1})
	tb.Cleanup(func() { _ = client.Close() })
	return client
}
