package engine

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A Tx is a transaction that writes. The parameters of its statements are question marks on every
// engine.
type Tx struct {
	DB       *DB
	tx       *sql.Tx
	Executed []string // texts of the statements that Exec and Query have run
}

// Exec runs a statement. It uses a prepared statement if there is one.
func (t *Tx) Exec(ctx context.Context, text string, arguments ...any) error {
	t.Executed = append(t.Executed, text)
	_, err := t.DB.WriteStatements.execTx(ctx, t.tx, text, arguments...)
	return err
}

// Query is Exec for a statement that returns rows.
func (t *Tx) Query(ctx context.Context, text string, arguments ...any) (Rows, error) {
	t.Executed = append(t.Executed, text)
	return t.DB.WriteStatements.queryTx(ctx, t.tx, text, arguments...)
}

// Prepare prepares the statements that a transaction has run, for the next one. The transaction
// must have ended. A failure does not matter, as they then run unprepared.
func (t *Tx) Prepare(ctx context.Context) {
	for _, text := range t.Executed {
		_, _ = t.DB.WriteStatements.Prepare(ctx, text)
	}
}

// Run runs a statement that is not worth preparing, because it is rare or one of many.
func (t *Tx) Run(ctx context.Context, text string, arguments ...any) (sql.Result, error) {
	return t.tx.ExecContext(ctx, t.DB.Engine.Rebind(text), arguments...)
}

