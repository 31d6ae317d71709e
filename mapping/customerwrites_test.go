package mapping_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// write sends a JSON body as role.
func (s *shop) write(role contract.Role, method, target, body string) resource.Response {
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
	maps.Copy(fields, base)
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

// TestStoredCustomer checks the stored values of a new customer (customers 5).
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

// A passwordStore collects the passwords in the customers that it is asked to write.
type passwordStore struct {
	adapter.Store
	passwords *[]string
}

func (s passwordStore) Create(ctx context.Context, p *adapter.CreateParams) (adapter.Key, error) {
	*s.passwords = append(*s.passwords, p.Record.Get("password").Text())
	return s.Store.Create(ctx, p)
}

func (s passwordStore) Update(ctx context.Context, p *adapter.UpdateParams) error {
	observed := *p
	observed.Locked = append(slices.Clip(p.Locked), func(_, change adapter.Record) error {
		*s.passwords = append(*s.passwords, change.Get("password").Text())
		return nil
	})
	return s.Store.Update(ctx, &observed)
}

// TestPasswordsForOtherSystems checks that a store gets a new password in plain text, so that
// it can forward the write, and stores only the hash.
func TestPasswordsForOtherSystems(t *testing.T) {
	var passwords []string
	s := openShopWith(t, contract.Documented(), settings(), wrapStores(func(r adapter.Resource, s adapter.Store) adapter.Store {
		if r != adapter.Customers {
			return s
		}
		return passwordStore{s, &passwords}
	}))
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
		if after := s.storedRecord(t, adapter.Customers, 1).Get("updated_at"); !after.Equal(before) {
			t.Errorf("changed %s, was %s", after.Text(), before.Text())
		}
		checkSaved(t, s.write(contract.Admin, "PUT", "/customers/1", `{"firstname":"Ada","website_id":2}`))
		if after := s.storedRecord(t, adapter.Customers, 1); after.Get("updated_at").Equal(before) || after.Get("website_id").Int() != 1 {
			t.Errorf("changed %s, website %s", after.Get("updated_at").Text(), after.Get("website_id").Text())
		}
	})
}

// TestConcurrentCustomersWithOneEmail checks that only one of many customers created at the
// same time with the same e-mail address is stored, and that the replies to the others say
// so. Hashing their passwords takes most of the time; with -short there are fewer.
func TestConcurrentCustomersWithOneEmail(t *testing.T) {
	clients := 50
	if !testenv.Nightly() {
		clients = 10
	}
	inBothDialectsOnSQLite(t, func(t *testing.T, s *shop) {
		var all sync.WaitGroup
		replies := make([]resource.Response, clients)
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

// A movedStore changes a record between the moment a call reads it and the moment it writes it.
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
	s := openShopWith(t, contract.Documented(), settings(), wrapStores(func(r adapter.Resource, addresses adapter.Store) adapter.Store {
		if r != adapter.CustomerAddresses {
			return addresses
		}
		return movedStore{addresses, sync.OnceFunc(func() {
			err := addresses.Update(t.Context(), &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
				next := adapter.NewRecord(current.Schema)
				next.Set("country_id", adapter.TextValue("DE"))
				return next, nil
			}})
			if err != nil {
				t.Error(err)
			}
		})}
	}))
	checkRefused(t, s.write(contract.Admin, "PUT", "/customers/addresses/1", `{"region":"Texas"}`), "400 State/Province does not exist", closing)
	if r := s.storedRecord(t, adapter.CustomerAddresses, 1); r.Get("region").Text() != "California" {
		t.Errorf("the region is %s", r.Get("region").Text())
	}
}

// TestDefaultFlagsSentAsZero: an update of an address leaves the customer's updated_at alone if it
// sends 0 for every default flag that the address holds (customers 6.3).
func TestDefaultFlagsSentAsZero(t *testing.T) {
	const bothFlags, oneFlag, noFlag = 1, 3, 2 // addresses of the demo store
	tests := []struct {
		name, body string
		address    adapter.Key
		touched    bool
	}{
		{"no flag is sent", `{"city":"Bath"}`, oneFlag, true},
		{"the only flag", `{"city":"Bath","is_default_billing":0}`, oneFlag, false},
		{"the only flag, as a text", `{"city":"Bath","is_default_billing":"0"}`, oneFlag, false},
		{"the only flag, as false", `{"is_default_billing":false}`, oneFlag, false},
		{"the only flag, as 1", `{"is_default_billing":1}`, oneFlag, true},
		{"a flag that it does not hold", `{"is_default_shipping":0}`, oneFlag, true},
		{"the only flag, and one more is set", `{"is_default_billing":0,"is_default_shipping":1}`, oneFlag, true},
		{"one flag of two", `{"city":"Bath","is_default_billing":0}`, bothFlags, true},
		{"both flags", `{"city":"Bath","is_default_billing":0,"is_default_shipping":0}`, bothFlags, false},
		{"no default address", `{"city":"Bath","is_default_billing":0}`, noFlag, false},
		{"no default address is made one", `{"is_default_billing":1}`, noFlag, true},
	}
	inBothDialects(t, func(t *testing.T, s *shop) {
		for _, row := range tests {
			t.Run(row.name, func(t *testing.T) {
				s.reset(t)
				flags := func() string {
					address := s.storedRecord(t, adapter.CustomerAddresses, row.address)
					return address.Get("is_default_billing").Text() + address.Get("is_default_shipping").Text()
				}
				customer := adapter.Key(s.storedRecord(t, adapter.CustomerAddresses, row.address).Get("customer_id").Int())
				before, flagsBefore := s.storedRecord(t, adapter.Customers, customer).Get("updated_at"), flags()
				if r := s.write(contract.Admin, "PUT", fmt.Sprint("/customers/addresses/", row.address), row.body); r.Status != 200 {
					t.Fatalf("%d %s", r.Status, r.Body)
				}
				if after := s.storedRecord(t, adapter.Customers, customer).Get("updated_at"); (!after.Equal(before)) != row.touched {
					t.Errorf("the customer was changed %s, before that %s", after.Text(), before.Text())
				}
				if !strings.Contains(row.body, ":1") && flags() != flagsBefore {
					t.Errorf("the flags are %s, were %s", flags(), flagsBefore)
				}
			})
		}
	})
}
