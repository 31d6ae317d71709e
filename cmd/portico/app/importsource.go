package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/config"
)

// An importSource holds the flags that the import commands share: they name the database of
// Magento 1 or OpenMage, and say how to read it.
type importSource struct {
	dsn, dsnFile, tablePrefix string
	charset                   string
	oldTLS                    bool
	rate                      int
	dryRun, update            bool
}

// addSourceFlags defines the flags that name the database.
func (o *importSource) addSourceFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.dsn, "from", "", "the old database, mysql:user:password@tcp(host:3306)/database")
	flags.StringVar(&o.dsnFile, "from-file", "", "file with the same, to keep the password out of the list of processes; - is standard input")
	flags.StringVar(&o.tablePrefix, "prefix", "", "prefix of the table names in the old database")
	flags.StringVar(&o.charset, "charset", "", "encoding that texts really have if the tables claim another one, such as windows-1252")
	flags.BoolVar(&o.oldTLS, "old-tls", false, "accept TLS 1.0 and 1.1 of an old server, for a DSN with tls=")
	flags.IntVar(&o.rate, "rate", 0, "rows to read per second at most, to spare the running shop; 0 is no limit")
	cmd.MarkFlagsOneRequired("from", "from-file")
	cmd.MarkFlagsMutuallyExclusive("from", "from-file")
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
		if dsn, err = readSecretFile(cmd, o.dsnFile); err != nil {
			return "", err
		}
	}
	if !strings.HasPrefix(dsn, "mysql:") {
		return "", errors.New(`the old database must be MySQL or MariaDB: want "mysql:user:password@tcp(host:3306)/database"`)
	}
	return dsn, nil
}

// open connects to the database. It reads records with the attributes that the store of
// cfg has. skipped is called for what the reader leaves out; nil: nobody asks.
func (o *importSource) open(ctx context.Context, cmd *cobra.Command, cfg *config.Config, skipped func(magento1.Skipped)) (*magento1.Database, error) {
	dsn, err := o.read(cmd)
	if err != nil {
		return nil, err
	}
	schemas, err := storeSchemas(cfg)
	if err != nil {
		return nil, err
	}
	return o.openDSN(ctx, dsn, schemas, skipped)
}

func (o *importSource) openDSN(ctx context.Context, dsn string, schemas *adapter.Schemas, skipped func(magento1.Skipped)) (*magento1.Database, error) {
	return magento1.Open(ctx, magento1.Options{
		DSN: dsn, Prefix: o.tablePrefix, Charset: o.charset, OldTLS: o.oldTLS, Rate: o.rate, Schemas: schemas, Skipped: skipped,
	})
}

// settingsDigest returns a checksum of what decides, besides the old shop, which records an
// import makes of it: an unchanged range is left out only if this has not changed either.
func (o *importSource) settingsDigest(dsn string, cfg *config.Config, withImages bool) string {
	_, parameters, _ := strings.Cut(dsn[strings.LastIndex(dsn, "/")+1:], "?")
	query, err := url.ParseQuery(parameters)
	if err != nil {
		query = url.Values{"time_zone": {parameters}}
	}
	text := fmt.Sprintf("form 1\ncharset %q\ntime zone %q\nimages %t\n", o.charset, query.Get("time_zone"), withImages)
	for _, a := range cfg.Attributes {
		text += fmt.Sprintf("attribute %q %q %q %q\n", a.Resource, a.Name, a.Kind, a.Scope)
	}
	return shortHash(text)
}

// shortHashBytes is long enough for texts that do not differ on purpose.
const shortHashBytes = 10

// shortHash returns the beginning of the SHA-256 of a text, in hexadecimal.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:shortHashBytes])
}

// sourceName returns the name under which a store notes the old shop, at most 64 bytes: the
// beginning of the database's name, to tell shops apart at a glance, and a checksum of what
// identifies it.
func sourceName(id magento1.Identity) string {
	return fmt.Sprintf("%.40s-%s", asciiName(id.Database), shortHash(id.Server+"\x00"+id.Database+"\x00"+id.Prefix))
}

// asciiName replaces everything in a name but letters, digits and underscores.
func asciiName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
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
