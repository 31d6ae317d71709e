package engine_test

import (
	"testing"

	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/pressly/goose/v3"
)

// TestStoreState checks that each database has an identity of its own that stays, and an epoch that
// changes with each migration, after which cached replies may be outdated.
func TestStoreState(t *testing.T) {
	sqltest.EachSQL(t, func(t *testing.T, e sqltest.Engine) {
		db, _ := openEmpty(t, e)
		state := func() (identity, epoch string) {
			t.Helper()
			if err := db.Writer.QueryRowContext(t.Context(), "SELECT identity, epoch FROM store_state").Scan(&identity, &epoch); err != nil || identity == "" || epoch == "" {
				t.Fatalf("identity %q, epoch %q, %v", identity, epoch, err)
			}
			return identity, epoch
		}
		migrate := func() {
			t.Helper()
			if _, err := db.Engine.Migrate(t.Context(), db.Writer, db.Name, nil, goose.WithAllowOutofOrder(true)); err != nil {
				t.Fatal(err)
			}
		}
		run := func(text string) {
			t.Helper()
			if _, err := db.Writer.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		migrate()
		identity, epoch := state()
		migrate() // nothing
		if i, e := state(); i != identity || e != epoch {
			t.Error("what has not changed has another state")
		}
		run("DELETE FROM goose_db_version WHERE version_id = 3")
		run("DROP TABLE product_listing")
		migrate()
		if i, e := state(); i != identity || e == epoch {
			t.Errorf("migrated: the identity is the same: %t, the epoch is the same: %t", i == identity, e == epoch)
		}
		run("UPDATE store_state SET identity = '', epoch = ''") // as if it had been killed before
		migrate()
		if i, _ := state(); i == identity {
			t.Error("another database has the same identity")
		}
	})
}
