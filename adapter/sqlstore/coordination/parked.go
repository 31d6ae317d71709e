package coordination

import (
	"context"
	"database/sql"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

const (
	// MaxParked is the maximum number of individual dead letters of a part of a source.
	MaxParked = 10_000
	// maxParkReason is the length of the longest stored reason, in bytes.
	maxParkReason = 255
)

// A Parked record is a dead letter: a record of another system that could not be imported. It
// is tried again later, and the changes of other records go on meanwhile.
type Parked struct {
	// Part is the caller's name for the place of the record in the other system, such as
	// "products". It has at most 64 characters.
	Part string
	// Key is the key of the record; 0 stands for all records of the part.
	Key adapter.Key
	// Reason is why the record cannot be imported. It is stored up to 255 bytes and shown to
	// people. It must name attributes and not repeat values, which may be personal data.
	Reason string
	// Attempts is the number of failed attempts since the record was last imported.
	Attempts int
	// ParkedAt is when the record first became a dead letter, and RetryAt when it is to be
	// tried again, to the millisecond.
	ParkedAt, RetryAt time.Time
}

// Park stores records as dead letters. For records that are dead letters already, Reason and
// RetryAt replace the stored values, ParkedAt stays, and Attempts grows by one, regardless of its
// value in records. If a part would have more than [MaxParked] dead letters, one with the key 0
// replaces them all. Kinds: Invalid, Unavailable, Internal.
func (i ImportLog) Park(ctx context.Context, source string, records ...Parked) error {
	return WriteLease(ctx, i.db, "park records", i.lease, func(tx *engine.Tx) error {
		parts := map[string]Parked{}
		for _, p := range records {
			if err := i.park(ctx, tx, source, p); err != nil {
				return err
			}
			parts[p.Part] = p
		}
		for _, last := range parts {
			if err := i.limitParked(ctx, tx, source, last); err != nil {
				return err
			}
		}
		return nil
	})
}

// park stores one record as a dead letter.
func (i ImportLog) park(ctx context.Context, tx *engine.Tx, source string, p Parked) error {
	result, err := tx.Run(ctx, "UPDATE import_parked SET reason = ?, attempts = attempts + 1, retry_ms = ? WHERE source = ? AND part = ? AND record_key = ?",
		engine.StorableText(p.Reason, maxParkReason), p.RetryAt.UnixMilli(), source, p.Part, int64(p.Key))
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	_, err = tx.Run(ctx, "INSERT INTO import_parked (source, part, record_key, reason, attempts, parked_ms, retry_ms) VALUES (?, ?, ?, ?, 1, ?, ?)",
		source, p.Part, int64(p.Key), engine.StorableText(p.Reason, maxParkReason), p.ParkedAt.UnixMilli(), p.RetryAt.UnixMilli())
	return err
}

// limitParked replaces the dead letters of a part by one that stands for all of them, if there
// are too many. last is one of them.
func (i ImportLog) limitParked(ctx context.Context, tx *engine.Tx, source string, last Parked) error {
	var count int
	row := tx.QueryRow(ctx, "SELECT COUNT(*) FROM import_parked WHERE source = ? AND part = ?", source, last.Part)
	if err := row.Scan(&count); err != nil || count <= MaxParked {
		return err
	}
	if _, err := tx.Run(ctx, "DELETE FROM import_parked WHERE source = ? AND part = ?", source, last.Part); err != nil {
		return err
	}
	last.Key, last.Reason = 0, "too many records to park one by one; one of them: "+last.Reason
	return i.park(ctx, tx, source, last)
}

// A ParkedFilter selects dead letters.
type ParkedFilter struct {
	// Part, if not "", selects the records of a part.
	Part string
	// RetryBy, if not zero, selects the dead letters to be tried again by then.
	RetryBy time.Time
	// Limit is the greatest number of records.
	Limit int
}

// Parked returns the dead letters of a source that a filter selects, the ones to be tried
// again first before others. Kinds: Unavailable, Internal.
func (i ImportLog) Parked(ctx context.Context, source string, f ParkedFilter) ([]Parked, error) {
	text, arguments := "SELECT part, record_key, reason, attempts, parked_ms, retry_ms FROM import_parked WHERE source = ?", []any{source}
	if f.Part != "" {
		text, arguments = text+" AND part = ?", append(arguments, f.Part)
	}
	if !f.RetryBy.IsZero() {
		text, arguments = text+" AND retry_ms <= ?", append(arguments, f.RetryBy.UnixMilli())
	}
	var all []Parked
	err := engine.EachRow(ctx, i.db.ReadStatements.Query, func(rows *sql.Rows) error {
		var p Parked
		var parked, retry int64
		err := rows.Scan(&p.Part, &p.Key, &p.Reason, &p.Attempts, &parked, &retry)
		p.ParkedAt, p.RetryAt = time.UnixMilli(parked), time.UnixMilli(retry)
		all = append(all, p)
		return err
	}, text+" ORDER BY retry_ms, part, record_key LIMIT ?", append(arguments, f.Limit)...)
	return all, i.db.WrapError(ctx, "list parked records", err)
}

// CountParked returns the number of dead letters of a source, by part. Kinds: Unavailable,
// Internal.
func (i ImportLog) CountParked(ctx context.Context, source string) (map[string]int64, error) {
	counts := map[string]int64{}
	err := engine.EachRow(ctx, i.db.ReadStatements.Query, func(rows *sql.Rows) error {
		var part string
		var n int64
		err := rows.Scan(&part, &n)
		counts[part] = n
		return err
	}, "SELECT part, COUNT(*) FROM import_parked WHERE source = ? GROUP BY part", source)
	return counts, i.db.WrapError(ctx, "count parked records", err)
}

// Unpark removes the dead letters of some records of a part, or, without keys, of all. Kinds:
// Unavailable, Internal.
func (i ImportLog) Unpark(ctx context.Context, source, part string, keys ...adapter.Key) error {
	return WriteLease(ctx, i.db, "unpark records", i.lease, func(tx *engine.Tx) error {
		text := "DELETE FROM import_parked WHERE source = ? AND part = ?"
		if len(keys) == 0 {
			_, err := tx.Run(ctx, text, source, part)
			return err
		}
		for _, key := range keys {
			if _, err := tx.Run(ctx, text+" AND record_key = ?", source, part, int64(key)); err != nil {
				return err
			}
		}
		return nil
	})
}
