//go:build linux

package reststore_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// A medusaShop is the demo store with Medusa as its backend.
type medusaShop struct {
	*liveShop
	medusa *sqltest.Medusa
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

// TestMedusa runs the demo store against a real Medusa.
func TestMedusa(t *testing.T) {
	m := sqltest.StartMedusa(t)
	s := &medusaShop{openLiveShop(t, "medusa", reststore.Options{URL: m.URL, User: m.User, Secret: m.Password, Vars: m.Vars()}), m}
	s.run(s)
}

func (s *medusaShop) testPushed() {
	s.liveShop.testPushed()
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
	for _, line := range sqltest.LiveValue(orders, "orders.0.items").([]any) {
		lines = append(lines, fmt.Sprint(sqltest.LiveValue(line, "quantity"), " ", sqltest.LiveValue(line, "title"), " of ", sqltest.LiveValue(line, "unit_price")))
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
	list, _ := sqltest.LiveValue(product, "variants.0.prices").([]any)
	for _, p := range list {
		price := p.(map[string]any)
		written := fmt.Sprint(price["amount"])
		if from := price["min_quantity"]; from != nil {
			written += fmt.Sprint(" from ", from)
		}
		if sqltest.LiveValue(price, "rules").(map[string]any)["customer.groups.id"] != nil {
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
	id, _ := sqltest.LiveValue(product, "metadata.portico_sale").(string)
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

func (s *medusaShop) testChangedAtBackend() {
	p := s.product(2)
	path := fmt.Sprint("/admin/products/", p["id"])
	variant := fmt.Sprint(path, "/variants/", sqltest.LiveValue(p, "variants.0.id"))
	item := fmt.Sprint("/admin/inventory-items/", sqltest.LiveValue(p, "variants.0.inventory_items.0.inventory_item_id"))
	s.post(path, object{"title": "Kupferkessel", "status": "draft", "subtitle": nil, "weight": 2.25})
	s.post(variant, object{"allow_backorder": true, "metadata": object{"theirs": "x"}, "prices": []object{
		{"currency_code": "usd", "amount": 120.1234}, {"currency_code": "usd", "amount": 88, "min_quantity": 6}, {"currency_code": "eur", "amount": 100},
	}})
	s.post(item+"/location-levels/"+s.medusa.Location, object{"stocked_quantity": 7.5})
	s.post("/admin/price-lists/"+s.sale(p), object{"ends_at": "2030-06-02T00:00:00Z"})
	s.checkKettle()
	stock := s.list(adapter.StockItems, "product_id", "2")[0]
	if stock.Get("qty").Text() != "7.5000" || stock.Get("backorders").Int() != 1 || stock.Get("use_config_backorders").Int() != 0 {
		s.Errorf("stock: %s", formatRecord(stock))
	}
	s.checkListed(adapter.Products, "name", "Kupferkessel", 1) // lists match only the new values
	s.checkListed(adapter.Products, "name", "Copper Kettle", 0)
	s.medusa.Call(s, http.MethodDelete, "/admin/price-lists/"+s.sale(p), nil)
	s.checkRecord(adapter.Products, 2, map[string]string{"special_price": "null", "special_to_date": "2030-06-01 00:00:00"})

	channel := sqltest.LiveValue(p, "sales_channels.0.id")
	s.post(fmt.Sprint("/admin/sales-channels/", channel, "/products"), object{"remove": []any{p["id"]}})
	s.checkListed(adapter.ProductWebsites, "product_id", "2", 1)
	category := s.findDocument("product_categories", "/admin/product-categories?external_id=4")["id"]
	s.post(fmt.Sprint("/admin/product-categories/", category, "/products"), object{"add": []any{p["id"]}})
	s.checkListed(adapter.ProductCategories, "product_id", "2", 3)

	ben := s.customer("ben@example.com")
	path = fmt.Sprint("/admin/customers/", ben["id"])
	s.post(path, object{"first_name": "Benjamin"})
	s.post(path+"/addresses", object{"first_name": "Ben", "last_name": "Okri", "address_1": "1 New Road", "city": "Cork", "country_code": "ie"})
	s.checkRecord(adapter.Customers, 2, map[string]string{"firstname": "Benjamin", "lastname": "Okri", "group_id": "2"})
	addresses := s.list(adapter.CustomerAddresses, "customer_id", "2")
	if len(addresses) != 3 || formatValue(addresses[2].Get("street")) != `["1 New Road"]` || addresses[2].Get("country_id").Text() != "IE" {
		s.Errorf("%d addresses, the last is %s", len(addresses), formatRecord(addresses[len(addresses)-1]))
	}
	order := sqltest.LiveValue(s.medusa.Call(s, http.MethodGet, "/admin/orders?order=created_at", nil), "orders.1.id")
	s.post(fmt.Sprint("/admin/orders/", order, "/cancel"), object{})
	s.checkRecord(adapter.Orders, 2, map[string]string{"status": "canceled", "state": "canceled", "grand_total": "80.2500", "increment_id": "100000002"})
}

func (s *medusaShop) testNewAtBackend() {
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
	id := fmt.Sprint(sqltest.LiveValue(draft, "draft_order.id"))
	s.post("/admin/draft-orders/"+id+"/convert-to-order", object{})
	key := s.scanTray("tray-s")
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
	s.update(adapter.Products, key, attrs{"name": "Serving Tray"})
	s.checkDocument(s.findDocument("products", "/admin/products?handle=tray"), map[string]string{"title": "Serving Tray"})
}

func (s *medusaShop) testChangedInPortico() {
	s.update(adapter.Products, 2, attrs{
		"name": "Kettle", "sku": "kettle-2", "price": "99.9999", "status": 1, "meta_title": "not of Medusa",
		"tier_price":    []attrs{{"website_id": 0, "cust_group": 1, "price": "70.0000", "price_qty": "3.5000"}},
		"special_price": "50.0000", "special_from_date": "2020-02-01 00:00:00",
	})
	p := s.product(2)
	s.checkDocument(p, map[string]string{
		"title": "Kettle", "status": "published", "variants.0.sku": "kettle-2", "variants.0.inventory_items.0.inventory.id": fmt.Sprint(sqltest.LiveValue(p, "variants.0.inventory_items.0.inventory_item_id")),
	})
	// The price in another currency is preserved.
	if got, want := prices(p), []string{"100", "70 from 3.5 of a group", "99.9999"}; !slices.Equal(got, want) {
		s.Errorf("prices %q, want %q", got, want)
	}
	first := s.sale(p)
	s.update(adapter.Products, 2, attrs{"special_price": "49.5000"})
	second := s.sale(s.product(2))
	list := s.medusa.Call(s, http.MethodGet, "/admin/price-lists?fields="+url.QueryEscape("*prices"), nil)
	s.checkDocument(list, map[string]string{"count": "1", "price_lists.0.id": second, "price_lists.0.prices.0.amount": "49.5"})
	if first == second {
		s.Error("the price list is the old one")
	}
	s.update(adapter.Products, 2, attrs{"special_price": nil})
	s.checkDocument(s.medusa.Call(s, http.MethodGet, "/admin/price-lists", nil), map[string]string{"count": "0"})
	s.checkRecord(adapter.Products, 2, map[string]string{"special_price": "null", "special_from_date": "2020-02-01 00:00:00", "meta_title": "not of Medusa"})

	stock := int(s.list(adapter.StockItems, "product_id", "2")[0].Get("item_id").Int())
	s.update(adapter.StockItems, stock, attrs{"qty": "41.2500", "backorders": 0})
	level := "variants.0.inventory_items.0.inventory.location_levels.0.stocked_quantity"
	s.checkDocument(s.product(2), map[string]string{level: "41.25", "variants.0.allow_backorder": "false"})
	s.update(adapter.StockItems, stock, attrs{"qty": "-3.0000", "backorders": 2, "use_config_backorders": 0})
	s.checkDocument(s.product(2), map[string]string{level: "0", "variants.0.allow_backorder": "true"})
	s.checkRecord(adapter.StockItems, stock, map[string]string{"qty": "-3.0000", "backorders": "2"})
	s.checkDocument(s.product(2), map[string]string{"variants.0.metadata.theirs": "x", "variants.0.metadata.portico_stock.backorders": "2"})

	s.update(adapter.Customers, 3, attrs{"lastname": "Weiss", "group_id": 3, "taxvat": "DE1"})
	s.checkDocument(s.customer("carla@example.com"), map[string]string{"last_name": "Weiss", "groups.0.name": "Retailer", "groups.1": "<nil>"})
	s.update(adapter.CustomerAddresses, 5, attrs{"street": []string{"a", "b"}, "country_id": "FR", "fax": "1"})
	s.checkDocument(s.customer("carla@example.com"), map[string]string{"addresses.0.address_1": "a", "addresses.0.address_2": "b", "addresses.0.country_code": "fr"})
}

func (s *medusaShop) testNewInPortico() {
	product, website := s.createBowl()
	s.create(adapter.ProductCategories, attrs{"product_id": product, "category_id": 4, "position": 3})
	front := s.createImage(product, "f/r/front.png", 2, "image", "small_image")
	s.createImage(product, "s/i/side.png", 1)
	p := s.product(product)
	s.checkDocument(p, map[string]string{
		"title": "Bowl", "handle": fmt.Sprintf("bowl-%d", product), "variants.0.sku": "bowl", "sales_channels.0.name": "Europe", "categories.0.name": "Lighting",
	})
	ending := func(p object, path, suffix string) {
		s.Helper()
		if got := fmt.Sprint(sqltest.LiveValue(p, path)); !strings.HasSuffix(got, suffix) {
			s.Errorf("%s is %s", path, got)
		}
	}
	ending(p, "images.0.url", "-side.png")
	ending(p, "images.1.url", "-front.png")
	ending(p, "thumbnail", "-front.png")
	second := fmt.Sprint(sqltest.LiveValue(p, "images.0.id"))
	s.update(adapter.ProductImages, front, attrs{"position": 0})
	p = s.product(product)
	ending(p, "images.0.url", "-front.png")
	s.checkDocument(p, map[string]string{"images.1.id": second}) // with the other values of the image
	s.remove(adapter.ProductImages, front)
	if p = s.product(product); len(p["images"].([]any)) != 1 {
		s.Errorf("images: %v", p["images"])
	}
	ending(p, "images.0.url", "-side.png")
	s.checkAdoptedImage(product, func(there bool) {
		images := []any{}
		if there {
			images = append(images, object{"url": sqltest.LiveValue(p, "images.0.url")})
		}
		s.post(fmt.Sprint("/admin/products/", p["id"]), object{"images": images})
	})
	s.remove(adapter.ProductWebsites, website)
	s.checkDocument(s.product(product), map[string]string{"sales_channels.0": "<nil>"})

	s.createEve(nil)
	eve := s.customer("Eve@Example.com")
	s.checkDocument(eve, map[string]string{"first_name": "Eve", "groups.0.name": "Wholesale"})
	defaults := 0
	for _, a := range eve["addresses"].([]any) {
		if sqltest.LiveValue(a, "is_default_billing") == true {
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
	s.checkTakenSKU("medusas-own")
}

func (s *medusaShop) testDeleted() {
	none := func(query string) {
		s.Helper()
		s.checkDocument(s.medusa.Call(s, http.MethodGet, query, nil), map[string]string{"count": "0"})
	}
	s.update(adapter.Products, 3, attrs{"special_price": "20.0000"})
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
	s.checkGone()
}
