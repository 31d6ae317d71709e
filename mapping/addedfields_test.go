package mapping_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// addedAttributes returns added attributes of every kind.
func addedAttributes() []adapter.AddedAttribute {
	return []adapter.AddedAttribute{
		{Resource: adapter.Customers, Name: "loyalty_number", Kind: adapter.KindText},
		{Resource: adapter.Customers, Name: "points", Kind: adapter.KindInteger},
		{Resource: adapter.Customers, Name: "joined_at", Kind: adapter.KindTime},
		{Resource: adapter.CustomerAddresses, Name: "access_code", Kind: adapter.KindText},
		{Resource: adapter.CustomerAddresses, Name: "distance", Kind: adapter.KindDecimal},
		{Resource: adapter.Products, Name: "deposit", Kind: adapter.KindDecimal},
		{Resource: adapter.Products, Name: "lead_days", Kind: adapter.KindInteger, Scope: adapter.ScopeWebsite},
		{Resource: adapter.Products, Name: "slogan", Kind: adapter.KindText, Scope: adapter.ScopeStore},
		{Resource: adapter.Products, Name: "season_from", Kind: adapter.KindTime},
	}
}

// addedFields returns fields that show them: points and joined_at to Admins in single
// records; deposit and season_from only to Admins; season_from only if requested. A
// Customer can write every field of customers and addresses that a Customer can read.
func addedFields() []contract.AddedField {
	admin, own, everybody := []contract.Role{contract.Admin}, []contract.Role{contract.Admin, contract.Customer}, contract.Roles()
	return []contract.AddedField{
		{Resource: "customers", Name: "loyalty_number", Read: own, Write: own, InList: true, InSingle: true},
		{Resource: "customers", Name: "points", Read: admin, Write: admin, InSingle: true},
		{Resource: "customers", Name: "joined_at", Read: admin, Write: admin, InSingle: true},
		{Resource: "customer_addresses", Name: "access_code", Read: own, Write: own, InList: true, InSingle: true},
		{Resource: "customer_addresses", Name: "distance", Read: own, Write: admin},
		{Resource: "products", Name: "deposit", Read: admin, Write: admin, InList: true, InSingle: true},
		{Resource: "products", Name: "lead_days", Read: everybody, Write: admin, InList: true, InSingle: true},
		{Resource: "products", Name: "slogan", Read: everybody, Write: admin, InList: true, InSingle: true},
		{Resource: "products", Name: "season_from", Read: admin, Write: admin},
	}
}

// openAddedFieldsShop opens the demo store with values of the added attributes, and with
// the fields that options add.
func openAddedFieldsShop(t *testing.T, options contract.FieldOptions) *customerShop {
	t.Helper()
	schemas, err := adapter.NewSchemas().With(addedAttributes()...)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := contract.NewFields(options)
	if err != nil {
		t.Fatal(err)
	}
	data := loadDemo(t)
	set := func(resource adapter.Resource, at int, values map[string]adapter.Value) {
		r := adapter.NewRecord(schemas.Of(resource))
		copy(r.Values, data.Records[resource][at].Values)
		for name, v := range values {
			r.Set(name, v)
		}
		data.Records[resource][at] = r
	}
	set(adapter.Customers, 0, map[string]adapter.Value{"loyalty_number": adapter.TextValue("Łódź/1"), "points": adapter.IntegerValue(7)})
	set(adapter.Customers, 1, map[string]adapter.Value{"loyalty_number": adapter.NullValue(), "points": adapter.IntegerValue(30)})
	set(adapter.Customers, 2, map[string]adapter.Value{"loyalty_number": adapter.TextValue("")})
	set(adapter.CustomerAddresses, 0, map[string]adapter.Value{"access_code": adapter.TextValue("1234")})
	set(adapter.Products, 0, map[string]adapter.Value{"deposit": adapter.TextValue("2.5000"), "lead_days": adapter.IntegerValue(3),
		"slogan": adapter.TextValue("Boils"), "season_from": adapter.TextValue("2012-03-01 10:00:00")})
	set(adapter.Products, 1, map[string]adapter.Value{"deposit": adapter.TextValue("10.0000"), "lead_days": adapter.IntegerValue(14), "slogan": adapter.NullValue()})

	store := openSQLiteStore(t, data, schemas)
	store.exec(t, `INSERT INTO product_value (product_id, store_id, attribute, value, value_folded) VALUES
		(1, 2, 'lead_days', '5', NULL), (1, 2, 'slogan', 'Bout', 'BOUT'), (2, 2, 'slogan', 'Chauffe', 'CHAUFFE')`)
	return serveCustomers(t, store, data, fields, schemas, mapping.Settings{})
}

