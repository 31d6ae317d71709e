package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"github.com/portico-commerce/portico/adapter"
)

// A Part is a kind of record that a shop consists of.
type Part string

// The parts of a shop.
const (
	Websites       Part = "websites"        // websites and store views
	Directory      Part = "directory"       // countries, regions, and the options of attributes
	CustomerGroups Part = "customer-groups" // customer groups
	Taxes          Part = "taxes"           // tax rates
	Categories     Part = "categories"      // categories
	Products       Part = "products"        // products with their assignments to websites and categories
	Images         Part = "images"          // the images of products
	Stock          Part = "stock"           // stock items
	Customers      Part = "customers"       // customers
	Addresses      Part = "addresses"       // customers' addresses
	Orders         Part = "orders"          // orders with their lines, addresses and comments
)

// Parts returns all parts. Those whose records others refer to come before these.
func Parts() []Part {
	return []Part{Websites, Directory, CustomerGroups, Taxes, Categories, Products, Images, Stock, Customers, Addresses, Orders}
}

// Resources returns the resources of the records that Records yields for a part, in their
// order there. Records of resources that are parts of others, as the lines of orders, are
// not named. It returns nil for an unknown part.
func (p Part) Resources() []adapter.Resource {
	switch p {
	case Websites:
		return []adapter.Resource{adapter.Websites, adapter.Stores}
	case Directory:
		return []adapter.Resource{adapter.Countries, adapter.Regions, adapter.AttributeOptions}
	case CustomerGroups:
		return []adapter.Resource{adapter.CustomerGroups}
	case Taxes:
		return []adapter.Resource{adapter.TaxRates}
	case Categories:
		return []adapter.Resource{adapter.Categories}
	case Products, Images: // the records of images are products with parts only
		return []adapter.Resource{adapter.Products}
	case Stock:
		return []adapter.Resource{adapter.StockItems}
	case Customers:
		return []adapter.Resource{adapter.Customers}
	case Addresses:
		return []adapter.Resource{adapter.CustomerAddresses}
	case Orders:
		return []adapter.Resource{adapter.Orders}
	default:
		return nil
	}
}

// Records yields all records of a part by ascending key; records of [Websites] and [Directory],
// which have several resources, by resource and then by key. A failure ends the sequence with an error.
// The Database can be used for nothing else while the caller iterates.
//
// Rows and values in the tables that the records cannot hold are reported to [Options].Skipped.
func (d *Database) Records(ctx context.Context, p Part) iter.Seq2[adapter.Aggregate, error] {
	return d.RecordsBetween(ctx, p, -1, endless)
}

// RecordsBetween is Records for keys in (after, through]. Skipped rows with other keys are not reported
// either. It yields all records of the parts [Websites], [Directory], [CustomerGroups] and [Taxes],
// which are small, whatever the keys are.
func (d *Database) RecordsBetween(ctx context.Context, p Part, after, through adapter.Key) iter.Seq2[adapter.Aggregate, error] {
	if read, ok := d.wholeReaders()[p]; ok {
		return readAll[adapter.Aggregate](ctx, d.conn, read, -1, endless)
	}
	reader, ok := d.readers(nil)[p]
	if !ok {
		return func(yield func(adapter.Aggregate, error) bool) {
			yield(adapter.Aggregate{}, fmt.Errorf("a shop has no part %q", p))
		}
	}
	records := readAll(ctx, d.conn, reader, int64(max(after, 0)), min(int64(through), endless))
	if after > 0 || p == Images { // whose ids are the products'
		return records
	}
	return func(yield func(adapter.Aggregate, error) bool) {
		if err := d.skipKeys(ctx, p); err != nil {
			yield(adapter.Aggregate{}, err)
			return
		}
		records(yield)
	}
}

// readAll yields everything that a batchReader reads with ids in (from, through]. A failure
// ends the sequence with an error. While the caller uses one batch, the next one is read.
func readAll[T any](ctx context.Context, conn *connection, r batchReader[T], from, through int64) iter.Seq2[T, error] {
	type batch struct {
		records []T
		last    int64
		err     error
	}
	return func(yield func(T, error) bool) {
		if err := conn.retry(ctx, func(tx *sql.Tx) error { return r.prepare(ctx, tx) }); err != nil {
			yield(*new(T), err)
			return
		}
		conn.report()
		read := make(chan batch, 1)
		start := func(w window) { // nothing else may use conn until the batch has been received
			go func() {
				var b batch
				b.err = conn.retry(ctx, func(tx *sql.Tx) (err error) {
					b.records, b.last, err = r.next(ctx, tx, w)
					return err
				})
				read <- b
			}()
		}
		w, more := window{after: from, through: through, limit: firstBatch}, true
		for start(w); more; {
			b := <-read
			if b.err != nil {
				yield(*new(T), b.err)
				return
			}
			if w.limit = min(2*w.limit, maxBatch); conn.bytes > batchBytes {
				w.limit = max(w.limit/4, 1)
			}
			conn.report()
			if more = b.last != w.after; more {
				w.after = b.last
				start(w)
			}
			for _, one := range b.records {
				if !yield(one, nil) {
					if more {
						<-read
					}
					return
				}
			}
		}
	}
}

