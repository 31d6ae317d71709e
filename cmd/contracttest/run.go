package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/contracttests/report"
)

// runOptions are the flags of a run.
type runOptions struct {
	target                      targetOptions
	exchanges, match, skip      string
	junit, html, json           string
	parallel                    int
	readOnly, failFast, verbose bool
}

func (o *runOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.target.fixtures, "fixtures", "", "`FILE` in YAML or JSON with what the store holds that no call can create (default: the demo store's, with its credentials)")
	flags.StringVar(&o.exchanges, "exchanges", "", "`FOLDER` of recorded exchanges (contracttest record) that are replayed too")
	flags.StringVar(&o.match, "run", "", "`REGEX` of the cases to run, by their ID: resource/name/format")
	flags.IntVar(&o.parallel, "parallel", 0, "`NUMBER` of cases at the same time (default: 4 for a demo store in documented, otherwise 1, because the original does not serialize its own indexers and fails where cases write at the same time)")
	flags.StringVar(&o.skip, "skip", "", "`FILE` in YAML with declared gaps: a list of {case: REGEX, reason: sentence}")
	flags.BoolVar(&o.readOnly, "read-only", false, "make no call but GET: cases that write are skipped")
	flags.BoolVar(&o.failFast, "fail-fast", false, "end at the first failure")
	flags.StringVar(&o.junit, "junit", "", "`FILE` for a report as JUnit XML, - for standard output")
	flags.StringVar(&o.html, "html", "", "`FILE` for a report as a page for browsers")
	flags.StringVar(&o.json, "json", "", "`FILE` for a report as JSON, - for standard output")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "tell each case when it is through, and all clauses")
}

// A plan is what a run does, once all flags and files are found good.
type plan struct {
	suite     *contracttests.Suite
	target    contracttests.Target
	options   contracttests.Options
	exchanges []contracttests.Exchange
	progress  *progress
}

func run(cmd *cobra.Command, o *runOptions) error {
	p, err := o.plan(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if err := contracttests.Probe(ctx, p.target); err != nil {
		return interrupted(ctx, err)
	}
	found, err := p.run(ctx)
	p.progress.finish()
	if found == nil {
		return interrupted(ctx, err)
	}
	if err := errors.Join(interrupted(ctx, err), o.write(cmd, found)); err != nil {
		return err
	}
	if found.Count(contracttests.Failed) > 0 || len(found.Leftovers) > 0 {
		return errFailed
	}
	return nil
}

// interrupted says what an error means if a signal was its cause.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: cases that did not end are in no report")
	}
	return err
}

// plan reads all that the flags name. All faults of the flags are found before
// anything is called.
func (o *runOptions) plan(cmd *cobra.Command) (*plan, error) {
	target, demo, err := o.target.target(cmd)
	if err != nil {
		return nil, err
	}
	p := &plan{target: target, progress: newProgress(cmd.ErrOrStderr(), o.verbose)}
	if p.suite, err = contracttests.NewSuite(); err != nil {
		return nil, err
	}
	if !cmd.Flags().Changed("parallel") {
		o.parallel = defaultParallel(demo, target.Dialect)
	}
	p.options = contracttests.Options{
		Parallel: o.parallel, ReadOnly: o.readOnly, FailFast: o.failFast, Timeout: o.target.timeout, Done: p.progress.done,
	}
	switch {
	case o.parallel < 1:
		return nil, fmt.Errorf("--parallel has to be at least 1, not %d", o.parallel)
	case o.readOnly && target.Reset != nil:
		return nil, errors.New("--reset writes, and --read-only says that nothing may: give one of the two")
	}
	if o.match != "" {
		if p.options.Match, err = regexp.Compile(o.match); err != nil {
			return nil, fmt.Errorf("--run: %w", err)
		}
	}
	if err := o.checkOutputs(); err != nil {
		return nil, err
	}
	own, err := o.ownExchanges()
	if err != nil {
		return nil, err
	}
	if err := o.readGaps(cmd, p, own); err != nil {
		return nil, err
	}
	if demo && target.Reset != nil {
		if p.exchanges, err = demoExchanges(target.Dialect); err != nil {
			return nil, err
		}
	}
	p.exchanges = append(p.exchanges, own...)
	p.target.Skip = func(c contracttests.Exchange, s contracttests.Step) string { return p.skipExchange(&c, &s) }
	if o.target.credentials != "" && o.target.fixtures == "" && !demo {
		fmt.Fprintln(cmd.ErrOrStderr(), `contracttest: without --fixtures the cases that need any are skipped; "contracttest fixtures" prints a pattern`)
	}
	return p, nil
}

// defaultParallel returns how many cases run at the same time unless --parallel says so.
// The original fails where cases write at the same time. It may hold the data of the
// demo store, but does not speak documented.
func defaultParallel(demo bool, d contracttests.Dialect) int {
	if demo && d == contracttests.Documented {
		return 4
	}
	return 1
}

