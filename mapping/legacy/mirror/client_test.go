package mirror_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A randomClient makes up writes of every kind, most of them valid.
type randomClient struct {
	*testenv.Sample
	image   string // the bytes of an image in base64
	held    map[place]string
	created int // distinguishes the names of new records
}

// A randomWrite is a request that writes.
type randomWrite struct {
	call         string
	role         contract.Role
	method, path string
	body         string
}

func newRandomClient(t testing.TB) *randomClient {
	t.Helper()
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return &randomClient{Sample: testenv.NewSample(t), image: base64.StdEncoding.EncodeToString(encoded.Bytes())}
}

// fields is the body of a write.
type fields map[string]any

// one returns one of some values.
func (c *randomClient) one(values ...any) any { return values[c.IntN(len(values))] }

// some returns a body with a few fields out of all.
func (c *randomClient) some(all fields) fields {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	c.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	chosen := fields{}
	for _, name := range names[:1+c.IntN(min(5, len(names)))] {
		chosen[name] = all[name]
	}
	return chosen
}

// with returns a body with all fields of two.
func (f fields) with(more fields) fields {
	maps.Copy(f, more)
	return f
}

func (c *randomClient) text() any {
	return c.one("Plain", "Ünï/\"quotes\" & <b>bold</b>", " padded ", "12.50", "emoji 😀", "two\nlines", "back\\slash", strings.Repeat("long ", 60))
}

func (c *randomClient) optionalText() any { return c.one(nil, "", c.text(), c.text()) }

// key returns the key of one of the records of a resource, or of one that does not exist.
func (c *randomClient) key(r adapter.Resource, attribute string) adapter.Key {
	var keys []adapter.Key
	for p := range c.held {
		if p.resource == r && p.storeID == 0 && p.attribute == attribute {
			keys = append(keys, p.key)
		}
	}
	if len(keys) == 0 {
		return 99
	}
	slices.Sort(keys)
	return keys[c.IntN(len(keys))]
}

// atStore returns the last part of a path that may lead to a store view.
func (c *randomClient) atStore() string {
	return c.one("", "", "/store/1", "/store/2", "/store/3").(string)
}

func (c *randomClient) customer() fields {
	return fields{
		"group_id": c.one(1, 2, "3"), "disable_auto_group_change": c.one(0, 1, true), "firstname": c.text(), "lastname": c.text(),
		"prefix": c.optionalText(), "middlename": c.optionalText(), "suffix": c.optionalText(), "taxvat": c.one(nil, "", "DE1", 7),
		"email": fmt.Sprintf("New%d@example.com", c.created), "dob": c.one(nil, "", "2/3/1990", "12-31-0085", "2/30/2001"), "gender": c.one(1, 2),
		"password": c.one("secret77", " another one "), "website_id": c.one(1, 2), "confirmation": "x",
		"loyalty_number": c.optionalText(), "points": c.one(nil, "", 7, "-3"),
	}
}

func (c *randomClient) address() fields {
	country := c.one("US", "DE", "GB", "IE", "FR").(string)
	regions := map[string]any{"US": c.one("TX", "California"), "DE": c.one("Berlin", "BAY"), "FR": "75"}
	region, hasRegions := regions[country]
	if !hasRegions {
		region = c.one("", "Kent", "0")
	}
	return fields{
		"prefix": c.optionalText(), "firstname": c.text(), "middlename": c.optionalText(), "lastname": c.text(), "suffix": c.optionalText(),
		"company": c.optionalText(), "street": c.one([]any{"1 Road"}, []any{"a", "b"}, []any{"a", "b", "c"}, []any{"a\nb\nc"}, []any{"a", "", "c"}), "city": c.text(),
		"country_id": country, "region": region, "postcode": c.one("12345", "12345", ""), "telephone": c.text(), "fax": c.optionalText(), "vat_id": c.optionalText(),
		"is_default_billing": c.one(0, 1), "is_default_shipping": c.one(0, 1, "yes"), "access_code": c.optionalText(), "distance": c.one(nil, "1.5", 2),
	}
}

// changedAddress returns the fields of an update, often with the country and its region.
func (c *randomClient) changedAddress() fields {
	all := c.address()
	changed := c.some(all)
	if c.IntN(2) == 0 {
		changed["country_id"], changed["region"] = all["country_id"], all["region"]
	}
	return changed
}

func (c *randomClient) date() any {
	return c.one(nil, false, "", 0, "2012-03-15", "2012-03-15 10:11:12", "03/15/2012 10:11 AM", 1330000000)
}

