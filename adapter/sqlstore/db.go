package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
)

// Options configure Open.
type Options struct {
	// DSN names the database, and may hold a password:
	//
	//   - "sqlite:path/to/file.db", or the path alone;
	//   - "postgres://user:password@host:5432/database" or "postgres:" and
	//     settings, "host=/run/postgresql dbname=shop", with all that pgx takes;
	//   - "mysql:user:password@tcp(host:3306)/database", for MariaDB too, with
	//     all that go-sql-driver/mysql takes.
	DSN string
	// Migrate makes Open create a missing database file and run the migrations. Without
	// it the schema of the database is used as it is.
	Migrate bool
	// SecretKey encrypts the secrets of consumers and tokens. Any text will do; a long
	// random one is best. Without it secrets are stored unencrypted.
	SecretKey string
	// PasswordCost is the bcrypt cost of new password hashes; 0 means
	// bcrypt.DefaultCost.
	PasswordCost int
	// MediaDir is the folder of media files. Open creates it if only the folder itself
	// is missing. Without it images cannot be created, and no media file is found.
	MediaDir string
	// Schemas describe the records; nil means those of adapter.NewSchemas.
	Schemas *adapter.Schemas
	// Logger logs the migrations; nil means no log.
	Logger *slog.Logger
	// Trace records a span for each statement of a request whose trace is recorded.
	Trace bool
	// Wrap, if not nil, may replace the connector of each pool, for instance by one
	// that observes every statement.
	Wrap func(driver.Connector) driver.Connector
}

// A DB is an open database. It is safe for concurrent use.
type DB struct {
	engine *engine
	name   string // which the engine has opened
	pools
	// The prepared statements of the readers, the writer and the credential readers.
	readStatements, writeStatements, credentialStatements *statementCache
	schemas                                               *adapter.Schemas
	tables                                                []*table
	records                                               map[adapter.Resource]*store // of all tables
	readerOf                                              map[adapter.Resource]rules.Reader
	stores                                                map[adapter.Resource]adapter.Store
	products                                              products
	media                                                 *blobStore
	sealer                                                sealer
	growth                                                growth
	hasListingTable                                       bool     // product_listing is a table, which needs updates, not a view
	migrations                                            []string // those that Open has run
	closed                                                atomic.Bool
	nonceUses                                             atomic.Uint64
	passwordCost                                          int
	hashes                                                sync.Map // public password → bcrypt hash
}

