package adaptertest

import (
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
)

// testUniqueEmail writes customers under the condition that no other customer of the whole store has
// their e-mail address, including customers who share one already, and many customers at a time.
func testUniqueEmail(t *testing.T, customers *suite) {
	mine := customers.get(t, aCustomer)
	create := func(website int, email string, unique ...string) (adapter.Key, error) {
		r := attrs{"email": email, "website_id": website, "store_id": 0, "group_id": mine.Get("group_id"), "disable_auto_group_change": 0}
		return customers.store.Create(t.Context(), &adapter.CreateParams{Record: r.Record(customers.schema), Unique: unique})
	}
	update := func(key adapter.Key, change attrs) error {
		return customers.store.Update(t.Context(), &adapter.UpdateParams{Key: key, Unique: []string{"email"}, Change: func(adapter.Record) (adapter.Record, error) {
			return change.Record(customers.schema), nil
		}})
	}
	taken := strings.ToUpper(mine.Get("email").Text())
	const elsewhere = 0 // no customer of the demo store is of no website
	_, err := create(elsewhere, taken, "email")
	wantError(t, "a new customer of another website", err, adapter.Conflict, "email")
	wantError(t, "a changed e-mail address", update(anotherCustomer, attrs{"email": taken}), adapter.Conflict, "email")
	if err := update(aCustomer, attrs{"email": taken}); err != nil {
		t.Errorf("the own e-mail address in capitals: %v", err)
	}
	twin, err := create(elsewhere, taken)
	if adapter.KindOf(err) == adapter.Conflict { // the backend itself lets no two customers share an address
		twin, err = create(elsewhere, "twin@example.com")
	}
	if err != nil {
		t.Fatalf("a new customer of another website, without the condition: %v", err)
	}
	testSharedEmail(t, customers, twin, update)
	testUniqueEmailAtOnce(t, int(mine.Get("website_id").Int()), create, func(i int) error {
		return update([]adapter.Key{twin, anotherCustomer}[i], attrs{"email": "Swap@example.com"})
	})
}

// testSharedEmail updates two customers under the condition if they share an e-mail address: aCustomer
// and twin.
func testSharedEmail(t *testing.T, customers *suite, twin adapter.Key, update func(adapter.Key, attrs) error) {
	before := customers.get(t, twin)
	if strings.EqualFold(before.Get("email").Text(), customers.get(t, aCustomer).Get("email").Text()) {
		for _, key := range []adapter.Key{aCustomer, twin} {
			wantError(t, "another value of a customer who shares the e-mail address", update(key, attrs{"firstname": "A"}), adapter.Conflict, "email")
		}
	}
	if after := customers.get(t, twin); FormatRecord(after) != FormatRecord(before) {
		t.Errorf("a refused update changed the customer:\n\t%s\nbefore\n\t%s", FormatRecord(after), FormatRecord(before))
	}
	if err := update(twin, attrs{"email": "twin@example.com"}); err != nil {
		t.Errorf("an e-mail address that is free: %v", err)
	}
	if err := update(aCustomer, attrs{"firstname": "A"}); err != nil {
		t.Errorf("a customer who no longer shares the e-mail address: %v", err)
	}
}

// testUniqueEmailAtOnce creates customers of two websites with one address at a time, and changes two
// customers to one address at a time. One write of each kind may succeed.
func testUniqueEmailAtOnce(t *testing.T, website int, create func(int, string, ...string) (adapter.Key, error), change func(int) error) {
	const writers = 8
	var all sync.WaitGroup
	errs := make([]error, writers)
	for i := range errs {
		all.Go(func() {
			errs[i] = again(func() error { _, err := create(website*(i%2), "atonce@example.com", "email"); return err })
		})
	}
	all.Wait()
	wantOne(t, "new customers", errs)
	changed := make([]error, 2)
	for i := range changed {
		all.Go(func() { changed[i] = again(func() error { return change(i) }) })
	}
	all.Wait()
	wantOne(t, "changed customers", changed)
}

// again repeats a write while the store is unavailable, as a client does: in front of a backend a
// create may have to wait for another one.
func again(write func() error) (err error) {
	const most = 1000
	for range most {
		if err = write(); adapter.KindOf(err) != adapter.Unavailable {
			break
		}
	}
	return err
}

// wantOne reports unless one of some writes succeeded and the others found the address taken.
func wantOne(t *testing.T, name string, errs []error) {
	t.Helper()
	stored := 0
	for _, err := range errs {
		if err == nil {
			stored++
		} else if adapter.KindOf(err) != adapter.Conflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	if stored != 1 {
		t.Errorf("%s: %d of %d with one e-mail address were stored, want 1", name, stored, len(errs))
	}
}
