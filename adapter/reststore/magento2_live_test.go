//go:build linux

package reststore_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// A magento2Shop is the demo store with Magento 2 as its backend.
type magento2Shop struct {
	*liveShop
	magento *sqltest.Magento2
}

// TestMagento2 runs the demo store against the live Magento 2 that the environment names, which has the
// websites, store views and customer groups of the demo store, and nothing else. With
// PORTICO_TEST_MAGENTO2_RECORD=1 it records the traffic. Without a live shop it runs against the recording, and
// fails if the mapping sends a request that is not recorded: then record it again.
func TestMagento2(t *testing.T) {
	m, isLive := sqltest.NamedMagento2(t, "demo")
	if !isLive {
		for _, c := range loadRecorded(t, magento2Traffic)["magento2-traffic.json"] {
			backend := startRecorded(t, c.Steps, magento2Ignored(), func(request string) { t.Errorf("not recorded: %s", request) })
			runMagento2(t, &sqltest.Magento2{URL: backend.URL, User: "recorded", Secret: "recorded"})
		}
		return
	}
	if os.Getenv("PORTICO_TEST_MAGENTO2_RECORD") != "" {
		proxy := startRecording(t, m.URL)
		m.URL = proxy.URL
		defer proxy.save(t, magento2Traffic, "the demo store, pushed to an empty shop and changed on both sides")
	}
	runMagento2(t, m)
}

// runMagento2 pushes the demo store to a Magento 2, and changes it on both sides.
func runMagento2(t *testing.T, m *sqltest.Magento2) {
	s := &magento2Shop{openLiveShop(t, "magento2", reststore.Options{URL: m.URL, User: m.User, Secret: m.Secret}), m}
	s.run(s)
}

// product returns Magento's document of a product, with its stock item.
func (s *magento2Shop) product(sku string) map[string]any {
	s.Helper()
	document, _ := s.magento.Call(s, http.MethodGet, "/products/"+url.PathEscape(sku), nil).(map[string]any)
	for _, one := range sqltest.LiveValue(document, "custom_attributes").([]any) {
		document["custom."+fmt.Sprint(sqltest.LiveValue(one, "attribute_code"))] = sqltest.LiveValue(one, "value")
	}
	return document
}

// checkCustom compares custom attributes of a document.
func (s *magento2Shop) checkCustom(document map[string]any, want map[string]string) {
	s.Helper()
	for name, w := range want {
		if got := fmt.Sprint(document["custom."+name]); got != w {
			s.Errorf("%s is %s at the backend, want %s", name, got, w)
		}
	}
}

func (s *magento2Shop) customer(email string) map[string]any {
	s.Helper()
	return s.magento.Find(s, "/customers/search", "email", email)
}

func (s *magento2Shop) order(number string) map[string]any {
	s.Helper()
	return s.magento.Find(s, "/orders", "increment_id", number)
}

// checkCount checks how many documents of a list have a value.
func (s *magento2Shop) checkCount(list, field, value, want string) {
	s.Helper()
	const filter = "searchCriteria[filter_groups][0][filters][0]"
	query := url.Values{filter + "[field]": {field}, filter + "[value]": {value}}
	if n := fmt.Sprint(sqltest.LiveValue(s.magento.Call(s, http.MethodGet, list+"?"+query.Encode(), nil), "total_count")); n != want {
		s.Errorf("%s has %s with the %s %s, want %s", list, n, field, value, want)
	}
}

