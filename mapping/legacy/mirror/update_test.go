package mirror_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
)

// values holds values of a record by attribute: texts, integers, nil for null, lists of texts,
// and values of the adapter.
type values map[string]any

// record returns a record with some values.
func record(t testing.TB, r adapter.Resource, of values) adapter.Record {
	t.Helper()
	schemas, _ := tables(t)
	one := adapter.NewRecord(schemas.Of(r))
	for name, v := range of {
		switch v := v.(type) {
		case nil:
			one.Set(name, adapter.NullValue())
		case string:
			one.Set(name, adapter.TextValue(v))
		case int:
			one.Set(name, adapter.IntegerValue(int64(v)))
		case []string:
			one.Set(name, adapter.TextsValue(v))
		case adapter.Value:
			one.Set(name, v)
		default:
			t.Fatalf("%s: %v", name, v)
		}
	}
	return one
}

// nested returns a list of records of a nested attribute.
func nested(t testing.TB, r adapter.Resource, attribute string, all ...values) adapter.Value {
	t.Helper()
	schemas, _ := tables(t)
	at, _ := schemas.Of(r).Index(attribute)
	schema := schemas.Of(r).Attributes[at].Nested
	var records []adapter.Record
	for _, of := range all {
		one := adapter.NewRecord(schema)
		for name, v := range of {
			if number, ok := v.(int); ok {
				one.Set(name, adapter.IntegerValue(int64(number)))
			} else {
				one.Set(name, adapter.TextValue(v.(string)))
			}
		}
		records = append(records, one)
	}
	return adapter.RecordsValue(records)
}

// A part is a part of an aggregate, or the values of the part or the root at a store view.
type part struct {
	storeID  int64
	resource adapter.Resource
	of       values
}

// with returns the values with others in addition.
func (v values) with(more values) values {
	all := values{}
	maps.Copy(all, v)
	maps.Copy(all, more)
	return all
}

// An updateCase asks for attributes of a record, which is the root unless a part is named.
type updateCase struct {
	name     string
	root     values
	parts    []part
	levels   []part
	resource adapter.Resource // the root's unless set
	key      adapter.Key      // 1 unless set
	storeID  int64
	asked    string // names of attributes, separated by blanks
	want     string // the request, or "" for none
	omitted  string // names of attributes, separated by blanks
}

// runUpdates runs cases of updates of records of a root.
func runUpdates(t *testing.T, root adapter.Resource, cases []updateCase) {
	t.Helper()
	requests := newRequests(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			one := adapter.Aggregate{Record: record(t, root, c.root)}
			for _, p := range c.parts {
				one.Parts = append(one.Parts, record(t, p.resource, p.of))
			}
			for _, l := range c.levels {
				one.Levels = append(one.Levels, adapter.Level{StoreID: l.storeID, Record: record(t, l.resource, l.of)})
			}
			if c.resource == "" {
				c.resource = root
			}
			request, ok, err := requests.Update(one, c.resource, max(c.key, 1), c.storeID, strings.Fields(c.asked))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if ok {
				got = strings.TrimSpace(request.Method + " " + request.Path + " " + string(request.Body))
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if want := strings.Fields(c.omitted); !slices.Equal(request.Omitted, want) {
				t.Errorf("omitted %v, want %v", request.Omitted, want)
			}
			if got, want := slices.Sorted(slices.Values(request.Attributes)), changedMembers(t, request.Body, c.asked); !slices.Equal(got, want) {
				t.Errorf("the attributes are %v, and the request changes %v", got, want)
			}
		})
	}
}

// changedMembers returns the members of a body, without unrequested members that only keep their
// attribute unchanged. A delivery compares just these members: if one were missing, it would
// attribute the change by the request to the legacy store.
func changedMembers(t *testing.T, body []byte, asked string) (names []string) {
	t.Helper()
	if len(body) == 0 {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	kept := []string{"qty", "special_from_date", "stock_data", "url_key"}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(kept, name) || slices.Contains(strings.Fields(asked), name) {
			names = append(names, name)
		}
	}
	return names
}

