package replica_test

import (
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/replica"
)

// A writeCase is a write and a way to observe whether it was done. Both get the fixture that
// does the write or that runs after it.
type writeCase struct {
	name    string
	before  func(s *fixture) // preparation; nil for none
	write   func(s *fixture) error
	observe func(s *fixture, as precision) string // the local replica's content after the write
	repeats bool                                  // the write sends several requests, and can be repeated
	pushes  bool                                  // the write is an import that creates records at the backend
}

// A precision converts a value to the precision with which it is stored.
type precision func(name string, v adapter.Value) adapter.Value

// exact keeps values unchanged.
func exact(_ string, v adapter.Value) adapter.Value { return v }

func writeCases() []writeCase {
	shownOf := func(f *fixture, as precision, r adapter.Resource, key adapter.Key, storeID int64, names ...string) string {
		store := adaptertest.StoreOf(f.t, f.local, r)
		record, err := store.Get(f.t.Context(), &adapter.GetParams{Key: key, StoreID: storeID, With: []string{}})
		if err != nil {
			return adapter.KindOf(err).String()
		}
		text := ""
		for _, name := range names {
			text += name + "=" + adaptertest.FormatValue(as(name, record.Get(name))) + " "
		}
		return text
	}
	return []writeCase{
		{name: "update a product", write: func(f *fixture) error {
			return f.update(adapter.Products, 1, 0, attrs{"name": "New", "price": "7.7777", "url_key": "new", "meta_title": nil})
		}, observe: func(f *fixture, as precision) string {
			return shownOf(f, as, adapter.Products, 1, 0, "name", "price", "url_key", "meta_title")
		}},
		{name: "update a product at a store view", write: func(f *fixture) error {
			return f.update(adapter.Products, 3, 2, attrs{"name": "Nouveau", "price": "8.0000", "status": 2})
		}, observe: func(f *fixture, as precision) string {
			return shownOf(f, as, adapter.Products, 3, 2, "name", "price", "status") + shownOf(f, as, adapter.Products, 3, 1, "name", "price", "status")
		}},
		{name: "update the stock of a product", write: func(f *fixture) error {
			return f.update(adapter.Products, 1, 0, attrs{"stock_item": []attrs{{"qty": "3.2500", "min_qty": "1.0000"}}, "sku": "other"})
		}, observe: func(f *fixture, as precision) string {
			return shownOf(f, as, adapter.Products, 1, 0, "sku") + shownOf(f, as, adapter.StockItems, 1, 0, "qty", "min_qty")
		}},
		{name: "update a stock item", write: func(f *fixture) error {
			return f.update(adapter.StockItems, 2, 0, attrs{"qty": "3.2500", "min_qty": "1.0000"})
		}, observe: func(f *fixture, as precision) string {
			return shownOf(f, as, adapter.StockItems, 2, 0, "qty", "min_qty")
		}},
		{name: "update a customer", write: func(f *fixture) error {
			return f.update(adapter.Customers, 1, 0, attrs{"email": "New@Example.com", "taxvat": "x", "dob": nil})
		}, observe: func(f *fixture, as precision) string {
			return shownOf(f, as, adapter.Customers, 1, 0, "email", "taxvat")
		}},
		{name: "update an address", write: func(f *fixture) error {
			return f.update(adapter.CustomerAddresses, 2, 0, attrs{"city": "New", "street": []string{"a", "b"}, "fax": "1"})
		}, observe: func(f *fixture, as precision) string {
			return shownOf(f, as, adapter.CustomerAddresses, 2, 0, "city", "street", "fax")
		}},
		{name: "create a product", write: func(f *fixture) error {
			_, err := f.create(adapter.Products, newProduct("fresh"))
			return err
		}, observe: func(f *fixture, _ precision) string { return count(f, adapter.Products, where("sku", "fresh")) }},
		{name: "create a customer", write: func(f *fixture) error {
			_, err := f.create(adapter.Customers, attrs{"website_id": 1, "store_id": 1, "group_id": 1, "email": "Fresh@x.y", "firstname": "F", "lastname": "L", "disable_auto_group_change": 0, "created_in": "Admin", "reward_update_notification": 0, "reward_warning_notification": 0})
			return err
		}, observe: func(f *fixture, _ precision) string { return count(f, adapter.Customers, where("email", "fresh@x.y")) }},
		{name: "create an address", write: func(f *fixture) error {
			_, err := f.create(adapter.CustomerAddresses, newAddress(1))
			return err
		}, observe: func(f *fixture, _ precision) string {
			return count(f, adapter.CustomerAddresses, where("customer_id", "1"))
		}},
		{name: "assign a category", write: func(f *fixture) error {
			_, err := f.create(adapter.ProductCategories, attrs{"product_id": 3, "category_id": 6})
			return err
		}, observe: func(f *fixture, _ precision) string {
			return count(f, adapter.ProductCategories, where("product_id", "3"))
		}},
		{name: "create an image", write: func(f *fixture) error {
			_, err := f.create(adapter.ProductImages, newImage(3))
			return err
		}, observe: func(f *fixture, _ precision) string { return count(f, adapter.ProductImages, where("product_id", "3")) }},
		{name: "update an image", write: func(f *fixture) error {
			return f.update(adapter.ProductImages, 2, 0, attrs{"label": "New", "position": 3, "types": []string{"image"}})
		}, observe: func(f *fixture, as precision) string {
			return shownOf(f, as, adapter.ProductImages, 2, 0, "label", "position", "types") + shownOf(f, as, adapter.ProductImages, 1, 0, "types")
		}},
		{name: "delete an image", write: func(f *fixture) error {
			return f.delete(adapter.ProductImages, 1)
		}, observe: func(f *fixture, as precision) string { return shownOf(f, as, adapter.ProductImages, 1, 0, "types") }},
		{name: "delete a product", write: func(f *fixture) error {
			return f.delete(adapter.Products, 2)
		}, observe: func(f *fixture, as precision) string { return shownOf(f, as, adapter.Products, 2, 0) }},
		{name: "delete a customer", write: func(f *fixture) error {
			return f.delete(adapter.Customers, 1)
		}, observe: func(f *fixture, as precision) string { return shownOf(f, as, adapter.Customers, 1, 0) }},
		{name: "delete an address", write: func(f *fixture) error {
			return f.delete(adapter.CustomerAddresses, 1)
		}, observe: func(f *fixture, as precision) string { return shownOf(f, as, adapter.CustomerAddresses, 1, 0) }},
		{name: "unassign a website", write: func(f *fixture) error {
			return f.delete(adapter.ProductWebsites, 1)
		}, observe: func(f *fixture, as precision) string { return shownOf(f, as, adapter.ProductWebsites, 1, 0) }},
		{name: "import a product", repeats: true, write: func(f *fixture) error {
			one := without(f.exported(adapter.Products, 1, attrs{"name": "New", "price": "7.7777", "meta_title": nil}), adapter.ProductWebsites, 1)
			return f.importOne(one)
		}, observe: func(f *fixture, as precision) string {
			return shownOf(f, as, adapter.Products, 1, 0, "name", "price") + count(f, adapter.ProductWebsites, where("product_id", "1"))
		}},
		{name: "import an address", repeats: true, write: func(f *fixture) error {
			return f.importOne(f.exported(adapter.CustomerAddresses, 2, attrs{"city": "New", "is_default_billing": 1}))
		}, observe: func(f *fixture, as precision) string {
			return shownOf(f, as, adapter.CustomerAddresses, 2, 0, "city", "is_default_billing") + shownOf(f, as, adapter.CustomerAddresses, 1, 0, "is_default_billing")
		}},
		{name: "import the removal of a customer", write: func(f *fixture) error {
			return f.importOne(gone(adapter.Customers, 1))
		}, observe: func(f *fixture, as precision) string { return shownOf(f, as, adapter.Customers, 1, 0) }},
	}
}