func (s *magento2Shop) testPushed() {
	s.liveShop.testPushed()
	p := s.product("kettle-copper")
	s.checkDocument(p, map[string]string{
		"id": "2", "name": "Copper Kettle", "price": "119.5", "status": "1", "visibility": "4", "weight": "1.8",
		"extension_attributes.website_ids": "[1 2]", "extension_attributes.stock_item.qty": "5", "extension_attributes.stock_item.is_in_stock": "true",
		"tier_prices.0.value": "95", "tier_prices.0.customer_group_id": "2", "tier_prices.0.qty": "1", "tier_prices.1.value": "90", "tier_prices.2.value": "80",
	})
	s.checkCustom(p, map[string]string{
		"description": "Copper Kettle description", "url_key": "copper-kettle-2", "country_of_manufacture": "FR", "special_price": "99.000000",
		"special_from_date": "2012-01-01 00:00:00", "special_to_date": "2038-01-01 00:00:00", "tax_class_id": "2",
	})
	if n := len(sqltest.LiveValue(p, "extension_attributes.category_links").([]any)); n != 2 {
		s.Errorf("the product is in %d categories, want 2", n)
	}
	ben := s.customer("ben@example.com")
	s.checkDocument(ben, map[string]string{
		"firstname": "Ben", "lastname": "Okri", "group_id": "2", "website_id": "1", "store_id": "1", "addresses.2": "<nil>",
		"addresses.0.street": "[7 Long Road Building B; Door 9]", "addresses.0.default_billing": "true", "addresses.1.default_shipping": "true",
	})
	order := s.order("100000001")
	s.checkDocument(order, map[string]string{
		"ext_order_id": "legacy-1", "grand_total": "106.5683", "status": "processing", "created_at": "2012-03-01 10:00:00",
		"customer_id": fmt.Sprint(s.customer("ada@example.com")["id"]), "items.0.sku": "kettle-steel", "items.1.name": "Untaxed Mug",
		"payment.method": "checkmo", "billing_address.lastname": "Byron",
	})
	s.checkCount("/products", "entity_id", "12", "1")
	s.checkCount("/orders", "ext_order_id", "legacy-4", "1")
}

func (s *magento2Shop) testChangedAtBackend() {
	s.magento.Call(s, http.MethodPut, "/products/kettle-copper", object{"product": object{
		"name": "Kupferkessel", "status": 2, "weight": 2.25, "price": 120.1234, "tier_prices": []object{{"customer_group_id": 32000, "qty": 6, "value": 88}},
		"custom_attributes": []object{{"attribute_code": "short_description", "value": nil}, {"attribute_code": "special_to_date", "value": "2030-06-01 00:00:00"}},
	}})
	s.magento.Call(s, http.MethodPut, "/products/kettle-copper/stockItems/1", object{"stockItem": object{"qty": 7.5, "is_in_stock": true}})
	s.checkKettle()
	if stock := s.list(adapter.StockItems, "product_id", "2")[0]; stock.Get("qty").Text() != "7.5000" || stock.Get("is_in_stock").Int() != 1 {
		s.Errorf("stock: %s", formatRecord(stock))
	}
	s.checkListed(adapter.Products, "name", "Kupferkessel", 1) // lists match only the new values
	s.checkListed(adapter.Products, "name", "Copper Kettle", 0)
	s.magento.Call(s, http.MethodDelete, "/products/kettle-copper/websites/1", nil)
	s.checkListed(adapter.ProductWebsites, "product_id", "2", 1)
	category := fmt.Sprint(s.magento.Find(s, "/categories/list", "name", "Lighting")["id"])
	s.magento.Call(s, http.MethodPost, "/categories/"+category+"/products", object{"productLink": object{"sku": "kettle-copper", "position": 9, "category_id": category}})
	s.checkListed(adapter.ProductCategories, "product_id", "2", 3)

	ben := s.customer("ben@example.com")
	addresses := []any{object{"id": sqltest.LiveValue(ben, "addresses.0.id")}, object{"id": sqltest.LiveValue(ben, "addresses.1.id")}, object{
		"firstname": "Ben", "lastname": "Okri", "street": []string{"1 New Road"}, "city": "Cork", "country_id": "IE", "telephone": "1", "postcode": "1",
	}}
	s.magento.Call(s, http.MethodPut, fmt.Sprint("/customers/", ben["id"]), object{"customer": object{"id": ben["id"], "firstname": "Benjamin", "addresses": addresses}})
	s.checkRecord(adapter.Customers, 2, map[string]string{"firstname": "Benjamin", "lastname": "Okri", "group_id": "2"})
	if all := s.list(adapter.CustomerAddresses, "customer_id", "2"); len(all) != 3 || formatValue(all[2].Get("street")) != `["1 New Road"]` || all[2].Get("country_id").Text() != "IE" {
		s.Errorf("%d addresses, the last is %s", len(all), formatRecord(all[len(all)-1]))
	}
	s.magento.Call(s, http.MethodPost, fmt.Sprint("/orders/", s.order("100000002")["entity_id"], "/comments"), object{"statusHistory": object{
		"comment": "Packed", "is_customer_notified": 0, "is_visible_on_front": 1, "status": "processing",
	}})
	s.checkRecord(adapter.Orders, 2, map[string]string{"status": "processing", "grand_total": "80.2500", "increment_id": "100000002"})
	comments := s.list(adapter.OrderComments, "parent_id", "2")
	if last := comments[len(comments)-1]; last.Get("comment").Text() != "Packed" || last.Get("status").Text() != "processing" {
		s.Errorf("the last comment is %s", formatRecord(last))
	}
}

