// Package magento1test creates databases of Magento 1 for tests.
//
// # Principles
//
//  1. The data set is small but complete: every case that a reader must handle has a row
//     (shop.sql). The tables follow public descriptions, reduced to the columns that matter
//     and some that must be ignored.
//  2. The database is on a real server, which package sqltest starts.
//
// # How it is tested
//
// By the tests that use it.
package magento1test

import (
	"database/sql"
	_ "embed" // for shopSQL
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

//go:embed shop.sql
var shopSQL string

// Password is the password of every customer and administrator who has one.
const Password = "swordfish"

// New creates a shop whose tables have a prefix. It returns the DSN, and a connection pool
// with which tests can change the shop. Both end with the test.
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
	if _, err := db.ExecContext(tb.Context(), strings.ReplaceAll(shopSQL, "{p}", prefix)); err != nil {
		tb.Fatal(err)
	}
	return dsn, db
}
