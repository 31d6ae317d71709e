package sqlstore_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		o    sqlstore.Options
		want adapter.ErrorKind
	}{
		{"no path", sqlstore.Options{DSN: "sqlite:"}, adapter.Invalid},
		{"in memory", sqlstore.Options{DSN: "sqlite::memory:", Migrate: true}, adapter.Invalid},
		{"another kind", sqlstore.Options{DSN: "mongodb://x/y", Migrate: true}, adapter.Invalid},
		{"no such file", sqlstore.Options{DSN: filepath.Join(dir, "none.db")}, adapter.Unavailable},
		{"a folder", sqlstore.Options{DSN: dir, Migrate: true}, adapter.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, err := sqlstore.Open(t.Context(), c.o)
			if err == nil {
				_ = db.Close()
			}
			if adapter.KindOf(err) != c.want || err == nil {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// TestConcurrentMigrations opens one new database several times at once, as replicas of
// Portico do.
func TestConcurrentMigrations(t *testing.T) {
	sqltest.EachEngine(t, testConcurrentMigrations)
}

func testConcurrentMigrations(t *testing.T, e sqltest.Engine) {
	dsn := e.Empty(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsn, Migrate: true})
			if err != nil {
				t.Error(err)
				return
			}
			if empty, err := db.Empty(t.Context()); !empty || err != nil {
				t.Errorf("empty %v, %v", empty, err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestUnreachable opens databases of servers that refuse the connection.
func TestUnreachable(t *testing.T) {
	sqltest.EachServer(t, func(t *testing.T, e sqltest.Engine) {
		dsn := e.NewDSN(t)
		user, server, found := strings.Cut(dsn, "@")
		if !found {
			t.Fatalf("no user in %s", dsn)
		}
		user = strings.TrimSuffix(strings.TrimSuffix(user, "root"), "portico")
		address := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
		const password = "Sv9-Xq7.Tz3"
		for name, dsn := range map[string]string{
			"nothing listens": address.ReplaceAllString(dsn, "127.0.0.1:1"),
			"unknown user":    user + "nobody:" + password + "@" + server,
			"no database":     dsn + "_not",
		} {
			t.Run(name, func(t *testing.T) {
				for _, migrate := range []bool{false, true} {
					db, err := sqlstore.Open(t.Context(), sqlstore.Options{DSN: dsn, Migrate: migrate})
					if err == nil {
						_ = db.Close()
					}
					if adapter.KindOf(err) != adapter.Unavailable || err == nil || strings.Contains(err.Error(), password) {
						t.Errorf("%v, want unavailable", err)
					}
				}
			})
		}
	})
}
