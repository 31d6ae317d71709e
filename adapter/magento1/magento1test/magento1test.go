// Package magento1test makes databases of Magento 1 for tests.
//
// # Principles
//
//  1. Small but complete: every case that a reader has to know has a row (shop.sql).
//     The shape of the tables is that of public descriptions, cut down to the columns
//     that matter and some that must not.
//  2. It is on a real server, that package sqltest starts.
//
// # How it is tested
//
// By the tests that use it.
package magento1test

import (
	"database/sql"
	_ "embed" // for shop
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

//go:embed shop.sql
var shop string

// Password is that of every customer and administrator who has one.
const Password = "swordfish"

// New returns the DSN of a new shop whose tables have a prefix, and a pool of
// connections that may change it. Both end with the test.
func New(tb testing.TB, prefix string) (dsn string, db *sql.DB) {
	tb.Helper()
	dsn = sqltest.MariaDB(tb)
	config, err := mysql.ParseDSN(strings.TrimPrefix(dsn, "mysql:"))
	if err != nil {
		tb.Fatal(err)
	}
	config.MultiStatements = true
	config.Params = map[string]string{"sql_mode": "''", "time_zone": "'+00:00'"}
	if err := config.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		tb.Fatal(err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		tb.Fatal(err)
	}
	db = sql.OpenDB(connector)
	tb.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(tb.Context(), strings.ReplaceAll(shop, "{p}", prefix)); err != nil {
		tb.Fatal(err)
	}
	return dsn, db
}
