package contract

import (
	"strings"
	"testing"
)

// TestProductViews compares every view of a product, in order, with the lists of the
// document and of the specification (products 3.1).
func TestProductViews(t *testing.T) {
	const (
		head      = "entity_id, attribute_set_id, type_id, sku, created_at, updated_at, "
		texts     = "name, url_key, meta_title, meta_description, custom_design, page_layout, options_container, country_of_manufacture, msrp_enabled, msrp_display_actual_price_type, gift_message_available, "
		longTexts = "description, short_description, meta_keyword, custom_layout_update, "
		// cost, manufacturer and color are readable but never stored.
		decimals   = "price, weight, special_price, msrp, cost, "
		dates      = "news_from_date, news_to_date, special_from_date, special_to_date, custom_design_from, custom_design_to, "
		integers   = "status, visibility, tax_class_id, manufacturer, color, "
		publicList = "entity_id, type_id, sku, description, short_description, meta_keyword, name, meta_title, meta_description, regular_price_with_tax, regular_price_without_tax, final_price_with_tax, final_price_without_tax, is_saleable, image_url"
		fourPrices = "regular_price_with_tax, regular_price_without_tax, final_price_with_tax, final_price_without_tax, is_saleable, image_url"
		publicHead = "entity_id, type_id, sku, created_at, updated_at, name, meta_title, meta_description, description, short_description, meta_keyword, "
		six        = "entity_id, attribute_set_id, type_id, tax_class_id, weight, price"
		stock      = "qty, min_qty, use_config_min_qty, is_qty_decimal, backorders, use_config_backorders, min_sale_qty, use_config_min_sale_qty, max_sale_qty, use_config_max_sale_qty, is_in_stock, notify_stock_qty, use_config_notify_stock_qty, manage_stock, use_config_manage_stock, use_config_qty_increments, qty_increments, use_config_enable_qty_inc, enable_qty_increments, is_decimal_divided"
		wholeStock = "item_id, product_id, stock_id, qty, min_qty, use_config_min_qty, is_qty_decimal, backorders, use_config_backorders, min_sale_qty, use_config_min_sale_qty, max_sale_qty, use_config_max_sale_qty, is_in_stock, low_stock_date, notify_stock_qty, use_config_notify_stock_qty, manage_stock, use_config_manage_stock, stock_status_changed_auto, use_config_qty_increments, qty_increments, use_config_enable_qty_inc, enable_qty_increments, is_decimal_divided, use_config_enable_qty_increments"
	)
	admin, public, stockData := adminProductFields(), publicProductFields(), productStockFields()
	for _, c := range []struct {
		name    string
		table   *FieldTable
		dialect *Dialect
		views   []View
		want    string
	}{
		{"Admin list of the document", admin, Documented(), []View{ListJSON, ListXML}, "entity_id, type_id, sku, status, visibility, tax_class_id, weight, price, special_price, name, url_key, country_of_manufacture, msrp_display_actual_price_type, gift_message_available, news_from_date, news_to_date, special_from_date, special_to_date, description"},
		{"Admin single of the document", admin, Documented(), []View{SingleJSON, SingleXML}, "entity_id, attribute_set_id, type_id, sku, name, url_key, country_of_manufacture, msrp_display_actual_price_type, gift_message_available, price, weight, status, visibility, tax_class_id, description, group_price, tier_price, stock_data"},
		{"Admin list of the original", admin, Magento(), []View{ListJSON, ListXML}, head + texts + longTexts + decimals + dates + integers},
		{"Admin single of the original", admin, Magento(), []View{SingleJSON, SingleXML}, head + texts + integers + decimals + longTexts + dates + "group_price, tier_price, stock_data"},
		{"Customer/Guest list of the document", public, Documented(), []View{ListJSON, ListXML}, publicList},
		{"Customer/Guest single of the document", public, Documented(), []View{SingleJSON, SingleXML}, publicList + ", tier_price, is_in_stock, url, buy_now_url, total_reviews_count, has_custom_options"},
		{"Customer/Guest list of the original", public, Magento(), []View{ListJSON, ListXML}, publicHead + fourPrices},
		{"Customer/Guest single of the original", public, Magento(), []View{SingleJSON, SingleXML}, publicHead + "tier_price, is_in_stock, " + fourPrices + ", url, buy_now_url, total_reviews_count, has_custom_options"},
		{"category list of an Admin", admin, Documented(), []View{InCategory}, six},
		{"category list of the others", public, Documented(), []View{InCategory}, six},
		{"stock_data of the document", stockData, Documented(), []View{SingleJSON}, wholeStock},
		{"stock_data of the original", stockData, Magento(), []View{SingleJSON}, stock},
	} {
		t.Run(c.name, func(t *testing.T) {
			role := Admin
			if c.table == public {
				role = Guest
			}
			for _, v := range c.views {
				got := strings.ReplaceAll(shownFields(c.table, c.dialect, v, role), " ", ", ")
				if got != strings.TrimSuffix(c.want, ", ") {
					t.Errorf("view %d:\n%s, want\n%s", v, got, c.want)
				}
			}
		})
	}
}

// TestProductReaders checks the roles that may read each field in each view.
func TestProductReaders(t *testing.T) {
	for _, c := range []struct {
		field   string
		table   *FieldTable
		dialect *Dialect
		role    Role
		view    View
		want    bool
	}{
		{"cost", adminProductFields(), Documented(), Admin, ListJSON, true},
		{"stock_data", adminProductFields(), Magento(), Admin, ListJSON, true},
		{"url_key_create_redirect", adminProductFields(), Documented(), Admin, SingleJSON, false},
		{"price", publicProductFields(), Documented(), Guest, ListJSON, false},
		{"price", publicProductFields(), Documented(), Customer, InCategory, true},
		{"price", publicProductFields(), Magento(), Guest, InCategory, false},
		{"price", publicProductFields(), Documented(), Admin, InCategory, false},
		{"url", publicProductFields(), Documented(), Guest, ListJSON, true},
	} {
		t.Run(c.dialect.Name+" "+c.role.String()+" "+c.field, func(t *testing.T) {
			i, ok := c.table.Index(c.field)
			if got := ok && c.table.Fields[i].Readable(c.dialect, c.role, c.view); got != c.want {
				t.Errorf("readable: %t, want %t", got, c.want)
			}
		})
	}
}
