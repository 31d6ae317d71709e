#!/usr/bin/env bash
# Package:  github.com/pressly/goose/v3 v3.29.0 (with modernc.org/sqlite v1.61.1)
# Guess:    A version table without rows counts as "no migration has been applied", and Up goes on.
#           It is the state of a database on which a process has ended between goose's CREATE TABLE
#           and its first INSERT, where tables are not created in a transaction.
# Behavior: Up looks for a row of the table, takes the empty table for a missing one, and fails when it
#           creates it.
# Output:   no version table: <nil>
#           empty version table: failed to initialize: create version table: failed to create version
#           table "goose_db_version": SQL logic error: table goose_db_version already exists (1)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat >go.mod <<'MOD'
module finding

go 1.26
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite"
)

func up(file, prepare string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Exec(prepare); err != nil {
		return err
	}
	files := fstest.MapFS{"00001_shop.sql": {Data: []byte("-- +goose Up\nCREATE TABLE shop (id INTEGER);\n")}}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return err
	}
	_, err = provider.Up(context.Background())
	return err
}

func main() {
	fmt.Println("no version table:", up(os.Args[1]+"/new.db", "SELECT 1"))
	fmt.Println("empty version table:", up(os.Args[1]+"/empty.db",
		`CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL,
			is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))`))
}
GO
go mod edit -require github.com/pressly/goose/v3@v3.29.0 -require modernc.org/sqlite@v1.61.1
go mod tidy >/dev/null 2>&1
seen=$(go run . "$folder")
printf '%s\n' "$seen"
grep -qx 'no version table: <nil>' <<<"$seen"
grep -q '^empty version table: .*table goose_db_version already exists' <<<"$seen"
