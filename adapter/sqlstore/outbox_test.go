package sqlstore_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// mirroredResources are the resources that clients write.
func mirroredResources() []adapter.Resource {
	return []adapter.Resource{
		adapter.Customers, adapter.CustomerAddresses, adapter.Products, adapter.ProductImages, adapter.ProductWebsites, adapter.ProductCategories, adapter.StockItems,
	}
}

// process returns a process with mirroring as its desired owner or not, which knows some epochs.
func process(id string, mirror bool, known map[adapter.Resource]int64) outbox.Process {
	wishes := map[adapter.Resource]bool{}
	for _, r := range mirroredResources() {
		wishes[r] = mirror
	}
	return outbox.Process{ID: id, Wishes: wishes, Known: known}
}

// A mirroredStore is a database with the demo store whose writes are mirrored.
type mirroredStore struct {
	*testing.T
	db      *sqlstore.DB
	records *sqlstore.RecordAdapter
	schemas *adapter.Schemas
}

func newMirroredStore(t *testing.T, db *sqlstore.DB) *mirroredStore {
	t.Helper()
	m := &mirroredStore{T: t, db: db, schemas: adapter.NewSchemas()}
	owners := m.db.WriteOwners()
	known := map[adapter.Resource]int64{}
	for _, r := range mirroredResources() {
		known[r] = 1
	}
	m.announce(process("only", true, known))
	for _, r := range mirroredResources() {
		if err := errors.Join(owners.Begin(t.Context(), r, true), owners.Complete(t.Context(), r, 1)); err != nil {
			t.Fatal(err)
		}
	}
	m.records = m.db.Adapter().Mirrored()
	return m
}

func (m *mirroredStore) announce(p outbox.Process) []outbox.Owner {
	m.Helper()
	owners, err := m.db.WriteOwners().Announce(m.Context(), p, time.Hour)
	if err != nil {
		m.Fatal(err)
	}
	return owners
}

func (m *mirroredStore) store(r adapter.Resource) adapter.Store {
	m.Helper()
	return adaptertest.StoreOf(m, m.records, r)
}

// update changes a record as a client does.
func (m *mirroredStore) update(r adapter.Resource, key adapter.Key, view int64, values attrs) {
	m.Helper()
	if err := adaptertest.Update(m, m.store(r), key, view, values); err != nil {
		m.Fatal(err)
	}
}

// delete deletes a record as a client does.
func (m *mirroredStore) delete(r adapter.Resource, key adapter.Key, view int64) {
	m.Helper()
	adaptertest.MustDelete(m, m.store(r), adapter.DeleteParams{Key: key, StoreID: view})
}

// entries returns the entries of the outbox as readable text.
func (m *mirroredStore) entries() (all []string) {
	m.Helper()
	for _, held := range []bool{false, true} {
		found, err := m.db.Outbox().Entries(m.Context(), coordination.EntryFilter{Held: held, Limit: 100})
		if err != nil {
			m.Fatal(err)
		}
		for _, e := range found {
			text := fmt.Sprintf("%s %d of %s %d", e.Resource, e.Key, e.Root.Resource, e.Root.Key)
			if e.StoreID != 0 {
				text += fmt.Sprintf(" at %d", e.StoreID)
			}
			for _, mark := range []struct {
				name string
				is   bool
			}{{"removed", e.Removed}, {"gone", e.Gone}, {"held", e.Held}, {"parked", e.Parked}} {
				if mark.is {
					text += " " + mark.name
				}
			}
			text += ": " + strings.Join(slices.Sorted(maps.Keys(e.Agreed)), " ")
			words := strings.Fields(text)
			all = append(all, strings.Join(words, " "))
		}
	}
	return all
}

// expect compares the outbox, and empties it.
func (m *mirroredStore) expect(name string, want ...string) {
	m.Helper()
	if diff := cmp.Diff(want, m.entries()); diff != "" {
		m.Errorf("%s: want -, got +:\n%s", name, diff)
	}
	m.clear()
}

