//go:build linux

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// A Template is a database that is prepared once for each engine and copied for each test, which takes a fraction of the time. MariaDB cannot copy databases, but tables.
type Template struct {
	name     string
	prepare  func(dsn string) error
	sqlite   func() ([]byte, error)
	postgres func() error
	mariadb  func() (copying string, err error) // statements that copy it into the database of the connection
}

// NewTemplate returns a template that prepare creates from an empty database. prepare must close its
// connections before it returns. Test binaries share the templates of a name, in lower case.
func NewTemplate(name string, prepare func(dsn string) error) *Template {
	t := &Template{name: "template_" + name, prepare: prepare}
	t.sqlite = sync.OnceValues(t.prepareSQLite)
	t.postgres = sync.OnceValue(t.preparePostgres)
	t.mariadb = sync.OnceValues(t.prepareMariaDB)
	return t
}

// Database returns the DSN, in the form of sqlstore.Options, of a prepared database
// that is removed when the test ends. engine is sqlite, postgres or mariadb.
func (t *Template) Database(tb testing.TB, engine string) (dsn string) {
	tb.Helper()
	switch engine {
	case "sqlite":
		return t.SQLite(tb)
	case "postgres":
		return t.Postgres(tb)
	case "mariadb":
		return t.MariaDB(tb)
	}
	tb.Fatalf("unknown engine %s", engine)
	return ""
}

// SQLite returns the DSN of a prepared file in a folder that is removed when the test
// ends.
func (t *Template) SQLite(tb testing.TB) (dsn string) {
	tb.Helper()
	content, err := t.sqlite()
	require(tb, err)
	path := filepath.Join(tb.TempDir(), "shop.db")
	require(tb, os.WriteFile(path, content, 0o600))
	return "sqlite:" + path
}

// Postgres returns the DSN of a new PostgreSQL database made from the template.
func (t *Template) Postgres(tb testing.TB) (dsn string) {
	tb.Helper()
	s, err := startPostgres()
	require(tb, err)
	require(tb, t.postgres())
	return s.database(tb, " TEMPLATE "+t.name)
}

// MariaDB is Database for MariaDB.
func (t *Template) MariaDB(tb testing.TB) (dsn string) {
	tb.Helper()
	copying, err := t.mariadb()
	require(tb, err)
	dsn = MariaDB(tb)
	s, err := startMariaDB()
	require(tb, err)
	_, name, _ := strings.Cut(dsn, "/")
	_, err = s.admin.ExecContext(tb.Context(), "USE "+name+";"+copying)
	require(tb, err)
	return dsn
}

// prepareSQLite returns the content of a prepared file.
func (t *Template) prepareSQLite() ([]byte, error) {
	folder, err := os.MkdirTemp("", "portico-template-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "shop.db")
	err = t.prepare("sqlite:" + path)
	var content []byte
	if err == nil {
		content, err = os.ReadFile(path)
	}
	return content, errors.Join(err, os.RemoveAll(folder))
}

// preparePostgres prepares the database that CREATE DATABASE copies, unless another test binary has done so.
// It is removed with the server.
func (t *Template) preparePostgres() error {
	s, err := startPostgres()
	if err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	ctx, unfinished := context.Background(), fmt.Sprintf("%s_%d", t.name, os.Getpid())
	var found int
	if err := s.admin.QueryRowContext(ctx, "SELECT COUNT(*) FROM pg_database WHERE datname = $1", t.name).Scan(&found); err != nil || found > 0 {
		return err
	}
	if _, err := s.admin.ExecContext(ctx, "CREATE DATABASE "+unfinished); err != nil {
		return err
	}
	if err := t.prepare(s.url(s.port, unfinished)); err != nil {
		return err
	}
	_, err = s.admin.ExecContext(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+t.name)
	return err
}

// prepareMariaDB prepares a database, and returns the statements that copy its tables. It is removed with the
// server.
func (t *Template) prepareMariaDB() (copying string, err error) {
	s, err := startMariaDB()
	if err != nil {
		return "", err
	}
	ctx, name := context.Background(), fmt.Sprintf("%s_%d", t.name, os.Getpid())
	if _, err := s.admin.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	if err := t.prepare(s.url(s.port, name)); err != nil {
		return "", err
	}
	tables, err := engine.SelectColumn[string](ctx, engine.QueryOf(s.admin.QueryContext), "SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name", name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	// Rows with the key 0, such as the customer group of Guests, keep it.
	b.WriteString("SET foreign_key_checks = 0, sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO');")
	for _, table := range tables {
		var create string
		if err := s.admin.QueryRowContext(ctx, "SHOW CREATE TABLE "+name+"."+table).Scan(&table, &create); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s;INSERT INTO %s SELECT * FROM %s.%s;", create, table, name, table)
	}
	b.WriteString("SET foreign_key_checks = 1, sql_mode = DEFAULT")
	return b.String(), nil
}