// pushCases are imports that create records at the backend. Unlike the records of other
// writes, they stay in the local replica if the backend refuses them.
func pushCases() []writeCase {
	return []writeCase{
		{name: "import a new product", repeats: true, pushes: true, write: func(f *fixture) error {
			one := without(f.exported(adapter.Products, 1, attrs{"entity_id": 77, "sku": "new"}), adapter.ProductImages, 1, 2)
			one.Parts = slices.DeleteFunc(one.Parts, func(part adapter.Record) bool { return part.Schema.Resource == adapter.ProductCategories })
			for i := range one.Parts {
				one.Parts[i].Set("product_id", adapter.IntegerValue(77))
				one.Parts[i].Set(one.Parts[i].Schema.Key, adapter.Value{})
			}
			one.Levels = nil
			return f.pushOne(one)
		}, observe: func(f *fixture, _ precision) string {
			return count(f, adapter.Products, where("sku", "new")) + " " + count(f, adapter.ProductWebsites, where("product_id", "77"))
		}},
		{name: "import a new address", repeats: true, pushes: true, write: func(f *fixture) error {
			return f.pushOne(f.exported(adapter.CustomerAddresses, 2, attrs{"entity_id": 77, "city": "New", "is_default_billing": 0, "is_default_shipping": 0}))
		}, observe: func(f *fixture, _ precision) string {
			return count(f, adapter.CustomerAddresses, where("customer_id", "1"))
		}},
	}
}

