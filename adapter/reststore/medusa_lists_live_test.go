//go:build linux

package reststore_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// TestMedusaLists makes 240 products in one request, which share their times of creation, and changes every
// fourth, which moves it in Medusa's tables. A scan lists each of them once, and a later record has a greater
// id.
func TestMedusaLists(t *testing.T) {
	const products = 240
	m := sqltest.StartMedusa(t)
	content, _ := reststore.Mapping("medusa")
	b, err := reststore.Open(reststore.Options{
		Mapping: content, File: "medusa.yaml", URL: m.URL, User: m.User, Secret: m.Password, Vars: m.Vars(), IDs: idmap.NewCache(demotest.Open(t, sqlstore.Options{DSN: demotest.SQLite(t), MediaDir: t.TempDir()}).Replica()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })

	prefix := fmt.Sprintf("batch-%d-", time.Now().UnixNano()) // a running Medusa keeps the products of earlier tests
	product := func(i int) object {
		name := fmt.Sprint(prefix, i)
		return object{
			"title": name, "handle": name, "options": []object{{"title": "Size", "values": []string{"S"}}},
			"variants": []object{{"title": "S", "sku": name, "options": object{"Size": "S"}, "prices": []object{{"currency_code": m.Currency, "amount": i + 1}}}},
		}
	}
	var batch, changes []object
	for i := range products {
		batch = append(batch, product(i))
	}
	created, _ := m.Call(t, http.MethodPost, "/admin/products/batch", object{"create": batch})["created"].([]any)
	var ids, times []string
	for i, p := range created {
		id := fmt.Sprint(sqltest.LiveValue(p, "id"))
		ids, times = append(ids, id), append(times, fmt.Sprint(sqltest.LiveValue(p, "created_at")))
		if i%4 == 0 {
			changes = append(changes, object{"id": id, "subtitle": "changed"})
		}
	}
	slices.Sort(times)
	if different := len(slices.Compact(times)); len(ids) != products || different > products/4 {
		t.Fatalf("%d products with %d times of creation: the batch does not test that they are the same", len(ids), different)
	}
	m.Call(t, http.MethodPost, "/admin/products/batch", object{"update": changes})
	later := fmt.Sprint(sqltest.LiveValue(m.Call(t, http.MethodPost, "/admin/products", product(products)), "product.id"))
	if last := slices.Max(ids); later <= last {
		t.Errorf("the id %s of a later product is not greater than %s: find does not begin with the newest", later, last)
	}

	for _, resource := range b.Resources() {
		if resource.Resource != resource.Root {
			continue
		}
		seen := map[string]int{}
		err := b.Scan(t.Context(), resource.Resource, time.Time{}, func(documents []replica.Document) error {
			for _, d := range documents {
				seen[d.ID]++
			}
			return nil
		})
		if err != nil {
			t.Errorf("scan of %s: %v", resource.Resource, err)
		}
		if resource.Resource != adapter.Products {
			continue
		}
		for _, id := range append(ids, later) {
			if seen[id] != 1 {
				t.Errorf("%s is listed %d times, want once", id, seen[id])
			}
		}
	}
}
