package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// An importable is a kind of records that "portico import" brings along.
type importable struct {
	name     string // as it is asked for
	resource adapter.Resource
	read     func(*magento1.Database, context.Context) iter.Seq2[adapter.Aggregate, error]
}

// importables lists what can be imported, owners before what they own.
func importables() []importable {
	return []importable{
		{"customers", adapter.Customers, (*magento1.Database).Customers},
		{"addresses", adapter.CustomerAddresses, (*magento1.Database).Addresses},
		{"orders", adapter.Orders, (*magento1.Database).Orders},
	}
}

func importCommand() *cobra.Command {
	var shop oldShop
	var names []string
	for _, i := range importables() {
		names = append(names, i.name)
	}
	cmd := &cobra.Command{
		Use:   "import --from DSN [customers] [addresses] [orders]",
		Short: "Bring customers, addresses and orders along from a database of Magento 1 or OpenMage",
		Long: `Bring customers, their addresses, and orders along from a database of Magento 1 or
OpenMage, under the ids they have there, into the store of the configuration.

  portico import --from DSN --dry-run customers addresses orders
  portico import --from DSN customers addresses orders

Customers log in with the passwords they have. Attributes that the configuration
adds come along where the old shop has one of that name. Orders come with their
lines, addresses and comments. An address or an order of a customer who is not here
is skipped: import customers first, or with them. An order whose customer the old
shop no longer has belongs to nobody.

A record whose id is here already is left as it is. --replace puts that of the old
shop in its place, with all its parts: what was changed here since is lost.
` + aboutOldShops,
		ValidArgs: names,
		Args:      cobra.MatchAll(cobra.MinimumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return importRecords(cmd, &shop, args)
		},
	}
	addSettingFlags(cmd, "adapter", "log.level", "log.format")
	shop.flags(cmd, "put records of the old shop in the place of those that have their ids")
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// printedRecords is what the command prints as JSON.
type printedRecords struct {
	DryRun    bool              `json:"dry_run"`
	Resources []importedRecords `json:"resources"`
}

// importedRecords tells what became of the records of one resource.
type importedRecords struct {
	Resource string           `json:"resource"`
	Read     int64            `json:"read"`
	Stored   int64            `json:"stored"`
	Replaced int64            `json:"replaced"`
	Left     int64            `json:"left"`
	Skipped  []skippedRecords `json:"skipped,omitempty"`
}

// skippedRecords are those skipped for one reason.
type skippedRecords struct {
	Reason string  `json:"reason"`
	Count  int64   `json:"count"`
	IDs    []int64 `json:"ids"` // the first of them
}

const (
	// insertBatch is the number of records that one transaction stores.
	insertBatch = 100
	// shownIDs bounds the ids that are shown of those skipped for a reason.
	shownIDs = 20
)

func importRecords(cmd *cobra.Command, shop *oldShop, args []string) (err error) {
	ctx := cmd.Context()
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	db, err := openStore(ctx, cfg, newLogger(cmd.ErrOrStderr(), quiet(cfg)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	old, err := shop.open(ctx, cmd, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, old.Close()) }()

	in := importer{cmd: cmd, db: db, old: old, expected: map[adapter.Key]bool{}}
	in.options = sqlstore.InsertOptions{Replace: shop.replace, DryRun: shop.dryRun, CustomerExpected: func(customer adapter.Key) bool { return in.expected[customer] }}
	report := printedRecords{DryRun: shop.dryRun}
	for _, i := range importables() {
		if !slices.Contains(args, i.name) {
			continue
		}
		done, err := in.records(ctx, i)
		if err != nil {
			return fmt.Errorf("%s: %w\n%d of them had been looked at; run it again to go on", i.name, err, done.Read)
		}
		report.Resources = append(report.Resources, done)
	}
	return write(cmd, report, func(w io.Writer) { printRecords(w, shop, report.Resources) })
}

// An importer brings records from an old shop into a store.
type importer struct {
	cmd      *cobra.Command
	db       *sqlstore.DB
	old      *magento1.Database
	options  sqlstore.InsertOptions
	expected map[adapter.Key]bool // customers whom a dry run would have stored
}

// records brings the records of one kind along.
func (in *importer) records(ctx context.Context, i importable) (importedRecords, error) {
	done := importedRecords{Resource: i.name}
	total, err := in.old.Count(ctx, i.resource)
	if err != nil {
		return done, err
	}
	progress, finish := progressOn(in.cmd.ErrOrStderr())
	defer finish()
	batch := make([]adapter.Aggregate, 0, insertBatch)
	flush := func() error {
		if err := in.insert(ctx, batch, &done); err != nil {
			return err
		}
		done.Read += int64(len(batch))
		batch = batch[:0]
		if progress != nil {
			progress(int(done.Read), int(max(total, done.Read)))
		}
		return nil
	}
	for one, err := range i.read(in.old, ctx) {
		if err != nil {
			return done, err
		}
		if batch = append(batch, one); len(batch) == insertBatch {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	return done, flush()
}

// insert stores a batch, or else each of its records by itself, so that one that cannot
// be stored keeps no others out.
func (in *importer) insert(ctx context.Context, batch []adapter.Aggregate, done *importedRecords) error {
	fates, err := in.db.Insert(ctx, batch, in.options)
	if err == nil {
		for i, fate := range fates {
			in.count(batch[i], fate, done)
		}
		return nil
	}
	why, skippable := reason(err)
	switch {
	case !skippable:
		return err
	case len(batch) == 1:
		done.skip(why, batch[0].Record.Get(batch[0].Record.Schema.Key).Int())
		return nil
	}
	for i := range batch {
		if err := in.insert(ctx, batch[i:i+1], done); err != nil {
			return err
		}
	}
	return nil
}

func (in *importer) count(one adapter.Aggregate, fate sqlstore.InsertOutcome, done *importedRecords) {
	switch fate {
	case sqlstore.Stored:
		done.Stored++
	case sqlstore.Replaced:
		done.Replaced++
	case sqlstore.Skipped:
		done.Left++
	}
	if in.options.DryRun && one.Record.Schema.Resource == adapter.Customers {
		in.expected[adapter.Key(one.Record.Get("entity_id").Int())] = true
	}
}

func (r *importedRecords) skip(why string, id int64) {
	at := slices.IndexFunc(r.Skipped, func(s skippedRecords) bool { return s.Reason == why })
	if at < 0 {
		at = len(r.Skipped)
		r.Skipped = append(r.Skipped, skippedRecords{Reason: why})
	}
	skipped := &r.Skipped[at]
	if skipped.Count++; len(skipped.IDs) < shownIDs {
		skipped.IDs = append(skipped.IDs, id)
	}
}

// reason says why a record cannot be stored, if that is the record's fault.
func reason(err error) (why string, skippable bool) {
	var fault *adapter.Error
	if !errors.As(err, &fault) {
		return "", false
	}
	switch {
	case fault.Kind == adapter.NotFound && fault.Field != "":
		return "its customer is not here", true
	case fault.Kind == adapter.Conflict && fault.Field == "email":
		return "another customer of the website has the e-mail address", true
	case fault.Kind == adapter.Conflict && fault.Field != "":
		return "a part has an id that is taken here", true
	case fault.Kind == adapter.Conflict:
		return "another record has what must be its own", true
	case fault.Kind == adapter.Invalid && fault.Field != "":
		return "no " + fault.Field + " that can be stored", true
	case fault.Kind == adapter.Invalid:
		return "a value that cannot be stored", true
	default:
		return "", false
	}
}

func printRecords(w io.Writer, shop *oldShop, all []importedRecords) {
	fmt.Fprintf(w, "\tREAD\t%s\t%s\tLEFT AS THEY ARE\tSKIPPED\n", shop.wouldBe("STORED"), shop.wouldBe("REPLACED"))
	for _, r := range all {
		var skipped int64
		for _, s := range r.Skipped {
			skipped += s.Count
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", r.Resource, r.Read, r.Stored, r.Replaced, r.Left, skipped)
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
