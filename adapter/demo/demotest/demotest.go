//go:build linux

// Package demotest provides tests with databases that contain the demo store.
//
// # Principles
//
//  1. A test binary loads the demo store once per database engine. Every test gets a copy
//     of that database, which is deleted when the test ends.
//  2. Tests must not change the data set that [Data] returns. A test that changes records
//     gets its own data set from [demo.Load].
//
// # How it is tested
//
// By the tests that use it.
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

// Data returns the demo store. All tests share it and must not change it.
func Data(tb testing.TB) *adapter.Dataset {
	tb.Helper()
	data, err := decode()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// Load creates the tables in an empty database and loads the demo store into it.
func Load(dsn string) error {
	data, err := decode()
	if err != nil {
		return err
	}
	ctx := context.Background() // all tests share the database
	db, err := sqlstore.Open(ctx, sqlstore.Options{DSN: dsn, Migrate: true})
	if err != nil {
		return err
	}
	return errors.Join(db.Load(ctx, data, nil), db.Close())
}

// SQLite returns the DSN of a SQLite file with the demo store. The test may store media
// files in its folder.
func SQLite(tb testing.TB) (dsn string) { tb.Helper(); return template.SQLite(tb) }

// Postgres returns the DSN of a PostgreSQL database with the demo store.
func Postgres(tb testing.TB) (dsn string) { tb.Helper(); return template.Postgres(tb) }

// MariaDB returns the DSN of a MariaDB database with the demo store.
func MariaDB(tb testing.TB) (dsn string) { tb.Helper(); return template.MariaDB(tb) }