func (c *randomClient) price() any {
	return c.one(0, 3, "12.5", "99999999.9999", "0.00005", " 7 ")
}

func (c *randomClient) product() fields {
	removable := func() any { return c.one(nil, "", false, c.text(), c.text()) }
	return fields{
		"sku": fmt.Sprintf("new-%d", c.created), "name": c.text(), "description": c.text(), "short_description": c.text(),
		"price": c.price(), "weight": c.price(), "status": c.one(1, 2), "visibility": c.one(1, 2, "3", 4), "tax_class_id": c.one(0, 2, 4),
		"special_price": c.one(nil, false, "", 0, "5.25", 7), "msrp": c.one(nil, false, "8.1"), "cost": nil,
		"special_from_date": c.date(), "special_to_date": c.date(), "news_from_date": c.date(), "news_to_date": c.date(),
		"custom_design_from": c.date(), "custom_design_to": c.date(),
		"meta_title": removable(), "meta_description": removable(), "meta_keyword": removable(),
		"url_key": c.one(nil, false, "", "-", "中", "Some Key", "key"), "custom_layout_update": c.one(nil, false, "", "<block/>", "plain"),
		"custom_design": c.one(nil, "", "default/default"), "page_layout": c.one(nil, "", "one_column"), "options_container": c.one(nil, []any{}, "container2"),
		"country_of_manufacture": c.one(nil, "", "US"), "msrp_enabled": c.one(nil, 0, 1, "2"), "msrp_display_actual_price_type": c.one(nil, 1, "4"),
		"gift_message_available": c.one(nil, 0, 1), "use_config_gift_message_available": c.one(0, 1),
		"group_price": c.prices(fields{"price": c.one(0, "3.5")}), "tier_price": c.prices(fields{"price": "3.5", "price_qty": c.one(2, "5.5")}),
		"stock_data": c.stockData(), "deposit": c.one(nil, false, "2.5"), "lead_days": c.one(nil, false, 3), "slogan": removable(), "season_from": c.date(),
	}
}

func (c *randomClient) newProduct() fields {
	all := c.product()
	chosen := c.some(all).with(fields{"type_id": "simple", "attribute_set_id": 4})
	for _, name := range []string{"sku", "name", "description", "short_description", "price", "weight", "status", "visibility", "tax_class_id"} {
		chosen[name] = all[name]
	}
	return chosen
}

// prices returns a price list with the given members.
func (c *randomClient) prices(members fields) any {
	list := []any{}
	for group := range 4 {
		if c.IntN(2) == 0 {
			list = append(list, fields{"website_id": 0, "cust_group": group}.with(members))
		}
	}
	return list
}

func (c *randomClient) stock() fields {
	all := fields{
		"qty": c.one(0, 5, "12.5", -3), "min_qty": c.one(0, 3, "2.5"), "is_qty_decimal": c.one(0, 1), "backorders": c.one(0, 1, 2), "min_sale_qty": c.one(1, 2),
		"max_sale_qty": c.one(0, 100), "is_in_stock": c.one(0, 1), "notify_stock_qty": c.one(1, "4.5"), "manage_stock": c.one(0, 1),
		"qty_increments": c.one(0, 5), "enable_qty_increments": c.one(0, 1), "is_decimal_divided": c.one(0, 1),
	}
	for _, name := range []string{"min_qty", "backorders", "min_sale_qty", "max_sale_qty", "notify_stock_qty", "manage_stock", "qty_increments", "enable_qty_inc"} {
		all["use_config_"+name] = c.one(0, 1)
	}
	return all
}

func (c *randomClient) stockData() any {
	return c.some(c.stock().with(fields{"use_config_enable_qty_increments": c.one(0, 1)}))
}

func (c *randomClient) imageValues() fields {
	return fields{
		"label": c.one(nil, "", c.text()), "position": c.one(nil, 3, "7"), "exclude": c.one(nil, 0, 1),
		"types": c.one([]any{}, []any{"image"}, []any{"thumbnail", "small_image"}, []any{"image", "small_image", "thumbnail"}),
	}
}

// imagePath returns the path of one of the images.
func (c *randomClient) imagePath() string {
	key := c.key(adapter.ProductImages, "file")
	return fmt.Sprintf("/products/%s/images/%d", c.number(adapter.ProductImages, key, "product_id"), key) + c.atStore()
}

// number returns the digits of a value.
func (c *randomClient) number(r adapter.Resource, key adapter.Key, attribute string) string {
	text := strings.Trim(c.held[place{r, key, 0, attribute}], `"`)
	if text == "" {
		return "99"
	}
	return text
}

