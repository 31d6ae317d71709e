package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/config"
)

// An importSource holds the flags that name the Magento 1 or OpenMage database of the
// import commands.
type importSource struct {
	dsn, dsnFile, tablePrefix string
	dryRun, replace           bool
}

// addFlags defines the flags. replaceHelp is the help of --replace.
func (o *importSource) addFlags(cmd *cobra.Command, replaceHelp string) {
	cmd.Flags().StringVar(&o.dsn, "from", "", "the old database, mysql:user:password@tcp(host:3306)/database")
	cmd.Flags().StringVar(&o.dsnFile, "from-file", "", "file with the same, to keep the password out of the list of processes; - is standard input")
	cmd.Flags().StringVar(&o.tablePrefix, "prefix", "", "prefix of the table names in the old database")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "store nothing, and report what would be stored")
	cmd.Flags().BoolVar(&o.replace, "replace", false, replaceHelp)
	cmd.MarkFlagsOneRequired("from", "from-file")
	cmd.MarkFlagsMutuallyExclusive("from", "from-file")
}

// open connects to the database. It reads records with the attributes that the store of
// cfg has.
func (o *importSource) open(ctx context.Context, cmd *cobra.Command, cfg *config.Config) (*magento1.Database, error) {
	dsn := o.dsn
	if o.dsnFile != "" {
		var err error
		if dsn, err = readSecretFile(cmd, o.dsnFile); err != nil {
			return nil, err
		}
	}
	if !strings.HasPrefix(dsn, "mysql:") {
		return nil, errors.New(`the old database must be MySQL or MariaDB: want "mysql:user:password@tcp(host:3306)/database"`)
	}
	schemas, err := storeSchemas(cfg)
	if err != nil {
		return nil, err
	}
	return magento1.Open(ctx, magento1.Options{DSN: dsn, Prefix: o.tablePrefix, Schemas: schemas})
}

// importSourceHelp is the part of the help that both import commands share.
const importSourceHelp = `
The command reads the old database in small batches while the shop runs, and writes
nothing there: a user with the right to SELECT is enough. The database must be MySQL 5.6,
MariaDB 10 or later. Times are read as UTC, as these shops store them; if a shop uses
another zone, add it to the DSN: …/database?time_zone=%27%2B02%3A00%27

--dry-run stores nothing. Commands can be repeated: a second run changes nothing, and
continues a run that was interrupted.`

// newSpinner returns a function that shows on the terminal how many items are done, and
// one that removes the display. progress is nil unless standard error is a terminal.
func newSpinner(cmd *cobra.Command, description string) (progress func(done int), finish func()) {
	if report, _ := newProgressBar(cmd.ErrOrStderr()); report == nil {
		return nil, func() {}
	}
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(cmd.ErrOrStderr()), progressbar.OptionSetDescription(description),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	// Failing to draw the bar must not stop the work.
	return func(done int) { _ = bar.Set(done) }, func() { _ = bar.Finish() }
}

// heading returns a column heading such as STORED, or WOULD BE STORED for a dry run.
func (o *importSource) heading(stored string) string {
	if o.dryRun {
		return fmt.Sprintf("WOULD BE %s", stored)
	}
	return stored
}
