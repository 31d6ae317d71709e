package magento1

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strconv"
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
	ids            []int64 // if not nil, the window has only these ids, and all of them
}

// until returns the window up to an id.
func (w window) until(last int64) window {
	w.through = last
	return w
}

// has returns the SQL condition that the id in a column is in the window.
func (w window) has(column string) string {
	if w.ids != nil {
		return column + " IN (" + joinIDs(w.ids) + ")"
	}
	return between(column, w.after, w.through)
}

const endless = maxKey

// maxKey is the greatest id that a record may have: the greatest integer that JSON numbers hold
// exactly.
const maxKey = 1<<53 - 1

// looked returns up to which id a batch has looked, whose count records end with the id
// last: up to the end of the window if there are no more records in it, so that rows of
// deleted records behind the last one are found.
func (w window) looked(count int, last int64) int64 {
	if w.ids != nil || count < w.limit && w.through != endless {
		return w.through
	}
	return last
}

// readAll yields everything that a batchReader reads with ids in (from, through]. A failure
// ends the sequence with an error.
func readAll[T any](ctx context.Context, conn *connection, r batchReader[T], from, through int64) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var nothing T
		if err := conn.retry(ctx, func(tx *sql.Tx) error { return r.prepare(ctx, tx) }); err != nil {
			yield(nothing, err)
			return
		}
		conn.report()
		limit := firstBatch
		for after := from; ; {
			var batch []T
			last := after
			err := conn.retry(ctx, func(tx *sql.Tx) (err error) {
				batch, last, err = r.next(ctx, tx, window{after: after, through: through, limit: limit})
				return err
			})
			if err != nil {
				yield(nothing, err)
				return
			}
			if limit = min(2*limit, maxBatch); conn.Bytes() > batchBytes {
				limit = max(limit/4, 1)
			}
			conn.report()
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

// between returns the SQL condition that a column is in (after, last].
func between(column string, after, last int64) string {
	return fmt.Sprintf("%s > %d AND %[1]s <= %[3]d", column, after, last)
}

// formatID returns the decimal form of an id.
func formatID(id int64) string { return strconv.FormatInt(id, 10) }
