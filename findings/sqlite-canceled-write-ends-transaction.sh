#!/usr/bin/env bash
# Package:  modernc.org/sqlite v1.61.1 (SQLite 3.54.1), with database/sql of Go
# Guess:    A statement whose context ends within a transaction that has another context is undone alone, as
#           one that violates a constraint; or else all later statements of the sql.Tx fail.
# Behavior: If the statement writes, SQLite rolls back the whole transaction, and the sql.Tx goes on: later
#           statements succeed, and each is committed at once, although Commit then returns an error. If the
#           statement reads, the transaction is as it was.
# Output:   canceled INSERT: the next INSERT <nil>, Commit failed true, stored [2]
#           canceled SELECT: the next INSERT <nil>, Commit failed false, stored [1 2]
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
	"time"

	_ "modernc.org/sqlite"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

const endless = "WITH RECURSIVE made(n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM made) SELECT n FROM made WHERE n < 0"

// cancel runs an endless statement, whose context ends, between two inserts of a transaction.
func cancel(name, statement string) {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:"+name+".db")
	must(err)
	defer db.Close()
	_, err = db.Exec("CREATE TABLE entry (n INTEGER)")
	must(err)
	tx, err := db.BeginTx(ctx, nil)
	must(err)
	_, err = tx.Exec("INSERT INTO entry VALUES (1)")
	must(err)
	short, end := context.WithTimeout(ctx, 200*time.Millisecond)
	defer end()
	if _, err = tx.ExecContext(short, statement); err == nil {
		panic("the statement has ended")
	}
	_, next := tx.Exec("INSERT INTO entry VALUES (2)")
	commit := tx.Commit()
	rows, err := db.Query("SELECT n FROM entry ORDER BY n")
	must(err)
	var stored []int
	for rows.Next() {
		var n int
		must(rows.Scan(&n))
		stored = append(stored, n)
	}
	must(rows.Err())
	fmt.Printf("canceled %s: the next INSERT %v, Commit failed %t, stored %v\n", name, next, commit != nil, stored)
}

func main() {
	cancel("INSERT", "INSERT INTO entry "+endless)
	cancel("SELECT", endless)
}
GO
go mod edit -require modernc.org/sqlite@v1.61.1
go mod tidy >/dev/null 2>&1
seen=$(go run .)
printf '%s\n' "$seen"
grep -qxF 'canceled INSERT: the next INSERT <nil>, Commit failed true, stored [2]' <<<"$seen"
grep -qxF 'canceled SELECT: the next INSERT <nil>, Commit failed false, stored [1 2]' <<<"$seen"
