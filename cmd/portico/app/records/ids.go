package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/contracttests/report"
)

// IDsCommand returns the command "ids" with its subcommands.
func IDsCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ids",
		Short: "Manage which record of the backend each legacy id belongs to",
		Long: `Manage which record of the backend each legacy id belongs to.

With a backend over HTTP (adapter: rest) Portico's own database has an ID map. It holds
one mapping, from legacy id to backend id, for each record that exists in both. Callers
do not see a record without a mapping. A record that is created through Portico is
mapped immediately, and a record of the backend that carries its legacy id is mapped when
Portico finds it. Map all other records once with one of these commands:

  portico ids import pairs.csv   if both have the records: import which belong together
  portico ids push               if the backend lacks the records: create them there

Afterwards, and whenever the database and the backend may disagree:
  portico ids check              list the differences
  portico ids forget products 7  remove what is left of a record that the backend lost`,
	}
	cmd.AddCommand(importIDsCommand(p), checkIDsCommand(p), pushIDsCommand(p), forgetIDsCommand(p))
	return cmd
}

// importIDsCommand returns the command "ids import".
func importIDsCommand(p *program.Program) *cobra.Command {
	var dryRun bool
	cmd := idsSubcommand(p, "import FILE", "Import which records of the database and of the backend belong together", cobra.ExactArgs(1),
		func(ctx context.Context, cmd *cobra.Command, store *program.BackendStore, args []string) error {
			return importIDs(ctx, cmd, store, args[0], dryRun)
		})
	cmd.Long = `Read a CSV file with pairs of legacy id and backend id, and add them to the ID map. FILE
may be - for standard input. Its first line is

  resource,legacy_id,backend_id          or
  resource,legacy_id,backend_id,owner_id

owner_id is the legacy id of the record that a part belongs to, such as the customer of
an address. It may be empty; otherwise it must agree with the database. Leave out parts
that have no ids of their own at the backend; stock items are often such parts.

The command reports all faults with their lines, and stores nothing if there is one.
Faults are: a resource that the backend does not hold, a legacy id that the database does
not have, and an id that the file repeats or that is mapped to another record already.
Pairs that are in the ID map already are skipped, so that an interrupted import can be
repeated. The command does not ask the backend whether it has the ids: "portico ids
check" does.

The first read of an imported record takes over the backend's values, because the backend
owns the attributes that both have.`
	cmd.Example = `  portico ids import pairs.csv --dry-run
  portico ids import pairs.csv && portico ids check`
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "report faults, and store nothing")
	return cmd
}

// importIDs imports the pairs of the CSV file at path, or of standard input if path is -,
// into the ID map. With dryRun it only checks them.
func importIDs(ctx context.Context, cmd *cobra.Command, store *program.BackendStore, path string, dryRun bool) error {
	var file io.Reader = cmd.InOrStdin()
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }()
		file = opened
	}
	progress, finish := newProgressBar(cmd.ErrOrStderr())
	defer finish()
	pairs, faults, err := readIDPairs(file)
	if err != nil {
		return err
	}
	var result idmap.ImportResult
	importPairs := func() (err error) {
		result, err = store.Adapter.ImportIDs(ctx, pairs, dryRun || faults != nil, progress)
		return err
	}
	if dryRun || faults != nil {
		err = importPairs()
	} else {
		err = store.ChangeBehindCaches(ctx, importPairs)
	}
	finish()
	var more adapter.LineErrors
	switch {
	case errors.As(err, &more), err == nil && faults != nil:
		return fmt.Errorf("%s: nothing is stored:\n%w", path, append(faults, more...))
	case err != nil && result.Stored > 0:
		return fmt.Errorf("%d of %d pairs are stored; repeat the import: %w", result.Stored, result.Rows-result.Existing, err)
	case err != nil:
		return err
	case dryRun:
		fmt.Fprintf(cmd.OutOrStdout(), "%d pairs would be stored, %d are known\n", result.Rows-result.Existing, result.Existing)
	default:
		fmt.Fprintf(cmd.OutOrStdout(), "%d pairs stored, %d were known\n", result.Stored, result.Existing)
	}
	return nil
}

