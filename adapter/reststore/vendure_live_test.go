//go:build linux

package reststore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// A vendureShop is the demo store with Vendure as its backend.
type vendureShop struct {
	*liveShop
	vendure *sqltest.Vendure
}

// call sends a GraphQL request and returns the first member of its data.
func (s *vendureShop) call(query string, variables object) any {
	s.Helper()
	for _, v := range s.vendure.Call(s, query, variables) {
		return v
	}
	return nil
}

// first returns the only Vendure document that a query for a list finds.
func (s *vendureShop) first(query string, variables object) object {
	s.Helper()
	list, _ := sqltest.LiveValue(s.call(query, variables), "items").([]any)
	if len(list) != 1 {
		s.Fatalf("%s finds %d", query, len(list))
	}
	return list[0].(object)
}

// product returns Vendure's document of a product.
func (s *vendureShop) product(key int) object {
	s.Helper()
	return s.first(`query ($key: Float!) { products(options: {filter: {legacyId: {eq: $key}}}) { items {
		id name slug description enabled customFields { weight shortDescription countryOfManufacture }
		variants { id sku price trackInventory outOfStockThreshold useGlobalOutOfStockThreshold stockLevels { stockOnHand } }
		channels { id code } facetValues { id name } assets { id name } featuredAsset { name }
	} } }`, object{"key": key})
}

func (s *vendureShop) customer(email string) object {
	s.Helper()
	return s.first(`query ($email: String!) { customers(options: {filter: {emailAddress: {eq: $email}}}) { items {
		id title firstName lastName emailAddress groups { name } customFields { legacyId }
		addresses { id fullName streetLine1 streetLine2 country { code } defaultBillingAddress }
	} } }`, object{"email": email})
}

// TestVendure runs the demo store against a real Vendure.
func TestVendure(t *testing.T) {
	v := sqltest.StartVendure(t)
	s := &vendureShop{openLiveShop(t, "vendure", reststore.Options{URL: v.URL, User: v.User, Secret: v.Password, Vars: v.Vars()}), v}
	s.run(s)
}

func (s *vendureShop) testPushed() {
	s.liveShop.testPushed()
	if got, want := s.collectionSKUs("Kettles"), []string{"kettle-copper", "kettle-steel"}; !slices.Equal(got, want) {
		s.Errorf("the collection has %q, want %q", got, want)
	}
	p := s.product(2)
	s.checkDocument(p, map[string]string{
		"name": "Copper Kettle", "slug": "copper-kettle", "description": "Copper Kettle description", "enabled": "true",
		"customFields.shortDescription": "Copper Kettle short", "customFields.weight": "1.8", "customFields.countryOfManufacture": "FR",
		"variants.0.sku": "kettle-copper", "variants.0.price": "11950", "variants.0.trackInventory": "INHERIT",
		"variants.0.stockLevels.0.stockOnHand": "5", "channels.2.code": "Europe", "facetValues.1.name": "Kettles",
	})
	s.checkDocument(s.product(5), map[string]string{"enabled": "false"})
	s.checkDocument(s.customer("ben@example.com"), map[string]string{
		"firstName": "Ben", "lastName": "Okri", "groups.0.name": "Wholesale", "customFields.legacyId": "2", "addresses.1.fullName": "Ben Okri", "addresses.2": "<nil>",
	})
	order := s.first(`{ orders(options: {filter: {incrementId: {eq: "100000001"}}}) { items {
		state totalWithTax customer { emailAddress } billingAddress { fullName } lines { quantity unitPrice customFields { sku name } }
	} } }`, nil)
	s.checkDocument(order, map[string]string{
		"state": s.vendure.Imported, "customer.emailAddress": "ada@example.com", "billingAddress.fullName": "Ada Byron", "totalWithTax": "8997",
	})
	var lines []string
	for _, line := range order["lines"].([]any) {
		lines = append(lines, fmt.Sprint(sqltest.LiveValue(line, "quantity"), " ", sqltest.LiveValue(line, "customFields.name"), " of ", sqltest.LiveValue(line, "unitPrice")))
	}
	if slices.Sort(lines); !slices.Equal(lines, []string{"1 Untaxed Mug of 999", "2 Steel Kettle of 3999"}) {
		s.Errorf("lines %q", lines)
	}
	s.checkDocument(s.vendure.Call(s, "{ products { totalItems } customers { totalItems } customerGroups { totalItems } collections { totalItems } channels { totalItems } }", nil), map[string]string{
		"products.totalItems": "13", "customers.totalItems": "4", "customerGroups.totalItems": "4", "collections.totalItems": "5", "channels.totalItems": "3",
	})
}

