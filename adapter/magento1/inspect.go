package magento1

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/text/encoding/charmap"

	"github.com/portico-commerce/portico/adapter"
)

// keyTables returns the tables that give the keys of each resource.
func keyTables() map[string]adapter.Resource {
	return map[string]adapter.Resource{
		"core_website": adapter.Websites, "core_store": adapter.Stores, "customer_group": adapter.CustomerGroups, "catalog_category_entity": adapter.Categories,
		"tax_calculation": adapter.TaxRates, "directory_country_region": adapter.Regions, "admin_user": adapter.Admins, "customer_entity": adapter.Customers,
		"customer_address_entity": adapter.CustomerAddresses, "catalog_product_entity": adapter.Products, "catalog_product_entity_media_gallery": adapter.ProductImages,
		"cataloginventory_stock_item": adapter.StockItems, "sales_flat_order": adapter.Orders, "sales_flat_order_item": adapter.OrderItems,
		"sales_flat_order_address": adapter.OrderAddresses, "sales_flat_order_status_history": adapter.OrderComments,
	}
}

// NextKeys returns the greatest key that the tables have assigned so far to records of each
// resource, including parts: AUTO_INCREMENT less one, so that the keys of deleted records count.
// Resources whose tables do not exist, or have assigned no key yet, are absent.
func (d *Database) NextKeys(ctx context.Context) (map[adapter.Resource]adapter.Key, error) {
	keys := map[adapter.Resource]adapter.Key{}
	err := d.conn.retry(ctx, func(tx *sql.Tx) error {
		// MySQL 8 would otherwise return statistics up to a day old; other servers have no such
		// variable.
		var unknown *mysql.MySQLError
		if _, err := tx.ExecContext(ctx, "SET SESSION information_schema_stats_expiry = 0"); err != nil && !errors.As(err, &unknown) {
			return err
		}
		return d.conn.Each(ctx, tx, "SELECT TABLE_NAME, AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND AUTO_INCREMENT > 1", func(r row) error {
			if name, ok := strings.CutPrefix(string(r[0]), d.conn.Prefix); ok {
				if resource, ok := keyTables()[name]; ok && isKey(resource, r.ID(1)-1) { // no record has a greater one
					keys[resource] = adapter.Key(r.ID(1) - 1)
				}
			}
			return nil
		})
	})
	return keys, err
}

// RulesEvaluated returns the last day for which catalogue price rules were evaluated, as
// "2006-01-02", or "" if there are no rule prices.
func (d *Database) RulesEvaluated(ctx context.Context) (day string, err error) {
	const table = "catalogrule_product_price"
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		return d.conn.eachIfTable(ctx, tx, table, "SELECT MAX(rule_date) FROM "+d.conn.Table(table), func(r row) error {
			if moment, ok := normalizeTime(string(r[0])); ok {
				day, _, _ = strings.Cut(moment, " ")
			}
			return nil
		})
	})
	return day, err
}

const (
	// maxSampled is the number of texts that DoublyEncoded looks at from either end of a
	// table, and maxEncodedTwice the number that it returns of each part.
	maxSampled      = 10_000
	maxEncodedTwice = 20
)

// An EncodedTwice is a text that looks as if it had been encoded in UTF-8 twice, such as
// "Ã©" for "é".
type EncodedTwice struct {
	Part  Part
	Table string // without the prefix
	Key   string // "product 7, attribute name, store 0"
}