func (s *magento2Shop) testNewAtBackend() {
	s.magento.Call(s, http.MethodPost, "/products", object{"product": object{
		"sku": "tray/s+1", "name": "Tray", "attribute_set_id": 4, "type_id": "simple", "price": 12, "status": 1, "visibility": 4, "weight": 1,
		"extension_attributes": object{"website_ids": []int{1}, "stock_item": object{"qty": 3, "is_in_stock": true}},
	}})
	key := s.scanTray("tray/s+1")
	stock := s.list(adapter.StockItems, "product_id", fmt.Sprint(key))
	if len(stock) != 1 || stock[0].Get("qty").Text() != "3.0000" || stock[0].Get("is_in_stock").Int() != 1 {
		s.Fatalf("stock items: %v", stock)
	}
	// Imported records can be changed like all others, whatever their SKU.
	s.update(adapter.Products, key, attrs{"name": "Serving Tray"})
	s.update(adapter.StockItems, int(stock[0].Get("item_id").Int()), attrs{"qty": "4.0000"})
	s.checkDocument(s.magento.Find(s, "/products", "sku", "tray/s+1"), map[string]string{"name": "Serving Tray"})
	s.checkDocument(s.magento.Find(s, "/inventory/source-items", "sku", "tray/s+1"), map[string]string{"quantity": "4"})
	s.remove(adapter.Products, key)
}

