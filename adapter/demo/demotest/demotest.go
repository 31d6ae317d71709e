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
	"database/sql"
	"errors"
	"strings"
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

// images are two images of one product and one of another, because no data set has any.
const images = `
	INSERT INTO product_image (id, product_id, file, media_type) VALUES
		(1, 1, 'o/n/one.png', 'image/png'), (2, 1, 't/w/two.jpg', 'image/jpeg'), (3, 2, 't/h/three.png', 'image/png');
	INSERT INTO product_image_value (image_id, store_id, label, position, exclude) VALUES
		(1, 0, 'One', 30, 0), (1, 2, 'Un', 5, 1), (2, 0, 'Two', 20, 1), (3, 0, NULL, 1, 0);
	INSERT INTO product_image_pointer (product_id, store_id, type, image_id) VALUES
		(1, 0, 'image', 1), (1, 0, 'thumbnail', 2), (2, 0, 'image', 3);`

// LoadWithImages is [Load] for a SQLite file, with three images of products. Their files
// do not exist.
func LoadWithImages(dsn string) error {
	if err := Load(dsn); err != nil {
		return err
	}
	file, err := sql.Open("sqlite", strings.TrimPrefix(dsn, "sqlite:"))
	if err != nil {
		return err
	}
	_, err = file.Exec(images)
	return errors.Join(err, file.Close()) // the last connection to close checkpoints the log
}

// SQLite returns the DSN of a SQLite file with the demo store. The test may store media
// files in its folder.
func SQLite(tb testing.TB) (dsn string) { tb.Helper(); return template.SQLite(tb) }

// Postgres returns the DSN of a PostgreSQL database with the demo store.
func Postgres(tb testing.TB) (dsn string) { tb.Helper(); return template.Postgres(tb) }

// MariaDB returns the DSN of a MariaDB database with the demo store.
func MariaDB(tb testing.TB) (dsn string) { tb.Helper(); return template.MariaDB(tb) }
