package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests/report"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// An importCommand holds the flags of "portico import".
type importCommand struct {
	importSource
	media      string
	sourceName string
	removals   int64 // -1: not given
	admins     bool
}

// ImportCommand returns the command "import".
func ImportCommand(p *program.Program) *cobra.Command {
	flags := &importCommand{}
	cmd := &cobra.Command{
		Use:       "import --from DSN all | PART...",
		Short:     "Import a shop from a database of Magento 1 or OpenMage",
		Long:      importHelp + importSourceHelp + importUpdateHelp,
		ValidArgs: importer.GroupNames(),
		Args:      cobra.MatchAll(cobra.MinimumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImport(p, cmd, flags, args)
		},
		Example: `  portico import config --from-file old.dsn > portico.yaml
  portico import --from-file old.dsn --media /var/www/shop/media --dry-run all
  portico import --from-file old.dsn --media /var/www/shop/media all
  portico import --from-file old.dsn --update products stock`,
	}
	p.AddSettingFlags(cmd, "adapter", "log.level", "log.format")
	flags.addFlags(cmd, "take over what the legacy store has changed since, and remove what it has removed")
	cmd.Flags().StringVar(&flags.media, "media", "", "where the files of images are: the legacy store's media folder, its http(s) URL, or a .tar or .tar.gz of it")
	cmd.Flags().StringVar(&flags.sourceName, "source", "", "name under which the store notes the legacy store: that of an earlier import if the shop has moved to another server since")
	cmd.Flags().Int64Var(&flags.removals, "allow-removals", -1, "with --update, remove up to so many records even if they look like too many")
	cmd.Flags().BoolVar(&flags.admins, "admins", false, "with credentials: import administrators, too; all always does")
	cmd.Flags().Bool("json", false, "print JSON")
	addAtOnce(cmd)
	cmd.AddCommand(importConfigCommand(p))
	return cmd
}

const importHelp = `Import a shop from a database of Magento 1 or OpenMage into the configured store. Records
keep their ids, customers their passwords, and programs their keys and tokens.

"all" imports everything in this order; each part can be imported by its name:

  websites         websites, store views, countries and regions
  customer-groups  the groups that customers belong to
  taxes            tax rates, with the rules and classes that they apply to
  attributes       stores nothing: names what the legacy store uses and the configuration
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
                   auth.secret_key their secrets are stored unencrypted. The REST roles
                   come with them

A part needs those before it: a product whose website is not here is skipped, and so are
the addresses and orders of a customer who is not here. Everything skipped is counted by
reason, with the first ids. An order whose customer the legacy store has deleted is imported
without a customer. Files of images that are missing are named; their images are imported
without bytes, and repeating the command fetches them.

Catalogue price rules are imported as the legacy store has evaluated them: for a few days.
With the adapter rest the records are then created at the backend, as "portico ids push"
does, with --at-once several at a time. Records that the backend refuses are named. They stay here, and clients do not see
them; "portico ids check" lists them. With --update, records are also changed and removed
at the backend, one by one. A record of which it refuses that stays as it is on both sides,
and is counted as skipped, with its id and the reason; repeating the command tries again.
With --dry-run the backend is not asked.
`

const importUpdateHelp = `

A record whose id is here already stays unchanged. With --update the record of the legacy
store replaces it, and records that the legacy store has removed since are removed here, but
only those that an import has brought. Ranges of ids in which the legacy store has changed
nothing since they were imported are not read again. Records of a resource of which the
setting routes says that Portico answers the writes, while there is a legacy store at
legacy.url, are neither replaced nor removed: clients may have changed them here.

Only one import into a store runs at a time: another one is refused.

The store notes which database it was filled from. If it is another one now, if it looks
like an older copy, or if more than 5 % of the records of a kind would be removed, the
command stops before it removes anything, and says which option lets it go on.`

