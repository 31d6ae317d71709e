package magento1

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