func (m *mirroredStore) clear() {
	m.Helper()
	for _, held := range []bool{false, true} {
		found, err := m.db.Outbox().Entries(m.Context(), coordination.EntryFilter{Held: held, Limit: 100})
		if err != nil {
			m.Fatal(err)
		}
		for _, e := range found {
			if _, err := m.db.Outbox().Discard(m.Context(), e.ID); err != nil {
				m.Fatal(err)
			}
		}
	}
}

// TestOutboxEntries checks the outbox entries of each kind of write.
func TestOutboxEntries(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		m := newMirroredStore(t, openDemo(t, e))
		m.update(adapter.StockItems, 2, 0, attrs{"qty": "7.0000", "min_qty": "0.0000"})
		m.expect("a stock item", "stock_items 2 of products 2: qty")
		m.update(adapter.StockItems, 2, 0, attrs{"qty": "7.0000"})
		m.expect("nothing")
		m.update(adapter.Products, 1, 0, attrs{"name": "Another", "price": "1.5000"})
		m.expect("a product", "products 1 of products 1: name price")
		m.update(adapter.Products, 1, 2, attrs{"name": "Autre", "sku": "another-sku"})
		m.expect("a product at a store view", "products 1 of products 1 at 2: name", "products 1 of products 1: sku")
		m.update(adapter.Products, 1, 2, attrs{"name": adapter.UnsetValue()})
		m.expect("a value that is no longer of its own", "products 1 of products 1 at 2: name")
		m.update(adapter.Customers, 1, 0, attrs{"firstname": "Grace", "password_hash": "x"})
		m.expect("a customer", "customers 1 of customers 1: firstname", "customers 1 of customers 1 held: password_hash")
		m.update(adapter.CustomerAddresses, 2, 0, attrs{"city": "Lyon", "is_default_billing": 1})
		m.expect("a default address", "customer_addresses 2 of customers 1: city is_default_billing", "customer_addresses 1 of customers 1: is_default_billing")

		m.update(adapter.Products, 1, 0, attrs{"name": "One"})
		m.update(adapter.StockItems, 1, 0, attrs{"qty": "1.0000"})
		m.update(adapter.Products, 1, 0, attrs{"price": "2.0000"})
		m.expect("entries of one record merge", "products 1 of products 1: name price", "stock_items 1 of products 1: qty")
		m.update(adapter.Products, 1, 0, attrs{"name": "Two"})
		m.update(adapter.StockItems, 1, 0, attrs{"qty": "3.0000"})
		m.delete(adapter.Products, 1, 0)
		m.expect("a deleted product", "products 1 of products 1 removed gone:")
		m.update(adapter.CustomerAddresses, 2, 0, attrs{"city": "Paris"})
		m.delete(adapter.CustomerAddresses, 2, 0)
		m.update(adapter.Customers, 1, 0, attrs{"firstname": "Ada"})
		m.expect("a deleted address", "customer_addresses 2 of customers 1 removed gone:", "customers 1 of customers 1: firstname")
		m.delete(adapter.Customers, 1, 0)
		m.expect("a deleted customer", "customers 1 of customers 1 removed gone:")
	})
}

