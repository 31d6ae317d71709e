package magento1_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
)

// TestProducts reads products of all types, with prices, assignments and values of store
// views.
func TestProducts(t *testing.T) {
	s := openRich(t, magento1.Options{ServerOptions: magento1.ServerOptions{Prefix: "x_"}},
		"INSERT INTO x_catalog_product_entity_int (entity_type_id, attribute_id, store_id, entity_id, value) VALUES (4, 98, 5, 1, 2), (4, 9999, 0, 1, 5), (4, 98, 0, 24, 1), (4, 98, 0, 900, 1)",
		"INSERT INTO x_catalog_product_entity_decimal (entity_type_id, attribute_id, store_id, entity_id, value) VALUES (4, 77, 3, 1, 7.5)",
		"INSERT INTO x_catalog_product_website VALUES (1, 3)", "INSERT INTO x_catalog_category_product VALUES (1, 1, 1), (98, 1, 1)",
		"INSERT INTO x_catalog_product_entity_tier_price (entity_id, website_id, qty, value) VALUES (1, 9, 1, 1)",
		"INSERT INTO x_catalogrule_product_price (rule_date, customer_group_id, product_id, rule_price, website_id) VALUES ('2013-06-24', 0, 1, 11.11, 1), ('2013-06-25', 1, 1, 11, 1)",
		"INSERT INTO x_review (review_id, entity_id, entity_pk_value, status_id) VALUES (8, 2, 2, 1)",
		"DELETE FROM x_core_url_rewrite WHERE product_id IN (2, 3)",
		"INSERT INTO x_core_url_rewrite (store_id, id_path, request_path, is_system, product_id) VALUES (1, 'product/2', 'own', 0, 2), (1, 'product/2/3', 'kitchen/kettle', 1, 2), "+
			"(2, 'product/2', 'own', 0, 2), (2, 'product/2', 'made', 1, 2), (5, 'product/2', 'gone', 1, 2), (1, 'product/3', REPEAT('x', 255), 1, 3), (1, 'product/900', 'none', 1, 900), (2, 'product/3', 'without-id', 1, NULL), (1, '4_1', 'redirect', 0, NULL)")
	products := s.read(t, magento1.Products, adapter.Products)
	if len(products) != 45 {
		t.Fatalf("%d products", len(products))
	}
	for _, c := range []struct {
		name  string
		id    int64
		store int64
		want  values
	}{
		{"simple", 1, 0, values{"attribute_set_id": 4, "type_id": "simple", "sku": "kettle-steel", "created_at": "2012-01-01 00:00:00", "name": "Steel Kettle",
			"price": "39.9900", "status": 1, "visibility": 4, "tax_class_id": 2, "special_price": "absent", "special_from_date": nil, "stock_status": "absent", "manufacturer": "absent"}},
		{"value of a global attribute at a store view", 1, 3, values{"price": "7.5000", "name": "absent"}},
		{"stock status at a store view of a website", 1, 2, values{"stock_status": 1}},
		{"texts with line breaks and quotes", 43, 0, values{"sku": `long Ünï/"q"`, "short_description": " leading and trailing blanks \n"}},
		{"SKU that looks like a number", 44, 0, values{"sku": "0042"}},
		{"configurable, without values for what it varies by", 16, 0, values{"type_id": "configurable", "size": nil, "color": nil, "material": "6", "eco": 1, "has_custom_options": "absent", "reviews_count": 2}},
		{"own attributes", 13, 0, values{"size": 3, "material": "6,8", "color": 9, "attribute_set_id": 9}},
		{"grouped without a price", 18, 0, values{"type_id": "grouped", "price": "absent"}},
		{"components of a configurable product", 16, 0, values{"type_id": "configurable", "components": "13,14,15", "component_of": "absent"}},
		{"components of a grouped product", 18, 0, values{"components": "1,2,9"}},
		{"components of the required option of a bundle", 19, 0, values{"components": "1,2"}},
		{"component of several", 1, 0, values{"components": "absent", "component_of": "18,19,20", "price_view": "absent"}},
		{"dynamic bundle", 19, 0, values{"type_id": "bundle", "price": nil, "special_price": "80.0000", "special_from_date": "2013-06-23 14:32:00", "price_type": 0, "price_view": 0}},
		{"fixed bundle", 20, 0, values{"price": "100.0000", "special_price": "75.0000", "price_type": 1, "price_view": 1}},
		{"virtual", 21, 0, values{"type_id": "virtual", "tax_class_id": 0, "weight": "absent"}},
		{"downloadable", 22, 0, values{"type_id": "downloadable", "has_custom_options": "absent"}},
		{"custom options", 23, 0, values{"has_custom_options": 1}},
		{"names of store views", 25, 2, values{"name": "Table en chêne", "url_key": "table-chene", "meta_title": nil, "description": "Une <b>belle</b> table", "visibility": 2, "short_description": "absent"}},
		{"null of a store view", 25, 4, values{"short_description": nil, "visibility": 1, "name": "absent"}},
		{"website values at one of its store views", 25, 3, values{"tax_class_id": 5, "status": 1, "eco": 1, "special_to_date": "2090-12-31 00:00:00", "name": "Eichentisch"}},
		{"website values at the other one", 25, 6, values{"tax_class_id": 5, "status": 1, "eco": 1, "special_to_date": "2090-12-31 00:00:00", "name": "absent"}},
		{"name in another script", 25, 7, values{"name": "オーク材のテーブル", "status": 2}},
		{"reviews of all store views", 2, 0, values{"reviews_count": 2}},
		{"reviews of one store view", 2, 1, values{"reviews_count": 1}},
		{"no reviews at a store view", 2, 7, values{"reviews_count": 0}},
		{"as many reviews as everywhere", 2, 3, values{"reviews_count": "absent"}},
		{"one approved of two at a store view", 16, 1, values{"reviews_count": 1}},
		{"all approved at a store view", 16, 2, values{"reviews_count": "absent"}},
		{"no reviews at all", 1, 0, values{"reviews_count": "absent"}},
		{"address that somebody has made", 2, 1, values{"request_path": "own"}},
		{"address that the system has made, too", 2, 2, values{"request_path": "made"}},
		{"no address at a store view", 2, 3, values{"request_path": "absent"}},
		{"no address in the default scope", 2, 0, values{"request_path": "absent"}},
		{"address in a row without product_id", 3, 2, values{"request_path": "without-id"}},
		{"longest address", 3, 1, values{"request_path": strings.Repeat("x", 255)}},
		{"address with the suffix of the shop", 25, 2, values{"request_path": "table-chene.html"}},
		{"not on sale at a website", 25, 7, values{"stock_status": 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := products[c.id].Record
			if c.store != 0 {
				r = level(products[c.id], c.store, 0)
			}
			compare(t, c.want, r)
		})
	}
	t.Run("levels are in order", func(t *testing.T) {
		var stores []int64
		for _, l := range products[25].Levels {
			stores = append(stores, l.StoreID)
		}
		if !slices.Equal(stores, []int64{1, 2, 3, 4, 6, 7}) {
			t.Errorf("store views %v", stores)
		}
	})
	t.Run("assignments", func(t *testing.T) {
		checkAssignments(t, products)
	})
	t.Run("prices", func(t *testing.T) {
		checkPrices(t, products)
	})
	skipped := func(table, key, reason string) magento1.Skipped {
		return magento1.Skipped{Part: magento1.Products, Table: table, Key: key, Reason: reason}
	}
	s.mustHaveSkipped(t,
		skipped("catalog_product_entity_int", "product 1, attribute status, store 5", magento1.ReasonNoStore),
		skipped("catalog_product_entity_int", "product 1, attribute 9999, store 0", magento1.ReasonNoAttribute),
		skipped("catalog_product_entity_int", "product 24, attribute status, store 0", magento1.ReasonNoRecord),
		skipped("catalog_product_entity_int", "product 900, attribute status, store 0", magento1.ReasonNoRecord),
		skipped("catalog_product_website", "product 1, website 3", magento1.ReasonNoWebsite),
		skipped("catalog_category_product", "product 1, category 1", magento1.ReasonNoRecord),
		skipped("catalog_category_product", "product 1, category 98", magento1.ReasonNoRecord),
		skipped("core_url_rewrite", "product 2, store 5", magento1.ReasonNoStore),
		skipped("core_url_rewrite", "product 900", magento1.ReasonNoRecord),
		skipped("catalog_product_entity_tier_price", "product 1, value_id 11, website 9", magento1.ReasonNoWebsite),
		skipped("eav_attribute", "attribute care", magento1.ReasonNoSetting))
}

