package mirror_test

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// TestLimitsOfTheInterface checks how the original handles requests for states that its interface
// has no form for. The mirror does not send these requests, except where a case notes it.
func TestLimitsOfTheInterface(t *testing.T) {
	_, original := openShops(t, contract.Magento())
	for _, c := range []struct {
		name, path, body string
		refused          string // the beginning of the message, "" if the request is accepted
		place            place  // the place of the stored value
		stored           string
	}{
		{name: "gender removed", path: "/customers/1", body: `{"gender":null}`, refused: `Invalid value \"\" for gender`},
		{name: "first name removed", path: "/customers/1", body: `{"firstname":null}`, refused: `\"First Name\" is a required value.`},
		{name: "day of birth set to nothing", path: "/customers/1", body: `{"dob":""}`, place: place{adapter.Customers, 1, 0, "dob"}},
		{name: "postcode without its country", path: "/customers/addresses/2", body: `{"postcode":null}`, refused: `\"Zip\/Postal Code\" is a required value.`},
		{name: "default cleared", path: "/customers/addresses/1", body: `{"is_default_billing":0}`, place: place{adapter.CustomerAddresses, 1, 0, "is_default_billing"}, stored: `"1"`},
		{name: "option removed", path: "/products/1/store/2", body: `{"page_layout":false}`, refused: `Invalid value \"\" for attribute \"page_layout\".`},
		{name: "required value of a store view removed", path: "/products/1/store/2", body: `{"name":false}`, refused: `Empty value for \"name\" in request.`},
		{name: "url_key removed", path: "/products/1/store/2", body: `{"url_key":false}`, place: place{adapter.Products, 1, 2, "url_key"}, stored: `"steel-kettle"`},
		{name: "url_key of a sold product is null", path: "/products/1", body: `{"url_key":"-"}`, place: place{adapter.Products, 1, 0, "url_key"}, stored: `"steel-kettle"`},
		{name: "price of a single website", path: "/products/1", body: `{"group_price":[{"website_id":1,"cust_group":1,"price":3}]}`, refused: `Invalid \"website_id\" value`},
		{name: "price for all groups, sent all the same", path: "/products/1", body: `{"tier_price":[{"website_id":0,"cust_group":32000,"price":3,"price_qty":2}]}`, refused: `Invalid \"cust_group\" value`},
		{name: "quantity to notify at removed", path: "/stockitems/1", body: `{"qty":1,"notify_stock_qty":null}`, refused: `notify_stock_qty: Please enter a valid number`},
		{name: "stock item without its quantity", path: "/stockitems/1", body: `{"backorders":1}`, refused: `qty: Value is required`},
		{name: "fraction of a least quantity, sent all the same", path: "/stockitems/1", body: `{"qty":1,"min_sale_qty":"1.5000"}`, refused: `min_sale_qty: Please enter a valid number`},
		{name: "the same fraction in a product", path: "/products/1", body: `{"stock_data":{"min_sale_qty":"1.5000"}}`, place: place{adapter.StockItems, 1, 0, "min_sale_qty"}, stored: `"1.5000"`},
		{name: "divided but not in fractions", path: "/products/1", body: `{"stock_data":{"manage_stock":1,"is_decimal_divided":1}}`, place: place{adapter.StockItems, 1, 0, "is_decimal_divided"}, stored: `"0"`},
		{name: "password", path: "/customers/1", body: `{"password":"secret77"}`, refused: `The request data is invalid.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := original.send(contract.Admin, "PUT", c.path, c.body)
			if c.refused != "" {
				if r.Status != 400 || !strings.Contains(string(r.Body), `"message":"`+c.refused) {
					t.Errorf("%d %s, want %s", r.Status, r.Body, c.refused)
				}
				return
			}
			if got := original.content(t)[c.place]; r.Status != 200 || got != c.stored {
				t.Errorf("%d %s: %s is %s, want %s", r.Status, r.Body, c.place.attribute, got, c.stored)
			}
		})
	}
}

// TestSideEffects checks that a change of a product's name changes nothing else of the product at
// the original, where the same request without more would.
func TestSideEffects(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []string // earlier requests of clients, as method, path and body
		path   string   // of the product
		key    adapter.Key
		reset  string // the attribute that the name alone would change
	}{
		{"a special price without a start", []string{`PUT /products/1 {"special_price":5,"special_from_date":0}`}, "/products/1", 1, "special_from_date"},
		{"a special price whose start was removed", []string{`PUT /products/1 {"special_price":5,"special_from_date":false}`}, "/products/1", 1, "special_from_date"},
		{"no url_key", []string{`PUT /products/12 {"url_key":"中"}`}, "/products/12", 12, "url_key"},
		{"own setting for managing stock", []string{`PUT /stockitems/1 {"qty":1,"use_config_manage_stock":0,"manage_stock":0}`}, "/products/1", 1, "use_config_manage_stock"},
		{"own least quantity", []string{`PUT /stockitems/1 {"qty":1,"use_config_min_sale_qty":0,"min_sale_qty":2}`}, "/products/1", 1, "use_config_min_sale_qty"},
		{"own greatest quantity, in fractions", []string{`PUT /stockitems/1 {"qty":1,"use_config_max_sale_qty":0,"max_sale_qty":9,"is_qty_decimal":1,"is_decimal_divided":1}`}, "/products/1", 1, "use_config_max_sale_qty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			portico, original := openShops(t, contract.Magento())
			for _, w := range c.writes {
				part := strings.SplitN(w, " ", 3)
				if r := portico.send(contract.Admin, part[0], part[1], part[2]); r.Status != 200 {
					t.Fatalf("%s: %d %s", w, r.Status, r.Body)
				}
			}
			original.become(t, portico)
			before := original.content(t)
			request, ok, err := newRequests(t).Update(portico.aggregate(t, adapter.Products, c.key), adapter.Products, c.key, 0, []string{"name"})
			if err != nil || !ok {
				t.Fatal(err)
			}
			if r := original.execute(request); r.Status != 200 {
				t.Fatalf("%s: %d %s", request.Body, r.Status, r.Body)
			}
			m := mirrored{portico: portico, original: original, before: before, after: before}
			m.compare(t)

			original.become(t, portico)
			if r := original.send(contract.Admin, "PUT", c.path, `{"name":"`+strings.Trim(before[place{adapter.Products, c.key, 0, "name"}], `"`)+`"}`); r.Status != 200 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			after, changed := original.content(t), false
			for p := range after {
				changed = changed || p.attribute == c.reset && after[p] != before[p]
			}
			if !changed {
				t.Errorf("the name alone does not change %s", c.reset)
			}
		})
	}
}
