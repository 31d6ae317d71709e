//go:build linux

package app

import (
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/cmd/portico/app/doctor"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestDoctorDatabase examines databases that are unavailable, of other versions, or not Portico's,
// and their contents.
func TestDoctorDatabase(t *testing.T) {
	t.Parallel()
	noStatement := func(*testing.T, apptest.Environment) {}
	for _, tt := range []struct {
		name       string
		statements []string
		settings   []string // without PORTICO_
		prepare    func(*testing.T, apptest.Environment)
		check      string
		level      doctor.Level
		want       string
	}{
		{"no server", nil, []string{"SQL_DSN=postgres://u:swordfish@" + testenv.FreeAddress(t) + "/shop"}, noStatement, "server", doctor.Fault, "connection refused"},
		{"no folder", nil, []string{"SQL_DSN=sqlite:/nowhere/at/all.db"}, noStatement, "server", doctor.Fault, "cannot be created"},
		{"a server without its prefix", nil, []string{"SQL_DSN=u:swordfish@tcp(db:3306)/shop"}, noStatement, "server", doctor.Fault, "sqlite cannot be created: no such file"},
		{"a file in place of a folder", nil, []string{"SQL_DSN=sqlite:app.go/shop.db"}, noStatement, "server", doctor.Fault, "not a directory"},
		{"no database", nil, []string{"SQL_DSN=sqlite:nowhere.db", "SQL_MIGRATE=off"}, noStatement, "server", doctor.Fault, "sql.migrate is off"},
		{"not a database", nil, []string{"SQL_DSN=sqlite:doctor_test.go"}, noStatement, "server", doctor.Fault, "is no database of Portico's"},
		{"a pending migration", []string{"DELETE FROM goose_db_version WHERE version_id = 15"}, nil, noStatement, "migrations", doctor.Warning, "migration 15 not made yet"},
		{"a pending migration that nobody makes", []string{"DELETE FROM goose_db_version WHERE version_id = 15"}, []string{"SQL_MIGRATE=off"}, noStatement, "migrations", doctor.Fault, "sql.migrate is off"},
		{"a newer version", []string{"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)"}, nil, noStatement, "migrations", doctor.Warning, "by a newer Portico the migration 99, with which this one can work"},
		{"a newer version that refuses this one", []string{"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)", "CREATE TABLE migration_floor (migration INTEGER PRIMARY KEY)", "INSERT INTO migration_floor (migration) VALUES (99)"},
			nil, noStatement, "migrations", doctor.Fault, "does not know the migration 99"},
		{"no secret key", nil, nil, noStatement, "secret key", doctor.Warning, "are stored unencrypted"},
		{"another secret key", nil, []string{"AUTH_SECRET_KEY=" + apptest.SecretKey}, func(t *testing.T, c apptest.Environment) {
			c.With("PORTICO_AUTH_SECRET_KEY="+strings.Repeat("ab", 32)).MustRun(t, "credentials", "add-consumer", "--name", "ERP")
		}, "secret key", doctor.Fault, "set auth.secret_key (PORTICO_AUTH_SECRET_KEY) to the key the store was filled with"},
		{"a disabled administrator", []string{"UPDATE admin SET disabled = 1"}, nil, noStatement, "administrators", doctor.Fault, "administrator 1, who is disabled"},
		{"no administrator", []string{"DELETE FROM admin"}, nil, noStatement, "administrators", doctor.Fault, "administrator 1, who does not exist"},
		{"demo credentials", nil, nil, noStatement, "demo credentials", doctor.Warning, "whose secrets are public"},
		{"demo credentials for others", nil, []string{"LISTEN=0.0.0.0:0"}, noStatement, "demo credentials", doctor.Fault, "others can reach 0.0.0.0:0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			commands, path := demoStore(t)
			changeFile(t, path, tt.statements...)
			for _, s := range tt.settings {
				commands = commands.With("PORTICO_" + s)
			}
			tt.prepare(t, commands)
			requireFinding(t, runDoctor(t, commands), tt.check, tt.level, tt.want)
		})
	}
	t.Run("empty", func(t *testing.T) {
		_, commands := apptest.NewStore(t, apptest.SecretKey)
		commands.MustRun(t, "credentials", "list")
		requireFinding(t, runDoctor(t, commands), "records", doctor.Warning, "the store is empty")
	})
}

// TestDoctorRights examines a database as a user who may only read.
func TestDoctorRights(t *testing.T) {
	t.Parallel()
	dsn := demotest.Postgres(t)
	db := apptest.OpenStore(t, "postgres", dsn)
	apptest.Execute(t, db, "CREATE ROLE doctor_reader LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO doctor_reader")
	defer apptest.Execute(t, db, "DROP OWNED BY doctor_reader", "DROP ROLE doctor_reader")
	r := runDoctor(t, apptest.Environment{"PORTICO_SQL_DSN=" + strings.Replace(dsn, "portico@", "doctor_reader@", 1), "PORTICO_SQL_MEDIA_DIR=" + t.TempDir()})
	requireFinding(t, r, "rights", doctor.Fault, "the user cannot serve clients: it lacks INSERT on")
}

// TestDoctorConnections compares the connections of some replicas with the limit of a server.
func TestDoctorConnections(t *testing.T) {
	t.Parallel()
	for engine, newDSN := range map[string]func(testing.TB) string{"postgres": sqltest.Postgres, "mariadb": sqltest.MariaDB} {
		settings := apptest.Environment{"PORTICO_SQL_DSN=" + newDSN(t), "PORTICO_SQL_MEDIA_DIR=" + t.TempDir(), "PORTICO_SQL_WRITE_CONNECTIONS=6", "PORTICO_SQL_READ_CONNECTIONS=14"}
		for _, tt := range []struct {
			name, replicas string
			settings       []string
			level          doctor.Level
			want           string
		}{
			{"one", "1", nil, doctor.OK, "one replica opens at most 20 (--replicas counts more); the server accepts "},
			{"many", "29", nil, doctor.Warning, "29 replicas open at most 20 each, together 580, and the server accepts "},
			{"too many", "31", nil, doctor.Fault, "31 replicas open at most 20 each, together 620, and the server accepts "},
			{"through a pooler", "11", []string{"PORTICO_SQL_POOL_MODE=transaction", "PORTICO_SQL_MIGRATE=off"}, doctor.OK, "the pooler must accept as many"},
			{"no direct DSN", "1", []string{"PORTICO_SQL_POOL_MODE=transaction"}, doctor.Fault, "sql.direct_dsn is missing"},
		} {
			if engine == "mariadb" && tt.settings != nil {
				continue
			}
			t.Run(engine+"/"+tt.name, func(t *testing.T) {
				requireFinding(t, runDoctor(t, settings.With(tt.settings...), "--replicas", tt.replicas), "connections", tt.level, tt.want)
			})
		}
	}
}

// changeFile executes statements on a file of SQLite.
func changeFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	db := apptest.OpenStore(t, "sqlite", path)
	defer func() { _ = db.Close() }()
	apptest.Execute(t, db, statements...)
}

// TestDoctorNoTables examines a database of a server before the first start.
func TestDoctorNoTables(t *testing.T) {
	t.Parallel()
	r := runDoctor(t, apptest.Environment{"PORTICO_SQL_DSN=" + sqltest.Postgres(t), "PORTICO_SQL_MEDIA_DIR=" + t.TempDir()})
	requireFinding(t, r, "migrations", doctor.OK, "portico serve creates them")
	for _, check := range []string{"records", "secret key", "administrators", "demo credentials"} {
		requireFinding(t, r, check, doctor.NotChecked, "the tables are made first")
	}
}