// collectionSKUs returns the SKUs that the filters of a collection find, sorted. The collection has
// them once a job has run.
func (s *vendureShop) collectionSKUs(name string) (all []string) {
	s.Helper()
	filters := s.first("query ($name: String!) { collections(options: {filter: {name: {eq: $name}}}) { items { filters { code arguments: args { name value } } } } }", object{"name": name})["filters"]
	found := s.call("query ($filters: [ConfigurableOperationInput!]!) { previewCollectionVariants(input: {filters: $filters, inheritFilters: false}) { items { sku } } }", object{"filters": filters})
	for _, v := range sqltest.LiveValue(found, "items").([]any) {
		all = append(all, fmt.Sprint(sqltest.LiveValue(v, "sku")))
	}
	slices.Sort(all)
	return all
}

func (s *vendureShop) testChangedAtBackend() {
	p := s.product(2)
	s.call(`mutation ($input: UpdateProductInput!) { updateProduct(input: $input) { id } }`, object{"input": object{
		"id": p["id"], "enabled": false, "translations": []object{{"languageCode": "en", "name": "Kupferkessel"}}, "customFields": object{"shortDescription": nil, "weight": 2.25},
		"facetValueIds": []any{sqltest.LiveValue(p, "facetValues.0.id"), s.facetValue("Lighting")},
	}})
	s.call(`mutation ($input: UpdateProductVariantInput!) { updateProductVariant(input: $input) { id } }`, object{"input": object{
		"id": sqltest.LiveValue(p, "variants.0.id"), "price": 12012, "stockOnHand": 7, "useGlobalOutOfStockThreshold": false, "outOfStockThreshold": -5,
	}})
	s.checkRecord(adapter.Products, 2, map[string]string{
		"name": "Kupferkessel", "status": "2", "short_description": "null", "weight": "2.2500", "price": "120.1200", "sku": "kettle-copper",
		"special_price": "99.0000", "visibility": "4",
	})
	stock := s.list(adapter.StockItems, "product_id", "2")[0]
	if stock.Get("qty").Text() != "7.0000" || stock.Get("backorders").Int() != 1 || stock.Get("use_config_backorders").Int() != 0 {
		s.Errorf("stock: %s", formatRecord(stock))
	}
	var categories []string
	for _, c := range s.list(adapter.ProductCategories, "product_id", "2") {
		categories = append(categories, fmt.Sprint(c.Get("category_id").Int()))
	}
	if !slices.Equal(categories, []string{"3", "4"}) {
		s.Errorf("the product is in categories %v", categories)
	}
	s.checkListed(adapter.Products, "name", "Kupferkessel", 1) // lists match only the new values
	s.checkListed(adapter.Products, "name", "Copper Kettle", 0)
	s.call("mutation ($channel: ID!, $id: ID!) { removeProductsFromChannel(input: {channelId: $channel, productIds: [$id]}) { id } }", object{"channel": sqltest.LiveValue(p, "channels.1.id"), "id": p["id"]})
	s.checkListed(adapter.ProductWebsites, "product_id", "2", 1)

	ben := s.customer("ben@example.com")
	s.call("mutation ($id: ID!) { updateCustomer(input: {id: $id, firstName: \"Benjamin\"}) { __typename } }", object{"id": ben["id"]})
	s.call(`mutation ($id: ID!) { createCustomerAddress(customerId: $id, input: {fullName: "Ben van Okri", streetLine1: "1 New Road", city: "Cork", countryCode: "IE"}) { id } }`, object{"id": ben["id"]})
	s.checkRecord(adapter.Customers, 2, map[string]string{"firstname": "Benjamin", "lastname": "Okri", "group_id": "2"})
	addresses := s.list(adapter.CustomerAddresses, "customer_id", "2")
	if len(addresses) != 3 {
		s.Fatalf("%d addresses, want 3", len(addresses))
	}
	if last := addresses[2]; formatValue(last.Get("street")) != `["1 New Road"]` || last.Get("country_id").Text() != "IE" ||
		last.Get("firstname").Text() != "Ben van" || last.Get("lastname").Text() != "Okri" || last.Get("region").Kind() != adapter.Null {
		s.Errorf("the new address is %s", formatRecord(last))
	}
}

