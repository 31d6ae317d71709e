//go:build linux

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A Template is a database that a test binary prepares once for each engine and copies
// for each test, which takes a fraction of the time. MariaDB cannot copy databases, so
// each of its databases is prepared separately.
type Template struct {
	prepare  func(dsn string) error
	sqlite   func() ([]byte, error)
	postgres func() error
}

// NewTemplate returns a template that prepare creates from an empty database. prepare
// must close its connections before it returns.
func NewTemplate(prepare func(dsn string) error) *Template {
	t := &Template{prepare: prepare}
	t.sqlite = sync.OnceValues(t.prepareSQLite)
	t.postgres = sync.OnceValue(t.preparePostgres)
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
	return s.database(tb, " TEMPLATE "+t.name())
}

// MariaDB is Database for MariaDB.
func (t *Template) MariaDB(tb testing.TB) (dsn string) {
	tb.Helper()
	dsn = MariaDB(tb)
	require(tb, t.prepare(dsn))
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

// preparePostgres prepares the database that CREATE DATABASE copies. It is removed with
// the server.
func (t *Template) preparePostgres() error {
	s, err := startPostgres()
	if err != nil {
		return err
	}
	if _, err := s.admin.ExecContext(context.Background(), "CREATE DATABASE "+t.name()); err != nil {
		return err
	}
	return t.prepare(s.url(s.port, t.name()))
}

// name returns the name of the template's database, which no other template has.
func (t *Template) name() string { return fmt.Sprintf("template_%p", t) }
