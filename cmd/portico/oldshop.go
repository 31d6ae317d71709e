package main

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

// An oldShop is the database that the import commands read, as their flags name it.
type oldShop struct {
	from, fromFile, prefix string
	dryRun, replace        bool
}

// flags defines the flags. replaced says what --replace does.
func (o *oldShop) flags(cmd *cobra.Command, replaced string) {
	cmd.Flags().StringVar(&o.from, "from", "", "the old database, mysql:user:password@tcp(host:3306)/database")
	cmd.Flags().StringVar(&o.fromFile, "from-file", "", "file with the same, so that the password is in no list of processes; - is standard input")
	cmd.Flags().StringVar(&o.prefix, "prefix", "", "what stands before the name of every table there")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "store nothing, and tell what would be")
	cmd.Flags().BoolVar(&o.replace, "replace", false, replaced)
	cmd.MarkFlagsOneRequired("from", "from-file")
	cmd.MarkFlagsMutuallyExclusive("from", "from-file")
}

// open connects to the database, for records as the store of cfg has them.
func (o *oldShop) open(ctx context.Context, cmd *cobra.Command, cfg *config.Config) (*magento1.Database, error) {
	dsn := o.from
	if o.fromFile != "" {
		var err error
		if dsn, err = secretFile(cmd, o.fromFile); err != nil {
			return nil, err
		}
	}
	if !strings.HasPrefix(dsn, "mysql:") {
		return nil, errors.New(`the old database is one of MySQL or MariaDB: want "mysql:user:password@tcp(host:3306)/database"`)
	}
	schemas, err := storeSchemas(cfg)
	if err != nil {
		return nil, err
	}
	return magento1.Open(ctx, dsn, o.prefix, schemas)
}

// aboutOldShops is what both commands say of the database they read.
const aboutOldShops = `
The database is read while the shop runs, in small batches, and nothing is written
there: a user with the right to SELECT is enough. It takes MySQL 5.6 or MariaDB 10
or later. Times are taken as UTC, as these shops keep them; where one does not, add
its zone to the DSN: …/database?time_zone=%27%2B02%3A00%27

--dry-run stores nothing. What was stored before is found again: a second run
changes nothing, and one that was interrupted is simply run again.`

// spinner returns what shows how much of something has been looked at, on a terminal,
// and what ends the show.
func spinner(cmd *cobra.Command, of string) (progress func(done int), finish func()) {
	if report, _ := progressOn(cmd.ErrOrStderr()); report == nil {
		return nil, func() {}
	}
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(cmd.ErrOrStderr()), progressbar.OptionSetDescription(of),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	// A bar that cannot be drawn is no reason to stop.
	return func(done int) { _ = bar.Set(done) }, func() { _ = bar.Finish() }
}

// wouldBe puts a heading of what was stored.
func (o *oldShop) wouldBe(stored string) string {
	if o.dryRun {
		return fmt.Sprintf("WOULD BE %s", stored)
	}
	return stored
}