func (s *magento2Shop) testChangedInPortico() {
	s.update(adapter.Products, 2, attrs{
		"name": "Kettle", "sku": "kettle 2", "price": "99.9999", "status": 1, "meta_title": "For tea",
		"tier_price":    []attrs{{"website_id": 0, "cust_group": 1, "price": "70.0000", "price_qty": "3.5000"}},
		"special_price": "50.0000", "special_from_date": "2020-02-01 00:00:00",
	})
	p := s.product("kettle 2")
	s.checkDocument(p, map[string]string{"id": "2", "name": "Kettle", "status": "1", "price": "99.9999", "tier_prices.0.qty": "3.5", "tier_prices.0.customer_group_id": "1", "tier_prices.1": "<nil>"})
	s.checkCustom(p, map[string]string{"meta_title": "For tea", "special_price": "50.000000", "special_from_date": "2020-02-01 00:00:00"})
	s.update(adapter.Products, 2, attrs{"special_price": nil, "meta_title": nil, "weight": nil})
	p = s.product("kettle 2")
	s.checkDocument(p, map[string]string{"weight": "<nil>", "custom.special_price": "<nil>", "custom.meta_title": "<nil>"})
	s.checkRecord(adapter.Products, 2, map[string]string{"special_price": "null", "special_from_date": "2020-02-01 00:00:00", "meta_title": "null"})

	s.testStoreView()

	stock := int(s.list(adapter.StockItems, "product_id", "2")[0].Get("item_id").Int())
	quantity := func(want string) {
		s.Helper()
		s.checkDocument(s.product("kettle 2"), map[string]string{"extension_attributes.stock_item.qty": want})
	}
	s.update(adapter.StockItems, stock, attrs{"qty": "41.2500", "backorders": 0})
	quantity("41.25")
	s.update(adapter.StockItems, stock, attrs{"qty": "0.0000", "is_in_stock": 0})
	quantity("0")
	s.update(adapter.StockItems, stock, attrs{"qty": "2.0000", "is_in_stock": 1})
	s.checkDocument(s.product("kettle 2"), map[string]string{"extension_attributes.stock_item.qty": "2", "extension_attributes.stock_item.is_in_stock": "true"})

	s.update(adapter.Customers, 3, attrs{"lastname": "Weiss", "group_id": 3, "taxvat": "DE1"})
	s.checkDocument(s.customer("carla@example.com"), map[string]string{"lastname": "Weiss", "group_id": "3", "taxvat": "DE1"})
	s.update(adapter.Customers, 3, attrs{"taxvat": nil})
	s.checkDocument(s.customer("carla@example.com"), map[string]string{"taxvat": "<nil>"})
	s.update(adapter.CustomerAddresses, 5, attrs{"street": []string{"a", "b", "c"}, "country_id": "FR", "fax": "1", "region": nil, "region_id": nil})
	s.checkDocument(s.customer("carla@example.com"), map[string]string{"addresses.0.street": "[a b; c]", "addresses.0.country_id": "FR", "addresses.0.fax": "1", "addresses.1": "<nil>"})
	s.checkRecord(adapter.CustomerAddresses, 5, map[string]string{"street": `["a" "b" "c"]`})

	comment := s.create(adapter.OrderComments, attrs{"parent_id": 1, "comment": "By legacy client", "is_customer_notified": 1, "is_visible_on_front": 1, "status": "complete"})
	order := s.order("100000001")
	s.checkDocument(order, map[string]string{"status": "complete"})
	s.checkRecord(adapter.OrderComments, comment, map[string]string{"comment": "By legacy client", "is_customer_notified": "1", "status": "complete"})
}

// testStoreView changes values of the French store view on either side.
func (s *magento2Shop) testStoreView() {
	s.Helper()
	french := func() map[string]any {
		s.Helper()
		document, _ := s.magento.CallAt(s, "french", http.MethodGet, "/products/kettle-steel", nil).(map[string]any)
		return document
	}
	update := func(v attrs) {
		s.Helper()
		if err := adaptertest.Update(s, adaptertest.StoreOf(s, s, adapter.Products), 1, 2, v); err != nil {
			s.Fatal(err)
		}
	}
	check := func(storeID int64, want string) {
		s.Helper()
		r := adaptertest.MustGet(s, adaptertest.StoreOf(s, s, adapter.Products), adapter.GetParams{Key: 1, StoreID: storeID})
		if got := r.Get("name").Text(); got != want {
			s.Errorf("the name at the store view %d is %q, want %q", storeID, got, want)
		}
	}
	update(attrs{"name": "Bouilloire", "status": 2})
	s.checkDocument(french(), map[string]string{"name": "Bouilloire", "status": "2"})
	s.checkDocument(s.product("kettle-steel"), map[string]string{"name": "Steel Kettle", "status": "1"})
	s.magento.CallAt(s, "french", http.MethodPut, "/products/kettle-steel", object{"product": object{"name": "Bouilloire en acier"}})
	check(2, "Bouilloire en acier")
	check(3, "Steel Kettle")
	update(attrs{"name": adapter.UnsetValue(), "status": adapter.UnsetValue()})
	s.checkDocument(french(), map[string]string{"name": "Steel Kettle", "status": "1"})
	check(2, "Steel Kettle")
}

