//go:build linux

package importer_test

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestImportEndsCachedReplies imports changes of a legacy store while replicas answer from their
// caches, some with a shared Redis. After the import all replicas show the changes, also one that
// was paused meanwhile, and unchanged replies are still cached.
func TestImportEndsCachedReplies(t *testing.T) {
	t.Parallel()
	dsn := sqltest.SQLite(t)
	shop := apptest.Import(t, magento1test.Rich, "", dsn)
	environ := shop.Commands.With("PORTICO_LOG_LEVEL=error", "PORTICO_CACHE_TTL=1h")
	redis := []string{"PORTICO_CACHE_REDIS_URL=" + apptest.NewRedis(t).URL(), "PORTICO_CACHE_TIMEOUT=5s"}
	var replicas []*apptest.Process
	var guests []*apptest.Client
	for _, more := range [][]string{nil, nil, redis, redis, append(redis, "PORTICO_CACHE_MEMORY_TTL=1h")} {
		p := apptest.Start(t, environ.With(more...), "--config", shop.Config)
		replicas, guests = append(replicas, p), append(guests, apptest.NewClient(t, p.Contract, ""))
	}
	// hits reports whether the reply, which must have a text, comes from the cache. On a busy machine a replica
	// may not know for a moment whether something has changed, and then asks the store.
	hits := func(guest *apptest.Client, path, text string) bool {
		t.Helper()
		got := guest.Get(t, path)
		if got.Status != http.StatusOK || !strings.Contains(got.Body, text) {
			t.Errorf("replica %d, %s: %d %s %s, want %q", slices.Index(guests, guest), path, got.Status, got.Header.Get("X-Cache"), got.Body, text)
		}
		return got.Header.Get("X-Cache") == "HIT"
	}
	for _, guest := range guests {
		for _, path := range []string{"/products/1", "/products/2", "/products?limit=5"} {
			testenv.Await(t, path+" in the cache", func() bool { return hits(guest, path, "") })
		}
	}
	apptest.Execute(t, shop.DB, "UPDATE catalog_product_entity_decimal SET value = 1234.5 WHERE entity_id = 1 AND attribute_id = (SELECT attribute_id FROM eav_attribute WHERE attribute_code = 'price' AND entity_type_id = (SELECT entity_type_id FROM eav_entity_type WHERE entity_type_code = 'catalog_product'))")
	replicas[1].Signal(t, syscall.SIGSTOP)
	if got := shop.Run(t, "--update", "products").Counts()["products"]; got != "0 created, 1 changed, 0 removed, 0 skipped" {
		t.Fatal(got)
	}
	replicas[1].Signal(t, syscall.SIGCONT)
	kept := false // a replica without Redis, which no other replica fills, still has the reply about another product
	for i, guest := range guests {
		for _, path := range []string{"/products/1", "/products?limit=5"} {
			// The replica that was stopped may still be about to drop the reply that it has just
			// cached.
			testenv.Await(t, path+" in the cache", func() bool { return hits(guest, path, "1234.5") })
		}
		kept = hits(guest, "/products/2", "") && i < 2 || kept
	}
	if !kept {
		t.Error("the import ended the replies about other products as well")
	}
}