// facetValue returns the id of the facet value of a collection.
func (s *vendureShop) facetValue(collection string) any {
	s.Helper()
	return s.first("query ($name: String!) { facetValues(options: {filter: {name: {eq: $name}}}) { items { id } } }", object{"name": collection})["id"]
}

func (s *vendureShop) testNewAtBackend() {
	id := func(query string, variables object) any { return sqltest.LiveValue(s.call(query, variables), "id") }
	tray := id(`mutation { createProduct(input: {enabled: true, translations: [{languageCode: en, name: "Tray", slug: "tray", description: ""}]}) { id } }`, nil)
	variant := sqltest.LiveValue(s.call(`mutation ($id: ID!) { createProductVariants(input: [{productId: $id, sku: "tray-s", price: 1200, stockOnHand: 9, translations: [{languageCode: en, name: "Tray"}]}]) { id } }`, object{"id": tray}), "0.id")
	channel := s.first(`{ channels(options: {filter: {code: {eq: "Main Website"}}}) { items { id } } }`, nil)["id"]
	s.call("mutation ($channel: ID!, $id: ID!) { assignProductsToChannel(input: {channelId: $channel, productIds: [$id]}) { id } }", object{"channel": channel, "id": tray})
	shipping := id(`mutation { createShippingMethod(input: {code: "flat", fulfillmentHandler: "manual-fulfillment",
		checker: {code: "default-shipping-eligibility-checker", arguments: [{name: "orderMinimum", value: "0"}]},
		calculator: {code: "default-shipping-calculator", arguments: [{name: "rate", value: "500"}, {name: "includesTax", value: "exclude"}, {name: "taxRate", value: "20"}]},
		translations: [{languageCode: en, name: "Flat Rate", description: ""}]}) { id } }`, nil)
	order := id("mutation { createDraftOrder { id } }", nil)
	s.call("mutation ($id: ID!, $variant: ID!) { addItemToDraftOrder(orderId: $id, input: {productVariantId: $variant, quantity: 3}) { __typename } }", object{"id": order, "variant": variant})
	s.call("mutation ($id: ID!, $customer: ID!) { setCustomerForDraftOrder(orderId: $id, customerId: $customer) { __typename } }", object{"id": order, "customer": s.customer("ada@example.com")["id"]})
	s.call(`mutation ($id: ID!) { setDraftOrderShippingAddress(orderId: $id, input: {fullName: "Ada Byron", streetLine1: "1 Engine Way", streetLine2: "Suite 200", countryCode: "US"}) { id } }`, object{"id": order})
	s.call("mutation ($id: ID!, $method: ID!) { setDraftOrderShippingMethod(orderId: $id, shippingMethodId: $method) { __typename } }", object{"id": order, "method": shipping})
	s.call(`mutation ($id: ID!) { transitionOrderToState(id: $id, state: "ArrangingPayment") { __typename } }`, object{"id": order})
	s.call(`mutation ($id: ID!) { addManualPaymentToOrder(input: {orderId: $id, method: "cheque", metadata: {}}) { __typename } }`, object{"id": order})
	key := s.scanTray("tray-s")
	if stock := s.list(adapter.StockItems, "product_id", fmt.Sprint(key)); len(stock) != 1 || stock[0].Get("qty").Text() != "9.0000" {
		s.Errorf("%d stock items", len(stock))
	}
	orders := s.list(adapter.Orders, "customer_id", "1")
	last := orders[len(orders)-1]
	if len(orders) != 3 {
		s.Fatalf("%d orders, the last is %s", len(orders), formatRecord(last))
	}
	s.checkRecord(adapter.Orders, int(last.Get("entity_id").Int()), map[string]string{
		"subtotal": "36.0000", "shipping_amount": "5.0000", "shipping_tax_amount": "1.0000", "grand_total": "42.0000", "total_paid": "42.0000", "total_due": "0.0000",
		"status": "processing", "order_currency_code": "USD", "shipping_description": "Flat Rate", "payment_method": "cheque", "total_refunded": "null",
	})
	of := fmt.Sprint(last.Get("entity_id").Int())
	if items := s.list(adapter.OrderItems, "order_id", of); len(items) != 1 || items[0].Get("qty_ordered").Text() != "3.0000" ||
		items[0].Get("sku").Text() != "tray-s" || items[0].Get("product_id").Int() != int64(key) || items[0].Get("price").Text() != "12.0000" {
		s.Errorf("%d lines", len(items))
	}
	if addresses := s.list(adapter.OrderAddresses, "parent_id", of); len(addresses) != 1 || addresses[0].Get("address_type").Text() != "shipping" ||
		addresses[0].Get("street").Text() != "1 Engine Way\nSuite 200" || addresses[0].Get("email").Text() != "ada@example.com" {
		s.Errorf("%d addresses", len(addresses))
	}
	// Imported records can be changed like all others.
	s.update(adapter.Products, key, attrs{"name": "Serving Tray"})
	s.checkDocument(s.first(`{ products(options: {filter: {slug: {eq: "tray"}}}) { items { name variants { name } } } }`, nil), map[string]string{"name": "Serving Tray", "variants.0.name": "Serving Tray"})
}