func checkAssignments(t *testing.T, products map[int64]adapter.Aggregate) {
	of := func(id int64) (all []any) {
		for _, part := range products[id].Parts {
			v := valuesOf(part)
			if v["product_id"] != int(id) {
				t.Errorf("product %d has the part %v", id, v)
			}
			delete(v, "product_id")
			all = append(all, v)
		}
		return all
	}
	if difference := cmp.Diff([]any{values{"category_id": 10, "position": 10}}, of(40)); difference != "" {
		t.Errorf("product on no website: want -, got +:\n%s", difference)
	}
	if difference := cmp.Diff([]any{values{"website_id": 4}, values{"category_id": 14, "position": 1}}, of(41)); difference != "" {
		t.Errorf("product on one website: want -, got +:\n%s", difference)
	}
	positions := map[any]any{}
	for _, part := range products[42].Parts {
		if part.Schema.Resource == adapter.ProductCategories {
			positions[valuesOf(part)["category_id"]] = valuesOf(part)["position"]
		}
	}
	if len(positions) < 5 {
		t.Errorf("categories of a product in many: %v", positions)
	}
	if want := []adapter.Resource{adapter.ProductWebsites, adapter.ProductCategories}; !slices.Equal(products[40].PartsOf, want) {
		t.Errorf("parts of %v", products[40].PartsOf)
	}
}

