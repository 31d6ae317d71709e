package engine_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/config/testenv"
)

// openWith opens a database, on which queries go through package sql if they are wrapped.
func openWith(t *testing.T, dsn string, wrapped bool) *engine.DB {
	t.Helper()
	o := engine.Options{DSN: dsn, PoolOptions: engine.PoolOptions{Create: true}}
	if wrapped {
		o.Wrap = func(c driver.Connector) driver.Connector { return c }
	}
	db, err := engine.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// typesOf returns the types of times and decimals of an engine.
func typesOf(e sqltest.Engine) (time, decimal string) {
	switch e.Name {
	case "sqlite":
		return "TEXT", "REAL"
	case "mariadb":
		return "DATETIME", "DECIMAL(12,4)"
	default:
		return "TIMESTAMP(0)", "DECIMAL(12,4)"
	}
}

// TestDirectRows reads all kinds of values with and without package sql.
func TestDirectRows(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		dsn := e.Empty(t)
		time, decimal := typesOf(e)
		direct, wrapped := openWith(t, dsn, false), openWith(t, dsn, true)
		create := "CREATE TABLE kinds (id BIGINT PRIMARY KEY, small SMALLINT, number INTEGER, price " + decimal + ", name VARCHAR(255), long_text TEXT, at " + time + ")"
		if _, err := direct.WriteStatements.Exec(t.Context(), create); err != nil {
			t.Fatal(err)
		}
		for _, row := range [][]any{
			{int64(1), 0, nil, nil, nil, nil, nil},
			{int64(-9223372036854775808), 1, 2147483647, "-0.0001", "", "a\nb", "0001-01-01 00:00:00"},
			{int64(9223372036854775807), 1, -1, "12345678.9", "Größe", strings.Repeat("x", 60000), "9999-12-31 23:59:59"},
		} {
			if _, err := direct.WriteStatements.Exec(t.Context(), "INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?)", row...); err != nil {
				t.Fatal(err)
			}
		}
		for i, got := range kindsAsText(t, direct) {
			if want := kindsAsText(t, wrapped)[i]; got != want {
				t.Errorf("read %s, and through package sql %s", got, want)
			}
		}
	})
}

// kindsAsText returns the rows of TestDirectRows, as variables of many types receive them.
func kindsAsText(t *testing.T, db *engine.DB) []string {
	t.Helper()
	all, err := engine.CollectRows(t.Context(), db.ReadStatements.Query, func(rows engine.Rows) (string, error) {
		var id adapter.Key
		var flag bool
		values := make([]adapter.Value, 5)
		dest := []any{&id, &flag}
		for i, kind := range []adapter.Kind{adapter.KindInteger, adapter.KindDecimal, adapter.KindText, adapter.KindTexts, adapter.KindTime} {
			dest = append(dest, engine.NewCell(kind, &values[i]))
		}
		var again int64
		var small int
		var number sql.NullInt64
		var name sql.NullString
		var long string
		var perhaps *string
		var bytes []byte
		var half float64
		var word sql.Null[string]
		var digits string
		err := rows.Scan(append(dest, &again, &small, &number, &name, &long, &perhaps, &bytes, &half, &word, &digits)...)
		text := fmt.Sprint(id, flag, again, small, number, name, len(long), len(bytes), half, word, digits)
		if perhaps != nil {
			text += *perhaps
		}
		for _, v := range values {
			text += fmt.Sprintf(" %d:%s%q", v.Kind(), v.Text(), v.Texts())
		}
		return text, err
	}, "SELECT id, small, number, price, name, long_text, at, id, small, number, name, COALESCE(long_text, ''), name, name, small + 0.5, name, id FROM kinds WHERE id <> ? AND COALESCE(name, ?) <> ? ORDER BY id",
		7, "none", "of them")
	if err != nil || len(all) != 3 {
		t.Fatalf("%d rows: %v", len(all), err)
	}
	return all
}