func TestUpdateOfCustomers(t *testing.T) {
	id := values{"entity_id": 1}
	runUpdates(t, adapter.Customers, []updateCase{
		{name: "texts", root: id.with(values{"firstname": "Zoë/\"Z\"", "email": "z@example.com"}), asked: "email firstname",
			want: `PUT /customers/1 {"firstname":"Zo\u00eb\/\"Z\"","email":"z@example.com"}`},
		{name: "optional text without a value", root: id.with(values{"prefix": nil}), asked: "prefix suffix", want: `PUT /customers/1 {"prefix":"","suffix":null}`},
		{name: "required text without a value", root: id.with(values{"lastname": nil, "taxvat": "1"}), asked: "firstname lastname taxvat",
			want: `PUT /customers/1 {"taxvat":"1"}`, omitted: "firstname lastname"},
		{name: "numbers", root: id.with(values{"group_id": 3, "disable_auto_group_change": 0, "gender": 2}), asked: "gender group_id disable_auto_group_change",
			want: `PUT /customers/1 {"group_id":3,"disable_auto_group_change":0,"gender":2}`},
		{name: "gender cannot be removed", root: id, asked: "gender", omitted: "gender"},
		{name: "gender cannot be null", root: id.with(values{"gender": nil}), asked: "gender", omitted: "gender"},
		{name: "day of birth", root: id.with(values{"dob": "1990-02-03 00:00:00"}), asked: "dob", want: `PUT /customers/1 {"dob":"02\/03\/1990"}`},
		{name: "only the day of a time", root: id.with(values{"dob": "0085-12-31 23:00:00"}), asked: "dob", want: `PUT /customers/1 {"dob":"12\/31\/0085"}`},
		{name: "no date", root: id.with(values{"dob": "soon"}), asked: "dob", want: `PUT /customers/1 {"dob":"soon"}`},
		{name: "no day of birth", root: id, asked: "dob", want: `PUT /customers/1 {"dob":null}`},
		{name: "day of birth cannot be null", root: id.with(values{"dob": nil}), asked: "dob", want: `PUT /customers/1 {"dob":null}`},
		{name: "added", root: id.with(values{"loyalty_number": nil, "points": -7}), asked: "points loyalty_number", want: `PUT /customers/1 {"loyalty_number":"","points":-7}`},
		{name: "added without a value", root: id.with(values{"points": nil}), asked: "points loyalty_number", want: `PUT /customers/1 {"loyalty_number":null,"points":null}`},
		{name: "not for clients", root: id.with(values{"website_id": 1, "store_id": 1, "confirmation": "x", "password_hash": "x", "password": "x"}),
			asked: "entity_id website_id store_id created_at updated_at created_in confirmation last_logged_in password_hash password reward_update_notification nonsense"},
		{name: "asked for twice", root: id.with(values{"prefix": "Dr."}), asked: "prefix prefix", want: `PUT /customers/1 {"prefix":"Dr."}`},
		{name: "nothing asked for", root: id},
	})
}

