package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
)

// goose runs all statements of a migration and then notes the migration. MySQL and MariaDB commit
// each CREATE and ALTER immediately, so that after a kill half-way every later run would fail at the
// first table that exists. On these servers each statement is noted as well:
//
//   - A statement that changes tables is noted before it runs as begun, and afterwards as done. After
//     a kill in between it runs again, and an error which means that its change exists counts as
//     success.
//   - A statement that changes rows runs in one transaction with its note.
//
// A statement that the server has refused no longer counts as begun, so that the next run does not
// mistake another program's table for its own. The notes are deleted when goose notes the whole
// migration.

// createSteps creates the table of these notes. It stays: dropping it would take one more right.
const createSteps = "CREATE TABLE IF NOT EXISTS migration_step (migration BIGINT NOT NULL PRIMARY KEY, done BIGINT NOT NULL, begun BIGINT NOT NULL)" +
	" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"

// steppedMigrations returns the migrations in a folder as functions that run them step by step.
func steppedMigrations(files fs.FS) (all []*goose.Migration, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		m := &steppedMigration{version, statementsOf(string(text))}
		one := goose.NewGoMigration(version, &goose.GoFunc{RunTx: m.run}, nil)
		one.Source = strings.TrimSuffix(name, ".sql") + ".go" // goose requires this extension for its type
		all = append(all, one)
	}
	return all, nil
}

// statementsOf returns the statements of a migration file, each of which ends with the line that
// ends with a semicolon.
func statementsOf(file string) (all []string) {
	var statement strings.Builder
	for line := range strings.Lines(file) {
		if text := strings.TrimSpace(line); text == "" || strings.HasPrefix(text, "--") {
			continue
		}
		statement.WriteString(line)
		if text, ends := strings.CutSuffix(strings.TrimSpace(statement.String()), ";"); ends {
			all = append(all, text)
			statement.Reset()
		}
	}
	return all
}

// A steppedMigration is a migration of a server that commits each change of a table.
type steppedMigration struct {
	version    int64
	statements []string
}

// run executes the statements that have not been executed. tx is the connection of goose, which has
// no transaction after the first change of a table.
func (m *steppedMigration) run(ctx context.Context, tx *sql.Tx) error {
	var done, begun int
	err := m.exec(ctx, tx, createSteps)
	if err == nil {
		err = tx.QueryRowContext(ctx, fmt.Sprintf("SELECT done, begun FROM migration_step WHERE migration = %d", m.version)).Scan(&done, &begun)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = m.exec(ctx, tx, fmt.Sprintf("INSERT INTO migration_step (migration, done, begun) VALUES (%d, 0, 0)", m.version))
	}
	for ; err == nil && done < len(m.statements); done++ {
		if statement := m.statements[done]; changesRows(statement) {
			err = m.exec(ctx, tx, "START TRANSACTION", statement, m.note("done", done+1), "COMMIT")
		} else {
			err = m.changeTable(ctx, tx, done+1, begun == done+1)
		}
	}
	if err != nil {
		return err
	}
	// goose notes the migration, and commits.
	return m.exec(ctx, tx, "START TRANSACTION", fmt.Sprintf("DELETE FROM migration_step WHERE migration = %d", m.version))
}

// changeTable executes the statement with a number, from 1. interrupted means that it was begun
// before, so that its change may exist.
func (m *steppedMigration) changeTable(ctx context.Context, tx *sql.Tx, number int, interrupted bool) error {
	if err := m.exec(ctx, tx, m.note("begun", number)); err != nil {
		return err
	}
	err := m.exec(ctx, tx, m.statements[number-1])
	if interrupted && isChangedAlready(err) {
		err = nil
	}
	if _, refused := errors.AsType[*mysql.MySQLError](err); refused {
		return errors.Join(err, m.exec(ctx, tx, m.note("begun", 0)))
	}
	if err != nil {
		return err
	}
	return m.exec(ctx, tx, m.note("done", number))
}

// note returns the statement that stores the number of a statement in a column.
func (m *steppedMigration) note(column string, number int) string {
	return fmt.Sprintf("UPDATE migration_step SET %s = %d WHERE migration = %d", column, number, m.version)
}

// exec executes statements up to the first that fails.
func (m *steppedMigration) exec(ctx context.Context, tx *sql.Tx, statements ...string) error {
	for _, text := range statements {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// changesRows reports whether a statement changes rows and no table.
func changesRows(statement string) bool {
	verb, _, _ := strings.Cut(statement, " ")
	return slices.Contains([]string{"INSERT", "UPDATE", "DELETE"}, strings.ToUpper(verb))
}

// isChangedAlready reports whether a server refuses a change of a table because it exists already.
func isChangedAlready(err error) bool {
	const tableExists, duplicateColumn, duplicateKey, nothingToDrop = 1050, 1060, 1061, 1091
	refused, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains([]uint16{tableExists, duplicateColumn, duplicateKey, nothingToDrop}, refused.Number)
}

// completeVersionTable enters the row without which goose refuses to run, if the process that created
// its table was killed.
func (e *Engine) completeVersionTable(ctx context.Context, pool *sql.DB) error {
	rows, exists, err := e.numbers(ctx, pool, VersionTable, "SELECT version_id FROM "+VersionTable)
	if err != nil || !exists || len(rows) > 0 {
		return err
	}
	_, err = pool.ExecContext(ctx, "INSERT INTO "+VersionTable+" (version_id, is_applied) VALUES (0, true)")
	return err
}