// A fieldCase is a call and the reply of both dialects: the whole body, or its beginning
// or end marked with "…".
type fieldCase struct {
	name, as, path, accept string
	documented, magento    string
}

const same = "as documented"

func runFieldCases(t *testing.T, shop *customerShop, cases []fieldCase) {
	t.Helper()
	for _, c := range cases {
		for dialect, want := range map[string]string{"documented": c.documented, "magento": c.magento} {
			t.Run(c.name+" "+dialect, func(t *testing.T) {
				if want == same {
					want = c.documented
				}
				_, body := shop.get(t, dialect, c.as, c.path, c.accept)
				part := strings.Trim(want, "…")
				if want == part && body != want || !strings.Contains(body, part) ||
					!strings.HasPrefix(want, "…") && !strings.HasPrefix(body, part) || !strings.HasSuffix(want, "…") && !strings.HasSuffix(body, part) {
					t.Errorf("%s\nwant %s", body, want)
				}
			})
		}
	}
}

func TestAddedFields(t *testing.T) {
	shop := openAddedFieldsShop(t, contract.FieldOptions{Added: addedFields()})
	runFieldCases(t, shop, []fieldCase{
		{"a customer", "admin", "/customers/1", asJSON,
			`…"taxvat":"GB123","loyalty_number":"\u0141\u00f3d\u017a\/1","points":"7"}`, `…"gender":"2","loyalty_number":"\u0141\u00f3d\u017a\/1","points":"7"}`},
		{"stored as null", "admin", "/customers/2", asJSON, `…"taxvat":null,"loyalty_number":null,"points":"30"}`, `…"loyalty_number":null,"points":"30"}`},
		{"an empty text and an absent value", "admin", "/customers/3", asJSON, `…"taxvat":null,"loyalty_number":null}`, `…"loyalty_number":null}`},
		{"never stored at all", "admin", "/customers/4?attrs=loyalty_number,email", asJSON, `{"email":"dot@example.com"}`, same},
		{"in XML", "admin", "/customers/1?attrs=points,loyalty_number", asXML,
			"<?xml version=\"1.0\"?>\n<service_api>\n  <loyalty_number>&#x141;&#xF3;d&#x17A;/1</loyalty_number>\n  <points>7</points>\n</service_api>\n",
			"<?xml version=\"1.0\"?>\n<magento_api>\n  <loyalty_number>&#x141;&#xF3;d&#x17A;/1</loyalty_number>\n  <points>7</points>\n</magento_api>\n"},
		{"a list shows only list fields", "admin", "/customers?limit=1", asJSON, `…"gender":"2","loyalty_number":"\u0141\u00f3d\u017a\/1"}}`, same},
		{"a list with attrs", "admin", "/customers?attrs=points&limit=3", asJSON, `{"1":{"points":"7"},"2":{"points":"30"},"3":[]}`, same},
		{"their own record", "customer 1", "/customers/1?attrs=points,loyalty_number,email", asJSON,
			`{"email":"ada@example.com","loyalty_number":"\u0141\u00f3d\u017a\/1"}`, same},
		{"filtered by a pattern", "admin", "/customers?filter[1][attribute]=loyalty_number&filter[1][like]=%25/1&attrs=points", asJSON, `{"1":{"points":"7"}}`, same},
		{"filtered as numbers", "admin", "/customers?filter[1][attribute]=points&filter[1][gt]=9&attrs=email", asJSON, `{"2":{"email":"ben@example.com"}}`, same},
		{"filtered by null", "admin", "/customers?filter[1][attribute]=loyalty_number&filter[1][null]=1&attrs=email", asJSON, `{"2":{"email":"ben@example.com"}}`, same},
		{"filtered by not null", "admin", "/customers?filter[1][attribute]=points&filter[1][notnull]=1&attrs=points", asJSON, `{"1":{"points":"7"},"2":{"points":"30"}}`, same},
		{"in", "admin", "/customers?filter[1][attribute]=points&filter[1][in][]=7&filter[1][in][]=8&attrs=points", asJSON, `{"1":{"points":"7"}}`, same},
		{"sorted as numbers", "admin", "/customers?order=points&dir=desc&limit=2&attrs=points", asJSON, `{"2":{"points":"30"},"1":{"points":"7"}}`, same},
		{"absent values first", "admin", "/customers?order=points&dir=asc&limit=3&attrs=points,entity_id", asJSON,
			`{"3":{"entity_id":"3"},"4":{"entity_id":"4"},"1":{"entity_id":"1","points":"7"}}`,
			`{"3":{"entity_id":"3","points":null},"4":{"entity_id":"4","points":null},"1":{"entity_id":"1","points":"7"}}`},

		{"an address", "customer 1", "/customers/addresses/1?attrs=access_code", asJSON, `{"access_code":"1234"}`, same},
		{"addresses", "admin", "/customers/1/addresses?attrs=access_code,entity_id", asJSON, `[{"entity_id":"2"},{"entity_id":"1","access_code":"1234"}]`, same},
		{"addresses with an invalid filter", "admin", "/customers/1/addresses?attrs=entity_id&filter[1][attribute]=access_code&filter[1][eq]=x", asJSON, `[{"entity_id":"2"},{"entity_id":"1"}]`, same},

		{"a product", "admin", "/products/1", asJSON, `…,"deposit":"2.5000","lead_days":"3","slogan":"Boils"}`, `…,"deposit":"2.5000","lead_days":"3","slogan":"Boils","group_price":[…`},
		{"a product without values", "admin", "/products/3", asJSON, `…,"deposit":null,"lead_days":null,"slogan":null}`, `…"special_from_date":null,"group_price":[],…`},
		{"a product without values, with attrs", "admin", "/products/3?attrs=deposit,sku", asJSON, `{"sku":"lamp-desk","deposit":null}`, `{"sku":"lamp-desk"}`},
		{"a product at a store view", "admin", "/products/1/store/2?attrs=deposit,lead_days,slogan,season_from", asJSON,
			`{"deposit":"2.5000","lead_days":"5","slogan":"Bout","season_from":"2012-03-01 10:00:00"}`, same},
		{"a product for a Guest", "guest", "/products/1?attrs=deposit,lead_days,slogan,sku", asJSON, `{"sku":"kettle-steel","lead_days":"3","slogan":"Boils"}`, same},
		{"a product for a Guest at a store view", "guest", "/products/1/store/2?attrs=slogan", asJSON, `{"slogan":"Bout"}`, same},
		{"a public list shows values of the default scope", "guest", "/products/store/2?attrs=lead_days,slogan&limit=2", asJSON,
			`{"1":{"lead_days":"3","slogan":"Boils"},"2":{"lead_days":"14","slogan":null}}`, same},
		{"products at a store view", "admin", "/products/store/2?attrs=slogan&limit=2", asJSON, `{"1":{"slogan":"Bout"},"2":{"slogan":"Chauffe"}}`, same},
		{"filtered at a store view", "admin", "/products/store/2?filter[1][attribute]=slogan&filter[1][eq]=chauffe&attrs=sku", asJSON, `{"2":{"sku":"kettle-copper"}}`, same},
		{"a Guest does not filter by values of the store view", "guest", "/products/store/2?filter[1][attribute]=slogan&filter[1][eq]=chauffe", asJSON, `[]`, same},
		{"a public list is filtered by values of the default scope", "customer 1", "/products/store/2?filter[1][attribute]=lead_days&filter[1][lt]=6&attrs=lead_days", asJSON, `{"1":{"lead_days":"3"}}`, same},
		{"a range of decimals", "admin", "/products?filter[1][attribute]=deposit&filter[1][from]=2.5&filter[1][to]=9.99&attrs=deposit", asJSON, `{"1":{"deposit":"2.5000"}}`, same},
		{"a time", "admin", "/products?filter[1][attribute]=season_from&filter[1][gteq]=2012-03-01&attrs=season_from", asJSON, `{"1":{"season_from":"2012-03-01 10:00:00"}}`, same},
		{"sorted decimals", "admin", "/products?order=deposit&limit=2&attrs=deposit", asJSON, `{"2":{"deposit":"10.0000"},"1":{"deposit":"2.5000"}}`, same},
		{"sorted by an absent value", "admin", "/products?order=deposit&dir=asc&limit=1&attrs=deposit,sku", asJSON, `{"3":{"sku":"lamp-desk","deposit":null}}`, same},
		{"a category", "guest", "/products/category/3?attrs=slogan,sku&limit=1", asJSON, `…"slogan":…`, same},

		{"a filter by an Admin's field", "guest", "/products?filter[1][attribute]=deposit&filter[1][gt]=1", asJSON, filteringRefused, same},
		{"an order by an Admin's field", "guest", "/products?order=deposit&dir=asc", asJSON, orderingRefused, same},
	})
}

