package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
)

// An importCommand holds the flags of "portico import".
type importCommand struct {
	importSource
	media      string
	sourceName string
	removals   int64 // -1: not given
	admins     bool
}

// importCommand returns the command "import".
func (p *program) importCommand() *cobra.Command {
	flags := &importCommand{}
	cmd := &cobra.Command{
		Use:       "import --from DSN all | PART...",
		Short:     "Import a shop from a database of Magento 1 or OpenMage",
		Long:      importHelp + importSourceHelp + importUpdateHelp,
		ValidArgs: importPartNames(),
		Args:      cobra.MatchAll(cobra.MinimumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.importShop(cmd, flags, args)
		},
		Example: `  portico import config --from-file old.dsn > portico.yaml
  portico import --from-file old.dsn --media /var/www/shop/media --dry-run all
  portico import --from-file old.dsn --media /var/www/shop/media all
  portico import --from-file old.dsn --update products stock`,
	}
	p.addSettingFlags(cmd, "adapter", "log.level", "log.format")
	flags.addFlags(cmd, "take over what the old shop has changed since, and remove what it has removed")
	cmd.Flags().StringVar(&flags.media, "media", "", "where the files of images are: the old shop's media folder, its http(s) URL, or a .tar or .tar.gz of it")
	cmd.Flags().StringVar(&flags.sourceName, "source", "", "name under which the store notes the old shop: that of an earlier import if the shop has moved to another server since")
	cmd.Flags().Int64Var(&flags.removals, "allow-removals", -1, "with --update, remove up to so many records even if they look like too many")
	cmd.Flags().BoolVar(&flags.admins, "admins", false, "with credentials: import administrators, too; all always does")
	cmd.Flags().Bool("json", false, "print JSON")
	cmd.AddCommand(p.importConfigCommand())
	return cmd
}

const importHelp = `Import a shop from a database of Magento 1 or OpenMage into the configured store. Records
keep their ids, customers their passwords, and programs their keys and tokens.

"all" imports everything in this order; each part can be imported by its name:

  websites         websites, store views, countries and regions
  customer-groups  the groups that customers belong to
  taxes            tax rates, with the rules and classes that they apply to
  attributes       stores nothing: names what the old shop uses and the configuration
                   lacks, with the lines to add. "portico import config" prints a whole
                   configuration
  categories       the tree of categories
  products         products with their values at each store view, their prices, and
                   their assignments to websites and categories
  images           the images of products; --media says where their files are
  stock            stock items
  customers        customers
  addresses        customers' addresses
  orders           orders with their lines, addresses and comments
  credentials      consumers and access tokens, with --admins administrators. Without
                   auth.secret_key their secrets are stored unencrypted

A part needs those before it: a product whose website is not here is skipped, and so are
the addresses and orders of a customer who is not here. Everything skipped is counted by
reason, with the first ids. An order whose customer the old shop has deleted is imported
without a customer. Files of images that are missing are named; their images are imported
without bytes, and repeating the command fetches them.

Catalogue price rules are imported as the old shop has evaluated them: for a few days.
With the adapter rest the records are then created at the backend, as "portico ids push"
does. Records that the backend refuses are named. They stay here, and clients do not see
them; "portico ids check" lists them.
`

const importUpdateHelp = `

A record whose id is here already stays unchanged. With --update the record of the old
shop replaces it, and records that the old shop has removed since are removed here, but
only those that an import has brought. Ranges of ids in which the old shop has changed
nothing since they were imported are not read again. Records of a resource of which the
setting routes says that Portico answers the writes, while there is an old system at
legacy.url, are neither replaced nor removed: clients may have changed them here.

The store notes which database it was filled from. If it is another one now, if it looks
like an older copy, or if more than 5 % of the records of a kind would be removed, the
command stops before it removes anything, and says which option lets it go on.`

// importShop imports the parts of the old shop that the arguments name, and prints what
// became of them.
func (p *program) importShop(cmd *cobra.Command, flags *importCommand, args []string) (err error) {
	ctx := cmd.Context()
	cfg, err := p.loadConfig(cmd)
	if err != nil {
		return err
	}
	if err := p.checkImport(cfg, flags); err != nil {
		return err
	}
	log := newLogger(cmd.ErrOrStderr(), warningsOnly(cfg))
	db, err := openStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	imp, err := newImporter(ctx, cmd, cfg, db, flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, imp.close()) }()
	if err := imp.run(ctx, chosenParts(args), slices.Contains(args, allParts)); err != nil {
		return err
	}
	// What was stored is reported even if the backend lacks some of it: the next run only
	// says that it is here already.
	err = p.createImported(ctx, imp, log)
	return errors.Join(writeResult(cmd, imp.report, imp.report.print), err)
}