func (c *randomClient) website() any {
	website := fields{"website_id": c.one(1, 2)}
	if c.IntN(2) == 0 {
		website["copy_to_stores"] = []any{fields{"store_from": c.one(1, 2, 3), "store_to": c.one(1, 2, 3)}}
	}
	return website
}

// next returns a random write of a shop that holds the given content.
func (c *randomClient) next(held map[place]string) randomWrite {
	c.held = held
	c.created++
	customer, address := c.key(adapter.Customers, "email"), c.key(adapter.CustomerAddresses, "city")
	product, item := c.key(adapter.Products, "sku"), c.key(adapter.StockItems, "qty")
	writes := []struct {
		call, method, path string
		body               func() any
		weight             int
	}{
		{"createCustomer", "POST", "/customers", func() any { return c.customer() }, 2},
		{"updateCustomer", "PUT", fmt.Sprintf("/customers/%d", customer), func() any { return c.some(c.customer()) }, 4},
		{"deleteCustomer", "DELETE", fmt.Sprintf("/customers/%d", customer), nil, 1},
		{"createCustomerAddress", "POST", fmt.Sprintf("/customers/%d/addresses", customer), func() any { return c.address() }, 3},
		{"updateCustomerAddress", "PUT", fmt.Sprintf("/customers/addresses/%d", address), func() any { return c.changedAddress() }, 4},
		{"deleteCustomerAddress", "DELETE", fmt.Sprintf("/customers/addresses/%d", address), nil, 1},
		{"createProduct", "POST", "/products", func() any { return c.newProduct() }, 3},
		{"updateProduct", "PUT", fmt.Sprintf("/products/%d", product), func() any { return c.some(c.product()) }, 10},
		{"updateProductAtStore", "PUT", fmt.Sprintf("/products/%d/store/%d", product, 1+c.IntN(3)), func() any { return c.some(c.product()) }, 10},
		{"deleteProduct", "DELETE", fmt.Sprintf("/products/%d", product), nil, 1},
		{"updateStockItem", "PUT", fmt.Sprintf("/stockitems/%d", item), func() any { return c.some(c.stock()).with(fields{"qty": c.stock()["qty"]}) }, 4},
		{"updateStockItems", "PUT", "/stockitems", func() any { return []any{c.some(c.stock()).with(fields{"item_id": item, "qty": 4})} }, 1},
		{"createProductImage", "POST", fmt.Sprintf("/products/%d/images", product) + c.atStore(), func() any {
			return c.some(c.imageValues()).with(fields{"file_name": c.one(nil, "a.b", "My Photo", "x"), "file_mime_type": c.one("image/png", "image/jpeg", "image/gif"), "file_content": c.image})
		}, 4},
		{"updateProductImage", "PUT", c.imagePath(), func() any { return c.some(c.imageValues()) }, 8},
		{"deleteProductImage", "DELETE", c.imagePath(), nil, 4},
		{"createProductWebsites", "POST", fmt.Sprintf("/products/%d/websites", product), func() any { return c.one(c.website(), []any{c.website(), c.website()}) }, 5},
		{"deleteProductWebsite", "DELETE", fmt.Sprintf("/products/%d/websites/%d", product, 1+c.IntN(2)), nil, 2},
		{"createProductCategory", "POST", fmt.Sprintf("/products/%d/categories", product), func() any { return fields{"category_id": 2 + c.IntN(5)} }, 2},
		{"deleteProductCategory", "DELETE", fmt.Sprintf("/products/%d/categories/%d", product, 2+c.IntN(5)), nil, 2},
		{"createOrderComment", "POST", fmt.Sprintf("/orders/%d/comments", 1+c.IntN(4)), func() any {
			return c.some(fields{"comment": c.one(nil, "", "0", c.text()), "status": c.one(nil, "", true, "shipped"), "is_visible_on_front": c.one(0, 1), "is_customer_notified": c.one(nil, 0, 1)})
		}, 2},
	}
	total := 0
	for _, w := range writes {
		total += w.weight
	}
	at := c.IntN(total)
	for _, w := range writes {
		if at -= w.weight; at < 0 {
			r := randomWrite{call: w.call, role: contract.Admin, method: w.method, path: w.path}
			if w.body != nil {
				encoded, err := json.Marshal(w.body())
				if err != nil {
					panic(err)
				}
				r.body = string(encoded)
			}
			if customer == 1 && strings.Contains(w.call, "Customer") && c.IntN(2) == 0 {
				r.role = contract.Customer
			}
			return r
		}
	}
	panic("no write " + strconv.Itoa(at))
}