// TestOutboxRefused checks that writes are refused, and leave nothing, if the other system owns
// the writes or a handover is in progress.
func TestOutboxRefused(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		m := newMirroredStore(t, openDemo(t, e))
		write := func(records *sqlstore.RecordAdapter) error {
			s := adaptertest.StoreOf(t, records, adapter.StockItems)
			return s.Update(t.Context(), &adapter.UpdateParams{Key: 2, Change: func(current adapter.Record) (adapter.Record, error) {
				return attrs{"qty": current.Get("qty").Text() + "1"}.Record(current.Schema), nil
			}})
		}
		wanted := func(name string, err error, kind adapter.ErrorKind) {
			t.Helper()
			if err == nil || adapter.KindOf(err) != kind {
				t.Errorf("%s: %v, want kind %s", name, err, kind)
			}
		}
		create := func(records *sqlstore.RecordAdapter) error {
			s := adaptertest.StoreOf(t, records, adapter.CustomerAddresses)
			_, err := s.Create(t.Context(), &adapter.CreateParams{Record: attrs{"customer_id": 1}.Record(m.schemas.Of(adapter.CustomerAddresses))})
			return err
		}
		wanted("a new record", create(m.records), adapter.Unavailable) // the other system has to have it first
		wanted("a new record, in an adapter that mirrors nothing", create(m.db.Adapter()), adapter.Invalid)
		m.announce(process("only", false, nil))
		if err := m.db.WriteOwners().Begin(t.Context(), adapter.StockItems, false); err != nil {
			t.Fatal(err)
		}
		wanted("turning", write(m.records), adapter.Unavailable)
		wanted("an adapter that mirrors nothing", write(m.db.Adapter()), adapter.Invalid) // five decimal places: it got as far as the value
		m.announce(process("only", false, map[adapter.Resource]int64{adapter.StockItems: 3}))
		if err := m.db.WriteOwners().Complete(t.Context(), adapter.StockItems, 3); err != nil {
			t.Fatal(err)
		}
		wanted("turned", write(m.records), adapter.Unavailable)
		m.update(adapter.Products, 2, 0, attrs{"name": "Still mirrored"})
		m.expect("another resource", "products 2 of products 2: name")
	})
}

