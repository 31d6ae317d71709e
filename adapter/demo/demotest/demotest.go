//go:build linux

// Package demotest gives tests databases that hold the demo store.
//
// # Principles
//
//  1. A test binary loads the demo store once on an engine; every test gets a copy of
//     that database, which is removed when the test ends.
//  2. Nobody changes the data set that [Data] returns. A test that changes records
//     decodes a data set of its own by [demo.Load].
//
// # How it is tested
//
// By the tests that it serves.
package demotest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

var (
	decode   = sync.OnceValues(demo.Load)
	template = sqltest.NewTemplate(Load)
)

// Data returns the demo store, which all tests share.
func Data(tb testing.TB) *adapter.Dataset {
	tb.Helper()
	data, err := decode()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// Load makes the tables in the empty database of a DSN and loads the demo store.
func Load(dsn string) error {
	data, err := decode()
	if err != nil {
		return err
	}
	ctx := context.Background() // of no test in particular
	db, err := sqlstore.Open(ctx, sqlstore.Options{DSN: dsn, Migrate: true})
	if err != nil {
		return err
	}
	return errors.Join(db.Load(ctx, data, nil), db.Close())
}

// SQLite returns the DSN of a file with the demo store. Its folder has room for media.
func SQLite(tb testing.TB) (dsn string) { tb.Helper(); return template.SQLite(tb) }

// Postgres returns the DSN of a PostgreSQL database with the demo store.
func Postgres(tb testing.TB) (dsn string) { tb.Helper(); return template.Postgres(tb) }

// MariaDB returns the DSN of a MariaDB database with the demo store.
func MariaDB(tb testing.TB) (dsn string) { tb.Helper(); return template.MariaDB(tb) }
