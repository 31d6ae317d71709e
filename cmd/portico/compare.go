package main

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

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/compare"
)

// cannotRun is an error for which a command could not find out what it was to: its
// exit code is another than that of what was found.
type cannotRun struct{ error }

// Unwrap returns the cause.
func (e cannotRun) Unwrap() error { return e.error }

// exitCannotRun is the exit code for it.
const exitCannotRun = 2

// maxCredentials bounds a file of credentials, in bytes.
const maxCredentials = 1 << 20

// A side is one of the two that are compared, named as its flags are.
type side struct {
	name, url, base, credentials string
	known                        contracttests.Credentials
	asker                        *contracttests.Client
}

// compareOptions are the flags of compare.
type compareOptions struct {
	sides        [2]side // legacy, candidate
	requests     string
	credentials  string // of both
	ca           string
	insecure     bool
	parallel     int
	timeout      time.Duration
	tolerances   compare.Options
	html, json   string
	showPersonal bool
}

func compareCommand() *cobra.Command {
	o := &compareOptions{sides: [2]side{{name: "legacy"}, {name: "candidate"}}}
	cmd := &cobra.Command{
		Use:   "compare --legacy URL --candidate URL --requests FILE",
		Short: "Ask two systems the same questions and tell where their answers differ",
		Long: `Make the reads of recorded exchanges (record.dir, or contracttest record) against
an old system and the one that is to follow it, and tell by call and field where the
answers differ. Nothing is written to either: requests that are no GET are left out,
and counted.

Both know the callers by the demo store's credentials unless files say otherwise;
"contracttest credentials" prints a pattern. A base URL is replaced by the same word on
both sides before answers are compared, and so is the random key in buy_now_url.

A difference has the name of a field, or is one of status-code, content-type,
location, root, body, messages, records (one side lacks them), order (of records), rendering
(order of fields, blanks, escapes), other (fields that the contract does not have) and
answer (one side gave none). --ignore takes these names.

Values that tell of persons are masked unless --show-personal is given.

Exit codes: 0 all answers are equal, 1 some differ, 2 the comparison could not be made,
or was interrupted.`,
		Example: `  portico compare --legacy https://old.example --candidate http://127.0.0.1:8080 --requests recorded/
  portico compare --legacy https://old.example --candidate https://new.example --requests calls.json \
    --legacy-credentials old.yaml --candidate-credentials new.yaml --clock 5s --ignore updated_at --html differences.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return cannotRun{err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cannotRun{err} })
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *compareOptions) addFlags(flags *pflag.FlagSet) {
	for i, what := range []string{"old system", "system that is to follow it"} {
		s := &o.sides[i]
		flags.StringVar(&s.url, s.name, "", "where the "+what+" is, `http(s)://host[:port][/path]`: what stands before /api/rest")
		flags.StringVar(&s.base, s.name+"-base", "", "its base `URL` in answers, if that is another")
		flags.StringVar(&s.credentials, s.name+"-credentials", "", "`FILE` with what it knows the callers by, if that is another than --credentials")
	}
	flags.StringVar(&o.requests, "requests", "", "`FILE` of recorded exchanges, or a folder of such files")
	flags.StringVar(&o.credentials, "credentials", "", "`FILE` in YAML or JSON with what both know the callers by (default: the demo store's)")
	flags.StringVar(&o.ca, "ca", "", "PEM `FILE` with the certificate authorities that are trusted")
	flags.BoolVar(&o.insecure, "insecure", false, "trust any certificate")
	flags.IntVar(&o.parallel, "parallel", 4, "`NUMBER` of requests at the same time")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "`TIME` that one answer may take")
	flags.BoolVar(&o.tolerances.Unordered, "unordered", false, "the order of records and fields may differ")
	flags.DurationVar(&o.tolerances.Clock, "clock", 0, "`TIME` by which datetimes may differ")
	flags.StringSliceVar(&o.tolerances.Ignore, "ignore", nil, "`FIELDS` that may differ, such as updated_at,stock_data.qty")
	flags.StringVar(&o.html, "html", "", "`FILE` for a report as a page for browsers")
	flags.StringVar(&o.json, "json", "", "`FILE` for a report as JSON, - for standard output")
	flags.BoolVar(&o.showPersonal, "show-personal", false, "show values that tell of persons")
}

// errDiffer ends a comparison whose report tells what differs.
var errDiffer = errors.New("the two sides differ")

func (o *compareOptions) run(cmd *cobra.Command) error {
	found, err := o.compare(cmd)
	if err != nil {
		if cmd.Context().Err() != nil {
			err = errors.New("interrupted: nothing is told of what was compared so far")
		}
		return cannotRun{err}
	}
	if err := o.write(cmd, found); err != nil {
		return cannotRun{err}
	}
	if found.Different > 0 {
		return errDiffer
	}
	return nil
}