func (s *vendureShop) testChangedInPortico() {
	s.update(adapter.Products, 2, attrs{
		"name": "Kettle", "sku": "kettle-2", "price": "99.9999", "status": 1, "url_key": "Käthe & Kettle", "meta_title": "not of Vendure", "special_price": "50.0000",
	})
	s.checkDocument(s.product(2), map[string]string{
		"name": "Kettle", "slug": "kathe-kettle", "enabled": "true", "variants.0.sku": "kettle-2", "variants.0.price": "10000",
	})
	s.checkRecord(adapter.Products, 2, map[string]string{"price": "99.9999", "special_price": "50.0000", "meta_title": "not of Vendure", "url_key": "Käthe & Kettle"})

	stock := int(s.list(adapter.StockItems, "product_id", "2")[0].Get("item_id").Int())
	level := "variants.0.stockLevels.0.stockOnHand"
	s.update(adapter.StockItems, stock, attrs{"qty": "41.2500", "backorders": 0, "min_qty": "3.0000", "use_config_min_qty": 0})
	s.checkDocument(s.product(2), map[string]string{level: "41", "variants.0.outOfStockThreshold": "3", "variants.0.useGlobalOutOfStockThreshold": "false"})
	s.update(adapter.StockItems, stock, attrs{"qty": "-3.0000", "backorders": 2, "use_config_backorders": 0, "use_config_manage_stock": 0, "manage_stock": 0})
	s.checkDocument(s.product(2), map[string]string{level: "0", "variants.0.outOfStockThreshold": "-1000000", "variants.0.trackInventory": "FALSE"})
	s.checkRecord(adapter.StockItems, stock, map[string]string{"qty": "-3.0000", "backorders": "2", "min_qty": "3.0000"})

	s.update(adapter.Customers, 3, attrs{"lastname": "Weiss", "group_id": 3, "taxvat": "DE1", "prefix": "Dr."})
	s.checkDocument(s.customer("carla@example.com"), map[string]string{"title": "Dr.", "lastName": "Weiss", "groups.0.name": "Retailer", "groups.1": "<nil>"})
	s.update(adapter.CustomerAddresses, 5, attrs{"street": []string{"a", "b", "c"}, "country_id": "FR", "fax": "1", "company": nil})
	s.checkDocument(s.customer("carla@example.com"), map[string]string{"addresses.0.streetLine1": "a", "addresses.0.streetLine2": "b\nc", "addresses.0.country.code": "FR"})
}