func TestUpdateOfCustomerAddresses(t *testing.T) {
	us := values{"entity_id": 1, "customer_id": 7, "country_id": "US", "region": "Texas", "region_id": 57, "postcode": "73301"}
	ireland := values{"entity_id": 1, "country_id": "IE"}
	both := `PUT /customers/addresses/1 {"country_id":"US","region":"Texas"}`
	runUpdates(t, adapter.CustomerAddresses, []updateCase{
		{name: "texts", root: us.with(values{"city": "Köln", "fax": nil}), asked: "company city fax", want: `PUT /customers/addresses/1 {"company":null,"city":"K\u00f6ln","fax":""}`},
		{name: "country with region", root: us, asked: "country_id", want: both},
		{name: "region with country", root: us, asked: "region", want: both},
		{name: "number of the region", root: us, asked: "region_id", want: both},
		{name: "no region", root: ireland, asked: "country_id", want: `PUT /customers/addresses/1 {"country_id":"IE","region":""}`},
		{name: "empty region", root: ireland.with(values{"region": nil}), asked: "region", want: `PUT /customers/addresses/1 {"country_id":"IE","region":""}`},
		{name: "region without a country", root: values{"entity_id": 1, "region": "Kent"}, asked: "region", want: `PUT /customers/addresses/1 {"region":"Kent"}`},
		{name: "postcode", root: us, asked: "postcode", want: `PUT /customers/addresses/1 {"postcode":"73301"}`},
		{name: "no postcode where it is required", root: us.with(values{"postcode": nil}), asked: "postcode", omitted: "postcode"},
		{name: "no postcode where it is not", root: ireland, asked: "postcode", want: `PUT /customers/addresses/1 {"country_id":"IE","region":"","postcode":null}`},
		{name: "empty postcode", root: ireland.with(values{"postcode": nil}), asked: "postcode", want: `PUT /customers/addresses/1 {"country_id":"IE","region":"","postcode":""}`},
		{name: "postcode where it is not required", root: ireland.with(values{"postcode": "D02"}), asked: "postcode", want: `PUT /customers/addresses/1 {"postcode":"D02"}`},
		{name: "one line", root: us.with(values{"street": []string{"1 Road"}}), asked: "street", want: `PUT /customers/addresses/1 {"street":["1 Road"]}`},
		{name: "two lines", root: us.with(values{"street": []string{"a", "b"}}), asked: "street", want: `PUT /customers/addresses/1 {"street":["a","b"]}`},
		{name: "four lines", root: us.with(values{"street": []string{"a", "b", "", "c"}}), asked: "street", want: `PUT /customers/addresses/1 {"street":["a","b\n\nc"]}`},
		{name: "no street", root: us, asked: "street", omitted: "street"},
		{name: "default", root: us.with(values{"is_default_billing": 1, "is_default_shipping": 0}), asked: "is_default_billing is_default_shipping",
			want: `PUT /customers/addresses/1 {"is_default_billing":1}`},
		{name: "no default any more", root: us.with(values{"is_default_billing": 0}), asked: "is_default_billing"},
		{name: "added", root: us.with(values{"access_code": "1", "distance": "1.5000"}), asked: "access_code distance", want: `PUT /customers/addresses/1 {"access_code":"1","distance":"1.5000"}`},
		{name: "not for clients", root: us, asked: "entity_id customer_id created_at updated_at customer_group_id"},
	})
}