// createImported creates the imported records at the backend, if there is one.
func (p *program) createImported(ctx context.Context, imp *importer, log *slog.Logger) (err error) {
	if p.backend(imp.cfg.Adapter) == nil || imp.flags.dryRun {
		return nil
	}
	store, err := p.openBackend(ctx, imp.cfg, imp.db, prometheus.NewRegistry(), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.adapter.Close()) }()
	imp.report.AtBackend, err = createAtBackend(imp.cmd, store)
	return err
}

// checkImport returns an error if the configuration does not allow what the flags ask for.
func (p *program) checkImport(cfg *config.Config, flags *importCommand) error {
	if err := p.requireOwnRecords(cfg, "import"); err != nil {
		return err
	}
	switch {
	case flags.update && p.backend(cfg.Adapter) != nil:
		return fmt.Errorf("--update cannot change or remove records of the backend that adapter %s names: import without it, which creates what is new", cfg.Adapter)
	case flags.removals >= 0 && !flags.update:
		return errors.New("--allow-removals needs --update: without it nothing is removed")
	case flags.sourceName != "" && !isSourceName(flags.sourceName):
		return fmt.Errorf("--source must have at most %d letters, digits, underscores and hyphens", maxSourceName)
	default:
		return nil
	}
}

// An importer copies a shop from a database of Magento 1 into a store.
type importer struct {
	cmd      *cobra.Command
	cfg      *config.Config
	flags    *importCommand
	db       *sqlstore.DB
	store    *sqlstore.Adapter
	legacyDB *magento1.Database
	media    *importMedia // nil: there are no files of images
	source   sqlstore.ImportSource
	started  magento1.Identity // the old database at the beginning
	settings string            // see settingsDigest
	report   *printedRecords
	current  *importedRecords                 // counts what the reader leaves out; nil: nobody counts
	expected resourceKeys                     // records that the dry run would have stored
	passed   map[adapter.Resource]adapter.Key // the greatest keys that the old shop has given
	// unchanged holds the ranges that the search for removals has found unchanged, so that
	// the old shop computes no digest twice.
	unchanged map[rangeID]bool
}

// A rangeID identifies a range of keys of a part.
type rangeID struct {
	part  magento1.Part
	after adapter.Key
}

// newImporter connects to the old database, and opens the files of images.
func newImporter(ctx context.Context, cmd *cobra.Command, cfg *config.Config, db *sqlstore.DB, flags *importCommand) (*importer, error) {
	imp := &importer{cmd: cmd, cfg: cfg, flags: flags, db: db, store: db.Adapter(), report: &printedRecords{DryRun: flags.dryRun}, expected: resourceKeys{}, unchanged: map[rangeID]bool{}}
	dsn, err := flags.read(cmd)
	if err != nil {
		return nil, err
	}
	imp.settings = flags.settingsDigest(dsn, cfg, flags.media != "")
	schemas, err := storeSchemas(cfg)
	if err != nil {
		return nil, err
	}
	imp.legacyDB, err = flags.openDSN(ctx, dsn, schemas, func(s magento1.Skipped) {
		switch {
		case s.Reason == magento1.ReasonVersion:
			imp.note("%s", missingInVersion(s))
		case imp.current != nil:
			imp.current.leaveOut(s.Table+": "+s.Reason, s.Key)
		}
	})
	if err != nil {
		return nil, err
	}
	if flags.media != "" {
		if imp.media, err = openImportMedia(ctx, flags.media, cfg.Limits.BodyBytes); err != nil {
			return nil, errors.Join(err, imp.legacyDB.Close())
		}
	}
	return imp, nil
}

func (imp *importer) close() error {
	err := imp.legacyDB.Close()
	if imp.media != nil {
		err = errors.Join(err, imp.media.Close())
	}
	return err
}

// run imports the parts. all: these are all parts.
func (imp *importer) run(ctx context.Context, parts []importPart, all bool) error {
	if err := imp.checkSource(ctx); err != nil {
		return err
	}
	removals, err := imp.planRemovals(ctx, parts)
	if err != nil {
		return err
	}
	if err := imp.noteSource(ctx); err != nil {
		return err
	}
	refused, err := imp.remove(ctx, removals)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := imp.importPart(ctx, part, all); err != nil {
			return err
		}
	}
	// What others referred to may be free now.
	if err := imp.removeRefused(ctx, refused); err != nil {
		return err
	}
	return imp.finish(ctx, parts, all)
}

