package magento1

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/portico-commerce/portico/adapter"
)

const (
	// batchSize is the number of records read in one transaction.
	batchSize = 200
	// connectTimeout bounds connecting, if the DSN does not.
	connectTimeout = 10 * time.Second
)

var (
	errDSN    = errors.New(`must be "mysql:user:password@tcp(host:3306)/database"`)
	errPrefix = errors.New("a table prefix must have at most 32 letters, digits and underscores")
)

// Options say which database to read, and how.
type Options struct {
	// DSN has the form of the SQL adapter's: "mysql:" and a DSN of go-sql-driver/mysql,
	// whose parameters tls and allowOldPasswords apply.
	DSN string
	// Prefix is the prefix of all table names.
	Prefix string
	// Charset is the encoding that the bytes of texts really have if it is not the one that
	// the tables claim, by a name of the WHATWG Encoding Standard, such as "windows-1252"
	// or "utf-8". "": what the tables claim.
	Charset string
	// OldTLS accepts TLS 1.0 and 1.1 and the ciphers of that time, for a DSN with TLS.
	OldTLS bool
	// Rate is the maximum average number of rows read per second. 0: no maximum.
	Rate int
	// Schemas describe the records to read.
	Schemas *adapter.Schemas
	// Skipped is called for everything in the tables that no record holds, while the
	// caller iterates over Records. nil: nobody asks.
	Skipped func(Skipped)
}

// A Database is an open database of Magento 1 or OpenMage. It must not be used
// concurrently.
type Database struct {
	pool    *sql.DB
	prefix  string
	schemas *adapter.Schemas
	skipped func(Skipped)
}

// Open connects to a database. Errors do not contain the DSN, and say which option makes
// an old server acceptable.
func Open(ctx context.Context, o Options) (*Database, error) {
	rest, ok := strings.CutPrefix(o.DSN, "mysql:")
	prefix := o.Prefix
	config, err := mysql.ParseDSN(rest)
	if !ok || err != nil || config.DBName == "" || strings.HasPrefix(rest, "//") {
		return nil, errDSN // the driver's error could contain the password
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_]{0,32}$`).MatchString(prefix) {
		return nil, errPrefix
	}
	if config.Timeout == 0 {
		config.Timeout = connectTimeout
	}
	config.Logger = &mysql.NopLogger{} // errors are returned
	config.ParseTime = false           // zero dates cannot be parsed
	config.InterpolateParams = false
	if err := config.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, errDSN
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	if config.Params["time_zone"] == "" {
		config.Params["time_zone"] = "'+00:00'"
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, errDSN
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(1) // leave the other connections to the running shop
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the legacy database: %w", err), pool.Close())
	}
	return &Database{pool: pool, prefix: prefix, schemas: o.Schemas, skipped: o.Skipped}, nil
}

// Close closes the connection.
func (d *Database) Close() error { return d.pool.Close() }

// table returns the quoted name of a table, with the prefix.
func (d *Database) table(name string) string { return "`" + d.prefix + name + "`" }

// inReadOnlyTx runs f in a read-only transaction in which all statements see the same snapshot.
func (d *Database) inReadOnlyTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.pool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err == nil {
		err = errors.Join(f(tx), tx.Rollback()) // a read-only transaction has nothing to commit
	}
	return d.wrapError(ctx, err)
}

// wrapError adds context to an error. It returns the error of ctx if that has ended.
func (d *Database) wrapError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case isMissingTable(err):
		return fmt.Errorf("%w: check that it is a database of Magento 1 or OpenMage and that its table prefix is %q", err, d.prefix)
	default:
		return fmt.Errorf("read the legacy database: %w", err)
	}
}

// isMissingTable reports whether a statement failed because a table does not exist.
func isMissingTable(err error) bool {
	var fault *mysql.MySQLError
	return errors.As(err, &fault) && fault.Number == 1146
}

// A batchReader reads one kind of record in batches.
type batchReader[T any] interface {
	// prepare is called once, before the first batch.
	prepare(ctx context.Context, tx *sql.Tx) error
	// next returns the batch that follows an id, and the greatest id that it has looked at;
	// that is after itself if there are no more rows.
	next(ctx context.Context, tx *sql.Tx, after int64) (batch []T, last int64, err error)
}

// readAll yields everything that a batchReader reads after an id. A failure ends the sequence with an
// error.
func readAll[T any](ctx context.Context, d *Database, r batchReader[T], from int64) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var nothing T
		if err := d.inReadOnlyTx(ctx, func(tx *sql.Tx) error { return r.prepare(ctx, tx) }); err != nil {
			yield(nothing, err)
			return
		}
		for after := from; ; {
			var batch []T
			last := after
			err := d.inReadOnlyTx(ctx, func(tx *sql.Tx) (err error) {
				batch, last, err = r.next(ctx, tx, after)
				return err
			})
			if err != nil {
				yield(nothing, err)
				return
			}
			for _, one := range batch {
				if !yield(one, nil) {
					return
				}
			}
			if last == after {
				return
			}
			after = last
		}
	}
}

// eachRow calls f for every row of a query.
func eachRow(ctx context.Context, tx *sql.Tx, f func(*sql.Rows) error, text string, arguments ...any) error {
	rows, err := tx.QueryContext(ctx, text, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// eachRowIfTable is eachRow for a table that may be missing.
func eachRowIfTable(ctx context.Context, tx *sql.Tx, f func(*sql.Rows) error, text string, arguments ...any) error {
	if err := eachRow(ctx, tx, f, text, arguments...); !isMissingTable(err) {
		return err
	}
	return nil
}
