package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules/imports"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// Load fills the empty database with data, in one transaction. Unless nil, progress is
// called from time to time, and at the end, with the number of records stored so far.
// Kinds: Conflict when the database is not empty or two records exclude each other,
// Invalid for a record that lacks something, Unsupported for images without a folder for
// them, Unavailable, Internal.
func (db *DB) Load(ctx context.Context, data *adapter.Dataset, progress func(done, total int)) error {
	return db.LoadAnnounced(ctx, data, nil, progress)
}

// LoadAnnounced is Load for a database that other processes may use.
func (db *DB) LoadAnnounced(ctx context.Context, data *adapter.Dataset, announcement *coordination.Announcement, progress func(done, total int)) error {
	return db.clearAndLoad(ctx, "load data", data, announcement, progress, func(tx *engine.Tx) error {
		empty, err := isEmpty(db.records.Tables, func(text string) error { return tx.QueryRow(ctx, text+" LIMIT ?", 1).Scan(new(int)) })
		if err == nil && !empty {
			err = &adapter.Error{Kind: adapter.Conflict, Op: "load data", Err: errNotEmpty}
		}
		return err
	})
}

var errNotEmpty = errors.New("the database is not empty")

// Reset replaces the content of the database by data, in one transaction, as if the
// database were new. It also deletes credentials, nonces, the ID map, and the media
// files. Concurrent readers see either all of the old or all of the new content. New
// keys follow the greatest key of data. Kinds: as for Load.
func (db *DB) Reset(ctx context.Context, data *adapter.Dataset) error {
	return db.ResetAnnounced(ctx, data, nil)
}

// ResetAnnounced is Reset for a database that other processes may use.
func (db *DB) ResetAnnounced(ctx context.Context, data *adapter.Dataset, announcement *coordination.Announcement) error {
	const op = "reset data"
	var media []media.Ref
	err := db.clearAndLoad(ctx, op, data, announcement, nil, func(tx *engine.Tx) (err error) {
		if err := db.lockOwners(ctx, tx); err != nil {
			return err
		}
		tables := append(credentials.Tables(), "backend_record", "imported_record")
		for i := len(db.records.Tables) - 1; i >= 0; i-- { // parts before the records they belong to
			tables = append(tables, db.records.Tables[i].Name)
		}
		for _, name := range append(tables, "import_digest", "import_position", "import_source", "import_parked", "evidence",
			"outbox_entry", "outbox_conflict", "outbox_create", "write_owner") {
			if _, err := tx.Run(ctx, "DELETE FROM "+name); err != nil {
				return err
			}
		}
		// Only a transaction that has locked a product reserves names, so none can now.
		if media, err = db.records.mediaTable.Files(ctx, tx.Query); err != nil {
			return err
		}
		if _, err := tx.Run(ctx, "DELETE FROM media_file"); err != nil {
			return err
		}
		return engine.MoveCounters(ctx, tx.Run, db.records.Engine.Counters.Restart, db.counters())
	})
	if err != nil {
		return err
	}
	if err := engine.MoveCounters(ctx, db.records.Writer.ExecContext, db.records.Engine.Counters.Resync, db.counters()); err != nil {
		return db.records.WrapError(ctx, op, err)
	}
	return db.records.RemoveUnusedMedia(ctx, media)
}

// counters returns all counters: the counters of the records, of prices and of the
// credentials.
func (db *DB) counters() []engine.Counter {
	_, counters := db.records.RecordCounters()
	return append(counters, credentials.Counters()...)
}

// lockOwners locks the records that other writers lock before parts of them, in the
// same order as those writers, so that there is no deadlock.
func (db *DB) lockOwners(ctx context.Context, tx *engine.Tx) error {
	if db.records.Engine.LockClause == "" {
		return nil // tx has locked the whole database
	}
	for _, owner := range owners() {
		key := db.records.Table(owner).KeyColumn()
		rows, err := tx.Query(ctx, "SELECT "+key+" FROM "+db.records.Table(owner).Name+" ORDER BY "+key+db.records.Engine.LockClause)
		if err != nil {
			return err
		}
		for rows.Next() { // reading a row locks it
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Empty reports whether the database holds no record of any resource. Credentials do
// not count. Kinds: Unavailable, Internal.
func (db *DB) Empty(ctx context.Context) (bool, error) {
	empty, err := isEmpty(db.records.Tables, func(text string) error {
		var one int
		return engine.First(db.records.ReadStatements.Query(ctx, text+" LIMIT 1")).Scan(&one)
	})
	return empty, db.records.WrapError(ctx, "look for records", err)
}

// isEmpty runs find for every table; find must return sql.ErrNoRows if a statement
// selects nothing.
func isEmpty(tables []*engine.Table, find func(text string) error) (bool, error) {
	for _, t := range tables {
		if err := find("SELECT 1 FROM " + t.Name); !errors.Is(err, sql.ErrNoRows) {
			return false, err
		}
	}
	return true, nil
}

// clearAndLoad runs clear and then stores data, in one transaction, which renews the epoch of the
// store, because processes may have cached the previous records or their absence. If a statement
// for several records fails, it starts again with one record at a time, so that the error names the
// record.
func (db *DB) clearAndLoad(ctx context.Context, op string, data *adapter.Dataset, announcement *coordination.Announcement, progress func(done, total int), clear func(*engine.Tx) error) error {
	hashes, err := data.HashPasswords(ctx, db.passwordCost, &db.hashes)
	if err != nil {
		return db.records.WrapError(ctx, op, err)
	}
	hasEpoch, err := db.records.IsTable(ctx, engine.StateTable)
	if err != nil {
		return db.records.WrapError(ctx, op, err)
	}
	if announcement != nil {
		defer announcement.Keep(ctx)()
	}
	ambiguous := false
	store := func(atOnce int) error {
		return db.records.WriteAlone(ctx, op, func(tx *engine.Tx) error {
			if err := clear(tx); err != nil {
				return err
			}
			err := imports.Load(ctx, ruled{DB: db.records}, newTx(db.records, tx), data, hashes, atOnce, progress)
			ambiguous = err != nil && atOnce > 1
			if err == nil {
				err = db.credentials.Load(ctx, tx, data)
			}
			if err == nil && hasEpoch {
				err = coordination.AnnounceReplacement(ctx, tx, announcement)
			}
			if err != nil {
				return err
			}
			return engine.MoveCounters(ctx, tx.Run, db.records.Engine.Counters.Advance, db.counters())
		})
	}
	err = store(recordsPerInsert)
	if ambiguous && (adapter.KindOf(err) == adapter.Conflict || adapter.KindOf(err) == adapter.Invalid) {
		return store(1)
	}
	return err
}