// keyColumn returns the table, without the prefix, and the column of the keys of a part.
func keyColumn(p Part) (table, column string, ok bool) {
	names, ok := map[Part][2]string{
		Categories: {"catalog_category_entity", "entity_id"}, Products: {"catalog_product_entity", "entity_id"}, Images: {"catalog_product_entity", "entity_id"},
		Stock: {"cataloginventory_stock_item", "item_id"}, Customers: {"customer_entity", "entity_id"}, Addresses: {"customer_address_entity", "entity_id"},
		Orders: {"sales_flat_order", "entity_id"},
	}[p]
	return names[0], names[1], ok
}

// skipKeys reports the rows of a part whose ids no record may have.
func (d *Database) skipKeys(ctx context.Context, p Part) error {
	table, column, _ := keyColumn(p)
	err := d.conn.retry(ctx, func(tx *sql.Tx) error {
		statement := fmt.Sprintf("SELECT %[1]s FROM %[2]s WHERE %[1]s <= 0 OR %[1]s > %[3]d ORDER BY %[1]s LIMIT %[4]d", column, d.conn.Table(table), maxKey, maxOrphans)
		return d.conn.eachIfTable(ctx, tx, table, statement, func(r row) error {
			d.conn.skip(p, table, column+" "+string(r[0]), ReasonKey)
			return nil
		})
	})
	d.conn.report()
	if err != nil || p != Orders {
		return err
	}
	err = d.skipOwnerless(ctx)
	d.conn.report()
	return err
}

