package mapping_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/contracttests/nightly"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

// write sends a JSON body as role.
func (s *shop) write(role contract.Role, method, target, body string) mapping.Response {
	return s.serve(role, method, target, body, "Accept", "application/json", "Content-Type", "application/json")
}

// storedRecord returns a record as stored.
func (s *shop) storedRecord(t testing.TB, r adapter.Resource, key adapter.Key) adapter.Record {
	t.Helper()
	store, err := s.direct.Store(r)
	if err != nil {
		t.Fatal(err)
	}
	record, err := store.Get(t.Context(), &adapter.GetParams{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// body returns base in JSON, with other fields added or replaced; a field set to no is
// left out.
func body(t testing.TB, base map[string]any, other ...any) string {
	t.Helper()
	fields := map[string]any{}
	for name, v := range base {
		fields[name] = v
	}
	for i := 0; i < len(other); i += 2 {
		fields[other[i].(string)] = other[i+1]
		if other[i+1] == no {
			delete(fields, other[i].(string))
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const no = "\x00left out"

func newCustomer() map[string]any {
	return map[string]any{"firstname": "Eve", "lastname": "Poe", "email": "eve@example.com", "password": "secret77", "website_id": 1, "group_id": 1}
}

func newAddress() map[string]any {
	return map[string]any{"firstname": "Eve", "lastname": "Poe", "street": []string{"1 Pine St"}, "city": "Austin", "country_id": "US",
		"region": "Texas", "postcode": "73301", "telephone": "555-0001"}
}

// TestMagentoAddressMessages checks the magento column of the table in customers 6. The
// specification's own cases cover the documented one.
func TestMagentoAddressMessages(t *testing.T) {
	const (
		country  = `400 "Country" is a required value.`
		required = `400 "State/Province" is required.`
		badType  = `400 Invalid "State/Province" type.`
		unknown  = "400 State/Province does not exist."
		crash    = ""
	)
	s := openShop(t, contract.Magento())
	tests := []struct {
		name  string
		other []any
		want  string
	}{
		{"no country", []any{"country_id", no}, country},
		{"false for a country", []any{"country_id", false}, country},
		{"empty list for a country", []any{"country_id", []int{}}, country},
		{"list for a country", []any{"country_id", []string{"US"}}, "400 Invalid value type for country_id"},
		{"number for a country", []any{"country_id", 0}, `400 Invalid value "0" for country_id`},
		{"true for a country", []any{"country_id", true}, `400 Invalid value "1" for country_id`},
		{"short country", []any{"country_id", "U"}, `400 Invalid value "U" for country_id`},
		{"unknown country", []any{"country_id", "ZZ"}, `400 Invalid value "ZZ" for country_id`},
		{"country in three letters", []any{"country_id", "USA"}, `400 Invalid value "USA" for country_id`},
		{"no region", []any{"region", no}, required},
		{"empty region", []any{"region", ""}, required},
		{"null for a region", []any{"region", nil}, required},
		{"false for a region", []any{"region", false}, required},
		{"empty list for a region", []any{"region", []int{}}, required},
		{"0 for a region", []any{"region", 0}, required},
		{"the text \"0\" for a region", []any{"region", "0"}, required},
		{"list for a region", []any{"region", []string{"Texas"}}, crash},
		{"record for a region in a country without regions", []any{"region", map[string]string{"a": "b"}, "country_id", "GB"}, crash},
		{"number for a region", []any{"region", 5}, badType},
		{"true for a region", []any{"region", true}, badType},
		{"0 for a region in a country without regions", []any{"region", 0, "country_id", "GB"}, badType},
		{"null for a region in a country without regions", []any{"region", nil, "country_id", "GB"}, badType},
		{"false for a region in a country without regions", []any{"region", false, "country_id", "GB"}, badType},
		{"empty list for a region in a country without regions", []any{"region", []int{}, "country_id", "GB"}, badType},
		{"unknown region", []any{"region", "Nowhere"}, unknown},
		{"blank before the region", []any{"region", " TX"}, unknown},
		{"region of another country", []any{"region", "ON"}, unknown},
		{"empty first name", []any{"firstname", ""}, `400 "First Name" is a required value.`},
		{"no postcode", []any{"postcode", no}, `400 "Zip/Postal Code" is a required value.`},
		{"list inside the street", []any{"street", []any{[]string{"a"}}}, crash},
		{"list for a text", []any{"city", []string{"a"}}, crash},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := s.write(contract.Admin, "POST", "/customers/4/addresses", body(t, newAddress(), tt.other...))
			if tt.want == crash {
				checkReply(t, r, 500, typeHTML, "")
				return
			}
			checkRefused(t, r, tt.want, closing)
		})
	}
	for _, country := range []string{"HK", "IE", "MO", "PA"} {
		if r := s.write(contract.Admin, "POST", "/customers/4/addresses", body(t, newAddress(), "country_id", country, "postcode", no)); r.Status != 200 {
			t.Errorf("%s without a postcode: %d %s", country, r.Status, r.Body)
		}
	}
	s.write(contract.Admin, "PUT", "/customers/addresses/2", `{"country_id":"IE"}`)
	checkRefused(t, s.write(contract.Admin, "PUT", "/customers/addresses/2", `{"postcode":""}`), `400 "Zip/Postal Code" is a required value.`, closing)
	checkSaved(t, s.write(contract.Admin, "PUT", "/customers/addresses/2", `{"postcode":"","country_id":"IE"}`))
}

// TestMagentoCustomerMessages checks the messages of the magento dialect that differ from
// those of the documented one, or have no counterpart there (customers 4 and 5).
func TestMagentoCustomerMessages(t *testing.T) {
	const taken, zero, unsaved, unhandled = "500 This customer email already exists", "500 Customer email is required", "0 id is not specified", "500 Unhandled simple errors."
	s := openShop(t, contract.Magento())
	create := func(other ...any) mapping.Response {
		return s.write(contract.Admin, "POST", "/customers", body(t, newCustomer(), other...))
	}
	for name, r := range map[string]mapping.Response{
		taken: create("email", "ADA@example.com"),
		zero:  create("email", 0),
	} {
		if got := strings.Join(faults(t, r), "; "); got != name+"; "+unsaved || r.Status != 500 {
			t.Errorf("%s: %d %s", name, r.Status, got)
		}
	}
	checkRefused(t, s.write(contract.Admin, "PUT", "/customers/1", `{"email":"ben@example.com"}`), taken, unhandled)
	checkRefused(t, s.write(contract.Admin, "PUT", "/customers/1", `{"email":"0"}`), zero, unhandled)
	checkRefused(t, create("email", "0", "firstname", ""), `400 "First Name" is a required value.`, closing)
	checkRefused(t, create("email", 7), `400 "Email" invalid type entered.`, closing)
	checkRefused(t, create("dob", 0), "500 Resource internal error.")
	for name, other := range map[string][]any{
		"year first": {"dob", "1990-02-03"}, "no date": {"dob", []int{}}, "list for a name": {"firstname", []string{"x"}},
		"host with two faults": {"email", "a@a-.zz"}, "beside another fault": {"lastname", "", "prefix", []string{"x"}},
	} {
		t.Run(name, func(t *testing.T) { checkReply(t, create(other...), 500, typeHTML, "") })
	}
	if got := s.storedRecord(t, adapter.Customers, 1).Get("email").Text(); got != "ada@example.com" {
		t.Errorf("invalid body saved: %s", got)
	}
}

// TestStoredCustomer checks what is stored for a new customer (customers 5).
func TestStoredCustomer(t *testing.T) {
	key := regexp.MustCompile(`^[0-9a-f]{32}$`)
	long := strings.Repeat("long ", 20) + "password"
	inBothDialects(t, func(t *testing.T, s *shop) {
		for i, password := range []string{"secret77", "  secret77 ", long} {
			r := s.write(contract.Admin, "POST", "/customers", body(t, newCustomer(), "email", fmt.Sprintf("e%d@example.com", i), "password", password))
			if want := fmt.Sprintf("/api/rest/customers/%d", 5+i); r.Status != 200 || r.Location != want || len(r.Body) != 0 {
				t.Fatalf("%d, location %q, want %s: %s", r.Status, r.Location, want, r.Body)
			}
			stored := s.storedRecord(t, adapter.Customers, adapter.Key(5+i))
			hash, confirmation := stored.Get("password_hash").Text(), stored.Get("confirmation").Text()
			if s.documented() {
				if !adapter.PasswordMatches(hash, strings.Trim(password, " ")) || confirmation != "" {
					t.Errorf("hash %q, confirmation %q", hash, confirmation)
				}
			} else if hash != "" || !key.MatchString(confirmation) {
				t.Errorf("hash %q, confirmation %q", hash, confirmation)
			}
			if stored.Get("created_in").Text() != "Admin" || stored.Get("store_id").Int() != 0 || stored.Get("disable_auto_group_change").Text() != "0" {
				t.Errorf("stored %v", stored.Values)
			}
		}
		if log := s.log.String(); log != "" {
			t.Errorf("logged: %s", log)
		}
	})
}

// A passwordAdapter collects the passwords in the customers that its store is asked to write.
type passwordAdapter struct {
	adapter.Adapter
	passwords *[]string
}

func (a passwordAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	s, err := a.Adapter.Store(r)
	if err != nil || r != adapter.Customers {
		return s, err
	}
	return passwordStore{s, a.passwords}, nil
}

type passwordStore struct {
	adapter.Store
	passwords *[]string
}

func (s passwordStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	*s.passwords = append(*s.passwords, p.Record.Get("password").Text())
	return s.Store.Create(ctx, p)
}

func (s passwordStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	wrapped := *p
	wrapped.Change = func(current adapter.Record) (adapter.Record, error) {
		change, err := p.Change(current)
		*s.passwords = append(*s.passwords, change.Get("password").Text())
		return change, err
	}
	return s.Store.Update(ctx, &wrapped)
}

// TestPasswordsForOtherSystems checks that a store gets a new password in plain text, so that
// it can forward the write, and stores only the hash.
func TestPasswordsForOtherSystems(t *testing.T) {
	var passwords []string
	s := openShopWith(t, contract.Documented(), settings(), func(backend adapter.Adapter) adapter.Adapter {
		return passwordAdapter{backend, &passwords}
	})
	if r := s.write(contract.Admin, "POST", "/customers", body(t, newCustomer(), "password", " secret77 ")); r.Status != 200 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	checkSaved(t, s.write(contract.Admin, "PUT", "/customers/5", `{"firstname":"Eve"}`))
	checkSaved(t, s.write(contract.Customer, "PUT", "/customers/1", `{"password":"secret88"}`))
	if want := []string{"secret77", "", "secret88"}; !slices.Equal(passwords, want) {
		t.Errorf("the store got %q, want %q", passwords, want)
	}
	for key, password := range map[adapter.Key]string{5: "secret77", 1: "secret88"} {
		stored := s.storedRecord(t, adapter.Customers, key)
		if !adapter.PasswordMatches(stored.Get("password_hash").Text(), password) || stored.Get("password").Kind() != adapter.Absent {
			t.Errorf("customer %d has hash %q and password %q", key, stored.Get("password_hash").Text(), stored.Get("password").Text())
		}
	}
}

// TestBodiesThatSaveNothing checks that some bodies leave the time of the last change
// untouched (customers 5).
func TestBodiesThatSaveNothing(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		before := s.storedRecord(t, adapter.Customers, 1).Get("updated_at")
		for _, body := range []string{`{"website_id":2}`, `{"confirmation":"x"}`, `{"website_id":99,"confirmation":"x"}`} {
			checkSaved(t, s.write(contract.Admin, "PUT", "/customers/1", body))
			checkRefused(t, s.write(contract.Admin, "PUT", "/customers/99", body), "404 Resource not found.")
		}
		if after := s.storedRecord(t, adapter.Customers, 1).Get("updated_at"); after != before {
			t.Errorf("changed %s, was %s", after.Text(), before.Text())
		}
		checkSaved(t, s.write(contract.Admin, "PUT", "/customers/1", `{"firstname":"Ada","website_id":2}`))
		if after := s.storedRecord(t, adapter.Customers, 1); after.Get("updated_at") == before || after.Get("website_id").Int() != 1 {
			t.Errorf("changed %s, website %s", after.Get("updated_at").Text(), after.Get("website_id").Text())
		}
	})
}

// TestOptionNumbers checks that options are compared as numbers (customers 4).
func TestOptionNumbers(t *testing.T) {
	inBothDialects(t, func(t *testing.T, s *shop) {
		for sent, want := range map[any]string{"01": "1", "2.0": "2", " 3": "3", true: "1", 2: "2", "3": "3"} {
			checkSaved(t, s.write(contract.Admin, "PUT", "/customers/1", body(t, nil, "group_id", sent)))
			if got := s.storedRecord(t, adapter.Customers, 1).Get("group_id").Text(); got != want {
				t.Errorf("%v is group %s, want %s", sent, got, want)
			}
		}
		for sent, shown := range map[any]string{"1x": "1x", 99: "99", 1.5: "1.5", " ": " ", "0": "0"} {
			checkRefused(t, s.write(contract.Admin, "PUT", "/customers/1", body(t, nil, "group_id", sent)), fmt.Sprintf(`400 Invalid value "%s" for group_id`, shown), closing)
		}
		checkRefused(t, s.write(contract.Admin, "PUT", "/customers/1", `{"gender":[]}`), "400 Invalid value type for gender", closing)
	})
}

// TestConcurrentCustomersWithOneEmail checks that only one of many customers created at
// the same time with the same e-mail address is stored, and that the others are told so.
// Hashing their passwords takes most of the time; with -short there are fewer.
func TestConcurrentCustomersWithOneEmail(t *testing.T) {
	clients := 50
	if !nightly.Whole() {
		clients = 10
	}
	inBothDialectsOnSQLite(t, func(t *testing.T, s *shop) {
		var all sync.WaitGroup
		replies := make([]mapping.Response, clients)
		sent := body(t, newCustomer(), "password", "secret77")
		for i := range replies {
			all.Go(func() { replies[i] = s.write(contract.Admin, "POST", "/customers", sent) })
		}
		all.Wait()
		saved := 0
		for _, r := range replies {
			if r.Status == 200 {
				saved++
			} else if got := faults(t, r)[0]; got != s.text("400", "500")+" This customer email already exists" {
				t.Errorf("%d %s", r.Status, got)
			}
		}
		if saved != 1 {
			t.Errorf("%d customers were created", saved)
		}
		if r := s.write(contract.Admin, "POST", "/customers", body(t, newCustomer(), "email", "next@example.com")); r.Location != "/api/rest/customers/6" {
			t.Errorf("the next one is %s", r.Location)
		}
	})
}

// An interferingAdapter changes an address between the moment a call reads it and the
// moment it writes it.
type interferingAdapter struct {
	adapter.Adapter
	meanwhile func(addresses adapter.Store)
}

func (a interferingAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	s, err := a.Adapter.Store(r)
	if err != nil || r != adapter.CustomerAddresses {
		return s, err
	}
	return movedStore{s, sync.OnceFunc(func() { a.meanwhile(s) })}, nil
}

type movedStore struct {
	adapter.Store
	meanwhile func()
}

func (s movedStore) Get(ctx context.Context, p *adapter.GetParams) (adapter.Record, error) {
	r, err := s.Store.Get(ctx, p)
	s.meanwhile()
	return r, err
}

// TestRegionAfterCountryChange checks that a region is validated against the country that
// the address has when it is saved, not an earlier one.
func TestRegionAfterCountryChange(t *testing.T) {
	s := openShopWith(t, contract.Documented(), settings(), func(backend adapter.Adapter) adapter.Adapter {
		return interferingAdapter{backend, func(addresses adapter.Store) {
			err := addresses.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
				next := adapter.NewRecord(current.Schema)
				next.Set("country_id", adapter.TextValue("DE"))
				return next, nil
			}})
			if err != nil {
				t.Error(err)
			}
		}}
	})
	checkRefused(t, s.write(contract.Admin, "PUT", "/customers/addresses/1", `{"region":"Texas"}`), "400 State/Province does not exist", closing)
	if r := s.storedRecord(t, adapter.CustomerAddresses, 1); r.Get("region").Text() != "California" {
		t.Errorf("the region is %s", r.Get("region").Text())
	}
}
