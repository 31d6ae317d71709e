package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
)

func TestAdmins(t *testing.T) {
	sqltest.EachEngine(t, testAdmins)
}

func testAdmins(t *testing.T, e sqltest.Engine) {
	dsn := sqlstore.NewDemo(t, e)
	db := open(t, dsn)
	raw := sqltest.Raw(t, dsn)
	hashOf := func(username string) string {
		t.Helper()
		var hash string
		if err := raw.QueryRowContext(t.Context(), "SELECT COALESCE(password_hash, '-') FROM admin WHERE username = '"+username+"'").Scan(&hash); err != nil {
			t.Fatal(err)
		}
		return hash
	}

	given, err := db.Admins().Add(t.Context(), 70, "given", "old")
	if err != nil || given != 70 {
		t.Fatalf("id %d, %v; want 70", given, err)
	}
	if next, err := db.Admins().Add(t.Context(), 0, "next", ""); err != nil || next <= given || hashOf("next") != "-" {
		t.Errorf("id %d, %v; want one above %d, and no hash", next, err, given)
	}
	// Older versions created tokens for administrators who did not exist.
	sqltest.Exec(t, dsn, "UPDATE oauth_token SET admin_id = 500 WHERE admin_id = 1")
	for i, username := range []string{"heir of nobody", "one more"} {
		if id, err := db.Admins().Add(t.Context(), 0, username, ""); err != nil || id <= 500 {
			t.Errorf("administrator %d after the tokens of 500: id %d, %v", i, id, err)
		}
	}
	for _, refused := range []struct {
		name, username string
		id             adapter.Key
		kind           adapter.ErrorKind
	}{
		{"id taken", "another", 70, adapter.Conflict},
		{"username taken, in capitals", "GIVEN", 0, adapter.Conflict},
		{"empty username", "", 0, adapter.Invalid},
		{"username too long", strings.Repeat("ä", 256), 0, adapter.Invalid},
	} {
		t.Run(refused.name, func(t *testing.T) {
			if _, err := db.Admins().Add(t.Context(), refused.id, refused.username, ""); err == nil || adapter.KindOf(err) != refused.kind {
				t.Errorf("%v, want kind %s", err, refused.kind)
			}
		})
	}

	if err := db.Admins().Upgrade(t.Context(), 70, "another old one", "stale"); err != nil || hashOf("given") != "old" {
		t.Errorf("hash %s, %v; want it kept, it was not the one that was verified", hashOf("given"), err)
	}
	if err := db.Admins().Upgrade(t.Context(), 70, "old", "new"); err != nil || hashOf("given") != "new" {
		t.Errorf("hash %s, %v; want the new one", hashOf("given"), err)
	}
	if id, err := db.Admins().SetPassword(t.Context(), "GIVEN", "newest"); err != nil || id != 70 || hashOf("given") != "newest" {
		t.Errorf("id %d, hash %s, %v; want 70 and the newest one", id, hashOf("given"), err)
	}
	if _, err := db.Admins().SetPassword(t.Context(), "nobody", "x"); err == nil || adapter.KindOf(err) != adapter.NotFound {
		t.Errorf("%v, want not found", err)
	}
}