// compare makes the comparison. All faults of flags and files are found before
// anything is asked.
func (o *compareOptions) compare(cmd *cobra.Command) (*comparison, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	exchanges, err := loadRequests(o.requests)
	if err != nil {
		return nil, fmt.Errorf("--requests: %w", err)
	}
	trusted, err := contracttests.Trust(o.ca, o.insecure)
	if err != nil {
		return nil, err
	}
	for i := range o.sides {
		if err := o.open(&o.sides[i], trusted); err != nil {
			return nil, err
		}
		o.tolerances.Bases[i] = cmp.Or(o.sides[i].base, o.sides[i].asker.BaseURL())
	}
	r := newReplay(o, cmd.ErrOrStderr())
	r.plan(exchanges)
	if len(r.questions) == 0 {
		return nil, fmt.Errorf("--requests: nothing in %s can be asked: %s", o.requests, r.found.reasons())
	}
	if err := o.probe(cmd.Context()); err != nil {
		return nil, err
	}
	return r.run(cmd.Context())
}

func (o *compareOptions) check() error {
	for i := range o.sides {
		if o.sides[i].url == "" {
			return fmt.Errorf("no --%s: both systems have to be named, for example\n  portico compare --legacy https://old.example --candidate http://127.0.0.1:8080 --requests recorded/", o.sides[i].name)
		}
	}
	switch {
	case o.requests == "":
		return errors.New("no --requests: name a file of recorded exchanges or a folder of them, as record.dir; \"contracttest record --help\" shows how to write one by hand")
	case o.parallel < 1:
		return fmt.Errorf("--parallel has to be at least 1, not %d", o.parallel)
	case o.timeout <= 0:
		return fmt.Errorf("--timeout has to be longer than %v", o.timeout)
	case o.tolerances.Clock < 0:
		return fmt.Errorf("--clock cannot be %v", o.tolerances.Clock)
	}
	for flag, name := range map[string]string{"html": o.html, "json": o.json} {
		if name == "" || name == "-" && flag == "json" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
			return fmt.Errorf("--%s: there is no folder %s", flag, filepath.Dir(name))
		}
	}
	return nil
}

// open makes a side ready to be asked.
func (o *compareOptions) open(s *side, trusted *tls.Config) error {
	var err error
	if s.known, err = loadCredentials(cmp.Or(s.credentials, o.credentials)); err != nil {
		return err
	}
	s.asker, err = contracttests.NewClient(contracttests.Target{BaseURL: s.url, TLS: trusted, Credentials: s.known, Timeout: o.timeout})
	if err != nil {
		return fmt.Errorf("--%s: %w", s.name, err)
	}
	return nil
}

// probe finds out whether both sides can be compared at all.
func (o *compareOptions) probe(ctx context.Context) error {
	errs := make(chan error, len(o.sides))
	for i := range o.sides {
		go func() { errs <- o.sides[i].asker.Probe(ctx, o.sides[i].name) }()
	}
	return errors.Join(<-errs, <-errs)
}

// loadCredentials reads a file of credentials; no name is the demo store's.
func loadCredentials(name string) (contracttests.Credentials, error) {
	if name == "" {
		return contracttests.DemoCredentials()
	}
	file, err := os.Open(name)
	if err != nil {
		return contracttests.Credentials{}, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxCredentials+1))
	if err == nil && len(data) > maxCredentials {
		err = fmt.Errorf("larger than %d bytes", maxCredentials)
	}
	if err != nil {
		return contracttests.Credentials{}, fmt.Errorf("%s: %w", name, err)
	}
	known, err := contracttests.ParseCredentials(data)
	if err != nil {
		return known, fmt.Errorf("%s: %w", name, err)
	}
	return known, nil
}

// recordedFolder is the folder of the exchanges in record.dir.
const recordedFolder = "exchanges"

// loadRequests reads the exchanges of a file, or of all files of a folder, which may
// be record.dir.
func loadRequests(name string) ([]contracttests.Exchange, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	folder, files := filepath.Dir(name), []string{filepath.Base(name)}
	if info.IsDir() {
		folder = name
		if inside, err := os.Stat(filepath.Join(name, recordedFolder)); err == nil && inside.IsDir() {
			folder = filepath.Join(name, recordedFolder)
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
		return nil, fmt.Errorf("there are no exchanges in %s: of the requests that a server answers the share record.sample is recorded, one in a hundred unless it is set; raise it, or wait for more requests", name)
	}
	return all, nil
}

// write writes the reports, and what a terminal shows, which gives way to a report on
// standard output.
func (o *compareOptions) write(cmd *cobra.Command, found *comparison) error {
	screen := cmd.OutOrStdout()
	var errs []error
	switch o.json {
	case "":
	case "-":
		screen = cmd.ErrOrStderr()
		errs = append(errs, found.writeJSON(cmd.OutOrStdout()))
	default:
		errs = append(errs, writeReport(o.json, found.writeJSON))
	}
	if o.html != "" {
		errs = append(errs, writeReport(o.html, found.writeHTML))
	}
	return errors.Join(append(errs, found.writeTable(screen))...)
}

// writeReport writes a file from its beginning, for its owner alone: what it shows of
// a store is not for everybody.
func writeReport(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	return cmp.Or(write(w), w.Flush(), file.Close())
}