// Affect is Run for a statement of which the number of changed rows counts.
func (t *Tx) Affect(ctx context.Context, text string, arguments ...any) (rows int64, err error) {
	result, err := t.Run(ctx, text, arguments...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// QueryRow is Run for a statement that returns at most one row.
func (t *Tx) QueryRow(ctx context.Context, text string, arguments ...any) *sql.Row {
	return t.tx.QueryRowContext(ctx, t.DB.Engine.Rebind(text), arguments...)
}

// RowExists reports whether a statement returns a row.
func (t *Tx) RowExists(ctx context.Context, text string, arguments ...any) (bool, error) {
	found, err := SelectColumn[int64](ctx, t.Query, text, arguments...)
	return len(found) > 0, err
}

// Insert stores a row and returns its key in KeyColumn. The database chooses a key that
// is 0.
func (t *Tx) Insert(ctx context.Context, table, keyColumn string, key int64, columns []string, values []any) (int64, error) {
	ib := t.DB.Engine.Flavor.NewInsertBuilder().InsertInto(table)
	if key != 0 {
		columns, values = append(columns, keyColumn), append(values, key)
	}
	ib.Cols(columns...).Values(values...)
	if t.DB.Engine.UseReturning {
		ib.Returning(keyColumn)
	}
	text, arguments := ib.Build()
	given, err := t.InsertRow(ctx, text, arguments)
	if key != 0 {
		return key, err
	}
	return given, err
}

// InsertRow runs an INSERT, which has a RETURNING clause if the engine uses one, and
// returns the key that the database chose.
func (t *Tx) InsertRow(ctx context.Context, text string, arguments []any) (key int64, err error) {
	if !t.DB.Engine.UseReturning {
		result, err := t.DB.WriteStatements.execTx(ctx, t.tx, text, arguments...)
		if err != nil {
			return 0, err
		}
		return result.LastInsertId()
	}
	err = First(t.DB.WriteStatements.queryTx(ctx, t.tx, text, arguments...)).Scan(&key)
	return key, err
}

// maxInsertArguments bounds the arguments of an INSERT of many rows. SQLite allows 32,766.
const maxInsertArguments = 8192

// maxPreparedRows is the number of rows up to which a statement with their values is prepared. There are
// too many different statements for more rows.
const maxPreparedRows = 4

// InsertValues inserts any number of rows by a few statements, which end with suffix.
func (t *Tx) InsertValues(ctx context.Context, table string, columns []string, rows [][]any, suffix string) error {
	for chunk := range slices.Chunk(rows, maxInsertArguments/len(columns)) {
		text, arguments, prepare, err := t.InsertStatement(ctx, table, columns, chunk)
		switch {
		case err != nil:
		case prepare:
			err = t.Exec(ctx, text+suffix, arguments...)
		default:
			_, err = t.Run(ctx, text+suffix, arguments...)
		}
		if err != nil {
			t.DB.arrayInserts.Clear() // the type of a column may have changed
			return err
		}
	}
	return nil
}

// InsertStatement returns the statement that inserts rows, at least one, and its arguments. prepare reports whether
// it is worth preparing.
func (t *Tx) InsertStatement(ctx context.Context, table string, columns []string, rows [][]any) (text string, arguments []any, prepare bool, err error) {
	if len(rows) > maxPreparedRows && t.DB.Engine.hasArrays {
		if text, arguments, err = t.insertArrays(ctx, table, columns, rows); text != "" || err != nil {
			return text, arguments, true, err
		}
	}
	row := "(" + strings.Repeat("?, ", len(columns)-1) + "?)"
	text = "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + strings.Repeat(row+", ", len(rows)-1) + row
	return text, slices.Concat(rows...), len(rows) <= maxPreparedRows, nil
}

// Write runs f in a transaction and commits it if f returns nil. It retries the whole
// transaction if it failed because of concurrent ones, so f may run several times. On SQLite, where a
// commit waits for the disk while no other write can begin, the writes that wait for each other share
// a transaction: use [DB.WriteAlone] for a long one.
func (db *DB) Write(ctx context.Context, op string, f func(*Tx) error) error {
	return db.write(ctx, op, false, f)
}

// WriteAlone is [DB.Write] for a write that may take long, such as an import.
func (db *DB) WriteAlone(ctx context.Context, op string, f func(*Tx) error) error {
	return db.write(ctx, op, true, f)
}

// WriteOne is [DB.Write] for one statement, of which it returns the number of changed rows. A server needs no
// transaction for it.
func (db *DB) WriteOne(ctx context.Context, op, text string, arguments ...any) (rows int64, err error) {
	affect := func(result sql.Result, err error) error {
		if err == nil {
			rows, err = result.RowsAffected()
		}
		return err
	}
	if db.commits == nil {
		err = db.Retry(ctx, func() error { return affect(db.WriteStatements.Exec(ctx, text, arguments...)) })
		return rows, db.WrapError(ctx, op, err)
	}
	_, _ = db.WriteStatements.Prepare(ctx, text) // or it runs unprepared
	err = db.Write(ctx, op, func(tx *Tx) error { return affect(db.WriteStatements.execTx(ctx, tx.tx, text, arguments...)) })
	return rows, err
}

func (db *DB) write(ctx context.Context, op string, alone bool, f func(*Tx) error) error {
	run := func(tx *sql.Tx) error { return f(&Tx{tx: tx, DB: db}) }
	err := db.Retry(ctx, func() error {
		if db.commits != nil {
			return db.commits.write(ctx, alone, run)
		}
		return db.writeOne(ctx, run)
	})
	return db.WrapError(ctx, op, err)
}

// writeOne runs f in a transaction of its own.
func (db *DB) writeOne(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended {
			_ = AwaitTxEnd(ctx, tx.Rollback)
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	ended = true
	return AwaitTxEnd(ctx, tx.Commit)
}

// Retry runs f, and repeats it if it failed only because of concurrent transactions. It stops after
// three quarters of the time until ctx's deadline, or, if ctx has no deadline, after retryFor and at
// least MaxAttempts runs.
func (db *DB) Retry(ctx context.Context, f func() error) error {
	begun := time.Now()
	least, end := MaxAttempts, begun.Add(retryFor)
	if deadline, ok := ctx.Deadline(); ok {
		// The remaining time is for the caller, who must learn why nothing was written.
		least, end = 1, begun.Add(deadline.Sub(begun)*3/4)
	}
	limit := retryPause
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil {
			return nil
		}
		if _, again := db.Engine.Classify(err); !again {
			return err
		}
		pause := rand.N(limit)
		if attempt >= least && time.Now().Add(pause).After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		limit = min(2*limit, longestPause)
	}
}

const (
	// MaxAttempts is the minimum number of runs of a transaction that fails because of concurrent ones,
	// unless a deadline ends them.
	MaxAttempts = 6
	// retryFor is the minimum time for which a transaction is repeated.
	retryFor = 5 * time.Second
	// The pause before each further attempt is random, so that transactions that have collided do not
	// collide again: at most retryPause before the second, and at most twice as long before each further
	// one, up to longestPause.
	retryPause   = 5 * time.Millisecond
	longestPause = 250 * time.Millisecond
)
