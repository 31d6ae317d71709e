package migrate

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
)

// Maximum sizes of files, in bytes.
const (
	maxCredentials  = 1 << 20
	maxExpectations = 1 << 20
)

// manyPerField is the number of differences of one field in one answer that are examined if
// some are expected: a difference must not hide behind expected ones.
const manyPerField = 1000

// A comparedSystem is one of the two systems that are compared. Its fields have the names
// of its flags.
type comparedSystem struct {
	name, url, base, credentialsFile string
	credentials                      contracttests.Credentials
	client                           *contracttests.Client
}

// compareOptions holds the flags of the command compare.
type compareOptions struct {
	systems            [2]comparedSystem // legacy, candidate
	requests           string
	sweep              sweepOptions
	expect             []string
	expected           *compare.Expectations // of all files in expect
	expectSum          string                // their checksum
	routes             *contract.Table
	credentialsFile    string // of both
	caFile             string
	insecure           bool
	parallel           int
	timeout            time.Duration
	tolerances         compare.Options
	htmlFile, jsonFile string
	showPersonal       bool
	noteIn             *config.Config // whose store gets the result of a sweep; nil: none
}

// Command returns the command "compare".
func Command(p *program.Program) *cobra.Command {
	o := &compareOptions{
		systems: [2]comparedSystem{{name: "legacy"}, {name: "candidate"}},
		routes:  contract.NewTable(contract.Routes(contract.StandardFields())),
	}
	cmd := &cobra.Command{
		Use:   "compare --legacy URL --candidate URL (--requests FILE | --sweep)",
		Short: "Send the same requests to two systems and report where their answers differ",
		Long: `Send the reads of recorded exchanges (record.dir, or contracttest record) to a legacy
store and to the candidate that is to replace it, and report by call and field where
their answers differ. The command writes to neither system: it sends GET requests only,
and counts the others.

With --sweep the command needs no recorded requests: it reads every list page by page,
as every caller with credentials, in JSON and XML, and every single record and its
parts. It says beforehand how many requests that takes. --rate protects a living shop,
--sample reads a share of the records, and --state continues after an interruption. A
difference counts only if it is still there after --pause. With --note the result is
stored in the database of --config, where "portico plan" finds it.

--expect names a file of differences that you accept, each with a reason:
  - {call: getProduct, field: updated_at, reason: "set by the import"}
  - {resource: orders, field: coupon_code, record: 7, legacy: OLD, reason: "corrected"}
An entry has call (see "portico routes") or resource (or "resource: all"), field and reason,
and optionally record, legacy and candidate: the values, ~ for none. The report counts such answers
apart, and lists entries that were never found. "--expect magento2" takes the built-in
differences that this mapping of a backend makes unavoidable. The flag can be repeated.

By default the command uses the credentials of the demo store for both systems. Name
files with other credentials by flags; "contracttest credentials" prints an example.
Before the command compares answers, it replaces the base URLs of both systems by the
same word, and the random key in buy_now_url too.

A difference has the name of a field, or one of these names: status-code, content-type,
location, root, body, messages, records (one system lacks them), order (of records),
rendering (order of fields, blanks, escapes), other (fields that the contract does not
have) and answer (one system gave none). --ignore takes these names.

Personal data is masked unless --show-personal is given.

Exit codes: 0 all answers are equal, 1 some differ or a list could not be read to its
end, 2 the comparison could not be made, or was interrupted.`,
		Example: `  portico compare --legacy https://old.example --candidate http://127.0.0.1:8080 --requests recorded/
  portico compare --legacy https://old.example --candidate https://new.example --requests calls.json \
    --legacy-credentials old.yaml --candidate-credentials new.yaml --clock 5s --ignore updated_at --html differences.html
  portico compare --legacy https://old.example --candidate https://new.example --credentials shop.yaml \
    --sweep --rate 10 --state sweep.state --expect expected.yaml --html proof.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return program.CannotRun{Err: err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.loadNoteConfig(func() (*config.Config, error) { return p.LoadConfig(cmd) }); err != nil {
				return program.CannotRun{Err: err}
			}
			return o.run(cmd)
		},
	}
	p.AddSettingFlags(cmd)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return program.CannotRun{Err: err} })
	o.addFlags(cmd.Flags())
	return cmd
}

// addFlags defines the flags of the command.
func (o *compareOptions) addFlags(flags *pflag.FlagSet) {
	for i, description := range []string{"legacy store", "system that is to replace it"} {
		system := &o.systems[i]
		flags.StringVar(&system.url, system.name, "", "address of the "+description+", `http(s)://host[:port][/path]`, without /api/rest")
		flags.StringVar(&system.base, system.name+"-base", "", "base `URL` that its answers contain, if it differs from its address")
		flags.StringVar(&system.credentialsFile, system.name+"-credentials", "", "`FILE` with its credentials, if they differ from --credentials")
	}
	flags.StringVar(&o.requests, "requests", "", "`FILE` of recorded exchanges, or a folder of such files")
	o.sweep.addFlags(flags)
	flags.StringArrayVar(&o.expect, "expect", nil, "YAML `FILE` of differences to accept, or the name of a built-in mapping that has one")
	flags.StringVar(&o.credentialsFile, "credentials", "", "`FILE` in YAML or JSON with the credentials of the callers for both systems (default: the demo store's)")
	flags.StringVar(&o.caFile, "ca", "", "PEM `FILE` with the certificate authorities to trust")
	flags.BoolVar(&o.insecure, "insecure", false, "trust any certificate")
	flags.IntVar(&o.parallel, "parallel", 4, "`NUMBER` of concurrent requests")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "maximum `TIME` for one answer")
	flags.BoolVar(&o.tolerances.Unordered, "unordered", false, "allow records and fields in another order")
	flags.DurationVar(&o.tolerances.Clock, "clock", 0, "`TIME` by which date-times may differ")
	flags.StringSliceVar(&o.tolerances.Ignore, "ignore", nil, "`FIELDS` that may differ, such as updated_at,stock_data.qty")
	flags.StringVar(&o.htmlFile, "html", "", "`FILE` for an HTML report")
	flags.StringVar(&o.jsonFile, "json", "", "`FILE` for a JSON report, - for standard output")
	flags.BoolVar(&o.showPersonal, "show-personal", false, "show personal data unmasked")
}

