//go:build linux

package reststore_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/reststore/medusatest"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// A medusaShop is the demo store with Medusa as its backend.
type medusaShop struct {
	*testing.T
	*replica.Adapter
	medusa  *medusatest.Medusa
	initial []string // the demo store's records, formatted
}

// openMedusaShop pushes the demo store to an empty Medusa.
func openMedusaShop(t *testing.T) *medusaShop {
	t.Helper()
	m := medusatest.Start(t)
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "replica.db"), MediaDir: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Load(t.Context(), data, nil); err != nil {
		t.Fatal(err)
	}
	s := &medusaShop{T: t, medusa: m, initial: recordsOf(t, db.Adapter())}
	local := db.Replica()
	mapping, _ := reststore.Mapping("medusa")
	backend, err := reststore.Open(reststore.Options{
		Mapping: mapping, File: "medusa.yaml", URL: m.URL, User: m.User, Secret: m.Password, IDs: idmap.NewCache(local),
		Vars: map[string]string{"currency": m.Currency, "location": m.Location, "region": m.Region, "profile": m.Profile},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Adapter, err = replica.New(replica.Options{
		Replica: local, Backend: backend, AllocateIDs: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	begun, last := time.Now(), 0
	if err := s.Push(t.Context(), func(done, total int) { last = total - done }); err != nil || last != 0 {
		t.Fatalf("%d records are left: %v", last, err)
	}
	t.Logf("the demo store is pushed in %s", time.Since(begun).Round(time.Millisecond))
	return s
}

// syncedResources returns the resources that Medusa holds, at least in part.
func syncedResources() []adapter.Resource {
	return []adapter.Resource{
		adapter.Websites, adapter.CustomerGroups, adapter.Categories, adapter.Customers, adapter.CustomerAddresses, adapter.Products,
		adapter.StockItems, adapter.ProductWebsites, adapter.ProductCategories, adapter.Orders, adapter.OrderItems, adapter.OrderAddresses,
	}
}

// recordsOf returns all records of these resources, formatted.
func recordsOf(t *testing.T, a adapter.Adapter) (all []string) {
	t.Helper()
	for _, r := range syncedResources() {
		store, err := a.Store(r)
		if err != nil {
			t.Fatal(err)
		}
		list, err := store.List(t.Context(), &adapter.ListParams{With: onDemand(r)})
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range list.Records {
			all = append(all, string(r)+" "+formatRecord(record))
		}
	}
	return all
}

func onDemand(r adapter.Resource) []string {
	if r == adapter.Products {
		return []string{"group_price", "tier_price", "stock_item"}
	}
	return nil
}

// formatRecord formats a record without updated_at.
func formatRecord(r adapter.Record) string {
	var b strings.Builder
	for i, v := range r.Values {
		if name := r.Schema.Attributes[i].Name; v.Kind() != adapter.Absent && name != "updated_at" {
			fmt.Fprintf(&b, "%s=%s ", name, formatValue(v))
		}
	}
	return b.String()
}

func formatValue(v adapter.Value) string {
	switch v.Kind() {
	case adapter.Null:
		return "null"
	case adapter.Texts:
		return fmt.Sprintf("%q", v.Texts())
	case adapter.Records:
		var all []string
		for _, r := range v.Records() {
			all = append(all, formatRecord(r))
		}
		return fmt.Sprint(all)
	default:
		return v.Text()
	}
}

// run runs a subtest.
func (s *medusaShop) run(name string, f func(*medusaShop)) {
	s.Helper()
	s.Run(name, func(t *testing.T) {
		part := *s
		part.T = t
		f(&part)
	})
}

// findDocument returns the only Medusa document that a query selects.
func (s *medusaShop) findDocument(member, query string) map[string]any {
	s.Helper()
	list, _ := s.medusa.Call(s, http.MethodGet, query, nil)[member].([]any)
	if len(list) != 1 {
		s.Fatalf("%s finds %d", query, len(list))
	}
	return list[0].(map[string]any)
}

// product returns Medusa's document of a product.
func (s *medusaShop) product(key int) map[string]any {
	s.Helper()
	return s.findDocument("products", fmt.Sprintf("/admin/products?external_id=%d&fields=%s", key, url.QueryEscape("*variants.prices,*variants.inventory_items.inventory.location_levels,*categories,*sales_channels,*images")))
}

func (s *medusaShop) customer(email string) map[string]any {
	s.Helper()
	return s.findDocument("customers", "/admin/customers?fields="+url.QueryEscape("*groups,*addresses")+"&email="+url.QueryEscape(email))
}

// checkDocument compares values of a document, by path.
func (s *medusaShop) checkDocument(document map[string]any, want map[string]string) {
	s.Helper()
	for path, w := range want {
		if got := fmt.Sprint(medusatest.At(document, path)); got != w {
			s.Errorf("%s is %s at Medusa, want %s", path, got, w)
		}
	}
}

func (s *medusaShop) get(r adapter.Resource, key int) adapter.Record {
	s.Helper()
	store, err := s.Store(r)
	if err != nil {
		s.Fatal(err)
	}
	record, err := store.Get(s.Context(), &adapter.GetParams{Key: adapter.Key(key), With: onDemand(r)})
	if err != nil {
		s.Fatal(err)
	}
	return record
}

// isGone reports whether a record does not exist.
func (s *medusaShop) isGone(r adapter.Resource, key int) bool {
	s.Helper()
	store, err := s.Store(r)
	if err != nil {
		s.Fatal(err)
	}
	_, err = store.Get(s.Context(), &adapter.GetParams{Key: adapter.Key(key)})
	if err != nil && adapter.KindOf(err) != adapter.NotFound {
		s.Fatal(err)
	}
	return err != nil
}

// checkRecord compares formatted values of a record.
func (s *medusaShop) checkRecord(r adapter.Resource, key int, want map[string]string) {
	s.Helper()
	record := s.get(r, key)
	for name, w := range want {
		if got := formatValue(record.Get(name)); got != w {
			s.Errorf("%s of %s %d is %s, want %s", name, r, key, got, w)
		}
	}
}

// list returns the records whose attribute has the value.
func (s *medusaShop) list(r adapter.Resource, attribute, value string) []adapter.Record {
	s.Helper()
	store, err := s.Store(r)
	if err != nil {
		s.Fatal(err)
	}
	query := adapter.Query{Where: []adapter.Condition{{Any: []adapter.Test{{Attribute: attribute, Op: adapter.Eq, Operands: []string{value}}}}}}
	found, err := store.List(s.Context(), &adapter.ListParams{Query: query, With: onDemand(r)})
	if err != nil {
		s.Fatal(err)
	}
	records, _, err := adapter.Apply(s.Context(), adapter.NewSchemas().Of(r), found.Records, &query)
	if err != nil {
		s.Fatal(err)
	}
	return records
}

// values are attributes of a record, by name.
type values map[string]adapter.Value

func (v values) record(r adapter.Resource) adapter.Record {
	record := adapter.NewRecord(adapter.NewSchemas().Of(r))
	for name, value := range v {
		record.Set(name, value)
	}
	return record
}

func (s *medusaShop) create(r adapter.Resource, v values) int {
	s.Helper()
	store, err := s.Store(r)
	if err != nil {
		s.Fatal(err)
	}
	key, err := store.Create(s.Context(), &adapter.CreateParams{Record: v.record(r)})
	if err != nil {
		s.Fatal(err)
	}
	return int(key)
}

func (s *medusaShop) update(r adapter.Resource, key int, v values) {
	s.Helper()
	store, err := s.Store(r)
	if err != nil {
		s.Fatal(err)
	}
	if err := store.Update(s.Context(), &adapter.UpdateParams{Key: adapter.Key(key), Change: func(adapter.Record) (adapter.Record, error) {
		return v.record(r), nil
	}}); err != nil {
		s.Fatal(err)
	}
}

func (s *medusaShop) remove(r adapter.Resource, key int) {
	s.Helper()
	store, err := s.Store(r)
	if err != nil {
		s.Fatal(err)
	}
	if err := store.Delete(s.Context(), &adapter.DeleteParams{Key: adapter.Key(key)}); err != nil {
		s.Fatal(err)
	}
}

func text(t string) adapter.Value  { return adapter.TextValue(t) }
func number(i int64) adapter.Value { return adapter.IntegerValue(i) }

// TestMedusa runs the demo store against a real Medusa. It checks that the pushed records
// are unchanged, and that changes and deletions on either side reach the other side.
func TestMedusa(t *testing.T) {
	s := openMedusaShop(t)
	s.run("pushed", (*medusaShop).testPushed)
	s.run("changed at Medusa", (*medusaShop).testChangedAtMedusa)
	s.run("new at Medusa", (*medusaShop).testNewAtMedusa)
	s.run("changed in Portico", (*medusaShop).testChangedInPortico)
	s.run("new in Portico", (*medusaShop).testNewInPortico)
	s.run("rejected", (*medusaShop).testRejected)
	s.run("deleted", (*medusaShop).testDeleted)
}

func (s *medusaShop) testPushed() {
	if diff := cmp.Diff(s.initial, recordsOf(s.T, s)); diff != "" {
		s.Errorf("records differ from the demo store:\n%s", diff)
	}
	if err := s.Scan(s.Context()); err != nil {
		s.Error(err)
	}
	if diff := cmp.Diff(s.initial, recordsOf(s.T, s)); diff != "" {
		s.Errorf("records differ after a scan:\n%s", diff)
	}
	p := s.product(2)
	s.checkDocument(p, map[string]string{
		"title": "Copper Kettle", "subtitle": "Copper Kettle short", "description": "Copper Kettle description", "handle": "copper-kettle-2",
		"status": "published", "weight": "1.8", "origin_country": "FR", "variants.0.sku": "kettle-copper", "variants.0.manage_inventory": "true",
		"variants.0.inventory_items.0.inventory.location_levels.0.stocked_quantity": "5",
	})
	if got, want := prices(p), []string{"119.5", "80 from 10 of a group", "90 from 5", "95 of a group"}; !slices.Equal(got, want) {
		s.Errorf("prices %q, want %q", got, want)
	}
	if n, m := len(p["sales_channels"].([]any)), len(p["categories"].([]any)); n != 2 || m != 2 {
		s.Errorf("the product is in %d sales channels and %d categories, want 2 and 2", n, m)
	}
	sale := s.medusa.Call(s, http.MethodGet, "/admin/price-lists/"+s.sale(p)+"?fields="+url.QueryEscape("*prices,starts_at,ends_at,type,status"), nil)
	s.checkDocument(sale, map[string]string{
		"price_list.type": "sale", "price_list.status": "active", "price_list.prices.0.amount": "99",
		"price_list.starts_at": "2012-01-01T00:00:00.000Z", "price_list.ends_at": "2038-01-02T00:00:00.000Z",
	})
	s.checkDocument(s.product(5), map[string]string{"status": "draft"})
	ben := s.customer("ben@example.com")
	s.checkDocument(ben, map[string]string{"first_name": "Ben", "last_name": "Okri", "groups.0.name": "Wholesale", "metadata.legacy_id": "2"})
	if n := len(ben["addresses"].([]any)); n != 2 {
		s.Errorf("Ben has %d addresses, want 2", n)
	}
	orders := s.medusa.Call(s, http.MethodGet, "/admin/orders?order=created_at&fields="+url.QueryEscape("*items,*billing_address,metadata,email"), nil)
	s.checkDocument(orders, map[string]string{
		"count": "4", "orders.0.metadata.increment_id": "100000001", "orders.0.email": "ada@example.com", "orders.0.billing_address.last_name": "Byron",
	})
	var lines []string
	for _, line := range medusatest.At(orders, "orders.0.items").([]any) {
		lines = append(lines, fmt.Sprint(medusatest.At(line, "quantity"), " ", medusatest.At(line, "title"), " of ", medusatest.At(line, "unit_price")))
	}
	if slices.Sort(lines); !slices.Equal(lines, []string{"1 Untaxed Mug of 9.99", "2 Steel Kettle of 39.99"}) {
		s.Errorf("lines %q", lines)
	}
	for resource, n := range map[string]string{"products": "12", "customers": "5", "customer-groups": "4", "product-categories": "5", "sales-channels": "3"} {
		s.checkDocument(s.medusa.Call(s, http.MethodGet, "/admin/"+resource, nil), map[string]string{"count": n})
	}
}

// prices returns the formatted prices of a product, sorted.
func prices(product map[string]any) (all []string) {
	list, _ := medusatest.At(product, "variants.0.prices").([]any)
	for _, p := range list {
		price := p.(map[string]any)
		written := fmt.Sprint(price["amount"])
		if from := price["min_quantity"]; from != nil {
			written += fmt.Sprint(" from ", from)
		}
		if medusatest.At(price, "rules").(map[string]any)["customer.groups.id"] != nil {
			written += " of a group"
		}
		all = append(all, written)
	}
	slices.Sort(all)
	return all
}

// sale returns the id of the price list with the product's special price.
func (s *medusaShop) sale(product map[string]any) string {
	s.Helper()
	id, _ := medusatest.At(product, "metadata.portico_sale").(string)
	if id == "" {
		s.Fatal("the product has no price list")
	}
	return id
}

// post changes a Medusa document.
func (s *medusaShop) post(path string, body map[string]any) map[string]any {
	s.Helper()
	return s.medusa.Call(s, http.MethodPost, path, body)
}

type object = map[string]any

func (s *medusaShop) testChangedAtMedusa() {
	p := s.product(2)
	path := fmt.Sprint("/admin/products/", p["id"])
	variant := fmt.Sprint(path, "/variants/", medusatest.At(p, "variants.0.id"))
	item := fmt.Sprint("/admin/inventory-items/", medusatest.At(p, "variants.0.inventory_items.0.inventory_item_id"))
	s.post(path, object{"title": "Kupferkessel", "status": "draft", "subtitle": nil, "weight": 2.25})
	s.post(variant, object{"allow_backorder": true, "prices": []object{
		{"currency_code": "usd", "amount": 120.1234}, {"currency_code": "usd", "amount": 88, "min_quantity": 6}, {"currency_code": "eur", "amount": 100},
	}})
	s.post(item+"/location-levels/"+s.medusa.Location, object{"stocked_quantity": 7.5})
	s.post("/admin/price-lists/"+s.sale(p), object{"ends_at": "2030-06-02T00:00:00Z"})
	s.checkRecord(adapter.Products, 2, map[string]string{
		"name": "Kupferkessel", "status": "2", "short_description": "null", "weight": "2.2500", "price": "120.1234", "sku": "kettle-copper",
		"special_price": "99.0000", "special_to_date": "2030-06-01 00:00:00", "group_price": "[]", "visibility": "4",
	})
	if tiers := s.get(adapter.Products, 2).Get("tier_price").Records(); len(tiers) != 1 || tiers[0].Get("price_qty").Text() != "6.0000" || tiers[0].Get("cust_group").Int() != 32000 {
		s.Errorf("tier prices: %v", formatValue(s.get(adapter.Products, 2).Get("tier_price")))
	}
	stock := s.list(adapter.StockItems, "product_id", "2")[0]
	if stock.Get("qty").Text() != "7.5000" || stock.Get("backorders").Int() != 1 || stock.Get("use_config_backorders").Int() != 0 {
		s.Errorf("stock: %s", formatRecord(stock))
	}
	// Lists match only the new values.
	if n, m := len(s.list(adapter.Products, "name", "Kupferkessel")), len(s.list(adapter.Products, "name", "Copper Kettle")); n != 1 || m != 0 {
		s.Errorf("%d of the new name, %d of the old one", n, m)
	}
	s.medusa.Call(s, http.MethodDelete, "/admin/price-lists/"+s.sale(p), nil)
	s.checkRecord(adapter.Products, 2, map[string]string{"special_price": "null", "special_to_date": "2030-06-01 00:00:00"})

	channel := medusatest.At(p, "sales_channels.0.id")
	s.post(fmt.Sprint("/admin/sales-channels/", channel, "/products"), object{"remove": []any{p["id"]}})
	if n := len(s.list(adapter.ProductWebsites, "product_id", "2")); n != 1 {
		s.Errorf("the product is in %d websites, want 1", n)
	}
	category := s.findDocument("product_categories", "/admin/product-categories?external_id=4")["id"]
	s.post(fmt.Sprint("/admin/product-categories/", category, "/products"), object{"add": []any{p["id"]}})
	if n := len(s.list(adapter.ProductCategories, "product_id", "2")); n != 3 {
		s.Errorf("the product is in %d categories, want 3", n)
	}

	ben := s.customer("ben@example.com")
	path = fmt.Sprint("/admin/customers/", ben["id"])
	s.post(path, object{"first_name": "Benjamin"})
	s.post(path+"/addresses", object{"first_name": "Ben", "last_name": "Okri", "address_1": "1 New Road", "city": "Cork", "country_code": "ie"})
	s.checkRecord(adapter.Customers, 2, map[string]string{"firstname": "Benjamin", "lastname": "Okri", "group_id": "2"})
	addresses := s.list(adapter.CustomerAddresses, "customer_id", "2")
	if len(addresses) != 3 || formatValue(addresses[2].Get("street")) != `["1 New Road"]` || addresses[2].Get("country_id").Text() != "IE" {
		s.Errorf("%d addresses, the last is %s", len(addresses), formatRecord(addresses[len(addresses)-1]))
	}
	order := medusatest.At(s.medusa.Call(s, http.MethodGet, "/admin/orders?order=created_at", nil), "orders.1.id")
	s.post(fmt.Sprint("/admin/orders/", order, "/cancel"), object{})
	s.checkRecord(adapter.Orders, 2, map[string]string{"status": "canceled", "state": "canceled", "grand_total": "80.2500", "increment_id": "100000002"})
}

func (s *medusaShop) testNewAtMedusa() {
	channel := s.findDocument("sales_channels", "/admin/sales-channels?name="+url.QueryEscape("Main Website"))["id"]
	s.post("/admin/products", object{
		"title": "Tray", "handle": "tray", "status": "published", "options": []object{{"title": "Size", "values": []string{"S"}}},
		"sales_channels": []object{{"id": channel}},
		"variants":       []object{{"title": "S", "sku": "tray-s", "options": object{"Size": "S"}, "prices": []object{{"currency_code": "usd", "amount": 12}}}},
	})
	ada := s.customer("ada@example.com")["id"]
	draft := s.post("/admin/draft-orders", object{
		"email": "ada@example.com", "customer_id": ada, "region_id": s.medusa.Region, "items": []object{{"title": "Tray", "variant_sku": "tray-s", "quantity": 3, "unit_price": 12}},
		"shipping_address": object{"first_name": "Ada", "last_name": "Byron", "address_1": "1 Engine Way", "country_code": "us"},
	})
	id := fmt.Sprint(medusatest.At(draft, "draft_order.id"))
	s.post("/admin/draft-orders/"+id+"/convert-to-order", object{})
	if err := s.Scan(s.Context()); err != nil {
		s.Fatal(err)
	}
	trays := s.list(adapter.Products, "sku", "tray-s")
	if len(trays) != 1 {
		s.Fatalf("%d products of the new SKU", len(trays))
	}
	key := int(trays[0].Get("entity_id").Int())
	s.checkRecord(adapter.Products, key, map[string]string{"name": "Tray", "price": "12.0000", "status": "1", "visibility": "4", "type_id": "simple", "url_key": "tray"})
	if n := len(s.list(adapter.ProductWebsites, "product_id", fmt.Sprint(key))); n != 1 {
		s.Errorf("the product is in %d websites, want 1", n)
	}
	orders := s.list(adapter.Orders, "customer_id", "1")
	last := orders[len(orders)-1]
	if len(orders) != 3 || last.Get("grand_total").Text() != "36.0000" || last.Get("status").Text() != "pending" || last.Get("order_currency_code").Text() != "USD" {
		s.Fatalf("%d orders, the last is %s", len(orders), formatRecord(last))
	}
	of := fmt.Sprint(last.Get("entity_id").Int())
	if items := s.list(adapter.OrderItems, "order_id", of); len(items) != 1 || items[0].Get("qty_ordered").Text() != "3.0000" || items[0].Get("sku").Text() != "tray-s" {
		s.Errorf("%d lines", len(items))
	}
	if addresses := s.list(adapter.OrderAddresses, "parent_id", of); len(addresses) != 1 || addresses[0].Get("address_type").Text() != "shipping" {
		s.Errorf("%d addresses", len(addresses))
	}
	// Imported records can be changed like all others.
	s.update(adapter.Products, key, values{"name": text("Serving Tray")})
	s.checkDocument(s.findDocument("products", "/admin/products?handle=tray"), map[string]string{"title": "Serving Tray"})
}

func (s *medusaShop) testChangedInPortico() {
	tier := func(group int64, price, qty string) adapter.Record {
		attribute, _ := adapter.NewSchemas().Of(adapter.Products).Index("tier_price")
		r := adapter.NewRecord(adapter.NewSchemas().Of(adapter.Products).Attributes[attribute].Nested)
		r.Set("website_id", number(0))
		r.Set("cust_group", number(group))
		r.Set("price", text(price))
		r.Set("price_qty", text(qty))
		return r
	}
	s.update(adapter.Products, 2, values{
		"name": text("Kettle"), "sku": text("kettle-2"), "price": text("99.9999"), "status": number(1), "meta_title": text("not of Medusa"),
		"tier_price":    adapter.RecordsValue([]adapter.Record{tier(1, "70.0000", "3.5000")}),
		"special_price": text("50.0000"), "special_from_date": text("2020-02-01 00:00:00"),
	})
	p := s.product(2)
	s.checkDocument(p, map[string]string{
		"title": "Kettle", "status": "published", "variants.0.sku": "kettle-2", "variants.0.inventory_items.0.inventory.id": fmt.Sprint(medusatest.At(p, "variants.0.inventory_items.0.inventory_item_id")),
	})
	// The price in another currency is preserved.
	if got, want := prices(p), []string{"100", "70 from 3.5 of a group", "99.9999"}; !slices.Equal(got, want) {
		s.Errorf("prices %q, want %q", got, want)
	}
	first := s.sale(p)
	s.update(adapter.Products, 2, values{"special_price": text("49.5000")})
	second := s.sale(s.product(2))
	list := s.medusa.Call(s, http.MethodGet, "/admin/price-lists?fields="+url.QueryEscape("*prices"), nil)
	s.checkDocument(list, map[string]string{"count": "1", "price_lists.0.id": second, "price_lists.0.prices.0.amount": "49.5"})
	if first == second {
		s.Error("the price list is the old one")
	}
	s.update(adapter.Products, 2, values{"special_price": adapter.NullValue()})
	s.checkDocument(s.medusa.Call(s, http.MethodGet, "/admin/price-lists", nil), map[string]string{"count": "0"})
	s.checkRecord(adapter.Products, 2, map[string]string{"special_price": "null", "special_from_date": "2020-02-01 00:00:00", "meta_title": "not of Medusa"})

	stock := int(s.list(adapter.StockItems, "product_id", "2")[0].Get("item_id").Int())
	s.update(adapter.StockItems, stock, values{"qty": text("41.2500"), "backorders": number(0)})
	level := "variants.0.inventory_items.0.inventory.location_levels.0.stocked_quantity"
	s.checkDocument(s.product(2), map[string]string{level: "41.25", "variants.0.allow_backorder": "false"})
	s.update(adapter.StockItems, stock, values{"qty": text("-3.0000"), "backorders": number(2), "use_config_backorders": number(0)})
	s.checkDocument(s.product(2), map[string]string{level: "0", "variants.0.allow_backorder": "true"})
	s.checkRecord(adapter.StockItems, stock, map[string]string{"qty": "-3.0000", "backorders": "2"})

	s.update(adapter.Customers, 3, values{"lastname": text("Weiss"), "group_id": number(3), "taxvat": text("DE1")})
	s.checkDocument(s.customer("carla@example.com"), map[string]string{"last_name": "Weiss", "groups.0.name": "Retailer", "groups.1": "<nil>"})
	s.update(adapter.CustomerAddresses, 5, values{"street": adapter.TextsValue([]string{"a", "b"}), "country_id": text("FR"), "fax": text("1")})
	s.checkDocument(s.customer("carla@example.com"), map[string]string{"addresses.0.address_1": "a", "addresses.0.address_2": "b", "addresses.0.country_code": "fr"})
}

// picture is a minimal PNG.
const picture = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"

func (s *medusaShop) testNewInPortico() {
	product := s.create(adapter.Products, values{
		"attribute_set_id": number(4), "type_id": text("simple"), "sku": text("bowl"), "name": text("Bowl"), "url_key": text("bowl"), "price": text("3.5000"),
		"status": number(1), "visibility": number(4), "tax_class_id": number(2), "weight": text("0.2000"),
	})
	website := s.create(adapter.ProductWebsites, values{"product_id": number(int64(product)), "website_id": number(2)})
	s.create(adapter.ProductCategories, values{"product_id": number(int64(product)), "category_id": number(4), "position": number(3)})
	image := func(file string, position int64, types ...string) int {
		return s.create(adapter.ProductImages, values{
			"product_id": number(int64(product)), "file": text(file), "media_type": text("image/png"), "label": text("x"), "position": number(position),
			"types": adapter.TextsValue(types), "content": text(picture),
		})
	}
	front := image("f/r/front.png", 2, "image", "small_image")
	image("s/i/side.png", 1)
	p := s.product(product)
	s.checkDocument(p, map[string]string{
		"title": "Bowl", "handle": fmt.Sprintf("bowl-%d", product), "variants.0.sku": "bowl", "sales_channels.0.name": "Europe", "categories.0.name": "Lighting",
	})
	ending := func(p object, path, suffix string) {
		s.Helper()
		if got := fmt.Sprint(medusatest.At(p, path)); !strings.HasSuffix(got, suffix) {
			s.Errorf("%s is %s", path, got)
		}
	}
	ending(p, "images.0.url", "-side.png")
	ending(p, "images.1.url", "-front.png")
	ending(p, "thumbnail", "-front.png")
	s.update(adapter.ProductImages, front, values{"position": number(0)})
	p = s.product(product)
	ending(p, "images.0.url", "-front.png")
	s.remove(adapter.ProductImages, front)
	if p = s.product(product); len(p["images"].([]any)) != 1 {
		s.Errorf("images: %v", p["images"])
	}
	ending(p, "images.0.url", "-side.png")
	// An image that is removed in Medusa disappears from Portico.
	s.post(fmt.Sprint("/admin/products/", p["id"]), object{"images": []any{}})
	if n := len(s.list(adapter.ProductImages, "product_id", fmt.Sprint(product))); n != 0 {
		s.Errorf("%d images are left", n)
	}
	s.remove(adapter.ProductWebsites, website)
	s.checkDocument(s.product(product), map[string]string{"sales_channels.0": "<nil>"})

	customer := s.create(adapter.Customers, values{
		"website_id": number(1), "store_id": number(0), "email": text("Eve@Example.com"), "firstname": text("Eve"), "lastname": text("New"), "group_id": number(2),
		"disable_auto_group_change": number(0), "created_in": text("Admin"),
	})
	for _, street := range []string{"1", "2"} {
		s.create(adapter.CustomerAddresses, values{
			"customer_id": number(int64(customer)), "firstname": text("Eve"), "lastname": text("New"), "street": adapter.TextsValue([]string{street}), "city": text("Paris"),
			"country_id": text("FR"), "postcode": text("1"), "telephone": text("1"), "is_default_billing": number(1), "is_default_shipping": number(0),
		})
	}
	eve := s.customer("Eve@Example.com")
	s.checkDocument(eve, map[string]string{"first_name": "Eve", "groups.0.name": "Wholesale"})
	defaults := 0
	for _, a := range eve["addresses"].([]any) {
		if medusatest.At(a, "is_default_billing") == true {
			defaults++
		}
	}
	if len(eve["addresses"].([]any)) != 2 || defaults != 1 {
		s.Errorf("addresses: %v", eve["addresses"])
	}
}

// testRejected checks that a write that Medusa rejects does not change the local replica.
func (s *medusaShop) testRejected() {
	// Medusa has a product with this SKU that Portico does not know.
	s.post("/admin/products", object{
		"title": "Own", "handle": "own", "options": []object{{"title": "d", "values": []string{"d"}}},
		"variants": []object{{"title": "d", "sku": "medusas-own", "options": object{"d": "d"}, "prices": []object{}}},
	})
	store, err := s.Store(adapter.Products)
	if err != nil {
		s.Fatal(err)
	}
	_, err = store.Create(s.Context(), &adapter.CreateParams{Record: values{
		"attribute_set_id": number(4), "type_id": text("simple"), "sku": text("medusas-own"), "name": text("Own"), "price": text("1.0000"),
		"status": number(1), "visibility": number(4), "tax_class_id": number(0), "weight": text("1.0000"),
	}.record(adapter.Products)})
	if adapter.KindOf(err) != adapter.Conflict {
		s.Errorf("create: %v, want a conflict", err)
	}
	if n := len(s.list(adapter.Products, "sku", "medusas-own")); n != 0 {
		s.Errorf("%d products of the SKU", n)
	}
	before := formatRecord(s.get(adapter.Products, 1))
	err = store.Update(s.Context(), &adapter.UpdateParams{Key: 1, Change: func(adapter.Record) (adapter.Record, error) {
		return values{"sku": text("medusas-own")}.record(adapter.Products), nil
	}})
	if adapter.KindOf(err) != adapter.Conflict {
		s.Errorf("update: %v, want a conflict", err)
	}
	if after := formatRecord(s.get(adapter.Products, 1)); after != before {
		s.Errorf("the product is now\n%s, and was\n%s", after, before)
	}
}

func (s *medusaShop) testDeleted() {
	none := func(query string) {
		s.Helper()
		s.checkDocument(s.medusa.Call(s, http.MethodGet, query, nil), map[string]string{"count": "0"})
	}
	s.update(adapter.Products, 3, values{"special_price": text("20.0000")})
	s.remove(adapter.Products, 3)
	none("/admin/products?external_id=3")
	none("/admin/inventory-items?sku=lamp-desk")
	none("/admin/price-lists")
	s.remove(adapter.CustomerAddresses, 2)
	if n := len(s.customer("ada@example.com")["addresses"].([]any)); n != 1 {
		s.Errorf("Ada has %d addresses, want 1", n)
	}
	s.remove(adapter.Customers, 3)
	none("/admin/customers?email=carla@example.com")

	s.medusa.Call(s, http.MethodDelete, fmt.Sprint("/admin/products/", s.product(4)["id"]), nil)
	s.medusa.Call(s, http.MethodDelete, fmt.Sprint("/admin/customers/", s.customer("dot@example.com")["id"]), nil)
	if !s.isGone(adapter.Products, 4) || !s.isGone(adapter.Customers, 4) {
		s.Error("what Medusa deleted is still there")
	}
	if n := len(s.list(adapter.StockItems, "product_id", "4")); n != 0 {
		s.Errorf("%d stock items of a deleted product", n)
	}
}
