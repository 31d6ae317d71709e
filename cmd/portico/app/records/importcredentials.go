package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	stored "github.com/portico-commerce/portico/adapter/sqlstore/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/contracttests/report"
)

// CredentialsImportCommand returns the command "credentials import".
func CredentialsImportCommand(p *program.Program) *cobra.Command {
	var source importSource
	var admins bool
	cmd := credentials.Subcommand(p, "import --from DSN", "Import consumers and tokens from a database of Magento 1 or OpenMage", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db *sqlstore.DB, _ []string) error {
			return importCredentialsAlone(ctx, p, cmd, db, &source, stored.ImportOptions{Admins: admins})
		})
	cmd.Long = `Import consumers and access tokens from a database of Magento 1 or OpenMage, so that
programs keep their keys and tokens. The command imports everything or nothing. It is
another name of "portico import credentials".

  portico import --from DSN customers             # first: customers' tokens need them
  portico credentials import --from DSN --admins --dry-run
  portico credentials import --from DSN --admins

A consumer keeps its id if the id is free. A token is imported if the store has its
consumer and its user: a customer with the same id and e-mail address, or an
administrator with the same name. --admins imports the administrators that the store
lacks, with their passwords. Administrators who are inactive in the legacy store are disabled
in the store, with all their tokens: see "portico credentials enable-admin".
Request tokens are not imported. A token that is revoked in the legacy store or in the store
is revoked in the store afterwards.

The REST roles are imported, too: of Guests, of Customers, and of each administrator, who may
then make the same calls here as in the legacy store. An administrator without a role can make
none. A role that was set here with "portico credentials set-role" stays. What cannot be carried
over, such as a rule for a resource that the contract does not have, is named and allows nothing.

A consumer or token that the store has already and that differs stays unchanged, and the
command reports it. With --update that of the legacy store replaces it.
` + importSourceHelp
	source.addFlags(cmd, "replace consumers and tokens that differ by those of the legacy store")
	cmd.Flags().BoolVar(&admins, "admins", false, "import administrators, too")
	return cmd
}

// printedImport is the JSON output of the command.
type printedImport struct {
	DryRun bool `json:"dry_run"`
	stored.ImportReport
}

// importCredentialsAlone runs the command.
func importCredentialsAlone(ctx context.Context, p *program.Program, cmd *cobra.Command, db *sqlstore.DB, source *importSource, o stored.ImportOptions) (err error) {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return err
	}
	legacyDB, err := source.open(ctx, cmd, cfg, func(s magento1.Skipped) {
		if s.Reason == magento1.ReasonVersion {
			fmt.Fprintln(cmd.ErrOrStderr(), importer.MissingInVersion(s))
		}
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, legacyDB.Close()) }()
	if err := program.CheckSecretKey(ctx, db.Credentials()); err != nil {
		return err
	}
	if !source.dryRun {
		release, err := db.Imports().Lock(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = release() }() // closing the database releases it, too
	}
	bar := report.NewBar(cmd.ErrOrStderr())
	defer bar.Clear()
	o.Replace, o.DryRun, o.Progress = source.update, source.dryRun, func(done int) { bar.Show(done, -1, "credentials") }
	done, err := importer.Credentials(ctx, db, legacyDB, o)
	if err != nil {
		return err
	}
	return program.WriteResult(cmd, printedImport{DryRun: source.dryRun, ImportReport: done}, func(w io.Writer) { printImportedCredentials(w, source.dryRun, done) })
}

// printImportedCredentials writes the counts as a table, followed by the reasons for skipping
// credentials, the notes on single ones, and the rows of roles that allow nothing here.
func printImportedCredentials(w io.Writer, dryRun bool, done stored.ImportReport) {
	tallies := []struct {
		name  string
		tally stored.Tally
	}{{"administrators", done.Admins}, {"consumers", done.Consumers}, {"tokens", done.Tokens}}
	fmt.Fprintf(w, "\t%s\t%s\tUNCHANGED\tDIFFERING\tSKIPPED\n", heading(dryRun, "ADDED"), heading(dryRun, "UPDATED"))
	for _, t := range tallies {
		skipped := 0
		for _, n := range t.tally.Skipped {
			skipped += n
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", t.name, t.tally.Added, t.tally.Updated, t.tally.Unchanged, t.tally.Differing, skipped)
	}
	fmt.Fprintf(w, "roles\t%d\t%d\t%d\t0\t0\n", done.Roles.Added, done.Roles.Updated, done.Roles.Unchanged)
	if done.Roles.Assigned > 0 {
		fmt.Fprintf(w, "administrators with another role: %d\n", done.Roles.Assigned)
	}
	for _, t := range tallies {
		for _, reason := range slices.Sorted(maps.Keys(t.tally.Skipped)) {
			fmt.Fprintf(w, "skipped %d %s: %s\n", t.tally.Skipped[reason], t.name, reason)
		}
	}
	for _, n := range done.Notes {
		fmt.Fprintf(w, "%s %q: %s\n", n.Kind, n.Name, n.Outcome)
	}
	for _, fault := range done.RoleFaults {
		fmt.Fprintf(w, "not carried over: %s\n", fault)
	}
}
