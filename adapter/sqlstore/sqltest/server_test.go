//go:build linux

package sqltest

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"
)

// TestServer kills, restarts, pauses and resumes servers. Each must keep committed data, and
// answer nothing while it is paused or down.
func TestServer(t *testing.T) {
	for name, start := range map[string]func(testing.TB) *Server{"postgres": StartPostgres, "mariadb": StartMariaDB} {
		t.Run(name, func(t *testing.T) { testServer(t, start(t)) })
	}
}

func testServer(t *testing.T, s *Server) {
	pool, err := sql.Open(s.program.driver, strings.TrimPrefix(s.Database("shop"), "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(1) // the process of the connection must exist when the server is paused
	count := func(d time.Duration) (n int, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		return n, pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM kept").Scan(&n)
	}
	if _, err := pool.ExecContext(t.Context(), "CREATE TABLE kept (id BIGINT)"); err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string]struct{ begin, end func() }{"paused": {s.Pause, s.Resume}, "killed": {s.Kill, s.Start}} {
		t.Run(name, func(t *testing.T) {
			before, err := count(startTimeout)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO kept VALUES (1)"); err != nil {
				t.Fatal(err)
			}
			broken.begin()
			if n, err := count(200 * time.Millisecond); err == nil {
				t.Errorf("counts %d", n)
			}
			broken.end()
			if n, err := count(startTimeout); err != nil || n != before+1 {
				t.Errorf("counts %d afterwards (%v), want %d", n, err, before+1)
			}
		})
	}
}
