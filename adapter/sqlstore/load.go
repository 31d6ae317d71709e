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
	// progressEvery is the number of records between two reports.
	progressEvery = 100
	// loadedAtOnce is the number of records that one statement stores. Databases allow
	// 32,766 values in a statement, and a record has at most some 200.
	loadedAtOnce = 100
)

// Load fills the empty database with data, in one transaction. progress, unless
// nil, is told now and then how many records are stored, and at the end. Kinds:
// Conflict when the database is not empty or two records may not be there
// together, Invalid for a record that lacks something, Unsupported for images,
// Unavailable, Internal.
func (db *DB) Load(ctx context.Context, data *adapter.Dataset, progress func(done, total int)) error {
	return db.fill(ctx, "load data", data, progress, func(tx *sql.Tx) error {
		empty, err := db.empty(func(text string) error { return db.exists(ctx, tx, text+" LIMIT ?", 1) })
		if err == nil && !empty {
			err = &adapter.Error{Kind: adapter.Conflict, Op: "load data", Err: errNotEmpty}
		}
		return err
	})
}

var errNotEmpty = errors.New("the database is not empty")

// Reset puts data in the place of everything, credentials, nonces and the ledger included,
// as if the database were new, and removes the media files. Readers see all of the
// old or all of the new. New keys go on after those of data. Kinds: as Load.
func (db *DB) Reset(ctx context.Context, data *adapter.Dataset) error {
	const op = "reset data"
	var media []string
	err := db.fill(ctx, op, data, nil, func(tx *sql.Tx) (err error) {
		if err := db.lockOwners(ctx, tx); err != nil {
			return err
		}
		tables := []string{"oauth_nonce", "oauth_token", "oauth_consumer", "api_key", "backend_record"}
		for i := len(db.tables) - 1; i >= 0; i-- { // parts before their owners
			tables = append(tables, db.tables[i].name)
		}
		for _, name := range tables {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+name); err != nil {
				return err
			}
		}
		// Names are taken under the lock of a product, so by nobody any more.
		if media, err = listMedia(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM media_file"); err != nil {
			return err
		}
		return db.moveCounters(ctx, tx.ExecContext, db.engine.counting.restart)
	})
	if err != nil {
		return err
	}
	if err := db.moveCounters(ctx, db.writer.ExecContext, db.engine.counting.settle); err != nil {
		return db.fault(ctx, op, err)
	}
	return db.sweepMedia(ctx, media)
}

// lockOwners locks what writers lock before the parts of it, in their order, so that
// neither waits for the other forever.
func (db *DB) lockOwners(ctx context.Context, tx *sql.Tx) error {
	if db.engine.lock == "" {
		return nil // tx is alone from its start
	}
	for _, owner := range []adapter.Resource{adapter.Customers, adapter.Products, adapter.Orders} {
		key := db.table(owner).key()
		rows, err := tx.QueryContext(ctx, "SELECT "+key+" FROM "+db.table(owner).name+" ORDER BY "+key+db.engine.lock)
		if err != nil {
			return err
		}
		for rows.Next() { // each is locked as it is read
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Empty reports whether the database holds no record of any resource;
// credentials do not count. Kinds: Unavailable, Internal.
func (db *DB) Empty(ctx context.Context) (bool, error) {
	empty, err := db.empty(func(text string) error {
		rows, err := db.reading.query(ctx, text+" LIMIT 1")
		if err != nil {
			return err
		}
		var one int
		return scanOne(rows, &one)
	})
	return empty, db.fault(ctx, "look for records", err)
}

// empty asks find, which fails with sql.ErrNoRows, for a row of every table.
func (db *DB) empty(find func(text string) error) (bool, error) {
	for _, t := range db.tables {
		if err := find("SELECT 1 FROM " + t.name); !errors.Is(err, sql.ErrNoRows) {
			return false, err
		}
	}
	return true, nil
}

// fill runs clear, then stores data, in one transaction.
func (db *DB) fill(ctx context.Context, op string, data *adapter.Dataset, progress func(done, total int), clear func(*sql.Tx) error) error {
	hashes, err := db.passwordHashes(ctx, data)
	if err != nil {
		return db.fault(ctx, op, err)
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
				db: db, tx: tx, data: data, hashes: hashes, now: time.Now().UTC(), atOnce: atOnce,
				last: map[string]int64{}, progress: progress,
			}
			err := l.load(ctx)
			if ambiguous = l.ambiguous; err != nil {
				return err
			}
			return db.moveCounters(ctx, tx.ExecContext, db.engine.counting.advance)
		})
	}
	err = store(loadedAtOnce)
	if ambiguous && (adapter.KindOf(err) == adapter.Conflict || adapter.KindOf(err) == adapter.Invalid) {
		return store(1) // whose error names the record
	}
	return err
}