func TestUpdateOfProducts(t *testing.T) {
	id := values{"entity_id": 1, "type_id": "simple", "url_key": "key"}
	grouped := id.with(values{"type_id": "grouped"})
	runUpdates(t, adapter.Products, []updateCase{
		{name: "values", root: id.with(values{"sku": "a/1", "price": "39.9900", "status": 1, "news_from_date": "2012-03-15 10:11:12", "msrp_enabled": "01", "meta_title": ""}),
			asked: "status price sku news_from_date msrp_enabled meta_title",
			want:  `PUT /products/1 {"price":"39.9900","special_from_date":false,"sku":"a\/1","news_from_date":"2012-03-15 10:11:12","status":1,"msrp_enabled":"01","meta_title":""}`},
		{name: "null", root: id.with(values{"meta_title": nil, "special_price": nil, "special_to_date": nil, "page_layout": nil, "gift_message_available": nil}),
			asked: "meta_title special_price special_to_date page_layout gift_message_available",
			want:  `PUT /products/1 {"gift_message_available":null,"special_price":null,"special_from_date":false,"page_layout":null,"special_to_date":null,"meta_title":null}`},
		{name: "no value", root: id, asked: "meta_title special_price special_to_date special_from_date",
			want: `PUT /products/1 {"special_price":false,"special_from_date":false,"special_to_date":false,"meta_title":false}`},
		{name: "options cannot be removed", root: id, asked: "page_layout country_of_manufacture meta_title", want: `PUT /products/1 {"special_from_date":false,"meta_title":false}`, omitted: "page_layout country_of_manufacture"},
		{name: "required values cannot be removed", root: id.with(values{"price": nil}), asked: "name price", omitted: "name price"},
		{name: "a special price that has not started", root: id.with(values{"special_from_date": nil}), asked: "special_from_date", want: `PUT /products/1 {"special_from_date":0}`},
		{name: "keeps the missing start of a special price", root: id.with(values{"name": "N", "special_price": "5.0000", "special_from_date": nil}), asked: "name",
			want: `PUT /products/1 {"name":"N","special_from_date":0}`},
		{name: "keeps the removed start of a special price", root: id.with(values{"name": "N", "special_price": "5.0000"}), asked: "name",
			want: `PUT /products/1 {"name":"N","special_from_date":false}`},
		{name: "keeps the start of a special price", root: id.with(values{"name": "N", "special_price": "5.0000", "special_from_date": "2012-03-15 10:11:12"}), asked: "name",
			want: `PUT /products/1 {"name":"N"}`},
		{name: "starts no special price that is gone here and not yet there", root: id.with(values{"name": "N", "special_price": nil, "special_from_date": nil}), asked: "name",
			want: `PUT /products/1 {"name":"N","special_from_date":0}`},
		{name: "a store view starts no special price", root: id.with(values{"special_price": "5.0000"}), levels: []part{{2, adapter.Products, values{"entity_id": 1, "name": "N"}}},
			storeID: 2, asked: "name", want: `PUT /products/1/store/2 {"name":"N"}`},
		{name: "fields that a type does not have", root: grouped.with(values{"special_price": "5.0000", "msrp": nil}), asked: "special_price special_to_date msrp meta_title",
			want: `PUT /products/1 {"special_price":"5.0000","msrp":null,"meta_title":false}`, omitted: "special_to_date"},
		{name: "no url_key", root: id.with(values{"url_key": nil}), asked: "url_key", want: `PUT /products/1 {"special_from_date":false,"url_key":"-"}`},
		{name: "url_key cannot be removed", root: id, levels: []part{{2, adapter.Products, values{"entity_id": 1}}}, storeID: 2, asked: "url_key", omitted: "url_key"},
		{name: "keeps a missing url_key", root: id.with(values{"url_key": nil, "name": "N"}), asked: "name", want: `PUT /products/1 {"name":"N","special_from_date":false,"url_key":"-"}`},
		{name: "keeps a missing url_key at a store view", root: id, levels: []part{{2, adapter.Products, values{"entity_id": 1, "url_key": nil, "name": "N"}}},
			storeID: 2, asked: "name", want: `PUT /products/1/store/2 {"name":"N","url_key":"-"}`},
		{name: "price lists", root: id.with(values{
			"group_price": nested(t, adapter.Products, "group_price", values{"value_id": 4, "website_id": 0, "cust_group": 2, "price": "9.5000"}, values{"value_id": 5, "website_id": 1, "cust_group": 2, "price": "8.0000"}),
			"tier_price":  nested(t, adapter.Products, "tier_price", values{"value_id": 4, "website_id": 0, "cust_group": 32000, "price": "9.5000", "price_qty": "3.0000"}),
		}), asked: "tier_price group_price", want: `PUT /products/1 {"special_from_date":false,"group_price":[{"website_id":0,"cust_group":2,"price":"9.5000"}],` +
			`"tier_price":[{"website_id":0,"cust_group":32000,"price_qty":"3.0000","price":"9.5000"}]}`},
		{name: "no prices", root: id.with(values{"group_price": nested(t, adapter.Products, "group_price"), "tier_price": nil}), asked: "tier_price group_price",
			want: `PUT /products/1 {"special_from_date":false,"group_price":[],"tier_price":[]}`},
		{name: "prices that were not read", root: id, asked: "tier_price", omitted: "tier_price"},
		{name: "own values of a store view", root: id.with(values{"name": "Kettle", "meta_title": "Title", "sku": "s", "price": "1.0000"}),
			levels:  []part{{2, adapter.Products, values{"entity_id": 1, "name": "Bouilloire", "status": 2, "description": nil, "price": "9.0000"}}, {3, adapter.Products, values{"entity_id": 1, "name": "Kessel"}}},
			storeID: 2, asked: "name status meta_title sku price", want: `PUT /products/1/store/2 {"name":"Bouilloire","price":"1.0000","sku":"s","status":2,"meta_title":false}`},
		{name: "null at a store view", root: id.with(values{"meta_title": "Title"}), levels: []part{{2, adapter.Products, values{"entity_id": 1, "meta_title": nil}}},
			storeID: 2, asked: "meta_title", want: `PUT /products/1/store/2 {"meta_title":null}`},
		{name: "added", root: id.with(values{"deposit": "2.5000", "season_from": nil}), levels: []part{{2, adapter.Products, values{"entity_id": 1, "lead_days": 4}}},
			storeID: 2, asked: "deposit lead_days slogan season_from unseen", want: `PUT /products/1/store/2 {"deposit":"2.5000","lead_days":4,"slogan":false,"season_from":null}`},
		{name: "not for clients", root: id, asked: "entity_id type_id attribute_set_id created_at updated_at manufacturer color price_type stock_status rule_price default_url_key image_id image_file"},
	})
}

