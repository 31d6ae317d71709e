package engine

import (
	"strings"
	"testing"
)

func TestValidDSN(t *testing.T) {
	for _, c := range []struct {
		dsn, dialect, name string // dialect is "" for an invalid DSN
	}{
		{"sqlite:shop.db", "sqlite3", "shop.db"},
		{"sqlite:/var/lib/shop.db", "sqlite3", "/var/lib/shop.db"},
		{"shop.db", "sqlite3", "shop.db"},
		{"postgres.db", "sqlite3", "postgres.db"},
		{`C:\shop.db`, "sqlite3", `C:\shop.db`},
		{"", "", ""},
		{"sqlite:", "", ""},
		{"sqlite::memory:", "", ""},
		{"file:x.db", "", ""},
		{"a\x00b", "", ""},
		{"mongodb://user:hush@host/db", "", ""},

		{"postgres://user:hush@host:5432/db?sslmode=disable", "postgres", "postgres://user:hush@host:5432/db?sslmode=disable"},
		{"postgresql://host/db", "postgres", "postgresql://host/db"},
		{"postgres:host=/run/postgresql dbname=shop", "postgres", "host=/run/postgresql dbname=shop"},
		{"postgres:", "", ""},
		{"postgres://user:hush@host:port/db", "", ""},
		{"postgres:user password=hush", "", ""},

		{"mysql:user:hush@tcp(127.0.0.1:3306)/db", "mysql", "user:hush@tcp(127.0.0.1:3306)/db"},
		{"mysql:user@unix(/run/mysqld/mysqld.sock)/db?timeout=5s", "mysql", "user@unix(/run/mysqld/mysqld.sock)/db?timeout=5s"},
		{"mysql:/db", "mysql", "/db"},
		{"mysql:", "", ""},
		{"mysql:user:hush@tcp(127.0.0.1:3306)/", "", ""},
		{"mysql:user:hush@tcp(127.0.0.1:3306)", "", ""},
		{"mysql://user:hush@host/db", "", ""},
		{"mysql:user:hush@tcp(127.0.0.1:3306)/db?tls=hush", "", ""},
	} {
		e, name, err := Of(c.dsn)
		switch {
		case c.dialect == "" && err == nil:
			t.Errorf("%q is valid", c.dsn)
		case c.dialect == "":
			if !strings.HasPrefix(err.Error(), "must be ") || strings.Contains(err.Error(), "hush") {
				t.Errorf("%q: %v", c.dsn, err)
			}
		case err != nil:
			t.Errorf("%q: %v", c.dsn, err)
		case string(e.dialect) != c.dialect || name != c.name:
			t.Errorf("%q: %s, %q", c.dsn, e.dialect, name)
		}
		if valid := ValidDSN(c.dsn); (valid == nil) != (err == nil) {
			t.Errorf("ValidDSN(%q): %v", c.dsn, valid)
		}
	}
}

func TestLocation(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://portico:secret@db.example:5433/shop?sslmode=disable": "postgres:db.example:5433/shop",
		"postgres:host=db.example user=u password=secret dbname=shop":    "postgres:db.example:5432/shop",
		"mysql:portico:secret@tcp(db.example:3307)/shop?tls=true":        "mysql:db.example:3307/shop",
		"mysql:portico:secret@unix(/run/mysql.sock)/shop":                "mysql:/run/mysql.sock/shop",
		"sqlite:/var/lib/portico.db":                                     "sqlite:/var/lib/portico.db",
		"portico.db":                                                     "sqlite:portico.db",
		"portico:secret@tcp(db.example:3307)/shop":                       "sqlite",
		"redis://host": "",
	} {
		if got := Location(dsn); got != want {
			t.Errorf("%s is at %q, want %q", dsn, got, want)
		}
	}
}

// TestIdentity compares DSNs of one database and of others.
func TestIdentity(t *testing.T) {
	for _, tt := range []struct {
		one, other string
		same       bool
	}{
		{"postgres://u:secret@db/shop", "postgres://u:changed@db:5432/shop?connect_timeout=3", true},
		{"postgres://u:secret@db/shop", "postgres:host=db user=u password=changed dbname=shop", true},
		{"postgres://u:secret@db/shop", "postgres://v:secret@db/shop", false},
		{"postgres://u:secret@db/shop", "postgres://u:secret@db/other", false},
		{"postgres://u:secret@db/shop", "postgres://u:secret@db/shop?search_path=other", false},
		{"mysql:u:secret@tcp(db:3306)/shop", "mysql:v:changed@tcp(db:3306)/shop?timeout=3s", true},
		{"mysql:u:secret@tcp(db:3306)/shop", "mysql:u:secret@tcp(db:3306)/other", false},
		{"sqlite:a.db", "sqlite:b.db", false},
	} {
		if one, other := Identity(tt.one), Identity(tt.other); (one == other) != tt.same || one == "" {
			t.Errorf("%s is %q, %s is %q; want the same: %t", tt.one, one, tt.other, other, tt.same)
		}
	}
}

// FuzzValidDSN checks that errors contain no password and that nothing panics.
func FuzzValidDSN(f *testing.F) {
	for _, parts := range [][2]string{
		{"postgres://user:", "@host:5432/db"}, {"postgres:password=", " host=x port=y"}, {"mysql:user:", "@tcp(host:3306)/db?tls=x"},
		{"mysql:", "/"}, {"sqlite:", ""}, {"", "://"}, {"postgres://", "@[::1/db"}, {"mysql:u:", "@other/db"},
	} {
		f.Add(parts[0], parts[1])
	}
	const password = "Sv9-Xq7.Tz3"
	f.Fuzz(func(t *testing.T, before, after string) {
		if err := ValidDSN(before + password + after); err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%q: %v", before+password+after, err)
		}
		if at := Location(before + password + after); strings.Contains(at, password) && (strings.Contains(before, "@") || strings.Contains(after, "@")) {
			t.Errorf("%q is at %q", before+password+after, at)
		}
	})
}