func checkPrices(t *testing.T, products map[int64]adapter.Aggregate) {
	of := func(id int64, list string) (all []any) {
		v := products[id].Record.Get(list)
		if v.Kind() != adapter.Records {
			t.Errorf("%s of product %d is not set", list, id)
		}
		for _, entry := range v.Records() {
			all = append(all, valuesOf(entry))
		}
		return all
	}
	for _, c := range []struct {
		name, list string
		id         int64
		want       []any
	}{
		{"none", "tier_price", 3, nil},
		{"for all groups and for one", "tier_price", 2, []any{
			values{"value_id": 1, "website_id": 0, "cust_group": 32000, "price": "90.0000", "price_qty": "5.0000"},
			values{"value_id": 2, "website_id": 0, "cust_group": 2, "price": "80.0000", "price_qty": "10.0000"}}},
		{"of a group at a website", "group_price", 26, []any{
			values{"value_id": 2, "website_id": 0, "cust_group": 0, "price": "57.0000"}, values{"value_id": 3, "website_id": 0, "cust_group": 1, "price": "59.5000"},
			values{"value_id": 4, "website_id": 0, "cust_group": 2, "price": "65.0000"}, values{"value_id": 5, "website_id": 2, "cust_group": 3, "price": "20.0000"}}},
		{"of rules, of all days", "rule_price", 1, []any{
			values{"rule_price_id": 1, "website_id": 1, "cust_group": 0, "rule_date": "2013-06-24 00:00:00", "price": "11.1100"},
			values{"rule_price_id": 2, "website_id": 1, "cust_group": 1, "rule_date": "2013-06-25 00:00:00", "price": "11.0000"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if difference := cmp.Diff(c.want, of(c.id, c.list)); difference != "" {
				t.Errorf("want -, got +:\n%s", difference)
			}
		})
	}
	if tiers := of(26, "tier_price"); len(tiers) != 8 || tiers[6].(values)["website_id"] != 2 || tiers[7].(values)["website_id"] != 1 {
		t.Errorf("tier prices with websites: %v", tiers)
	}
}

// TestImages reads the images with their overrides for store views.
func TestImages(t *testing.T) {
	s := openRich(t, magento1.Options{},
		"INSERT INTO catalog_product_entity_media_gallery VALUES (10, 90, 46, NULL), (11, 90, 46, '/../../etc/passwd'), (12, 90, 900, '/a.png'), (13, 97, 46, '/b.png')",
		"INSERT INTO catalog_product_entity_varchar (entity_type_id, attribute_id, store_id, entity_id, value) VALUES (4, 87, 2, 46, 'no_selection'), (4, 88, 2, 46, NULL), (4, 89, 2, 46, '/p/i/PIC.jpg')",
		"INSERT INTO catalog_product_entity_media_gallery_value VALUES (6, 5, 'of a deleted view', 1, 0)")
	products := s.read(t, magento1.Images, adapter.Products)
	if len(products) != 45 {
		t.Fatalf("%d products", len(products))
	}
	for id, a := range products {
		if !a.PartsOnly || !slices.Equal(a.PartsOf, []adapter.Resource{adapter.ProductImages}) || len(valuesOf(a.Record)) != 1 {
			t.Errorf("product %d: %+v", id, a)
		}
	}
	files := func(id int64) map[any]any {
		all := map[any]any{}
		for _, part := range products[id].Parts {
			v := valuesOf(part)
			if v["product_id"] != int(id) {
				t.Errorf("product %d has the image %v", id, v)
			}
			all[v["id"]] = v["file"]
		}
		return all
	}
	want := map[any]any{1: "f/r/front.png", 2: "s/i/side_view.jpg", 3: "B/a/Back.gif", 5: "f/r/front_1.png"}
	if difference := cmp.Diff(want, files(45)); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	if difference := cmp.Diff(map[any]any{6: "p/i/pic.jpg"}, files(46)); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	for _, c := range []struct {
		name               string
		product, store, id int64
		want               values
	}{
		{"in the default scope", 45, 0, 1, values{"id": 1, "product_id": 45, "label": "Front", "position": 1, "exclude": 0}},
		{"excluded", 45, 0, 3, values{"label": `Back "&" <b>`, "position": 2, "exclude": 1}},
		{"without a label", 45, 3, 2, values{"label": "absent", "position": 3, "exclude": 0}},
		{"with one at a store view", 45, 2, 2, values{"label": "Côté", "position": 0, "exclude": 0}},
		{"uploaded at a store view", 45, 2, 5, values{"label": "Only French", "position": 9}},
		{"roles at a store view", 45, 2, 0, values{"image_id": 1, "small_image_id": 5, "thumbnail_id": 2}},
		{"roles at another one", 45, 3, 0, values{"image_id": 3, "small_image_id": 1, "thumbnail_id": 1}},
		{"roles in the default scope", 46, 0, 0, values{"image_id": 6, "entity_id": 46}},
		{"roles that name none, or one that is not there", 46, 2, 0, values{"image_id": nil, "small_image_id": nil, "thumbnail_id": nil}},
	} {
		t.Run(c.name, func(t *testing.T) { compare(t, c.want, level(products[c.product], c.store, c.id)) })
	}
	if r := level(products[45], 0, 5); r.Schema != nil {
		t.Errorf("an image that was uploaded at a store view has %v in the default scope", valuesOf(r))
	}
	skipped := func(table, key, reason string) magento1.Skipped {
		return magento1.Skipped{Part: magento1.Images, Table: table, Key: key, Reason: reason}
	}
	const gallery = "catalog_product_entity_media_gallery"
	s.mustHaveSkipped(t,
		skipped(gallery, "product 46, image 10", magento1.ReasonFile), skipped(gallery, "product 46, image 11", magento1.ReasonFile),
		skipped(gallery, "product 46, image 13", magento1.ReasonNoAttribute), skipped(gallery, "product 900, image 12", magento1.ReasonNoRecord),
		skipped(gallery+"_value", "product 46, image 6, store 5", magento1.ReasonNoStore),
		skipped("catalog_product_entity_varchar", "product 46, attribute thumbnail, store 2", magento1.ReasonFile))
}

// TestStock reads the stock items.
func TestStock(t *testing.T) {
	s := openRich(t, magento1.Options{},
		"INSERT INTO cataloginventory_stock_item (item_id, product_id, stock_id) VALUES (900, 901, 1), (901, 1, 2)",
		"ALTER TABLE cataloginventory_stock_item DROP COLUMN is_decimal_divided, CHANGE use_config_enable_qty_inc use_config_enable_qty_increments SMALLINT UNSIGNED NOT NULL DEFAULT 1")
	items := s.read(t, magento1.Stock, adapter.StockItems)
	if len(items) != 45 {
		t.Fatalf("%d items", len(items))
	}
	byProduct := map[int64]adapter.Record{}
	for _, a := range items {
		byProduct[a.Record.Get("product_id").Int()] = a.Record
	}
	for _, c := range []struct {
		name    string
		product int64
		want    values
	}{
		{"out of stock", 32, values{"is_in_stock": 0, "stock_id": 1}},
		{"with backorders", 33, values{"use_config_backorders": 0, "use_config_enable_qty_inc": 1}},
		{"not managed", 34, values{"manage_stock": 0, "use_config_manage_stock": 0}},
		{"in fractions, from before there was is_decimal_divided", 35, values{"is_qty_decimal": 1, "is_decimal_divided": 0}},
	} {
		t.Run(c.name, func(t *testing.T) { compare(t, c.want, byProduct[c.product]) })
	}
	s.mustHaveSkipped(t, magento1.Skipped{Table: "cataloginventory_stock_item", Key: "column is_decimal_divided", Reason: magento1.ReasonVersion},
		magento1.Skipped{Part: magento1.Stock, Table: "cataloginventory_stock_item", Key: "stock item 900, product 901", Reason: magento1.ReasonNoRecord},
		magento1.Skipped{Part: magento1.Stock, Table: "cataloginventory_stock_item", Key: "stock item 901, product 1", Reason: magento1.ReasonStock})
}
