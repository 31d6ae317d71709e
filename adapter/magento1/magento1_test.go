package magento1_test

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
)

// schemas returns schemas with added attributes: two that the legacy store has, and one that it
// does not have.
func schemas(t *testing.T) *adapter.Schemas {
	t.Helper()
	added := func(name string, kind adapter.Kind) adapter.AddedAttribute {
		return adapter.AddedAttribute{Resource: adapter.Customers, Name: name, Kind: kind}
	}
	all, err := adapter.NewSchemas().With(added("loyalty_number", adapter.KindText), added("points", adapter.KindInteger), added("shoe_size", adapter.KindText))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// open opens a shop, and closes it when the test ends.
func open(t testing.TB, o magento1.Options) *magento1.Database {
	t.Helper()
	d, err := magento1.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// openShop creates a legacy store and opens it.
func openShop(t *testing.T, prefix string) (*magento1.Database, *sql.DB) {
	t.Helper()
	dsn, raw := magento1test.New(t, prefix)
	return open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Prefix: prefix}, Schemas: schemas(t)}), raw
}

// collect returns everything that a sequence yields.
func collect[T any](t *testing.T, all iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for one, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	return list
}

// valuesOf returns the values of a record that are not absent: texts, integers and lists,
// nil for null.
func valuesOf(r adapter.Record) map[string]any {
	all := map[string]any{}
	for i, v := range r.Values {
		name := r.Schema.Attributes[i].Name
		switch v.Kind() {
		case adapter.Absent:
		case adapter.Null:
			all[name] = nil
		case adapter.Integer:
			all[name] = int(v.Int())
		case adapter.Texts:
			all[name] = v.Texts()
		default:
			all[name] = v.Text()
		}
	}
	return all
}