// checkOutputs finds out before the run whether its reports have a place.
func (o *runOptions) checkOutputs() error {
	stdout := 0
	for flag, name := range map[string]string{"junit": o.junit, "html": o.html, "json": o.json} {
		if name == "-" {
			stdout++
			continue
		}
		if name == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
			return fmt.Errorf("--%s: there is no folder %s", flag, filepath.Dir(name))
		}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return fmt.Errorf("--%s: %s is a folder", flag, name)
		}
	}
	if stdout > 1 {
		return errors.New("two reports on standard output cannot be told apart: give one of them a file")
	}
	return nil
}

// ownExchanges returns those of --exchanges.
func (o *runOptions) ownExchanges() ([]contracttests.Exchange, error) {
	if o.exchanges == "" {
		return nil, nil
	}
	return contracttests.Load(os.DirFS(o.exchanges))
}

// demoExchanges returns what was recorded with the data set of the demo store.
func demoExchanges(d contracttests.Dialect) ([]contracttests.Exchange, error) {
	all, err := contracttests.Exchanges()
	if err != nil || d != contracttests.Documented {
		return all, err
	}
	documented, err := contracttests.DocumentedExchanges()
	return append(all, documented...), err
}

// readGaps reads the file of --skip, which may name own exchanges too.
func (o *runOptions) readGaps(cmd *cobra.Command, p *plan, own []contracttests.Exchange) error {
	if o.skip == "" {
		return nil
	}
	data, err := readFile(cmd, o.skip)
	if err != nil {
		return err
	}
	recorded, err := demoExchanges(p.target.Dialect)
	if err != nil {
		return err
	}
	cases := p.suite.Cases("")
	for _, c := range slices.Concat(recorded, own) {
		cases = append(cases, c.Result())
	}
	gaps, err := parseGaps(data, cases)
	if err != nil {
		return fmt.Errorf("--skip: %s: %w", o.skip, err)
	}
	p.options.Skip = gaps.reason
	return nil
}

// skipExchange returns why an exchange with a step is not replayed, or "".
func (p *plan) skipExchange(c *contracttests.Exchange, s *contracttests.Step) string {
	if p.options.Skip != nil {
		r := c.Result()
		if reason := p.options.Skip(r.ID()); reason != "" {
			return reason
		}
	}
	switch {
	case p.options.ReadOnly && s.Method != http.MethodGet:
		return "the run is read-only, and the exchange writes"
	case strings.HasPrefix(s.Path, "!/oauth/"):
		return "three-legged OAuth stands beside /api/rest, which the suite is about"
	}
	return ""
}

// run makes the run: cases, exchanges, and the store put back before and after. The
// report is nil if nothing could be run.
func (p *plan) run(ctx context.Context) (found *contracttests.Report, err error) {
	if p.target.Reset != nil {
		if err := p.target.Reset(ctx); err != nil {
			return nil, err
		}
		// Also after an interruption: nobody else will.
		defer func() { err = errors.Join(err, p.target.Reset(context.WithoutCancel(ctx))) }()
	}
	found, err = p.suite.Run(ctx, p.target, p.options)
	if err != nil || p.options.FailFast && found.Count(contracttests.Failed) > 0 {
		return found, err
	}
	exchanges := slices.DeleteFunc(p.exchanges, func(c contracttests.Exchange) bool {
		r := c.Result()
		return p.options.Match != nil && !p.options.Match.MatchString(r.ID())
	})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	results, err := contracttests.ReplayAll(ctx, p.target, exchanges, func(r *contracttests.Result, done, total int) {
		p.progress.done(r, done, total)
		if p.options.FailFast && r.Status == contracttests.Failed {
			cancel(errFailed)
		}
	})
	found.Results = append(found.Results, results...)
	found.Clauses = p.suite.Coverage(found.Results)
	found.Took += time.Since(start).Seconds()
	if errors.Is(context.Cause(ctx), errFailed) {
		err = nil // which ended it, and is in the report
	}
	if err == nil && len(found.Results) == 0 {
		err = errors.New("no case matches --run; \"contracttest list\" has them all")
	}
	return found, err
}

// write writes the reports, and what a terminal shows, which gives way to a report on
// standard output.
func (o *runOptions) write(cmd *cobra.Command, found *contracttests.Report) error {
	screen := cmd.OutOrStdout()
	var errs []error
	for _, out := range []struct {
		name  string
		write func(io.Writer, *contracttests.Report) error
	}{{o.junit, report.JUnit}, {o.html, report.HTML}, {o.json, report.JSON}} {
		switch out.name {
		case "":
		case "-":
			screen = cmd.ErrOrStderr()
			errs = append(errs, out.write(cmd.OutOrStdout(), found))
		default:
			errs = append(errs, writeFile(out.name, func(w io.Writer) error { return out.write(w, found) }))
		}
	}
	return errors.Join(append(errs, report.Table(screen, found, isColorful(screen), o.verbose))...)
}

// writeFile writes a file from its beginning.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	return cmp.Or(write(w), w.Flush(), file.Close())
}
