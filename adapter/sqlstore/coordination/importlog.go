package coordination

import (
	"context"
	"database/sql"
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
	var all []ImportSource
	err := engine.EachRow(ctx, i.db.ReadStatements.Query, func(rows *sql.Rows) error {
		var s ImportSource
		var keys string
		noted := engine.NewCell(adapter.KindTime, new(adapter.Value))
		err := rows.Scan(&s.Name, &s.Server, &s.ServerVersion, &s.Database, &s.Prefix, &s.LogFile, &s.LogPosition, &s.GTID, &keys, noted)
		if err == nil {
			err = json.Unmarshal([]byte(keys), &s.GivenKeys)
		}
		if err == nil {
			s.NotedAt, err = time.Parse(time.DateTime, noted.Value.Text())
		}
		all = append(all, s)
		return err
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
	var all []RangeDigest
	err := engine.EachRow(ctx, i.db.ReadStatements.Query, func(rows *sql.Rows) error {
		var d RangeDigest
		err := rows.Scan(&d.After, &d.Digest, &d.Settings)
		all = append(all, d)
		return err
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