func TestCustomers(t *testing.T) {
	d, _ := openShop(t, "mage_")
	customers := collect(t, d.Records(t.Context(), magento1.Customers))
	want := []map[string]any{
		{"entity_id": 1, "website_id": 1, "store_id": 1, "email": "ada@example.com", "group_id": 1, "created_at": "2012-01-02 03:04:05",
			"updated_at": "2012-01-05 00:00:00", "disable_auto_group_change": 1, "prefix": "Ms.", "firstname": "Ada", "middlename": "K",
			"lastname": "Byron", "suffix": nil, "taxvat": "GB123", "created_in": "English", "confirmation": "0123456789abcdef0123456789abcdef",
			"dob": "1985-12-10 00:00:00", "gender": 2, "last_logged_in": "2012-02-03 04:05:06",
			"password_hash": "c895aee09110d7f48c106ff77d8709ef:at", "loyalty_number": "L-77", "points": nil},
		{"entity_id": 2, "website_id": 1, "store_id": 2, "email": "łukasz@example.com", "group_id": 2, "created_at": "2012-02-02 03:04:05",
			"updated_at": "2012-02-05 00:00:00", "disable_auto_group_change": 0, "firstname": "Łukasz 漢字", "lastname": "O'Żak", "suffix": "",
			"dob": nil, "gender": 1,
			"password_hash": "731c43d58ae3da6b1d1540b9da227fa3aec66b8b574ab1a1495ed03df4bf22b1:Qx9LbnTz0pC4vR7sYwE2uK8mAaDfGhJk"},
		{"entity_id": 3, "website_id": 0, "store_id": 0, "email": "eve@example.com", "group_id": 1, "disable_auto_group_change": 0,
			"created_at": "1970-01-01 00:00:00", "updated_at": "1970-01-01 00:00:00",
			"password_hash": "$2y$04$wQm0xO8XfjtikjsVG.ySQ.C6duXVi/mYfCl3S6Kfno7PiZnNbsIVO"},
		{"entity_id": 5, "website_id": 1, "store_id": 1, "email": nil, "group_id": 1, "created_at": "2012-01-02 03:04:05",
			"updated_at": "2012-01-05 00:00:00", "disable_auto_group_change": 0},
		{"entity_id": 6, "website_id": 2, "store_id": 3, "email": "ada@example.com", "group_id": 1, "created_at": "2012-01-02 03:04:05",
			"updated_at": "2012-01-05 00:00:00", "disable_auto_group_change": 0},
	}
	var got []map[string]any
	for _, c := range customers {
		got = append(got, valuesOf(c.Record))
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	if n, err := d.Count(t.Context(), magento1.Customers); err != nil || n != 5 {
		t.Errorf("counted %d, %v", n, err)
	}
	for i, c := range customers[:3] {
		if ok, upgrade := adapter.VerifyPassword(c.Record.Get("password_hash").Text(), magento1test.Password); !ok || upgrade != (i < 2) {
			t.Errorf("customer %d: verified %t, upgrade %t", i+1, ok, upgrade)
		}
	}
}

func TestAddresses(t *testing.T) {
	d, _ := openShop(t, "")
	var got []map[string]any
	for _, a := range collect(t, d.Records(t.Context(), magento1.Addresses)) {
		got = append(got, valuesOf(a.Record))
	}
	dated := map[string]any{"created_at": "2012-01-02 03:04:05", "updated_at": "2012-01-02 03:04:06"}
	want := []map[string]any{
		{"entity_id": 1, "customer_id": 1, "firstname": "Ada", "lastname": "Byron", "company": "Analytical & Co", "street": []string{"1 Engine Way"},
			"city": "San Francisco", "country_id": "US", "region": "California", "region_id": 12, "postcode": "94105", "telephone": "415-555-0100",
			"is_default_billing": 1, "is_default_shipping": 0},
		{"entity_id": 2, "customer_id": 1, "firstname": "Ada", "lastname": "Byron", "street": []string{"12 St James Sq", "Floor 2"},
			"city": "London", "country_id": "GB", "region_id": 0, "fax": "020-555-0199", "vat_id": "GB999", "is_default_billing": 0, "is_default_shipping": 1},
		{"entity_id": 3, "customer_id": 2, "street": []string(nil), "region_id": 0, "is_default_billing": 0, "is_default_shipping": 0,
			"created_at": "1970-01-01 00:00:00", "updated_at": "1970-01-01 00:00:00"},
		{"entity_id": 4, "customer_id": 98, "street": []string(nil), "region_id": 0, "is_default_billing": 0, "is_default_shipping": 0},
		{"entity_id": 5, "customer_id": nil, "street": []string(nil), "region_id": 0, "is_default_billing": 0, "is_default_shipping": 0},
	}
	for i, address := range want {
		for name, v := range dated {
			if i != 2 {
				address[name] = v
			}
		}
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
}

func TestOrders(t *testing.T) {
	d, _ := openShop(t, "m1_")
	orders := collect(t, d.Records(t.Context(), magento1.Orders))
	if len(orders) != 5 {
		t.Fatalf("%d orders", len(orders))
	}
	want := map[string]any{
		"entity_id": 1, "increment_id": "100000001", "customer_id": 1, "store_id": 1, "state": "processing", "status": "processing",
		"created_at": "2012-03-01 10:00:00", "updated_at": "2012-03-01 11:00:00", "coupon_code": "WINTER", "shipping_description": "Flat Rate - Fixed",
		"remote_ip": "203.0.113.1", "base_currency_code": "USD", "order_currency_code": nil, "store_name": "Main Website\nMain Website Store\nEnglish",
		"store_to_order_rate": "1.0000", "payment_method": "checkmo", "gift_message_from": "Ada", "gift_message_to": "Ben", "gift_message_body": "Enjoy it",
		"tax_name": "US-CA", "tax_rate": "8.2500", "subtotal": "89.9700", "grand_total": "106.5683", "base_grand_total": "106.5683", "total_paid": "106.5683",
		"base_discount_amount": nil, "base_shipping_amount": nil, "base_subtotal": nil, "base_tax_amount": nil, "base_total_paid": nil,
		"discount_amount": nil, "shipping_amount": nil, "tax_amount": nil, "total_due": nil,
		"base_shipping_discount_amount": nil, "base_shipping_tax_amount": nil, "base_subtotal_incl_tax": nil, "base_total_due": nil, "base_total_refunded": nil,
		"discount_description": nil, "shipping_discount_amount": nil, "shipping_incl_tax": nil, "shipping_tax_amount": nil, "store_currency_code": nil,
		"subtotal_incl_tax": nil, "total_refunded": nil,
	}
	if difference := cmp.Diff(want, valuesOf(orders[0].Record)); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	var parts []any
	for _, p := range orders[0].Parts {
		parts = append(parts, string(p.Schema.Resource), int(p.Get(p.Schema.Key).Int()))
	}
	wantParts := []any{"order_items", 1, "order_items", 2, "order_addresses", 1, "order_addresses", 2, "order_comments", 1, "order_comments", 2}
	if difference := cmp.Diff(wantParts, parts); difference != "" {
		t.Errorf("want -, got +:\n%s", difference)
	}
	lid := orders[0].Parts[1]
	if lid.Get("parent_item_id").Int() != 1 || lid.Get("name").Text() != "Lid, 漢字" || lid.Get("product_id").Kind() != adapter.Null || lid.Get("qty_ordered").Text() != "2.0000" {
		t.Errorf("line 2: %v", valuesOf(lid))
	}
	if street := orders[0].Parts[2].Get("street").Text(); street != "1 Engine Way\nFloor 2" {
		t.Errorf("street %q", street)
	}
	for _, c := range []struct {
		name string
		r    adapter.Record
		want map[string]any
	}{
		{"guest order", orders[1].Record, map[string]any{"customer_id": nil, "store_id": 0, "payment_method": nil}},
		{"line of a guest order, with the order's dates", orders[1].Parts[0], map[string]any{"created_at": "2012-03-02 10:00:00", "updated_at": "2012-03-02 10:00:00"}},
		{"comment of a guest order", orders[1].Parts[2], map[string]any{"created_at": "2012-03-02 10:00:00", "is_customer_notified": 2, "comment": nil, "status": nil}},
		{"order of a deleted customer", orders[2].Record, map[string]any{"customer_id": nil}},
		{"order with one date", orders[3].Record, map[string]any{"customer_id": 2, "created_at": "2012-03-04 11:00:00", "updated_at": "2012-03-04 11:00:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := valuesOf(c.r)
			for name, want := range c.want {
				if value, there := got[name]; !there || value != want {
					t.Errorf("%s is %v, want %v", name, value, want)
				}
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	d, _ := openShop(t, "mage_")
	consumers := collect(t, d.Consumers(t.Context()))
	erp := adapter.Consumer{ID: 3, Name: "ERP", Key: "erpkeyerpkeyerpkeyerpkeyerpkey32", Secret: "erpsecreterpsecreterpsecreterp32",
		Callback: "https://erp.example/back", RejectedCallback: "https://erp.example/no"}
	if len(consumers) != 3 || consumers[0] != erp || consumers[1].Name != "Lager 漢字" || consumers[1].Callback != "" {
		t.Errorf("%+v", consumers)
	}
	tokens := collect(t, d.Tokens(t.Context()))
	if len(tokens) != 12 {
		t.Fatalf("%d tokens", len(tokens))
	}
	first := tokens[0]
	if first.ID != 1 || first.ConsumerID != 3 || first.AdminID != 4 || first.CustomerID != 0 || first.Type != adapter.AccessToken || first.Revoked ||
		first.Token.Token != "tokenofadmin0000000000000000adm4" || first.Secret != "tokensecretofadmin000000000adm04" ||
		first.Verifier != "verifierverifierverifierverifi32" || first.CreatedAt.Format("2006-01-02") != "2012-01-03" {
		t.Errorf("%+v", first)
	}
	if revoked := tokens[4]; !revoked.Revoked || revoked.CustomerID != 2 || !revoked.CreatedAt.IsZero() {
		t.Errorf("%+v", revoked)
	}
	for i, email := range map[int]string{0: "", 3: "ada@example.com", 4: "łukasz@example.com", 5: ""} {
		if tokens[i].CustomerEmail != email {
			t.Errorf("%+v, want the e-mail address %q", tokens[i], email)
		}
	}
	for i, token := range tokens {
		if unauthorized := i == 6 || i == 11; token.Unauthorized != unauthorized {
			t.Errorf("%+v", token)
		}
	}
	if tokens[6].Type != adapter.RequestToken {
		t.Errorf("%+v", tokens[6])
	}
	admins := collect(t, d.Admins(t.Context()))
	if len(admins) != 3 || admins[0] != (adapter.Admin{ID: 4, Username: "admin", PasswordHash: "c895aee09110d7f48c106ff77d8709ef:at"}) || !admins[2].Disabled {
		t.Errorf("%+v", admins)
	}
}

// TestSeveralBatches reads more records than one batch holds.
func TestSeveralBatches(t *testing.T) {
	d, raw := openShop(t, "")
	magento1test.Break(t, raw,
		"INSERT INTO customer_entity (entity_id, website_id, email) SELECT seq, 1, CONCAT('n', seq, '@example.com') FROM seq_1001_to_1900",
		"INSERT INTO customer_entity_varchar (attribute_id, entity_id, value) SELECT 5, seq, CONCAT('N', seq) FROM seq_1001_to_1900",
		"INSERT INTO sales_flat_order (entity_id, increment_id, created_at) SELECT seq, seq, '2012-01-01' FROM seq_1001_to_1900",
		"INSERT INTO sales_flat_order_item (order_id) SELECT seq FROM seq_1001_to_1900",
	)
	customers := collect(t, d.Records(t.Context(), magento1.Customers))
	if len(customers) != 905 || customers[904].Record.Get("firstname").Text() != "N1900" {
		t.Errorf("%d customers", len(customers))
	}
	orders := collect(t, d.Records(t.Context(), magento1.Orders))
	if len(orders) != 905 || len(orders[904].Parts) != 1 {
		t.Errorf("%d orders", len(orders))
	}
	some := 0
	for range d.Records(t.Context(), magento1.Orders) {
		if some++; some == 250 {
			break // the connection must be free afterwards
		}
	}
	if n, err := d.Count(t.Context(), magento1.Orders); err != nil || n != 905 {
		t.Errorf("counted %d, %v", n, err)
	}
}

// TestOldVersions reads shops that lack tables and columns of later versions.
func TestOldVersions(t *testing.T) {
	d, raw := openShop(t, "")
	magento1test.Break(t, raw,
		"DROP TABLE log_customer, gift_message, sales_order_tax, eav_attribute_option",
		"ALTER TABLE customer_entity DROP COLUMN disable_auto_group_change",
		"ALTER TABLE sales_flat_order DROP COLUMN gift_message_id, DROP COLUMN coupon_code",
		"DELETE FROM eav_attribute WHERE attribute_code IN ('default_billing', 'default_shipping')",
	)
	ada := collect(t, d.Records(t.Context(), magento1.Customers))[0].Record
	if ada.Get("disable_auto_group_change").Int() != 0 || ada.Get("gender").Int() != 124 || !ada.Get("last_logged_in").Empty() {
		t.Errorf("%v", valuesOf(ada))
	}
	if first := collect(t, d.Records(t.Context(), magento1.Orders))[0]; !first.Record.Get("tax_name").Empty() || len(first.Parts) != 6 {
		t.Errorf("%v", valuesOf(first.Record))
	}
	if address := collect(t, d.Records(t.Context(), magento1.Addresses))[0].Record; address.Get("is_default_billing").Int() != 0 {
		t.Errorf("%v", valuesOf(address))
	}
}

// lastError returns the error that ends a sequence.
func lastError[T any](all iter.Seq2[T, error]) (last error) {
	for _, err := range all {
		last = err
	}
	return last
}

func TestErrors(t *testing.T) {
	dsn, raw := magento1test.New(t, "mage_")
	t.Run("wrong prefix", func(t *testing.T) {
		d := open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Prefix: ""}, Schemas: schemas(t)})
		if err := lastError(d.Records(t.Context(), magento1.Customers)); err == nil || !strings.Contains(err.Error(), "table prefix") {
			t.Errorf("%v, want an error about the prefix", err)
		}
	})
	t.Run("canceled", func(t *testing.T) {
		d := open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Prefix: "mage_"}, Schemas: schemas(t)})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := lastError(d.Records(ctx, magento1.Orders)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want context.Canceled", err)
		}
	})
	for _, c := range []struct{ name, dsn, prefix string }{
		{"no DSN", "", ""},
		{"wrong driver", "postgres://u:swordfish@h/d", ""},
		{"DSN without a database", "mysql:u:swordfish@tcp(127.0.0.1:1)/", ""},
		{"unreachable server", "mysql:u:swordfish@tcp(127.0.0.1:1)/d", ""},
		{"a hostile prefix", dsn, "x` UNION SELECT"},
		{"a long prefix", dsn, strings.Repeat("p", 33)},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := magento1.Open(t.Context(), magento1.Options{ServerOptions: magento1.ServerOptions{DSN: c.dsn, Prefix: c.prefix}, Schemas: schemas(t)})
			if err == nil {
				t.Fatal(d.Close(), "Open succeeded")
			}
			if strings.Contains(err.Error(), "swordfish") {
				t.Errorf("%v contains the password", err)
			}
		})
	}
	t.Run("read-only transactions", func(t *testing.T) {
		// Each read of this view would write if it could.
		if _, err := raw.ExecContext(t.Context(), `CREATE FUNCTION write_row() RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM mage_oauth_token; RETURN 1; END;
			RENAME TABLE mage_oauth_consumer TO hidden; CREATE VIEW mage_oauth_consumer AS SELECT * FROM hidden WHERE write_row() = 1`); err != nil {
			t.Fatal(err)
		}
		d := open(t, magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Prefix: "mage_"}, Schemas: schemas(t)})
		if err := lastError(d.Consumers(t.Context())); err == nil || !strings.Contains(err.Error(), "READ ONLY") {
			t.Errorf("%v, want the write refused", err)
		}
	})
}
