package coordination

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// An ImportSource is another system from which records were imported.
type ImportSource struct {
	// Name is the source in [adapter.ImportOptions].
	Name string
	// Server identifies the database server, Database and Prefix the tables there.
	Server, ServerVersion, Database, Prefix string
	// LogFile, LogPosition and GTID are the position of the binary log before the first record was read, as
	// far as it is known: later changes may be missing here.
	LogFile     string
	LogPosition int64
	GTID        string
	// GivenKeys are the greatest keys that the system had given to records.
	GivenKeys map[adapter.Resource]adapter.Key
	NotedAt   time.Time
}

// A RangeDigest is a checksum of another system's values in a range of keys when all records of the range
// were imported.
type RangeDigest struct {
	After    adapter.Key // the key before the range
	Digest   string
	Settings string // a text that is the same for imports with the same options
}

// ImportLog stores the systems from which records were imported, and digests of their values.
type ImportLog struct {
	db    *engine.DB
	lease *Lease // required for writes; nil: none
}

// NewImportLog returns the log of imports into a database.
func NewImportLog(db *engine.DB) ImportLog { return ImportLog{db: db} }

// Fenced returns the log of imports, except that each transaction fails with ErrLeaseLost, and stores
// nothing, if the holder of a lease has lost it.
func (i ImportLog) Fenced(lease Lease) ImportLog { return ImportLog{i.db, &lease} }

// Sources returns the systems from which records were imported, by name. Kinds:
// Unavailable, Internal.
func (i ImportLog) Sources(ctx context.Context) ([]ImportSource, error) {
	all, err := engine.CollectRows(ctx, i.db.ReadStatements.Query, func(rows engine.Rows) (s ImportSource, err error) {
		var keys string
		noted := engine.NewCell(adapter.KindTime, new(adapter.Value))
		err = rows.Scan(&s.Name, &s.Server, &s.ServerVersion, &s.Database, &s.Prefix, &s.LogFile, &s.LogPosition, &s.GTID, &keys, noted)
		if err == nil {
			err = json.Unmarshal([]byte(keys), &s.GivenKeys)
		}
		if err == nil {
			s.NotedAt, err = time.Parse(time.DateTime, noted.Value.Text())
		}
		return s, err
	}, "SELECT source, server, server_version, database_name, table_prefix, log_file, log_position, gtid, given_keys, updated_at FROM import_source ORDER BY source")
	return all, i.db.WrapError(ctx, "read import sources", err)
}