// checkIDsCommand returns the command "ids check".
func checkIDsCommand(p *program.Program) *cobra.Command {
	cmd := idsSubcommand(p, "check", "List the differences between the database, the ID map and the backend", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, store *program.BackendStore, _ []string) error {
			return checkIDs(ctx, cmd, store)
		})
	cmd.Long = `Compare the records of the database, the ID map and the records of the backend, for every
resource that the backend holds. Nothing is changed. A record that is written during the
check may be reported wrongly: run the check again, and trust what it reports twice.

` + findingsTable() + `
Records that are unreadable, or of which a value is left out, are counted by reason: one line
for each, with the id of one of them.

With --json each finding is one line: what, resource, legacy_id, backend_id, detail. These
counts follow, with their number as records.

Exit codes: 0 nothing was found, 1 something was found, 2 the check could not be made.`
	cmd.Flags().Bool("json", false, "print JSON, one line for each finding")
	return cmd
}

// A findingHelp explains a kind of finding: its meaning and its remedy.
type findingHelp struct {
	kind            replica.Kind
	meaning, remedy string
}

// findingHelps explains every kind of finding, in the order in which help lists them.
func findingHelps() []findingHelp {
	return []findingHelp{
		{replica.NotMapped, "the database has the record, and the ID map does not", "ids import, or ids push if the backend lacks it"},
		{replica.NoLegacyID, "the backend has the record, and the ID map does not", "ids import, or set rest.unmapped to allocate"},
		{replica.MissingAtBackend, "the backend no longer has the record", "ids forget"},
		{replica.MissingInReplica, "the database no longer has the record", "ids forget"},
		{replica.NoBackendID, "the mapping has no backend id", "ids import, or ids push"},
		{replica.DuplicateLegacyID, "the backend's record carries the legacy id of another", "correct it at the backend"},
		{replica.UnresolvedWrite, "the outcome of a write is unknown", "read the record through a running portico serve"},
		{replica.UnreadableDocument, "the backend's record does not have the form that the mapping file expects", "correct the record or the mapping file"},
		{replica.LeftOut, "a value of the backend's record does not fit, so that clients see the one before, or none", "correct it at the backend, or correct the mapping file"},
		{replica.IncompleteList, "records may be missing in the backend's list", "let the mapping file order it by something without ties, such as the id"},
	}
}

// findingsTable returns the table of findings for --help.
func findingsTable() string {
	var b strings.Builder
	for _, f := range findingHelps() {
		fmt.Fprintf(&b, "  %-16s%s: %s\n", f.kind, f.meaning, f.remedy)
	}
	return b.String()
}

// checkIDs prints every finding to standard output as a line or as JSON, and a summary by
// kind to standard error. It returns a plain error if there are findings, and a CannotRun
// error if the check could not be made.
func checkIDs(ctx context.Context, cmd *cobra.Command, store *program.BackendStore) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return program.CannotRun{Err: err}
	}
	out, encoder := cmd.OutOrStdout(), json.NewEncoder(cmd.OutOrStdout())
	encoder.SetEscapeHTML(false)
	counts := map[replica.Kind]int{}
	var counted reasons
	bar := report.NewBar(cmd.ErrOrStderr())
	defer bar.Clear()
	err = store.Adapter.Check(ctx, func(f replica.Finding) error {
		counts[f.Kind]++
		isCounted := f.Kind == replica.UnreadableDocument || f.Kind == replica.LeftOut
		if isCounted {
			counted.add(f)
		}
		switch {
		case asJSON:
			return encoder.Encode(f)
		case isCounted:
			return nil // as one line for each reason
		}
		_, err := fmt.Fprintln(out, findingLine(f))
		return err
	}, func(resource adapter.Resource, step string, done int) { bar.Show(done, -1, string(resource)+": "+step) })
	if err != nil {
		return program.CannotRun{Err: err}
	}
	bar.Clear()
	for _, r := range counted.all {
		if asJSON {
			err = errors.Join(err, encoder.Encode(r))
		} else {
			fmt.Fprintln(out, r)
		}
	}
	total := 0
	for _, help := range findingHelps() {
		if n := counts[help.kind]; n > 0 {
			total += n
			fmt.Fprintf(cmd.ErrOrStderr(), "%d %s: %s: %s\n", n, help.kind, help.meaning, help.remedy)
		}
	}
	switch {
	case err != nil:
		return err
	case total > 0:
		return fmt.Errorf("%d found", total)
	case !asJSON:
		fmt.Fprintln(out, "nothing found")
	}
	return nil
}

