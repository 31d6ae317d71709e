package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// sweepOptions holds the flags of a sweep.
type sweepOptions struct {
	enabled   bool
	stores    []string
	rate      float64
	sample    string
	share     float64 // of sample
	seed      uint64
	pause     time.Duration
	stateFile string
	note      bool
}

// addFlags defines the flags of a sweep.
func (o *sweepOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.enabled, "sweep", false, "read everything that the systems offer, without recorded requests")
	flags.StringSliceVar(&o.stores, "stores", nil, "sweep: `IDS` or codes of the store views (default: those found)")
	flags.Float64Var(&o.rate, "rate", 20, "sweep: maximum `NUMBER` of requests to each system in a second, 0 for any number")
	flags.StringVar(&o.sample, "sample", "100%", "sweep: `SHARE` of the records that are read one by one, such as 1%")
	flags.Uint64Var(&o.seed, "seed", 1, "sweep: `NUMBER` that selects the records of the sample")
	flags.DurationVar(&o.pause, "pause", 2*time.Second, "sweep: `TIME` after which a difference is looked for again before it counts")
	flags.BoolVar(&o.note, "note", false, "sweep: store the result in the database of --config, for \"portico plan\"")
	flags.StringVar(&o.stateFile, "state", "", "sweep: `FILE` in which to store how far it has come, and from which to continue")
}

// storeName matches the ids and codes of store views.
var storeName = regexp.MustCompile(`^[0-9A-Za-z_]{1,32}$`)

// check validates the options. It needs flags to find out which ones are set.
func (o *sweepOptions) check(flags *pflag.FlagSet) error {
	if !o.enabled {
		for _, name := range []string{"stores", "rate", "sample", "seed", "pause", "state"} {
			if flags.Changed(name) {
				return fmt.Errorf("--%s is a flag of --sweep", name)
			}
		}
		return nil
	}
	share, err := strconv.ParseFloat(strings.TrimSuffix(o.sample, "%"), 64)
	if strings.HasSuffix(o.sample, "%") {
		share /= 100
	}
	if o.share = share; err != nil || !(share > 0 && share <= 1) {
		return fmt.Errorf("--sample must be more than 0%% and at most 100%%, not %q", o.sample)
	}
	switch {
	case !(o.rate >= 0 && o.rate <= 1e6):
		return fmt.Errorf("--rate must be 0 to 1000000, not %v", o.rate)
	case o.pause < 0:
		return fmt.Errorf("--pause must not be negative: %v", o.pause)
	}
	for _, store := range o.stores {
		if !storeName.MatchString(store) {
			return fmt.Errorf("--stores: %q is no id or code of a store view", store)
		}
	}
	if folder := filepath.Dir(o.stateFile); o.stateFile != "" {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fmt.Errorf("--state: there is no folder %s", folder)
		}
	}
	return nil
}

// sweepCoverage is the coverage of a sweep, for its report.
type sweepCoverage struct {
	Callers []string `json:"callers"`
	Stores  []string `json:"stores"` // store views
	Sample  string   `json:"sample"`
	Seed    uint64   `json:"seed"`
	// Records is the number of records that were read one by one, once for each caller.
	Records int64 `json:"records"`
}

// String describes the coverage in one line.
func (c *sweepCoverage) String() string {
	text := fmt.Sprintf("as %s, store views %s, %d records one by one", strings.Join(c.Callers, ", "), strings.Join(c.Stores, ", "), c.Records)
	if c.Sample != plan.WholeSample {
		text += fmt.Sprintf(" (a sample of %s with seed %d)", c.Sample, c.Seed)
	}
	return text
}

// A sweeper runs a sweep for the command compare.
type sweeper struct {
	*comparer
	callers []compare.SweepCaller
	state   *compare.SweepState
	cancel  context.CancelCauseFunc
}

