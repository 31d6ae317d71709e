package binlog_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/magento1/binlog"
	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

const (
	prefix    = "mg_"
	heartbeat = 20 * time.Millisecond
	timeout   = 30 * time.Second
)

// A shop is a shop on a server with a binary log.
type shop struct {
	*testing.T
	dsn string
	db  *sql.DB
}

func newShop(t *testing.T) *shop {
	t.Helper()
	dsn := sqltest.LoggedMariaDB(t)
	return &shop{t, dsn, magento1test.Fill(t, dsn, magento1test.Rich, prefix)}
}

// in returns the shop for a subtest.
func (s *shop) in(t *testing.T) *shop { return &shop{t, s.dsn, s.db} }

// exec executes statements on one connection, with {p} for the prefix.
func (s *shop) exec(statements ...string) {
	s.Helper()
	conn, err := s.db.Conn(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, text := range statements {
		if _, err := conn.ExecContext(s.Context(), strings.ReplaceAll(text, "{p}", prefix)); err != nil {
			s.Fatalf("%s: %v", text, err)
		}
	}
}

func (s *shop) value(query string) (v string) {
	s.Helper()
	if err := s.db.QueryRowContext(s.Context(), strings.ReplaceAll(query, "{p}", prefix)).Scan(&v); err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	return v
}

func (s *shop) options() binlog.Options {
	return binlog.Options{DSN: s.dsn, Prefix: prefix, Heartbeat: heartbeat, MaxKeys: 100}
}

// open opens a reader that is closed when the test ends.
func (s *shop) open(o binlog.Options) *binlog.Reader {
	s.Helper()
	r, err := binlog.Open(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := r.Close(); err != nil {
			s.Error(err)
		}
	})
	return r
}

// read returns all changes up to the end of the log, and how many batches with changes there
// were.
func (s *shop) read(r *binlog.Reader) (all binlog.Batch, batches int) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), testenv.Patience(s))
	defer cancel()
	end := s.value("SELECT @@GLOBAL.gtid_binlog_pos")
	for all.Position.GTID != end {
		b, err := r.Next(ctx)
		if err != nil {
			s.Fatal(err)
		}
		if len(b.Changes) > 0 {
			batches++
			if b.At.IsZero() || time.Since(b.At) > timeout+time.Second {
				s.Errorf("changes at %s", b.At)
			}
		}
		all.Changes, all.Settings, all.Findings = append(all.Changes, b.Changes...), append(all.Settings, b.Settings...), append(all.Findings, b.Findings...)
		all.Credentials, all.Schema = all.Credentials || b.Credentials, all.Schema || b.Schema
		all.Position = b.Position
	}
	return all, batches
}

// describe returns the contents of a batch: "products 1", "all orders", "credentials", settings,
// "schema" and the names of findings.
func describe(b binlog.Batch) (all []string) {
	order := magento1.Parts()
	slices.SortFunc(b.Changes, func(a, b binlog.Change) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Part), slices.Index(order, b.Part)), cmp.Compare(a.Key, b.Key))
	})
	for _, c := range b.Changes {
		one := fmt.Sprintf("%s %d", c.Part, c.Key)
		if c.Key == 0 {
			one = "all " + string(c.Part)
		}
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	if b.Credentials {
		all = append(all, "credentials")
	}
	all = append(all, b.Settings...)
	if b.Schema {
		all = append(all, "schema")
	}
	for _, f := range b.Findings {
		all = append(all, "finding "+f.Name)
	}
	return all
}