// TestWriteOwners hands the writes of a resource over and back, with two processes.
func TestWriteOwners(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		db := openDemo(t, e)
		m := &mirroredStore{T: t, db: db, schemas: adapter.NewSchemas(), records: db.Adapter().Mirrored()}
		owners, r := db.WriteOwners(), adapter.StockItems
		refused := func(name string, err error, want string) {
			t.Helper()
			var no *outbox.NoTurnError
			if !errors.As(err, &no) || !strings.Contains(no.Reason, want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		succeeded := func(name string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		expect := func(name string, want outbox.Owner) {
			t.Helper()
			all, err := owners.All(t.Context())
			want.Resource = r
			if diff := cmp.Diff([]outbox.Owner{want}, all); diff != "" || err != nil {
				t.Errorf("%s: %v, want -, got +:\n%s", name, err, diff)
			}
		}
		known := func(epoch int64) map[adapter.Resource]int64 { return map[adapter.Resource]int64{r: epoch} }

		if all := m.announce(process("a", true, nil)); len(all) > 0 {
			t.Errorf("%v before the first turn", all)
		}
		m.announce(process("b", false, nil))
		refused("another configuration", owners.Begin(t.Context(), r, true), "not all processes")
		m.announce(process("b", true, nil))
		succeeded("begin", owners.Begin(t.Context(), r, true))
		expect("begun", outbox.Owner{Turning: true, Epoch: 1})
		succeeded("begin again", owners.Begin(t.Context(), r, true))
		expect("begun again", outbox.Owner{Turning: true, Epoch: 1})
		m.announce(process("a", true, known(1)))
		refused("writes in progress", owners.Complete(t.Context(), r, 1), "in progress")
		if ended, err := owners.GiveUp(t.Context(), r, 1); !ended || err != nil {
			t.Errorf("give up: %v, %v", ended, err)
		}
		expect("given up", outbox.Owner{Epoch: 2})
		succeeded("complete what was given up", owners.Complete(t.Context(), r, 1))
		expect("still given up", outbox.Owner{Epoch: 2})
		succeeded("begin", owners.Begin(t.Context(), r, true))
		m.announce(process("a", true, known(3)))
		m.announce(process("b", true, known(3)))
		succeeded("complete", owners.Complete(t.Context(), r, 3))
		expect("completed", outbox.Owner{Mirrored: true, Epoch: 4})

		m.update(r, 2, 0, attrs{"qty": "7.0000"})
		box := db.Outbox()
		due, err := box.Due(t.Context(), 10)
		if err != nil || len(due) != 1 {
			t.Fatalf("%v, %v", due, err)
		}
		succeeded("park", box.Failed(t.Context(), due[0], outbox.Failure{Reason: "refused", Retry: time.Now().Add(time.Hour), Parked: true}))
		m.announce(process("a", false, nil))
		m.announce(process("b", false, nil))
		refused("a parked entry", owners.Begin(t.Context(), r, false), "refuses changes")
		if n, err := box.Retry(t.Context()); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		succeeded("begin", owners.Begin(t.Context(), r, false))
		m.announce(process("a", false, known(5)))
		m.announce(process("b", false, known(5)))
		refused("an entry", owners.Complete(t.Context(), r, 5), "does not have all changes")
		m.clear()
		succeeded("leave", owners.Leave(t.Context(), "b"))
		succeeded("complete", owners.Complete(t.Context(), r, 5))
		expect("turned back", outbox.Owner{Epoch: 6})
	})
}

// TestOutboxDelivery checks the order in which entries are due, and their states afterwards.
func TestOutboxDelivery(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		m := newMirroredStore(t, openDemo(t, e))
		box := m.db.Outbox()
		due := func() []outbox.Entry {
			t.Helper()
			entries, err := box.Due(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			return entries
		}
		expectDue := func(name string, want ...string) {
			t.Helper()
			var got []string
			for _, e := range due() {
				got = append(got, fmt.Sprintf("%s %d", e.Resource, e.Key))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: want -, got +:\n%s", name, diff)
			}
		}
		m.update(adapter.Products, 1, 0, attrs{"name": "One"})
		m.update(adapter.StockItems, 1, 0, attrs{"qty": "1.0000"})
		m.update(adapter.StockItems, 2, 0, attrs{"qty": "2.0000"})
		m.update(adapter.Customers, 1, 0, attrs{"password_hash": "x"})
		expectDue("the first of each product", "products 1", "stock_items 2")
		first := due()[0]
		if err := box.Failed(t.Context(), first, outbox.Failure{Reason: "later", Retry: time.Now().Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		expectDue("others wait for one that failed", "stock_items 2")
		if err := box.Failed(t.Context(), first, outbox.Failure{Reason: "refused", Retry: time.Now().Add(time.Minute), Parked: true}); err != nil {
			t.Fatal(err)
		}
		expectDue("but not for one that is refused", "stock_items 1", "stock_items 2")
		if n, err := box.Retry(t.Context(), first.ID); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		expectDue("retried", "products 1", "stock_items 2")

		delivered := due()[1]
		m.update(adapter.StockItems, 2, 0, attrs{"qty": "3.0000", "min_qty": "1.0000"})
		if err := box.Delivered(t.Context(), delivered, map[string]string{"qty": "=2.0000"}, nil); err != nil {
			t.Fatal(err)
		}
		left := due()[1]
		if diff := cmp.Diff(map[string]string{"qty": "=2.0000", "min_qty": "=0.0000"}, left.Agreed); diff != "" || left.ID != delivered.ID {
			t.Errorf("changed while it was delivered: want -, got +:\n%s", diff)
		}
		if err := box.Delivered(t.Context(), left, nil, []string{"min_qty"}); err != nil {
			t.Fatal(err)
		}
		m.expect("delivered", "products 1 of products 1: name", "stock_items 1 of products 1: qty", "customers 1 of customers 1 held: password_hash", "stock_items 2 of products 2 held: min_qty")
	})
}

// TestOutboxAttempts checks the attempts that count, and the notes about sent values.
func TestOutboxAttempts(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		m := newMirroredStore(t, openDemo(t, e))
		m.update(adapter.StockItems, 2, 0, attrs{"qty": "7.0000"})
		box := m.db.Outbox()
		for _, tt := range []struct {
			name     string
			failure  outbox.Failure
			attempts int
			sent     int
		}{
			{"nobody answers", outbox.Failure{Reason: "away", Away: true, Unstored: true}, 0, 0},
			{"maintenance", outbox.Failure{Reason: "maintenance", Away: true}, 0, 1},
			{"a failure", outbox.Failure{Reason: "500"}, 1, 1},
			{"nobody answers again", outbox.Failure{Reason: "away", Away: true, Unstored: true}, 1, 1},
			{"refused", outbox.Failure{Reason: "no", Parked: true, Unstored: true}, 2, 1},
		} {
			entry := m.only()
			begun, err := box.Begin(t.Context(), entry, map[string]string{"qty": "=7.0000"})
			if err != nil || !begun || !m.only().Sending {
				t.Fatalf("%s: %t, %v", tt.name, begun, err)
			}
			if err := box.Failed(t.Context(), entry, tt.failure); err != nil {
				t.Fatal(err)
			}
			if got := m.only(); got.Attempts != tt.attempts || len(got.Sent["qty"]) != tt.sent || got.Sending || got.Reason != tt.failure.Reason || got.Parked != tt.failure.Parked {
				t.Errorf("%s: %+v, want %d attempts and %d states", tt.name, got, tt.attempts, tt.sent)
			}
		}
	})
}

