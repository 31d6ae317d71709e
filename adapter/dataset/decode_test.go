package dataset_test

import (
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
	data, err := dataset.Decode(strings.NewReader(text), extendedSchemas(t), nil)
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

// TestDecodeNothing checks that an object without lists is a data set without records.
func TestDecodeNothing(t *testing.T) {
	for _, text := range []string{`{}`, `{"$schema":"dataset.schema.json","$comment":["later"],"verbatim":true}`, `{"verbatim":true,"websites":[],"countries":[],"regions":[]}`} {
		data, err := dataset.Decode(strings.NewReader(text), adapter.NewSchemas(), nil)
		if err != nil || len(data.Records) != 0 {
			t.Errorf("%s: %v, %v", text, data, err)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	folder := t.TempDir()
	if err := errors.Join(os.Symlink("/etc/passwd", filepath.Join(folder, "link")), os.Mkdir(filepath.Join(folder, "folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	files := root.FS()
	for _, c := range []struct{ name, text, want string }{
		{"incomplete JSON", `{`, "the file ends before its JSON is complete"},
		{"no websites", `{"products":[]}`, `line 1: the list "websites" is missing or empty`},
		{"verbatim that is a text", `{"verbatim":"yes"}`, "verbatim: must be true or false"},
		{"no store", `{"websites":[{"website_id":1,"code":"base","name":"Main"}]}`, `the list "stores" is missing or empty`},
		{"empty file", " \n", "the file is empty"},
		{"not an object", "[]", "must be an object with lists of records"},
		{"invalid JSON on line 3", "{\n\"stores\":\n x}", "line 3: invalid JSON"},
		{"unknown list", `{"warehouses":[]}`, "warehouses: unknown list: use one of websites, stores,"},
		{"misspelled list", `{"costumers":[]}`, "costumers: unknown list; did you mean customers?"},
		{"misspelled attribute", `{"products":[{"shrt_description":"x"}]}`, "products[0].shrt_description: unknown; did you mean short_description?"},
		{"attribute that others determine", `{"products":[{"stock_is_in_stock":1}]}`, "products[0].stock_is_in_stock: unknown"},
		{"null for a required value", `{"stores":[{"code":null}]}`, "stores[0].code: must have a value"},
		{"null for a stock item", `{"products":[{"stock_data":null}]}`, "products[0].stock_data: missing"},
		{"repeated SKU", `{"products":[{"sku":"a"},{"sku":" A"}]}`, "products[1]: another record has the same sku"},
		{"values of all stores in a list", `{"products":[{"stores":[]}]}`, "products[0].stores: must be an object of values by the ids of store views"},
		{"values at the default scope", `{"products":[{"stores":{"0":{}}}]}`, "products[0].stores[0]: must be the id of a store view"},
		{"values at a store view by a second name", `{"products":[{"stores":{"01":{}}}]}`, "products[0].stores[01]: must be the id of a store view"},
		{"values at a store view that does not exist", `{"products":[{"stores":{"7":{}}}]}`, "products[0].stores[7]: stores 7 does not exist"},
		{"SKU at a store view", `{"products":[{"stores":{"1":{"sku":"x"}}}]}`, "products[0].stores[1].sku: unknown"},
		{"password and hash", `{"customers":[{"entity_id":1,"password":"a","password_hash":"b"}]}`, "customers[0].password: excludes password_hash"},
		{"password of no one", `{"customers":[{"password":"a"}]}`, "customers[0].password: needs a customer with an entity_id"},
		{"path and content", `{"products":[{"entity_id":1,"images":[{"path":"a.png","content":"AA=="}]}]}`, "products[0].images[0].content: excludes path"},
		{"image without bytes", `{"products":[{"entity_id":1,"images":[{"file":"a/b.png"}]}]}`, "products[0].images[0].path: missing: path or content must be there"},
		{"content that is no base64", `{"products":[{"entity_id":1,"images":[{"content":"?"}]}]}`, "products[0].images[0].content: must be base64"},
		{"path out of the folder", `{"products":[{"entity_id":1,"images":[{"path":"../secret.png"}]}]}`, "products[0].images[0].path: must be a path below the folder of the data set"},
		{"path from the root", `{"products":[{"entity_id":1,"images":[{"path":"/etc/passwd"}]}]}`, "products[0].images[0].path: must be a path below the folder of the data set"},
		{"path through a link", `{"products":[{"entity_id":1,"images":[{"path":"link"}]}]}`, "path escapes from parent"},
		{"path of a folder", `{"products":[{"entity_id":1,"images":[{"path":"folder"}]}]}`, "products[0].images[0].path: must be a file of at most"},
		{"path of no file", `{"products":[{"entity_id":1,"images":[{"path":"none.png"}]}]}`, "no such file"},
		{"file that leaves its folder", `{"products":[{"entity_id":1,"images":[{"file":"a/../b.png"}]}]}`, "products[0].images[0].file: must be a path of letters"},
		{"two images with one file", `{"products":[{"entity_id":1,"images":[{"file":"a/b.png"},{"file":"a/b.png"}]}]}`, "products[0].images[1]: another record has the same file"},
		{"unknown type of image", `{"products":[{"entity_id":1,"images":[{"types":["thumb"]}]}]}`, "types.thumb: unknown type of image: use one of image, small_image, thumbnail"},
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
			_, err := dataset.Decode(strings.NewReader(c.text), extendedSchemas(t), files)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// listNames returns the names of the lists of records.
func listNames() string {
	var names []string
	for _, r := range adapter.Resources() {
		if adapter.NewSchemas().Of(r).Doc != "" {
			names = append(names, string(r))
		}
	}
	return strings.Join(names, ", ")
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
	_, err := dataset.Decode(strings.NewReader(text), extendedSchemas(t), nil)
	want := `line 4: websites[1].website_id: must be a whole number
line 4: websites[1].name: missing
line 7: stores[1]: must be a record
line 7: stores[0].website_id: websites 7 does not exist
line 10: products[0].categories[0].category_id: categories 3 does not exist
line 13: products[0].websites[1]: websites 9 does not exist
line 16: products[0].tier_price[0].price: must be a text with four decimal places, such as "12.5000"
line 16: products[0].tier_price[0].website_id: missing
line 16: products[0].tier_price[0].cust_group: missing
line 16: products[0].tier_price[0].price_qty: missing
line 18: products[0].stock_data.qty: must be a text with four decimal places, such as "12.5000"
line 20: a/b~.[1]: unknown list: use one of ` + listNames() + `, roles, consumers, credentials, verbatim
line 24: credentials.admin.admin_id: admins 12 does not exist
line 25: credentials.user.role: unknown`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}

	many := `{"websites":[` + strings.Repeat("\n7,", 150) + `7]}`
	if _, err = dataset.Decode(strings.NewReader(many), extendedSchemas(t), nil); err == nil || strings.Count(err.Error(), "\n") != 100 || !strings.HasSuffix(err.Error(), "and 51 more errors") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"websites":[{"website_id":1,"code":"base","name":"Main","default_store_id":1}]}`)
	f.Add(`{"products":[{"entity_id":1,"sku":"a","categories":[{"category_id":3,"position":1}],"websites":[1],"stock_data":{"qty":"1.0000"}}]}`)
	f.Add(`{"credentials":{"consumer":{"key":"k","secret":"s"},"admin":{"token":"t","secret":"s","admin_id":1}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		data, err := dataset.Decode(strings.NewReader(text), extendedSchemas(t), nil)
		if (data == nil) != (err != nil) {
			t.Errorf("data %v with error %v", data, err)
		}
	})
}
