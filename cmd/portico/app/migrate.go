package app

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// migrateCommand returns the command "migrate".
func migrateCommand(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create or update the tables of the database, and exit",
		Long: `Create the tables of the database of sql.dsn, or update them to this version, and
exit. "portico serve" does the same at its start unless sql.migrate is off. Run this
command once before an upgrade of several replicas, with the program of the new
version: then they need not do it, and need no right to change tables.

Only one process migrates a database server at a time; another one waits for it.
Running replicas go on meanwhile, except that a statement waits while its table is
being changed. It is safe to run the command again. There is no way back: restore a
backup instead.

Neither images nor the backend are touched. --json prints the names of the migrations
that the database lacked: {"migrations":["00001_store"]}.

The exit code is 0 if the tables are now those of this version, and 1 if the database
cannot be reached, or a migration fails; what that migration did is undone where the
database can do so (MariaDB and MySQL cannot).`,
		Example: `  portico migrate --config portico.yaml
  PORTICO_SQL_DSN_FILE=/run/secrets/dsn portico migrate --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			migrations, err := migrate(p, cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string][]string{"migrations": append([]string{}, migrations...)})
			}
			if len(migrations) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing to do: the tables are those of this version")
				return nil
			}
			fmt.Fprintln(cmd.OutOrStdout(), strings.Join(migrations, "\n"))
			return nil
		},
	}
	p.AddSettingFlags(cmd, "log.level", "log.format")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// migrate updates the tables of the configured database, and returns the names of the
// migrations that it lacked.
func migrate(p *program.Program, cmd *cobra.Command) ([]string, error) {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return nil, err
	}
	options, err := program.StoreOptions(cfg, program.NewLogger(cmd.ErrOrStderr(), cfg))
	if err != nil {
		return nil, err
	}
	options.Migrate, options.MediaDir = true, "" // the folder may not be there, or not be writable
	db, err := sqlstore.Open(cmd.Context(), options)
	if err != nil {
		return nil, fmt.Errorf("%w\nset sql.dsn (PORTICO_SQL_DSN) to the database to migrate", err)
	}
	return db.Migrations(), db.Close()
}