// errDiffer is the error of a comparison that found differences. The report lists them.
var errDiffer = errors.New("the answers of the two systems differ")

// errIncomplete is the error of a comparison that found no differences, but could not read all
// lists to their end.
var errIncomplete = errors.New("lists could not be read to their end, so that the two systems may differ")

// run compares the systems, writes the reports, and returns errDiffer if answers differ.
func (o *compareOptions) run(cmd *cobra.Command) error {
	defer o.closeSystems()
	result, err := o.compare(cmd)
	if err != nil {
		if cmd.Context().Err() != nil {
			err = o.interrupted()
		}
		return program.CannotRun{Err: err}
	}
	if err := o.writeReports(cmd, result); err != nil {
		return program.CannotRun{Err: err}
	}
	if err := o.note(cmd.Context(), result); err != nil {
		return program.CannotRun{Err: err}
	}
	if err := o.removeState(); err != nil {
		return program.CannotRun{Err: err}
	}
	switch {
	case result.Different > 0:
		return errDiffer
	case result.Lost > 0:
		return errIncomplete
	}
	return nil
}

// interrupted returns the error for a comparison that a signal has ended.
func (o *compareOptions) interrupted() error {
	if o.sweep.enabled && o.sweep.stateFile != "" {
		return errors.New("interrupted before the comparison was complete: repeat the command to continue")
	}
	return errors.New("interrupted before the comparison was complete: no report was written")
}

// compare makes the comparison. It checks all flags and files before it sends a request.
func (o *compareOptions) compare(cmd *cobra.Command) (*Report, error) {
	err := o.check(cmd.Flags())
	if err != nil {
		return nil, err
	}
	if o.expected, o.expectSum, err = loadExpectations(o.expect, o.routes); err != nil {
		return nil, err
	}
	if len(o.expected.All()) > 0 {
		o.tolerances.PerField = manyPerField
	}
	if o.sweep.enabled {
		if err := o.openSystems(); err != nil {
			return nil, err
		}
		if err := o.checkNote(cmd.Context()); err != nil {
			return nil, err
		}
		return o.runSweep(cmd)
	}
	exchanges, err := loadRequests(o.requests)
	if err != nil {
		return nil, fmt.Errorf("--requests: %w", err)
	}
	if err := o.openSystems(); err != nil {
		return nil, err
	}
	r := &replay{comparer: newComparer(o, cmd.ErrOrStderr())}
	r.plan(exchanges)
	if len(r.requests) == 0 {
		return nil, fmt.Errorf("--requests: no request in %s can be sent: %s", o.requests, r.result.leftOutReasons())
	}
	if err := o.probe(cmd.Context()); err != nil {
		return nil, err
	}
	return r.run(cmd.Context())
}

// openSystems prepares both systems for requests. It sends nothing.
func (o *compareOptions) openSystems() error {
	trusted, err := contracttests.Trust(o.caFile, o.insecure)
	if err != nil {
		return err
	}
	for i := range o.systems {
		if err := o.openSystem(&o.systems[i], trusted); err != nil {
			return err
		}
		o.tolerances.Bases[i] = cmp.Or(o.systems[i].base, o.systems[i].client.BaseURL())
	}
	return nil
}

// closeSystems closes the connections to both systems.
func (o *compareOptions) closeSystems() {
	for i := range o.systems {
		if client := o.systems[i].client; client != nil {
			client.Close()
		}
	}
}