// TestUpdateKeepsStock checks with which stock_data a change of a product leaves its stock item
// alone.
func TestUpdateKeepsStock(t *testing.T) {
	root := values{"entity_id": 1, "type_id": "simple", "url_key": "key", "name": "N", "special_from_date": "2012-03-15 10:11:12"}
	item := values{"item_id": 5, "product_id": 1, "use_config_manage_stock": 1, "use_config_min_sale_qty": 1, "use_config_max_sale_qty": 1, "manage_stock": 0, "is_qty_decimal": 0, "is_decimal_divided": 0}
	var cases []updateCase
	for _, c := range []struct {
		name string
		of   values
		want string
	}{
		{"flags that an update sets", values{"is_qty_decimal": 1, "is_decimal_divided": 1}, ``},
		{"own setting, managed", values{"use_config_manage_stock": 0, "manage_stock": 1}, `,"stock_data":{"manage_stock":1}`},
		{"own setting, not managed", values{"use_config_manage_stock": 0, "is_qty_decimal": 1, "is_decimal_divided": 1}, `,"stock_data":{"manage_stock":0}`},
		{"own least quantity", values{"use_config_min_sale_qty": 0, "manage_stock": 1}, `,"stock_data":{"use_config_manage_stock":1}`},
		{"own greatest quantity of fractions", values{"use_config_max_sale_qty": 0, "is_qty_decimal": 1, "is_decimal_divided": 1},
			`,"stock_data":{"use_config_manage_stock":1,"is_qty_decimal":1,"is_decimal_divided":1}`},
		{"own setting of fractions", values{"use_config_manage_stock": 0, "manage_stock": 1, "is_qty_decimal": 1, "is_decimal_divided": 1},
			`,"stock_data":{"manage_stock":1,"is_qty_decimal":1,"is_decimal_divided":1}`},
		{"divided without fractions cannot be kept", values{"use_config_manage_stock": 0, "manage_stock": 1, "is_decimal_divided": 1}, `,"stock_data":{"manage_stock":1}`},
	} {
		cases = append(cases, updateCase{name: c.name, root: root, parts: []part{{0, adapter.StockItems, item.with(c.of)}}, asked: "name", want: `PUT /products/1 {"name":"N"` + c.want + `}`})
	}
	runUpdates(t, adapter.Products, cases)
}

