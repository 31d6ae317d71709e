package magento1test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// A LiveShop changes the tables of a legacy store. It is safe for concurrent use.
type LiveShop struct {
	db     *sql.DB
	prefix string
}

// NewLiveShop returns the shop whose tables have a prefix. db is a pool of package magento1test.
func NewLiveShop(db *sql.DB, prefix string) *LiveShop { return &LiveShop{db, prefix} }

// tables returns the quoted names of all tables of the shop.
func (s *LiveShop) tables(ctx context.Context) (all []string, err error) {
	err = s.inTx(ctx, func(tx transaction) error {
		all = nil
		return tx.each(ctx, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			all = append(all, "`"+name+"`")
			return err
		}, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND LEFT(table_name, ?) = ? ORDER BY table_name", len(s.prefix), s.prefix)
	})
	return all, err
}

// checksums returns a checksum of each table of a list, which differs if a row does.
func (s *LiveShop) checksums(ctx context.Context, tables string) (all []string, err error) {
	err = s.inTx(ctx, func(tx transaction) error {
		all = nil
		return tx.each(ctx, func(scan func(...any) error) error {
			var table string
			var sum sql.NullString // of a table that is gone
			err := scan(&table, &sum)
			all = append(all, sum.String)
			return err
		}, "CHECKSUM TABLE "+tables)
	})
	return all, err
}

// A transaction executes statements in which {p} stands for the table prefix.
type transaction struct {
	tx     *sql.Tx
	prefix string
}

// errors of MySQL
const (
	duplicateEntry = 1062
	deadlock       = 1213
	noNextID       = 1467 // a deadlock while it waits for the table's next id
)

func isServerError(err error, number uint16) bool {
	var fault *mysql.MySQLError
	return errors.As(err, &fault) && fault.Number == number
}

// inTx runs f in a transaction, again after a deadlock.
func (s *LiveShop) inTx(ctx context.Context, f func(transaction) error) error {
	for {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err = f(transaction{tx, s.prefix}); err == nil {
			err = tx.Commit()
		}
		if err == nil {
			return nil
		}
		_ = tx.Rollback() // err is more useful
		if !isServerError(err, deadlock) && !isServerError(err, noNextID) {
			return err
		}
	}
}

func (x transaction) text(statement string) string {
	return strings.ReplaceAll(statement, "{p}", x.prefix)
}

func (x transaction) exec(ctx context.Context, statement string, arguments ...any) error {
	_, err := x.tx.ExecContext(ctx, x.text(statement), arguments...)
	return err
}

// execAll executes statements with the same arguments.
func (x transaction) execAll(ctx context.Context, statements []string, arguments ...any) error {
	for _, statement := range statements {
		if err := x.exec(ctx, statement, arguments...); err != nil {
			return err
		}
	}
	return nil
}

// insert adds a row and returns its id.
func (x transaction) insert(ctx context.Context, statement string, arguments ...any) (id int64, err error) {
	result, err := x.tx.ExecContext(ctx, x.text(statement), arguments...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// each calls f with a function that scans the columns of each row.
func (x transaction) each(ctx context.Context, f func(scan func(...any) error) error, statement string, arguments ...any) error {
	rows, err := x.tx.QueryContext(ctx, x.text(statement), arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ids returns the integers that a statement selects.
func (x transaction) ids(ctx context.Context, statement string, arguments ...any) (all []int64, err error) {
	err = x.each(ctx, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		all = append(all, id)
		return err
	}, statement, arguments...)
	return all, err
}

// now returns the present time as the tables hold it.
func now() string { return time.Now().UTC().Format(time.DateTime) }
