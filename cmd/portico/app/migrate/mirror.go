package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// createPrefix begins the ids of creates, to distinguish them from the ids of changes.
const createPrefix = "c"

// MirrorCommand returns the command "mirror" with its subcommands.
func MirrorCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mirror",
		Short: "See and settle what the legacy store still has to be told of clients' writes",
		Long: `See and settle what the legacy store still has to be told of clients' writes.

With mirror: true in the setting routes, Portico answers clients' writes and repeats them at
the legacy store. Changes and deletions wait in an outbox until "portico serve" has delivered
them, usually for less than a second. What the legacy store refuses is parked with its reason
and tried again from time to time; the rest goes on. While something is parked, the writes
of the resource cannot move back.

  portico mirror list        what waits, what is parked, and what nobody knows
  portico mirror retry       try what is parked again now
  portico mirror skip 17     give a change up: the legacy store keeps what it has, and Portico
                             takes that over as it follows the legacy store
  portico mirror conflicts   values that both a client and the legacy store have changed

Records are created at the legacy store first. If its reply is lost, Portico looks for the
record by its SKU or e-mail address. An image, an address or a comment has neither: it is
listed with an id such as c7, and never created again. Look in the legacy store whether it is
there, then skip it: if it is, Portico has it already.`,
	}
	cmd.AddCommand(listMirrorCommand(p), retryMirrorCommand(p), skipMirrorCommand(p), conflictsMirrorCommand(p))
	return cmd
}

// mirrorSubcommand returns a command that runs do with the outbox of the configured store.
func mirrorSubcommand(p *program.Program, use, short string, args cobra.PositionalArgs, do func(context.Context, *cobra.Command, coordination.Outboxes, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			db, err := program.OpenStoreAs(cmd.Context(), cfg, false, program.NewLogger(cmd.ErrOrStderr(), cfg))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			return do(cmd.Context(), cmd, db.Outbox(), args)
		},
	}
	p.AddSettingFlags(cmd)
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// A printedEntry is the output of "portico mirror list" for a change or a create.
type printedEntry struct {
	ID       string `json:"id"`
	State    string `json:"state"` // waiting, parked, held or unknown
	Resource string `json:"resource"`
	Key      int64  `json:"key,omitempty"`
	Store    int64  `json:"store,omitempty"` // store view; 0: the default scope
	// Changes lists the changed attributes, or is "deleted" or "created".
	Changes  []string  `json:"changes"`
	Attempts int       `json:"attempts,omitempty"`
	Since    time.Time `json:"since"`
	Retry    time.Time `json:"retry,omitzero"`
	Reason   string    `json:"reason,omitempty"`
}

func newPrintedEntry(e outbox.Entry) printedEntry {
	printed := printedEntry{
		ID: strconv.FormatInt(e.ID, 10), State: "waiting", Resource: string(e.Resource), Key: int64(e.Key), Store: e.StoreID,
		Changes: slices.Sorted(maps.Keys(e.Agreed)), Attempts: e.Attempts, Since: e.CreatedAt, Reason: e.Reason,
	}
	if e.Removed {
		printed.Changes = append([]string{"deleted"}, printed.Changes...)
	}
	switch {
	case e.Held:
		printed.State, printed.Reason = "held", "the legacy store's interface has no form for it"
	case e.Parked:
		printed.State, printed.Retry = "parked", e.NextRetry
	case e.Reason != "":
		printed.Retry = e.NextRetry
	}
	return printed
}

// print prints an entry as a line.
func (e *printedEntry) print(w io.Writer) {
	record := e.Resource
	if e.Key != 0 {
		record += fmt.Sprintf(" %d", e.Key)
	}
	if e.Store != 0 {
		record += fmt.Sprintf(" at store view %d", e.Store)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", e.ID, e.State, record, strings.Join(e.Changes, " "), e.Since.Format(time.DateTime), e.Attempts, e.Reason)
}

// listMirrorCommand returns the command "mirror list".
func listMirrorCommand(p *program.Program) *cobra.Command {
	var parked, held bool
	var limit int
	var after int64
	cmd := mirrorSubcommand(p, "list", "List what the legacy store still has to be told", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, box coordination.Outboxes, _ []string) error {
			if limit < 1 {
				return errLimit
			}
			all := []printedEntry{}
			if !held && after == 0 {
				creates, err := box.Creates(ctx, "", "", limit)
				if err != nil {
					return err
				}
				for _, c := range creates {
					if c.Reason != "" {
						all = append(all, printedEntry{ID: createPrefix + strconv.FormatInt(c.ID, 10), State: "unknown", Resource: string(c.Resource), Changes: []string{"created"}, Since: c.CreatedAt, Reason: c.Reason})
					}
				}
			}
			entries, err := box.Entries(ctx, coordination.EntryFilter{Parked: parked, Held: held, After: after, Limit: limit})
			if err != nil {
				return err
			}
			for _, e := range entries {
				all = append(all, newPrintedEntry(e))
			}
			return program.WriteResult(cmd, all, func(w io.Writer) {
				if len(all) == 0 {
					fmt.Fprintln(w, nothingListed(parked, held, after))
					return
				}
				fmt.Fprintln(w, "ID\tSTATE\tRECORD\tCHANGES\tSINCE\tATTEMPTS\tREASON")
				for i := range all {
					all[i].print(w)
				}
				if len(entries) >= limit {
					fmt.Fprintf(w, "there may be more: add --after %d\n", entries[len(entries)-1].ID)
				}
			})
		})
	cmd.Flags().BoolVar(&parked, "parked", false, "only what the legacy store refuses, or what nobody knows")
	cmd.Flags().BoolVar(&held, "held", false, "values that clients have written and for which the legacy store's interface has no form")
	cmd.Flags().IntVar(&limit, "limit", 1000, "list at most so many changes")
	cmd.Flags().Int64Var(&after, "after", 0, "list only changes with greater ids than this one, for the next page")
	cmd.MarkFlagsMutuallyExclusive("parked", "held")
	return cmd
}

