package sqlstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/backups"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// Options configure Open.
type Options struct {
	// DSN names the database, and may hold a password:
	//
	//   - "sqlite:path/to/file.db", or the path alone;
	//   - "postgres://user:password@host:5432/database" or "postgres:" and settings,
	//     "host=/run/postgresql dbname=shop", with all options of pgx;
	//   - "mysql:user:password@tcp(host:3306)/database", for MariaDB too, with all options of
	//     go-sql-driver/mysql.
	DSN string
	// Migrate makes Open create a missing database file and run the migrations. Without it the
	// schema of the database is used unchanged.
	Migrate bool
	// SecretKey encrypts the secrets of consumers and tokens. Any text will do; a long
	// random one is best. Without it secrets are stored unencrypted.
	SecretKey string
	// PasswordCost is the bcrypt cost of new password hashes; 0 means
	// bcrypt.DefaultCost.
	PasswordCost int
	// MediaDir is the folder of media files. Open creates it if only the folder itself
	// is missing. Without it images cannot be created, and no media file is found. A folder that
	// belongs to another database is read only: see [DB.ClaimMedia].
	MediaDir string
	// Media, unless nil, stores media files instead of MediaDir.
	Media media.Store
	// Schemas describe the records; nil means adapter.NewSchemas.
	Schemas *adapter.Schemas
	// Logger logs the migrations; nil means no log.
	Logger *slog.Logger
	// Trace records a span for each statement of a request whose trace is recorded.
	Trace bool
	// Wrap, if not nil, may replace the connector of each pool, for instance by one
	// that observes every statement.
	Wrap func(driver.Connector) driver.Connector
	// PerTransaction is for a DSN of PostgreSQL that leads to a pooler in transaction mode,
	// such as PgBouncer's. DirectDSN, which leads to the server itself, is then needed by
	// Migrate and by imports.
	PerTransaction bool
	// DirectDSN is used by migrations and by the lock of imports; "" stands for DSN.
	DirectDSN string
	// WriteConnections and ReadConnections are the numbers of connections to a database server;
	// 0 stands for two and four for each processor, and for four and eight at least.
	WriteConnections, ReadConnections int
}

// A DB is an open store. It is safe for concurrent use.
type DB struct {
	records      *Database
	adapter      *RecordAdapter
	credentials  *credentials.Store
	migrations   []string // run by Open
	passwordCost int
	hashes       sync.Map // public password → bcrypt hash
}

// Open opens a database. Errors contain neither the secret key nor a password. Kinds:
// Invalid for a DSN or key that cannot be used, Unavailable for a file or folder that
// cannot be opened or a server that cannot be reached, Internal.
func Open(ctx context.Context, o Options) (*DB, error) {
	const op = "open database"
	opened, err := engine.Open(engine.Options{
		DSN: o.DSN, DirectDSN: o.DirectDSN, Trace: o.Trace,
		PoolOptions: engine.PoolOptions{Create: o.Migrate, Wrap: o.Wrap, Writers: o.WriteConnections, Readers: o.ReadConnections, PerTransaction: o.PerTransaction},
	})
	if err != nil {
		return nil, err
	}
	schemas := o.Schemas
	if schemas == nil {
		schemas = adapter.NewSchemas()
	}
	db := &DB{passwordCost: o.PasswordCost}
	if db.credentials, err = credentials.New(opened, o.SecretKey); err != nil {
		err = &adapter.Error{Kind: adapter.Invalid, Op: op, Field: "secret_key", Err: err}
		return nil, errors.Join(err, opened.Close())
	}
	if o.Migrate { // before anything else opens a new file of SQLite
		var pool *sql.DB
		if pool, err = opened.SessionPool(opened.Writer); err == nil {
			db.migrations, err = opened.Engine.Migrate(ctx, pool, opened.Name, o.Logger)
		}
	} else {
		err = opened.Ping(ctx)
	}
	if err == nil && o.Media == nil && o.MediaDir != "" {
		_, err = media.OpenFolder(o.MediaDir)
	}
	if err == nil {
		db.records, err = newDatabase(ctx, opened, NewRecordSet(opened, schemas), media.Claim{DB: opened}.Open(o.Media, o.MediaDir, o.DSN))
	}
	if err != nil {
		err = opened.WrapError(ctx, op, err)
		return nil, errors.Join(err, opened.Close())
	}
	db.adapter = newRecordAdapter(db.records)
	return db, nil
}