// runSweep compares everything that the opened systems answer.
func (o *compareOptions) runSweep(cmd *cobra.Command) (*Report, error) {
	defer program.CollectRarely(os.Getenv)()
	w := &sweeper{comparer: newComparer(o, cmd.ErrOrStderr())}
	if err := w.open(); err != nil {
		return nil, err
	}
	if err := o.probe(cmd.Context()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	defer w.bar.Clear()
	w.cancel = cancel
	s := compare.NewSweep(w.sweepOptions())
	plan, err := s.Plan(ctx)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	w.result.Sweep.Stores = w.state.Stores
	fmt.Fprintf(cmd.ErrOrStderr(), "about %d requests to each system, %s\n", plan.Total, roundUp(plan.Left))
	if err := s.Run(ctx); err != nil {
		return nil, causeOf(ctx, err)
	}
	if err := w.checkCredentials(); err != nil {
		return nil, err
	}
	w.result.finish()
	return w.result, nil
}

// causeOf returns the cause for which ctx has ended, or else err.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// roundUp rounds a time up to whole seconds.
func roundUp(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

// open lists the callers of both systems, and reads the state of an earlier run.
func (w *sweeper) open() error {
	var names []string
	for _, as := range []string{contracttests.Admin, contracttests.Customer1, contracttests.Customer2, contracttests.Guest} {
		switch has := [2]bool{w.options.systems[0].credentials.Has(as), w.options.systems[1].credentials.Has(as)}; {
		case has[0] && has[1]:
			w.callers = append(w.callers, compare.SweepCaller{Name: as, Role: roleOf(as)})
			names = append(names, as)
		case has[0] || has[1]:
			w.result.leaveOut("only one system has credentials of this caller", as)
		}
	}
	w.result.Sweep = &sweepCoverage{Callers: names, Sample: w.options.sweep.sample, Seed: w.options.sweep.seed}
	settings := w.settings(names)
	if err := w.loadState(settings); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	return nil
}

// loadState reads the state of an earlier run with the same settings, if there is one.
func (w *sweeper) loadState(settings []compare.SweepSetting) error {
	name := w.options.sweep.stateFile
	w.state = compare.NewSweepState(settings)
	if name == "" {
		return nil
	}
	data, err := readLimited(name, compare.MaxSweepState)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		w.state, err = compare.DecodeSweepState(name, data, settings)
	}
	if err != nil || len(w.state.Report) == 0 {
		return err
	}
	if err := w.result.restore(w.state.Report); err != nil {
		return fmt.Errorf("%s holds no report of a sweep (%w): name another file, or delete it", name, err)
	}
	return nil
}

// saveState stores the state in its file.
func (w *sweeper) saveState(s *compare.SweepState) error {
	data, err := s.Encode()
	if err != nil {
		return err
	}
	return program.WritePrivately(w.options.sweep.stateFile, func(out io.Writer) error {
		_, err := out.Write(data)
		return err
	})
}

// roleOf returns the role of a caller.
func roleOf(as string) contract.Role {
	switch as {
	case contracttests.Admin:
		return contract.Admin
	case contracttests.Guest:
		return contract.Guest
	}
	return contract.Customer
}

// settings returns the options that must not change until a sweep is complete: they select the
// records to read, and define differences.
func (w *sweeper) settings(callers []string) []compare.SweepSetting {
	o := w.options
	return []compare.SweepSetting{
		{Name: "--legacy", Value: o.systems[0].client.BaseURL()},
		{Name: "--candidate", Value: o.systems[1].client.BaseURL()},
		{Name: "--legacy-base", Value: o.tolerances.Bases[0]},
		{Name: "--candidate-base", Value: o.tolerances.Bases[1]},
		{Name: "callers", Value: strings.Join(callers, ",")},
		{Name: "--stores", Value: strings.Join(o.sweep.stores, ",")},
		{Name: "--sample", Value: o.sweep.sample},
		{Name: "--seed", Value: strconv.FormatUint(o.sweep.seed, 10)},
		{Name: "--unordered", Value: strconv.FormatBool(o.tolerances.Unordered)},
		{Name: "--clock", Value: o.tolerances.Clock.String()},
		{Name: "--ignore", Value: strings.Join(o.tolerances.Ignore, ",")},
		{Name: "--show-personal", Value: strconv.FormatBool(o.showPersonal)},
		{Name: "--expect", Value: o.expectSum},
	}
}

// saveEvery is the time after which the state is stored again.
const saveEvery = time.Second

// sweepOptions returns the options of the sweep.
func (w *sweeper) sweepOptions() compare.SweepOptions {
	o := w.options
	all := compare.SweepOptions{
		Routes: w.routes, Callers: w.callers, Stores: o.sweep.stores, Sample: o.sweep.share, Seed: o.sweep.seed,
		Rate: o.sweep.rate, Parallel: o.parallel, Pause: o.sweep.pause, Compare: &o.tolerances,
		Ask: w.askSweep, Commit: w.commit, Snapshot: w.snapshot, State: w.state, SaveEvery: saveEvery, Show: w.show,
	}
	if o.sweep.stateFile != "" {
		all.Save = w.saveState
	}
	return all
}

// step returns the request of a sweep as a step.
func step(r *compare.SweepRequest) *contracttests.Step {
	return &contracttests.Step{As: r.Caller, Method: http.MethodGet, Path: r.Target, Accept: &r.Accept}
}

// askSweep sends a request of the sweep to one system.
func (w *sweeper) askSweep(ctx context.Context, system int, r *compare.SweepRequest) (*compare.Answer, error) {
	return w.ask(ctx, w.cancel, system, step(r))
}

// commit adds the comparisons of one step of the sweep to the report.
func (w *sweeper) commit(outcome *compare.SweepOutcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range outcome.Results {
		result := &outcome.Results[i]
		r := &result.Request
		w.add(0, &comparedRequest{
			step: step(r), target: contract.Base + r.Target, call: r.Route.Calls[contract.GET], route: r.Route, record: r.Record, finds: r.Finds,
		}, result.Differences)
	}
	for _, left := range outcome.LeftOut {
		request := w.redact(http.MethodGet + " " + contract.Base + left.Request)
		if left.Lost {
			w.result.lose(left.Reason, request)
		} else {
			w.result.leaveOut(left.Reason, request)
		}
	}
	if outcome.Record {
		w.result.Sweep.Records++
	}
}

// snapshot returns the report so far.
func (w *sweeper) snapshot() (json.RawMessage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.finish()
	return json.Marshal(w.result)
}

// show draws the progress bar.
func (w *sweeper) show(p compare.SweepProgress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bar.Show(int(p.Asked), int(p.Total), fmt.Sprintf("%d differ · %.0f/s · %s left", w.result.Different, p.Rate, roundUp(p.Left)))
}

// loadExpectations reads files of accepted differences, and returns the checksum of all of them. The
// name of a mapping is the file that is built in for it.
func loadExpectations(names []string, routes *contract.Table) (all *compare.Expectations, sum string, err error) {
	all = &compare.Expectations{}
	var contents []byte
	for _, name := range names {
		data, builtIn := reststore.Expected(name)
		if !builtIn {
			if data, err = readLimited(name, maxExpectations); err != nil {
				return nil, "", fmt.Errorf("--expect: %w", err)
			}
		}
		one, err := compare.ParseExpectations(name, data, routes, contract.GET)
		if err != nil {
			return nil, "", fmt.Errorf("--expect: %w", err)
		}
		all = all.With(one)
		contents = append(contents, data...)
	}
	if len(contents) > 0 {
		sum = fmt.Sprintf("%x", sha256.Sum256(contents))
	}
	return all, sum, nil
}

// removeState deletes the state of a complete sweep.
func (o *compareOptions) removeState() error {
	if !o.sweep.enabled || o.sweep.stateFile == "" {
		return nil
	}
	if err := os.Remove(o.sweep.stateFile); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
