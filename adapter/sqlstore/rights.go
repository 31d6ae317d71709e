package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
)

// An inspector holds the differences between engines for inspecting a database.
type inspector struct {
	// versionSQL selects the version of the server as text. describe returns it with the name of
	// the system, and the oldest supported version.
	versionSQL string
	describe   func(version string) (name, oldest string)
	// capacitySQL selects the number of connections that the server grants the user at a time; ""
	// for an engine without a server.
	capacitySQL string
	// rights returns the rights that the user lacks to write some tables, and the rights that the
	// user lacks to change them, in the words of the server.
	rights func(ctx context.Context, p engine.Pools, tables []string) (writes, changes []string, err error)
}

// inspectorOf returns the inspector of an engine.
func inspectorOf(e *engine.Engine) inspector {
	switch e.System {
	case "sqlite": // a part of this program
		return inspector{
			versionSQL: "SELECT sqlite_version()",
			describe:   func(string) (name, oldest string) { return "SQLite", "" },
			rights: func(ctx context.Context, p engine.Pools, _ []string) (writes, changes []string, err error) {
				return nil, nil, tryTable(ctx, p.Writer)
			},
		}
	case "postgresql": // the tables have identity columns, which version 10 introduced
		return inspector{
			versionSQL: "SELECT current_setting('server_version')",
			describe:   func(string) (name, oldest string) { return "PostgreSQL", "10" },
			// Some are reserved for administrators, and roles and databases may have limits, where -1
			// stands for none.
			capacitySQL: "SELECT LEAST(CAST(current_setting('max_connections') AS BIGINT) - CAST(current_setting('superuser_reserved_connections') AS BIGINT)" +
				" - COALESCE(CAST(current_setting('reserved_connections', true) AS BIGINT), 0)," +
				" (SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user)," +
				" (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database()))",
			rights: postgresRights,
		}
	default: // the tables have check constraints and defaults that older versions do not accept
		return inspector{
			versionSQL: "SELECT VERSION()",
			describe: func(version string) (name, oldest string) {
				if strings.Contains(version, "MariaDB") {
					return "MariaDB", "10.3"
				}
				return "MySQL", "8.0"
			},
			capacitySQL: "SELECT CAST(IF(@@max_user_connections = 0, @@max_connections, LEAST(@@max_connections, @@max_user_connections)) AS SIGNED)",
			rights:      mysqlRights,
		}
	}
}

// insufficientPrivilege is the SQLSTATE of a statement that the user may not run.
const insufficientPrivilege = "42501"

// postgresRights tries to create a table, and queries the rights on the existing tables.
func postgresRights(ctx context.Context, p engine.Pools, tables []string) (writes, changes []string, err error) {
	err = tryTable(ctx, p.Writer)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && refused.Code == insufficientPrivilege:
		changes = append(changes, "CREATE on the schema")
	case err != nil:
		return nil, nil, err
	}
	tables = append([]string{engine.VersionTable}, tables...)
	for _, right := range []string{"SELECT", "INSERT", "UPDATE", "DELETE"} {
		denied, err := postgresTables(ctx, p.Readers, tables, "NOT has_table_privilege(oid, '"+right+"')")
		if err != nil {
			return nil, nil, err
		}
		writes = append(writes, rightOn(right, denied)...)
	}
	// Only the owner of a table may alter it.
	others, err := postgresTables(ctx, p.Readers, tables, "NOT pg_has_role(relowner, 'USAGE')")
	return writes, append(changes, rightOn("ownership", others)...), err
}

// postgresTables returns the given tables that exist and meet a condition on pg_class.
func postgresTables(ctx context.Context, readers *sql.DB, tables []string, condition string) ([]string, error) {
	var found string // names have no spaces
	text := "SELECT COALESCE(string_agg(CAST(relname AS TEXT), ' ' ORDER BY relname), '') FROM pg_class WHERE oid IN (to_regclass('" +
		strings.Join(tables, "'), to_regclass('") + "')) AND " + condition
	err := readers.QueryRowContext(ctx, text).Scan(&found)
	return strings.Fields(found), err
}

// rightOn describes a right that is missing on tables, and names one of them.
func rightOn(right string, tables []string) []string {
	switch len(tables) {
	case 0:
		return nil
	case 1:
		return []string{right + " on " + tables[0]}
	default:
		return []string{fmt.Sprintf("%s on %s and %d more tables", right, tables[0], len(tables)-1)}
	}
}

// A mysqlProbe is a statement that only fails, with another error if the user lacks the right to
// run it: changes of tables cannot be rolled back here, and the rights that roles give are not
// listed everywhere.
type mysqlProbe struct {
	right, statement string // the statement has %s for the name of a table that does not exist
	changes          bool   // the right is one to change tables
}

// mysqlProbes returns a probe for each right that Portico needs.
func mysqlProbes() []mysqlProbe {
	return []mysqlProbe{
		{"SELECT", "SELECT 1 FROM %s", false},
		{"INSERT", "INSERT INTO %s (a) VALUES (1)", false},
		{"UPDATE", "UPDATE %s SET a = 1", false},
		{"DELETE", "DELETE FROM %s", false},
		{"CREATE", "CREATE TABLE %s (a INT, a INT)", true}, // of the same name
		{"ALTER", "ALTER TABLE %s ADD a INT", true},
		{"INDEX", "CREATE INDEX a ON %s (a)", true},
	}
}

// mysqlRights runs the probes.
func mysqlRights(ctx context.Context, p engine.Pools, _ []string) (writes, changes []string, err error) {
	const noTable, duplicateColumn = 1146, 1060
	const tableDenied, databaseDenied = 1142, 1044
	name := probeName()
	for _, probe := range mysqlProbes() {
		_, err := p.Writer.ExecContext(ctx, fmt.Sprintf(probe.statement, name))
		var refused *mysql.MySQLError
		switch {
		case err == nil:
			return nil, nil, fmt.Errorf("the table %s exists", name)
		case !errors.As(err, &refused):
			return nil, nil, err
		case slices.Contains([]uint16{noTable, duplicateColumn}, refused.Number):
		case !slices.Contains([]uint16{tableDenied, databaseDenied}, refused.Number):
			return nil, nil, err
		case probe.changes:
			changes = append(changes, probe.right)
		default:
			writes = append(writes, probe.right)
		}
	}
	return writes, changes, nil
}

// probeName returns the name of a table that does not exist.
func probeName() string { return "portico_probe_" + strings.ToLower(rand.Text()[:12]) }

// tryTable creates a table and fills it, and rolls both back.
func tryTable(ctx context.Context, writer *sql.DB) (err error) {
	tx, err := writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = engine.AwaitTxEnd(ctx, tx.Rollback) }()
	name := probeName()
	if _, err = tx.ExecContext(ctx, "CREATE TABLE "+name+" (id BIGINT PRIMARY KEY)"); err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO "+name+" (id) VALUES (1)")
	}
	return err
}
