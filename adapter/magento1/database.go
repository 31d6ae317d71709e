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
	// batchSize is the number of records that one transaction reads.
	batchSize = 200
	// connectTimeout bounds making a connection, where the DSN does not.
	connectTimeout = 10 * time.Second
)

var (
	errDSN    = errors.New(`must be "mysql:user:password@tcp(host:3306)/database"`)
	errPrefix = errors.New("a table prefix has up to 32 letters, digits and underscores")
)

// A Database is one of Magento 1 or OpenMage, opened for reading. It is used by one
// goroutine at a time.
type Database struct {
	pool    *sql.DB
	prefix  string
	schemas *adapter.Schemas
}

// Open connects to a database. dsn is as of the SQL adapter, "mysql:" and what
// go-sql-driver/mysql takes; prefix stands before the name of every table; schemas
// describe the records to be read. Errors hold nothing of dsn.
func Open(ctx context.Context, dsn, prefix string, schemas *adapter.Schemas) (*Database, error) {
	rest, ok := strings.CutPrefix(dsn, "mysql:")
	config, err := mysql.ParseDSN(rest)
	if !ok || err != nil || config.DBName == "" || strings.HasPrefix(rest, "//") {
		return nil, errDSN // the driver's error would repeat parts of it
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_]{0,32}$`).MatchString(prefix) {
		return nil, errPrefix
	}
	if config.Timeout == 0 {
		config.Timeout = connectTimeout
	}
	config.Logger = &mysql.NopLogger{} // what goes wrong is returned
	config.ParseTime = false           // there are dates of zeros
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
	pool.SetMaxOpenConns(1) // a shop that runs has others to serve
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the old database: %w", err), pool.Close())
	}
	return &Database{pool: pool, prefix: prefix, schemas: schemas}, nil
}

// Close ends the connection.
func (d *Database) Close() error { return d.pool.Close() }

// table returns the quoted name of a table, without its prefix.
func (d *Database) table(name string) string { return "`" + d.prefix + name + "`" }

// Count returns how many records of a resource there are: of Customers,
// CustomerAddresses or Orders.
func (d *Database) Count(ctx context.Context, r adapter.Resource) (n int64, err error) {
	table, ok := map[adapter.Resource]string{
		adapter.Customers: "customer_entity", adapter.CustomerAddresses: "customer_address_entity", adapter.Orders: "sales_flat_order",
	}[r]
	if !ok {
		return 0, fmt.Errorf("there are no %s to be read", r)
	}
	err = d.read(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+d.table(table)).Scan(&n)
	})
	return n, err
}

// read runs f in a transaction that cannot write, in which all statements see the
// same moment.
func (d *Database) read(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.pool.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err == nil {
		err = errors.Join(f(tx), tx.Rollback()) // there is nothing to commit
	}
	return d.explain(ctx, err)
}

// explain returns an error as a caller is to see it.
func (d *Database) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case noTable(err):
		return fmt.Errorf("%w: is it a database of Magento 1 or OpenMage, and %q its table prefix?", err, d.prefix)
	default:
		return fmt.Errorf("read the old database: %w", err)
	}
}

// noTable reports whether a statement failed because a table is not there.
func noTable(err error) bool {
	var fault *mysql.MySQLError
	return errors.As(err, &fault) && fault.Number == 1146
}

// A reader reads one kind of thing in batches.
type reader[T any] interface {
	// prepare runs before the first batch.
	prepare(ctx context.Context, tx *sql.Tx) error
	// next returns what comes after an id, and the greatest id it has looked at,
	// which is after itself when nothing is left.
	next(ctx context.Context, tx *sql.Tx, after int64) (batch []T, last int64, err error)
}

// stream yields what a reader reads. An error is the last thing it yields.
func stream[T any](ctx context.Context, d *Database, r reader[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var nothing T
		if err := d.read(ctx, func(tx *sql.Tx) error { return r.prepare(ctx, tx) }); err != nil {
			yield(nothing, err)
			return
		}
		for after := int64(0); ; {
			var batch []T
			last := after
			err := d.read(ctx, func(tx *sql.Tx) (err error) {
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

// each calls f on every row that a statement finds.
func each(ctx context.Context, tx *sql.Tx, f func(*sql.Rows) error, text string, arguments ...any) error {
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

// eachIfAny is each for a table that a shop need not have.
func eachIfAny(ctx context.Context, tx *sql.Tx, f func(*sql.Rows) error, text string, arguments ...any) error {
	if err := each(ctx, tx, f, text, arguments...); !noTable(err) {
		return err
	}
	return nil
}