// Migrations returns the names of the migrations that Open has run, in their order; none if the
// tables were up to date, or without Options.Migrate.
func (db *DB) Migrations() []string { return slices.Clone(db.migrations) }

// CheckVersion fails if the tables have another version than the program, which is possible
// without Options.Migrate. It waits for up to ten minutes while another process migrates, and
// logs that to logger. Kinds: Invalid, Unavailable, Internal.
func (db *DB) CheckVersion(ctx context.Context, logger *slog.Logger) error {
	pool, missing := db.records.SessionPool(db.records.Writer)
	if missing != nil { // this matters only if another process may be migrating
		versions, err := db.Versions(ctx)
		if err != nil || len(versions.Pending) > 0 {
			return cmp.Or(err, missing)
		}
		pool = db.records.Writer
	}
	err := db.records.Engine.CheckVersion(ctx, pool, db.records.Name, logger)
	return db.records.WrapError(ctx, "check the version of the tables", err)
}

// Versions returns the versions of the database's migrations. Kinds: Unavailable, Internal.
func (db *DB) Versions(ctx context.Context) (engine.Versions, error) {
	versions, err := db.records.Engine.Versions(ctx, db.records.Readers)
	return versions, db.records.WrapError(ctx, "read the version of the tables", err)
}

// HashPassword returns the bcrypt hash of a password at the cost of
// Options.PasswordCost.
func (db *DB) HashPassword(password string) (string, error) {
	return adapter.HashPassword(password, db.passwordCost)
}

// Ping checks that the database answers. Kinds: Unavailable.
func (db *DB) Ping(ctx context.Context) error { return db.records.Ping(ctx) }

// Close waits for running statements and closes the database. Later calls fail with
// kind Unavailable.
func (db *DB) Close() error { return db.records.Close() }

// Adapter returns an adapter that serves the records of the database.
func (db *DB) Adapter() *RecordAdapter { return db.adapter }

// Credentials returns the store of credentials.
func (db *DB) Credentials() *credentials.Store { return db.credentials }

// Admins returns the administrators.
func (db *DB) Admins() credentials.Admins { return credentials.NewAdmins(db.records.DB) }

// Imports returns the log of imports.
func (db *DB) Imports() coordination.ImportLog { return coordination.NewImportLog(db.records.DB) }

// Leases returns the leases of the database.
func (db *DB) Leases() coordination.Leases { return coordination.NewLeases(db.records.DB) }

// Changes returns the log of the records that imports change.
func (db *DB) Changes() coordination.ImportWatch { return coordination.NewImportWatch(db.records.DB) }

// Outbox returns the outbox of the database.
func (db *DB) Outbox() coordination.Outboxes { return coordination.NewOutboxes(db.records.DB) }

// WriteOwners returns the owners of the writes of resources.
func (db *DB) WriteOwners() coordination.OwnerTable {
	return coordination.NewOwnerTable(db.records.DB, db.records.Schemas)
}

// Evidence returns the results that processes keep for each other.
func (db *DB) Evidence() coordination.Evidence { return coordination.NewEvidence(db.records.DB) }

// RebuildListing rebuilds the product listing, the table product_listing, after another
// program has changed the tables it is derived from. Kinds: Unavailable, Internal.
func (db *DB) RebuildListing(ctx context.Context) error {
	return db.records.WriteAlone(ctx, "list products", func(tx *engine.Tx) error { return db.records.RebuildListing(ctx, tx) })
}

// OpenMedia opens a media file by its name, the attribute file of an image, and returns
// it with its media type. The caller closes it. For a missing file the error matches
// fs.ErrNotExist. Kinds: NotFound, Unavailable, Internal.
func (db *DB) OpenMedia(ctx context.Context, name string) (*adapter.MediaFile, error) {
	return db.records.OpenMedia(ctx, name)
}

