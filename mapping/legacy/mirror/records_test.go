package mirror_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/mirror"
)

// newStockItem returns the stock item of a new product, with other values.
func newStockItem(t testing.TB, more values) adapter.Value {
	t.Helper()
	item := values{
		"qty": "0.0000", "min_qty": "0.0000", "min_sale_qty": "1.0000", "max_sale_qty": "0.0000", "qty_increments": "0.0000", "notify_stock_qty": nil,
		"is_qty_decimal": 0, "backorders": 0, "is_in_stock": 0, "manage_stock": 0, "enable_qty_increments": 0, "is_decimal_divided": 0, "stock_status_changed_auto": 1, "low_stock_date": nil,
	}
	for _, name := range []string{"min_qty", "backorders", "min_sale_qty", "max_sale_qty", "notify_stock_qty", "manage_stock", "qty_increments", "enable_qty_inc"} {
		item["use_config_"+name] = 1
	}
	return adapter.RecordsValue([]adapter.Record{record(t, adapter.StockItems, item.with(more))})
}

func TestCreate(t *testing.T) {
	product := values{"type_id": "simple", "attribute_set_id": 4, "sku": "s", "name": "N", "url_key": "n", "special_from_date": nil, "options_container": "container1"}
	const sent = `"type_id":"simple","attribute_set_id":4,"name":"N","special_from_date":0,"sku":"s","options_container":"container1","url_key":"n"`
	const defaults = `"enable_qty_increments":0,"is_in_stock":0`
	image := values{"product_id": 3, "file": "m/y/my.photo.jpg", "media_type": "image/jpeg", "content": "\x89PNG"}
	for _, c := range []struct {
		name     string
		resource adapter.Resource
		of       values
		storeID  int64
		want     string
	}{
		{"customer", adapter.Customers, values{"website_id": 1, "group_id": 2, "email": "a@b.de", "firstname": "A", "lastname": "B", "prefix": nil, "dob": "1990-02-03 00:00:00", "disable_auto_group_change": 0,
			"store_id": 0, "created_in": "Admin", "confirmation": "x", "password_hash": "x", "password": "secret77", "points": 3}, 0,
			`POST /customers {"website_id":1,"group_id":2,"disable_auto_group_change":0,"prefix":"","firstname":"A","lastname":"B","email":"a@b.de","dob":"02\/03\/1990","points":3,"password":"secret77"}`},
		{"customer without a password", adapter.Customers, values{"email": "a@b.de"}, 0, `POST /customers {"email":"a@b.de"}`},
		{"address", adapter.CustomerAddresses, values{"customer_id": 7, "firstname": "A", "street": []string{"a", "b"}, "country_id": "US", "region": "Texas", "region_id": 57, "fax": nil,
			"is_default_billing": 1, "is_default_shipping": 0}, 0,
			`POST /customers/7/addresses {"firstname":"A","street":["a","b"],"country_id":"US","region":"Texas","fax":"","is_default_billing":1}`},
		{"address without postcode and region", adapter.CustomerAddresses, values{"customer_id": 7, "country_id": "IE", "postcode": nil}, 0, `POST /customers/7/addresses {"country_id":"IE","postcode":""}`},
		{"product", adapter.Products, product.with(values{"price": "3.0000", "deposit": "1.5000", "meta_title": nil,
			"group_price": nested(t, adapter.Products, "group_price", values{"website_id": 0, "cust_group": 0, "price": "2.0000"})}), 2,
			`POST /products {"type_id":"simple","attribute_set_id":4,"name":"N","price":"3.0000","special_from_date":0,"sku":"s","options_container":"container1","meta_title":null,"url_key":"n","deposit":"1.5000",` +
				`"group_price":[{"website_id":0,"cust_group":0,"price":"2.0000"}]}`},
		{"product without defaults", adapter.Products, values{"type_id": "simple", "url_key": nil}, 0,
			`POST /products {"type_id":"simple","special_from_date":false,"options_container":[],"url_key":"-"}`},
		{"stock as the shop has it", adapter.Products, product.with(values{"stock_item": newStockItem(t, values{"qty": "5.0000", "is_in_stock": 1})}), 0,
			`POST /products {` + sent + `,"stock_data":{"qty":"5.0000","is_qty_decimal":0,"is_decimal_divided":0,"enable_qty_increments":0,"is_in_stock":1,` +
				`"use_config_manage_stock":1,"use_config_min_sale_qty":1,"use_config_max_sale_qty":1,"use_config_min_qty":1,"use_config_notify_stock_qty":1,"use_config_qty_increments":1,"use_config_backorders":1,"use_config_enable_qty_inc":1}}`},
		{"stock of its own", adapter.Products, product.with(values{"stock_item": newStockItem(t, values{"manage_stock": 1, "use_config_manage_stock": 0, "min_qty": "2.0000", "use_config_min_qty": 0, "notify_stock_qty": "3.0000", "use_config_notify_stock_qty": 0})}), 0,
			`POST /products {` + sent + `,"stock_data":{"manage_stock":1,"qty":"0.0000","min_qty":"2.0000","notify_stock_qty":"3.0000","is_qty_decimal":0,"is_decimal_divided":0,` + defaults +
				`,"use_config_manage_stock":0,"use_config_min_sale_qty":1,"use_config_max_sale_qty":1,"use_config_min_qty":0,"use_config_notify_stock_qty":0,"use_config_qty_increments":1,"use_config_backorders":1,"use_config_enable_qty_inc":1}}`},
		{"managed stock with the flag of the shop", adapter.Products, product.with(values{"stock_item": newStockItem(t, values{"manage_stock": 1})}), 0,
			`POST /products {` + sent + `,"stock_data":{"manage_stock":1,"qty":"0.0000","is_qty_decimal":0,"is_decimal_divided":0,` + defaults +
				`,"use_config_min_sale_qty":1,"use_config_max_sale_qty":1,"use_config_min_qty":1,"use_config_notify_stock_qty":1,"use_config_qty_increments":1,"use_config_backorders":1,"use_config_enable_qty_inc":1}}`},
		{"image", adapter.ProductImages, image.with(values{"label": "L", "position": 4, "exclude": 1, "types": []string{"image"}}), 0,
			`POST /products/3/images {"label":"L","position":4,"exclude":1,"types":["image"],"file_name":"my.photo","file_mime_type":"image\/jpeg","file_content":"iVBORw=="}`},
		{"image at a store view", adapter.ProductImages, image.with(values{"label": nil, "media_type": "image/png"}), 2,
			`POST /products/3/images/store/2 {"label":"","file_name":"my.photo","file_mime_type":"image\/jpg","file_content":"iVBORw=="}`},
		{"image of an unknown type", adapter.ProductImages, image.with(values{"file": "a/b", "media_type": "image/webp"}), 0,
			`POST /products/3/images {"file_name":"b","file_mime_type":"image\/webp","file_content":"iVBORw=="}`},
		{"website", adapter.ProductWebsites, values{"product_id": 3, "website_id": 2}, 0, `POST /products/3/websites {"website_id":2}`},
		{"website with copies", adapter.ProductWebsites, values{"product_id": 3, "website_id": 2, "copy_website_values": 1,
			"copies": nested(t, adapter.ProductWebsites, "copies", values{"store_from": 1, "store_to": 3}, values{"store_from": 2, "store_to": 3})}, 0,
			`POST /products/3/websites {"website_id":2,"copy_to_stores":[{"store_from":1,"store_to":3},{"store_from":2,"store_to":3}]}`},
		{"category", adapter.ProductCategories, values{"product_id": 3, "category_id": 5, "position": 9}, 0, `POST /products/3/categories {"category_id":5}`},
		{"comment", adapter.OrderComments, values{"parent_id": 4, "comment": "Sent", "status": "complete", "is_visible_on_front": 1, "is_customer_notified": 2}, 0,
			`POST /orders/4/comments {"is_visible_on_front":1,"is_customer_notified":2,"comment":"Sent","status":"complete"}`},
		{"comment that leaves the status", adapter.OrderComments, values{"parent_id": 4, "comment": nil, "is_visible_on_front": 0, "is_customer_notified": 0}, 0,
			`POST /orders/4/comments {"is_visible_on_front":0,"is_customer_notified":0}`},
		{"comment that removes the status", adapter.OrderComments, values{"parent_id": 4, "status": nil, "is_visible_on_front": 0, "is_customer_notified": 0}, 0,
			`POST /orders/4/comments {"is_visible_on_front":0,"is_customer_notified":0,"status":""}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			request, err := newRequests(t).Create(record(t, c.resource, c.of), c.storeID)
			if err != nil {
				t.Fatal(err)
			}
			if got := request.Method + " " + request.Path + " " + string(request.Body); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	for _, c := range []struct {
		resource adapter.Resource
		of       values
		storeID  int64
		want     string
	}{
		{adapter.Customers, values{"entity_id": 7}, 0, "/customers/7"},
		{adapter.CustomerAddresses, values{"entity_id": 7, "customer_id": 1}, 0, "/customers/addresses/7"},
		{adapter.Products, values{"entity_id": 7}, 0, "/products/7"},
		{adapter.Products, values{"entity_id": 7}, 2, "/products/7"}, // it is deleted as a whole
		{adapter.ProductImages, values{"id": 7, "product_id": 3}, 0, "/products/3/images/7"},
		{adapter.ProductImages, values{"id": 7, "product_id": 3}, 2, "/products/3/images/7/store/2"},
		{adapter.ProductWebsites, values{"product_id": 3, "website_id": 2}, 0, "/products/3/websites/2"},
		{adapter.ProductCategories, values{"product_id": 3, "category_id": 5}, 0, "/products/3/categories/5"},
	} {
		request, err := newRequests(t).Delete(record(t, c.resource, c.of), c.storeID)
		if err != nil || request.Method != "DELETE" || request.Path != c.want || request.Body != nil {
			t.Errorf("%s at %d: %v, %v, want %s", c.resource, c.storeID, request, err, c.want)
		}
	}
}

// TestUntranslatable checks the errors for writes that the interface does not have, and for records
// that lack an attribute of the path or the body.
func TestUntranslatable(t *testing.T) {
	requests := newRequests(t)
	for _, c := range []struct {
		name  string
		err   func() error
		kind  adapter.ErrorKind
		field string
	}{
		{"a stock item is created", func() error {
			_, err := requests.Create(record(t, adapter.StockItems, values{"item_id": 7}), 0)
			return err
		}, adapter.Unsupported, ""},
		{"an order is deleted", func() error {
			_, err := requests.Delete(record(t, adapter.Orders, values{"entity_id": 7}), 0)
			return err
		}, adapter.Unsupported, ""},
		{"an image of no product is deleted", func() error {
			_, err := requests.Delete(record(t, adapter.ProductImages, values{"id": 7}), 0)
			return err
		}, adapter.Invalid, "product_id"},
		{"an image without bytes is created", func() error {
			_, err := requests.Create(record(t, adapter.ProductImages, values{"product_id": 7}), 0)
			return err
		}, adapter.Invalid, "content"},
		{"a customer who is not there changes", func() error {
			of := adapter.Aggregate{Record: record(t, adapter.Customers, values{"entity_id": 7})}
			_, _, err := requests.Update(of, adapter.Customers, 8, 0, []string{"firstname"})
			return err
		}, adapter.NotFound, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.err()
			var fault *adapter.Error
			if !errors.As(err, &fault) || fault.Kind != c.kind || fault.Field != c.field {
				t.Errorf("%v, want kind %s, field %q", err, c.kind, c.field)
			}
		})
	}
	// An assignment has nothing that could change, so there is nothing to send.
	of := adapter.Aggregate{Record: record(t, adapter.Products, values{"entity_id": 7})}
	if request, ok, err := requests.Update(of, adapter.ProductWebsites, 1, 0, []string{"website_id"}); ok || err != nil {
		t.Errorf("an assignment changes: %v, %v", request, err)
	}
}

// TestNewRequests checks that fields and schemas must belong together, and that fields that no
// role may write are not sent.
func TestNewRequests(t *testing.T) {
	schemas, fields := tables(t)
	if _, err := mirror.NewRequests(adapter.NewSchemas(), fields); err == nil || !strings.Contains(err.Error(), `mirror: field slogan: products have no attribute "slogan": add it to the schemas`) ||
		!strings.Contains(err.Error(), "points") || !strings.Contains(err.Error(), "access_code") {
		t.Errorf("fields without attributes: %v", err)
	}
	narrowed, err := contract.NewFields(contract.FieldOptions{Narrowed: []contract.NarrowedFields{
		{Resource: "customers", Role: contract.Admin, Write: []string{"firstname"}},
		{Resource: "products", Role: contract.Admin, Write: []string{"name"}},
		{Resource: "product_images", Role: contract.Admin, Write: []string{"label"}},
		{Resource: "stock_items", Role: contract.Admin, Write: []string{"qty"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	requests, err := mirror.NewRequests(schemas, narrowed)
	if err != nil {
		t.Fatal(err)
	}
	customer := adapter.Aggregate{Record: record(t, adapter.Customers, values{"entity_id": 1, "firstname": "A", "lastname": "B", "group_id": 1})}
	request, ok, err := requests.Update(customer, adapter.Customers, 1, 0, []string{"firstname", "lastname", "group_id"})
	// Customers may still write their last name.
	if want := `{"firstname":"A","lastname":"B"}`; err != nil || !ok || string(request.Body) != want {
		t.Errorf("%s, %v, want %s", request.Body, err, want)
	}
	product := adapter.Aggregate{Record: record(t, adapter.Products, values{"entity_id": 1, "price": "1.0000", "url_key": "k"})}
	if request, ok, err := requests.Update(product, adapter.Products, 1, 0, []string{"price", "sku"}); ok || err != nil {
		t.Errorf("%v, %v", request, err)
	}
}
