package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/go-sql-driver/mysql"
)

// A keptConn is a connection whose queries may also run without package sql, which takes two locks for each row and
// starts a goroutine for each query. It keeps the statements that it has prepared for them.
type keptConn struct {
	Conn
	kept map[string]Stmt
}

// newKeptConn returns a connection that keeps statements.
func newKeptConn(c driver.Conn) *keptConn { return &keptConn{Wrap(c), map[string]Stmt{}} }

// query runs a statement, which the connection keeps unless it has too many.
func (c *keptConn) query(ctx context.Context, text string, arguments []driver.NamedValue) (rows driver.Rows, once Stmt, err error) {
	stmt := c.kept[text]
	if stmt == nil {
		if stmt, err = c.PrepareStmt(ctx, text); err != nil {
			return nil, nil, err
		}
		if len(c.kept) < maxStatements {
			c.kept[text] = stmt
		} else {
			once = stmt
		}
	}
	rows, err = stmt.QueryContext(ctx, arguments)
	switch {
	case err == nil:
		return rows, once, nil
	case once == nil && isLostStatement(err):
		delete(c.kept, text)
		err, once = errNotDirect, stmt
	}
	if once != nil {
		err = errors.Join(err, once.Close())
	}
	return nil, nil, err
}

// isLostStatement reports whether a server no longer has a prepared statement, or cannot prepare it again.
func isLostStatement(err error) bool {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (e.Number == unknownStatement || e.Number == staleStatement)
}

// mysqlRows are the rows of a statement that was sent without package sql. Their connection belongs to them until
// they are closed.
type mysqlRows struct {
	conn   *sql.Conn
	rows   driver.Rows // nil after Close
	once   Stmt        // is closed with the rows; may be nil
	values []driver.Value
	row    bool // there is a current row
	err    error
}

// queryMySQL runs a statement outside a transaction, on a connection of pool. It fails with errNotDirect if package sql
// has to run it.
func queryMySQL(ctx context.Context, pool *sql.DB, text string, arguments []any) (Rows, error) {
	if !bindable(arguments) {
		return nil, errNotDirect
	}
	named := make([]driver.NamedValue, len(arguments))
	for i, argument := range arguments {
		if n, ok := argument.(int); ok {
			argument = int64(n)
		}
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: argument}
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	r := &mysqlRows{conn: conn}
	err = conn.Raw(func(c any) (err error) { // which closes a bad connection
		r.rows, r.once, err = c.(*keptConn).query(ctx, text, named)
		return err
	})
	if err != nil {
		if errors.Is(err, driver.ErrBadConn) {
			err = errNotDirect
		}
		if closed := conn.Close(); !errors.Is(closed, sql.ErrConnDone) {
			err = errors.Join(err, closed)
		}
		return nil, err
	}
	r.values = make([]driver.Value, len(r.rows.Columns()))
	return r, nil
}

// Next reads the next row, if there is one.
func (r *mysqlRows) Next() bool {
	if r.rows == nil || r.err != nil {
		return false
	}
	err := r.rows.Next(r.values)
	if r.row = err == nil; !r.row {
		r.err = err
	}
	return r.row
}

// Err returns the error that ended the rows, if there is one.
func (r *mysqlRows) Err() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

// Scan stores the columns of the current row in dest.
func (r *mysqlRows) Scan(dest ...any) error {
	switch {
	case !r.row || r.rows == nil:
		return errNoRow
	case len(dest) != len(r.values):
		return errColumns
	}
	for i, v := range r.values {
		if err := scanValue(dest[i], v); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

var errNoRow = errors.New("there is no row to scan")

// Close ends the statement, and returns the connection to its pool.
func (r *mysqlRows) Close() error {
	if r.rows == nil {
		return nil
	}
	err := r.rows.Close()
	r.rows = nil
	if r.once != nil {
		err = errors.Join(err, r.once.Close())
	}
	return errors.Join(err, r.conn.Close())
}

// bindable reports whether all arguments have types that every driver takes; an int is an int64.
func bindable(arguments []any) bool {
	for _, argument := range arguments {
		switch argument.(type) {
		case nil, int64, int, float64, string:
		default:
			return false
		}
	}
	return true
}

// scanValue stores a value of a driver in dest, as package sql does.
func scanValue(dest any, v driver.Value) (err error) {
	switch into := dest.(type) {
	case *Cell: // the most frequent one
		return into.Scan(v)
	case *int64:
		if number, ok := v.(int64); ok {
			*into = number
			return nil
		}
	case *sql.NullInt64:
		if number, ok := v.(int64); ok {
			*into = sql.NullInt64{Int64: number, Valid: true}
			return nil
		}
		return into.Scan(v)
	case *sql.NullString:
		*into = sql.NullString{String: textOf(v), Valid: v != nil}
		return nil
	case sql.Scanner:
		return into.Scan(v)
	}
	into := reflect.ValueOf(dest).Elem()
	switch {
	case v == nil && (into.Kind() == reflect.Pointer || into.Kind() == reflect.Slice):
		into.SetZero()
	case v == nil:
		return errNull
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return scanValue(into.Interface(), v)
	case into.Type() == reflect.TypeFor[[]byte]():
		into.SetBytes([]byte(textOf(v)))
	case into.CanInt():
		number, ok := v.(int64)
		if !ok {
			number, err = strconv.ParseInt(textOf(v), 10, 64)
		}
		if into.OverflowInt(number) {
			return fmt.Errorf("%d does not fit %T", number, dest)
		}
		into.SetInt(number)
	case into.CanFloat():
		var number float64
		number, err = strconv.ParseFloat(textOf(v), into.Type().Bits())
		into.SetFloat(number)
	case into.Kind() == reflect.String:
		into.SetString(textOf(v))
	case into.Kind() == reflect.Bool: // flags are stored as integers
		var flag bool
		flag, err = strconv.ParseBool(textOf(v))
		into.SetBool(flag)
	default:
		return fmt.Errorf("a column cannot be stored in %T", dest)
	}
	return err
}

// textOf returns a value of a driver as text; null is "".
func textOf(v driver.Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return fmt.Sprint(v)
}