// TestOutboxAfterClockWentBack checks that entries are due that were noted while the clock was ahead,
// and that others wait for their next attempt.
func TestOutboxAfterClockWentBack(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		m := newMirroredStore(t, openDemo(t, e))
		m.update(adapter.StockItems, 2, 0, attrs{"qty": "7.0000"})
		for _, tt := range []struct {
			parked bool
			wait   time.Duration
			due    bool
		}{
			{false, 0, true}, {false, outbox.MaxWait - time.Minute, false}, {false, time.Hour, true}, {false, 24 * time.Hour, true},
			{true, 0, true}, {true, outbox.MaxParkedWait - time.Minute, false}, {true, 24 * time.Hour, true},
		} {
			if err := m.db.Outbox().Failed(t.Context(), m.only(), outbox.Failure{Reason: "x", Parked: tt.parked, Retry: time.Now().Add(tt.wait)}); err != nil {
				t.Fatal(err)
			}
			if got, err := m.db.Outbox().Due(t.Context(), 10); err != nil || (len(got) > 0) != tt.due {
				t.Errorf("parked: %t, to be tried again in %s: %v, %v", tt.parked, tt.wait, got, err)
			}
		}
	})
}

// TestOwnersAfterClockWentBack checks that a process that was killed while the clock was ahead does
// not hold up handovers for long.
func TestOwnersAfterClockWentBack(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		m := newMirroredStore(t, openDemo(t, e))
		m.announce(process("killed", true, nil))
		sqlstore.Exec(t, m.db, "UPDATE write_process SET expires_ms = expires_ms + 86400000")
		m.announce(process("a", true, nil))
		sqlstore.Exec(t, m.db, "UPDATE write_process SET expires_ms = expires_ms - 3600001") // as if an hour had passed, for which they are valid
		if live, err := m.db.WriteOwners().Live(t.Context()); err != nil || live {
			t.Errorf("live: %t, %v", live, err)
		}
	})
}

// only returns the only entry.
func (m *mirroredStore) only() outbox.Entry {
	m.Helper()
	all, err := m.db.Outbox().Entries(m.Context(), coordination.EntryFilter{Limit: 2})
	if err != nil || len(all) != 1 {
		m.Fatalf("%v, %v", all, err)
	}
	return all[0]
}

