package demo_test

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
)

func mustLoad(t *testing.T) *adapter.Dataset {
	t.Helper()
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestLoadCounts(t *testing.T) {
	data := mustLoad(t)
	for resource, want := range map[adapter.Resource]int{
		adapter.Websites: 2, adapter.Stores: 3, adapter.CustomerGroups: 4, adapter.Categories: 5,
		adapter.TaxRates: 1, adapter.Countries: 246, adapter.Regions: 484, adapter.Admins: 1,
		adapter.Customers: 4, adapter.CustomerAddresses: 5, adapter.Products: 12, adapter.StockItems: 12,
		adapter.ProductCategories: 11, adapter.ProductWebsites: 12, adapter.ProductImages: 0,
		adapter.Orders: 4, adapter.OrderItems: 5, adapter.OrderAddresses: 7, adapter.OrderComments: 2,
	} {
		if got := len(data.Records[resource]); got != want {
			t.Errorf("%d %s, want %d", got, resource, want)
		}
	}
	if len(data.Passwords) != 4 || len(data.Tokens) != 3 || data.Consumer.Key == "" || len(data.Verifier) != 32 || !data.Public {
		t.Error("credentials are incomplete")
	}
}

func TestLoadDerivedValues(t *testing.T) {
	data := mustLoad(t)
	for _, c := range []struct {
		name     string
		resource adapter.Resource
		at       int
		field    string
		want     adapter.Value
	}{
		{"stock item id", adapter.StockItems, 2, "item_id", adapter.IntegerValue(3)},
		{"flag stored as text", adapter.Products, 10, "msrp_enabled", adapter.TextValue("1")},
		{"special_from_date given", adapter.Products, 1, "special_from_date", adapter.TextValue("2012-01-01 00:00:00")},
		{"special_from_date not given", adapter.Products, 0, "special_from_date", adapter.NullValue()},
		{"value that was never stored", adapter.Products, 0, "special_price", adapter.Value{}},
		{"default container", adapter.Products, 0, "options_container", adapter.TextValue("container1")},
		{"null dropped from an account", adapter.Customers, 0, "suffix", adapter.Value{}},
		{"region of the directory", adapter.CustomerAddresses, 0, "region_id", adapter.IntegerValue(12)},
		{"region of a country without regions", adapter.CustomerAddresses, 1, "region_id", adapter.Value{}},
		{"date of an order line", adapter.OrderItems, 0, "updated_at", adapter.TextValue("2012-03-01 11:00:00")},
		{"order of an order line", adapter.OrderItems, 4, "order_id", adapter.IntegerValue(4)},
		{"guest order", adapter.Orders, 2, "customer_id", adapter.NullValue()},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := data.Records[c.resource][c.at].Get(c.field)
			if got.Kind() != c.want.Kind() || got.Text() != c.want.Text() {
				t.Errorf("%s = %v %q, want %v %q", c.field, got.Kind(), got.Text(), c.want.Kind(), c.want.Text())
			}
		})
	}
	if prices := data.Records[adapter.Products][1].Get("tier_price").Records(); len(prices) != 2 || prices[0].Get("cust_group").Int() != 32000 {
		t.Errorf("tier prices: %v", prices)
	}
	if lines := data.Records[adapter.CustomerAddresses][2].Get("street").Texts(); strings.Join(lines, "|") != "7 Long Road|Building B|Door 9" {
		t.Errorf("street: %q", lines)
	}
}

// extendedSchemas returns schemas with attributes that a store's configuration adds.
func extendedSchemas(tb testing.TB) *adapter.Schemas {
	tb.Helper()
	schemas, err := adapter.NewSchemas().With(
		adapter.AddedAttribute{Resource: adapter.Customers, Name: "loyalty_points", Kind: adapter.KindInteger},
		adapter.AddedAttribute{Resource: adapter.CustomerAddresses, Name: "access_note", Kind: adapter.KindText},
		adapter.AddedAttribute{Resource: adapter.Products, Name: "deposit", Kind: adapter.KindDecimal},
		adapter.AddedAttribute{Resource: adapter.Products, Name: "in_season_from", Kind: adapter.KindTime},
	)
	if err != nil {
		tb.Fatal(err)
	}
	return schemas
}