// findingLine formats a finding as one line. It quotes texts that come from the backend.
func findingLine(f replica.Finding) string {
	line := fmt.Sprintf("%-16s%s", f.Kind, f.Resource)
	if f.Key != 0 {
		line += " " + strconv.FormatInt(int64(f.Key), 10)
	}
	if f.ID != "" {
		line += " backend id " + strconv.Quote(f.ID)
	}
	if f.Detail != "" {
		line += ": " + strconv.Quote(f.Detail)
	}
	return line
}

// pushIDsCommand returns the command "ids push".
func pushIDsCommand(p *program.Program) *cobra.Command {
	cmd := idsSubcommand(p, "push", "Create the records that the backend lacks", cobra.NoArgs,
		func(_ context.Context, cmd *cobra.Command, store *program.BackendStore, _ []string) error {
			return pushRecords(cmd, store)
		})
	cmd.Long = `Create every record of the database that has no mapping at the backend, with its parts,
and map it to the id that the backend returns. Use the command as the first step of a
migration to a new backend, or to continue an interrupted "portico seed".

The command goes on after records that the backend refuses, and names them: see
"portico ids check". A record that refers to one of them, such as an order to its customer,
is named, too, and waits until the backend has it.

Import the ids of records that the backend has already and that carry no legacy id there:
otherwise the command creates these records a second time. The command may be interrupted
and repeated; it continues where it stopped.

It creates one record at a time, as some backends lock their tables against each other's
creates. A large shop moves faster with --at-once 4 if the backend takes that; its ids may
then be in another order than the legacy ids. Categories are created one by one in any case.`
	cmd.Example = `  portico ids import pairs.csv && portico ids push && portico ids check
  portico ids push --at-once 4`
	addAtOnce(cmd)
	return cmd
}

// maxAtOnce is the greatest number of records that are created at a time.
const maxAtOnce = 32

// addAtOnce adds the flag that [createAtBackend] reads, and has it checked before anything is opened.
func addAtOnce(cmd *cobra.Command) {
	cmd.PreRunE = checkAtOnce
	cmd.Flags().Int("at-once", 1, fmt.Sprintf("how many records to create at the backend at a time, 1 to %d", maxAtOnce))
}

// checkAtOnce refuses a value of the flag.
func checkAtOnce(cmd *cobra.Command, _ []string) error {
	n, err := cmd.Flags().GetInt("at-once")
	if err == nil && (n < 1 || n > maxAtOnce) {
		err = fmt.Errorf("--at-once %d: want 1 to %d", n, maxAtOnce)
	}
	return err
}

// pushRecords creates the records that the backend lacks, and prints how many there are.
func pushRecords(cmd *cobra.Command, store *program.BackendStore) error {
	pushed, err := createAtBackend(cmd, store)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d records are at the backend, with their parts\n", pushed)
	return nil
}

// createAtBackend creates the records that the backend lacks, and returns how many it has.
func createAtBackend(cmd *cobra.Command, store *program.BackendStore) (pushed int, err error) {
	atOnce, err := cmd.Flags().GetInt("at-once")
	if err != nil {
		return 0, err
	}
	progress, finish := newProgressBar(cmd.ErrOrStderr())
	defer finish()
	err = store.ChangeBehindCaches(cmd.Context(), func() error {
		return store.Adapter.Push(cmd.Context(), atOnce, func(done, total int) {
			pushed = done
			progress(done, total)
		})
	})
	if err != nil {
		return pushed, fmt.Errorf("%w\nthe records that were created stay at the backend; \"portico ids push\" creates the others when it can", err)
	}
	return pushed, nil
}

