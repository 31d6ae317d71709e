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
	exchanges, skip, expect     string
	match, clause               string
	junit, html, json, markdown string
	parallel                    int
	readOnly, failFast, verbose bool
}

// addFlags defines the flags of a run that are not in targetOptions, and --fixtures.
func (o *runOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.target.fixtures, "fixtures", "", "`FILE` in YAML or JSON with the objects of the store that cannot be created through the API (default: those of the demo store, if the credentials are the demo store's)")
	flags.StringVar(&o.exchanges, "exchanges", "", "`FOLDER` of recorded exchanges (contracttest record) to replay as well")
	flags.StringVar(&o.match, "run", "", "run only the cases whose ID resource/name/format matches `REGEX`")
	flags.StringVar(&o.clause, "clause", "", "run only the cases that cover a clause whose name matches `REGEX`")
	flags.IntVar(&o.parallel, "parallel", 0, "`NUMBER` of concurrent cases (default: 4 for a demo store in documented, otherwise 1, because the indexers of the original fail if cases write concurrently)")
	flags.StringVar(&o.skip, "skip", "", "`FILE` in YAML with the cases to skip: a list of {case: REGEX, reason: sentence}")
	flags.StringVar(&o.expect, "expect", "", "`FILE` in YAML with differences to accept: a list of {resource: NAME, field: NAME, reason: sentence}, as of \"portico compare --expect\"")
	flags.BoolVar(&o.readOnly, "read-only", false, "send only GET requests: skip the cases that write")
	flags.BoolVar(&o.failFast, "fail-fast", false, "stop at the first failure")
	flags.StringVar(&o.junit, "junit", "", "`FILE` for a report as JUnit XML, - for standard output")
	flags.StringVar(&o.html, "html", "", "`FILE` for a report as an HTML page")
	flags.StringVar(&o.json, "json", "", "`FILE` for a report as JSON, - for standard output")
	flags.StringVar(&o.markdown, "markdown", "", "`FILE` for a summary in Markdown, such as that of a CI job, - for standard output")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print each case when it ends, and all clauses")
}

// A plan holds the inputs of a run, after all flags and files have been checked.
type plan struct {
	suite     *contracttests.Suite
	target    contracttests.Target
	options   contracttests.Options
	exchanges []contracttests.Exchange
	expected  *expectedList // nil without --expect
	progress  *progress
}

// runSuite runs the suite and writes the reports. It returns errFailed if cases failed,
// or if objects could not be deleted.
func runSuite(cmd *cobra.Command, o *runOptions) error {
	p, err := o.plan(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if err := contracttests.Probe(ctx, p.target); err != nil {
		return explainInterrupt(ctx, err)
	}
	fmt.Fprintf(o.screen(cmd), "testing %s/api/rest, dialect %s\n", p.target.BaseURL, p.target.Dialect)
	result, err := p.execute(ctx)
	p.progress.bar.Clear()
	if result == nil {
		return explainInterrupt(ctx, err)
	}
	result.Command = commandLine("contracttest", cmd.Flags(), p.target.BaseURL, repeatedFlags)
	if p.expected != nil {
		p.expected.writeUnused(o.screen(cmd))
	}
	if err := errors.Join(explainInterrupt(ctx, err), o.writeReports(cmd, result)); err != nil {
		return err
	}
	if result.Count(contracttests.Failed) > 0 || len(result.Leftovers) > 0 {
		return errFailed
	}
	return nil
}

// explainInterrupt replaces an error that was caused by a signal.
func explainInterrupt(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: cases that had not ended are missing from the reports")
	}
	return err
}