// TestRestrictedFields restricts each role to a few fields, or to none.
func TestRestrictedFields(t *testing.T) {
	shop := openAddedFieldsShop(t, contract.FieldOptions{Added: addedFields(), Narrowed: []contract.NarrowedFields{
		{Resource: "products", Role: contract.Guest, Read: []string{"sku", "final_price_with_tax", "price"}},
		{Resource: "products", Role: contract.Customer, Read: []string{}},
		{Resource: "products", Role: contract.Admin, Read: []string{"name", "stock_data"}},
		{Resource: "stock_items", Role: contract.Admin, Read: []string{"item_id", "qty"}, Write: []string{"qty"}},
		{Resource: "customers", Role: contract.Admin, Read: []string{"email"}},
		{Resource: "customers", Role: contract.Customer, Read: []string{}},
		{Resource: "customer_addresses", Role: contract.Customer, Read: []string{"street"}},
		{Resource: "orders", Role: contract.Admin, Read: []string{"increment_id", "addresses", "order_comments"}},
		{Resource: "order_items", Role: contract.Admin, Read: []string{}},
		{Resource: "order_addresses", Role: contract.Admin, Read: []string{"city"}},
		{Resource: "order_comments", Role: contract.Admin, Read: []string{}},
		{Resource: "orders", Role: contract.Customer, Read: []string{}},
		{Resource: "product_websites", Role: contract.Admin, Read: []string{}},
	}})
	const crash = ""
	runFieldCases(t, shop, []fieldCase{
		{"prices computed from hidden fields", "guest", "/products/1", asJSON,
			`{"sku":"kettle-steel","final_price_with_tax":39.99,"lead_days":"3","slogan":"Boils"}`, `{"sku":"kettle-steel","lead_days":"3","slogan":"Boils","final_price_with_tax":39.99,"price":"39.9900"}`},
		{"a list is still keyed by id", "guest", "/products?limit=1&attrs=sku,entity_id,name", asJSON, `{"1":{"sku":"kettle-steel"}}`, same},
		{"a category assignment in the documented dialect", "guest", "/products/category/3?limit=1&attrs=price,weight,entity_id,sku", asJSON,
			`{"9":{"sku":"mug-free-tax","price":"9.9900"}}`, `{"1":{"sku":"kettle-steel","price":"39.9900"}}`},
		{"a filter by a hidden field", "guest", "/products?filter[1][attribute]=name&filter[1][eq]=x", asJSON, filteringRefused, same},
		{"a filter by a visible field", "guest", "/products?filter[1][attribute]=sku&filter[1][eq]=mug-catalog&attrs=sku", asJSON, `{"8":{"sku":"mug-catalog"}}`, same},
		{"an order by a hidden field", "guest", "/products?order=name&dir=asc&limit=1&attrs=sku", asJSON, `{"8":{"sku":"mug-catalog"}}`, same},
		{"hidden fields are not selected", "guest", "/products/1?attrs=name,entity_id", asJSON, `{}`, crash},

		{"only added fields visible", "customer 1", "/products/1", asJSON, `{"lead_days":"3","slogan":"Boils"}`, same},
		{"stock_data as a whole", "admin", "/products/1?attrs=stock_data,sku,name", asJSON,
			`{"name":"Steel Kettle","stock_data":{…`, same},
		{"stock items", "admin", "/stockitems?limit=1", asJSON, `[{"item_id":"1","qty":"100.0000"}]`, same},
		{"stock items filtered by a field that is never shown", "admin", "/stockitems?filter[1][attribute]=created_at&filter[1][gt]=2000-01-01", asJSON, filteringRefused, same},
		{"a customer", "admin", "/customers/1?attrs=email,firstname", asJSON, `{"email":"ada@example.com"}`, same},
		{"a list of customers in XML", "admin", "/customers?limit=2&attrs=email,entity_id", asXML,
			"…<data_item>\n    <email>ada@example.com</email>\n  </data_item>\n  <data_item>…", same},
		{"their own record without fields of the contract", "customer 1", "/customers/1", asJSON, `{"loyalty_number":"\u0141\u00f3d\u017a\/1"}`, same},
		{"own addresses", "customer 1", "/customers/1/addresses", asJSON, `…,{"street":["1 Engine Way"],"access_code":"1234"}]`, `…,{"access_code":"1234","street":["1 Engine Way"]}]`},
		{"an order's parts", "admin", "/orders/1", asJSON, `{"increment_id":"100000001","addresses":[{"city":"San Francisco"},{"city":"San Francisco"}]}`, same},
		{"hidden parts are not read", "admin", "/orders/1?attrs=increment_id,city", asJSON, `{"increment_id":"100000001"}`, same},
		{"a list of lines without fields", "admin", "/orders/1/items", asJSON, `[{},{}]`, `[[],[]]`},
		{"orders without fields", "customer 1", "/orders", asJSON, `{"1":{},"4":{}}`, `{"1":[],"4":[]}`},
		{"an order without fields", "customer 1", "/orders/1", asJSON, `{}`, `[]`},
		{"orders without fields in XML", "customer 1", "/orders", asXML, "<?xml version=\"1.0\"?>\n<service_api>\n  <data_item_1/>\n  <data_item_2/>\n</service_api>\n",
			"<?xml version=\"1.0\"?>\n<magento_api>\n  <data_item/>\n  <data_item/>\n</magento_api>\n"},
		{"attrs of an order without fields", "customer 1", "/orders/1?attrs=status", asJSON, `{}`, crash},
		{"websites without fields", "admin", "/products/2/websites", asJSON, `[{},{}]`, `[[],[]]`},
	})
}

