package magento1test

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// saveProduct changes a product as its page in the admin panel does: it locks the product,
// sets updated_at and indexes the stock status. It does nothing if there is no such product.
func (s *LiveShop) saveProduct(ctx context.Context, id int64, change func(entityTable) error) error {
	return s.inTx(ctx, func(tx transaction) error {
		locked, err := tx.ids(ctx, "SELECT entity_id FROM {p}catalog_product_entity WHERE entity_id = ? FOR UPDATE", id)
		if err != nil || len(locked) == 0 {
			return err
		}
		t, err := tx.entity(ctx, product)
		if err != nil {
			return err
		}
		if err := change(t); err != nil {
			return err
		}
		if err := t.set(ctx, id, 0, "updated_at", now()); err != nil {
			return err
		}
		return tx.indexStock(ctx, id)
	})
}

// RenameProduct sets the name of a product at a store view, 0 for the default scope.
func (s *LiveShop) RenameProduct(ctx context.Context, id, view int64, name string) error {
	return s.saveProduct(ctx, id, func(t entityTable) error { return t.set(ctx, id, view, "name", name) })
}

// SetPrices sets the price and the special price of a product. special "" clears the special
// price, which leaves a row without a value.
func (s *LiveShop) SetPrices(ctx context.Context, id int64, price, special string) error {
	return s.saveProduct(ctx, id, func(t entityTable) error {
		values := map[string]any{"price": price, "special_price": nil, "special_from_date": nil}
		if special != "" {
			values["special_price"], values["special_from_date"] = special, now()
		}
		return t.setAll(ctx, id, values)
	})
}

// EnableProduct enables or disables a product.
func (s *LiveShop) EnableProduct(ctx context.Context, id int64, enabled bool) error {
	status := 2
	if enabled {
		status = 1
	}
	return s.saveProduct(ctx, id, func(t entityTable) error { return t.set(ctx, id, 0, "status", status) })
}