func TestUpdateOfStockItems(t *testing.T) {
	item := values{"item_id": 5, "product_id": 1, "qty": "12.5000", "min_qty": "3.0000", "use_config_min_qty": 0, "backorders": 2, "is_in_stock": 1, "notify_stock_qty": nil, "min_sale_qty": "1.5000", "max_sale_qty": "200.0000", "qty_increments": "0.0000"}
	var cases []updateCase
	for _, c := range []updateCase{
		{name: "always with the quantity", asked: "backorders is_in_stock min_qty use_config_min_qty",
			want: `PUT /stockitems/5 {"qty":"12.5000","min_qty":3.0000,"use_config_min_qty":0,"backorders":2,"is_in_stock":1}`},
		{name: "quantity", asked: "qty", want: `PUT /stockitems/5 {"qty":"12.5000"}`},
		{name: "fractions are refused", asked: "min_sale_qty", want: `PUT /stockitems/5 {"qty":"12.5000","min_sale_qty":1.5000}`},
		{name: "integers are numbers", asked: "max_sale_qty qty_increments", want: `PUT /stockitems/5 {"qty":"12.5000","max_sale_qty":200,"qty_increments":0}`},
		{name: "a quantity to notify at cannot be removed", asked: "notify_stock_qty", omitted: "notify_stock_qty"},
		{name: "derived", asked: "item_id product_id stock_id low_stock_date stock_status_changed_auto product_updated_at"},
	} {
		c.root, c.resource, c.key = values{"entity_id": 1}, adapter.StockItems, 5
		c.parts = []part{{0, adapter.StockItems, values{"item_id": 4, "product_id": 1}}, {0, adapter.StockItems, item}}
		cases = append(cases, c)
	}
	runUpdates(t, adapter.Products, cases)
}

// TestStockItemsAtOpenMage checks that OpenMage, which refuses texts for most numbers of a stock item,
// takes the requests for a stock item with a value of each.
func TestStockItemsAtOpenMage(t *testing.T) {
	portico, original := openShops(t, contract.OpenMage())
	const body = `{"qty":0,"min_qty":2.0,"min_sale_qty":3,"max_sale_qty":400,"notify_stock_qty":4.5,"qty_increments":5,"use_config_min_qty":0,"backorders":1}`
	if r := portico.send(contract.Admin, "PUT", "/stockitems/1", body); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	asked := []string{"qty", "min_qty", "min_sale_qty", "max_sale_qty", "notify_stock_qty", "qty_increments", "use_config_min_qty", "backorders"}
	request, ok, err := newRequests(t).Update(portico.aggregate(t, adapter.Products, 1), adapter.StockItems, 1, 0, asked)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if r := original.execute(request); r.Status != 200 {
		t.Fatalf("%s: %d %s", request.Body, r.Status, r.Body)
	}
	want, got := portico.content(t), original.content(t)
	for _, name := range asked {
		if at := (place{adapter.StockItems, 1, 0, name}); got[at] != want[at] || got[at] == "" {
			t.Errorf("%s is %s, want %s", name, got[at], want[at])
		}
	}
}

func TestUpdateOfProductImages(t *testing.T) {
	level := func(storeID int64, image int, of values) part {
		return part{storeID, adapter.ProductImages, of.with(values{"id": image})}
	}
	pointers := func(storeID int64, of values) part {
		return part{storeID, adapter.Products, of.with(values{"entity_id": 1})}
	}
	var cases []updateCase
	for _, c := range []updateCase{
		{name: "default scope", levels: []part{level(0, 8, values{"label": "Front", "position": 3, "exclude": 0}), level(2, 8, values{"label": "Face"})},
			asked: "exclude label position", want: `PUT /products/1/images/8 {"label":"Front","position":3,"exclude":0}`},
		{name: "store view", levels: []part{level(0, 8, values{"label": "Front", "position": 3}), level(2, 8, values{"label": "Face", "position": 4})},
			storeID: 2, asked: "label position", want: `PUT /products/1/images/8/store/2 {"label":"Face","position":4}`},
		{name: "no label", levels: []part{level(0, 8, values{"label": "Front"}), level(2, 8, values{"label": nil})}, storeID: 2, asked: "label", want: `PUT /products/1/images/8/store/2 {"label":""}`},
		{name: "no values at the level", storeID: 2, asked: "label position exclude", want: `PUT /products/1/images/8/store/2 {"label":""}`, omitted: "position exclude"},
		{name: "types", levels: []part{pointers(0, values{"image_id": 8, "small_image_id": 7, "thumbnail_id": 8})}, asked: "types", want: `PUT /products/1/images/8 {"types":["image","thumbnail"]}`},
		{name: "types of a store view", levels: []part{pointers(0, values{"image_id": 8, "small_image_id": 8}), pointers(2, values{"image_id": nil, "thumbnail_id": 8})},
			storeID: 2, asked: "types", want: `PUT /products/1/images/8/store/2 {"types":["small_image","thumbnail"]}`},
		{name: "no types", asked: "types", want: `PUT /products/1/images/8 {"types":[]}`},
		{name: "removed where the default scope uses it", levels: []part{pointers(0, values{"image_id": 8}), pointers(2, values{"image_id": nil})},
			storeID: 2, asked: "types removed", want: `DELETE /products/1/images/8/store/2`},
		{name: "removed where nothing else may use it", levels: []part{pointers(1, values{"image_id": 8}), pointers(2, values{"image_id": nil})},
			storeID: 2, asked: "types removed", want: `PUT /products/1/images/8/store/2 {"types":[]}`},
		{name: "removed and changed", levels: []part{pointers(0, values{"image_id": 8}), pointers(2, values{"image_id": nil}), level(2, 8, values{"label": "Face"})},
			storeID: 2, asked: "removed label", want: `PUT /products/1/images/8/store/2 {"label":"Face","types":[]}`},
		{name: "removed and used again", levels: []part{pointers(0, values{"image_id": 8})}, storeID: 2, asked: "removed", want: `PUT /products/1/images/8/store/2 {"types":["image"]}`},
		{name: "not for clients", asked: "id product_id file media_type content number_from"},
	} {
		c.root, c.resource, c.key = values{"entity_id": 1}, adapter.ProductImages, 8
		c.parts = []part{{0, adapter.ProductImages, values{"id": 8, "product_id": 1, "file": "f/r/front.png"}}}
		cases = append(cases, c)
	}
	runUpdates(t, adapter.Products, cases)
}