func TestDecodeAddedAttributes(t *testing.T) {
	text := `{"websites":[{"website_id":1,"code":"base","name":"Main"}],"stores":[{"store_id":1,"website_id":1,"code":"en","name":"English"}],
		"customers":[{"entity_id":1,"website_id":1,"group_id":1,"email":"a@example.com","loyalty_points":7},
			{"entity_id":2,"website_id":1,"group_id":1,"email":"b@example.com","loyalty_points":null}],
		"customer_addresses":[{"entity_id":1,"customer_id":1,"access_note":"2nd yard"}],
		"products":[{"entity_id":1,"sku":"a","type_id":"simple","attribute_set_id":4,"deposit":"0.2500","in_season_from":null,"stock_data":{}}]}`
	data, err := demo.Decode(strings.NewReader(text), extendedSchemas(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		resource adapter.Resource
		at       int
		field    string
		want     adapter.Value
	}{
		{"integer", adapter.Customers, 0, "loyalty_points", adapter.IntegerValue(7)},
		{"null dropped from an account", adapter.Customers, 1, "loyalty_points", adapter.Value{}},
		{"text", adapter.CustomerAddresses, 0, "access_note", adapter.TextValue("2nd yard")},
		{"decimal", adapter.Products, 0, "deposit", adapter.TextValue("0.2500")},
		{"null of a product", adapter.Products, 0, "in_season_from", adapter.NullValue()},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := data.Records[c.resource][c.at].Get(c.field); got.Kind() != c.want.Kind() || got.Text() != c.want.Text() {
				t.Errorf("%s = %v %q, want %v %q", c.field, got.Kind(), got.Text(), c.want.Kind(), c.want.Text())
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"incomplete JSON", `{`, "the file ends before its JSON is complete"},
		{"empty object", `{}`, `line 1: the list "websites" is missing or empty`},
		{"no store", `{"websites":[{"website_id":1,"code":"base","name":"Main"}]}`, `the list "stores" is missing or empty`},
		{"empty file", " \n", "the file is empty"},
		{"not an object", "[]", "must be an object with lists of records"},
		{"invalid JSON on line 3", "{\n\"stores\":\n x}", "line 3: invalid JSON"},
		{"unknown list", `{"shoes":[]}`, "shoes: unknown list"},
		{"repeated member", `{"stores":[],"stores":[]}`, `duplicate`},
		{"trailing text", `{} x`, `invalid character`},
		{"unknown attribute", `{"websites":[{"website_id":1,"colour":"red"}]}`, "websites[0].colour: unknown"},
		{"not a number", `{"websites":[{"website_id":"1"}]}`, "websites[0].website_id: must be a whole number"},
		{"null record", `{"websites":[null]}`, "websites[0]: must be a record"},
		{"null category of a product", `{"products":[{"entity_id":1,"categories":[null]}]}`, "products[0].categories[0]: must be a record"},
		{"added attribute of another kind", `{"customers":[{"loyalty_points":"7"}]}`, "customers[0].loyalty_points: must be a whole number"},
		{"attribute of another resource", `{"customers":[{"deposit":"7.0000"}]}`, "customers[0].deposit: unknown"},
		{"key of 0", `{"websites":[{"website_id":0}]}`, "websites[0].website_id: must be a number above 0"},
		{"repeated key", `{"websites":[{"website_id":1},{"website_id":1}]}`, "websites[1].website_id: id 1 is used twice"},
		{"repeated e-mail address", `{"customers":[{"website_id":1,"email":"a@b.c"},{"website_id":1,"email":"A@b.c"}]}`, "customers[1]: another record has the same website_id and email"},
		{"repeated category", `{"products":[{"entity_id":1,"stock_data":{},"categories":[{"category_id":3},{"category_id":3}]}]}`, "products[0].categories[1]: another record has the same"},
		{"repeated website", `{"products":[{"entity_id":1,"stock_data":{},"websites":[1,1]}]}`, "products[0].websites[1]: another record has the same"},
		{"decimal as number", `{"tax_rates":[{"rate":8.25}]}`, "tax_rates[0].rate: must be a text with four decimal places"},
		{"time without seconds", `{"customers":[{"dob":"1985-12-10"}]}`, "customers[0].dob: must be a time"},
		{"text as list", `{"admins":[{"username":[]}]}`, "admins[0].username: must be a text"},
		{"zero byte", `{"admins":[{"username":"a\u0000"}]}`, "admins[0].username: must be a text"},
		{"street as text", `{"customer_addresses":[{"street":"x"}]}`, "customer_addresses[0].street: must be a list"},
		{"password that is not a text", `{"customers":[{"entity_id":1,"password":7}]}`, "customers[0].password: must be a text"},
		{"no stock data", `{"products":[{"entity_id":1}]}`, "products[0].stock_data: missing"},
		{"nested record", `{"products":[{"entity_id":1,"stock_data":{},"tier_price":[{"price":"1"}]}]}`, "products[0].tier_price[0].price: must be a text"},
		{"unknown attribute of an order part", `{"orders":[{"entity_id":1,"comments":[{"x":1}]}]}`, "orders[0].comments[0].x: unknown"},
		{"token without owner", `{"credentials":{"a":{"token":"t","secret":"s"}}}`, "credentials.a: must have a token"},
		{"token without consumer", `{"credentials":{"a":{"token":"t","secret":"s","admin_id":1}}}`, "credentials.consumer: missing"},
		{"secret missing", `{"credentials":{"consumer":{"key":"k"}}}`, "credentials.consumer.secret: missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := demo.Decode(strings.NewReader(c.text), extendedSchemas(t))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestAllErrors checks that all errors of a file are reported, sorted by line.
func TestAllErrors(t *testing.T) {
	const text = `{
 "websites": [
  {"website_id": 1, "code": "base", "name": "Main"},
  {"website_id": "2",
   "code": "second"}
 ],
 "stores": [{"store_id": 1, "website_id": 7, "code": "en", "name": "English"}, null],
 "products": [
  {"entity_id": 1, "sku": "a", "type_id": "simple", "attribute_set_id": 4,
   "categories": [{"category_id": 3}],
   "websites": [
    1,
    9
   ],
   "tier_price": [
    {"price": "1"}
   ],
   "stock_data": {"qty": 1.5}}
 ],
 "a/b~.[1]": [],
 "credentials": {
  "consumer": {"key": "k", "secret": "s"},
  "admin": {"token": "t", "secret": "s",
            "admin_id": 12},
  "user": {"token": "t", "secret": "s", "role": "x", "customer_id": 1}
 }
}`
	_, err := demo.Decode(strings.NewReader(text), extendedSchemas(t))
	const want = `line 4: websites[1].website_id: must be a whole number
line 4: websites[1].name: missing
line 7: stores[1]: must be a record
line 7: stores[0].website_id: websites 7 does not exist
line 10: products[0].categories[0].category_id: categories 3 does not exist
line 13: products[0].websites[1]: websites 9 does not exist
line 16: products[0].tier_price[0].price: must be a text with four decimal places, such as "12.5000"
line 18: products[0].stock_data.qty: must be a text with four decimal places, such as "12.5000"
line 20: a/b~.[1]: unknown list
line 24: credentials.admin.admin_id: admins 12 does not exist
line 25: credentials.user.role: unknown`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}

	many := `{"websites":[` + strings.Repeat("\n7,", 150) + `7]}`
	if _, err = demo.Decode(strings.NewReader(many), extendedSchemas(t)); err == nil || strings.Count(err.Error(), "\n") != 100 || !strings.HasSuffix(err.Error(), "and 51 more errors") {
		t.Errorf("got %v", err)
	}
}

func TestPublicCredentials(t *testing.T) {
	own := &adapter.Dataset{Consumer: adapter.Consumer{Key: "own", Secret: "own secret"}}
	leaked := &adapter.Dataset{Tokens: []adapter.Token{{Token: strings.Repeat("C", 32), Secret: "x"}}}
	for _, c := range []struct {
		name string
		data *adapter.Dataset
		want bool
	}{
		{"the demo store", mustLoad(t), true}, {"own", own, false}, {"one token of the demo store", leaked, true}, {"none", &adapter.Dataset{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := demo.PublicCredentials(c.data); err != nil || got != c.want {
				t.Errorf("%v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"websites":[{"website_id":1,"code":"base","name":"Main","default_store_id":1}]}`)
	f.Add(`{"products":[{"entity_id":1,"sku":"a","categories":[{"category_id":3,"position":1}],"websites":[1],"stock_data":{"qty":"1.0000"}}]}`)
	f.Add(`{"credentials":{"consumer":{"key":"k","secret":"s"},"admin":{"token":"t","secret":"s","admin_id":1}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		data, err := demo.Decode(strings.NewReader(text), extendedSchemas(t))
		if (data == nil) != (err != nil) {
			t.Errorf("data %v with error %v", data, err)
		}
	})
}
