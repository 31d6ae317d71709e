package records

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// An importSource holds the flags that the import commands share: they name the database of Magento
// 1 or OpenMage, and set the options for reading it.
type importSource struct {
	dsn, dsnFile, tablePrefix string
	charset                   string
	oldTLS                    bool
	rate                      int
	dryRun, update            bool
}

// addSourceFlags defines the flags that name the database and set the options for reading it.
func (o *importSource) addSourceFlags(cmd *cobra.Command) {
	o.addDatabaseFlags(cmd)
	o.addRateFlag(cmd, "rows to read per second at most, to spare the running shop; 0 is no limit")
	cmd.MarkFlagsOneRequired("from", "from-file")
	cmd.MarkFlagsMutuallyExclusive("from", "from-file")
}

// addRateFlag defines the flag that bounds the rate.
func (o *importSource) addRateFlag(cmd *cobra.Command, help string) {
	cmd.Flags().IntVar(&o.rate, "rate", 0, help)
}

// addDatabaseFlags defines the flags that name the database.
func (o *importSource) addDatabaseFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.dsn, "from", "", "the old database, mysql:user:password@tcp(host:3306)/database")
	flags.StringVar(&o.dsnFile, "from-file", "", "file with the same, to keep the password out of the list of processes; - is standard input")
	flags.StringVar(&o.tablePrefix, "prefix", "", "prefix of the table names in the old database")
	flags.StringVar(&o.charset, "charset", "", "encoding that texts really have if the tables claim another one, such as windows-1252")
	flags.BoolVar(&o.oldTLS, "old-tls", false, "accept TLS 1.0 and 1.1 of an old server, for a DSN with tls=")
}

// addFlags defines all flags. updateHelp is the help of --update.
func (o *importSource) addFlags(cmd *cobra.Command, updateHelp string) {
	o.addSourceFlags(cmd)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "store nothing, and report what would be stored")
	cmd.Flags().BoolVar(&o.update, "update", false, updateHelp)
	cmd.Flags().BoolVar(&o.update, "replace", false, "the former name of --update")
	if err := cmd.Flags().MarkHidden("replace"); err != nil {
		panic(err) // the flag is the one defined above
	}
}

// read returns the DSN that the flags give. Errors do not contain it.
func (o *importSource) read(cmd *cobra.Command) (string, error) {
	if cmd.Flags().Changed("replace") {
		fmt.Fprintln(cmd.ErrOrStderr(), "--replace is deprecated: it is now called --update")
	}
	dsn := o.dsn
	if o.dsnFile != "" {
		var err error
		if dsn, err = program.ReadSecretFile(cmd, o.dsnFile); err != nil {
			return "", err
		}
	}
	if !strings.HasPrefix(dsn, "mysql:") {
		return "", errors.New(`the old database must be MySQL or MariaDB: want "mysql:user:password@tcp(host:3306)/database"`)
	}
	return dsn, nil
}

// open connects to the database. It reads records with the attributes that the store of cfg has. It
// calls skipped, unless it is nil, for each record or value that the reader leaves out.
func (o *importSource) open(ctx context.Context, cmd *cobra.Command, cfg *config.Config, skipped func(magento1.Skipped)) (*magento1.Database, error) {
	dsn, err := o.read(cmd)
	if err != nil {
		return nil, err
	}
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return nil, err
	}
	options := o.options(dsn, schemas)
	options.Skipped = skipped
	db, err := magento1.Open(ctx, options)
	return db, o.explain(err)
}

// options returns how to read the database of a DSN.
func (o *importSource) options(dsn string, schemas *adapter.Schemas) magento1.Options {
	return magento1.Options{ServerOptions: magento1.ServerOptions{DSN: dsn, Prefix: o.tablePrefix, Charset: o.charset, OldTLS: o.oldTLS, Rate: o.rate}, Schemas: schemas}
}

// explain adds to an error of connecting which flag may help.
func (o *importSource) explain(err error) error {
	if errors.Is(err, magento1.ErrOldTLS) && !o.oldTLS {
		return fmt.Errorf("%w: add --old-tls", err)
	}
	return err
}

// settingTexts returns the parts of the configuration that determine the records that an import
// makes.
func settingTexts(cfg *config.Config) []string {
	texts := make([]string, len(cfg.Attributes))
	for i, a := range cfg.Attributes {
		texts[i] = fmt.Sprintf("attribute %q %q %q %q", a.Resource, a.Name, a.Kind, a.Scope)
	}
	return texts
}

// importSourceHelp is the part of the help that the import commands share.
const importSourceHelp = `
The command reads the old database in small batches while the shop runs, and writes
nothing there: a user with the right to SELECT is enough. The database must be MySQL 5.6,
MariaDB 10 or later. --rate bounds how much it reads per second. Times are read as UTC, as
these shops store them; if a shop uses another zone, add it to the DSN:
…/database?time_zone=%27%2B02%3A00%27. Add tls=true to the DSN for TLS, and --old-tls for a
server that speaks no newer one than 1.1. --charset names the encoding that texts really
have, if umlauts arrive as two characters each.

--dry-run stores nothing. Commands can be repeated: a second run changes nothing, and
continues a run that was interrupted.`
