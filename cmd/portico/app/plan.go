package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests/report"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/migration"
	"github.com/portico-commerce/portico/mapping/recording"
)

// planCommand returns the command "plan".
func (p *program) planCommand() *cobra.Command {
	var servers []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Say how far each resource has moved from the old shop, and what comes next",
		Long: `Say how far each resource has moved from the old shop to Portico, what speaks for the next
step, what is to be settled before, and which lines of configuration take it. Nothing is
decided or changed: the lines are yours to paste. Each block of lines starts from the
configuration as it is now, so paste one, reload, and run the command again.

A resource passes through these states:
  in front      the old shop answers, and Portico forwards
  followed      the same, and Portico's store follows the old shop's database
  compared      the same, and the last sweep found no difference that you have not accepted
  shadowed      the old shop answers, and Portico answers reads again, to compare
  reads moved   Portico answers reads, and the old shop gets the writes
  mirrored      Portico answers all calls, and repeats the writes at the old shop
  moved         Portico answers all calls, and the old shop lacks what clients write
  alone         there is no old shop any more
Until it is alone, a resource can go back: also while its writes are mirrored, but no longer
once they have moved without that.
In "writes moved" Portico answers the writes alone, which no step leads to: clients do not
read what they have written.

The evidence comes from
  record.dir                    who calls what, of all servers that write there
  portico serve                 what its shadow has found since it started, and how far it is
                                behind the old shop, by the operators' port (--ops, with
                                ops.token); name every replica
  portico compare --sweep --note   the last sweep
  portico import all            the last import that came to its end
  portico follow                records that it could not store
  portico serve with mirror: true   which system has the writes, what the old shop still has
                                to be told, and what both have changed
What is not known is said to be unknown, with the command that finds it out.

--json prints the same for programs. Members may be added to it, and none are removed or
renamed. The exit code is 0 unless the configuration cannot be read.`,
		Example: `  portico plan --config portico.yaml
  portico plan --config portico.yaml --ops http://10.0.0.5:9464 --ops http://10.0.0.6:9464 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.loadConfig(cmd)
			if err != nil {
				return err
			}
			plan, err := p.newPlan(cmd.Context(), cfg, servers)
			if err != nil {
				return err
			}
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetEscapeHTML(false)
				encoder.SetIndent("", "  ")
				return encoder.Encode(plan)
			}
			text := planText{Plan: plan, colored: report.UseColor(cmd.OutOrStdout())}
			return text.write(cmd.OutOrStdout())
		},
	}
	p.addSettingFlags(cmd)
	cmd.Flags().StringSliceVar(&servers, "ops", nil, "`URL` of the operators' port of a running Portico (default: that of ops.listen on this machine)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newPlan returns the plan for a configuration, with all evidence that can be had. servers are
// the URLs of operators' ports.
func (p *program) newPlan(ctx context.Context, cfg *config.Config, servers []string) (*migration.Plan, error) {
	s, err := p.newSituation(ctx, cfg, situationSources{
		ask:    func() ([]serverStatus, []string) { return queryMigration(ctx, cfg, servers) },
		stored: func(ctx context.Context, s *situation) error { return readStored(ctx, cfg, s.Situation) },
	})
	if err != nil {
		return nil, err
	}
	return s.plan(), nil
}

// A situation is what is known about a migration, with what is not.
type situation struct {
	*migration.Situation
	unknown, warnings []string
}

// plan returns the plan for the situation.
func (s *situation) plan() *migration.Plan {
	plan := migration.New(s.Situation)
	plan.Unknown, plan.Warnings = append(plan.Unknown, s.unknown...), append(plan.Warnings, s.warnings...)
	return plan
}

// situationSources are where evidence is found that the configuration does not name.
type situationSources struct {
	// ask returns what running servers know, and which of them did not say it.
	ask func() (statuses []serverStatus, faults []string)
	// stored adds what the store knows.
	stored func(context.Context, *situation) error
}

// newSituation returns what is known about the migration that cfg configures.
func (p *program) newSituation(ctx context.Context, cfg *config.Config, from situationSources) (*situation, error) {
	parts, err := resourceParts(cfg)
	if err != nil {
		return nil, err
	}
	s := &situation{Situation: &migration.Situation{Legacy: cfg.Legacy.URL, Rules: newRules(cfg.Routes), Resources: parts}}
	if s.Legacy == "" {
		return s, nil
	}
	s.NoImports, s.Unset = p.adapter(cfg.Adapter) != nil, unsetForMirror(cfg)
	s.NoMirror = s.NoImports // such an adapter has no outbox
	if cfg.Record.Dir != "" {
		if s.Usage, err = recording.ReadUsage(os.DirFS(cfg.Record.Dir)); err != nil {
			s.Usage, s.UsageFault = nil, fmt.Sprintf("The counts in %s cannot be read: %v", cfg.Record.Dir, err)
		}
	}
	statuses, faults := from.ask()
	s.Shadow, s.Follow = addShadows(statuses), followOf(cfg, statuses)
	if err := from.stored(ctx, s); err != nil {
		s.unknown = append(s.unknown, fmt.Sprintf("What the store knows of imports, sweeps and mirrored writes cannot be read: %v", err))
	}
	s.unknown = append(s.unknown, faults...)
	for _, status := range statuses {
		if !slices.Equal(status.Routes, describeRoutes(cfg.Routes)) {
			s.warnings = append(s.warnings, "The Portico at "+status.server+" runs with other routes than this configuration: reload it, or give this command its configuration.")
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

// resourceParts returns the resources of the contract in the dialect of a configuration, in the
// order of the route table.
func resourceParts(cfg *config.Config) ([]migration.Part, error) {
	d, err := dialect(cfg.Dialect)
	if err != nil {
		return nil, err
	}
	schemas := adapter.NewSchemas()
	var parts []migration.Part
	for _, route := range contract.Routes(contract.StandardFields()) {
		at := slices.IndexFunc(parts, func(p migration.Part) bool { return p.Name == route.Resource })
		if at < 0 {
			part := migration.Part{Name: route.Resource, Root: route.Resource}
			if root := schemas.Of(adapter.Resource(route.Resource)).Root; root != "" {
				part.Root = string(root)
			}
			at, parts = len(parts), append(parts, part)
		}
		for _, method := range contract.Methods() {
			if route.Calls[method] == "" {
				continue
			}
			parts[at].Calls = append(parts[at].Calls, route.Calls[method])
			for _, role := range []contract.Role{contract.Admin, contract.Customer, contract.Guest} {
				if method != contract.GET && route.Access(d, role, method) == contract.Serve {
					parts[at].Writes = true
				}
			}
		}
	}
	return parts, nil
}

// storeTimeout limits how long the plan waits for a store.
const storeTimeout = 10 * time.Second

// readStored adds what the configured store knows. It neither creates nor changes tables.
func readStored(ctx context.Context, cfg *config.Config, s *migration.Situation) (err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	db, err := openStoreAs(ctx, cfg, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return addStored(ctx, cfg, db, s)
}

// addStored adds what an open store knows.
func addStored(ctx context.Context, cfg *config.Config, db *sqlstore.DB, s *migration.Situation) error {
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
	if canMirror(cfg) {
		if err := addMirrors(ctx, db, s); err != nil {
			return err
		}
	}
	if s.Import, err = noted[migration.Import](ctx, db, importEvidence); err != nil {
		return err
	}
	s.Sweep, err = noted[migration.Sweep](ctx, db, sweepEvidence)
	return err
}

// noted returns what a store has noted under a name, or nil.
func noted[T any](ctx context.Context, db *sqlstore.DB, name string) (*T, error) {
	text, _, err := db.Evidence(ctx, name)
	if err != nil || text == "" {
		return nil, err
	}
	var found T
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, fmt.Errorf("the note of the last %s: %w", name, err)
	}
	return &found, nil
}

// addMirrors adds what a store knows of mirrored writes.
func addMirrors(ctx context.Context, db *sqlstore.DB, s *migration.Situation) error {
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
	s.Mirrors, s.Conflicts = map[string]migration.Mirror{}, map[string]int64{}
	for r, c := range counts {
		s.Mirrors[string(r)] = migration.Mirror{Owner: "legacy", Waiting: c.Waiting, Parked: c.Parked, Held: c.Held, Unknown: c.Unknown, Oldest: c.Oldest}
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
func stateText(s migration.State) string { return strings.ReplaceAll(string(s), "_", " ") }