// TestUnknownCreates checks the creates that count as unknown: creates whose reply was lost, and
// creates of a process that was killed.
func TestUnknownCreates(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		m := newMirroredStore(t, openDemo(t, e))
		box, owners := m.db.Outbox(), m.db.WriteOwners()
		ids := map[string]int64{}
		for _, key := range []string{"in progress", "killed", "killed before the clock went back", "lost"} {
			id, err := box.BeginCreate(t.Context(), outbox.Create{Resource: adapter.Customers, NaturalKey: key})
			if err != nil {
				t.Fatal(err)
			}
			ids[key] = id
		}
		sqlstore.Exec(t, m.db, fmt.Sprintf("UPDATE outbox_create SET created_ms = %d WHERE create_id = %d", time.Now().Add(-time.Hour).UnixMilli(), ids["killed"]))
		sqlstore.Exec(t, m.db, fmt.Sprintf("UPDATE outbox_create SET created_ms = %d WHERE create_id = %d", time.Now().Add(24*time.Hour).UnixMilli(), ids["killed before the clock went back"]))
		if err := box.UnknownCreate(t.Context(), ids["lost"], "the reply was lost"); err != nil {
			t.Fatal(err)
		}
		reasons := map[string]string{}
		all, err := box.Creates(t.Context(), "", "", 10)
		for _, c := range all {
			reasons[c.NaturalKey] = c.Reason
		}
		const ended = "the process that has sent it ended before the legacy store replied"
		want := map[string]string{"in progress": "", "killed": ended, "killed before the clock went back": ended, "lost": "the reply was lost"}
		if diff := cmp.Diff(want, reasons); diff != "" || err != nil {
			t.Errorf("%v, want -, got +:\n%s", err, diff)
		}
		if counts, err := box.Count(t.Context()); err != nil || counts[adapter.Customers].Unknown != 3 {
			t.Errorf("%v, %v", counts, err)
		}
		m.announce(process("only", false, nil))
		for _, c := range []struct {
			forget string // removed before
			may    bool
		}{{"", false}, {"lost", false}, {"killed", false}, {"killed before the clock went back", true}} {
			if _, err := box.DiscardCreates(t.Context(), ids[c.forget]); err != nil {
				t.Fatal(err)
			}
			var no *outbox.NoTurnError
			err := owners.Begin(t.Context(), adapter.Customers, false)
			if (err == nil) != c.may || err != nil && (!errors.As(err, &no) || !strings.Contains(no.Reason, "nobody knows")) {
				t.Errorf("without %q: %v, want the turn begun %t", c.forget, err, c.may)
			}
		}
	})
}

// TestOutboxCount counts entries of each kind.
func TestOutboxCount(t *testing.T) {
	sqltest.EachEngine(t, func(t *testing.T, e sqltest.Engine) {
		m := newMirroredStore(t, openDemo(t, e))
		box := m.db.Outbox()
		m.update(adapter.StockItems, 1, 0, attrs{"qty": "1.0000"})
		m.update(adapter.StockItems, 2, 0, attrs{"qty": "2.0000"})
		m.update(adapter.Products, 3, 0, attrs{"name": "One"})
		m.update(adapter.Customers, 1, 0, attrs{"password_hash": "x"})
		entries, err := box.Due(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		lost, err := box.BeginCreate(t.Context(), outbox.Create{Resource: adapter.Customers})
		if err != nil {
			t.Fatal(err)
		}
		_, inProgress := box.BeginCreate(t.Context(), outbox.Create{Resource: adapter.Products})
		if err := errors.Join(inProgress, box.UnknownCreate(t.Context(), lost, "no reply"),
			box.Failed(t.Context(), entries[2], outbox.Failure{Reason: "refused", Retry: time.Now(), Parked: true}), box.Delivered(t.Context(), entries[1], nil, []string{"qty"})); err != nil {
			t.Fatal(err)
		}
		got, err := box.Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := map[adapter.Resource]coordination.OutboxCount{
			adapter.Products: {Parked: 1}, adapter.StockItems: {Waiting: 1, Held: 1, Oldest: entries[0].CreatedAt}, adapter.Customers: {Held: 1, Unknown: 1},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	})
}
