package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
)

func idsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ids",
		Short: "Manage which record of the backend each legacy id belongs to",
		Long: `Manage which record of the backend each legacy id belongs to.

With a backend over HTTP (adapter: rest) Portico's own database has a ledger: one entry
for each record that both have, with its legacy id and the backend's id. Callers see no
record without an entry. A record that is created through Portico gets its entry then,
and one of the backend that carries its legacy id when it is found. All others need one
of these, once:

  portico ids import pairs.csv   both have the records: tell which belong together
  portico ids push               the backend lacks them: create them there

Then, and whenever the two may have come apart:
  portico ids check              what the database, the ledger and the backend disagree on
  portico ids forget products 7  take away what is left of a record the backend lost`,
	}
	cmd.AddCommand(importIDsCommand(), checkIDsCommand(), pushIDsCommand(), forgetIDsCommand())
	return cmd
}

func importIDsCommand() *cobra.Command {
	var dry bool
	cmd := idsSubcommand("import FILE", "Tell which records of the database and of the backend belong together", cobra.ExactArgs(1),
		func(ctx context.Context, cmd *cobra.Command, j *joined, args []string) error {
			return importIDs(ctx, cmd, j, args[0], dry)
		})
	cmd.Long = `Read a CSV file of legacy ids and the backend's ids, and enter them in the ledger. FILE
may be - for standard input. Its first line is

  resource,legacy_id,backend_id          or
  resource,legacy_id,backend_id,owner_id

owner_id is the legacy id of the record that a part belongs to, as the customer of an
address; it is compared with the database, and may be empty. Parts without ids of their
own at the backend, as stock items may be, are left out.

All faults are told by their lines, and with one of them nothing is stored: a resource
that the backend does not keep, a legacy id that the database has not, an id that is
there twice or belongs to another already. Pairs that are in the ledger already are
passed over, so that an import that was interrupted can be repeated. Whether the
backend has the ids is for "portico ids check" to tell.

When an imported record is read first, the backend's values are taken over: in what
both keep, the backend is right.`
	cmd.Example = `  portico ids import pairs.csv --dry-run
  portico ids import pairs.csv && portico ids check`
	cmd.Flags().BoolVar(&dry, "dry-run", false, "look for faults, and store nothing")
	return cmd
}

func importIDs(ctx context.Context, cmd *cobra.Command, j *joined, path string, dry bool) error {
	var file io.Reader = cmd.InOrStdin()
	if path != "-" {
		opened, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }()
		file = opened
	}
	progress, finish := progressOn(cmd.ErrOrStderr())
	defer finish()
	i := replica.IDImport{Replica: j.side, Resources: j.backend.Resources(), DryRun: dry, Progress: progress}
	done, err := i.Run(ctx, file)
	finish()
	var faults *replica.LineErrors
	switch {
	case errors.As(err, &faults):
		return fmt.Errorf("%s: nothing is stored:\n%w", path, err)
	case err != nil && done.Stored > 0:
		return fmt.Errorf("%d of %d pairs are stored; repeat the import: %w", done.Stored, done.Rows-done.Existing, err)
	case err != nil:
		return err
	case dry:
		fmt.Fprintf(cmd.OutOrStdout(), "%d pairs would be stored, %d are known\n", done.Rows-done.Existing, done.Existing)
	default:
		fmt.Fprintf(cmd.OutOrStdout(), "%d pairs stored, %d were known\n", done.Stored, done.Existing)
	}
	return nil
}

func checkIDsCommand() *cobra.Command {
	cmd := idsSubcommand("check", "Tell what the database, the ledger and the backend disagree on", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, j *joined, _ []string) error {
			return checkIDs(ctx, cmd, j)
		})
	cmd.Long = `Compare all records that the backend keeps: those of the database, the entries of the
ledger, and the backend's. Nothing is changed. Records that are written meanwhile may be
told, too: what is told a second time is so.

` + findingsHelp() + `
With --json each finding is one line: what, resource, legacy_id, backend_id, detail.

Exit codes: 0 nothing was found, 1 something was, 2 the check could not be made.`
	cmd.Flags().Bool("json", false, "print JSON, one line for each finding")
	return cmd
}

// A findingHelp says what a kind of finding means, and what to do.
type findingHelp struct {
	kind          replica.FindingKind
	means, remedy string
}

func findingHelps() []findingHelp {
	return []findingHelp{
		{replica.NotMapped, "the database has it, and the ledger no entry", "ids import, or ids push if the backend lacks it"},
		{replica.NoLegacyID, "the backend has it, and the ledger no entry", "ids import, or set rest.unmapped to allocate"},
		{replica.MissingAtBackend, "the backend has it no more", "ids forget"},
		{replica.MissingInReplica, "the database has it no more", "ids forget"},
		{replica.NoBackendID, "its entry has no id of the backend", "ids import, or ids push"},
		{replica.DuplicateLegacyID, "the backend's record carries another's legacy id", "correct it at the backend"},
		{replica.UnresolvedWrite, "nobody knows yet what became of a write", "read it through a serving process"},
		{replica.UnreadableDocument, "the backend's record is not as the mapping says", "correct the record or the mapping"},
	}
}

// findingsHelp is the table of findings for --help.
func findingsHelp() string {
	var b strings.Builder
	for _, f := range findingHelps() {
		fmt.Fprintf(&b, "  %-16s%s: %s\n", f.kind, f.means, f.remedy)
	}
	return b.String()
}