// runImport imports the parts of the legacy store that the arguments name, and prints a report.
func runImport(p *program.Program, cmd *cobra.Command, flags *importCommand, args []string) (err error) {
	defer program.CollectRarely(p.Getenv)()
	ctx := cmd.Context()
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return err
	}
	if err := checkImport(p, cfg, flags); err != nil {
		return err
	}
	log := program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg))
	db, err := program.OpenStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if !flags.dryRun && flags.media != "" {
		if err := program.ClaimMedia(ctx, db, log); err != nil {
			return err
		}
	}
	if !flags.dryRun {
		release, err := db.Imports().Lock(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = release() }() // closing the database releases it, too
	}
	if importsCredentials(args) {
		if err := program.CheckSecretKey(ctx, db.Credentials()); err != nil {
			return err
		}
	}
	options, err := flags.transfer(cmd, cfg, db)
	if err != nil {
		return err
	}
	var backend *program.BackendStore // nil: no backend, or not joined yet
	if p.Backend(cfg.Adapter) != nil {
		options.Join = func(ctx context.Context, local *sqlstore.RecordAdapter) (_ importer.Joined, err error) {
			if backend, err = p.JoinForImport(ctx, cfg, db, local, log); err != nil {
				return nil, err
			}
			return backend.Adapter, nil
		}
	}
	bar := report.NewBar(cmd.ErrOrStderr())
	defer bar.Clear()
	options.CredentialsProgress = func(done int) { bar.Show(done, -1, "credentials") }
	imp, err := importer.New(ctx, options)
	if err != nil {
		return flags.explain(err)
	}
	defer func() { err = errors.Join(err, imp.Close()) }()
	began := time.Now().UTC()
	err = imp.Import(ctx, args...)
	if err != nil && len(imp.Report.Resources) == 0 {
		return err
	}
	// Stored records are reported even if a later part fails, or the backend lacks some of them:
	// the next run only reports them as unchanged.
	printed := printedRecords{Report: *imp.Report}
	if err == nil && backend != nil {
		printed.AtBackend, err = createAtBackend(cmd, backend)
	}
	if err == nil && !flags.dryRun && slices.Contains(args, importer.All) {
		err = noteImport(ctx, db, plan.Import{At: began, Database: imp.Database()})
	}
	return errors.Join(program.WriteResult(cmd, printed, printed.print), err)
}

// importsCredentials reports whether the parts that are to be imported have the credentials.
func importsCredentials(parts []string) bool {
	return slices.Contains(parts, importer.All) || slices.Contains(parts, importer.CredentialsGroup)
}

// noteImport records the complete import as evidence for "portico plan".
func noteImport(ctx context.Context, db *sqlstore.DB, done plan.Import) error {
	text, err := json.Marshal(done)
	if err != nil {
		return err
	}
	return db.Evidence().Note(ctx, plan.ImportEvidence, string(text))
}

// transfer returns the options of an import with the flags.
func (flags *importCommand) transfer(cmd *cobra.Command, cfg *config.Config, db *sqlstore.DB) (importer.Options, error) {
	dsn, err := flags.read(cmd)
	if err != nil {
		return importer.Options{}, err
	}
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return importer.Options{}, err
	}
	return importer.Options{
		From: flags.options(dsn, schemas), Store: db, Media: flags.media, MaxMedia: cfg.Limits.BodyBytes,
		Settings: settingTexts(cfg), URLKey: handlers.URLKeyFromName, Lists: settingLists(func() *config.Config { return cfg }), MissingFields: missingFields(cfg), WrittenHere: writtenHere(cfg),
		DryRun: flags.dryRun, Update: flags.update, AllowRemovals: flags.removals, Source: flags.sourceName, Admins: flags.admins,
		Progress: func(p magento1.Part, total int64) importer.Progress {
			return newImportProgress(cmd.ErrOrStderr(), string(p), total)
		},
	}, nil
}

// writtenHere returns a function that reports whether Portico answers the writes of a resource and
// does not repeat them at the legacy store. It returns nil if there is no legacy store.
func writtenHere(cfg *config.Config) func(resource string) bool {
	if cfg.Legacy.URL == "" {
		return nil
	}
	rules := program.Rules(cfg.Routes)
	return func(resource string) bool {
		rule := writesRule(rules, resource)
		return rule.To == proxy.Portico && !rule.Mirror
	}
}

// writesRule returns the rule for the writes of a resource.
func writesRule(rules proxy.Rules, resource string) proxy.Rule {
	return rules.For(&contract.Address{Route: &contract.Route{Resource: resource}})
}

// checkImport returns an error if the flags contradict each other or the configuration.
func checkImport(p *program.Program, cfg *config.Config, flags *importCommand) error {
	if err := p.RequireOwnRecords(cfg, "import"); err != nil {
		return err
	}
	switch {
	case flags.removals >= 0 && !flags.update:
		return errors.New("--allow-removals needs --update: without it nothing is removed")
	case flags.sourceName != "" && !importer.IsSourceName(flags.sourceName):
		return fmt.Errorf("--source must have at most %d letters, digits, underscores and hyphens", importer.MaxSourceName)
	default:
		return nil
	}
}
