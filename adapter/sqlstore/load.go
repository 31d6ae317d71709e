package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

const (
	// progressEvery is the number of records between two progress reports.
	progressEvery = 100
	// recordsPerInsert is the number of records that one statement inserts. Databases
	// allow 32,766 values in a statement, and a record has at most some 200.
	recordsPerInsert = 100
)

// Load fills the empty database with data, in one transaction. Unless nil, progress is
// called from time to time, and at the end, with the number of records stored so far.
// Kinds: Conflict when the database is not empty or two records exclude each other,
// Invalid for a record that lacks something, Unsupported for images without a folder for
// them, Unavailable, Internal.
func (db *DB) Load(ctx context.Context, data *adapter.Dataset, progress func(done, total int)) error {
	return db.clearAndLoad(ctx, "load data", data, progress, func(tx *sql.Tx) error {
		empty, err := isEmpty(db.tables, func(text string) error { return db.engine.requireRow(ctx, tx, text+" LIMIT ?", 1) })
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
	const op = "reset data"
	var media []string
	err := db.clearAndLoad(ctx, op, data, nil, func(tx *sql.Tx) (err error) {
		if err := db.lockOwners(ctx, tx); err != nil {
			return err
		}
		tables := []string{"oauth_nonce", "oauth_token", "oauth_consumer", "api_key", "backend_record", "imported_record"}
		for i := len(db.tables) - 1; i >= 0; i-- { // parts before the records they belong to
			tables = append(tables, db.tables[i].name)
		}
		for _, name := range append(tables, "import_digest", "import_position", "import_source", "import_parked", "evidence",
			"outbox_entry", "outbox_conflict", "outbox_create", "write_owner") {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+name); err != nil {
				return err
			}
		}
		// Only a transaction that has locked a product reserves names, so none can now.
		if media, err = selectColumn[string](ctx, tx.QueryContext, "SELECT file FROM media_file"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM media_file"); err != nil {
			return err
		}
		return keyCounters{db}.run(ctx, tx.ExecContext, db.engine.counters.restart)
	})
	if err != nil {
		return err
	}
	counters := keyCounters{db}
	if err := counters.run(ctx, db.writer.ExecContext, db.engine.counters.resync); err != nil {
		return db.wrapError(ctx, op, err)
	}
	return db.removeUnusedMedia(ctx, media)
}

// lockOwners locks the records that other writers lock before parts of them, in the
// same order as those writers, so that there is no deadlock.
func (db *DB) lockOwners(ctx context.Context, tx *sql.Tx) error {
	if db.engine.lockClause == "" {
		return nil // tx has locked the whole database
	}
	for _, owner := range []adapter.Resource{adapter.Customers, adapter.Products, adapter.Orders} {
		key := db.table(owner).keyColumn()
		rows, err := tx.QueryContext(ctx, "SELECT "+key+" FROM "+db.table(owner).name+" ORDER BY "+key+db.engine.lockClause)
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
	empty, err := isEmpty(db.tables, func(text string) error {
		rows, err := db.readStatements.query(ctx, text+" LIMIT 1")
		if err != nil {
			return err
		}
		var one int
		return scanOne(rows, &one)
	})
	return empty, db.wrapError(ctx, "look for records", err)
}

// isEmpty runs find for every table; find must return sql.ErrNoRows if a statement
// selects nothing.
func isEmpty(tables []*table, find func(text string) error) (bool, error) {
	for _, t := range tables {
		if err := find("SELECT 1 FROM " + t.name); !errors.Is(err, sql.ErrNoRows) {
			return false, err
		}
	}
	return true, nil
}

// clearAndLoad runs clear and then stores data, in one transaction. If several records
// that are stored at once fail, it starts again with one at a time, so that the error names
// the record.
func (db *DB) clearAndLoad(ctx context.Context, op string, data *adapter.Dataset, progress func(done, total int), clear func(*sql.Tx) error) error {
	hashes, err := data.HashPasswords(ctx, db.passwordCost, &db.hashes)
	if err != nil {
		return db.wrapError(ctx, op, err)
	}
	ambiguous := false
	store := func(atOnce int) error {
		return db.write(ctx, op, func(tx *sql.Tx) error {
			if err := clear(tx); err != nil {
				return err
			}
			err := rules.Load(ctx, ruled{db: db}, newWriteTx(db, tx), data, hashes, atOnce, progress)
			ambiguous = err != nil && atOnce > 1
			if err == nil {
				err = db.Credentials().load(ctx, tx, data)
			}
			if err != nil {
				return err
			}
			return keyCounters{db}.run(ctx, tx.ExecContext, db.engine.counters.advance)
		})
	}
	err = store(recordsPerInsert)
	if ambiguous && (adapter.KindOf(err) == adapter.Conflict || adapter.KindOf(err) == adapter.Invalid) {
		return store(1)
	}
	return err
}

// load stores the consumers and tokens of a data set.
func (c *Credentials) load(ctx context.Context, tx *sql.Tx, data *adapter.Dataset) error {
	grants := []adapter.Grant{{Consumer: data.Consumer}, {Consumer: data.ConsentConsumer}}
	for _, t := range data.Tokens {
		t.Verifier = data.Verifier
		grants[0].Tokens = append(grants[0].Tokens, t)
	}
	var lastConsumer, lastToken int64
	const greatest = "SELECT COALESCE((SELECT MAX(consumer_id) FROM oauth_consumer), 0), COALESCE((SELECT MAX(token_id) FROM oauth_token), 0)"
	if err := tx.QueryRowContext(ctx, greatest).Scan(&lastConsumer, &lastToken); err != nil {
		return err
	}
	for _, g := range append(grants, data.Grants...) {
		if g.Consumer.Key == "" {
			continue
		}
		lastConsumer++
		g.Consumer.ID = lastConsumer
		if _, err := c.insertConsumer(ctx, tx, g.Consumer); err != nil {
			return err
		}
		for _, t := range g.Tokens {
			lastToken++
			t.ID, t.ConsumerID = lastToken, lastConsumer
			if t.CreatedAt.IsZero() {
				t.CreatedAt = time.Now().UTC()
			}
			if _, err := c.insertToken(ctx, tx, t, t.Verifier); err != nil {
				return err
			}
		}
	}
	return nil
}

// A rowEncoder turns records of a table into the arguments of an INSERT statement.
type rowEncoder struct {
	table   *table
	indexes []int // schema indexes of the attributes, in the order of their columns
	columns []string
}

// newRowEncoder returns an encoder of the attributes at the given schema indexes.
func newRowEncoder(t *table, indexes []int) *rowEncoder {
	w := &rowEncoder{table: t, indexes: indexes}
	for _, at := range w.indexes {
		w.columns = append(w.columns, unqualified(t.columns[at].name))
		if t.columns[at].folded != "" {
			w.columns = append(w.columns, unqualified(t.columns[at].folded))
		}
	}
	if t.nulls {
		w.columns = append(w.columns, "nulls")
	}
	return w
}

// insertSQL returns the statement that inserts a number of rows.
func (w *rowEncoder) insertSQL(e *engine, rows int) string {
	ib := e.flavor.NewInsertBuilder().InsertInto(w.table.name).Cols(w.columns...)
	for range rows {
		ib.Values(make([]any, len(w.columns))...)
	}
	text, _ := ib.Build()
	return text
}

// appendArguments appends the values of r, in the order of the columns.
func (w *rowEncoder) appendArguments(arguments []any, e *engine, r adapter.Record) ([]any, error) {
	var nulls []string
	for _, at := range w.indexes {
		a, v := &w.table.schema.Attributes[at], r.Values[at]
		argument, err := e.bind(a, v)
		if err != nil {
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: "store " + string(w.table.schema.Resource), Field: a.Name, Err: err}
		}
		arguments = append(arguments, argument)
		if w.table.columns[at].folded != "" {
			arguments = append(arguments, fold(v))
		}
		if v.Kind() == adapter.Null {
			nulls = append(nulls, a.Name)
		}
	}
	if w.table.nulls {
		arguments = append(arguments, joinNulls(nulls))
	}
	return arguments, nil
}

// joinNulls returns the content of the column nulls for the named attributes: ",a,b,".
func joinNulls(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "," + strings.Join(names, ",") + ","
}
