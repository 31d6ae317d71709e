package magento1

import (
	"context"
	"database/sql"

	"github.com/portico-commerce/portico/adapter"
)

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
