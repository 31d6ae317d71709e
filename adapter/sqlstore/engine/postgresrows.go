package engine

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/portico-commerce/portico/adapter"
)

// postgresRows are the rows of a statement that was sent to PostgreSQL without package sql, which makes two
// objects of each column. The server sends all values as texts, in the form that records have.
type postgresRows struct {
	pgx.Rows
	conn   *sql.Conn
	types  *pgtype.Map
	fields []pgconn.FieldDescription
}

// errNotDirect: package sql has to run the statement. The connection was closed before the statement was sent, the
// server has forgotten it, the text holds several statements, or an argument has a rare type.
var errNotDirect = errors.New("the statement was not sent")

// queryPostgres runs a statement outside a transaction, on a connection of pool that belongs to the rows until
// they are closed. It fails with errNotDirect if it was not sent.
func queryPostgres(ctx context.Context, pool *sql.DB, text string, arguments []any) (Rows, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var direct *pgx.Conn
	err = conn.Raw(func(c any) error {
		direct = c.(*stdlib.Conn).Conn()
		return nil
	})
	var rows pgx.Rows
	if err == nil {
		text, arguments = withLimit(text, arguments)
		rows, err = direct.Query(ctx, text, append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, arguments...)...)
	}
	if err != nil {
		if pgconn.SafeToRetry(err) {
			err = errNotDirect
		}
		return nil, errors.Join(err, conn.Close())
	}
	return &postgresRows{Rows: rows, conn: conn, types: direct.TypeMap(), fields: rows.FieldDescriptions()}, nil
}

// withLimit writes the limit of a statement into its text, if the limit is the last parameter, or precedes the
// offset, which is the last. PostgreSQL does not know the value of a parameter when it makes one plan for all calls. It
// assumes a tenth of all rows, and so the plan looks more expensive than a plan for ten rows: it makes a new plan for
// each call. To plan a list takes longer than to read it. Clients use few limits.
func withLimit(text string, arguments []any) (string, []any) {
	const limit, offset = "LIMIT $", " OFFSET $"
	at := strings.Index(text, limit) // LastIndex alone takes a nanosecond for each byte of a text without a limit
	if at < 0 {
		return text, arguments
	}
	at += strings.LastIndex(text[at:], limit)
	before, after := text[:at], text[at+len(limit):]
	digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
	place, err := strconv.Atoi(after[:digits])
	if after = after[digits:]; err != nil || place < 1 || place > len(arguments) {
		return text, arguments
	}
	switch place {
	case len(arguments):
	case len(arguments) - 1:
		next := offset + strconv.Itoa(place+1)
		if !strings.HasPrefix(after, next) {
			return text, arguments
		}
		after = offset + strconv.Itoa(place) + after[len(next):]
	default:
		return text, arguments
	}
	rows, ok := arguments[place-1].(int)
	if !ok {
		return text, arguments
	}
	return before + "LIMIT " + strconv.Itoa(rows) + after, slices.Delete(slices.Clone(arguments), place-1, place)
}

// Scan stores the columns of the current row in dest.
func (r *postgresRows) Scan(dest ...any) error {
	values := r.RawValues()
	return scanTexts(values, dest, func(i int, into any) error {
		return r.types.Scan(r.fields[i].DataTypeOID, r.fields[i].Format, values[i], into)
	})
}

// scanTexts stores the columns of a row in dest. values are in the text form of the server; nil is null. For destinations
// of other types than those below it calls scan with the position of the column.
func scanTexts(values [][]byte, dest []any, scan func(i int, into any) error) error {
	if len(values) != len(dest) {
		return errColumns
	}
	size := 0
	for i, raw := range values {
		if c, ok := dest[i].(*Cell); ok && c.kind != adapter.KindInteger {
			size += len(raw)
		}
	}
	var texts strings.Builder // an allocation for the row takes less time than one for each cell
	for i, raw := range values {
		var err error
		switch into := dest[i].(type) {
		case *Cell:
			if texts.Cap() == 0 {
				texts.Grow(size)
			}
			err = into.scanText(raw, &texts)
		case *bool: // flags are stored as integers, which the driver does not convert
			*into, err = strconv.ParseBool(string(raw))
		case *int: // the driver would plan how to scan each column of each row
			*into, err = strconv.Atoi(string(raw))
		case *int64:
			*into, err = strconv.ParseInt(string(raw), 10, 64)
		case *string:
			if *into = string(raw); raw == nil {
				err = errNull
			}
		case *sql.NullInt64:
			if *into = (sql.NullInt64{Valid: raw != nil}); into.Valid {
				into.Int64, err = strconv.ParseInt(string(raw), 10, 64)
			}
		case *Inlined:
			err = into.Scan(raw)
		case *sql.NullString:
			*into = sql.NullString{String: string(raw), Valid: raw != nil}
		default:
			err = scan(i, into)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	errColumns = errors.New("the statement returns another number of columns")
	errNull    = errors.New("a column is null that must not be")
)

// Close ends the rows, and returns their connection to its pool.
func (r *postgresRows) Close() error {
	r.Rows.Close()
	if err := r.conn.Close(); !errors.Is(err, sql.ErrConnDone) { // closed before
		return err
	}
	return nil
}

// scanText stores a value in the text form of the server; nil is null. It appends a text to row, which has room for all
// texts of the row.
func (c *Cell) scanText(raw []byte, row *strings.Builder) error {
	switch {
	case raw == nil:
		*c.Value = adapter.NullValue()
		return nil
	case c.kind != adapter.KindInteger:
		start := row.Len()
		row.Write(raw)
		return c.text(row.String()[start:])
	}
	number, err := strconv.ParseInt(string(raw), 10, 64)
	*c.Value = adapter.IntegerValue(number)
	return err
}
