package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// inspectSQLite returns the inspector of SQLite, which is a part of this program.
func inspectSQLite() inspector {
	return inspector{
		versionSQL: "SELECT sqlite_version()",
		describe:   func(string) (name, oldest string) { return "SQLite", "" },
		rights:     func(ctx context.Context, db *DB, _ *Inspection) error { return tryTable(ctx, db) },
	}
}

// inspectPostgres returns the inspector of PostgreSQL. The tables have identity columns, which
// version 10 has brought.
func inspectPostgres() inspector {
	return inspector{
		versionSQL: "SELECT current_setting('server_version')",
		describe:   func(string) (name, oldest string) { return "PostgreSQL", "10" },
		rights:     postgresRights,
	}
}

// insufficientPrivilege is the SQLSTATE of a statement that the user may not run.
const insufficientPrivilege = "42501"

// postgresRights tries to create a table, and asks for the rights to those that exist.
func postgresRights(ctx context.Context, db *DB, i *Inspection) error {
	err := tryTable(ctx, db)
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && refused.Code == insufficientPrivilege:
		i.MissingChanges = append(i.MissingChanges, "CREATE on the schema")
	case err != nil:
		return err
	}
	for _, right := range []string{"SELECT", "INSERT", "UPDATE", "DELETE"} {
		denied, err := postgresTables(ctx, db, "NOT has_table_privilege(oid, '"+right+"')")
		if err != nil {
			return err
		}
		i.MissingWrites = append(i.MissingWrites, rightOn(right, denied)...)
	}
	// Only the owner of a table may alter it.
	others, err := postgresTables(ctx, db, "NOT pg_has_role(relowner, 'USAGE')")
	i.MissingChanges = append(i.MissingChanges, rightOn("ownership", others)...)
	return err
}

// postgresTables returns the names of those of Portico's tables that meet a condition on
// pg_class.
func postgresTables(ctx context.Context, db *DB, condition string) ([]string, error) {
	arguments := []any{versionTable, "oauth_consumer", "oauth_token", "oauth_nonce"}
	for _, t := range db.tables {
		arguments = append(arguments, t.name)
	}
	marks := strings.TrimSuffix(strings.Repeat("to_regclass(?), ", len(arguments)), ", ")
	text := "SELECT relname FROM pg_class WHERE oid IN (" + marks + ") AND " + condition + " ORDER BY relname"
	return selectColumn[string](ctx, db.readers.QueryContext, db.engine.rebind(text), arguments...)
}

// rightOn describes a right that is missing on tables, of which it names one.
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

// inspectMySQL returns the inspector of MySQL and MariaDB. The tables have check constraints and
// defaults that older versions do not accept.
func inspectMySQL() inspector {
	return inspector{
		versionSQL: "SELECT VERSION()",
		describe: func(version string) (name, oldest string) {
			if strings.Contains(version, "MariaDB") {
				return "MariaDB", "10.3"
			}
			return "MySQL", "8.0"
		},
		rights: mysqlRights,
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
func mysqlRights(ctx context.Context, db *DB, i *Inspection) error {
	const noTable, duplicateColumn = 1146, 1060
	const tableDenied, databaseDenied = 1142, 1044
	name := probeName()
	for _, p := range mysqlProbes() {
		_, err := db.writer.ExecContext(ctx, fmt.Sprintf(p.statement, name))
		var refused *mysql.MySQLError
		switch {
		case err == nil:
			return fmt.Errorf("the table %s exists", name)
		case !errors.As(err, &refused):
			return err
		case slices.Contains([]uint16{noTable, duplicateColumn}, refused.Number):
		case !slices.Contains([]uint16{tableDenied, databaseDenied}, refused.Number):
			return err
		case p.changes:
			i.MissingChanges = append(i.MissingChanges, p.right)
		default:
			i.MissingWrites = append(i.MissingWrites, p.right)
		}
	}
	return nil
}