func (s *magento2Shop) testNewInPortico() {
	product, website := s.createBowl()
	s.create(adapter.ProductCategories, attrs{"product_id": product, "category_id": 4, "position": 3})
	front := s.createImage(product, "f/r/front.png", 2, "image", "small_image")
	profile := s.createImage(product, "s/i/side.png", 1)
	p := s.product("bowl")
	s.checkDocument(p, map[string]string{
		"id": fmt.Sprint(product), "extension_attributes.website_ids": "[2]", "extension_attributes.category_links.0.position": "3",
		"media_gallery_entries.1.types": "[image small_image]", "media_gallery_entries.1.position": "2", "media_gallery_entries.1.label": "x",
		"media_gallery_entries.0.types": "[]",
	})
	s.checkCustom(p, map[string]string{"url_key": fmt.Sprintf("bowl-%d", product)})
	s.update(adapter.ProductImages, profile, attrs{"position": 5, "exclude": 1, "types": []string{"image"}})
	s.checkDocument(s.product("bowl"), map[string]string{
		"media_gallery_entries.0.types": "[small_image]", "media_gallery_entries.1.types": "[image]", "media_gallery_entries.1.position": "5", "media_gallery_entries.1.disabled": "true",
	})
	s.remove(adapter.ProductImages, front)
	s.checkDocument(s.product("bowl"), map[string]string{"media_gallery_entries.1": "<nil>", "media_gallery_entries.0.types": "[image]"})
	id := fmt.Sprint(sqltest.LiveValue(p, "media_gallery_entries.0.id"))
	s.checkAdoptedImage(product, func(there bool) {
		if !there {
			s.magento.Call(s, http.MethodDelete, "/products/bowl/media/"+id, nil)
			return
		}
		s.magento.Call(s, http.MethodPost, "/products/bowl/media", object{"entry": object{
			"media_type": "image", "position": 1, "disabled": false, "types": []string{},
			"content": object{"base64_encoded_data": base64.StdEncoding.EncodeToString([]byte(picture)), "type": "image/png", "name": "new.png"},
		}})
	})
	s.remove(adapter.ProductWebsites, website)
	s.checkDocument(s.product("bowl"), map[string]string{"extension_attributes.website_ids": "[]"})

	s.createEve(attrs{"password": "eve-password"})
	eve := s.customer("Eve@Example.com")
	s.checkDocument(eve, map[string]string{
		"firstname": "Eve", "group_id": "2", "addresses.0.default_billing": "<nil>", "addresses.1.default_billing": "true", "addresses.2": "<nil>",
	})
	// The password is that of the legacy client, whatever rules the shop has for new ones.
	s.magento.Call(s, http.MethodPost, "/integration/customer/token", object{"username": "Eve@Example.com", "password": "eve-password"})
}

// testRejected checks that a write that Magento 2 rejects does not change the local replica.
func (s *magento2Shop) testRejected() {
	s.magento.Call(s, http.MethodPost, "/products", object{"product": object{
		"sku": "magentos-own", "name": "Own", "attribute_set_id": 4, "type_id": "simple", "price": 1, "status": 1, "visibility": 4,
	}})
	s.checkTakenSKU("magentos-own")
	s.checkDocument(s.product("kettle-steel"), map[string]string{"name": "Steel Kettle", "id": "1"})
}

func (s *magento2Shop) testDeleted() {
	s.remove(adapter.Products, 3)
	s.checkCount("/products", "sku", "lamp-desk", "0")
	s.checkCount("/inventory/source-items", "sku", "lamp-desk", "0")
	s.remove(adapter.CustomerAddresses, 2)
	if n := len(s.customer("ada@example.com")["addresses"].([]any)); n != 1 {
		s.Errorf("Ada has %d addresses, want 1", n)
	}
	s.remove(adapter.Customers, 3)
	s.checkCount("/customers/search", "email", "carla@example.com", "0")

	s.magento.Call(s, http.MethodDelete, "/products/lamp-floor", nil)
	s.magento.Call(s, http.MethodDelete, fmt.Sprint("/customers/", s.customer("dot@example.com")["id"]), nil)
	s.checkGone()
}
