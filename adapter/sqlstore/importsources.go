package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// An ImportSource is another system from which records were imported.
type ImportSource struct {
	// Name is that of [adapter.ImportOptions].Source.
	Name string
	// Server identifies the database server, Database and Prefix the tables there.
	Server, ServerVersion, Database, Prefix string
	// LogFile, LogPosition and GTID say how far the binary log had got before the first
	// record was read, as far as that is known: changes from there on may be missing here.
	LogFile     string
	LogPosition int64
	GTID        string
	// GivenKeys are the greatest keys that the system had given to records.
	GivenKeys map[adapter.Resource]adapter.Key
	NotedAt   time.Time
}

// A RangeDigest is a checksum of what another system had in a range of keys when all
// records of the range were imported.
type RangeDigest struct {
	After    adapter.Key // the key before the range
	Digest   string
	Settings string // a text that is the same for imports with the same options
}

// Imports notes from which systems records were imported, and what these had.
type Imports struct {
	db    *DB
	lease *Lease // that writes need; nil: none
}

// Imports returns what is noted of imports.
func (db *DB) Imports() Imports { return Imports{db: db} }

// Sources returns the systems from which records were imported, by name. Kinds:
// Unavailable, Internal.
func (i Imports) Sources(ctx context.Context) ([]ImportSource, error) {
	var all []ImportSource
	err := eachRow(ctx, i.db.readStatements.query, func(rows *sql.Rows) error {
		var s ImportSource
		var keys string
		noted := cell{kind: adapter.KindTime, value: new(adapter.Value)}
		err := rows.Scan(&s.Name, &s.Server, &s.ServerVersion, &s.Database, &s.Prefix, &s.LogFile, &s.LogPosition, &s.GTID, &keys, &noted)
		if err == nil {
			err = json.Unmarshal([]byte(keys), &s.GivenKeys)
		}
		if err == nil {
			s.NotedAt, err = time.Parse(time.DateTime, noted.value.Text())
		}
		all = append(all, s)
		return err
	}, "SELECT source, server, server_version, database_name, table_prefix, log_file, log_position, gtid, given_keys, updated_at FROM import_source ORDER BY source")
	return all, i.db.wrapError(ctx, "read import sources", err)
}

// NoteSource stores what is known about a system, in place of what was known about
// the one of that name. NotedAt is set to the present time. Kinds: Invalid, Unavailable,
// Internal.
func (i Imports) NoteSource(ctx context.Context, s ImportSource) error {
	keys, err := json.Marshal(s.GivenKeys)
	if err != nil {
		return err
	}
	return i.db.writeFenced(ctx, "note import source", i.lease, func(tx *sql.Tx) error {
		if _, err := i.db.exec(ctx, tx, "DELETE FROM import_source WHERE source = ?", s.Name); err != nil {
			return err
		}
		_, err := i.db.exec(ctx, tx, "INSERT INTO import_source (source, server, server_version, database_name, table_prefix, log_file, log_position, gtid, given_keys, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			s.Name, s.Server, s.ServerVersion, s.Database, s.Prefix, s.LogFile, s.LogPosition, s.GTID, string(keys), time.Now().UTC().Format(time.DateTime))
		return err
	})
}

// Position returns how far the changes of a source have come, or "" if that is not stored.
// Kinds: Unavailable, Internal.
func (i Imports) Position(ctx context.Context, source string) (string, error) {
	found, err := selectColumn[string](ctx, i.db.readStatements.query, "SELECT position FROM import_position WHERE source = ?", source)
	if err != nil || len(found) == 0 {
		return "", i.db.wrapError(ctx, "read position", err)
	}
	return found[0], nil
}

// maxSourcePosition is the longest position, in bytes: MySQL's sets of GTIDs can be long.
const maxSourcePosition = 1 << 20

var errPosition = errors.New("must have at most 1 MiB")

// SetPosition stores how far the changes of a source have come. Kinds: Invalid, Unavailable,
// Internal.
func (i Imports) SetPosition(ctx context.Context, source, position string) error {
	if len(position) > maxSourcePosition {
		return &adapter.Error{Kind: adapter.Invalid, Op: "store position", Field: "position", Err: errPosition}
	}
	return i.db.writeFenced(ctx, "store position", i.lease, func(tx *sql.Tx) error {
		return newWriteTx(i.db, tx).SetPosition(ctx, source, position)
	})
}

// RangeDigests returns the digests of a part's ranges that begin in [from, before), by
// ascending key. Kinds: Unavailable, Internal.
func (i Imports) RangeDigests(ctx context.Context, source, part string, from, before adapter.Key) ([]RangeDigest, error) {
	var all []RangeDigest
	err := eachRow(ctx, i.db.readStatements.query, func(rows *sql.Rows) error {
		var d RangeDigest
		err := rows.Scan(&d.After, &d.Digest, &d.Settings)
		all = append(all, d)
		return err
	}, "SELECT first_key, digest, settings FROM import_digest WHERE source = ? AND part = ? AND first_key >= ? AND first_key < ? ORDER BY first_key",
		source, part, int64(from), int64(before))
	return all, i.db.wrapError(ctx, "read import digests", err)
}

// RemoveRangeDigests removes the digests of those of a part's ranges that begin at some keys.
// Kinds: Unavailable, Internal.
func (i Imports) RemoveRangeDigests(ctx context.Context, source, part string, from ...adapter.Key) error {
	return i.db.writeFenced(ctx, "remove import digests", i.lease, func(tx *sql.Tx) error {
		for chunk := range slices.Chunk(from, idsPerStatement) {
			keys := keyArguments(chunk)
			if _, err := i.db.exec(ctx, tx, "DELETE FROM import_digest WHERE source = ? AND part = ? AND "+inList("first_key", keys), append([]any{source, part}, keys...)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReplaceRangeDigests removes the digests of a part's ranges that begin in [from, before),
// and stores others in place of them, in one transaction. Kinds: Invalid, Unavailable,
// Internal.
func (i Imports) ReplaceRangeDigests(ctx context.Context, source, part string, from, before adapter.Key, digests ...RangeDigest) error {
	return i.db.writeFenced(ctx, "note import digests", i.lease, func(tx *sql.Tx) error {
		if _, err := i.db.exec(ctx, tx, "DELETE FROM import_digest WHERE source = ? AND part = ? AND first_key >= ? AND first_key < ?", source, part, int64(from), int64(before)); err != nil {
			return err
		}
		for _, d := range digests {
			_, err := i.db.exec(ctx, tx, "INSERT INTO import_digest (source, part, first_key, digest, settings) VALUES (?, ?, ?, ?, ?)", source, part, int64(d.After), d.Digest, d.Settings)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
