package apptest

import (
	"database/sql"
	"testing"
)

// ExpireLease makes the lease of a follower expire immediately.
func ExpireLease(t testing.TB, engine, dsn string) {
	t.Helper()
	Execute(t, OpenStore(t, engine, dsn), "UPDATE lease SET expires_ms = 0")
}

// Execute runs statements on the legacy store.
func Execute(t testing.TB, old *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := old.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// SelectTexts returns the only column of the rows that a statement selects.
func SelectTexts(t testing.TB, db *sql.DB, statement string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
