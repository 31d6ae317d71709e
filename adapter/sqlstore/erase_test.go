package sqlstore

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

// private are texts that only the customer of TestErase has.
func private() []string {
	return []string{"zebedee.q@private.example", "zebedee", "quixotine", "larkspur lane", "192.0.2.77"}
}

// fillPrivate stores private texts in every possible place, for a customer, and returns the keys of
// the customer's orders, the last of which was placed as a guest.
func fillPrivate(t *testing.T, db *DB, customer adapter.Key) (orders []int64) {
	t.Helper()
	const email = "Zebedee.Q@private.example"
	execute(t, db, fmt.Sprintf("UPDATE customer SET firstname = 'Zebedee', firstname_folded = 'zebedee', lastname = 'Quixotine', lastname_folded = 'quixotine' WHERE entity_id = %d", customer),
		fmt.Sprintf("INSERT INTO customer_address (customer_id, created_at, updated_at, lastname, lastname_folded, street, is_default_billing, is_default_shipping) VALUES (%d, '2026-01-01 00:00:00', '2026-01-01 00:00:00', 'Quixotine', 'quixotine', 'Larkspur Lane 1', 1, 1)", customer))
	address := count(t, db, "SELECT MAX(entity_id) FROM customer_address")
	execute(t, db, fmt.Sprintf("INSERT INTO customer_address_value (address_id, attribute, value) VALUES (%d, 'door', 'Quixotine')", address),
		fmt.Sprintf("INSERT INTO customer_value (customer_id, attribute, value) VALUES (%d, 'nick', 'Zebedee')", customer))
	for _, of := range []string{fmt.Sprint(customer), "NULL"} {
		execute(t, db, "INSERT INTO sales_order (increment_id, customer_id, store_id, created_at, updated_at, remote_ip, remote_ip_folded, gift_message_body, gift_message_body_folded, grand_total) VALUES ('X-1', "+of+", 1, '2026-01-01 00:00:00', '2026-01-01 00:00:00', '192.0.2.77', '192.0.2.77', 'For Zebedee', 'for zebedee', 12.5)")
		order := count(t, db, "SELECT MAX(entity_id) FROM sales_order")
		orders = append(orders, order)
		execute(t, db, fmt.Sprintf("INSERT INTO order_address (parent_id, address_type, email, email_folded, firstname, firstname_folded, street, street_folded, country_id) VALUES (%d, 'billing', '"+email+"', '"+adapter.Fold(email)+"', 'Zebedee', 'zebedee', 'Larkspur Lane 1', 'larkspur lane 1', 'DE')", order),
			fmt.Sprintf("INSERT INTO order_comment (parent_id, created_at, comment, comment_folded, is_customer_notified, is_visible_on_front, status) VALUES (%d, '2026-01-01 00:00:00', 'Quixotine called', 'quixotine called', 0, 0, 'new')", order))
	}
	consumer := count(t, db, "SELECT MAX(consumer_id) FROM oauth_consumer")
	execute(t, db, fmt.Sprintf("INSERT INTO oauth_token (consumer_id, type, token, token_lower, secret, customer_id, created_at) VALUES (%d, 'access', 'Zebedee-token', 'zebedee-token', 'Zebedee', %d, '2026-01-01 00:00:00')", consumer, customer),
		fmt.Sprintf("INSERT INTO api_key (name, key_hash, kind, customer_id, created_at) VALUES ('Zebedee', 'Zebedee', 'customer', %d, '2026-01-01 00:00:00')", customer))
	entry := func(resource string, key int64, root string, rootKey int64) {
		execute(t, db, fmt.Sprintf(`INSERT INTO outbox_entry (resource, record_key, store_id, held, root, root_key, agreed, sent, sending, removed, gone, identity, version, reason, attempts, parked, created_ms, retry_ms) VALUES ('%s', %d, 0, 0, '%s', %d, '{"a":"Zebedee"}', '{}', 0, 0, 0, '{}', 1, '', 0, 0, 1, 1)`, resource, key, root, rootKey))
	}
	entry("customers", int64(customer), "customers", int64(customer))
	entry("customer_addresses", address, "customers", int64(customer))
	entry("order_comments", 900, "orders", orders[0])
	execute(t, db, fmt.Sprintf("INSERT INTO outbox_conflict (resource, record_key, store_id, attribute, ours, theirs, outcome, noted_ms) VALUES ('customers', %d, 0, 'firstname', 'Zebedee', '', 'ours', 1)", customer),
		"INSERT INTO outbox_create (resource, root, root_key, natural_key, reason, created_ms) VALUES ('customers', 'customers', 0, '"+email+"', '', 1)",
		"INSERT INTO evidence (name, content, noted_ms) VALUES ('sweep', '{\"who\":\""+email+"\"}', 1)",
		"INSERT INTO import_parked (source, part, record_key, reason, attempts, parked_ms, retry_ms) VALUES ('shop', 'orders', 9, 'the address "+email+" is taken', 1, 1, 1)",
		fmt.Sprintf("INSERT INTO imported_record (source, resource, record_key) VALUES ('shop', 'customers', %d)", customer),
		fmt.Sprintf(`INSERT INTO backend_record (resource, legacy_id, tag, base, changed_at) VALUES ('orders', %d, 't', '{"n":"Quixotine"}', 1)`, orders[0]),
		fmt.Sprintf(`INSERT INTO backend_record (resource, legacy_id, root, owner_id, tag, base, changed_at) VALUES ('customer_addresses', %d, 'customers', %d, 't', '{"n":"Quixotine"}', 1)`, address, customer))
	return orders
}

