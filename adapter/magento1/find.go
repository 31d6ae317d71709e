package magento1

import (
	"cmp"
	"context"
	"database/sql"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

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
