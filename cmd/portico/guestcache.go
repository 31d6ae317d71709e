package main

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
	"runtime/debug"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/config"
)

// redisBreaker is the name of the breaker of Redis in metrics.
const redisBreaker = "redis"

// openCache returns the cache of replies to Guests. That Redis cannot be reached is
// no error: the cache is then one in memory until it can.
func openCache(cfg *config.Config, registry prometheus.Registerer, circuits *breakers, log *slog.Logger) (*cache.Cache, error) {
	c := cfg.Cache
	var client redis.UniversalClient
	if c.RedisURL != "" {
		cache.LogRedis(log)
		var err error
		if client, err = cache.Dial(c.RedisURL, c.Timeout); err != nil {
			return nil, fmt.Errorf("%w\nset cache.redis_url (PORTICO_CACHE_REDIS_URL) to the Redis that the replicas share", err)
		}
	}
	circuits.add(redisBreaker)
	// The cache outlives the context that a signal ends: it is closed when the last
	// request has been answered.
	kept, err := cache.New(context.Background(), cache.Options{
		Redis:       client,
		TTL:         c.TTL,
		StaleTTL:    c.StaleTTL,
		MemoryTTL:   c.MemoryTTL,
		Timeout:     c.Timeout,
		MemoryBytes: c.MemoryBytes,
		OnBreaker:   func(to string) { circuits.changed(redisBreaker, to) },
		Registerer:  registry,
		Log:         log,
	})
	if err != nil && client != nil {
		err = errors.Join(err, client.Close())
	}
	return kept, err
}

// fingerprint stands for the build, the store and every setting that replies may
// depend on: replicas that agree in it may show each other's replies. It is a sum,
// because some of the settings are secret.
func fingerprint(cfg *config.Config, demoStore bool) (string, error) {
	sum := sha256.New()
	write := func(texts ...string) {
		for _, text := range texts {
			fmt.Fprintf(sum, "%d %s\n", len(text), text)
		}
	}
	write(version, revision())
	for _, row := range cfg.Rows() {
		if section, _, _ := strings.Cut(row.Name, "."); !slices.Contains(apartFromReplies(), section) {
			write(row.Name, row.Value)
		}
	}
	for _, section := range slices.Sorted(maps.Keys(cfg.Sections)) {
		for _, name := range slices.Sorted(maps.Keys(cfg.Sections[section])) {
			write(section, name, cfg.Sections[section][name])
		}
	}
	dsn := cfg.Sections[sqlSection]["dsn"]
	switch {
	case demoStore: // nobody else has it
		write(rand.Text())
	case strings.HasPrefix(dsn, "sqlite:"): // nor a file of this machine
		host, err := os.Hostname()
		if err != nil {
			return "", err
		}
		path, err := filepath.Abs(strings.TrimPrefix(dsn, "sqlite:"))
		if err != nil {
			return "", err
		}
		write(host, path)
	}
	return string(sum.Sum(nil)), nil
}

// apartFromReplies names the settings, or sections of them, that no reply depends
// on.
func apartFromReplies() []string {
	return []string{"listen", "trusted_proxies", "ops", "log", "server", "cache", "upstream", "auth", "record", "shadow"}
}

// revision returns the commit the program was built from, if the build knows it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			revision += " " + s.Value
		}
	}
	return revision
}
