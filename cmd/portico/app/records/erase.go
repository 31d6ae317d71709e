package records

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// options are the flags of the command.
type options struct {
	customer                       int64
	keepOrders, dryRun, yes, force bool
}

// A receipt lists the erased data. It contains no name or e-mail address.
type receipt struct {
	Customer int64     `json:"customer"`
	Time     time.Time `json:"time"`
	DryRun   bool      `json:"dry_run"`
	*sqlstore.ErasureReceipt
	Recordings []string `json:"recordings"` // the files that were removed
	Warnings   []string `json:"warnings"`
}

// EraseCommand returns the command "erase".
func EraseCommand(p *program.Program) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "erase --customer ID",
		Short: "Erase a customer, and print a receipt",
		Long: `Erase a customer from the database and from the folder of recordings, record.dir:

  deleted      the customer, with password hash, addresses and attributes of your own;
               tokens and API keys; what the outbox, the ID map and notes of imports hold
               of them; notes and recordings that have the e-mail address
  overwritten  in the customer's orders, and in orders of guests with the same e-mail
               address: names, streets, cities, regions, postcodes, companies, telephone
               numbers, e-mail and network addresses, gift messages and comments
  kept         the orders themselves, as records of the shop's books: numbers, times,
               states, lines, amounts and the countries of their addresses

--keep-orders leaves the orders as they are, apart from their link to the customer.

Clients of the interface no longer find the customer: running processes notice it, for
which the command waits two seconds. There is no way back. Copies
elsewhere are yours to erase: backups, data sets, logs of the web server, and an legacy store.
A customer that a legacy store or a backend would bring back is refused; --force erases it
here nevertheless, and the receipt says so.

A database file of SQLite is rewritten, so that no deleted bytes remain in it. A
database server overwrites them in time, also those in its log.

The receipt says what was erased where, and names nobody. If the command is stopped
before it has printed the receipt, run it again. --dry-run counts what would be erased.
The command asks before it begins, unless --yes is given.`,
		Example: `  portico erase --customer 42 --dry-run
  portico erase --customer 42 --yes --json > receipt.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return erase(p, cmd, o) },
	}
	p.AddSettingFlags(cmd, "log.level", "log.format")
	cmd.Flags().Int64Var(&o.customer, "customer", 0, "id of the customer")
	cmd.Flags().BoolVar(&o.keepOrders, "keep-orders", false, "leave the customer's orders as they are")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "count what would be erased, and change nothing")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&o.force, "force", false, "erase the customer here even if the legacy store would bring it back")
	cmd.Flags().Bool("json", false, "print JSON")
	_ = cmd.MarkFlagRequired("customer") // the flag is the one defined above
	return cmd
}

// erase erases the customer, and prints the receipt.
func erase(p *program.Program, cmd *cobra.Command, o options) (err error) {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return err
	}
	done := receipt{Customer: o.customer, Time: time.Now().UTC().Truncate(time.Second), DryRun: o.dryRun, Recordings: []string{}, Warnings: []string{}}
	if reason := returns(cfg); reason != "" {
		if !o.force && !o.dryRun {
			return fmt.Errorf("%s: delete the customer there, too; --force erases it here first", reason)
		}
		done.Warnings = append(done.Warnings, reason)
	}
	if !o.yes && !o.dryRun {
		if err := confirm(cmd, o.customer); err != nil {
			return err
		}
	}
	db, err := program.OpenStoreAs(cmd.Context(), cfg, false, program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// The recordings come first: the search in them needs the customer's e-mail address and names.
	options := sqlstore.ErasureOptions{Customer: adapter.Key(o.customer), KeepOrders: o.keepOrders, DryRun: true}
	var person sqlstore.ErasedPerson
	done.ErasureReceipt, person, err = db.EraseCustomer(cmd.Context(), options, nil)
	switch {
	case adapter.KindOf(err) == adapter.NotFound:
		return resume(cmd, db, o)
	case err != nil:
		return err
	}
	if cfg.Record.Dir != "" {
		if done.Recordings, err = removeRecordings(cfg.Record.Dir, person, o.dryRun); err != nil {
			return fmt.Errorf("the customer is not erased, as recordings in record.dir cannot be: %w", err)
		}
	}
	if o.dryRun {
		return program.WriteResult(cmd, done, func(w io.Writer) { printReceipt(w, done) })
	}
	options.DryRun = false
	if options.Announcement, err = db.Changes().Announce(cmd.Context()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, options.Announcement.End(context.WithoutCancel(cmd.Context()))) }()
	_, _, err = db.EraseCustomer(cmd.Context(), options, func(r *sqlstore.ErasureReceipt) (string, error) {
		done.ErasureReceipt = r
		return note(done)
	})
	if err != nil {
		return err
	}
	return finish(cmd, db, done)
}

// maxNotedRecordings is the number of recordings that a note names.
const maxNotedRecordings = 100

// note returns the text of a receipt, shortened, which is stored until the receipt has been
// printed.
func note(done receipt) (string, error) {
	if more := len(done.Recordings) - maxNotedRecordings; more > 0 {
		done.Recordings = append(slices.Clone(done.Recordings[:maxNotedRecordings]), fmt.Sprintf("and %d more", more))
	}
	text, err := json.Marshal(done)
	return string(text), err
}

// resume finishes an erasure that an earlier run has begun, and prints its receipt.
func resume(cmd *cobra.Command, db *sqlstore.DB, o options) error {
	text, err := db.UnendedErasure(cmd.Context(), adapter.Key(o.customer))
	switch {
	case err != nil:
		return err
	case text == "":
		return fmt.Errorf("there is no customer %d", o.customer)
	case o.dryRun:
		return fmt.Errorf("customer %d is erased, by a run that has not printed its receipt: run the command without --dry-run for it", o.customer)
	}
	var done receipt
	if err := json.Unmarshal([]byte(text), &done); err != nil {
		return fmt.Errorf("the receipt of an earlier run cannot be read: %w", err)
	}
	if err := db.ScrubErased(cmd.Context()); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "An earlier run has erased customer %d, and has not printed its receipt. This is it:\n", o.customer)
	return finish(cmd, db, done)
}

// finish prints a receipt, and then forgets it.
func finish(cmd *cobra.Command, db *sqlstore.DB, done receipt) error {
	if err := program.WriteResult(cmd, done, func(w io.Writer) { printReceipt(w, done) }); err != nil {
		return fmt.Errorf("the customer is erased; the receipt cannot be written, so run the command again for it: %w", err)
	}
	return db.EndErasure(cmd.Context(), adapter.Key(done.Customer))
}

// returns describes the mechanism that would bring a customer back, or returns "".
func returns(cfg *config.Config) string {
	switch {
	case cfg.Follow.DSN != "":
		return "Portico follows a legacy store (follow.dsn), which brings the customer back when it changes there, or with the next comparison"
	case cfg.Legacy.URL != "":
		return "a legacy store answers calls too (legacy.url), and still has the customer if it is not deleted there"
	}
	return ""
}

var errNotConfirmed = errors.New("nothing was erased: type the id of the customer to go on, or use --yes")

// confirm asks for the id of the customer.
func confirm(cmd *cobra.Command, customer int64) error {
	id := strconv.FormatInt(customer, 10)
	fmt.Fprintf(cmd.ErrOrStderr(), "Customer %s will be erased, and there is no way back. Type the id to go on:\n", id)
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 1<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(line) != id {
		return errNotConfirmed
	}
	return nil
}

// printReceipt prints a receipt for people.
func printReceipt(w io.Writer, r receipt) {
	verb := ""
	if r.DryRun {
		verb = " (dry run: nothing was changed)"
	}
	fmt.Fprintf(w, "customer %d\t%s%s\n", r.Customer, r.Time.Format("2006-01-02 15:04:05 MST"), verb)
	for _, c := range r.Deleted {
		fmt.Fprintf(w, "deleted\t%s\t%d\n", c.Table, c.Rows)
	}
	for _, c := range r.Overwritten {
		fmt.Fprintf(w, "overwritten\t%s\t%d\n", c.Table, c.Rows)
	}
	fmt.Fprintf(w, "orders kept\t\t%d\n", r.Orders)
	for _, name := range r.Recordings {
		fmt.Fprintf(w, "recording removed\t%s\n", name)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "warning\t%s\n", warning)
	}
}

// maxRecording is the maximum size of a file of recordings.
const maxRecording = 64 << 20

// removeRecordings removes the files below a folder that have the e-mail address of a person, or both
// names, and returns their names. Recordings are masked, so there should be none.
func removeRecordings(folder string, person sqlstore.ErasedPerson, dryRun bool) (removed []string, err error) {
	removed = []string{}
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return removed, nil
	}
	if err != nil {
		return removed, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		names, err := tells(root, path, person)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !names { // another process has replaced it
			return nil
		}
		if err == nil && !dryRun {
			err = root.Remove(path)
		}
		removed = append(removed, path)
		return err
	})
	return removed, err
}

// tells reports whether a file contains the e-mail address of a person, or both names.
func tells(root *os.Root, path string, person sqlstore.ErasedPerson) (bool, error) {
	file, err := root.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxRecording+1))
	if err != nil {
		return false, err
	}
	if len(content) > maxRecording {
		return false, fmt.Errorf("%s has more than %d bytes", path, maxRecording)
	}
	content = bytes.ToLower(content)
	has := func(text string) bool { return text != "" && bytes.Contains(content, []byte(strings.ToLower(text))) }
	email := person.Email
	return has(email) || has(strings.Replace(email, "@", "%40", 1)) || has(strings.Replace(email, "@", `\u0040`, 1)) ||
		hasValue(content, person.FirstName) && hasValue(content, person.LastName), nil
}

// hasValue reports whether a text is a whole value in lower-case content: a value of JSON or XML,
// or of either inside a JSON string. A match within a value does not count, because short names are
// parts of other words.
func hasValue(content []byte, text string) bool {
	if text == "" {
		return false
	}
	text = strings.ToLower(text)
	for _, quotes := range [][2]string{{`"`, `"`}, {`"`, `\"`}, {">", "<"}, {`\u003e`, `\u003c`}} {
		if bytes.Contains(content, []byte(quotes[0]+text+quotes[1])) {
			return true
		}
	}
	return false
}
