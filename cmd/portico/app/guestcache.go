package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// redisBreaker is the name of the breaker of Redis in metrics.
const redisBreaker = "redis"

// openReplyCache returns the cache of replies to Guests. If Redis is unreachable,
// openReplyCache does not fail: the cache works in memory until Redis is reachable.
func openReplyCache(cfg *config.Config, changes cache.Changes, registry prometheus.Registerer, breakers *breakerMetrics, log *slog.Logger) (*cache.Cache, error) {
	c := cfg.Cache
	var client redis.UniversalClient
	if c.RedisURL != "" {
		cache.LogRedis(log)
		var err error
		if client, err = cache.Dial(c.RedisURL, c.Timeout); err != nil {
			return nil, fmt.Errorf("%w\nset cache.redis_url (PORTICO_CACHE_REDIS_URL) to the Redis that the replicas share", err)
		}
	}
	breakers.add(redisBreaker)
	// The cache must not use the context that a signal ends, because requests in flight
	// still need it. It is closed after the last request.
	replyCache, err := cache.New(context.Background(), cache.Options{
		Redis:       client,
		Prefix:      c.Prefix,
		Secret:      string(cfg.Auth.SecretKey),
		StoreEpoch:  rand.Text(), // shared with no process until the epoch of the database is read
		TTL:         c.TTL,
		StaleTTL:    c.StaleTTL,
		MemoryTTL:   c.MemoryTTL,
		Timeout:     c.Timeout,
		MemoryBytes: c.MemoryBytes,
		Changes:     changes,
		OnBreaker:   func(to string) { breakers.setState(redisBreaker, to) },
		Registerer:  registry,
		Log:         log,
	})
	if err != nil && client != nil {
		err = errors.Join(err, client.Close())
	}
	return replyCache, err
}

// replyFingerprint returns a hash of the store and all settings that can affect replies. Processes
// with equal fingerprints may share cached replies, whatever their builds: package replycache has a
// version of the format of replies. It is a hash because some of the settings are secret. store is
// the storeIdentity.
func replyFingerprint(cfg *config.Config, store string) string {
	sum := sha256.New()
	write := func(texts ...string) {
		for _, text := range texts {
			fmt.Fprintf(sum, "%d %s\n", len(text), text)
		}
	}
	for _, row := range cfg.Rows() {
		section, _, _ := strings.Cut(row.Name, ".")
		if _, ofAdapter := cfg.Sections[section]; !ofAdapter && !slices.Contains(settingsWithoutEffect(), section) {
			write(row.Name, row.Value)
		}
	}
	for _, section := range slices.Sorted(maps.Keys(cfg.Sections)) {
		for _, name := range slices.Sorted(maps.Keys(cfg.Sections[section])) {
			value := cfg.Sections[section][name]
			if section == program.SQLSection {
				switch name {
				case "dsn": // passwords change, and how to connect
					value = engine.Identity(value)
				case "migrate", "pool_mode", "direct_dsn", "write_connections", "read_connections":
					continue
				}
			}
			write(section, name, value)
		}
	}
	write(store)
	return string(sum.Sum(nil))
}

// storeIdentity returns a text that identifies the store: it differs from the texts of other stores
// that processes may have under the same settings.
func storeIdentity(cfg *config.Config, demoStore bool) (string, error) {
	dsn := cfg.Sections[program.SQLSection]["dsn"]
	switch {
	case demoStore: // no other process has this store
		return rand.Text(), nil
	case strings.HasPrefix(dsn, "sqlite:"): // no other machine has this file
		host, err := os.Hostname()
		if err != nil {
			return "", err
		}
		path, err := filepath.Abs(strings.TrimPrefix(dsn, "sqlite:"))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %s %s", len(host), host, path), nil
	default:
		return "", nil
	}
}

// commonStore reports whether all replicas have the same store, which then knows all used nonces.
func (w *wiring) commonStore() bool {
	return w.data == nil && !strings.HasPrefix(w.config.Sections[program.SQLSection]["dsn"], "sqlite:")
}

// settingsWithoutEffect names the settings, and sections of settings, that do not affect
// replies.
func settingsWithoutEffect() []string {
	return []string{"listen", "trusted_proxies", "ops", "log", "server", "cache", "upstream", "auth", "record", "shadow"}
}
