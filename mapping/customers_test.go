package mapping_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A customerShop serves the demo store in both dialects, with additional customers that
// have the fields missing from the demo's.
type customerShop struct {
	services map[string]*mapping.Service
	headers  map[string]string // Authorization header by caller
	reads    *reads
}

const (
	asJSON = "application/json"
	asXML  = "application/xml"
)

// openCustomerShop opens the shop; maxRows limits lists without a limit.
func openCustomerShop(t *testing.T, maxRows int64) *customerShop {
	t.Helper()
	data := loadDemo(t)
	ada, ben := data.Records[adapter.Customers][0], data.Records[adapter.Customers][1]
	ada.Set("suffix", adapter.TextValue(""))
	ada.Set("confirmation", adapter.TextValue("0123456789abcdef0123456789abcdef"))
	ada.Set("last_logged_in", adapter.TextValue("2012-02-03 04:05:06"))
	ben.Set("prefix", adapter.NullValue())
	ben.Set("middlename", adapter.TextValue("A"))
	ben.Set("reward_update_notification", adapter.IntegerValue(1))
	home, office := data.Records[adapter.CustomerAddresses][0], data.Records[adapter.CustomerAddresses][1]
	home.Set("prefix", adapter.TextValue("Ms."))
	home.Set("suffix", adapter.TextValue("II"))
	office.Set("company", adapter.NullValue())
	office.Set("street", adapter.TextsValue([]string{"1", "", "3", "4"}))

	store := openStore(t, data)
	shop := &customerShop{services: map[string]*mapping.Service{}, headers: map[string]string{"guest": ""}, reads: &reads{}}
	for _, d := range contract.Dialects() {
		settings := mapping.Settings{BodyBytes: 1 << 20, QueryBytes: 1 << 14, MaxRows: maxRows, Now: time.Now}
		backend := countingAdapter{store, shop.reads}
		var err error
		shop.services[d.Name], err = mapping.New(d, contract.StandardFields(), backend, adapter.NewSchemas(), store.authenticator(), settings, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, token := range data.Tokens {
		caller := "admin"
		if token.CustomerID != 0 {
			caller = fmt.Sprintf("customer %d", token.CustomerID)
		}
		shop.headers[caller] = authorization(data, token)
	}
	return shop
}

// get sends a GET for a path below the prefix.
func (shop *customerShop) get(t *testing.T, dialect, as, path, accept string) (status int, body string) {
	t.Helper()
	r := httptest.NewRequest("GET", "/api/rest"+path, nil)
	r.Header.Set("Accept", accept)
	header, known := shop.headers[as]
	if !known {
		t.Fatalf("no caller %q", as)
	}
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	response := shop.services[dialect].Serve(t.Context(), &mapping.Request{HTTP: r, Scheme: "http"}, nil)
	return response.Status, string(response.Body)
}

const (
	noSuchRecord     = `{"messages":{"error":[{"code":404,"message":"Resource not found."}]}}`
	orderingRefused  = `{"messages":{"error":[{"code":400,"message":"Resource collection ordering error."}]}}`
	filteringRefused = `{"messages":{"error":[{"code":400,"message":"Resource collection filtering error."}]}}`
)

// TestCustomerReads checks what neither a recorded exchange nor a clause of the
// specification covers: the exact bytes, including the order of fields, of records that
// have every field, and the list modifiers on every special field.
func TestCustomerReads(t *testing.T) {
	shop := openCustomerShop(t, 1000)
	tests := []struct {
		name, dialect, as, path, accept string
		status                          int
		body                            string
	}{
		{"every field of a magento record", "magento", "admin", "/customers/1", asJSON, 200,
			`{"entity_id":"1","website_id":"1","email":"ada@example.com","group_id":"1","created_at":"2012-01-02T03:04:05+00:00","updated_at":"2012-01-05 00:00:00","disable_auto_group_change":"0","prefix":"Ms.","firstname":"Ada","middlename":"K","lastname":"Byron","suffix":null,"taxvat":"GB123","created_in":"English","confirmation":"0123456789abcdef0123456789abcdef","dob":"1985-12-10 00:00:00","gender":"2","last_logged_in":"2012-02-03 04:05:06"}`},
		{"absent and null values, and attributes unknown to magento", "magento", "admin", "/customers/2", asJSON, 200,
			`{"entity_id":"2","website_id":"1","email":"ben@example.com","group_id":"2","created_at":"2012-01-02T03:04:05+00:00","updated_at":"2012-01-05 00:00:00","disable_auto_group_change":"1","prefix":null,"firstname":"Ben","middlename":"A","lastname":"Okri","created_in":"English"}`},
		{"a magento list: plain time, no last_logged_in", "magento", "admin", "/customers?limit=1", asJSON, 200,
			`{"1":{"entity_id":"1","website_id":"1","email":"ada@example.com","group_id":"1","created_at":"2012-01-02 03:04:05","updated_at":"2012-01-05 00:00:00","disable_auto_group_change":"0","prefix":"Ms.","firstname":"Ada","middlename":"K","lastname":"Byron","suffix":null,"taxvat":"GB123","created_in":"English","confirmation":"0123456789abcdef0123456789abcdef","dob":"1985-12-10 00:00:00","gender":"2"}}`},
		{"a Customer's own magento record", "magento", "customer 1", "/customers/1", asJSON, 200,
			`{"email":"ada@example.com","created_at":"2012-01-02T03:04:05+00:00","updated_at":"2012-01-05 00:00:00","firstname":"Ada","middlename":"K","lastname":"Byron"}`},
		{"a documented record in JSON", "documented", "admin", "/customers/1", asJSON, 200,
			`{"entity_id":"1","website_id":"1","email":"ada@example.com","group_id":"1","created_at":"2012-01-02 03:04:05","disable_auto_group_change":"0","created_in":"English","firstname":"Ada","lastname":"Byron","prefix":"Ms.","middlename":"K","suffix":null,"taxvat":"GB123"}`},
		{"a documented record in XML", "documented", "admin", "/customers/1", asXML, 200,
			"<?xml version=\"1.0\"?>\n<service_api>\n  <entity_id>1</entity_id>\n  <website_id>1</website_id>\n  <email>ada@example.com</email>\n  <group_id>1</group_id>\n  <created_at>2012-01-02 03:04:05</created_at>\n  <disable_auto_group_change>0</disable_auto_group_change>\n  <created_in>English</created_in>\n  <firstname>Ada</firstname>\n  <lastname>Byron</lastname>\n  <prefix>Ms.</prefix>\n  <middlename>K</middlename>\n  <suffix/>\n  <taxvat>GB123</taxvat>\n  <last_logged_in>2012-02-03 04:05:06</last_logged_in>\n</service_api>\n"},
		{"a documented list: reward flags of a backend that has them", "documented", "admin", "/customers?limit=1&page=2", asJSON, 200,
			`{"2":{"entity_id":"2","website_id":"1","email":"ben@example.com","group_id":"2","created_at":"2012-01-02 03:04:05","disable_auto_group_change":"1","firstname":"Ben","lastname":"Okri","created_in":"English","prefix":null,"suffix":null,"taxvat":null,"dob":null,"reward_update_notification":"1","reward_warning_notification":null,"gender":null}}`},
		{"selected fields keep their order", "documented", "admin", "/customers?attrs=last_logged_in,gender,middlename,updated_at,lastname&limit=1", asJSON, 200,
			`{"1":{"updated_at":"2012-01-05 00:00:00","middlename":"K","lastname":"Byron","gender":"2","last_logged_in":"2012-02-03 04:05:06"}}`},

		{"last_logged_in selected on a magento record", "magento", "admin", "/customers/1?attrs=last_logged_in", asJSON, 200, `{"last_logged_in":"2012-02-03 04:05:06"}`},
		{"last_logged_in selected on a magento list", "magento", "admin", "/customers?attrs=last_logged_in&limit=2", asJSON, 200, `{"1":[],"2":[]}`},
		{"absent fields selected on a magento record", "magento", "admin", "/customers/3?attrs=prefix,dob", asJSON, 200, `[]`},
		{"absent fields selected, in XML", "magento", "admin", "/customers/3?attrs=prefix,dob", asXML, 200, "<?xml version=\"1.0\"?>\n<magento_api/>\n"},
		{"absent fields selected on a list, in XML", "magento", "admin", "/customers?attrs=dob&order=entity_id&limit=1", asXML, 200, "<?xml version=\"1.0\"?>\n<magento_api>\n  <data_item/>\n</magento_api>\n"},
		{"attrs unknown to magento select nothing", "magento", "admin", "/customers/2?attrs=reward_update_notification", asJSON, 500, ``},
		{"empty selection of an empty list", "magento", "admin", "/customers?attrs=nope&filter[1][attribute]=email&filter[1][eq]=x", asJSON, 200, `[]`},
		{"empty selection of a list", "magento", "admin", "/customers?attrs=nope", asJSON, 500, ``},
		{"attrs unreadable for the role select nothing", "magento", "customer 1", "/customers/1?attrs=entity_id,dob", asJSON, 500, ``},
		{"an unknown record before its selection", "magento", "admin", "/customers/99?attrs=nope", asJSON, 404, noSuchRecord},

		{"order by last_logged_in, descending, has no effect", "magento", "admin", "/customers?order=last_logged_in&attrs=entity_id&limit=2", asJSON, 200, `{"1":{"entity_id":"1"},"2":{"entity_id":"2"}}`},
		{"order by last_logged_in, ascending, has no effect", "documented", "admin", "/customers?order=last_logged_in&dir=asc&attrs=entity_id&limit=2", asJSON, 200, `{"1":{"entity_id":"1"},"2":{"entity_id":"2"}}`},
		{"order by last_logged_in with a list of directions", "magento", "admin", "/customers?order=last_logged_in&dir[]=asc", asJSON, 500, ``},
		{"order by an attribute some lack, descending", "magento", "admin", "/customers?order=middlename&attrs=entity_id", asJSON, 200, `{"1":{"entity_id":"1"},"2":{"entity_id":"2"},"3":{"entity_id":"3"},"4":{"entity_id":"4"}}`},
		{"order by an attribute some lack, ascending", "documented", "admin", "/customers?order=middlename&dir=ASC&attrs=entity_id", asJSON, 200, `{"3":{"entity_id":"3"},"4":{"entity_id":"4"},"2":{"entity_id":"2"},"1":{"entity_id":"1"}}`},
		{"order by an attribute unknown to magento", "magento", "admin", "/customers?order=reward_update_notification", asJSON, 400, orderingRefused},
		{"order by the same attribute, documented", "documented", "admin", "/customers?order=reward_update_notification&attrs=entity_id&limit=1", asJSON, 200, `{"2":{"entity_id":"2"}}`},
		{"filter by last_logged_in", "magento", "admin", "/customers?filter[1][attribute]=last_logged_in&filter[1][notnull]=1", asJSON, 400, filteringRefused},
		{"filter null finds only stored nulls", "magento", "admin", "/customers?attrs=entity_id&filter[1][attribute]=prefix&filter[1][null]=1", asJSON, 200, `{"2":{"entity_id":"2"}}`},
		{"filter ignores case and accents", "magento", "admin", "/customers?attrs=entity_id&filter[1][attribute]=lastname&filter[1][eq]=weis", asJSON, 200, `{"3":{"entity_id":"3"}}`},
		{"filter by a date", "documented", "admin", "/customers?attrs=entity_id&filter[1][attribute]=dob&filter[1][lt]=1986-01-01", asJSON, 200, `{"1":{"entity_id":"1"}}`},
		{"filter without an operator, magento", "magento", "admin", "/customers?filter[1][attribute]=email", asJSON, 500, ``},
		{"filter by an expression", "documented", "admin", "/customers?attrs=entity_id&filter[1][attribute]=email&filter[1][regexp]=%5E(ben%7Cdot)%40", asJSON, 200, `{"2":{"entity_id":"2"},"4":{"entity_id":"4"}}`},

		{"a Customer's list", "magento", "customer 2", "/customers?limit=0", asJSON, 200, `{"2":{"email":"ben@example.com","created_at":"2012-01-02 03:04:05","updated_at":"2012-01-05 00:00:00","firstname":"Ben","middlename":"A","lastname":"Okri"}}`},
		{"a Customer's list, a page beyond its end", "magento", "customer 2", "/customers?limit=1&page=4&attrs=email", asJSON, 200, `{"2":{"email":"ben@example.com"}}`},
		{"a Customer's filter finds only their own record", "magento", "customer 2", "/customers?filter[1][attribute]=email&filter[1][eq]=ada@example.com", asJSON, 200, `[]`},
		{"a Customer's filter of alternatives, too", "magento", "customer 2", "/customers?attrs=email&filter[1][attribute]=email&filter[1][in][]=ada@example.com&filter[1][in][]=ben@example.com", asJSON, 200, `{"2":{"email":"ben@example.com"}}`},
		{"a Customer's expression, too", "magento", "customer 2", "/customers?attrs=email&filter[1][attribute]=email&filter[1][regexp]=.", asJSON, 200, `{"2":{"email":"ben@example.com"}}`},
		{"a Customer's order by a field of the role", "magento", "customer 2", "/customers?order=lastname&attrs=email", asJSON, 200, `{"2":{"email":"ben@example.com"}}`},
		{"a Customer's order by entity_id", "magento", "customer 2", "/customers?order=entity_id", asJSON, 400, orderingRefused},
		{"a Customer's order by last_logged_in", "magento", "customer 2", "/customers?order=last_logged_in", asJSON, 400, orderingRefused},
		{"a Customer's filter by entity_id", "magento", "customer 2", "/customers?filter[1][attribute]=entity_id&filter[1][eq]=2", asJSON, 400, filteringRefused},
		{"store is not a parameter", "magento", "customer 2", "/customers?store=nope&attrs=email", asJSON, 200, `{"2":{"email":"ben@example.com"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body := shop.get(t, tt.dialect, tt.as, tt.path, tt.accept)
			if status != tt.status || body != tt.body {
				t.Errorf("%d\n%s\nwant %d\n%s", status, body, tt.status, tt.body)
			}
		})
	}
}

func TestCustomerAddressReads(t *testing.T) {
	shop := openCustomerShop(t, 1000)
	const complete = `[{"entity_id":"2"},{"entity_id":"1"}]`
	tests := []struct {
		name, dialect, as, path, accept string
		status                          int
		body                            string
	}{
		{"a magento record", "magento", "admin", "/customers/addresses/1", asJSON, 200,
			`{"entity_id":"1","created_at":"2012-01-02T03:04:05+00:00","updated_at":"2012-01-05 00:00:00","prefix":"Ms.","firstname":"Ada","lastname":"Byron","suffix":"II","company":"Analytical & Co","city":"San Francisco","country_id":"US","region":"California","postcode":"94105","telephone":"415-555-0100","street":["1 Engine Way"],"is_default_billing":1,"is_default_shipping":1}`},
		{"a magento record as its Customer sees it", "magento", "customer 1", "/customers/addresses/1?attrs=prefix,suffix,firstname,created_at", asJSON, 200,
			`{"created_at":"2012-01-02T03:04:05+00:00","firstname":"Ada"}`},
		{"a magento list: plain time, null company, lines as stored", "magento", "admin", "/customers/1/addresses?attrs=created_at,company,fax,street", asJSON, 200,
			`[{"created_at":"2012-01-02 03:04:05","company":null,"fax":"020-555-0199","street":["1","","3","4"]},{"created_at":"2012-01-02 03:04:05","company":"Analytical & Co","street":["1 Engine Way"]}]`},
		{"a documented record", "documented", "customer 1", "/customers/addresses/1", asJSON, 200,
			`{"entity_id":"1","firstname":"Ada","lastname":"Byron","middlename":null,"prefix":"Ms.","suffix":"II","company":"Analytical & Co","fax":null,"vat_id":null,"street":["1 Engine Way"],"city":"San Francisco","region":"California","postcode":"94105","country_id":"US","telephone":"415-555-0100","is_default_billing":1,"is_default_shipping":1}`},
		{"a documented street of four lines", "documented", "admin", "/customers/addresses/2?attrs=street,company", asJSON, 200,
			`{"company":null,"street":["1","; 3; 4"]}`},
		{"selected fields keep their order", "documented", "admin", "/customers/addresses/1?attrs=updated_at,created_at,is_default_shipping", asJSON, 200,
			`{"created_at":"2012-01-02 03:04:05","updated_at":"2012-01-05 00:00:00","is_default_shipping":1}`},
		{"empty selection of a list", "magento", "admin", "/customers/1/addresses?attrs=nope", asJSON, 500, ``},
		{"empty selection of an empty list", "magento", "admin", "/customers/4/addresses?attrs=nope", asJSON, 200, `[]`},

		{"limit and page have no effect", "magento", "admin", "/customers/1/addresses?limit=1&page=2&attrs=entity_id", asJSON, 200, complete},
		{"order has no effect", "documented", "admin", "/customers/1/addresses?order=entity_id&dir=asc&attrs=entity_id", asJSON, 200, complete},
		{"order by a flag is accepted", "magento", "customer 1", "/customers/1/addresses?order=is_default_billing&attrs=entity_id", asJSON, 200, complete},
		{"order by the street is accepted", "documented", "admin", "/customers/1/addresses?order=street&attrs=entity_id", asJSON, 200, complete},
		{"order by prefix as Customer, magento", "magento", "customer 1", "/customers/1/addresses?order=prefix", asJSON, 400, orderingRefused},
		{"order by prefix as Customer, documented", "documented", "customer 1", "/customers/1/addresses?order=prefix&attrs=entity_id", asJSON, 200, complete},
		{"filters have no effect", "magento", "admin", "/customers/1/addresses?attrs=entity_id&filter[1][attribute]=street&filter[1][eq]=x&filter[2][attribute]=city&filter[2][in][]=y", asJSON, 200, complete},
		{"filter by a flag", "magento", "admin", "/customers/1/addresses?filter[1][attribute]=is_default_shipping&filter[1][eq]=1", asJSON, 400, filteringRefused},
		{"filter by prefix as Customer, magento", "magento", "customer 1", "/customers/1/addresses?filter[1][attribute]=prefix&filter[1][eq]=x", asJSON, 400, filteringRefused},
		{"filter without an operator, magento", "magento", "admin", "/customers/1/addresses?attrs=entity_id&filter[1][attribute]=city", asJSON, 200, complete},
		{"filter with is, magento", "magento", "admin", "/customers/1/addresses?attrs=entity_id&filter[1][attribute]=city&filter[1][is]=x", asJSON, 200, complete},
		{"filter after one without an operator, magento", "magento", "admin", "/customers/1/addresses?filter[1][attribute]=city&filter[2][attribute]=region_id", asJSON, 400, filteringRefused},
		{"filter without an operator, documented", "documented", "admin", "/customers/1/addresses?filter[1][attribute]=city", asJSON, 400, filteringRefused},
		{"limit that is not a number, magento", "magento", "admin", "/customers/1/addresses?limit=abc", asJSON, 500, ``},
		{"an empty list checks its modifiers", "magento", "admin", "/customers/4/addresses?order=nope", asJSON, 400, orderingRefused},
		{"an unknown customer before the modifiers", "magento", "admin", "/customers/99/addresses?limit=abc", asJSON, 404, noSuchRecord},
		{"a foreign customer before the modifiers", "magento", "customer 2", "/customers/1/addresses?order=nope", asJSON, 404, noSuchRecord},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body := shop.get(t, tt.dialect, tt.as, tt.path, tt.accept)
			if status != tt.status || body != tt.body {
				t.Errorf("%d\n%s\nwant %d\n%s", status, body, tt.status, tt.body)
			}
		})
	}
}

// TestCustomerOwnership sends each call as each caller. Which records a Customer can read
// is the same in both dialects, except for the list.
func TestCustomerOwnership(t *testing.T) {
	shop := openCustomerShop(t, 1000)
	tests := []struct {
		path   string
		own    string // "customer 1", "customer 2", or "" for neither
		absent bool
	}{
		{path: "/customers/1", own: "customer 1"},
		{path: "/customers/2", own: "customer 2"},
		{path: "/customers/3"},
		{path: "/customers/99", absent: true},
		{path: "/customers/addresses", absent: true},
		{path: "/customers/1/addresses", own: "customer 1"},
		{path: "/customers/2abc/addresses", own: "customer 2"},
		{path: "/customers/4/addresses"},
		{path: "/customers/0/addresses", absent: true},
		{path: "/customers/99/addresses", absent: true},
		{path: "/customers/addresses/1", own: "customer 1"},
		{path: "/customers/addresses/02", own: "customer 1"},
		{path: "/customers/addresses/3", own: "customer 2"},
		{path: "/customers/addresses/5"},
		{path: "/customers/addresses/99", absent: true},
		{path: "/customers/addresses/9223372036854775807", absent: true},
	}
	for _, d := range contract.Dialects() {
		for _, tt := range tests {
			t.Run(d.Name+tt.path, func(t *testing.T) {
				for as := range shop.headers {
					want := 404
					switch {
					case as == "guest":
						want = 403
					case !tt.absent && (as == "admin" || as == tt.own):
						want = 200
					}
					status, body := shop.get(t, d.Name, as, tt.path, asJSON)
					if status != want {
						t.Errorf("%s: status %d, want %d", as, status, want)
					}
					if want == 404 && body != noSuchRecord {
						t.Errorf("%s: %s", as, body)
					}
				}
			})
		}
	}
	for as, want := range map[string]map[string]int{
		"admin":      {"documented": 200, "magento": 200},
		"customer 1": {"documented": 403, "magento": 200},
		"guest":      {"documented": 403, "magento": 403},
	} {
		for dialect, want := range want {
			if status, _ := shop.get(t, dialect, as, "/customers", asJSON); status != want {
				t.Errorf("/customers in %s for %s: status %d, want %d", dialect, as, status, want)
			}
		}
	}
}

// TestCustomerStoreCalls limits the number of store calls that one request makes.
func TestCustomerStoreCalls(t *testing.T) {
	shop := openCustomerShop(t, 1000)
	tests := []struct {
		name, as, path string
		calls          int
	}{
		{"one customer", "admin", "/customers/1", 1},
		{"own record", "customer 1", "/customers/1", 1},
		{"a foreign record is not read", "customer 1", "/customers/2", 0},
		{"an invalid id is not read", "admin", "/customers/abc", 0},
		{"a list", "admin", "/customers?order=email&filter[1][attribute]=website_id&filter[1][eq]=1", 1},
		{"a page beyond the end: also the number of rows, and the last page", "admin", "/customers?limit=2&page=9", 3},
		{"an invalid order", "admin", "/customers?order=nope", 0},
		{"one address", "admin", "/customers/addresses/1", 1},
		{"addresses", "customer 1", "/customers/1/addresses", 1},
		{"no addresses: also the customer", "admin", "/customers/4/addresses", 2},
		{"addresses of a foreign customer are not read", "customer 1", "/customers/2/addresses", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shop.reads.take()
			shop.get(t, "documented", tt.as, tt.path, asJSON)
			if got := len(shop.reads.take()); got != tt.calls {
				t.Errorf("%d calls, want %d", got, tt.calls)
			}
		})
	}
}

// TestCustomerListsAreBounded checks that lists without a limit respect the operator's
// limit.
func TestCustomerListsAreBounded(t *testing.T) {
	shop := openCustomerShop(t, 1)
	for path, want := range map[string]string{
		"/customers?limit=0&attrs=email":         `{"1":{"email":"ada@example.com"}}`,
		"/customers/2/addresses?attrs=entity_id": `[{"entity_id":"4"}]`,
	} {
		if status, body := shop.get(t, "documented", "admin", path, asJSON); status != 200 || body != want {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
}