// count returns the number that a statement selects.
func count(t *testing.T, db *DB, statement string) (n int64) {
	t.Helper()
	if err := db.records.Readers.QueryRowContext(t.Context(), statement).Scan(&n); err != nil {
		t.Fatalf("%v\n%s", err, statement)
	}
	return n
}

// findPrivate returns the tables in which private texts are found.
func findPrivate(tables map[string][]string) (found []string) {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		text := strings.ToLower(strings.Join(tables[name], "\n"))
		for _, private := range private() {
			if strings.Contains(text, private) {
				found = append(found, name+": "+private)
			}
		}
	}
	return found
}

// TestErase erases a customer on every engine, and searches all tables for remains.
func TestErase(t *testing.T) { sqltest.EachEngine(t, testErase) }

func testErase(t *testing.T, e sqltest.Engine) {
	dsn := NewDemo(t, e)
	db := OpenWith(t, Options{DSN: dsn, MediaDir: t.TempDir(), SecretKey: SecretKey})
	_, manifest := backUp(t, db)
	tables := slices.Sorted(maps.Keys(manifest.Tables))
	others := dump(t, db, tables)
	customer := newCustomer(t, db, "Zebedee.Q@private.example")
	orders := fillPrivate(t, db, customer)
	before := dump(t, db, tables)
	for _, table := range []string{"customer", "customer_address", "customer_address_value", "customer_value", "sales_order", "order_address", "order_comment", "oauth_token", "api_key", "outbox_entry", "outbox_conflict", "outbox_create", "evidence", "import_parked", "backend_record"} {
		if !slices.ContainsFunc(findPrivate(before), func(found string) bool { return strings.HasPrefix(found, table+":") }) {
			t.Errorf("table %s has nothing of the customer, so the test could not fail", table)
		}
	}
	unwanted := func(*ErasureReceipt) (string, error) { t.Error("a dry run notes a receipt"); return "", nil }
	dry, _, err := db.EraseCustomer(t.Context(), ErasureOptions{Customer: customer, DryRun: true}, unwanted)
	if err != nil || !maps.EqualFunc(dump(t, db, tables), before, slices.Equal) {
		t.Fatalf("a dry run has changed something, or %v", err)
	}
	_, _, err = db.EraseCustomer(t.Context(), ErasureOptions{Customer: customer}, func(*ErasureReceipt) (string, error) { return "", errors.New("no note") })
	if err == nil || !maps.EqualFunc(dump(t, db, tables), before, slices.Equal) {
		t.Fatalf("an erasure without its note has changed something, or %v", err)
	}
	receipt, person, err := db.EraseCustomer(t.Context(), ErasureOptions{Customer: customer}, func(r *ErasureReceipt) (string, error) { return fmt.Sprint(r.Orders), nil })
	if err != nil || fmt.Sprint(receipt) != fmt.Sprint(dry) || receipt.Orders != 2 || person.LastName != "Quixotine" {
		t.Fatalf("%+v, %+v, %v, want %+v", receipt, person, err, dry)
	}
	if note, err := db.UnendedErasure(t.Context(), customer); err != nil || note != "2" {
		t.Errorf("the note is %q, %v", note, err)
	}
	if err := errors.Join(db.ScrubErased(t.Context()), db.EndErasure(t.Context(), customer)); err != nil {
		t.Error(err)
	}
	if note, err := db.UnendedErasure(t.Context(), customer); err != nil || note != "" {
		t.Errorf("in the end the note is %q, %v", note, err)
	}
	after := dump(t, db, tables)
	if found := findPrivate(after); len(found) > 0 {
		t.Errorf("left are %q", found)
	}
	if e.Name == "sqlite" {
		for _, end := range []string{"", "-wal"} {
			content, err := os.ReadFile(strings.TrimPrefix(dsn, "sqlite:") + end)
			if found := findPrivate(map[string][]string{"bytes of the file" + end: {string(content)}}); len(found) > 0 || err != nil && end == "" {
				t.Errorf("left are %q, %v", found, err)
			}
		}
	}
	for _, table := range tables { // all other data is unchanged
		for _, row := range others[table] {
			if !slices.Contains(after[table], row) {
				t.Errorf("table %s has lost %s", table, row)
			}
		}
	}
	for _, order := range orders {
		if n := count(t, db, fmt.Sprintf("SELECT COUNT(*) FROM sales_order o JOIN order_address a ON a.parent_id = o.entity_id WHERE o.entity_id = %d AND o.customer_id IS NULL AND o.grand_total = 12.5 AND a.country_id = 'DE'", order)); n != 1 {
			t.Errorf("order %d is not as it should be", order)
		}
	}
	if _, _, err := db.EraseCustomer(t.Context(), ErasureOptions{Customer: customer}, nil); adapter.KindOf(err) != adapter.NotFound {
		t.Errorf("again: %v", err)
	}
	for resource, keys := range map[adapter.Resource][]int64{adapter.Customers: {int64(customer)}, adapter.Orders: orders} { // for processes that cache them
		for _, key := range keys {
			if n := count(t, db, fmt.Sprintf("SELECT COUNT(*) FROM import_change WHERE resource = '%s' AND record_key = %d", resource, key)); n != 1 {
				t.Errorf("that %s %d has changed is noted %d times", resource, key, n)
			}
		}
	}
	testEraseKeeps(t, db)
}

// testEraseKeeps erases a customer and keeps the orders, and refuses a customer of a backend.
func testEraseKeeps(t *testing.T, db *DB) {
	customer := newCustomer(t, db, "kept@example.com")
	execute(t, db, fmt.Sprintf("INSERT INTO sales_order (customer_id, store_id, created_at, updated_at, remote_ip) VALUES (%d, 1, '2026-01-01 00:00:00', '2026-01-01 00:00:00', '192.0.2.78')", customer),
		fmt.Sprintf("INSERT INTO backend_record (resource, legacy_id, backend_id, tag, changed_at) VALUES ('customers', %d, 'b', 't', 1)", customer))
	if _, _, err := db.EraseCustomer(t.Context(), ErasureOptions{Customer: customer}, nil); adapter.KindOf(err) != adapter.Unsupported {
		t.Errorf("a customer of a backend: %v", err)
	}
	execute(t, db, "DELETE FROM backend_record")
	if _, _, err := db.EraseCustomer(t.Context(), ErasureOptions{Customer: customer, KeepOrders: true}, nil); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT COUNT(*) FROM sales_order WHERE remote_ip = '192.0.2.78' AND customer_id IS NULL"); n != 1 {
		t.Error("the order was not kept")
	}
}