// RemoveAbandonedMedia removes files of images that were never complete, and uploads of images that no
// record refers to, because their transactions failed or their processes were killed. It returns the
// number of the latter. Kinds: Unavailable, Internal.
func (db *DB) RemoveAbandonedMedia(ctx context.Context) (int, error) {
	return db.records.RemoveAbandonedMedia(ctx)
}

// Backup writes an archive of all tables at one moment, and of the images that they name. program is
// the version that the archive records as its maker. Kinds: Unsupported for a database of another
// version, Unavailable, Internal.
func (db *DB) Backup(ctx context.Context, to io.Writer, program string, progress backups.Progress) (*backups.Manifest, error) {
	from := backups.Store{DB: db.records.DB, Media: db.records.Media()}
	manifest, err := backups.Save(ctx, from, to, program, progress)
	return manifest, db.records.WrapError(ctx, "back up", err)
}

// Restore fills the database and the media store that o names from an archive. It fails with a
// [*media.OwnerError] before it changes anything if the images may belong to another database. Kinds:
// Conflict if the database is not empty, Unsupported for an archive of a newer version or of another
// engine, Unavailable, Internal.
func Restore(ctx context.Context, o Options, archive io.Reader, how backups.Options) (_ *backups.Manifest, err error) {
	const op = "restore"
	dsn := cmp.Or(o.DirectDSN, o.DSN) // restoring must not go through a pooler
	claim := media.Claim{Identity: rand.Text(), TakeOver: how.TakeMedia}
	if err := media.CheckNewFile(ctx, claim.Open(o.Media, o.MediaDir, o.DSN), o.DSN); err != nil {
		return nil, err
	}
	opened, err := engine.Open(engine.Options{DSN: dsn, PoolOptions: engine.PoolOptions{Create: true, Wrap: o.Wrap}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	claim.DB = opened
	manifest, err := backups.Restore(ctx, backups.Store{DB: opened, Media: claim.Open(o.Media, o.MediaDir, o.DSN)}, archive, how)
	if store := (media.Claim{DB: opened, TakeOver: true}).Open(o.Media, o.MediaDir, o.DSN); err == nil && store != nil {
		// The archive may be older than identities: then the database has one only now.
		err = store.(*media.Owned).Claim(ctx)
	}
	return manifest, opened.WrapError(ctx, op, err)
}

// EraseCustomer erases a customer from all tables. The person holds the data to search other places
// for. If note is not nil, the text that it returns for the receipt is stored in the same transaction
// until EndErasure, so that a process that dies before it has shown the receipt leaves it there. The
// text must name nobody. Kinds: NotFound, Unsupported for a record of a backend, Invalid for a note that is too long,
// Unavailable, Internal.
func (db *DB) EraseCustomer(ctx context.Context, o ErasureOptions, note func(*ErasureReceipt) (string, error)) (*ErasureReceipt, ErasedPerson, error) {
	if note != nil {
		o.Last = func(ctx context.Context, tx *engine.Tx, receipt *ErasureReceipt) error {
			content, err := note(receipt)
			if err != nil {
				return err
			}
			return db.Evidence().NoteIn(ctx, tx, erasureNote(o.Customer), content)
		}
	}
	return erase(ctx, db.records.DB, o)
}

// UnendedErasure returns the note of an EraseCustomer call without a later EndErasure, or "". Call
// ScrubErased then, as EraseCustomer may have been interrupted before it scrubbed the file. Kinds:
// Unavailable, Internal.
func (db *DB) UnendedErasure(ctx context.Context, customer adapter.Key) (note string, err error) {
	note, _, err = db.Evidence().Last(ctx, erasureNote(customer))
	return note, err
}

// ScrubErased removes the remains of deleted rows from the file of the database, as EraseCustomer
// does at its end. Kinds: Unavailable, Internal.
func (db *DB) ScrubErased(ctx context.Context) error { return scrub(ctx, db.records.DB) }

// EndErasure deletes the note of EraseCustomer. Call it when somebody has the receipt. Kinds:
// Unavailable, Internal.
func (db *DB) EndErasure(ctx context.Context, customer adapter.Key) error {
	return db.Evidence().Forget(ctx, erasureNote(customer))
}

// erasureNote is the name of the note of an erasure among the evidence.
func erasureNote(customer adapter.Key) string { return fmt.Sprintf("erasure/%d", customer) }