// TestUpdateOfOthers checks that nothing is sent for records that clients cannot change.
func TestUpdateOfOthers(t *testing.T) {
	requests := newRequests(t)
	for _, r := range adapter.Resources() {
		switch r {
		case adapter.Customers, adapter.CustomerAddresses, adapter.Products, adapter.ProductImages, adapter.StockItems:
			continue
		}
		one := adapter.Aggregate{Record: record(t, r, nil)}
		if request, ok, err := requests.Update(one, r, 1, 0, []string{"website_id", "category_id", "position", "comment", "status", "name"}); ok || err != nil {
			t.Errorf("%s: %v, %v", r, request, err)
		}
	}
}

// TestUpdateErrors checks the errors of updates that cannot be translated.
func TestUpdateErrors(t *testing.T) {
	requests := newRequests(t)
	product := adapter.Aggregate{Record: record(t, adapter.Products, values{"entity_id": 1}), Parts: []adapter.Record{record(t, adapter.StockItems, values{"item_id": 5, "product_id": 1})}}
	for name, of := range map[string]struct {
		resource adapter.Resource
		key      adapter.Key
	}{"another root": {adapter.Products, 2}, "no such part": {adapter.StockItems, 1}, "another resource": {adapter.Customers, 1}} {
		if request, ok, err := requests.Update(product, of.resource, of.key, 0, []string{"qty"}); ok || err == nil || adapter.KindOf(err) != adapter.NotFound {
			t.Errorf("%s: %v, %v", name, request, err)
		}
	}
	if _, ok, err := requests.Update(adapter.Aggregate{}, adapter.Products, 1, 0, []string{"name"}); ok || adapter.KindOf(err) != adapter.NotFound || err == nil {
		t.Errorf("no record: %v", err)
	}
	_, ok, err := requests.Update(product, adapter.Products, 1, 0, []string{"name", "stock_item"})
	if want := "mirror: update products 1: stock_item is a record of its own: name its attributes in an update of stock_items"; ok || err == nil || err.Error() != want {
		t.Errorf("stock_item: %v, want %s", err, want)
	}
	image := adapter.Aggregate{Record: record(t, adapter.Products, values{"entity_id": 1}), Parts: []adapter.Record{record(t, adapter.ProductImages, values{"id": 8})}}
	if _, ok, err := requests.Update(image, adapter.ProductImages, 8, 0, []string{"label"}); ok || adapter.KindOf(err) != adapter.Invalid || err == nil {
		t.Errorf("image without a product: %v", err)
	}
}