// NoteSource stores a system, in place of a stored one with that name. NotedAt is set to the current time.
// Kinds: Invalid, Unavailable, Internal.
func (i ImportLog) NoteSource(ctx context.Context, s ImportSource) error {
	keys, err := json.Marshal(s.GivenKeys)
	if err != nil {
		return err
	}
	return WriteLease(ctx, i.db, "note import source", i.lease, func(tx *engine.Tx) error {
		if _, err := tx.Run(ctx, "DELETE FROM import_source WHERE source = ?", s.Name); err != nil {
			return err
		}
		_, err := tx.Run(ctx, "INSERT INTO import_source (source, server, server_version, database_name, table_prefix, log_file, log_position, gtid, given_keys, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			s.Name, s.Server, s.ServerVersion, s.Database, s.Prefix, s.LogFile, s.LogPosition, s.GTID, string(keys), time.Now().UTC().Format(time.DateTime))
		return err
	})
}

// Position returns how far the changes of a source have been imported, or "" if that is not stored. Kinds:
// Unavailable, Internal.
func (i ImportLog) Position(ctx context.Context, source string) (string, error) {
	found, err := engine.SelectColumn[string](ctx, i.db.ReadStatements.Query, "SELECT position FROM import_position WHERE source = ?", source)
	if err != nil || len(found) == 0 {
		return "", i.db.WrapError(ctx, "read position", err)
	}
	return found[0], nil
}

// maxSourcePosition is the longest position, in bytes: MySQL's sets of GTIDs can be long.
const maxSourcePosition = 1 << 20

var errPosition = errors.New("must have at most 1 MiB")

// SetPosition stores how far the changes of a source have been imported. Kinds: Invalid, Unavailable,
// Internal.
func (i ImportLog) SetPosition(ctx context.Context, source, position string) error {
	if len(position) > maxSourcePosition {
		return &adapter.Error{Kind: adapter.Invalid, Op: "store position", Field: "position", Err: errPosition}
	}
	return WriteLease(ctx, i.db, "store position", i.lease, func(tx *engine.Tx) error {
		return SetImportPosition(ctx, tx, source, position)
	})
}

// RangeDigests returns the digests of a part's ranges that begin in [from, before), by
// ascending key. Kinds: Unavailable, Internal.
func (i ImportLog) RangeDigests(ctx context.Context, source, part string, from, before adapter.Key) ([]RangeDigest, error) {
	all, err := engine.CollectRows(ctx, i.db.ReadStatements.Query, func(rows engine.Rows) (d RangeDigest, err error) {
		err = rows.Scan(&d.After, &d.Digest, &d.Settings)
		return d, err
	}, "SELECT first_key, digest, settings FROM import_digest WHERE source = ? AND part = ? AND first_key >= ? AND first_key < ? ORDER BY first_key",
		source, part, int64(from), int64(before))
	return all, i.db.WrapError(ctx, "read import digests", err)
}

// RemoveRangeDigests removes the digests of a part's ranges that begin at the given keys. Kinds: Unavailable,
// Internal.
func (i ImportLog) RemoveRangeDigests(ctx context.Context, source, part string, from ...adapter.Key) error {
	return WriteLease(ctx, i.db, "remove import digests", i.lease, func(tx *engine.Tx) error {
		for chunk := range slices.Chunk(from, engine.IDsPerStatement) {
			keys := engine.KeyArguments(chunk)
			if _, err := tx.Run(ctx, "DELETE FROM import_digest WHERE source = ? AND part = ? AND "+engine.InList("first_key", keys), append([]any{source, part}, keys...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReplaceRangeDigests removes the digests of a part's ranges that begin in [from, before),
// and stores others in place of them, in one transaction. Kinds: Invalid, Unavailable,
// Internal.
func (i ImportLog) ReplaceRangeDigests(ctx context.Context, source, part string, from, before adapter.Key, digests ...RangeDigest) error {
	return WriteLease(ctx, i.db, "note import digests", i.lease, func(tx *engine.Tx) error {
		if _, err := tx.Run(ctx, "DELETE FROM import_digest WHERE source = ? AND part = ? AND first_key >= ? AND first_key < ?", source, part, int64(from), int64(before)); err != nil {
			return err
		}
		for _, d := range digests {
			_, err := tx.Run(ctx, "INSERT INTO import_digest (source, part, first_key, digest, settings) VALUES (?, ?, ?, ?, ?)", source, part, int64(d.After), d.Digest, d.Settings)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SetImportPosition stores a position in a transaction.
func SetImportPosition(ctx context.Context, tx *engine.Tx, source, position string) error {
	return tx.Exec(ctx, "INSERT INTO import_position (source, position) VALUES (?, ?)"+tx.DB.Engine.Upsert("source", "position"), source, position)
}

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
	n, err := tx.Affect(ctx, "UPDATE import_parked SET reason = ?, attempts = attempts + 1, retry_ms = ? WHERE source = ? AND part = ? AND record_key = ?",
		engine.StorableText(p.Reason, maxParkReason), p.RetryAt.UnixMilli(), source, p.Part, int64(p.Key))
	if err != nil || n > 0 {
		return err
	}
	_, err = tx.Run(ctx, "INSERT INTO import_parked (source, part, record_key, reason, attempts, parked_ms, retry_ms) VALUES (?, ?, ?, ?, 1, ?, ?)",
		source, p.Part, int64(p.Key), engine.StorableText(p.Reason, maxParkReason), p.ParkedAt.UnixMilli(), p.RetryAt.UnixMilli())
	return err
}

// limitParked replaces the dead letters of a part by a single one for the whole part, if there are too
// many. last is one of them.
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
	all, err := engine.CollectRows(ctx, i.db.ReadStatements.Query, func(rows engine.Rows) (p Parked, err error) {
		var parked, retry int64
		err = rows.Scan(&p.Part, &p.Key, &p.Reason, &p.Attempts, &parked, &retry)
		p.ParkedAt, p.RetryAt = time.UnixMilli(parked), time.UnixMilli(retry)
		return p, err
	}, text+" ORDER BY retry_ms, part, record_key LIMIT ?", append(arguments, f.Limit)...)
	return all, i.db.WrapError(ctx, "list parked records", err)
}

// CountParked returns the number of dead letters of a source, by part. Kinds: Unavailable,
// Internal.
func (i ImportLog) CountParked(ctx context.Context, source string) (map[string]int64, error) {
	counts := map[string]int64{}
	err := engine.EachRow(ctx, i.db.ReadStatements.Query, func(rows engine.Rows) error {
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
