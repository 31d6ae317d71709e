#!/usr/bin/env bash
# Package:  modernc.org/sqlite v1.61.1 (SQLite 3.54.1)
# Guess:    A prepared statement is compiled once. Only a change of the schema, or of a pattern of LIKE,
#           makes SQLite compile it again; without ANALYZE there are no statistics with which a value of a
#           comparison could be compared.
# Behavior: Each other value of a limit compiles the statement again. So does each other value of a comparison
#           in a sorted list when one of the values is 1, which the planner takes for a common value. Values
#           of 5 and 6 do not, and neither does a parameter behind a plus sign.
# Output:   LIMIT 10, 11, 10, 11: compiled again 4 times
#           store = 1, 2, 1, 2: compiled again 4 times
#           store = 5, 6, 5, 6: compiled again 0 times
#           store = +1, +2, +1, +2: compiled again 0 times
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

	"modernc.org/sqlite"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// compiled counts how often SQLite compiles a statement while it runs with each of values.
func compiled(query string, values ...int) (times int) {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	must(err)
	defer db.Close()
	conn, err := db.Conn(ctx)
	must(err)
	defer conn.Close()
	_, err = conn.ExecContext(ctx, "CREATE TABLE product (id INTEGER PRIMARY KEY, sku TEXT, store INTEGER); CREATE INDEX product_store ON product (store, sku)")
	must(err)
	must(conn.Raw(func(c any) error {
		return c.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(func(action sqlite.AuthorizerActionCode, _, _, _, _ string) sqlite.AuthorizerReturnCode {
			if action == sqlite.AuthSelect {
				times++
			}
			return sqlite.AuthorizerOK
		})
	}))
	prepared, err := conn.PrepareContext(ctx, query)
	must(err)
	times = 0
	for _, value := range values {
		rows, err := prepared.QueryContext(ctx, value)
		must(err)
		for rows.Next() {
		}
		must(rows.Err())
		must(rows.Close())
	}
	return times
}

func main() {
	report := func(what string, times int) { fmt.Printf("%s: compiled again %d times\n", what, times) }
	report("LIMIT 10, 11, 10, 11", compiled("SELECT id FROM product ORDER BY id LIMIT ?", 10, 11, 10, 11))
	report("store = 1, 2, 1, 2", compiled("SELECT id FROM product WHERE id > 7 AND store = ? ORDER BY id LIMIT 5", 1, 2, 1, 2))
	report("store = 5, 6, 5, 6", compiled("SELECT id FROM product WHERE id > 7 AND store = ? ORDER BY id LIMIT 5", 5, 6, 5, 6))
	report("store = +1, +2, +1, +2", compiled("SELECT id FROM product WHERE id > 7 AND store = +? ORDER BY id LIMIT 5", 1, 2, 1, 2))
}
GO
go mod edit -require modernc.org/sqlite@v1.61.1
go mod tidy >/dev/null 2>&1
seen=$(go run .)
printf '%s\n' "$seen"
grep -qx 'LIMIT 10, 11, 10, 11: compiled again 4 times' <<<"$seen"
grep -qx 'store = 1, 2, 1, 2: compiled again 4 times' <<<"$seen"
grep -qx 'store = 5, 6, 5, 6: compiled again 0 times' <<<"$seen"
grep -qx 'store = +1, +2, +1, +2: compiled again 0 times' <<<"$seen"