// passwordHashes returns the bcrypt hash of every customer's password. Public
// ones get the least cost, which protects nothing less, and are hashed once in
// the life of db, so that Reset is quick.
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
	db          *DB
	tx          *sql.Tx
	data        *adapter.Dataset
	hashes      map[adapter.Key]string
	now         time.Time
	atOnce      int              // records that one statement stores
	ambiguous   bool             // a statement failed that stores several records
	last        map[string]int64 // greatest key so far, by table
	done, total int
	progress    func(done, total int)
}

func (l *loader) load(ctx context.Context) error {
	if len(l.data.Records[adapter.ProductImages]) > 0 {
		return &adapter.Error{Kind: adapter.Unsupported, Op: "load product_images"}
	}
	for _, t := range l.db.tables {
		l.total += len(l.data.Records[t.schema.Resource])
	}
	for _, t := range l.db.tables {
		if err := l.records(ctx, t, l.data.Records[t.schema.Resource]); err != nil {
			return err
		}
	}
	if err := l.db.relist(ctx, l.tx); err != nil {
		return err
	}
	if err := l.credentials(ctx); err != nil {
		return err
	}
	l.progress(l.done, l.total)
	return nil
}

func (l *loader) records(ctx context.Context, t *table, records []adapter.Record) error {
	if len(records) == 0 {
		return nil
	}
	row := newRow(t, t.places(false))
	for batch := range slices.Chunk(records, l.atOnce) {
		if err := l.batch(ctx, t, row, batch); err != nil {
			return err
		}
	}
	return nil
}

// batch stores records of a table by one statement, and their parts after them.
func (l *loader) batch(ctx context.Context, t *table, row *row, records []adapter.Record) error {
	fault := func(r adapter.Record, err error) error {
		return l.db.fault(ctx, fmt.Sprintf("load %s %d", t.schema.Resource, r.Get(t.schema.Key).Int()), err)
	}
	completed := make([]adapter.Record, len(records))
	var arguments []any
	for i, r := range records {
		completed[i] = l.complete(t, r)
		bound, err := row.arguments(l.db.engine, completed[i])
		if err != nil {
			return fault(completed[i], err)
		}
		arguments = append(arguments, bound...)
	}
	if _, err := l.tx.ExecContext(ctx, row.insert(l.db.engine, len(records)), arguments...); err != nil {
		l.ambiguous = len(records) > 1
		return fault(completed[0], err)
	}
	for _, r := range completed {
		var err error
		if t.schema.Resource == adapter.Products {
			err = l.prices(ctx, r)
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

// key returns the key of a row of a table: the given one, else the next. The
// counters of the database stand where a rolled back or former data set left
// them.
func (l *loader) key(table string, given adapter.Value) adapter.Value {
	if given.Kind() == adapter.Absent {
		given = adapter.IntegerValue(l.last[table] + 1)
	}
	l.last[table] = max(l.last[table], given.Int())
	return given
}

// complete returns r with what the store itself fills in.
func (l *loader) complete(t *table, r adapter.Record) adapter.Record {
	r = r.Clone()
	r.Set(t.schema.Key, l.key(t.name, r.Get(t.schema.Key)))
	switch t.schema.Resource {
	case adapter.StockItems:
		return adapter.SettleStock(r, l.data.Stock, l.now.Format(time.DateTime))
	case adapter.Customers:
		if hash, ok := l.hashes[adapter.Key(r.Get("entity_id").Int())]; ok {
			r.Set("password_hash", adapter.TextValue(hash))
		}
	}
	return dated(r, l.now.Format(time.DateTime))
}

// prices stores the group and tier prices of a product.
func (l *loader) prices(ctx context.Context, product adapter.Record) error {
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
			key := l.key(table, price.Get(price.Schema.Key)).Int()
			if _, err := l.db.insert(ctx, l.tx, table, price.Schema.Key, key, columns, arguments); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) credentials(ctx context.Context) error {
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

// A row turns records of a table into the arguments of an INSERT.
type row struct {
	table   *table
	at      []int // the attributes, as their columns come
	columns []string
}

// newRow returns the row of the attributes at the given places.
func newRow(t *table, at []int) *row {
	w := &row{table: t, at: at}
	for _, at := range w.at {
		w.columns = append(w.columns, bare(t.columns[at].name))
		if t.columns[at].folded != "" {
			w.columns = append(w.columns, bare(t.columns[at].folded))
		}
	}
	if t.nulls {
		w.columns = append(w.columns, "nulls")
	}
	return w
}

// insert returns the statement that stores a number of rows.
func (w *row) insert(e *engine, rows int) string {
	ib := e.flavor.NewInsertBuilder().InsertInto(w.table.name).Cols(w.columns...)
	for range rows {
		ib.Values(make([]any, len(w.columns))...)
	}
	text, _ := ib.Build()
	return text
}

// arguments binds r, in the order of columns.
func (w *row) arguments(e *engine, r adapter.Record) ([]any, error) {
	arguments := make([]any, 0, len(w.columns))
	var nulls []string
	for _, at := range w.at {
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
		arguments = append(arguments, nullList(nulls))
	}
	return arguments, nil
}

// nullList writes names as the column nulls holds them.
func nullList(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "," + strings.Join(names, ",") + ","
}
