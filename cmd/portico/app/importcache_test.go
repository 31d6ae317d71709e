//go:build linux

package app

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// TestImportEndsCachedReplies imports what an old shop has changed while replicas answer
// from what they have cached, some with a Redis that they share. After the import all show the
// changes, also one that was paused meanwhile, and what has not changed is still cached.
func TestImportEndsCachedReplies(t *testing.T) {
	dsn := "sqlite:" + t.TempDir() + "/store.db"
	shop := importShop(t, magento1test.Rich, "", dsn)
	environ := shop.console.with("PORTICO_LOG_LEVEL=error", "PORTICO_CACHE_TTL=1h")
	redis := []string{"PORTICO_CACHE_REDIS_URL=" + newRedis(t).url(), "PORTICO_CACHE_TIMEOUT=5s"}
	var replicas []*process
	var guests []*client
	for _, more := range [][]string{nil, nil, redis, redis, append(redis, "PORTICO_CACHE_MEMORY_TTL=1h")} {
		p := start(t, environ.with(more...), "--config", shop.config)
		replicas, guests = append(replicas, p), append(guests, newClient(t, p.contract, ""))
	}
	expect := func(guest *client, path, outcome, text string) {
		t.Helper()
		got := guest.get(t, path)
		if got.status != http.StatusOK || !strings.Contains(got.body, text) || outcome != "" && got.header.Get("X-Cache") != outcome {
			t.Errorf("%s: %d %s %s, want %s with %q", path, got.status, got.header.Get("X-Cache"), got.body, outcome, text)
		}
	}
	for _, guest := range guests {
		for _, path := range []string{"/products/1", "/products/2", "/products?limit=5"} {
			guest.get(t, path)
			expect(guest, path, "HIT", "")
		}
	}
	execute(t, shop.old, "UPDATE catalog_product_entity_decimal SET value = 1234.5 WHERE entity_id = 1 AND attribute_id = (SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'price' AND entity_type_id = (SELECT entity_type_id FROM eav_entity_type WHERE entity_type_code = 'catalog_product'))")
	replicas[1].signal(t, syscall.SIGSTOP)
	if got := shop.run(t, "--update", "products").counts()["products"]; got != "0 created, 1 changed, 0 removed, 0 skipped" {
		t.Fatal(got)
	}
	replicas[1].signal(t, syscall.SIGCONT)
	for _, guest := range guests {
		for _, path := range []string{"/products/1", "/products?limit=5"} {
			// The one that was stopped may still be about to drop what it has just cached.
			pollUntil(t, path+" in the cache", func() bool {
				expect(guest, path, "", "1234.5")
				return guest.get(t, path).header.Get("X-Cache") == "HIT"
			})
		}
		expect(guest, "/products/2", "HIT", "")
	}
}
