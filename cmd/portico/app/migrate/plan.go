package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests/report"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
)

// PlanCommand returns the command "plan".
func PlanCommand(p *program.Program) *cobra.Command {
	var servers []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Say how far each resource has moved from the legacy store, and what comes next",
		Long: `Say how far each resource has moved from the legacy store to Portico, what speaks for the next
step, what is to be settled before, and which lines of configuration take it. Nothing is
decided or changed: the lines are yours to paste. Each block of lines starts from the
configuration as it is now, so paste one, reload, and run the command again.

A resource passes through these states:
  in front      the legacy store answers, and Portico forwards
  followed      the same, and Portico's store follows the legacy store's database
  compared      the same, and the last sweep found no difference that you have not accepted
  shadowed      the legacy store answers, and Portico answers reads again, to compare
  reads moved   Portico answers reads, and the legacy store gets the writes
  mirrored      Portico answers all calls, and repeats the writes at the legacy store
  moved         Portico answers all calls, and the legacy store lacks what clients write
  alone         there is no legacy store any more
Until it is alone, a resource can go back: also while its writes are mirrored, but no longer
once they have moved without that.
In "writes moved" Portico answers the writes alone, which no step leads to: clients do not
read what they have written.

The evidence comes from
  record.dir                    who calls what, of all servers that write there
  portico serve                 what its shadow has found since it started, and how far it is
                                behind the legacy store, by the operators' port (--ops, with
                                ops.token); name every replica
  portico compare --sweep --note   the last sweep
  portico import all            the last import that came to its end
  portico follow                records that it could not store
  portico serve with mirror: true   which system has the writes, what the legacy store still has
                                to be told, and what both have changed
What is not known is said to be unknown, with the command that finds it out.

--json prints the same for programs. Members may be added to it, and none are removed or
renamed. The exit code is 0 unless the configuration cannot be read.`,
		Example: `  portico plan --config portico.yaml
  portico plan --config portico.yaml --ops http://10.0.0.5:9464 --ops http://10.0.0.6:9464 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			plan, err := newPlan(cmd.Context(), p, cfg, servers)
			if err != nil {
				return err
			}
			if asJSON {
				return program.WriteJSON(cmd.OutOrStdout(), plan)
			}
			text := planText{Plan: plan, colored: report.UseColor(cmd.OutOrStdout())}
			return text.write(cmd.OutOrStdout())
		},
	}
	p.AddSettingFlags(cmd)
	cmd.Flags().StringSliceVar(&servers, "ops", nil, "`URL` of the operators' port of a running Portico (default: that of ops.listen on this machine)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newPlan returns the plan for a configuration, with all available evidence. servers are the URLs
// of operators' ports.
func newPlan(ctx context.Context, p *program.Program, cfg *config.Config, servers []string) (*plan.Plan, error) {
	s, err := NewSituation(ctx, p, cfg, SituationSources{
		Ask:    func() ([]ServerStatus, []string) { return queryMigration(ctx, cfg, servers) },
		Stored: func(ctx context.Context, s *Situation) error { return readStored(ctx, cfg, s.Situation) },
	})
	if err != nil {
		return nil, err
	}
	return s.Plan(), nil
}

// A Situation is the known state of a migration, with a list of the unknown facts.
type Situation struct {
	*plan.Situation
	unknown, warnings []string
}

// Plan returns the plan for the situation.
func (s *Situation) Plan() *plan.Plan {
	plan := plan.New(s.Situation)
	plan.Unknown, plan.Warnings = append(plan.Unknown, s.unknown...), append(plan.Warnings, s.warnings...)
	return plan
}

// SituationSources are the sources of evidence besides the configuration.
type SituationSources struct {
	// Ask returns the statuses of running servers, and the errors of the servers that did not
	// answer.
	Ask func() (statuses []ServerStatus, faults []string)
	// Stored adds the data of the store.
	Stored func(context.Context, *Situation) error
}

// NewSituation returns the state of the migration that cfg configures.
func NewSituation(ctx context.Context, p *program.Program, cfg *config.Config, from SituationSources) (*Situation, error) {
	parts, err := program.ResourceParts(cfg)
	if err != nil {
		return nil, err
	}
	s := &Situation{Situation: &plan.Situation{Legacy: cfg.Legacy.URL, Rules: program.Rules(cfg.Routes), Resources: parts}}
	if s.Legacy == "" {
		return s, nil
	}
	s.NoImports, s.Unset = p.Adapter(cfg.Adapter) != nil, unsetForMirror(cfg)
	s.NoMirror = s.NoImports // such an adapter has no outbox
	if cfg.Record.Dir != "" {
		if s.Usage, err = recording.ReadUsage(os.DirFS(cfg.Record.Dir)); err != nil {
			s.Usage, s.UsageFault = nil, fmt.Sprintf("The counts in %s cannot be read: %v", cfg.Record.Dir, err)
		}
	}
	statuses, faults := from.Ask()
	s.Shadow, s.Follow = addShadows(statuses), followOf(cfg, statuses)
	if err := from.Stored(ctx, s); err != nil {
		s.unknown = append(s.unknown, fmt.Sprintf("What the store knows of imports, sweeps and mirrored writes cannot be read: %v", err))
	}
	s.unknown = append(s.unknown, faults...)
	for _, status := range statuses {
		if !slices.Equal(status.Routes, program.DescribeRoutes(cfg.Routes)) {
			s.warnings = append(s.warnings, "The Portico at "+status.Server+" runs with other routes than this configuration: reload it, or give this command its configuration.")
		}
	}
	return s, nil
}

// unsetForMirror returns the settings that are missing for writes to be mirrored.
func unsetForMirror(cfg *config.Config) (names []string) {
	l := cfg.Legacy
	for _, setting := range [][2]string{
		{"follow.dsn", cfg.Follow.DSN}, {"legacy.consumer_key", l.ConsumerKey}, {"legacy.consumer_secret", l.ConsumerSecret}, {"legacy.token", l.Token}, {"legacy.token_secret", l.TokenSecret},
	} {
		if setting[1] == "" {
			names = append(names, setting[0])
		}
	}
	return names
}

// StoreTimeout limits the time that the plan waits for a store.
const StoreTimeout = 10 * time.Second

// readStored adds the data of the configured store. It neither creates nor changes tables.
func readStored(ctx context.Context, cfg *config.Config, s *plan.Situation) (err error) {
	ctx, cancel := context.WithTimeout(ctx, StoreTimeout)
	defer cancel()
	db, err := program.OpenStoreAs(ctx, cfg, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return AddStored(ctx, cfg, db, s)
}

// AddStored adds the data of an open store.
func AddStored(ctx context.Context, cfg *config.Config, db *sqlstore.DB, s *plan.Situation) error {
	sources, err := db.Imports().Sources(ctx)
	if err != nil {
		return err
	}
	if s.Follow != nil {
		s.Follow.Parked = map[string]int64{}
	}
	for _, source := range sources {
		if s.Follow == nil {
			break
		}
		parked, err := db.Imports().CountParked(ctx, source.Name)
		if err != nil {
			return err
		}
		for part, n := range parked {
			for _, resource := range magento1.Part(part).Resources() {
				s.Follow.Parked[string(resource)] += n
			}
		}
	}
	if program.CanMirror(cfg) {
		if err := addMirrors(ctx, db, s); err != nil {
			return err
		}
	}
	if s.Import, err = program.Noted[plan.Import](ctx, db, plan.ImportEvidence); err != nil {
		return err
	}
	s.Sweep, err = program.Noted[plan.Sweep](ctx, db, plan.SweepEvidence)
	return err
}

// addMirrors adds the counts of mirrored writes in a store.
func addMirrors(ctx context.Context, db *sqlstore.DB, s *plan.Situation) error {
	owners, err := db.WriteOwners().All(ctx)
	if err != nil {
		return err
	}
	counts, err := db.Outbox().Count(ctx)
	if err != nil {
		return err
	}
	conflicts, err := db.Outbox().CountConflicts(ctx)
	if err != nil {
		return err
	}
	s.Mirrors, s.Conflicts = map[string]plan.Mirror{}, map[string]int64{}
	for r, c := range counts {
		s.Mirrors[string(r)] = plan.Mirror{Owner: "legacy", Waiting: c.Waiting, Parked: c.Parked, Held: c.Held, Unknown: c.Unknown, Oldest: c.Oldest}
	}
	for _, o := range owners {
		m := s.Mirrors[string(o.Resource)]
		m.Owner, m.Turning = "legacy", o.Turning
		if o.Mirrored {
			m.Owner = "portico"
		}
		s.Mirrors[string(o.Resource)] = m
	}
	for _, outcome := range outbox.ConflictOutcomes() {
		s.Conflicts[string(outcome)] = conflicts[outcome]
	}
	return nil
}

// stateText returns a state for people: reads_moved is "reads moved".
func stateText(s plan.State) string { return strings.ReplaceAll(string(s), "_", " ") }
