package magento1

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net"
	"strconv"

	"github.com/go-sql-driver/mysql"
)

const (
	// maxBatch is the maximum number of records read in one transaction, and firstBatch
	// the number in the first one.
	maxBatch, firstBatch = 500, 100
	// batchBytes is the size of the rows of one transaction above which the next one reads
	// half as many records.
	batchBytes = 8 << 20
)

// A batchReader reads one kind of record in batches.
type batchReader[T any] interface {
	// prepare is called before the first batch. It may be called again.
	prepare(ctx context.Context, tx *sql.Tx) error
	// next returns the next batch of a window, and the greatest id that it has looked at;
	// that is after itself if there are no more rows.
	next(ctx context.Context, tx *sql.Tx, w window) (batch []T, last int64, err error)
}

// A window asks for the first limit records of those with ids in (after, through].
// endless as through is no bound.
type window struct {
	after, through int64
	limit          int
}

const endless = math.MaxInt64

// looked returns up to which id a batch has looked, whose count records end with the id
// last: up to the end of the window if there are no more records in it, so that rows of
// deleted records behind the last one are found.
func (w window) looked(count int, last int64) int64 {
	if count < w.limit && w.through != endless {
		return w.through
	}
	return last
}

// readAll yields everything that a batchReader reads with ids in (from, through]. A failure
// ends the sequence with an error.
func readAll[T any](ctx context.Context, d *Database, r batchReader[T], from, through int64) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var nothing T
		if err := d.retry(ctx, func(tx *sql.Tx) error { return r.prepare(ctx, tx) }); err != nil {
			yield(nothing, err)
			return
		}
		d.report()
		limit := firstBatch
		for after := from; ; {
			var batch []T
			last := after
			err := d.retry(ctx, func(tx *sql.Tx) (err error) {
				batch, last, err = r.next(ctx, tx, window{after, through, limit})
				return err
			})
			if err != nil {
				yield(nothing, err)
				return
			}
			if limit = min(2*limit, maxBatch); d.bytes > batchBytes {
				limit = max(limit/4, 1)
			}
			d.report()
			for _, one := range batch {
				if !yield(one, nil) {
					return
				}
			}
			if last == after {
				return
			}
			after = last
		}
	}
}

// retry runs f in a transaction, and once more in another one if the connection is lost.
func (d *Database) retry(ctx context.Context, f func(*sql.Tx) error) error {
	for again := true; ; again = false {
		d.bytes, d.pending = 0, d.pending[:0]
		err := d.inReadOnlyTx(ctx, f)
		switch {
		case err == nil || ctx.Err() != nil || !isConnectionLost(err):
			return err
		case !again:
			return fmt.Errorf("the connection to the legacy database was lost twice in a row, so start again where this has stopped: %w", err)
		}
	}
}

// isConnectionLost reports whether a statement failed because the connection ended.
func isConnectionLost(err error) bool {
	var fault *mysql.MySQLError
	if errors.As(err, &fault) {
		return fault.Number == 1053 || fault.Number == 1927 // shutdown, connection killed
	}
	var network net.Error
	return errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

// skip notes that something in the tables is in no record.
func (d *Database) skip(p Part, table, key, reason string) {
	d.pending = append(d.pending, Skipped{Part: p, Table: table, Key: key, Reason: reason})
}

// report tells the caller what was skipped in a batch that was read.
func (d *Database) report() {
	for _, s := range d.pending {
		if s.Reason == ReasonNoSetting {
			if d.once[s] {
				continue
			}
			d.once[s] = true
		}
		if d.skipped != nil {
			d.skipped(s)
		}
	}
	d.pending = d.pending[:0]
}

// A row holds the columns of a row until the next one is read. nil is NULL.
type row []sql.RawBytes

// id returns a column that holds an integer, or 0 if it does not.
func (r row) id(column int) int64 {
	n, err := strconv.ParseInt(string(r[column]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// each calls f for every row of a statement.
func (d *Database) each(ctx context.Context, tx *sql.Tx, text string, f func(row) error) error {
	rows, err := tx.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	columns := make(row, len(names))
	into := make([]any, len(names))
	for i := range columns {
		into[i] = &columns[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		d.rows++
		for _, column := range columns {
			d.bytes += len(column)
		}
		if err := f(columns); err != nil {
			return err
		}
	}
	return rows.Err()
}

// eachIfTable is each for a statement that reads a table which may be missing.
func (d *Database) eachIfTable(ctx context.Context, tx *sql.Tx, table, text string, f func(row) error) error {
	there, err := d.columnsOf(ctx, tx, table)
	if err != nil || there == nil {
		return err
	}
	return d.each(ctx, tx, text, f)
}

// between returns the SQL condition that a column is in (after, last].
func between(column string, after, last int64) string {
	return fmt.Sprintf("%s > %d AND %[1]s <= %[3]d", column, after, last)
}

// formatID returns the decimal form of an id.
func formatID(id int64) string { return strconv.FormatInt(id, 10) }
