package replica_test

import (
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

// A deed is a write, and what tells whether it has been done. It gets the shop that
// does it, or finds it.
type deed struct {
	name   string
	before func(s *shop) // what has to be done first, if anything
	do     func(s *shop) error
	done   func(s *shop, as keeper) string // what the side has of it
}

// A keeper says what is left of a value.
type keeper func(name string, v adapter.Value) adapter.Value

// whole keeps values as they are.
func whole(_ string, v adapter.Value) adapter.Value { return v }

func deeds() []deed {
	shownOf := func(s *shop, as keeper, r adapter.Resource, key adapter.Key, storeID int64, names ...string) string {
		store, err := s.side.Store(r)
		if err != nil {
			s.t.Fatal(err)
		}
		record, err := store.Get(s.t.Context(), &adapter.GetParams{Key: key, StoreID: storeID, With: []string{}})
		if err != nil {
			return adapter.KindOf(err).String()
		}
		text := ""
		for _, name := range names {
			text += name + "=" + shownValue(as(name, record.Get(name))) + " "
		}
		return text
	}
	count := func(s *shop, r adapter.Resource, q adapter.Query) string {
		store, err := s.side.Store(r)
		if err != nil {
			s.t.Fatal(err)
		}
		found, err := store.List(s.t.Context(), &adapter.ListParams{Query: q, Count: true})
		if err != nil {
			s.t.Fatal(err)
		}
		return fmt.Sprint(found.Total)
	}
	return []deed{
		{name: "update a product", do: func(s *shop) error {
			return s.update(adapter.Products, 1, 0, given{"name": "New", "price": "7.7777", "url_key": "new", "meta_title": nil})
		}, done: func(s *shop, as keeper) string {
			return shownOf(s, as, adapter.Products, 1, 0, "name", "price", "url_key", "meta_title")
		}},
		{name: "update a product at a store view", do: func(s *shop) error {
			return s.update(adapter.Products, 3, 2, given{"name": "Nouveau", "price": "8.0000", "status": 2})
		}, done: func(s *shop, as keeper) string {
			return shownOf(s, as, adapter.Products, 3, 2, "name", "price", "status") + shownOf(s, as, adapter.Products, 3, 1, "name", "price", "status")
		}},
		{name: "update the stock of a product", do: func(s *shop) error {
			return s.update(adapter.Products, 1, 0, given{"stock_item": []given{{"qty": "3.2500", "min_qty": "1.0000"}}, "sku": "other"})
		}, done: func(s *shop, as keeper) string {
			return shownOf(s, as, adapter.Products, 1, 0, "sku") + shownOf(s, as, adapter.StockItems, 1, 0, "qty", "min_qty")
		}},
		{name: "update a stock item", do: func(s *shop) error {
			return s.update(adapter.StockItems, 2, 0, given{"qty": "3.2500", "min_qty": "1.0000"})
		}, done: func(s *shop, as keeper) string { return shownOf(s, as, adapter.StockItems, 2, 0, "qty", "min_qty") }},
		{name: "update a customer", do: func(s *shop) error {
			return s.update(adapter.Customers, 1, 0, given{"email": "New@Example.com", "taxvat": "x", "dob": nil})
		}, done: func(s *shop, as keeper) string { return shownOf(s, as, adapter.Customers, 1, 0, "email", "taxvat") }},
		{name: "update an address", do: func(s *shop) error {
			return s.update(adapter.CustomerAddresses, 2, 0, given{"city": "New", "street": []string{"a", "b"}, "fax": "1"})
		}, done: func(s *shop, as keeper) string {
			return shownOf(s, as, adapter.CustomerAddresses, 2, 0, "city", "street", "fax")
		}},
		{name: "create a product", do: func(s *shop) error {
			_, err := s.create(adapter.Products, newProduct("fresh"))
			return err
		}, done: func(s *shop, _ keeper) string { return count(s, adapter.Products, where("sku", "fresh")) }},
		{name: "create a customer", do: func(s *shop) error {
			_, err := s.create(adapter.Customers, given{"website_id": 1, "store_id": 1, "group_id": 1, "email": "Fresh@x.y", "firstname": "F", "lastname": "L", "disable_auto_group_change": 0, "created_in": "Admin", "reward_update_notification": 0, "reward_warning_notification": 0})
			return err
		}, done: func(s *shop, _ keeper) string { return count(s, adapter.Customers, where("email", "fresh@x.y")) }},
		{name: "create an address", do: func(s *shop) error {
			_, err := s.create(adapter.CustomerAddresses, newAddress(1))
			return err
		}, done: func(s *shop, _ keeper) string { return count(s, adapter.CustomerAddresses, where("customer_id", "1")) }},
		{name: "assign a category", do: func(s *shop) error {
			_, err := s.create(adapter.ProductCategories, given{"product_id": 3, "category_id": 6})
			return err
		}, done: func(s *shop, _ keeper) string { return count(s, adapter.ProductCategories, where("product_id", "3")) }},
		{name: "create an image", do: func(s *shop) error {
			_, err := s.create(adapter.ProductImages, newImage(3))
			return err
		}, done: func(s *shop, _ keeper) string { return count(s, adapter.ProductImages, where("product_id", "3")) }},
		{name: "update an image", do: func(s *shop) error {
			return s.update(adapter.ProductImages, 2, 0, given{"label": "New", "position": 3, "types": []string{"image"}})
		}, done: func(s *shop, as keeper) string {
			return shownOf(s, as, adapter.ProductImages, 2, 0, "label", "position", "types") + shownOf(s, as, adapter.ProductImages, 1, 0, "types")
		}},
		{name: "delete an image", do: func(s *shop) error {
			return s.delete(adapter.ProductImages, 1)
		}, done: func(s *shop, as keeper) string { return shownOf(s, as, adapter.ProductImages, 1, 0, "types") }},
		{name: "delete a product", do: func(s *shop) error {
			return s.delete(adapter.Products, 2)
		}, done: func(s *shop, as keeper) string { return shownOf(s, as, adapter.Products, 2, 0) }},
		{name: "delete a customer", do: func(s *shop) error {
			return s.delete(adapter.Customers, 1)
		}, done: func(s *shop, as keeper) string { return shownOf(s, as, adapter.Customers, 1, 0) }},
		{name: "delete an address", do: func(s *shop) error {
			return s.delete(adapter.CustomerAddresses, 1)
		}, done: func(s *shop, as keeper) string { return shownOf(s, as, adapter.CustomerAddresses, 1, 0) }},
		{name: "unassign a website", do: func(s *shop) error {
			return s.delete(adapter.ProductWebsites, 1)
		}, done: func(s *shop, as keeper) string { return shownOf(s, as, adapter.ProductWebsites, 1, 0) }},
	}
}

func newProduct(sku string) given {
	stock := given{"qty": "5.0000", "low_stock_date": nil, "notify_stock_qty": nil}
	for _, a := range schemas().Of(adapter.StockItems).Attributes {
		if _, ok := stock[a.Name]; !ok && !a.ReadOnly {
			stock[a.Name] = map[adapter.Kind]any{adapter.KindInteger: 1, adapter.KindDecimal: "2.0000"}[a.Kind]
		}
	}
	return given{
		"attribute_set_id": 4, "type_id": "simple", "sku": sku, "name": "N", "price": "1.2345", "status": 1, "visibility": 4, "tax_class_id": 2,
		"stock_item": []given{stock},
		"tier_price": []given{{"website_id": 0, "cust_group": 1, "price": "9.0000", "price_qty": "2.0000"}},
	}
}

func newImage(product int) given {
	return given{"product_id": product, "file": "n/e/new.png", "media_type": "image/png", "content": "bytes", "label": "New", "exclude": 0, "types": []string{"image"}}
}

func newAddress(customer int) given {
	return given{
		"customer_id": customer, "firstname": "F", "lastname": "L", "street": []string{"1"}, "city": "C", "country_id": "US", "region": "", "telephone": "1",
		"postcode": "1", "is_default_billing": 1, "is_default_shipping": 0,
	}
}

// agree fails unless both sides have the same records, and the backend's values are
// those of the side as it keeps them. It reads neither through the adapter.
func (s *shop) agree() {
	s.t.Helper()
	s.memory.mu.Lock()
	docs := cloneDocs(s.memory.docs)
	s.memory.mu.Unlock()
	for _, res := range s.memory.kept {
		store, err := s.side.Store(res.Resource)
		if err != nil {
			s.t.Fatal(err)
		}
		var onDemand []string
		for _, name := range res.Attributes {
			if a := schemas().Of(res.Resource).Attributes; a[slices.IndexFunc(a, func(a adapter.Attribute) bool { return a.Name == name })].OnDemand {
				onDemand = append(onDemand, name)
			}
		}
		found, err := store.List(s.t.Context(), &adapter.ListParams{With: onDemand})
		if err != nil {
			s.t.Fatal(err)
		}
		items := map[string]memoryItem{} // of the backend, by what tells them apart
		for _, d := range docs[res.Root] {
			if res.Root == res.Resource {
				items[d.id] = d.memoryItem
			}
			for _, item := range d.parts[res.Resource] {
				items[s.place(&res, d.id, item.id, item.record)] = item
			}
		}
		for _, r := range found.Records {
			key := adapter.Key(r.Get(r.Schema.Key).Int())
			mapping, ok := s.entry(res.Resource, key)
			place := mapping.BackendID
			if res.Root != res.Resource {
				root, _ := s.entry(res.Root, adapter.Key(r.Get(res.RootAttribute).Int()))
				place = s.place(&res, root.BackendID, mapping.BackendID, r)
			} else if !ok {
				s.t.Errorf("%s %d has no entry", res.Resource, key)
				continue
			}
			item, exists := items[place]
			if !exists {
				s.t.Errorf("%s %d is not at the backend, as %q", res.Resource, key, place)
				continue
			}
			delete(items, place)
			for _, name := range res.Attributes {
				if name == "stock_item" {
					continue // a resource of its own
				}
				if got, want := shownValue(item.record.Get(name)), shownValue(lossy(name, r.Get(name))); got != want {
					s.t.Errorf("%s %d: %s is %s at the backend, want %s", res.Resource, key, name, got, want)
				}
			}
		}
		for place, item := range items {
			s.t.Errorf("%s %s of the backend is not at the side: %s", res.Resource, place, shown(item.record))
		}
	}
}

func (s *shop) place(res *replica.BackendResource, rootID, id string, r adapter.Record) string {
	if res.HasIDs {
		return id
	}
	place := rootID
	for _, name := range res.MatchBy {
		place += " " + r.Get(name).Text()
	}
	return place
}