// AssignCategories assigns a product to these categories and no others.
func (s *LiveShop) AssignCategories(ctx context.Context, id int64, categories ...int64) error {
	return s.saveProduct(ctx, id, func(t entityTable) error {
		if err := t.exec(ctx, "DELETE FROM {p}catalog_category_product WHERE product_id = ?", id); err != nil {
			return err
		}
		for _, to := range categories {
			if err := t.exec(ctx, "INSERT INTO {p}catalog_category_product (category_id, product_id, position) VALUES (?, ?, 1)", to, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteProduct deletes a product. Lines of orders keep its id.
func (s *LiveShop) DeleteProduct(ctx context.Context, id int64) error {
	return s.inTx(ctx, func(tx transaction) error {
		return tx.exec(ctx, "DELETE FROM {p}catalog_product_entity WHERE entity_id = ?", id)
	})
}

// DeleteCategory deletes a category with all below it.
func (s *LiveShop) DeleteCategory(ctx context.Context, id int64) error {
	return s.inTx(ctx, func(tx transaction) error {
		below, err := tx.ids(ctx, "SELECT b.entity_id FROM {p}catalog_category_entity c JOIN {p}catalog_category_entity b ON b.entity_id = c.entity_id OR b.path LIKE CONCAT(c.path, '/%')"+
			" WHERE c.entity_id = ? ORDER BY b.level DESC, b.entity_id FOR UPDATE", id)
		if err != nil {
			return err
		}
		err = tx.exec(ctx, "UPDATE {p}catalog_category_entity a JOIN {p}catalog_category_entity c ON c.path LIKE CONCAT(a.path, '/%') SET a.children_count = a.children_count - ? WHERE c.entity_id = ?", len(below), id)
		for _, one := range below {
			if err == nil {
				err = tx.exec(ctx, "DELETE FROM {p}catalog_category_entity WHERE entity_id = ?", one)
			}
		}
		return err
	})
}

// DeleteCustomer deletes a customer with the addresses. The orders stay, without a customer.
func (s *LiveShop) DeleteCustomer(ctx context.Context, id int64) error {
	return s.inTx(ctx, func(tx transaction) error {
		return tx.exec(ctx, "DELETE FROM {p}customer_entity WHERE entity_id = ?", id)
	})
}

// NewProduct adds an enabled simple product with stock and an image, sold at all websites.
// Its name, price and quantity are random.
func (s *LiveShop) NewProduct(ctx context.Context, r *rand.Rand, sku string) (id int64, err error) {
	name, price, quantity := fmt.Sprintf("Product %d", r.IntN(1e6)), fmt.Sprintf("%d.9900", 1+r.IntN(100)), 1+r.IntN(500)
	image := fmt.Sprintf("/n/e/new_%d.png", r.IntN(1e6))
	err = s.inTx(ctx, func(tx transaction) error {
		t, err := tx.entity(ctx, product)
		if err != nil {
			return err
		}
		sets, err := tx.ids(ctx, "SELECT default_attribute_set_id FROM {p}eav_entity_type WHERE entity_type_id = ?", t.typeID)
		if err != nil {
			return err
		}
		moment := now()
		if id, err = t.add(ctx, map[string]any{"attribute_set_id": sets[0], "type_id": "simple", "sku": sku, "created_at": moment, "updated_at": moment}); err != nil {
			return err
		}
		if err := t.setAll(ctx, id, map[string]any{
			"name": name, "url_key": "new-" + sku, "url_path": "new-" + sku + ".html", "description": "All about it", "short_description": "It is new", "meta_title": nil,
			"price": price, "weight": "1.0000", "special_price": nil, "status": 1, "visibility": 4, "tax_class_id": 2,
			"image": image, "small_image": image, "thumbnail": image,
		}); err != nil {
			return err
		}
		gallery, err := tx.insert(ctx, "INSERT INTO {p}catalog_product_entity_media_gallery (attribute_id, entity_id, value) VALUES (?, ?, ?)", t.attributes["media_gallery"].id, id, image)
		if err != nil {
			return err
		}
		if err := tx.exec(ctx, "INSERT INTO {p}catalog_product_entity_media_gallery_value (value_id, store_id, label, position) VALUES (?, 0, ?, 1)", gallery, name); err != nil {
			return err
		}
		if err := tx.exec(ctx, "INSERT INTO {p}catalog_product_website (product_id, website_id) SELECT ?, website_id FROM {p}core_website WHERE website_id > 0", id); err != nil {
			return err
		}
		if err := tx.exec(ctx, "INSERT INTO {p}cataloginventory_stock_item (product_id, stock_id, qty, is_in_stock) VALUES (?, 1, ?, 1)", id, quantity); err != nil {
			return err
		}
		return tx.indexStock(ctx, id)
	})
	return id, err
}

// SaveAll saves all products without changing them, as an extension that synchronizes a
// catalog does.
func (s *LiveShop) SaveAll(ctx context.Context) error {
	return s.inTx(ctx, func(tx transaction) error {
		return tx.exec(ctx, "UPDATE {p}catalog_product_entity SET updated_at = ?", now())
	})
}

// Reindex computes the stock status of all products anew, and writes all rows again.
func (s *LiveShop) Reindex(ctx context.Context) error {
	return s.inTx(ctx, func(tx transaction) error {
		return tx.execAll(ctx, []string{
			"DELETE s FROM {p}cataloginventory_stock_status s JOIN {p}catalog_product_entity e ON e.entity_id = s.product_id AND e.type_id IN ('simple', 'virtual', 'downloadable')",
			insertStatus + stockStatus,
		})
	})
}

// ApplyRule applies a catalog price rule to all products: it replaces the prices of rules, of
// yesterday, today and tomorrow, for all websites and groups. With percent 0 there is no rule
// any more.
func (s *LiveShop) ApplyRule(ctx context.Context, percent int) error {
	return s.inTx(ctx, func(tx transaction) error {
		if err := tx.exec(ctx, "DELETE FROM {p}catalogrule_product_price"); err != nil || percent == 0 {
			return err
		}
		t, err := tx.entity(ctx, product)
		if err != nil {
			return err
		}
		return tx.exec(ctx, `INSERT INTO {p}catalogrule_product_price (rule_date, customer_group_id, product_id, rule_price, website_id)
			SELECT UTC_DATE() + INTERVAL d.day DAY, g.customer_group_id, w.product_id, p.value * (100 - ?) / 100, w.website_id
			FROM {p}catalog_product_website w JOIN {p}catalog_product_entity_decimal p ON p.entity_id = w.product_id AND p.store_id = 0 AND p.attribute_id = ? AND p.value IS NOT NULL
			JOIN {p}customer_group g JOIN (SELECT -1 AS day UNION ALL SELECT 0 UNION ALL SELECT 1) d`, percent, t.attributes["price"].id)
	})
}

// SetPassword gives a customer another password, by its hash.
func (s *LiveShop) SetPassword(ctx context.Context, id int64, hash string) error {
	return s.inTx(ctx, func(tx transaction) error {
		locked, err := tx.ids(ctx, "SELECT entity_id FROM {p}customer_entity WHERE entity_id = ? FOR UPDATE", id)
		if err != nil || len(locked) == 0 {
			return err
		}
		t, err := tx.entity(ctx, customer)
		if err != nil {
			return err
		}
		return t.setAll(ctx, id, map[string]any{"password_hash": hash, "updated_at": now()})
	})
}

// NewCustomer registers a customer of the first website with an address, which is the
// default one. Names are random.
func (s *LiveShop) NewCustomer(ctx context.Context, r *rand.Rand, email string) (id int64, err error) {
	first, last := fmt.Sprintf("First%d", r.IntN(1e6)), fmt.Sprintf("Last%d", r.IntN(1e6))
	street := fmt.Sprintf("%d Main Street\nFloor %d", 1+r.IntN(200), 1+r.IntN(9))
	err = s.inTx(ctx, func(tx transaction) error {
		customers, err := tx.entity(ctx, customer)
		if err != nil {
			return err
		}
		addresses, err := tx.entity(ctx, address)
		if err != nil {
			return err
		}
		moment := now()
		if id, err = customers.add(ctx, map[string]any{"website_id": 1, "store_id": 1, "group_id": 1, "email": email, "created_at": moment, "updated_at": moment}); err != nil {
			return err
		}
		home, err := addresses.add(ctx, map[string]any{"parent_id": id, "created_at": moment, "updated_at": moment})
		if err != nil {
			return err
		}
		if err := addresses.setAll(ctx, home, map[string]any{
			"firstname": first, "lastname": last, "street": street, "city": "San Francisco", "country_id": "US", "region": "California", "region_id": 12, "postcode": "94105", "telephone": "415-555-0100",
		}); err != nil {
			return err
		}
		return customers.setAll(ctx, id, map[string]any{
			"firstname": first, "lastname": last, "created_in": "English", "password_hash": "c895aee09110d7f48c106ff77d8709ef:at", "default_billing": home, "default_shipping": home,
		})
	})
	return id, err
}