// TestDirectRowsFail checks that a statement that fails, and rows that are read badly or not to their end, leave
// a connection that can be used.
func TestDirectRowsFail(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db := openWith(t, e.Empty(t), false)
		query := db.ReadStatements.Query
		first := func(text string, dest ...any) func() error {
			return func() error { return engine.First(query(t.Context(), text)).Scan(dest...) }
		}
		failures := map[string]func() error{
			"no table":      first("SELECT a FROM missing"),
			"no statement":  first("SELECT ("),
			"no column":     first("SELECT 1"),
			"no number":     first("SELECT 'a'", new(int)),
			"no flag":       first("SELECT 'a'", new(bool)),
			"a null text":   first("SELECT CAST(NULL AS CHAR(5))", new(string)),
			"a null number": first("SELECT CAST(NULL AS DECIMAL)", new(int64)),
			"no row":        first("SELECT 1 WHERE 1 = 0", new(int)),
			"no such type":  first("SELECT 1", new(chan int)),
			"too great":     first("SELECT 300", new(int8)),
			"too few arguments": func() error {
				return engine.First(query(t.Context(), "SELECT 1 WHERE 1 = ? AND 2 = ?", 1)).Scan(new(int))
			},
		}
		for name, fail := range failures {
			if err := fail(); err == nil {
				t.Errorf("%s: no error", name)
			}
			if err := first("SELECT 1", new(int))(); err != nil {
				t.Errorf("after %s: %v", name, err)
			}
		}
		rows, err := query(t.Context(), endless+"SELECT n FROM made LIMIT 900") // not to the end
		if err != nil || !rows.Next() {
			t.Fatal("no rows", err)
		}
		if err := errors.Join(rows.Close(), rows.Close()); err != nil {
			t.Errorf("to close rows with others behind: %v", err)
		}
		if rows.Next() || rows.Scan(new(int)) == nil {
			t.Error("closed rows have a row")
		}
		if err := first("SELECT 1", new(int))(); err != nil {
			t.Errorf("after rows with others behind: %v", err)
		}
		if open := db.Readers.Stats(); open.InUse != 0 {
			t.Errorf("%d connections remain in use", open.InUse)
		}
	})
}

// endless begins a statement that can read numbers without end from a table made.
const endless = "WITH RECURSIVE made(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made) "

// TestRowsOfPackageSQL checks statements of SQLite that a direct query leaves to package sql: several in one text, and
// arguments of rare types.
func TestRowsOfPackageSQL(t *testing.T) {
	t.Parallel()
	db := openWith(t, sqltest.Engines()[0].Empty(t), false)
	for text, arguments := range map[string][]any{"SELECT 2; SELECT 7": nil, "SELECT 7; -- seven": nil, "SELECT 6 + ?": {true}, "SELECT 6 + CAST(? AS INTEGER)": {[]byte("1")}} {
		for range 2 {
			var got int
			if err := engine.First(db.ReadStatements.Query(t.Context(), text, arguments...)).Scan(&got); err != nil || got != 7 {
				t.Errorf("%s: %d, %v", text, got, err)
			}
		}
	}
}

// TestDirectRowsCancelled checks that the end of a context ends a statement, between rows and within one, and
// leaves a connection that can be used.
func TestDirectRowsCancelled(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db := openWith(t, e.Empty(t), false)
		statements := []string{endless + "SELECT n FROM made", endless + "SELECT COUNT(*) FROM made"}
		if e.Name == "mariadb" { // where a recursion ends by itself
			statements = []string{"SELECT seq FROM seq_1_to_1000000000000", "SELECT SLEEP(1000)"}
		}
		for _, text := range statements {
			for range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				err := engine.EachRow(ctx, db.ReadStatements.Query, func(rows engine.Rows) error { return rows.Scan(new(int64)) }, text)
				if !errors.Is(db.WrapError(ctx, "read", err), context.Canceled) {
					t.Errorf("%s: %v, want it cancelled", text, err)
				}
				cancel()
			}
			if err := engine.First(db.ReadStatements.Query(t.Context(), "SELECT 1")).Scan(new(int)); err != nil {
				t.Errorf("after %s: %v", text, err)
			}
		}
	})
}