// DoublyEncoded returns texts that look as if they had been encoded twice, at most 20 of
// each part, of the names of products, categories and customers. It looks at no more than
// the first and the last 10,000 rows of each attribute. If the tables claim to hold latin1,
// they are read right with utf-8 as Options.Charset; else the texts were stored like this.
func (d *Database) DoublyEncoded(ctx context.Context) (all []EncodedTwice, err error) {
	for _, of := range []struct {
		entity
		codes []string
	}{{categoryEntity(), []string{"name"}}, {productEntity(), []string{"name"}}, {customerEntity(), []string{"firstname", "lastname"}}} {
		err := d.conn.retry(ctx, func(tx *sql.Tx) error {
			attributes, err := attributesOf(ctx, d.conn, tx, of.code)
			found := map[string]bool{}
			for _, a := range attributes {
				for _, code := range of.codes {
					if a.code == code && a.backend == "varchar" && a.table == "" && err == nil {
						err = d.sampleEncoded(ctx, tx, of.entity, a, found)
					}
				}
			}
			for key := range found {
				all = append(all, EncodedTwice{of.part, of.table + "_varchar", key})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// sampleEncoded adds to found where values of an attribute look as if they had been encoded
// twice.
func (d *Database) sampleEncoded(ctx context.Context, tx *sql.Tx, e entity, a eavAttribute, found map[string]bool) error {
	table := e.table + "_varchar"
	columns, err := d.conn.ColumnsOf(ctx, tx, table)
	store := "0"
	if columns["store_id"] {
		store = "store_id"
	}
	for _, order := range []string{"value_id", "value_id DESC"} {
		if err != nil {
			return err
		}
		err = d.conn.eachIfTable(ctx, tx, table, "SELECT entity_id, "+store+", value FROM "+d.conn.Table(table)+" WHERE attribute_id = "+formatID(a.id)+
			" ORDER BY "+order+" LIMIT "+formatID(maxSampled), func(r row) error {
			if len(found) < maxEncodedTwice && isEncodedTwice(d.conn.TextOf(r[2])) {
				found[fmt.Sprintf("%s %d, attribute %s, store %d", e.noun, r.ID(0), a.code, r.ID(1))] = true
			}
			return nil
		})
	}
	return err
}

// isEncodedTwice reports whether a text, encoded in MySQL's latin1, is UTF-8 with characters
// outside of ASCII.
func isEncodedTwice(s string) bool {
	bytes, err := charmap.Windows1252.NewEncoder().String(s)
	return err == nil && len(bytes) < len(s) && utf8.ValidString(bytes)
}

// ChangedPage is the number of records that ChangedSince returns at a time.
const ChangedPage = 10_000

// A Changed is a record that the shop has dated as changed.
type Changed struct {
	Key adapter.Key
	At  string // "2006-01-02 15:04:05", as the shop has it
}

// HasChangeTimes reports whether the shop dates the changes of a part's records. It does not
// date each change of these.
func HasChangeTimes(p Part) bool { return changeTable(p) != "" }

// changeTable returns the table that dates the changes of a part's records.
func changeTable(p Part) string {
	return map[Part]string{
		Categories: "catalog_category_entity", Products: "catalog_product_entity", Customers: "customer_entity", Addresses: "customer_address_entity", Orders: "sales_flat_order",
	}[p]
}

// ChangedSince returns the records of a part with keys greater than after that the shop has
// dated as changed at a time or later: by ascending key, at most [ChangedPage].
func (d *Database) ChangedSince(ctx context.Context, p Part, since string, after adapter.Key) (changed []Changed, err error) {
	start, ok := normalizeTime(since)
	table := changeTable(p)
	if !ok || table == "" {
		return nil, nil
	}
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		changed = nil
		return d.conn.Each(ctx, tx, "SELECT entity_id, updated_at FROM "+d.conn.Table(table)+" WHERE updated_at >= '"+start+"' AND entity_id > "+formatID(int64(after))+
			" ORDER BY entity_id LIMIT "+formatID(ChangedPage), func(r row) error {
			changed = append(changed, Changed{adapter.Key(r.ID(0)), string(r[1])})
			return nil
		})
	})
	return changed, err
}

// Now returns the time by the clock of the database server, in the zone in which times are
// read.
func (d *Database) Now(ctx context.Context) (now string, err error) {
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		return d.conn.Each(ctx, tx, "SELECT NOW()", func(r row) error {
			now = string(r[0])
			return nil
		})
	})
	return now, err
}

// MaxKeys is the number of keys that RecordsOf and KeysOf accept at a time.
const MaxKeys = maxBatch

var errKeys = errors.New("too many keys at a time")

// RecordsOf returns the records of a part that have some keys, at most [MaxKeys], as they are in
// one snapshot: by ascending key, and without keys that do not exist. Of a part that RecordsBetween
// always reads as a whole it returns all records.
func (d *Database) RecordsOf(ctx context.Context, p Part, keys ...adapter.Key) (records []adapter.Aggregate, err error) {
	ids, err := idsOf(keys)
	if err != nil {
		return nil, err
	}
	if read, whole := d.wholeReaders()[p]; whole {
		return d.readWindow(ctx, read, window{after: -1, through: endless, limit: maxBatch})
	}
	reader, ok := d.readers(ids)[p]
	if !ok {
		return nil, fmt.Errorf("a shop has no part %q", p)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return d.readWindow(ctx, reader, window{after: ids[0] - 1, through: ids[len(ids)-1], limit: len(ids), ids: ids})
}

// readWindow reads the records of a window in one transaction.
func (d *Database) readWindow(ctx context.Context, r batchReader[adapter.Aggregate], w window) (records []adapter.Aggregate, err error) {
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		records = nil
		if err := r.prepare(ctx, tx); err != nil {
			return err
		}
		for next := w; ; {
			batch, last, err := r.next(ctx, tx, next)
			records = append(records, batch...)
			if err != nil || last == next.after || last >= w.through {
				return err
			}
			next.after = last
		}
	})
	if err == nil {
		d.conn.report()
	}
	return records, err
}

