package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// An importKind is a kind of record that "portico import" imports.
type importKind struct {
	name string // argument of the command
	part magento1.Part
}

// importKinds lists the kinds in the order of import: owners before the records they own.
func importKinds() []importKind {
	return []importKind{
		{"customers", magento1.Customers},
		{"addresses", magento1.Addresses},
		{"orders", magento1.Orders},
	}
}

// importCommand returns the command "import".
func (p *program) importCommand() *cobra.Command {
	var source importSource
	var names []string
	for _, i := range importKinds() {
		names = append(names, i.name)
	}
	cmd := &cobra.Command{
		Use:   "import --from DSN [customers] [addresses] [orders]",
		Short: "Import customers, addresses and orders from a database of Magento 1 or OpenMage",
		Long: `Import customers, their addresses, and orders from a database of Magento 1 or OpenMage
into the configured store. Records keep their ids.

  portico import --from DSN --dry-run customers addresses orders
  portico import --from DSN customers addresses orders

Customers keep their passwords. Attributes that the configuration adds are imported if
the old shop has attributes of these names. Orders are imported with their lines,
addresses and comments. Addresses and orders of customers who are not in the store are
skipped: import customers first, or in the same command. An order whose customer the old
shop has deleted is imported without a customer.

A record whose id is in the store already stays unchanged. With --replace the record of
the old shop replaces it, with all its parts: changes made in the store are lost.
` + importSourceHelp,
		ValidArgs: names,
		Args:      cobra.MatchAll(cobra.MinimumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.importRecords(cmd, &source, args)
		},
	}
	p.addSettingFlags(cmd, "adapter", "log.level", "log.format")
	source.addFlags(cmd, "replace records of the store by those of the old shop with the same ids")
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// printedRecords is the JSON output of the command.
type printedRecords struct {
	DryRun    bool              `json:"dry_run"`
	Resources []importedRecords `json:"resources"`
}

// importedRecords counts the records of one resource by outcome.
type importedRecords struct {
	Resource string           `json:"resource"`
	Read     int64            `json:"read"`
	Stored   int64            `json:"stored"`
	Replaced int64            `json:"replaced"`
	Existing int64            `json:"left"`
	Skipped  []skippedRecords `json:"skipped,omitempty"`
}

// skippedRecords counts the records that were skipped for one reason.
type skippedRecords struct {
	Reason string  `json:"reason"`
	Count  int64   `json:"count"`
	IDs    []int64 `json:"ids"` // the first maxSkippedIDs ids
}

const (
	// insertBatch is the number of records that one transaction stores.
	insertBatch = 100
	// maxSkippedIDs is the maximum number of ids that are listed for one reason.
	maxSkippedIDs = 20
)

// importRecords imports the kinds of records named in args, and prints the counts.
func (p *program) importRecords(cmd *cobra.Command, source *importSource, args []string) (err error) {
	ctx := cmd.Context()
	cfg, err := p.loadConfig(cmd)
	if err != nil {
		return err
	}
	if err := p.requireOwnRecords(cfg, "import"); err != nil {
		return err
	}
	store, err := openStore(ctx, cfg, newLogger(cmd.ErrOrStderr(), warningsOnly(cfg)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	legacyDB, err := source.open(ctx, cmd, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, legacyDB.Close()) }()

	imp := importer{cmd: cmd, store: store, legacyDB: legacyDB, expected: map[adapter.Key]bool{}}
	imp.options = adapter.ImportOptions{DryRun: source.dryRun, Expected: func(_ adapter.Resource, customer adapter.Key) bool { return imp.expected[customer] }}
	if source.replace {
		imp.options.Existing = adapter.ReplaceExisting
	}
	report := printedRecords{DryRun: source.dryRun}
	for _, i := range importKinds() {
		if !slices.Contains(args, i.name) {
			continue
		}
		done, err := imp.importAll(ctx, i)
		if err != nil {
			return fmt.Errorf("%s: %w\n%d of them had been read; run the command again to continue", i.name, err, done.Read)
		}
		report.Resources = append(report.Resources, done)
	}
	return writeResult(cmd, report, func(w io.Writer) { printImportedRecords(w, source, report.Resources) })
}

// An importer copies records from a database of Magento 1 into a store.
type importer struct {
	cmd      *cobra.Command
	store    *sqlstore.DB
	legacyDB *magento1.Database
	options  adapter.ImportOptions
	expected map[adapter.Key]bool // customers that the dry run would have stored
}

// importAll imports all records of one kind, in batches.
func (imp *importer) importAll(ctx context.Context, i importKind) (importedRecords, error) {
	done := importedRecords{Resource: i.name}
	total, err := imp.legacyDB.Count(ctx, i.part)
	if err != nil {
		return done, err
	}
	progress, finish := newProgressBar(imp.cmd.ErrOrStderr())
	defer finish()
	batch := make([]adapter.Aggregate, 0, insertBatch)
	flush := func() error {
		if err := imp.insert(ctx, batch, &done); err != nil {
			return err
		}
		done.Read += int64(len(batch))
		batch = batch[:0]
		if progress != nil {
			progress(int(done.Read), int(max(total, done.Read)))
		}
		return nil
	}
	for record, err := range imp.legacyDB.Records(ctx, i.part) {
		if err != nil {
			return done, err
		}
		if batch = append(batch, record); len(batch) == insertBatch {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	return done, flush()
}

// insert stores a batch in one transaction. If that fails because of a record, insert
// stores each record of the batch in a transaction of its own, and skips those that cannot
// be stored.
func (imp *importer) insert(ctx context.Context, batch []adapter.Aggregate, done *importedRecords) error {
	outcomes, err := imp.store.Adapter().Import(ctx, batch, imp.options)
	if err == nil {
		for i, outcome := range outcomes {
			imp.tally(batch[i], outcome.Outcome, done)
		}
		return nil
	}
	reason, skippable := skipReason(err)
	switch {
	case !skippable:
		return err
	case len(batch) == 1:
		done.skip(reason, batch[0].Record.Get(batch[0].Record.Schema.Key).Int())
		return nil
	}
	for i := range batch {
		if err := imp.insert(ctx, batch[i:i+1], done); err != nil {
			return err
		}
	}
	return nil
}

// tally counts the outcome of one record.
func (imp *importer) tally(record adapter.Aggregate, outcome adapter.ImportOutcome, done *importedRecords) {
	switch outcome {
	case adapter.ImportCreated:
		done.Stored++
	case adapter.ImportChanged:
		done.Replaced++
	case adapter.ImportKept, adapter.ImportEqual:
		done.Existing++
	}
	if imp.options.DryRun && record.Record.Schema.Resource == adapter.Customers {
		imp.expected[adapter.Key(record.Record.Get("entity_id").Int())] = true
	}
}

// skip counts the record with the given id as skipped for the reason.
func (r *importedRecords) skip(reason string, id int64) {
	at := slices.IndexFunc(r.Skipped, func(s skippedRecords) bool { return s.Reason == reason })
	if at < 0 {
		at = len(r.Skipped)
		r.Skipped = append(r.Skipped, skippedRecords{Reason: reason})
	}
	skipped := &r.Skipped[at]
	if skipped.Count++; len(skipped.IDs) < maxSkippedIDs {
		skipped.IDs = append(skipped.IDs, id)
	}
}

// skipReason returns why a record cannot be stored. skippable is false if err is not
// caused by the record, so that the import must stop.
func skipReason(err error) (reason string, skippable bool) {
	var storeErr *adapter.Error
	if !errors.As(err, &storeErr) {
		return "", false
	}
	switch {
	case storeErr.Kind == adapter.NotFound && storeErr.Field != "":
		return "its customer is not here", true
	case storeErr.Kind == adapter.Conflict && storeErr.Field == "email":
		return "another customer of the website has the e-mail address", true
	case storeErr.Kind == adapter.Conflict && storeErr.Field != "":
		return "a part has an id that is taken here", true
	case storeErr.Kind == adapter.Conflict:
		return "another record has what must be its own", true
	case storeErr.Kind == adapter.Invalid && storeErr.Field != "":
		return "no " + storeErr.Field + " that can be stored", true
	case storeErr.Kind == adapter.Invalid:
		return "a value that cannot be stored", true
	default:
		return "", false
	}
}

// printImportedRecords writes the counts as a table, followed by the reasons for skipping
// records.
func printImportedRecords(w io.Writer, source *importSource, all []importedRecords) {
	fmt.Fprintf(w, "\tREAD\t%s\t%s\tUNCHANGED\tSKIPPED\n", source.heading("STORED"), source.heading("REPLACED"))
	for _, r := range all {
		var skipped int64
		for _, s := range r.Skipped {
			skipped += s.Count
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", r.Resource, r.Read, r.Stored, r.Replaced, r.Existing, skipped)
	}
	for _, r := range all {
		for _, s := range r.Skipped {
			ids := strings.Trim(fmt.Sprint(s.IDs), "[]")
			if s.Count > int64(len(s.IDs)) {
				ids += " …"
			}
			fmt.Fprintf(w, "skipped %d %s: %s (%s)\n", s.Count, r.Resource, s.Reason, ids)
		}
	}
}