// plan reads the files that the flags name and checks everything that can be checked
// before the first request.
func (o *runOptions) plan(cmd *cobra.Command) (*plan, error) {
	target, demo, err := o.target.target(cmd)
	if err != nil {
		return nil, err
	}
	target.SignCommand = commandLine("contracttest sign", cmd.Flags(), "", []string{"credentials"})
	p := &plan{target: target, progress: &progress{w: cmd.ErrOrStderr(), verbose: o.verbose, bar: report.NewBar(cmd.ErrOrStderr())}}
	if !cmd.Flags().Changed("parallel") {
		o.parallel = defaultParallel(demo, target.Dialect)
	}
	p.options = contracttests.Options{
		Parallel: o.parallel, ReadOnly: o.readOnly, FailFast: o.failFast, Timeout: o.target.timeout, Done: p.progress.update,
	}
	switch {
	case o.parallel < 1:
		return nil, fmt.Errorf("--parallel must be at least 1, not %d", o.parallel)
	case o.readOnly && target.Reset != nil:
		return nil, errors.New("--reset writes, but --read-only forbids it: give one of the two")
	}
	if p.options.Match, err = compile("run", o.match); err != nil {
		return nil, err
	}
	if p.options.Clause, err = compile("clause", o.clause); err != nil {
		return nil, err
	}
	if err := o.checkReportPaths(); err != nil {
		return nil, err
	}
	own, err := o.userExchanges()
	if err != nil {
		return nil, err
	}
	if p.suite, err = contracttests.NewSuite(); err != nil {
		return nil, err
	}
	if err := o.readGaps(cmd, p, own); err != nil {
		return nil, err
	}
	if o.expect != "" {
		data, err := readFile(cmd, o.expect)
		if err != nil {
			return nil, fmt.Errorf("--expect: %w", err)
		}
		if p.expected, err = parseExpected(o.expect, data); err != nil {
			return nil, err
		}
		p.target.Accept = p.expected.accept
	}
	if demo && target.Reset != nil {
		if p.exchanges, err = contracttests.ExchangesIn(target.Dialect); err != nil {
			return nil, err
		}
	}
	p.exchanges = append(p.exchanges, own...)
	p.target.Skip = func(c contracttests.Exchange, s contracttests.Step) string { return p.skipReason(&c, &s) }
	if o.target.credentials != "" && o.target.fixtures == "" && !demo {
		fmt.Fprintln(cmd.ErrOrStderr(), `contracttest: without --fixtures the cases that need fixtures are skipped; "contracttest fixtures" prints a template`)
	}
	return p, nil
}

// compile returns the pattern of a flag, or nil if it is empty.
func compile(flag, pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return compiled, nil
}

// defaultParallel returns the number of concurrent cases if --parallel is not set. The
// original fails if cases write concurrently. It may have the data of the demo store, but
// it does not speak documented.
func defaultParallel(demo bool, d contracttests.Dialect) int {
	if demo && d == contracttests.Documented {
		return 4
	}
	return 1
}

// checkReportPaths returns an error if a report could not be written, so that the run does not fail
// at its end.
func (o *runOptions) checkReportPaths() error {
	stdout := 0
	for _, out := range o.reportFiles() {
		if out.name == "-" {
			stdout++
			continue
		}
		if out.name == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(out.name)); err != nil || !info.IsDir() {
			return fmt.Errorf("--%s: folder %s does not exist", out.flag, filepath.Dir(out.name))
		}
		if info, err := os.Stat(out.name); err == nil && info.IsDir() {
			return fmt.Errorf("--%s: %s is a folder", out.flag, out.name)
		}
	}
	if stdout > 1 {
		return errors.New("only one report can go to standard output: write the other one to a file")
	}
	return nil
}

// userExchanges returns the exchanges in the folder of --exchanges.
func (o *runOptions) userExchanges() ([]contracttests.Exchange, error) {
	if o.exchanges == "" {
		return nil, nil
	}
	return contracttests.Load(os.DirFS(o.exchanges))
}

// readGaps reads the file of --skip into p. The file may also name built-in exchanges and exchanges
// in own.
func (o *runOptions) readGaps(cmd *cobra.Command, p *plan, own []contracttests.Exchange) error {
	if o.skip == "" {
		return nil
	}
	data, err := readFile(cmd, o.skip)
	if err != nil {
		return err
	}
	recorded, err := contracttests.ExchangesIn(p.target.Dialect)
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
	p.options.Skip = gaps.reasonFor
	return nil
}

// skipReason returns the reason for which an exchange with step s is not replayed, or "".
func (p *plan) skipReason(c *contracttests.Exchange, s *contracttests.Step) string {
	if p.options.Skip != nil {
		r := c.Result()
		if reason := p.options.Skip(r.ID()); reason != "" {
			return reason
		}
	}
	switch {
	case p.options.ReadOnly && s.Method != http.MethodGet:
		return "the run is read-only, but the exchange writes"
	case strings.HasPrefix(s.Path, "!/oauth/"):
		return "the exchange needs a user's browser; the cases of oauth test three-legged OAuth"
	}
	return ""
}