// TestDirectRowsOfClosedConnections checks that a connection which the server has closed is replaced.
func TestDirectRowsOfClosedConnections(t *testing.T) {
	sqltest.EachServer(t, func(t *testing.T, e sqltest.Engine) {
		dsn := e.Empty(t)
		db := openWith(t, dsn, false)
		one := func() error { return engine.First(db.ReadStatements.Query(t.Context(), "SELECT 1")).Scan(new(int)) }
		if err := one(); err != nil {
			t.Fatal(err)
		}
		raw, kill := sqltest.Raw(t, dsn), "SELECT 'SELECT pg_terminate_backend(' || pid || ')' FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
		if e.Name == "mariadb" {
			kill = "SELECT CONCAT('KILL ', id) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
		}
		raw.SetMaxOpenConns(1)
		statements, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(raw.QueryContext), kill)
		if err != nil || len(statements) == 0 {
			t.Fatal(statements, err)
		}
		for _, statement := range statements {
			if _, err := raw.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		testenv.Await(t, "the connections are closed", func() bool {
			open, err := engine.SelectColumn[string](t.Context(), engine.QueryOf(raw.QueryContext), kill)
			return err == nil && len(open) == 0
		})
		err = one()
		if e.Name == "postgres" { // its driver finds out when it reads
			err = one()
		}
		if err != nil {
			t.Errorf("after the server has closed the connections: %v", err)
		}
		if open := db.Readers.Stats(); open.InUse != 0 {
			t.Errorf("%d connections remain in use", open.InUse)
		}
	})
}