// importPart imports one part.
func (imp *importer) importPart(ctx context.Context, part importPart, all bool) error {
	switch part.name {
	case attributesPart:
		return imp.checkAttributes(ctx, all)
	case credentialsPart:
		done, err := importCredentials(ctx, imp.cmd, imp.db, imp.legacyDB, &imp.flags.importSource, sqlstore.ImportOptions{
			Admins: imp.flags.admins || all, Expected: func(customer adapter.Key) bool { return imp.expected.has(adapter.Customers, customer) },
		})
		imp.report.Credentials = &done
		return err
	}
	options := imp.options()
	if here := part.writtenHere(imp.cfg); imp.flags.update && len(here) > 0 {
		options.Existing = adapter.KeepExisting
		imp.note("%s that exist stay as they are, and none are removed: Portico answers the writes of %s (setting routes)", part.name, here[0])
	}
	for _, p := range part.parts {
		if err := imp.importRecords(ctx, p, options); err != nil {
			return fmt.Errorf("%s: %w\nwhat is stored stays; run the command again to continue", p, err)
		}
	}
	return nil
}

// options returns the options of imports.
func (imp *importer) options() adapter.ImportOptions {
	o := adapter.ImportOptions{DryRun: imp.flags.dryRun, Expected: imp.expected.has, Source: imp.source.Name}
	if imp.flags.update {
		o.Existing = adapter.ReplaceExisting
	}
	if imp.media != nil {
		o.Content = imp.media.content
	}
	return o
}

// note adds a sentence to the report.
func (imp *importer) note(format string, arguments ...any) {
	imp.report.Notes = append(imp.report.Notes, fmt.Sprintf(format, arguments...))
}

// records returns the counts of a part, which it adds to the report.
func (imp *importer) records(p magento1.Part) *importedRecords {
	for _, r := range imp.report.Resources {
		if r.Resource == string(p) {
			return r
		}
	}
	r := &importedRecords{Resource: string(p)}
	imp.report.Resources = append(imp.report.Resources, r)
	return r
}

// finish adds to the report what concerns the shop as a whole, and notes that the import is
// complete.
func (imp *importer) finish(ctx context.Context, parts []importPart, all bool) error {
	slices.SortStableFunc(imp.report.Resources, func(a, b *importedRecords) int {
		return slices.Index(magento1.Parts(), magento1.Part(a.Resource)) - slices.Index(magento1.Parts(), magento1.Part(b.Resource))
	})
	if imp.flags.dryRun {
		if err := imp.findEncodedTwice(ctx); err != nil {
			return err
		}
	}
	if imp.media == nil && imp.imagesWithoutFiles(parts) {
		imp.note("images were imported without their files: repeat the command with --media to bring them")
	}
	if all {
		return imp.finishAll(ctx)
	}
	return nil
}

// imagesWithoutFiles reports whether the parts have brought images.
func (imp *importer) imagesWithoutFiles(parts []importPart) bool {
	return slices.ContainsFunc(parts, func(p importPart) bool { return slices.Contains(p.parts, magento1.Images) }) &&
		slices.ContainsFunc(imp.report.Resources, func(r *importedRecords) bool { return r.Resource == string(magento1.Images) && r.Read > 0 })
}

// finishAll says when price rules were evaluated, and notes from where in the binary log
// changes may be missing after a complete import.
func (imp *importer) finishAll(ctx context.Context) error {
	day, err := imp.legacyDB.RulesEvaluated(ctx)
	if err != nil {
		return err
	}
	if imp.report.RulesEvaluated = day; day != "" {
		imp.note("prices of catalogue price rules are those that the old shop has evaluated up to %s, and hold until then only: Portico evaluates no rules", day)
	}
	return imp.noteComplete(ctx)
}

// missingInVersion says that the old shop does not have a table or a column.
func missingInVersion(s magento1.Skipped) string {
	if s.Key != "" {
		return fmt.Sprintf("the old shop's version does not have the %s of %s: the records have none of its values", s.Key, s.Table)
	}
	return fmt.Sprintf("the old shop's version does not have the table %s: nothing of it was imported", s.Table)
}

// findEncodedTwice adds texts to the report that look as if they had been encoded twice.
func (imp *importer) findEncodedTwice(ctx context.Context) error {
	found, err := imp.legacyDB.DoublyEncoded(ctx)
	if err != nil {
		return err
	}
	for _, one := range found {
		imp.report.EncodedTwice = append(imp.report.EncodedTwice, one.Table+": "+one.Key)
	}
	return nil
}