// Open opens a database. Errors contain neither the secret key nor a password. Kinds:
// Invalid for a DSN or key that cannot be used, Unavailable for a file or folder that
// cannot be opened or a server that cannot be reached, Internal.
func Open(ctx context.Context, o Options) (*DB, error) {
	engine, name, err := engineOf(o.DSN)
	if err != nil {
		return nil, &adapter.Error{Kind: adapter.Invalid, Op: "open database", Field: "dsn", Err: err}
	}
	vault, err := newSealer(o.SecretKey)
	if err != nil {
		return nil, &adapter.Error{Kind: adapter.Invalid, Op: "open database", Field: "secret_key", Err: err}
	}
	wrap := o.Wrap
	if wrap == nil {
		wrap = identityConnector
	}
	if o.Trace {
		wrap = traceStatements(engine, wrap)
	}
	pools, err := engine.open(name, o.Migrate, wrap)
	if err != nil {
		return nil, &adapter.Error{Kind: adapter.Unavailable, Op: "open database", Err: err}
	}
	schemas := o.Schemas
	if schemas == nil {
		schemas = adapter.NewSchemas()
	}
	db := &DB{
		engine:         engine,
		name:           name,
		pools:          pools,
		readStatements: newStatementCache(engine, pools.readers), writeStatements: newStatementCache(engine, pools.writer), credentialStatements: newStatementCache(engine, pools.credentialReaders),
		schemas: schemas, tables: layout(schemas), records: map[adapter.Resource]*store{}, sealer: vault, passwordCost: o.PasswordCost,
	}
	db.readerOf = make(map[adapter.Resource]rules.Reader, len(db.tables))
	for _, t := range db.tables {
		s := newStore(db, t)
		db.records[t.schema.Resource], db.readerOf[t.schema.Resource] = s, s
	}
	db.products = newProducts(db.records[adapter.Products], db.records[adapter.StockItems])
	db.readerOf[adapter.Products], db.readerOf[adapter.ProductImages] = db.products, newProductImages(db.records[adapter.ProductImages])
	db.stores = rules.Stores(ruled{db: db}, db.readerOf)
	if err = db.Ping(ctx); err == nil && o.Migrate {
		db.migrations, err = engine.migrate(ctx, pools.writer, o.Logger)
	}
	if err == nil {
		db.hasListingTable, err = engine.isTable(ctx, db.readers.QueryContext, "product_listing")
	}
	if err == nil {
		if db.media, err = openBlobStore(o.MediaDir); err != nil {
			err = &adapter.Error{Kind: adapter.Unavailable, Op: "open media folder", Err: err}
		}
	}
	if err != nil {
		err = db.wrapError(ctx, "open database", err)
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Migrations returns the names of the migrations that Open has run, in their order; none if the
// tables were those of this version, or without Options.Migrate.
func (db *DB) Migrations() []string { return slices.Clone(db.migrations) }

// HashPassword returns the bcrypt hash of a password at the cost of
// Options.PasswordCost.
func (db *DB) HashPassword(password string) (string, error) {
	return adapter.HashPassword(password, db.passwordCost)
}

// isTable reports whether there is a table, as opposed to a view, of that name.
func (e *engine) isTable(ctx context.Context, query queryFunc, name string) (bool, error) {
	found, err := selectColumn[int](ctx, query, e.rebind(e.isTableSQL), name)
	return len(found) > 0, err
}

// identityConnector returns its argument; it is the default of Options.Wrap.
func identityConnector(c driver.Connector) driver.Connector { return c }

// table returns the table of a resource, which must exist.
func (db *DB) table(r adapter.Resource) *table {
	for _, t := range db.tables {
		if t.schema.Resource == r {
			return t
		}
	}
	panic("sqlstore: no table for " + string(r))
}

// Ping checks that the database answers. Kinds: Unavailable.
func (db *DB) Ping(ctx context.Context) error {
	err := db.readers.PingContext(ctx)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return &adapter.Error{Kind: adapter.Unavailable, Op: "ping database", Err: err}
}

// Close waits for running statements and closes the database. Later calls fail with
// kind Unavailable.
func (db *DB) Close() error {
	db.closed.Store(true)
	return db.pools.close()
}

// Adapter returns an adapter that serves the records of the database.
func (db *DB) Adapter() *Adapter { return &Adapter{db: db, stores: db.stores} }

// An Adapter serves the records of a DB. It implements adapter.Adapter, adapter.Importer,
// adapter.Noter and adapter.Exporter.
type Adapter struct {
	db     *DB
	stores map[adapter.Resource]adapter.Store
	// what writes need and imports announce, as in ruled
	lease        *Lease
	announcement *Announcement
	mirrors      bool
}

// rules returns the database as package rules sees it.
func (a *Adapter) rules() ruled {
	return ruled{db: a.db, lease: a.lease, announcement: a.announcement, mirrors: a.mirrors}
}

var (
	_ adapter.Adapter  = (*Adapter)(nil)
	_ adapter.Importer = (*Adapter)(nil)
	_ adapter.Noter    = (*Adapter)(nil)
	_ adapter.Exporter = (*Adapter)(nil)
)

// Name returns "sqlstore".
func (a *Adapter) Name() string { return "sqlstore" }

// Store returns the store of a resource. Kinds: Unsupported.
func (a *Adapter) Store(r adapter.Resource) (adapter.Store, error) {
	if s, ok := a.stores[r]; ok {
		return s, nil
	}
	return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "store " + string(r)}
}

// Import implements adapter.Importer.
func (a *Adapter) Import(ctx context.Context, batch []adapter.Aggregate, o adapter.ImportOptions) ([]adapter.Imported, error) {
	if !o.DryRun {
		counters := keyCounters{a.db}
		if err := counters.passOutside(ctx, o.Passed); err != nil {
			return nil, a.db.wrapError(ctx, "import records", err)
		}
	}
	outcomes, err := a.importAnnounced(ctx, batch, o)
	if err == nil && !o.DryRun {
		a.db.renewStatistics(ctx, outcomes)
	}
	return outcomes, err
}

// Export reads records as an import stores them, as [adapter.Exporter] says.
func (a *Adapter) Export(ctx context.Context, r adapter.Resource, after adapter.Key, limit int) ([]adapter.Aggregate, error) {
	return rules.Export(ctx, a.rules(), a.stores[r], r, after, limit)
}

// Ping calls DB.Ping.
func (a *Adapter) Ping(ctx context.Context) error { return a.db.Ping(ctx) }

// Close calls DB.Close.
func (a *Adapter) Close() error { return a.db.Close() }

// wrapError converts the error of an operation to those of package adapter: it returns
// the context's error if ctx has ended, and an *adapter.Error otherwise.
func (db *DB) wrapError(ctx context.Context, op string, err error) error {
	var known *adapter.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return &adapter.Error{Kind: adapter.NotFound, Op: op}
	case db.closed.Load():
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	default:
		kind, _ := db.engine.classify(err)
		return &adapter.Error{Kind: kind, Op: op, Err: err}
	}
}

const (
	// maxAttempts bounds how often a transaction runs that fails because of concurrent
	// ones.
	maxAttempts = 6
	// retryPause is the longest pause before the second attempt. The limit doubles with
	// each further attempt.
	retryPause = 5 * time.Millisecond
)

// retry runs f, and runs it again if it failed only because of concurrent transactions.
func (db *DB) retry(ctx context.Context, f func() error) error {
	pause := retryPause
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || attempt == maxAttempts {
			return err
		}
		if _, again := db.engine.classify(err); !again {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(pause)):
		}
		pause *= 2
	}
}

// write runs f in a transaction and commits it if f returns nil. It retries the whole
// transaction if it failed because of concurrent ones, so f may run several times.
func (db *DB) write(ctx context.Context, op string, f func(*sql.Tx) error) error {
	err := db.retry(ctx, func() error {
		tx, err := db.writer.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		ended := false
		defer func() {
			if !ended {
				_ = awaitTxEnd(ctx, tx.Rollback)
			}
		}()
		if err := f(tx); err != nil {
			return err
		}
		ended = true
		return awaitTxEnd(ctx, tx.Commit)
	})
	return db.wrapError(ctx, op, err)
}

// awaitTxEnd runs end, a commit or rollback, and waits for it at most until ctx ends.
// Some drivers ignore the context there, and a server that hangs would block the
// caller. end then continues in the background and keeps its connection.
func awaitTxEnd(ctx context.Context, end func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended: // it ended at the same time
		return err
	default:
		return ctx.Err()
	}
}

// exec runs a statement, written with question marks, within tx.
func (db *DB) exec(ctx context.Context, tx *sql.Tx, text string, arguments ...any) (sql.Result, error) {
	return tx.ExecContext(ctx, db.engine.rebind(text), arguments...)
}