// forgetIDsCommand returns the command "ids forget".
func forgetIDsCommand(p *program.Program) *cobra.Command {
	cmd := idsSubcommand(p, "forget RESOURCE ID...", "Remove what is left of records that the backend lost", cobra.MinimumNArgs(2),
		func(ctx context.Context, cmd *cobra.Command, store *program.BackendStore, args []string) error {
			return store.ChangeBehindCaches(ctx, func() error {
				return forgetIDs(ctx, cmd, store, adapter.Resource(args[0]), args[1:])
			})
		})
	cmd.Long = `Remove records that the backend no longer has from the database and the ID map, by their
legacy ids and with their parts. Callers do not see such records anyway. The command
refuses a record that the backend still has: delete that one at the backend, or by a
call, first. Where the database no longer has the record either, the command removes the
mapping alone.

The legacy id is never given to another record.`
	cmd.Example = `  portico ids check
  portico ids forget products 7 12`
	return cmd
}

// forgetIDs removes the records of resource with the legacy ids ids. It continues after a
// record that cannot be removed, and returns all errors.
func forgetIDs(ctx context.Context, cmd *cobra.Command, store *program.BackendStore, resource adapter.Resource, ids []string) error {
	keys := make([]adapter.Key, len(ids))
	for i, id := range ids {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a legacy id: want digits", id)
		}
		keys[i] = adapter.Key(n)
	}
	var errs []error
	for _, key := range keys {
		err := store.Adapter.Forget(ctx, resource, key)
		switch {
		case err == nil:
			fmt.Fprintf(cmd.OutOrStdout(), "%s %d is forgotten\n", resource, key)
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case adapter.KindOf(err) == adapter.Unsupported:
			return fmt.Errorf("%s: the backend does not hold such records, or they have no ids there", resource)
		}
		var refusal *adapter.Error
		if errors.As(err, &refusal) && refusal.Err != nil && (refusal.Kind == adapter.Conflict || refusal.Kind == adapter.NotFound) {
			err = fmt.Errorf("%s %d is not removed: %w", resource, key, refusal.Err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// idsSubcommand returns a command that opens the configured database and backend, calls
// run with them, and closes them. Failing to open them is a CannotRun error.
func idsSubcommand(p *program.Program, use, short string, args cobra.PositionalArgs, run func(context.Context, *cobra.Command, *program.BackendStore, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return program.CannotRun{Err: err}
			}
			if section := cfg.Sections[cfg.Adapter]; section != nil {
				section["scan_every"] = "0s" // a background scan would change the records
			}
			store, err := p.OpenBackendStore(cmd.Context(), cfg, program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg)))
			if err != nil {
				return program.CannotRun{Err: err}
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			return run(cmd.Context(), cmd, store, args)
		},
	}
	p.AddSettingFlags(cmd, "adapter", "log.level", "log.format")
	return cmd
}

// newProgressBar returns a function that draws a progress bar on w if that is a terminal, and
// one that removes it.
func newProgressBar(w io.Writer) (progress func(done, total int), finish func()) {
	bar := report.NewBar(w)
	return func(done, total int) { bar.Show(done, total, "records") }, bar.Clear
}

// maxReasons limits the number of reasons that are counted separately. All others are counted
// together.
const maxReasons = 1000

// A reason is a reason for which records of a resource are unreadable or one of their values is
// left out. It has the first record, and the number of records.
type reason struct {
	replica.Finding
	Records int `json:"records"`
}

// String returns the reason as one line. It quotes texts that come from the backend.
func (r *reason) String() string {
	return fmt.Sprintf("%-16s%s: %d, such as backend id %s: %s", r.Kind, r.Resource, r.Records, strconv.Quote(r.ID), strconv.Quote(r.Detail))
}

// reasons holds the reasons of all such records, in the order in which they were found.
type reasons struct {
	all  []*reason
	find map[replica.Finding]*reason // by kind, resource and detail
}

// add counts a record.
func (u *reasons) add(f replica.Finding) {
	key := replica.Finding{Kind: f.Kind, Resource: f.Resource, Detail: f.Detail}
	if len(u.all) >= maxReasons && u.find[key] == nil {
		f.Detail, key.Detail = "other reasons", "other reasons"
	}
	if u.find[key] == nil {
		r := &reason{Finding: f}
		u.all = append(u.all, r)
		if u.find == nil {
			u.find = map[replica.Finding]*reason{}
		}
		u.find[key] = r
	}
	u.find[key].Records++
}