// execute runs the cases and the exchanges, and resets the store before and after them.
// The report is nil if the first reset failed or the suite could not start.
func (p *plan) execute(ctx context.Context) (result *contracttests.Report, err error) {
	if p.target.Reset != nil {
		if err := p.target.Reset(ctx); err != nil {
			return nil, err
		}
		// The store is reset even after an interruption.
		defer func() { err = errors.Join(err, p.target.Reset(context.WithoutCancel(ctx))) }()
	}
	result, err = p.suite.Run(ctx, p.target, p.options)
	if err != nil || p.options.FailFast && result.Count(contracttests.Failed) > 0 {
		return result, err
	}
	exchanges := slices.DeleteFunc(p.exchanges, func(c contracttests.Exchange) bool {
		r := c.Result()
		return !p.options.Selects(&r)
	})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	results, err := contracttests.ReplayAll(ctx, p.target, exchanges, func(r *contracttests.Result, done, total int) {
		p.progress.update(r, done, total)
		if p.options.FailFast && r.Status == contracttests.Failed {
			cancel(errFailed)
		}
	})
	result.Results = append(result.Results, results...)
	result.Clauses = p.suite.Coverage(result.Results)
	result.Took += time.Since(start).Seconds()
	if errors.Is(context.Cause(ctx), errFailed) {
		err = nil // --fail-fast has ended the run, and the report has the failure
	}
	if err == nil && len(result.Results) == 0 {
		err = errors.New("no case matches --run and --clause; \"contracttest list\" prints all cases")
	}
	return result, err
}

// A reportFile is a report, and the name of the file that it is written to: "" for none, "-"
// for standard output.
type reportFile struct {
	flag, name string
	write      func(io.Writer, *contracttests.Report) error
}

// reportFiles returns all reports but the one for the terminal.
func (o *runOptions) reportFiles() []reportFile {
	return []reportFile{{"junit", o.junit, report.JUnit}, {"html", o.html, report.HTML}, {"json", o.json, report.JSON}, {"markdown", o.markdown, report.Markdown}}
}

// screen returns the writer of the report for the terminal: standard error if another report goes
// to standard output.
func (o *runOptions) screen(cmd *cobra.Command) io.Writer {
	if slices.ContainsFunc(o.reportFiles(), func(f reportFile) bool { return f.name == "-" }) {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

// writeReports writes the reports of all flags, and the report for the terminal.
func (o *runOptions) writeReports(cmd *cobra.Command, result *contracttests.Report) error {
	var errs []error
	for _, out := range o.reportFiles() {
		switch out.name {
		case "":
		case "-":
			errs = append(errs, out.write(cmd.OutOrStdout(), result))
		default:
			errs = append(errs, writeFile(out.name, func(w io.Writer) error { return out.write(w, result) }))
		}
	}
	screen := o.screen(cmd)
	return errors.Join(append(errs, report.Table(screen, result, report.UseColor(screen), o.verbose))...)
}

// writeFile creates or overwrites a file.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	return cmp.Or(write(w), w.Flush(), file.Close())
}

// A progress shows the progress of a run: a line for each result if verbose, otherwise a
// progress bar if w is a terminal.
type progress struct {
	w       io.Writer
	verbose bool
	bar     *report.Bar
	failed  int
}

// update shows the result of a case, after done of total cases have ended.
func (p *progress) update(r *contracttests.Result, done, total int) {
	if r.Status == contracttests.Failed {
		p.failed++
	}
	if p.verbose {
		p.printResult(r)
		return
	}
	p.bar.Show(done, total, fmt.Sprintf("%d failed · %-30.30s", p.failed, r.ID()))
}

// printResult prints a result as one line.
func (p *progress) printResult(r *contracttests.Result) {
	line := fmt.Sprintf("%-7s %s %d ms", r.Status, r.ID(), r.Took.Milliseconds())
	if r.Reason != "" {
		line += ": " + r.Reason
	}
	fmt.Fprintln(p.w, line)
}