func checkIDs(ctx context.Context, cmd *cobra.Command, j *joined) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return cannotRun{err}
	}
	out, encoder := cmd.OutOrStdout(), json.NewEncoder(cmd.OutOrStdout())
	encoder.SetEscapeHTML(false)
	found := map[replica.FindingKind]int{}
	progress, finish := stepsOn(cmd.ErrOrStderr())
	defer finish()
	check := replica.Check{Replica: j.side, Backend: j.backend, Progress: progress, OnFinding: func(f replica.Finding) error {
		found[f.Kind]++
		if asJSON {
			return encoder.Encode(f)
		}
		_, err := fmt.Fprintln(out, findingLine(f))
		return err
	}}
	if err := check.Run(ctx); err != nil {
		return cannotRun{err}
	}
	finish()
	total := 0
	for _, help := range findingHelps() {
		if n := found[help.kind]; n > 0 {
			total += n
			fmt.Fprintf(cmd.ErrOrStderr(), "%d %s: %s: %s\n", n, help.kind, help.means, help.remedy)
		}
	}
	switch {
	case total > 0:
		return fmt.Errorf("%d found", total)
	case !asJSON:
		fmt.Fprintln(out, "nothing found")
	}
	return nil
}

// findingLine is a finding as one line. What the backend says is quoted.
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

func pushIDsCommand() *cobra.Command {
	cmd := idsSubcommand("push", "Create at the backend what it lacks", cobra.NoArgs,
		func(_ context.Context, cmd *cobra.Command, j *joined, _ []string) error { return push(cmd, j) })
	cmd.Long = `Create at the backend every record of the database that has no entry in the ledger, with
its parts, and enter the ids that the backend gives: as the first step of a migration to
a new backend, or to go on where "portico seed", which does the same, was interrupted.

Records that the backend has already, and that carry no legacy id there, would be there
twice: import their ids first. The command may be interrupted and repeated; it goes on
where it ended.`
	cmd.Example = `  portico ids import pairs.csv && portico ids push && portico ids check`
	return cmd
}

// push creates at the backend what it lacks.
func push(cmd *cobra.Command, j *joined) error {
	progress, finish := progressOn(cmd.ErrOrStderr())
	defer finish()
	seen := 0
	err := j.store.Push(cmd.Context(), func(done, total int) {
		seen = done
		if progress != nil {
			progress(done, total)
		}
	})
	finish()
	if err != nil {
		return fmt.Errorf("%w\nwhat the backend has by now stays; \"portico ids push\" goes on", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d records are at the backend, with their parts\n", seen)
	return nil
}

func forgetIDsCommand() *cobra.Command {
	cmd := idsSubcommand("forget RESOURCE ID...", "Take away what is left of records that the backend lost", cobra.MinimumNArgs(2),
		func(ctx context.Context, cmd *cobra.Command, j *joined, args []string) error {
			return forgetIDs(ctx, cmd, j, adapter.Resource(args[0]), args[1:])
		})
	cmd.Long = `Remove records by their legacy ids from the database and the ledger, with their parts,
when the backend has them no more. Callers do not see such records anyway. One that the
backend still has is refused: delete it there, or by a call, first. Of a record that
the database has lost, the entry alone is removed.

A legacy id is not given to another record afterwards.`
	cmd.Example = `  portico ids check
  portico ids forget products 7 12`
	return cmd
}

func forgetIDs(ctx context.Context, cmd *cobra.Command, j *joined, r adapter.Resource, ids []string) error {
	keys := make([]adapter.Key, len(ids))
	for i, id := range ids {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is no legacy id: want digits", id)
		}
		keys[i] = adapter.Key(n)
	}
	forget := replica.Forget{Replica: j.side, Backend: j.backend}
	var failed []error
	for _, key := range keys {
		err := forget.Run(ctx, r, key)
		switch {
		case err == nil:
			fmt.Fprintf(cmd.OutOrStdout(), "%s %d is forgotten\n", r, key)
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case adapter.KindOf(err) == adapter.Unsupported:
			return fmt.Errorf("%s: the backend keeps no such records, or they have no ids there", r)
		}
		var refusal *adapter.Error
		if errors.As(err, &refusal) && refusal.Err != nil && (refusal.Kind == adapter.Conflict || refusal.Kind == adapter.NotFound) {
			err = fmt.Errorf("%s %d stays: %w", r, key, refusal.Err)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// idsSubcommand returns a command that runs with the configured database and backend.
// Failing to open them is an error that the command cannot run.
func idsSubcommand(use, short string, args cobra.PositionalArgs, run func(context.Context, *cobra.Command, *joined, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return cannotRun{err}
			}
			if section := cfg.Sections[restSection]; section != nil {
				section["scan_every"] = "0s" // what the command finds is not to change meanwhile
			}
			j, err := openBackend(cmd.Context(), cfg, newLogger(cmd.ErrOrStderr(), quiet(cfg)))
			if err != nil {
				return cannotRun{err}
			}
			defer func() { err = errors.Join(err, j.Close()) }()
			return run(cmd.Context(), cmd, j, args)
		},
	}
	addSettingFlags(cmd, "adapter", "log.level", "log.format")
	return cmd
}

// stepsOn is progressOn for work whose end is not known.
func stepsOn(w io.Writer) (progress func(r adapter.Resource, step string, done int), finish func()) {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, func() {}
	}
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	progress = func(r adapter.Resource, step string, done int) {
		bar.Describe(string(r) + ": " + step)
		_ = bar.Set(done) // a bar that cannot be drawn is no reason to stop
	}
	return progress, func() { _ = bar.Finish() }
}