// idsOf returns keys as ids in ascending order, each once.
func idsOf(keys []adapter.Key) ([]int64, error) {
	if len(keys) > MaxKeys {
		return nil, errKeys
	}
	ids := make([]int64, 0, len(keys))
	for _, key := range keys {
		if key > 0 {
			ids = append(ids, int64(key))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// KeysOf returns the keys of the records of a part that the shop changes together with
// records of another one, without a trace in their own rows: the stock items of products and
// the products of stock items, the addresses of customers, one of which may have become the
// default address, the customers of addresses, and the products of orders. It returns nil for
// other parts. keys are at most [MaxKeys].
func (d *Database) KeysOf(ctx context.Context, p, of Part, keys ...adapter.Key) (found []adapter.Key, err error) {
	source, ok := map[[2]Part][3]string{
		{Stock, Products}:      {"cataloginventory_stock_item", "item_id", "product_id"},
		{Products, Stock}:      {"cataloginventory_stock_item", "product_id", "item_id"},
		{Addresses, Customers}: {"customer_address_entity", "entity_id", "parent_id"},
		{Customers, Addresses}: {"customer_address_entity", "parent_id", "entity_id"},
		{Products, Orders}:     {"sales_flat_order_item", "product_id", "order_id"},
	}[[2]Part{p, of}]
	ids, err := idsOf(keys)
	if err != nil || !ok || len(ids) == 0 {
		return nil, err
	}
	table, key, owner := source[0], source[1], source[2]
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		found = nil
		return d.conn.Each(ctx, tx, "SELECT DISTINCT "+key+" FROM "+d.conn.Table(table)+" WHERE "+window{ids: ids}.has(owner)+" ORDER BY "+key, func(r row) error {
			if id := r.ID(0); id > 0 {
				found = append(found, adapter.Key(id))
			}
			return nil
		})
	})
	return found, err
}

// FindProduct returns the product with a SKU, 0 if there is none.
func (d *Database) FindProduct(ctx context.Context, sku string) (adapter.Key, error) {
	return d.find(ctx, "SELECT entity_id FROM "+d.conn.Table("catalog_product_entity")+" WHERE sku = ? ORDER BY entity_id LIMIT 1", sku)
}

// FindCustomer returns the customer of a website with an e-mail address, 0 if there is none.
func (d *Database) FindCustomer(ctx context.Context, website int64, email string) (adapter.Key, error) {
	return d.find(ctx, "SELECT entity_id FROM "+d.conn.Table("customer_entity")+" WHERE email = ? AND website_id = ? ORDER BY entity_id LIMIT 1", email, website)
}

// find returns the key that a statement selects, or 0.
func (d *Database) find(ctx context.Context, text string, arguments ...any) (key adapter.Key, err error) {
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		key = 0
		return d.conn.Each(ctx, tx, text, func(r row) error {
			key = adapter.Key(r.ID(0))
			return nil
		}, arguments...)
	})
	return key, err
}

// A Via is a table that leads from an id to the key of a record.
type Via struct {
	Table string // without the prefix
	ID    string // its column with the id
	Key   string // its column with the key; "": all records of the part
	Where string // a further condition; "" for none
}

// LookUp calls f with each key to which ids lead.
func (d *Database) LookUp(ctx context.Context, through Via, ids []int64, f func(key int64)) error {
	return d.conn.retry(ctx, func(tx *sql.Tx) error {
		columns, err := d.conn.ColumnsOf(ctx, tx, through.Table)
		if err != nil || !columns[through.ID] {
			return err // the version has no such rows
		}
		key := cmp.Or(through.Key, "0")
		statement := "SELECT DISTINCT " + key + " FROM " + d.conn.Table(through.Table) + " WHERE " + through.ID + " IN (" + joinIDs(ids) + ")"
		if through.Where != "" {
			statement += " AND " + through.Where
		}
		return d.conn.Each(ctx, tx, statement, func(r row) error {
			if id := r.ID(0); id > 0 || through.Key == "" {
				f(id)
			}
			return nil
		})
	})
}

// ColumnNames returns the names of the columns of a table by their place, in lower case, those
// included that a SELECT of all columns leaves out. It returns none for a table that is
// missing. table is without the prefix.
func (d *Database) ColumnNames(ctx context.Context, table string) (names []string, err error) {
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		names = nil
		rows, err := tx.QueryContext(ctx, "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION", d.conn.Prefix+table)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, strings.ToLower(name))
		}
		return rows.Err()
	})
	return names, err
}