func TestChanges(t *testing.T) {
	s := newShop(t)
	other := sqltest.LoggedMariaDB(t)
	magento1test.Fill(t, other, magento1test.Demo, prefix)
	name, otherName := s.dsn[strings.LastIndex(s.dsn, "/")+1:], other[strings.LastIndex(other, "/")+1:]
	r := s.open(s.options())
	s.exec("INSERT INTO {p}gift_message (gift_message_id, sender) VALUES (901, 'Ada')", "UPDATE {p}sales_flat_order SET gift_message_id = 901 WHERE entity_id = 3")
	s.read(r)
	gender := s.value("SELECT attribute_id FROM {p}eav_attribute WHERE attribute_code = 'gender'")
	color := s.value("SELECT attribute_id FROM {p}eav_attribute WHERE attribute_code = 'color'")
	for _, c := range []struct {
		name       string
		statements []string
		want       []string
	}{
		{"new value", []string{"UPDATE {p}catalog_product_entity_decimal SET value = value + 1 WHERE entity_id IN (1, 2)"}, []string{"products 1", "products 2"}},
		{"the same value", []string{"UPDATE {p}catalog_product_entity_decimal SET value = value WHERE entity_id = 1"}, nil},
		{"value that may be the role of an image", []string{"UPDATE {p}catalog_product_entity_varchar SET value = CONCAT(value, '.') WHERE entity_id = 2 AND store_id = 0 LIMIT 1"}, []string{"products 2", "images 2"}},
		{"two values of a product in two transactions", []string{
			"UPDATE {p}catalog_product_entity_text SET value = 'a' WHERE entity_id = 1", "UPDATE {p}catalog_product_entity_text SET value = 'b' WHERE entity_id = 1",
		}, []string{"products 1"}},
		{"row that moves to another product", []string{"UPDATE {p}catalog_product_website SET product_id = 12 WHERE product_id = 1 AND website_id = 1"}, []string{"products 1", "products 12"}},
		{"swapped SKUs", []string{"BEGIN", "UPDATE {p}catalog_product_entity SET sku = 'swap' WHERE entity_id = 1", "UPDATE {p}catalog_product_entity SET sku = 'one' WHERE entity_id = 2",
			"UPDATE {p}catalog_product_entity SET sku = 'two' WHERE entity_id = 1", "COMMIT"}, []string{"products 1", "products 2"}},
		{"id above 2^31", []string{"SET foreign_key_checks = 0", "INSERT INTO {p}catalog_category_product (category_id, product_id) VALUES (3, 4000000000)", "SET foreign_key_checks = 1"}, []string{"products 4000000000"}},
		{"id 0", []string{"SET foreign_key_checks = 0", "INSERT INTO {p}catalog_category_product (category_id, product_id) VALUES (3, 0)", "SET foreign_key_checks = 1"}, nil},
		{"label of an image", []string{"UPDATE {p}catalog_product_entity_media_gallery_value SET label = 'new' WHERE value_id = 7"}, []string{"images 16"}},
		{"new image with its label", []string{"INSERT INTO {p}catalog_product_entity_media_gallery (value_id, entity_id, attribute_id) SELECT 9001, 7, attribute_id FROM {p}eav_attribute WHERE attribute_code = 'media_gallery'",
			"INSERT INTO {p}catalog_product_entity_media_gallery_value (value_id, label) VALUES (9001, 'x')"}, []string{"images 7"}},
		{"removed image", []string{"DELETE FROM {p}catalog_product_entity_media_gallery WHERE value_id = 9001"}, []string{"images 7"}},
		{"review", []string{"BEGIN", "INSERT INTO {p}review (review_id, entity_id, entity_pk_value, status_id) VALUES (901, 1, 5, 1)", "INSERT INTO {p}review_store VALUES (901, 0)", "COMMIT"}, []string{"products 5"}},
		{"review at one more store view", []string{"INSERT INTO {p}review_store VALUES (901, 1)"}, []string{"products 5"}},
		{"review of a product 0", []string{"INSERT INTO {p}review (review_id, entity_id, entity_pk_value, status_id) VALUES (902, 1, 0, 1)", "INSERT INTO {p}review_store VALUES (902, 0)"}, nil},
		{"stock item and status", []string{"UPDATE {p}cataloginventory_stock_item SET qty = qty - 1 WHERE item_id = 4", "UPDATE {p}cataloginventory_stock_status SET qty = qty + 7 WHERE product_id = 4"}, []string{"products 4", "stock 4"}},
		{"deleted product", []string{"DELETE FROM {p}catalog_product_entity WHERE entity_id = 7"}, []string{"products 7"}},
		{"deleted category", []string{"DELETE FROM {p}catalog_category_entity WHERE entity_id = 4"}, []string{"all categories", "all products"}},

		{"customer", []string{"UPDATE {p}customer_entity SET email = 'new@example.com' WHERE entity_id = 2"}, []string{"customers 2"}},
		{"password hash", []string{"UPDATE {p}customer_entity_varchar SET value = 'hash:salt' WHERE entity_id = 2 LIMIT 1"}, []string{"customers 2"}},
		{"default address", []string{"UPDATE {p}customer_entity_int SET value = 902 WHERE entity_id = 1 AND value = 1 LIMIT 1"}, []string{"customers 1", "addresses 1", "addresses 902"}},
		{"deleted customer", []string{"DELETE FROM {p}customer_entity WHERE entity_id = 3"}, []string{"customers 3", "all addresses", "all orders", "credentials"}},
		{"order with lines and comments", []string{"BEGIN", "UPDATE {p}sales_flat_order SET state = 'closed' WHERE entity_id = 2", "UPDATE {p}sales_flat_order_item SET qty_shipped = 9 WHERE order_id = 2",
			"INSERT INTO {p}sales_flat_order_status_history (parent_id, comment) VALUES (2, 'x')", "UPDATE {p}sales_flat_order_payment SET method = 'x' WHERE parent_id = 2", "COMMIT"}, []string{"orders 2"}},
		{"gift message of a cart", []string{"INSERT INTO {p}gift_message (gift_message_id) VALUES (902)"}, nil},
		{"gift message of an order", []string{"UPDATE {p}gift_message SET message = 'x' WHERE gift_message_id = 901"}, []string{"orders 3"}},
		{"option of gender", []string{"INSERT INTO {p}eav_attribute_option (attribute_id) VALUES (" + gender + ")"}, []string{"all directory", "all customers"}},
		{"option of a product's attribute", []string{"INSERT INTO {p}eav_attribute_option (attribute_id) VALUES (" + color + ")"}, []string{"all directory"}},

		{"setting that records have", []string{"UPDATE {p}core_config_data SET value = 'Europe/Rome' WHERE path = 'general/locale/timezone' AND scope = 'default'", "INSERT INTO {p}core_config_data (scope, scope_id, path, value) VALUES ('websites', 1, 'general/locale/timezone', 'UTC')"},
			[]string{"all websites", "core_config_data default 0 general/locale/timezone", "core_config_data websites 1 general/locale/timezone"}},
		{"setting that nothing needs", []string{"INSERT INTO {p}core_config_data (path, value) VALUES ('design/head/title', 'x')"}, nil},
		{"own attribute", []string{"UPDATE {p}catalog_eav_attribute SET is_visible_on_front = 1 - is_visible_on_front WHERE attribute_id = " + color}, []string{"eav_attribute " + color, "schema"}},
		{"administrator who logs in", []string{"UPDATE {p}admin_user SET lognum = lognum + 1, logdate = NOW() WHERE user_id = 1"}, nil},
		{"administrator's password", []string{"UPDATE {p}admin_user SET password = 'x' WHERE user_id = 1"}, []string{"credentials", "admin_user 1"}},
		{"revoked token", []string{"UPDATE {p}oauth_token SET revoked = 1 - revoked WHERE entity_id = (SELECT id FROM (SELECT MIN(entity_id) id FROM {p}oauth_token) x)"}, []string{"credentials"}},
		{"deleted store view", []string{"DELETE FROM {p}core_store WHERE store_id = 2"}, []string{"all websites", "all directory", "all categories", "all products", "all images", "all customers", "all orders"}},

		{"address of a page", []string{"UPDATE {p}core_url_rewrite SET request_path = 'x' WHERE store_id = 1 AND id_path = 'product/1'"}, []string{"products 1"}},
		{"ignored table", []string{"INSERT INTO {p}eav_entity_store (entity_type_id) VALUES (1)"}, nil},
		{"unknown table", []string{"CREATE TABLE {p}extension (entity_id INT)", "INSERT INTO {p}extension VALUES (1)", "DROP TABLE {p}extension"}, nil},
		{"table without the prefix", []string{"CREATE TABLE catalog_product_entity (entity_id INT)", "INSERT INTO catalog_product_entity VALUES (1)", "DROP TABLE catalog_product_entity"}, nil},
		{"another database", []string{"UPDATE `" + otherName + "`.{p}catalog_product_entity SET sku = 'x'", "USE `" + otherName + "`", "TRUNCATE {p}customer_address_entity_int", "USE `" + name + "`"}, nil},
		{"rolled back", []string{"BEGIN", "UPDATE {p}catalog_product_entity SET sku = 'x' WHERE entity_id = 1", "ROLLBACK"}, nil},
		{"rolled back to a savepoint", []string{"BEGIN", "UPDATE {p}catalog_product_entity SET sku = 'x' WHERE entity_id = 1", "SAVEPOINT a", "UPDATE {p}catalog_product_entity SET sku = 'y' WHERE entity_id = 2", "ROLLBACK TO a", "COMMIT"},
			[]string{"products 1"}},
		{"next file", []string{"UPDATE {p}review SET status_id = 2 WHERE review_id = 901", "FLUSH BINARY LOGS", "UPDATE {p}cataloginventory_stock_item SET qty = 1 WHERE item_id = 1"}, []string{"products 5", "stock 1"}},
		{"more than are named", []string{"SET foreign_key_checks = 0", "INSERT INTO {p}catalog_category_product (category_id, product_id) SELECT 5, seq FROM seq_1001_to_1101", "SET foreign_key_checks = 1"}, []string{"all products"}},
		{"TRUNCATE", []string{"TRUNCATE {p}catalogrule_product_price"}, []string{"all products", "schema"}},
		{"changed columns", []string{"ALTER TABLE {p}cataloginventory_stock_item ADD COLUMN extra INT FIRST"}, []string{"all stock", "schema"}},
		{"after changed columns", []string{"UPDATE {p}cataloginventory_stock_item SET extra = 7 WHERE item_id = 2"}, []string{"stock 2"}},
		{"table without its columns", []string{"ALTER TABLE {p}sales_order_tax CHANGE order_id other_id INT UNSIGNED", "UPDATE {p}sales_order_tax SET title = 'x'"}, []string{"all orders", "schema", "finding sales_order_tax"}},
		{"maintenance", []string{"ALTER TABLE {p}catalogrule_product_price DISABLE KEYS", "ALTER TABLE {p}catalogrule_product_price ENABLE KEYS", "OPTIMIZE TABLE {p}review", "ANALYZE TABLE {p}catalog_product_entity"}, nil},
		{"NOBLOB", []string{"SET SESSION binlog_row_image = 'NOBLOB'", "UPDATE {p}catalog_product_entity_text SET value = 'c' WHERE entity_id = 1", "SET SESSION binlog_row_image = 'FULL'"}, []string{"products 1"}},
		{"MINIMAL", []string{"SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE {p}catalog_product_entity_text SET value = 'd' WHERE entity_id = 1", "SET SESSION binlog_row_image = 'FULL'"}, []string{"all products", "finding binlog_row_image"}},
		{"names of columns in the log", []string{"SET GLOBAL binlog_row_metadata = 'FULL'", "ALTER TABLE {p}review_detail ADD COLUMN x INT", "UPDATE {p}catalog_product_entity SET sku = 'z' WHERE entity_id = 5", "SET GLOBAL binlog_row_metadata = 'NO_LOG'"}, []string{"products 5"}},
		{"STATEMENT", []string{"SET SESSION binlog_format = 'STATEMENT'", "UPDATE {p}customer_address_entity SET increment_id = 'x' WHERE entity_id = 1", "SET SESSION binlog_format = 'ROW'"}, []string{"all addresses", "schema", "finding binlog_format"}},
		{"compressed", []string{"SET GLOBAL log_bin_compress = 1, log_bin_compress_min_len = 10", "UPDATE {p}catalog_product_entity_text SET value = REPEAT('e', 500) WHERE entity_id = 1",
			"CREATE OR REPLACE VIEW compressed AS SELECT 'a statement that is long enough'", "SET GLOBAL log_bin_compress = 0"}, []string{"products 1"}},
		{"prepared XA transaction", []string{"XA START 'x'", "UPDATE {p}sales_flat_order SET state = 'xa' WHERE entity_id = 1", "XA END 'x'", "XA PREPARE 'x'"}, nil},
		{"committed XA transaction", []string{"XA COMMIT 'x'"}, []string{"orders 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := s.in(t)
			s.exec(c.statements...)
			got, _ := s.read(r)
			slices.Sort(got.Settings)
			got.Settings = slices.Compact(got.Settings)
			if diff := gocmp.Diff(c.want, describe(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// failsWith checks that opening a reader, or reading, fails with an error.
func (s *shop) failsWith(want error, o binlog.Options) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), testenv.Patience(s))
	defer cancel()
	r, err := binlog.Open(ctx, o)
	if err == nil {
		err = nextError(ctx, r)
		if err := r.Close(); err != nil {
			s.Error(err)
		}
	}
	if !errors.Is(err, want) {
		s.Errorf("got %v, want %v", err, want)
	}
}

// nextError reads until reading fails.
func nextError(ctx context.Context, r *binlog.Reader) (err error) {
	for err == nil {
		_, err = r.Next(ctx)
	}
	return err
}

func TestResume(t *testing.T) {
	s := newShop(t)
	r := s.open(s.options())
	s.exec("UPDATE {p}catalog_product_entity SET sku = 'a' WHERE entity_id = 1")
	before, _ := s.read(r)
	s.exec("UPDATE {p}catalog_product_entity SET sku = 'b' WHERE entity_id = 2", "FLUSH BINARY LOGS", "UPDATE {p}catalog_product_entity SET sku = 'c' WHERE entity_id = 3")
	for name, byGTID := range map[string]bool{"by GTID": true, "by place": false} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			o := s.options()
			var err error
			if o.From, err = magento1.ParsePosition(before.Position.String()); err != nil {
				t.Fatal(err)
			}
			if !byGTID {
				o.From.GTID = ""
			}
			got, _ := s.read(s.open(o))
			if diff := gocmp.Diff([]string{"products 2", "products 3"}, describe(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLostConnection(t *testing.T) {
	s := newShop(t)
	o := s.options()
	r := s.open(o)
	s.exec("UPDATE {p}catalog_product_entity SET sku = 'a' WHERE entity_id = 1")
	before, _ := s.read(r)
	s.exec("KILL " + s.value("SELECT id FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump' ORDER BY id DESC LIMIT 1"))
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience(t))
	defer cancel()
	if err := nextError(ctx, r); errors.Is(err, binlog.ErrGap) || ctx.Err() != nil {
		t.Errorf("got %v, want a lost connection", err)
	}
	s.exec("UPDATE {p}catalog_product_entity SET sku = 'b' WHERE entity_id = 2")
	o.From = before.Position
	got, _ := s.read(s.open(o))
	if diff := gocmp.Diff([]string{"products 2"}, describe(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLostLookup takes the connection away that asks for the columns of tables, while the log is still
// sent.
func TestLostLookup(t *testing.T) {
	s := newShop(t)
	const user = "lookup@'127.0.0.1'"
	s.exec("CREATE USER "+user, "GRANT ALL ON *.* TO "+user)
	t.Cleanup(func() {
		if _, err := s.db.Exec("DROP USER " + user); err != nil { // the context of the test has ended
			t.Error(err)
		}
	})
	o := s.options()
	o.DSN = strings.Replace(s.dsn, "root@", "lookup@", 1)
	r := s.open(o)
	var idle string
	testenv.Await(t, "the server to say that the connection is idle, which it may do after its answer", func() bool {
		return s.db.QueryRowContext(t.Context(), "SELECT id FROM information_schema.PROCESSLIST WHERE user = 'lookup' AND command = 'Sleep'").Scan(&idle) == nil
	})
	s.exec("ALTER USER "+user+" ACCOUNT LOCK", "KILL "+idle,
		"UPDATE {p}catalog_product_entity SET sku = 'a' WHERE entity_id = 1")
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience(t))
	defer cancel()
	if err := nextError(ctx, r); errors.Is(err, binlog.ErrGap) || ctx.Err() != nil {
		t.Errorf("got %v, want another error than a gap", err)
	}
	s.exec("ALTER USER " + user + " ACCOUNT UNLOCK") // closing kills a connection
}

// TestCloseWhileServerHangs closes a reader while its server does not answer.
func TestCloseWhileServerHangs(t *testing.T) {
	t.Parallel() // much of it is waiting
	server := sqltest.StartLoggedMariaDB(t)
	dsn := server.Database("shop")
	magento1test.Fill(t, dsn, magento1test.Demo, "")
	r, err := binlog.Open(t.Context(), binlog.Options{DSN: dsn, Heartbeat: heartbeat})
	if err != nil {
		t.Fatal(err)
	}
	server.Pause()
	closed := make(chan error, 1)
	go func() { closed <- r.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * timeout / 3): // less than it would wait for the server otherwise
		t.Error("it waits for the server")
	}
	server.Resume()
}

func TestServerID(t *testing.T) {
	s := newShop(t)
	o := s.options()
	o.ServerID = 77
	first := s.open(o)
	s.open(o)
	s.exec("UPDATE {p}catalog_product_entity SET sku = 'a' WHERE entity_id = 1")
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience(t))
	defer cancel()
	if err := nextError(ctx, first); !errors.Is(err, binlog.ErrServerID) {
		t.Errorf("got %v", err)
	}
}

func TestGap(t *testing.T) {
	s := newShop(t)
	r, err := binlog.Open(t.Context(), s.options())
	if err != nil {
		t.Fatal(err)
	}
	s.exec("UPDATE {p}catalog_product_entity SET sku = 'a' WHERE entity_id = 1")
	b, _ := s.read(r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s.exec("UPDATE {p}catalog_product_entity SET sku = 'b' WHERE entity_id = 1")
	from := func(change func(*magento1.Position)) binlog.Options {
		o := s.options()
		o.From = b.Position
		change(&o.From)
		return o
	}
	same := func(*magento1.Position) {}
	for _, c := range []struct {
		name       string
		statements []string
		from       binlog.Options
	}{
		{"another server", nil, from(func(p *magento1.Position) { p.Server = "other" })},
		{"GTID that is not known", nil, from(func(p *magento1.Position) { p.GTID = "0-1-999999" })},
		{"GTIDs of MySQL", nil, from(func(p *magento1.Position) { p.GTID = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5" })},
		{"file that is not there", nil, from(func(p *magento1.Position) { p.GTID, p.File = "", "bin.999999" })},
		{"place after the end", nil, from(func(p *magento1.Position) { p.GTID, p.Offset = "", 1<<31 })},
		{"place after 4 GiB", nil, from(func(p *magento1.Position) { p.GTID, p.Offset = "", 1<<33 })},
		{"purged", []string{"FLUSH BINARY LOGS", "purge"}, from(same)},
		{"reset", []string{"RESET MASTER", "UPDATE {p}catalog_product_entity SET sku = 'd' WHERE entity_id = 1"}, from(same)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := s.in(t)
			for _, statement := range c.statements {
				if statement == "purge" {
					s.purge()
				} else {
					s.exec(statement)
				}
			}
			s.failsWith(binlog.ErrGap, c.from)
		})
	}
	t.Run("no log", func(t *testing.T) {
		s.in(t).failsWith(binlog.ErrNoLog, binlog.Options{DSN: sqltest.MariaDB(t)})
	})
}

// purge removes all files of the log but the last one, which the server does not do while one is
// in use.
func (s *shop) purge() {
	s.Helper()
	last := ""
	for {
		var first string
		rows, err := s.db.QueryContext(s.Context(), "SHOW BINARY LOGS")
		if err != nil {
			s.Fatal(err)
		}
		count := 0
		for rows.Next() {
			var size string
			if err := rows.Scan(&last, &size); err != nil {
				s.Fatal(err)
			}
			if count++; count == 1 {
				first = last
			}
		}
		if first == last {
			return
		}
		s.exec("PURGE BINARY LOGS TO '" + last + "'")
	}
}
