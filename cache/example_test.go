package cache_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/cache"
)

// The first Get fills the cache and the second one is a hit.
func ExampleCache_Get() {
	ctx := context.Background()
	c, err := cache.New(ctx, cache.Options{TTL: time.Minute, MemoryBytes: 1 << 20, Registerer: prometheus.NewRegistry()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	fill := func(context.Context, [16]byte) ([]byte, time.Duration, error) {
		fmt.Println("asking the backend")
		return []byte(`{"name":"Kettle"}`), time.Minute, nil
	}
	key := sha256.Sum256([]byte("GET /api/rest/products/12"))
	for range 2 {
		value, outcome, _, err := c.Get(ctx, key, key, []string{"product:12"}, fill)
		fmt.Println(string(value), outcome, err)
	}
	// Output:
	// asking the backend
	// {"name":"Kettle"} miss <nil>
	// {"name":"Kettle"} hit <nil>
}

// A write names the tags that it may change, before its commit and after it; no reply
// from before the write is returned afterwards.
func ExampleCache_BeginWrite() {
	ctx := context.Background()
	c, err := cache.New(ctx, cache.Options{TTL: time.Minute, MemoryBytes: 1 << 20, Registerer: prometheus.NewRegistry()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	price := "9.90"
	fill := func(context.Context, [16]byte) ([]byte, time.Duration, error) {
		return []byte(price), time.Minute, nil
	}
	key := sha256.Sum256([]byte("GET /api/rest/products/12"))
	c.Get(ctx, key, key, []string{"product:12"}, fill)

	done := c.BeginWrite(ctx, []string{"product:12"})
	price = "8.50" // the commit
	done()
	value, outcome, _, err := c.Get(ctx, key, key, []string{"product:12"}, fill)
	fmt.Println(string(value), outcome, err)
	// Output: 8.50 miss <nil>
}