var errLimit = errors.New("--limit must be at least 1")

// nothingListed says for people that a list is empty.
func nothingListed(parked, held bool, after int64) string {
	switch {
	case after != 0:
		return "there is nothing more"
	case held:
		return "no value is held"
	case parked:
		return "nothing is parked"
	default:
		return "the legacy store has been told of everything"
	}
}

// retryMirrorCommand returns the command "mirror retry".
func retryMirrorCommand(p *program.Program) *cobra.Command {
	return mirrorSubcommand(p, "retry [ID...]", "Try parked changes again now, all of them if none are named", cobra.ArbitraryArgs,
		func(ctx context.Context, cmd *cobra.Command, box coordination.Outboxes, args []string) error {
			ids, creates, err := entryIDs(args)
			if err != nil {
				return err
			}
			if len(creates) > 0 {
				return errors.New("a record of which nobody knows whether it was created is never created again: look for it in the legacy store, and skip it")
			}
			n, err := box.Retry(ctx, ids...)
			if err != nil {
				return err
			}
			return program.WriteResult(cmd, map[string]int64{"retried": n}, func(w io.Writer) {
				fmt.Fprintf(w, "%d changes are tried again\n", n)
			})
		})
}

// skipMirrorCommand returns the command "mirror skip".
func skipMirrorCommand(p *program.Program) *cobra.Command {
	return mirrorSubcommand(p, "skip ID...", "Give changes up, by their ids in portico mirror list", cobra.MinimumNArgs(1),
		func(ctx context.Context, cmd *cobra.Command, box coordination.Outboxes, args []string) error {
			ids, creates, err := entryIDs(args)
			if err != nil {
				return err
			}
			n, err := box.Discard(ctx, ids...)
			if err == nil && len(creates) > 0 {
				var forgotten int64
				forgotten, err = box.DiscardCreates(ctx, creates...)
				n += forgotten
			}
			if err != nil {
				return err
			}
			return program.WriteResult(cmd, map[string]int64{"skipped": n}, func(w io.Writer) {
				fmt.Fprintf(w, "%d of %d are given up\n", n, len(args))
			})
		})
}

// entryIDs parses the ids of changes and of creates.
func entryIDs(args []string) (entries, creates []int64, err error) {
	for _, arg := range args {
		number, isCreate := strings.CutPrefix(arg, createPrefix)
		id, err := strconv.ParseInt(number, 10, 64)
		switch {
		case err != nil || id <= 0:
			return nil, nil, fmt.Errorf("%q is no id: portico mirror list shows ids such as 17 or %s7", arg, createPrefix)
		case isCreate:
			creates = append(creates, id)
		default:
			entries = append(entries, id)
		}
	}
	return entries, creates, nil
}

// A printedConflict is the output of "portico mirror conflicts" for one value.
type printedConflict struct {
	At        time.Time `json:"at"`
	Resource  string    `json:"resource"`
	Key       int64     `json:"key"`
	Store     int64     `json:"store,omitempty"`
	Attribute string    `json:"attribute,omitempty"` // "": the whole record
	Portico   string    `json:"portico"`
	OldShop   string    `json:"old_shop"`
	Outcome   string    `json:"outcome"`
}

// conflictsMirrorCommand returns the command "mirror conflicts".
func conflictsMirrorCommand(p *program.Program) *cobra.Command {
	var limit int
	cmd := mirrorSubcommand(p, "conflicts", "List values that both a client and the legacy store have changed", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, box coordination.Outboxes, _ []string) error {
			if limit < 1 {
				return errLimit
			}
			latest, total, err := box.Conflicts(ctx, limit)
			if err != nil {
				return err
			}
			printed := make([]printedConflict, len(latest))
			for i, c := range latest {
				printed[i] = printedConflict{c.At, string(c.Resource), int64(c.Key), c.StoreID, c.Attribute, c.Ours, c.Theirs, string(c.Outcome)}
			}
			return program.WriteResult(cmd, map[string]any{"total": total, "conflicts": printed}, func(w io.Writer) {
				fmt.Fprintln(w, "AT\tRECORD\tATTRIBUTE\tPORTICO\tLEGACY STORE\tOUTCOME")
				for _, c := range printed {
					fmt.Fprintf(w, "%s\t%s %d\t%s\t%.40q\t%.40q\t%s\n", c.At.Format(time.DateTime), c.Resource, c.Key, c.Attribute, c.Portico, c.OldShop, c.Outcome)
				}
				fmt.Fprintf(w, "%d of %d\n", len(printed), total)
			})
		})
	cmd.Long = `List the latest values that a client has written to Portico and the legacy store has changed since
the two last agreed. OUTCOME says what has become of each:

  kept      the client's value stays, and the legacy store gets it
  added     a quantity in stock: the legacy store's difference was added, and it gets the sum
  taken     the legacy store's value: its interface has no form for the client's
  dropped   the legacy store has deleted the record`
	cmd.Flags().IntVar(&limit, "limit", 100, "list at most so many")
	return cmd
}