// count returns the number of records of a resource in the local replica that a query selects.
func count(f *fixture, r adapter.Resource, q adapter.Query) string {
	store := adaptertest.StoreOf(f.t, f.local, r)
	found := adaptertest.MustList(f.t, store, adapter.ListParams{Query: q, Count: true})
	return fmt.Sprint(found.Total)
}

func newProduct(sku string) attrs {
	stock := attrs{"qty": "5.0000", "low_stock_date": nil, "notify_stock_qty": nil}
	for _, a := range schemas().Of(adapter.StockItems).Attributes {
		if _, ok := stock[a.Name]; !ok && !a.ReadOnly {
			stock[a.Name] = map[adapter.Kind]any{adapter.KindInteger: 1, adapter.KindDecimal: "2.0000"}[a.Kind]
		}
	}
	return attrs{
		"attribute_set_id": 4, "type_id": "simple", "sku": sku, "name": "N", "price": "1.2345", "status": 1, "visibility": 4, "tax_class_id": 2,
		"stock_item": []attrs{stock},
		"tier_price": []attrs{{"website_id": 0, "cust_group": 1, "price": "9.0000", "price_qty": "2.0000"}},
	}
}

func newImage(product int) attrs {
	return attrs{"product_id": product, "file": "n/e/new.png", "media_type": "image/png", "content": "bytes", "label": "New", "exclude": 0, "types": []string{"image"}}
}

func newAddress(customer int) attrs {
	return attrs{
		"customer_id": customer, "firstname": "F", "lastname": "L", "street": []string{"1"}, "city": "C", "country_id": "US", "region": "", "telephone": "1",
		"postcode": "1", "is_default_billing": 1, "is_default_shipping": 0,
	}
}

// checkAgreement fails unless the local replica and the backend have the same records, and the
// backend's values equal the replica's values as the backend stores them. It reads both
// directly, not through the adapter.
func (f *fixture) checkAgreement() {
	f.t.Helper()
	f.memory.mu.Lock()
	docs := cloneDocs(f.memory.docs)
	f.memory.mu.Unlock()
	for _, res := range f.memory.resources {
		store := adaptertest.StoreOf(f.t, f.local, res.Resource)
		var onDemand []string
		for _, name := range res.Attributes {
			if a := schemas().Of(res.Resource).Attributes; a[slices.IndexFunc(a, func(a adapter.Attribute) bool { return a.Name == name })].OnDemand {
				onDemand = append(onDemand, name)
			}
		}
		found := adaptertest.MustList(f.t, store, adapter.ListParams{With: onDemand})
		items := map[string]memoryItem{} // of the backend, by identity
		for _, d := range docs[res.Root] {
			if res.Root == res.Resource {
				items[d.id] = d.memoryItem
			}
			for _, item := range d.parts[res.Resource] {
				items[f.identity(&res, d.id, item.id, item.record)] = item
			}
		}
		for _, r := range found.Records {
			key := adapter.Key(r.Get(r.Schema.Key).Int())
			mapping, ok := f.mapping(res.Resource, key)
			identity := mapping.BackendID
			if res.Root != res.Resource {
				root, _ := f.mapping(res.Root, adapter.Key(r.Get(r.Schema.RootAttribute).Int()))
				identity = f.identity(&res, root.BackendID, mapping.BackendID, r)
			} else if !ok {
				f.t.Errorf("%s %d has no mapping", res.Resource, key)
				continue
			}
			item, exists := items[identity]
			if !exists {
				f.t.Errorf("%s %d is missing at the backend, as %q", res.Resource, key, identity)
				continue
			}
			delete(items, identity)
			for _, name := range res.Attributes {
				if name == "stock_item" {
					continue // compared as a resource of its own
				}
				if got, want := adaptertest.FormatValue(item.record.Get(name)), adaptertest.FormatValue(lossy(name, r.Get(name))); got != want {
					f.t.Errorf("%s %d: %s is %s at the backend, want %s", res.Resource, key, name, got, want)
				}
			}
		}
		for identity, item := range items {
			f.t.Errorf("%s %s of the backend is missing in the replica: %s", res.Resource, identity, adaptertest.FormatRecord(item.record))
		}
	}
}

func (f *fixture) identity(res *replica.BackendResource, rootID, id string, r adapter.Record) string {
	if res.HasIDs {
		return id
	}
	place := rootID
	for _, name := range res.MatchBy {
		place += " " + r.Get(name).Text()
	}
	return place
}