// TestRestrictedWrites checks that values of fields that a role cannot write are dropped
// unread, in single updates and in batches.
func TestRestrictedWrites(t *testing.T) {
	shop := openAddedFieldsShop(t, contract.FieldOptions{Narrowed: []contract.NarrowedFields{
		{Resource: "stock_items", Role: contract.Admin, Write: []string{"qty"}},
	}})
	for dialect := range shop.services {
		for _, c := range []struct {
			name, path, body string
			status           int
			want             string
		}{
			{"only unwritable fields", "/stockitems/1", `{"max_sale_qty":"5","is_in_stock":"x"}`, 400, `{"item_id":"1","qty":"100.0000","max_sale_qty":"0.0000"}`},
			{"both", "/stockitems/1", `{"max_sale_qty":"5","qty":"7"}`, 200, `{"item_id":"1","qty":"7.0000","max_sale_qty":"0.0000"}`},
			{"in a batch, without qty left", "/stockitems", `[{"item_id":1,"max_sale_qty":"5"}]`, 207, `{"item_id":"1","qty":"7.0000","max_sale_qty":"0.0000"}`},
			{"in a batch", "/stockitems", `[{"item_id":1,"max_sale_qty":"5","qty":"100"}]`, 207, `{"item_id":"1","qty":"100.0000","max_sale_qty":"0.0000"}`},
		} {
			t.Run(c.name+" "+dialect, func(t *testing.T) {
				if r := shop.write(t, dialect, "admin", "PUT", c.path, c.body); r.Status != c.status {
					t.Errorf("status %d, want %d", r.Status, c.status)
				}
				if _, body := shop.get(t, dialect, "admin", "/stockitems/1?attrs=item_id,qty,max_sale_qty", asJSON); body != c.want {
					t.Errorf("%s, want %s", body, c.want)
				}
			})
		}
	}
}

