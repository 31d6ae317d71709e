package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/portico-commerce/portico/adapter"
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
// Invalid for a record that lacks something, Unsupported for images, Unavailable,
// Internal.
func (db *DB) Load(ctx context.Context, data *adapter.Dataset, progress func(done, total int)) error {
	return db.clearAndLoad(ctx, "load data", data, progress, func(tx *sql.Tx) error {
		empty, err := db.isEmpty(func(text string) error { return db.requireRow(ctx, tx, text+" LIMIT ?", 1) })
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
		tables := []string{"oauth_nonce", "oauth_token", "oauth_consumer", "api_key", "backend_record"}
		for i := len(db.tables) - 1; i >= 0; i-- { // parts before the records they belong to
			tables = append(tables, db.tables[i].name)
		}
		for _, name := range tables {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+name); err != nil {
				return err
			}
		}
		// Only a transaction that has locked a product reserves names, so none can now.
		if media, err = listMedia(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM media_file"); err != nil {
			return err
		}
		return db.runForCounters(ctx, tx.ExecContext, db.engine.counters.restart)
	})
	if err != nil {
		return err
	}
	if err := db.runForCounters(ctx, db.writer.ExecContext, db.engine.counters.resync); err != nil {
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
	empty, err := db.isEmpty(func(text string) error {
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
func (db *DB) isEmpty(find func(text string) error) (bool, error) {
	for _, t := range db.tables {
		if err := find("SELECT 1 FROM " + t.name); !errors.Is(err, sql.ErrNoRows) {
			return false, err
		}
	}
	return true, nil
}

// clearAndLoad runs clear and then stores data, in one transaction. If a statement for
// several records fails, it starts again with one record for each statement, so that
// the error names the record.
func (db *DB) clearAndLoad(ctx context.Context, op string, data *adapter.Dataset, progress func(done, total int), clear func(*sql.Tx) error) error {
	hashes, err := db.passwordHashes(ctx, data)
	if err != nil {
		return db.wrapError(ctx, op, err)
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	var ambiguous bool
	store := func(atOnce int) error {
		return db.write(ctx, op, func(tx *sql.Tx) error {
			if err := clear(tx); err != nil {
				return err
			}
			l := &loader{
				db: db, tx: tx, data: data, hashes: hashes, now: time.Now().UTC(), recordsPerInsert: atOnce,
				last: map[string]int64{}, progress: progress,
			}
			err := l.load(ctx)
			if ambiguous = l.batchFailed; err != nil {
				return err
			}
			return db.runForCounters(ctx, tx.ExecContext, db.engine.counters.advance)
		})
	}
	err = store(recordsPerInsert)
	if ambiguous && (adapter.KindOf(err) == adapter.Conflict || adapter.KindOf(err) == adapter.Invalid) {
		return store(1)
	}
	return err
}

// passwordHashes returns the bcrypt hash of every customer's password. Passwords of a
// public data set are hashed at the lowest cost, since they are no secret, and once in
// the lifetime of db, so that Reset is fast.
func (db *DB) passwordHashes(ctx context.Context, data *adapter.Dataset) (map[adapter.Key]string, error) {
	cost := db.passwordCost
	if data.Public {
		cost = bcrypt.MinCost
	}
	hashes := make(map[adapter.Key]string, len(data.Passwords))
	for customer, password := range data.Passwords {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if hash, ok := db.hashes.Load(password); ok && data.Public {
			hashes[customer] = hash.(string)
			continue
		}
		hash, err := adapter.HashPassword(password, cost)
		if err != nil {
			return nil, &adapter.Error{Kind: adapter.Invalid, Op: "load data", Field: "password", Err: err}
		}
		hashes[customer] = hash
		if data.Public {
			db.hashes.Store(password, hash)
		}
	}
	return hashes, nil
}

// A loader stores one data set in one transaction.
type loader struct {
	db               *DB
	tx               *sql.Tx
	data             *adapter.Dataset
	hashes           map[adapter.Key]string
	now              time.Time
	recordsPerInsert int
	batchFailed      bool             // a statement that inserts several records failed
	last             map[string]int64 // greatest key so far, by table
	done, total      int
	progress         func(done, total int)
}

func (l *loader) load(ctx context.Context) error {
	if len(l.data.Records[adapter.ProductImages]) > 0 {
		return &adapter.Error{Kind: adapter.Unsupported, Op: "load product_images"}
	}
	for _, t := range l.db.tables {
		l.total += len(l.data.Records[t.schema.Resource])
	}
	for _, t := range l.db.tables {
		if err := l.insertRecords(ctx, t, l.data.Records[t.schema.Resource]); err != nil {
			return err
		}
	}
	if err := l.db.rebuildListing(ctx, l.tx); err != nil {
		return err
	}
	if err := l.insertCredentials(ctx); err != nil {
		return err
	}
	l.progress(l.done, l.total)
	return nil
}

func (l *loader) insertRecords(ctx context.Context, t *table, records []adapter.Record) error {
	if len(records) == 0 {
		return nil
	}
	row := newRowEncoder(t, t.columnIndexes(false))
	for batch := range slices.Chunk(records, l.recordsPerInsert) {
		if err := l.insertBatch(ctx, t, row, batch); err != nil {
			return err
		}
	}
	return nil
}

// insertBatch stores records of a table by one statement, and then their parts.
func (l *loader) insertBatch(ctx context.Context, t *table, row *rowEncoder, records []adapter.Record) error {
	fault := func(r adapter.Record, err error) error {
		return l.db.wrapError(ctx, fmt.Sprintf("load %s %d", t.schema.Resource, r.Get(t.schema.Key).Int()), err)
	}
	completed := make([]adapter.Record, len(records))
	var arguments []any
	for i, r := range records {
		completed[i] = l.withDefaults(t, r)
		bound, err := row.arguments(l.db.engine, completed[i])
		if err != nil {
			return fault(completed[i], err)
		}
		arguments = append(arguments, bound...)
	}
	if _, err := l.tx.ExecContext(ctx, row.insertSQL(l.db.engine, len(records)), arguments...); err != nil {
		l.batchFailed = len(records) > 1
		return fault(completed[0], err)
	}
	for _, r := range completed {
		var err error
		if t.schema.Resource == adapter.Products {
			err = l.insertPrices(ctx, r)
		}
		if err == nil {
			err = t.insertAdded(ctx, l.db, l.tx, r)
		}
		if err != nil {
			return fault(r, err)
		}
		if l.done++; l.done%progressEvery == 0 {
			l.progress(l.done, l.total)
		}
	}
	return nil
}

// nextKey returns the given key, or the next one if it is absent. The loader counts
// itself, as the counters of the database go on from a previous data set or a
// transaction that was rolled back.
func (l *loader) nextKey(table string, given adapter.Value) adapter.Value {
	if given.Kind() == adapter.Absent {
		given = adapter.IntegerValue(l.last[table] + 1)
	}
	l.last[table] = max(l.last[table], given.Int())
	return given
}

// withDefaults returns a copy of r with its key and the values that the store derives.
func (l *loader) withDefaults(t *table, r adapter.Record) adapter.Record {
	r = r.Clone()
	r.Set(t.schema.Key, l.nextKey(t.name, r.Get(t.schema.Key)))
	switch t.schema.Resource {
	case adapter.StockItems:
		return adapter.DeriveStockStatus(r, l.data.Stock, l.now.Format(time.DateTime))
	case adapter.Customers:
		if hash, ok := l.hashes[adapter.Key(r.Get("entity_id").Int())]; ok {
			r.Set("password_hash", adapter.TextValue(hash))
		}
	}
	return withTimestamps(r, l.now.Format(time.DateTime))
}

// insertPrices stores the group and tier prices of a product.
func (l *loader) insertPrices(ctx context.Context, product adapter.Record) error {
	for name, table := range map[string]string{"group_price": "product_group_price", "tier_price": "product_tier_price"} {
		for _, price := range product.Get(name).Records() {
			columns, arguments := []string{"product_id"}, []any{product.Get("entity_id").Int()}
			for i, a := range price.Schema.Attributes {
				if a.Name == price.Schema.Key {
					continue
				}
				argument, err := l.db.engine.bind(&a, price.Values[i])
				if err != nil {
					return err
				}
				columns, arguments = append(columns, a.Name), append(arguments, argument)
			}
			key := l.nextKey(table, price.Get(price.Schema.Key)).Int()
			if _, err := l.db.insert(ctx, l.tx, table, price.Schema.Key, key, columns, arguments); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) insertCredentials(ctx context.Context) error {
	if l.data.Consumer.Key == "" {
		return nil
	}
	c := l.db.Credentials()
	consumer := l.data.Consumer
	var lastConsumer, lastToken int64
	const greatest = "SELECT COALESCE((SELECT MAX(consumer_id) FROM oauth_consumer), 0), COALESCE((SELECT MAX(token_id) FROM oauth_token), 0)"
	if err := l.tx.QueryRowContext(ctx, greatest).Scan(&lastConsumer, &lastToken); err != nil {
		return err
	}
	consumer.ID = lastConsumer + 1
	if _, err := c.insertConsumer(ctx, l.tx, consumer); err != nil {
		return err
	}
	for _, t := range l.data.Tokens {
		lastToken++
		t.ID, t.ConsumerID = lastToken, consumer.ID
		if t.CreatedAt.IsZero() {
			t.CreatedAt = l.now
		}
		if _, err := c.insertToken(ctx, l.tx, t, l.data.Verifier); err != nil {
			return err
		}
	}
	if other := l.data.ConsentConsumer; other.Key != "" {
		other.ID = consumer.ID + 1
		_, err := c.insertConsumer(ctx, l.tx, other)
		return err
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

// arguments returns the values of r in the order of the columns.
func (w *rowEncoder) arguments(e *engine, r adapter.Record) ([]any, error) {
	arguments := make([]any, 0, len(w.columns))
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