// TestListsAreNotPlannedAnew checks that PostgreSQL keeps the plan of a list, of which a client asks for few rows, and
// of a list of many ids.
func TestListsAreNotPlannedAnew(t *testing.T) {
	t.Parallel()
	dsn := sqltest.Postgres(t)
	db, err := engine.Open(engine.Options{DSN: dsn, PoolOptions: engine.PoolOptions{Readers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	sqltest.Exec(t, dsn, "CREATE TABLE entry (n BIGINT PRIMARY KEY)", "INSERT INTO entry SELECT generate_series(1, 5000)", "ANALYZE entry")
	var ids []any
	for n := range int64(100) {
		ids = append(ids, 7+40*n)
	}
	sb := db.Engine.Flavor.NewSelectBuilder()
	text, arguments := sb.Select("n").From("entry").Where(db.Engine.Among(sb, "n", db.Engine.IDArguments(ids))).Build()
	for _, c := range []struct {
		text      string
		arguments []any
		rows      int
	}{
		{"SELECT n FROM entry WHERE n > ? ORDER BY n LIMIT ?", []any{7, 10}, 10},
		{text, arguments, len(ids)},
	} {
		const calls, tried = 20, 5 // PostgreSQL compares the plans of five calls with one for all
		for range calls {
			found, err := engine.SelectColumn[int](t.Context(), db.ReadStatements.Query, c.text, c.arguments...)
			if err != nil || len(found) != c.rows {
				t.Fatal(found, err)
			}
		}
		beginning, _, _ := strings.Cut(c.text, " n ")
		var kept int
		err = engine.First(db.ReadStatements.Query(t.Context(), "SELECT generic_plans FROM pg_prepared_statements WHERE statement LIKE ? AND statement NOT LIKE 'SELECT generic%' ORDER BY prepare_time DESC LIMIT 1", beginning+" n%")).Scan(&kept)
		if err != nil || kept != calls-tried {
			t.Errorf("%s: %d of %d calls used the kept plan, %v", c.text, kept, calls, err)
		}
	}
}

// TestAmong finds the rows of lists of ids, directly and by package sql.
func TestAmong(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		dsn := e.Empty(t)
		for _, wrapped := range []bool{false, true} {
			db := openWith(t, dsn, wrapped)
			if !wrapped {
				sqltest.Exec(t, dsn, "CREATE TABLE entry (n BIGINT PRIMARY KEY)", "INSERT INTO entry (n) VALUES (10), (20), (30), (40)")
			}
			for _, c := range []struct {
				ids  []any
				want []int
			}{
				{[]any{int64(20)}, []int{20}},
				{[]any{int64(40), int64(10), int64(15)}, []int{10, 40}},
				{[]any{int64(30), int64(30), int64(20), int64(10), int64(-1)}, []int{10, 20, 30}},
			} {
				sb := db.Engine.Flavor.NewSelectBuilder()
				text, arguments := sb.Select("n").From("entry").Where(db.Engine.Among(sb, "n", db.Engine.IDArguments(c.ids))).OrderBy("n").Build()
				if got, err := engine.SelectColumn[int](t.Context(), db.ReadStatements.Query, text, arguments...); err != nil || !slices.Equal(got, c.want) {
					t.Errorf("wrapped %t, %v: %v, %v", wrapped, c.ids, got, err)
				}
			}
		}
	})
}

// TestInlined reads rows as they are, and as a column of another statement, with and without package sql.
func TestInlined(t *testing.T) {
	t.Parallel()
	dsn := sqltest.Postgres(t)
	for name, statement := range map[string]string{
		"rows": "SELECT 1, 'a\"b\\c'||chr(10)||chr(31), NULL, '', CAST(-0.5 AS DECIMAL(12,4)), TIMESTAMP '0001-01-02 03:04:05'" +
			" UNION ALL SELECT -9223372036854775808, 'null', 'Größe 😀', '[]', NULL, NULL",
		"none": "SELECT 1, 'a', 'b', 'c', CAST(1 AS DECIMAL(12,4)), TIMESTAMP '2026-01-02 03:04:05' WHERE false",
	} {
		for _, wrapped := range []bool{false, true} {
			db := openWith(t, dsn, wrapped)
			var inlined engine.Inlined
			if err := engine.First(db.ReadStatements.Query(t.Context(), "SELECT "+engine.Inline(statement, 6))).Scan(&inlined); err != nil {
				t.Fatal(err)
			}
			got, want := sixTexts(t, inlined.Query, ""), sixTexts(t, db.ReadStatements.Query, statement)
			if !slices.Equal(got, want) || (len(want) > 0) != (name == "rows") {
				t.Errorf("%s, wrapped %t: read %q, want %q", name, wrapped, got, want)
			}
		}
	}
}

// sixTexts returns the rows of TestInlined.
func sixTexts(t *testing.T, query engine.QueryFunc, statement string) []string {
	t.Helper()
	all, err := engine.CollectRows(t.Context(), query, func(rows engine.Rows) (string, error) {
		var number int64
		var name, perhaps sql.NullString
		var text string
		var price, at adapter.Value
		err := rows.Scan(&number, &name, &perhaps, &text, engine.NewCell(adapter.KindDecimal, &price), engine.NewCell(adapter.KindTime, &at))
		return fmt.Sprintf("%d %q %v %q %d%s %d%s", number, name.String, perhaps, text, price.Kind(), price, at.Kind(), at), err
	}, statement)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBrokenInlined checks that a column without rows of texts is an error.
func TestBrokenInlined(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "[1", `[["a"`, `[["a"]`, `[["a",{]]`, `[["a"}]`, `[[1]]`, `[{}]`} {
		var inlined engine.Inlined
		err := inlined.Scan(text)
		if err == nil {
			_, err = engine.SelectColumn[string](t.Context(), inlined.Query, "")
		}
		if err == nil {
			t.Errorf("%q was read", text)
		}
	}
	if err := new(engine.Inlined).Scan(1); err == nil {
		t.Error("a number was stored")
	}
}