// write sends a JSON body.
func (shop *customerShop) write(t *testing.T, dialect, as, method, path, body string) resource.Response {
	t.Helper()
	r := httptest.NewRequest(method, "/api/rest"+path, strings.NewReader(body))
	for name, value := range map[string]string{"Accept": asJSON, "Content-Type": asJSON, "Authorization": shop.headers[as]} {
		r.Header.Set(name, value)
	}
	return shop.services[dialect].Serve(t.Context(), &resource.Request{HTTP: r, Scheme: "http"}, nil)
}

// TestAddedFieldWrites changes a record step by step, in each dialect.
func TestAddedFieldWrites(t *testing.T) {
	t.Parallel()
	const (
		own     = "/customers/1"
		address = "/customers/addresses/1"
		closing = `,{"code":400,"message":"Resource data pre-validation error."}`
		dropped = `400 {"messages":{"error":[{"code":400,"message":"The request data is invalid."}]}}`
	)
	refused := func(messages ...string) string {
		var entries []string
		for _, m := range messages {
			entries = append(entries, fmt.Sprintf(`{"code":400,"message":%q}`, m))
		}
		return `400 {"messages":{"error":[` + strings.Join(entries, ",") + closing + `]}}`
	}
	crash := map[string]string{"documented": dropped, "magento": "500 "}
	emptyList := map[string]string{"documented": refused(`Invalid value "" for attribute "points".`), "magento": `"loyalty_number":null`}
	faults := []string{`"Last Name" is a required value.`, `Invalid value "7.5" for attribute "points".`, `Invalid date in the "joined_at" field.`}
	allFaults := map[string]string{"documented": refused(faults...), "magento": refused(faults[:2]...)} // the original fails on the date when it saves
	long := strings.Repeat("é", 300)
	for _, d := range bothDialects() {
		t.Run(d.Name, func(t *testing.T) {
			shop := openAddedFieldsShop(t, contract.FieldOptions{Added: addedFields()})
			for _, c := range []struct{ name, as, path, body, want string }{
				{"every kind", "admin", own, `{"loyalty_number":"N 2","points":"12","joined_at":"03/15/2012 10:11 AM"}`, `"loyalty_number":"N 2","points":"12","joined_at":"2012-03-15 10:11:00"`},
				{"only the fields sent", "admin", own, `{"points":7.0}`, `"loyalty_number":"N 2","points":"7","joined_at":"2012-03-15 10:11:00"`},
				{"with other fields", "admin", own, `{"firstname":"Ada","loyalty_number":0}`, `"loyalty_number":"0","points":"7","joined_at":"2012-03-15 10:11:00"`},
				{"all faults", "admin", own, `{"points":"7.5","joined_at":"not a date","lastname":"","loyalty_number":"x"}`,
					allFaults[d.Name]},
				{"a list for a number", "admin", own, `{"points":["a","b"]}`, refused(`Invalid value "a, b" for attribute "points".`)},
				{"beyond 64 bits", "admin", own, `{"points":9223372036854775808}`, refused(`Invalid value "9.2233720368548E+18" for attribute "points".`)},
				{"a list for a text", "admin", own, `{"loyalty_number":["a"],"points":"x"}`, crash[d.Name]},
				{"a list for a time", "admin", own, `{"joined_at":["a"],"points":"x"}`, crash[d.Name]},
				{"null", "admin", own, `{"points":null,"joined_at":null,"loyalty_number":null}`, ``},
				{"the empty text", "admin", own, `{"points":"","joined_at":"","loyalty_number":""}`, `"loyalty_number":null`},
				{"neither a number nor a time", "admin", own, `{"points":[],"joined_at":0}`, emptyList[d.Name]},
				{"a long text", "admin", own, `{"loyalty_number":"` + long + `"}`, `"loyalty_number":"` + strings.Repeat(`\u00e9`, 255) + `"`},
				{"as the customer", "customer 1", own, `{"loyalty_number":"mine","points":"1000"}`, `"loyalty_number":"mine"`},
				{"only fields unwritable for the customer", "customer 1", own, `{"points":"1000"}`, dropped},

				{"an address", "admin", address, `{"access_code":"00","distance":"1.55555"}`, `"access_code":"00","distance":"1.5555"`},
				{"an invalid number", "admin", address, `{"distance":"far"}`, refused(`Invalid value "far" for attribute "distance".`)},
				{"an address as the customer", "customer 1", address, `{"access_code":"","distance":"9"}`, `"access_code":null,"distance":"1.5555"`},
			} {
				t.Run(c.name, func(t *testing.T) {
					r := shop.write(t, d.Name, c.as, "PUT", c.path, c.body)
					if r.Status != 200 {
						if got := fmt.Sprintf("%d %s", r.Status, r.Body); got != c.want {
							t.Errorf("%s, want %s", got, c.want)
						}
						return
					}
					_, got := shop.get(t, d.Name, "admin", c.path+"?attrs=loyalty_number,points,joined_at,access_code,distance,entity_id", asJSON)
					got = strings.TrimPrefix(strings.Trim(got, "{}"), `"entity_id":"1"`)
					if got = strings.TrimPrefix(got, ","); got != c.want {
						t.Errorf("%s, want %s", got, c.want)
					}
				})
			}
			for _, c := range []struct{ name, as, path, body, want string }{
				{"a customer", "admin", "/customers", body(t, newCustomer(), "points", "5", "loyalty_number", nil, "joined_at", ""), `{"points":"5"}`},
				{"a customer's own address", "customer 1", "/customers/1/addresses", body(t, newAddress(), "access_code", "77", "distance", "3"), `{"access_code":"77"}`},
			} {
				t.Run(c.name, func(t *testing.T) {
					r := shop.write(t, d.Name, c.as, "POST", c.path, c.body)
					_, got := shop.get(t, d.Name, "admin", strings.TrimPrefix(r.Location, "/api/rest")+"?attrs=loyalty_number,points,joined_at,access_code,distance", asJSON)
					if r.Status != 200 || got != c.want {
						t.Errorf("%d %s, then %s, want %s", r.Status, r.Body, got, c.want)
					}
				})
			}
			r := shop.write(t, d.Name, "admin", "POST", "/customers", body(t, newCustomer(), "points", "x", "password", "short"))
			want := refused(`Invalid value "x" for attribute "points".`)
			if d.Name == "documented" {
				want = refused(`Invalid value "x" for attribute "points".`, `The password must have at least 7 characters. Leading or trailing spaces will be ignored.`)
			}
			if got := fmt.Sprintf("%d %s", r.Status, r.Body); got != want {
				t.Errorf("%s, want the password last: %s", got, want)
			}
		})
	}
}

// TestFieldsWithoutAttributes checks that New refuses schemas that lack the attribute of
// a field.
func TestFieldsWithoutAttributes(t *testing.T) {
	store := openDemo(t)
	fields, err := contract.NewFields(contract.FieldOptions{Added: addedFields()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = mapping.New(contract.Documented(), fields, store, adapter.NewSchemas(), store.authenticator(), settings(), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), `loyalty_number`) {
		t.Errorf("error %v", err)
	}
}