// check validates the flags, apart from the contents of files.
func (o *compareOptions) check(flags *pflag.FlagSet) error {
	for i := range o.systems {
		if o.systems[i].url == "" {
			return fmt.Errorf("no --%s: name both systems, for example\n  portico compare --legacy https://old.example --candidate http://127.0.0.1:8080 --requests recorded/", o.systems[i].name)
		}
	}
	switch {
	case o.requests == "" && !o.sweep.enabled:
		return errors.New("no --requests: name a file of recorded exchanges or a folder of them, such as record.dir; \"contracttest record --help\" shows how to write one by hand; or read everything with --sweep")
	case o.requests != "" && o.sweep.enabled:
		return errors.New("--sweep needs no --requests: give one of the two")
	case o.parallel < 1:
		return fmt.Errorf("--parallel must be at least 1, not %d", o.parallel)
	case o.timeout <= 0:
		return fmt.Errorf("--timeout must be longer than %v", o.timeout)
	case o.tolerances.Clock < 0:
		return fmt.Errorf("--clock must not be negative: %v", o.tolerances.Clock)
	}
	for flag, name := range map[string]string{"html": o.htmlFile, "json": o.jsonFile} {
		if name == "" || name == "-" && flag == "json" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
			return fmt.Errorf("--%s: there is no folder %s", flag, filepath.Dir(name))
		}
	}
	return o.sweep.check(flags)
}

// openSystem loads the credentials of system and prepares it for requests, which trust the
// certificates of trusted. It sends nothing.
func (o *compareOptions) openSystem(system *comparedSystem, trusted *tls.Config) error {
	var err error
	if system.credentials, err = loadCredentials(cmp.Or(system.credentialsFile, o.credentialsFile)); err != nil {
		return err
	}
	system.client, err = contracttests.NewClient(contracttests.Target{BaseURL: system.url, TLS: trusted, Credentials: system.credentials, Timeout: o.timeout})
	if err != nil {
		return fmt.Errorf("--%s: %w", system.name, err)
	}
	return nil
}

// probe sends each system a first request, to report early if it does not implement the contract or
// rejects its credentials.
func (o *compareOptions) probe(ctx context.Context) error {
	errs := make(chan error, len(o.systems))
	for i := range o.systems {
		go func() { errs <- o.systems[i].client.Probe(ctx, o.systems[i].name) }()
	}
	return errors.Join(<-errs, <-errs)
}

// loadCredentials reads a file of credentials. If name is empty, it returns the credentials of the
// demo store.
func loadCredentials(name string) (contracttests.Credentials, error) {
	if name == "" {
		return contracttests.DemoCredentials()
	}
	data, err := readLimited(name, maxCredentials)
	if err != nil {
		return contracttests.Credentials{}, err
	}
	credentials, err := contracttests.ParseCredentials(data)
	if err != nil {
		return credentials, fmt.Errorf("%s: %w", name, err)
	}
	return credentials, nil
}

// loadRequests reads the exchanges of a file, or of all files of a folder. If the folder is
// a record.dir, it reads its subfolder ExchangesFolder.
func loadRequests(name string) ([]contracttests.Exchange, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	folder, files := filepath.Dir(name), []string{filepath.Base(name)}
	if info.IsDir() {
		folder = name
		if inside, err := os.Stat(filepath.Join(name, recording.ExchangesFolder)); err == nil && inside.IsDir() {
			folder = filepath.Join(name, recording.ExchangesFolder)
		}
		if files, err = fs.Glob(os.DirFS(folder), "*.json"); err != nil {
			return nil, err
		}
	}
	var all []contracttests.Exchange
	for _, file := range files {
		exchanges, err := contracttests.LoadRequests(os.DirFS(folder), file)
		if err != nil {
			return nil, err
		}
		all = append(all, exchanges...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no exchanges in %s: a server records the share record.sample of its requests, by default one in a hundred; raise it, or wait for more requests", name)
	}
	return all, nil
}

// writeReports writes the HTML and JSON reports that were asked for, and the table. The
// table goes to standard output, or to standard error if the JSON report goes to standard
// output.
func (o *compareOptions) writeReports(cmd *cobra.Command, result *Report) error {
	table := cmd.OutOrStdout()
	var errs []error
	switch o.jsonFile {
	case "":
	case "-":
		table = cmd.ErrOrStderr()
		errs = append(errs, result.writeJSON(cmd.OutOrStdout()))
	default:
		errs = append(errs, writeReport(o.jsonFile, result.writeJSON))
	}
	if o.htmlFile != "" {
		errs = append(errs, writeReport(o.htmlFile, result.writeHTML))
	}
	return errors.Join(append(errs, result.writeTable(table))...)
}

// readLimited reads a file of at most limit bytes.
func readLimited(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// writeReport creates or truncates the file name and fills it with write. Only its owner
// may read the file, because it can contain data of a store.
func writeReport(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	return cmp.Or(write(w), w.Flush(), file.Close())
}
