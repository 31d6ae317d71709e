package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// migrateCommand returns the command "migrate", which is the same as "migrate up".
func migrateCommand(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create or update the tables of the database, and exit",
		Long: `Create the tables of the database of sql.dsn, or update them to this version, and
exit. "portico serve" does the same at its start unless sql.migrate is off. Run this
command once before an upgrade of several replicas, with the program of the new
version: then they need not do it, and need no right to change tables.

Only one process migrates a database at a time; others wait for it, for up to ten
minutes, and say so in the log. Running replicas of the version before go on meanwhile
and afterwards, except that a statement waits while its table is being changed. It is
safe to run the command again. There is no way back: restore a backup instead.

Neither images nor the backend are touched. --json prints the names of the migrations
that the database lacked: {"migrations":["00001_store"]}.

The exit code is 0 if the tables are now those of this version, and 1 if the database
cannot be reached, is newer than the program, or a migration fails; what that migration
did is undone where the database can do so. MariaDB and MySQL cannot: there the next run
goes on after the last statement that was executed, also after a kill.

"portico migrate" alone does the same as "portico migrate up".`,
		Example: `  portico migrate up --config portico.yaml
  PORTICO_SQL_DSN_FILE=/run/secrets/dsn portico migrate up --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return migrateUp(p, cmd, asJSON) },
	}
	up := &cobra.Command{
		Use: "up", Short: cmd.Short, Long: cmd.Long, Example: cmd.Example, Args: cobra.NoArgs, RunE: cmd.RunE,
	}
	status := &cobra.Command{
		Use:   "status",
		Short: "Say whether the tables of the database are those of this version",
		Long: `Say whether the tables of the database of sql.dsn are those of this version, and
change nothing. --json prints the numbers of the migrations: {"applied":[1,2],
"pending":[3],"unknown":[],"oldest":0}. unknown are those of a later version, and
oldest is the one that a program must know to use the tables.

The exit code is 0 if they are, also if a later version has added something with which
this one can work. It is 1 if migrations are pending, if the database is newer than the
program, or if it cannot be reached.`,
		Example: `  portico migrate status --config portico.yaml
  portico migrate status --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return migrateStatus(p, cmd, asJSON) },
	}
	for _, c := range []*cobra.Command{cmd, up, status} {
		p.AddSettingFlags(c, "log.level", "log.format")
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	}
	cmd.AddCommand(up, status)
	return cmd
}

// migrateUp migrates the configured database, and prints the migrations that it has applied.
func migrateUp(p *program.Program, cmd *cobra.Command, asJSON bool) error {
	db, err := openToMigrate(p, cmd, true)
	if err != nil {
		return err
	}
	migrations := db.Migrations()
	switch {
	case asJSON:
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(map[string][]string{"migrations": append([]string{}, migrations...)})
	case len(migrations) == 0:
		fmt.Fprintln(cmd.OutOrStdout(), "nothing to do: the tables are those of this version")
	default:
		fmt.Fprintln(cmd.OutOrStdout(), strings.Join(migrations, "\n"))
	}
	return errors.Join(err, db.Close())
}

// migrateStatus prints the migrations of the configured database.
func migrateStatus(p *program.Program, cmd *cobra.Command, asJSON bool) error {
	db, err := openToMigrate(p, cmd, false)
	if err != nil {
		return err
	}
	versions, err := db.Versions(cmd.Context())
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if asJSON {
		all := func(numbers []int64) []int64 { return append([]int64{}, numbers...) }
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
			Applied []int64 `json:"applied"`
			Pending []int64 `json:"pending"`
			Unknown []int64 `json:"unknown"`
			Oldest  int64   `json:"oldest"`
		}{all(versions.Applied), all(versions.Pending), all(versions.Unknown), versions.Oldest})
		if err != nil {
			return err
		}
	}
	switch {
	case versions.TooNew():
		return fmt.Errorf("the database is newer than this program, which does not know migration %d: use the program of that version", versions.Oldest)
	case len(versions.Pending) > 0:
		return fmt.Errorf("%d migrations are pending, from %d to %d: run \"portico migrate up\"", len(versions.Pending), versions.Pending[0], versions.Pending[len(versions.Pending)-1])
	case asJSON:
	case len(versions.Unknown) > 0:
		fmt.Fprintf(cmd.OutOrStdout(), "the tables are those of a later version, with which this one can work: it added the migrations from %d on\n", versions.Unknown[0])
	default:
		fmt.Fprintln(cmd.OutOrStdout(), "the tables are those of this version")
	}
	return nil
}

// openToMigrate opens the configured database, and migrates it or not.
func openToMigrate(p *program.Program, cmd *cobra.Command, migrate bool) (*sqlstore.DB, error) {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return nil, err
	}
	options, err := program.StoreOptions(cfg, program.NewLogger(cmd.ErrOrStderr(), cfg))
	if err != nil {
		return nil, err
	}
	options.Migrate, options.MediaDir, options.Media = migrate, "", nil // the folder may not be there, or not be writable
	db, err := sqlstore.Open(cmd.Context(), options)
	if err != nil {
		return nil, fmt.Errorf("%w\nset sql.dsn (PORTICO_SQL_DSN) to the database to migrate", err)
	}
	return db, nil
}