// skipOwnerless reports the parts of orders that say of no order that they belong to it.
func (d *Database) skipOwnerless(ctx context.Context) error {
	return d.conn.retry(ctx, func(tx *sql.Tx) error {
		for _, f := range orderParts() {
			statement := fmt.Sprintf("SELECT %s FROM %s WHERE %s IS NULL ORDER BY 1 LIMIT %d", f.keyColumn, d.conn.Table(f.table), f.ownerColumn, maxOrphans)
			err := d.conn.eachIfTable(ctx, tx, f.table, statement, func(r row) error {
				d.conn.skip(Orders, f.table, fmt.Sprintf("%s %d, no order", f.keyColumn, r.ID(0)), ReasonNoRecord)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// wholeReaders returns the readers of the parts that are always read as a whole.
func (d *Database) wholeReaders() map[Part]wholeReader {
	whole := wholeParts{d.conn, d.schemas}
	return map[Part]wholeReader{Websites: whole.websites, Directory: whole.directory, CustomerGroups: whole.customerGroups, Taxes: whole.taxes}
}

// readers returns the readers of the other parts. only: nothing but the records with these
// ids is to be read; nil for all.
func (d *Database) readers(only []int64) map[Part]batchReader[adapter.Aggregate] {
	return map[Part]batchReader[adapter.Aggregate]{
		Categories: &categoryReader{entityReader: entityReader{d: d}}, Products: &productReader{entityReader: entityReader{d: d}}, Images: &imageReader{d: d}, Stock: &stockReader{d: d},
		Customers: &customerReader{entityReader: entityReader{d: d}, only: only}, Addresses: &addressReader{entityReader: entityReader{d: d}}, Orders: &orderReader{d: d},
	}
}

// NextKey returns the least key greater than after that a record of a part may have, or 0 if
// there is none. The part is not one that RecordsBetween always reads as a whole.
func (d *Database) NextKey(ctx context.Context, p Part, after adapter.Key) (next adapter.Key, err error) {
	table, column, ok := keyColumn(p)
	if !ok {
		return 0, fmt.Errorf("part %q has no keys of its own", p)
	}
	err = d.conn.retry(ctx, func(tx *sql.Tx) error {
		return d.conn.Each(ctx, tx, "SELECT MIN("+column+") FROM "+d.conn.Table(table)+" WHERE "+between(column, int64(after), maxKey), func(r row) error {
			next = adapter.Key(r.ID(0))
			return nil
		})
	})
	return next, err
}

// Count returns the number of rows of the tables from which Records makes the records of a
// part: at least as many as it yields.
func (d *Database) Count(ctx context.Context, p Part) (int64, error) {
	tables, ok := map[Part][]string{
		Websites: {"core_website", "core_store"}, Directory: {"directory_country", "directory_country_region", "eav_attribute_option"}, CustomerGroups: {"customer_group"},
		Taxes: {"tax_calculation"}, Categories: {"catalog_category_entity"}, Products: {"catalog_product_entity"}, Images: {"catalog_product_entity"},
		Stock: {"cataloginventory_stock_item"}, Customers: {"customer_entity"}, Addresses: {"customer_address_entity"}, Orders: {"sales_flat_order"},
	}[p]
	if !ok {
		return 0, fmt.Errorf("a shop has no part %q", p)
	}
	var total int64
	err := d.conn.InReadOnlyTx(ctx, func(tx *sql.Tx) error {
		for _, table := range tables {
			var n int64
			if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+d.conn.Table(table)).Scan(&n); err != nil {
				return err
			}
			total += n
		}
		return nil
	})
	return total, err
}

// A Skipped is something in the tables that no record holds.
type Skipped struct {
	Part   Part   // "" with ReasonVersion
	Table  string // without the prefix
	Key    string // which row, column or attribute it is: "product 7, attribute 71, store 3"; "" for the table
	Reason string // one of the constants Reason…
}

// Why something is skipped. They begin with a lower-case letter and read as the end of a
// sentence about a row: "catalog_product_entity_int, product 7: its store view does not
// exist".
const (
	ReasonNoStore     = "its store view does not exist"
	ReasonNoWebsite   = "its website does not exist"
	ReasonNoRecord    = "the record that it belongs to does not exist"
	ReasonNoAttribute = "its attribute does not exist"
	ReasonNoTable     = "its values are in a table that does not exist"
	// ReasonNoSetting is given once for each attribute: see [Database.Settings].
	ReasonNoSetting = "the store's configuration does not have the attribute"
	// ReasonVersion is given once for each table, or column, that the legacy store does not have.
	ReasonVersion    = "the legacy store's version does not have it"
	ReasonKey        = "its id is not positive, or too great"
	ReasonTree       = "its parents do not lead to a root category"
	ReasonValue      = "the value is not of the attribute's kind and is null instead"
	ReasonEncoding   = "the text is not valid in its character set, and U+FFFD stands for what is not"
	ReasonFile       = "it names no file, or none of the product's images"
	ReasonNoTime     = "the legacy store has neither of its times, so both are " + unknownTime
	ReasonNegative   = "the rate is below 0, so it counts as 0"
	ReasonRate       = "the rate is not a number above 0, so amounts are not converted"
	ReasonTaxBasedOn = "it is neither shipping nor billing nor origin, so the setting store.tax_based_on counts"
	ReasonTimezone   = "its time zone is none that is known here, so the setting store.timezone counts"
	ReasonLong       = "it has more than 255 characters and is null instead"
	ReasonNoLabel    = "it has no label in the default scope, so it can be chosen nowhere"
	ReasonStock      = "it is not of the first stock"
)

// A connection is a connection to the server that also buffers the skipped rows and values of a
// batch until the whole batch has been read.
type connection struct {
	*conn
	skipped func(Skipped)
	pending []Skipped // skipped rows and values of this batch
	once    map[Skipped]bool
}

// retry is [conn.Retry]. It drops the skipped rows and values of a failed transaction.
func (c *connection) retry(ctx context.Context, f func(*sql.Tx) error) error {
	return c.Retry(ctx, func(tx *sql.Tx) error {
		c.pending = c.pending[:0]
		return f(tx)
	})
}

// eachIfTable is each for a statement that reads a table which may be missing.
func (c *connection) eachIfTable(ctx context.Context, tx *sql.Tx, table, text string, f func(row) error) error {
	there, err := c.ColumnsOf(ctx, tx, table)
	if err != nil {
		return err
	}
	if there == nil {
		c.missing(table, "")
		return nil
	}
	return c.Each(ctx, tx, text, f)
}

// valueOf converts a column to a value of an attribute's kind, as [valueOf] says.
func (c *connection) valueOf(kind adapter.Kind, column sql.RawBytes) (v adapter.Value, problem string) {
	return valueOf(c.Text, kind, column)
}

// skip notes that something in the tables is in no record.
func (c *connection) skip(p Part, table, key, reason string) {
	c.pending = append(c.pending, Skipped{Part: p, Table: table, Key: key, Reason: reason})
}

// missing notes that the legacy store does not have a column of a table, or with "" the table.
func (c *connection) missing(table, column string) {
	if column != "" {
		column = "column " + column
	}
	c.skip("", table, column, ReasonVersion)
}

// report passes the skipped rows and values of a batch to the caller's function.
func (c *connection) report() {
	for _, s := range c.pending {
		if c.skipped != nil && !c.once[s] {
			c.skipped(s)
		}
		if s.Reason == ReasonNoSetting || s.Reason == ReasonVersion {
			c.once[s] = true
		}
	}
	c.pending = c.pending[:0]
}
