package engine

import (
	"cmp"
	"context"
	"database/sql"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// A QueryFunc runs a statement that returns rows.
type QueryFunc func(ctx context.Context, text string, arguments ...any) (*sql.Rows, error)

// EachRow calls scan for each row that a statement returns.
func EachRow(ctx context.Context, query QueryFunc, scan func(*sql.Rows) error, text string, arguments ...any) error {
	rows, err := query(ctx, text, arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// SelectColumn returns the values of the only column of a statement.
func SelectColumn[T any](ctx context.Context, query QueryFunc, text string, arguments ...any) (values []T, err error) {
	err = EachRow(ctx, query, func(rows *sql.Rows) error {
		var value T
		err := rows.Scan(&value)
		values = append(values, value)
		return err
	}, text, arguments...)
	return values, err
}

// A row is the first row that a statement returns, or the error of the statement.
type row struct {
	rows *sql.Rows
	err  error
}

// First returns the first row of a query's result. Its Scan must be called.
func First(rows *sql.Rows, err error) row { return row{rows, err} }

// Scan scans the row into dest and closes the rows. It fails with sql.ErrNoRows if there is
// none.
func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer func() { _ = r.rows.Close() }()
	if !r.rows.Next() {
		return cmp.Or(r.rows.Err(), sql.ErrNoRows)
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	return r.rows.Close()
}

// EachRowOf runs a statement for a few keys at a time: text, then a condition that column is one of the keys,
// then end.
func EachRowOf(ctx context.Context, query QueryFunc, keys []adapter.Key, scan func(*sql.Rows) error, text, column, end string) error {
	for chunk := range slices.Chunk(keys, IDsPerStatement) {
		arguments := KeyArguments(chunk)
		if err := EachRow(ctx, query, scan, text+InList(column, arguments)+end, arguments...); err != nil {
			return err
		}
	}
	return nil
}
