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
  moved         Portico answers all calls
  alone         there is no old shop any more
In "writes moved" Portico answers the writes alone, which no step leads to: clients do not
read what they have written.

The evidence comes from
  record.dir                    who calls what, of all servers that write there
  portico serve                 what its shadow has found since it started, and how far it is
                                behind the old shop, by the operators' port (--ops, with
                                ops.token); name every replica
  portico compare --sweep --note   the last sweep
  portico import                the last import
  portico follow                records that it could not store
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
			text := planText{Plan: plan, colored: report.IsTerminal(cmd.OutOrStdout()) && os.Getenv("NO_COLOR") == ""}
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
	parts, err := resourceParts(cfg)
	if err != nil {
		return nil, err
	}
	s := &migration.Situation{Legacy: cfg.Legacy.URL, Rules: newRules(cfg.Routes), Resources: parts}
	if s.Legacy == "" {
		return migration.New(s), nil
	}
	s.NoImports = p.adapter(cfg.Adapter) != nil
	var unknown, warnings []string
	if cfg.Record.Dir != "" {
		if s.Usage, err = recording.ReadUsage(os.DirFS(cfg.Record.Dir)); err != nil {
			s.Usage = nil
			unknown = append(unknown, fmt.Sprintf("The counts in %s cannot be read: %v", cfg.Record.Dir, err))
		}
	}
	statuses, faults := queryMigration(ctx, cfg, servers)
	s.Shadow, s.Follow = addShadows(statuses), followOf(cfg, statuses)
	if err := addStored(ctx, cfg, s); err != nil {
		unknown = append(unknown, fmt.Sprintf("What the store knows of imports and sweeps cannot be read: %v", err))
	}
	unknown = append(unknown, faults...)
	for _, status := range statuses {
		if !slices.Equal(status.Routes, describeRoutes(cfg.Routes)) {
			warnings = append(warnings, "The Portico at "+status.server+" runs with other routes than this configuration: reload it, or give this command its configuration.")
		}
	}
	plan := migration.New(s)
	plan.Unknown, plan.Warnings = append(plan.Unknown, unknown...), append(plan.Warnings, warnings...)
	return plan, nil
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

// addStored adds what the configured store knows. It neither creates nor changes tables.
func addStored(ctx context.Context, cfg *config.Config, s *migration.Situation) (err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	db, err := openStoreAs(ctx, cfg, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	sources, err := db.Imports().Sources(ctx)
	if err != nil {
		return err
	}
	if s.Follow != nil {
		s.Follow.Parked = map[string]int64{}
	}
	for _, source := range sources {
		if s.Import == nil || source.NotedAt.After(s.Import.At) {
			s.Import = &migration.Import{At: source.NotedAt, Database: source.Database}
		}
		if s.Follow == nil {
			continue
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
	text, _, err := db.Evidence(ctx, sweepEvidence)
	if err != nil || text == "" {
		return err
	}
	var swept migration.Sweep
	if err := json.Unmarshal([]byte(text), &swept); err != nil {
		return fmt.Errorf("the note of the last sweep: %w", err)
	}
	s.Sweep = &swept
	return nil
}

// stateText returns a state for people: reads_moved is "reads moved".
func stateText(s migration.State) string { return strings.ReplaceAll(string(s), "_", " ") }