func (s *vendureShop) testNewInPortico() {
	product, website := s.createBowl()
	category := s.create(adapter.ProductCategories, attrs{"product_id": product, "category_id": 4, "position": 3})
	front := s.createImage(product, "f/r/front.png", 2, "image", "small_image")
	s.createImage(product, "s/i/side.png", 1)
	s.checkDocument(s.product(product), map[string]string{
		"name": "Bowl", "slug": "bowl", "variants.0.sku": "bowl", "channels.1.code": "Europe", "facetValues.0.name": "Lighting",
		"assets.0.name": "side.png", "assets.1.name": "front.png", "featuredAsset.name": "front.png",
	})
	s.update(adapter.ProductImages, front, attrs{"position": 0})
	s.checkDocument(s.product(product), map[string]string{"assets.0.name": "front.png"})
	s.remove(adapter.ProductImages, front)
	s.checkDocument(s.product(product), map[string]string{"assets.0.name": "side.png", "assets.1": "<nil>", "featuredAsset.name": "side.png"})
	p := s.product(product)
	s.checkAdoptedImage(product, func(there bool) {
		assets := []any{}
		if there {
			assets = append(assets, sqltest.LiveValue(p, "assets.0.id"))
		}
		s.call("mutation ($id: ID!, $assets: [ID!]) { updateProduct(input: {id: $id, assetIds: $assets}) { id } }", object{"id": p["id"], "assets": assets})
	})
	s.remove(adapter.ProductWebsites, website)
	s.remove(adapter.ProductCategories, category)
	s.checkDocument(s.product(product), map[string]string{"channels.1": "<nil>", "facetValues.0": "<nil>"})

	customer := s.createEve(nil)
	eve := s.customer("eve@example.com")
	s.checkDocument(eve, map[string]string{"firstName": "Eve", "groups.0.name": "Wholesale", "addresses.1.fullName": "Eve New", "addresses.2": "<nil>"})
	if written := fmt.Sprint(sqltest.LiveValue(eve, "addresses.0.defaultBillingAddress"), sqltest.LiveValue(eve, "addresses.1.defaultBillingAddress")); strings.Count(written, "true") != 1 {
		s.Errorf("default addresses: %s", written)
	}
	s.checkRecord(adapter.Customers, customer, map[string]string{"email": "Eve@Example.com"})
}

// testRejected checks that a write that Vendure rejects does not change the local replica.
func (s *vendureShop) testRejected() {
	own := sqltest.LiveValue(s.call(`mutation { createProduct(input: {translations: [{languageCode: en, name: "Own", slug: "own", description: ""}]}) { id } }`, nil), "id")
	s.call(`mutation ($id: ID!) { createProductVariants(input: [{productId: $id, sku: "vendures-own", translations: [{languageCode: en, name: "Own"}]}]) { id } }`, object{"id": own})
	s.checkTakenSKU("vendures-own")
}

func (s *vendureShop) testDeleted() {
	count := func(query string) {
		s.Helper()
		if n := fmt.Sprint(sqltest.LiveValue(s.call(query, nil), "totalItems")); n != "0" {
			s.Errorf("%s finds %s", query, n)
		}
	}
	s.remove(adapter.Products, 3)
	count("{ products(options: {filter: {legacyId: {eq: 3}}}) { totalItems } }")
	count(`{ productVariants(options: {filter: {sku: {eq: "lamp-desk"}}}) { totalItems } }`)
	s.remove(adapter.CustomerAddresses, 2)
	s.checkDocument(s.customer("ada@example.com"), map[string]string{"addresses.1": "<nil>"})
	s.remove(adapter.Customers, 3)
	count(`{ customers(options: {filter: {emailAddress: {eq: "carla@example.com"}}}) { totalItems } }`)

	s.call("mutation ($id: ID!) { deleteProduct(id: $id) { result } }", object{"id": s.product(4)["id"]})
	s.call("mutation ($id: ID!) { deleteCustomer(id: $id) { result } }", object{"id": s.customer("dot@example.com")["id"]})
	s.checkGone()
}
