package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/sqlstore"
)

func importCredentialsCommand() *cobra.Command {
	var shop oldShop
	var admins bool
	cmd := credentialsSubcommand("import --from DSN", "Bring consumers and tokens along from a database of Magento 1 or OpenMage", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			return importCredentials(ctx, cmd, db, &shop, admins)
		})
	cmd.Long = `Bring consumers and access tokens along from a database of Magento 1 or OpenMage, so
that programs go on with the keys and tokens they have. All or nothing.

  portico import --from DSN customers             # first: customers' tokens need them
  portico credentials import --from DSN --admins --dry-run
  portico credentials import --from DSN --admins

A consumer keeps its id where that is free. A token comes along where its consumer
and its user are here: a customer of the same id and e-mail address, an
administrator of the same name. --admins brings administrators who are not here,
with their passwords, which work as before. Those who are not active in the old
shop are disabled here, with all their tokens: see "portico credentials
enable-admin".
Request tokens are left behind. A token that is revoked on either side is revoked
here afterwards.

A consumer or token that is here already, and differs, is left as it is and told
of; --replace makes it what it is in the old shop.
` + aboutOldShops
	shop.flags(cmd, "make consumers and tokens that are here, and differ, as the old shop has them")
	cmd.Flags().BoolVar(&admins, "admins", false, "bring administrators along, too")
	return cmd
}

// printedImport is what the command prints as JSON.
type printedImport struct {
	DryRun bool `json:"dry_run"`
	sqlstore.ImportReport
}

func importCredentials(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, shop *oldShop, admins bool) (err error) {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	if err := checkSecretKey(ctx, db.Credentials()); err != nil {
		return err
	}
	old, err := shop.open(ctx, cmd, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	progress, finish := spinner(cmd, "credentials")
	defer finish()
	done, err := db.Credentials().Import(ctx,
		sqlstore.ForeignCredentials{Admins: old.Admins(ctx), Consumers: old.Consumers(ctx), Tokens: old.Tokens(ctx)},
		sqlstore.ImportOptions{Admins: admins, Replace: shop.replace, DryRun: shop.dryRun, Progress: progress})
	if err != nil {
		return fmt.Errorf("%w\nnothing is stored", err)
	}
	finish()
	return write(cmd, printedImport{DryRun: shop.dryRun, ImportReport: done}, func(w io.Writer) { printImported(w, shop, done) })
}

func printImported(w io.Writer, shop *oldShop, done sqlstore.ImportReport) {
	tallies := []struct {
		name  string
		tally sqlstore.Tally
	}{{"administrators", done.Admins}, {"consumers", done.Consumers}, {"tokens", done.Tokens}}
	fmt.Fprintf(w, "\t%s\t%s\tAS THEY WERE\tDIFFER, LEFT\tSKIPPED\n", shop.wouldBe("ADDED"), shop.wouldBe("UPDATED"))
	for _, t := range tallies {
		skipped := 0
		for _, n := range t.tally.Skipped {
			skipped += n
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", t.name, t.tally.Added, t.tally.Updated, t.tally.Unchanged, t.tally.Differing, skipped)
	}
	for _, t := range tallies {
		for _, reason := range slices.Sorted(maps.Keys(t.tally.Skipped)) {
			fmt.Fprintf(w, "skipped %d %s: %s\n", t.tally.Skipped[reason], t.name, reason)
		}
	}
	for _, n := range done.Notes {
		fmt.Fprintf(w, "%s %q: %s\n", n.Kind, n.Name, n.Outcome)
	}
}
