package magento1

import (
	"context"
	"database/sql"

	"github.com/portico-commerce/portico/adapter"
)

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
		if s.Reason == ReasonNoSetting || s.Reason == ReasonVersion {
			if c.once[s] {
				continue
			}
			c.once[s] = true
		}
		if c.skipped != nil {
			c.skipped(s)
		}
	}
	c.pending = c.pending[:0]
}
