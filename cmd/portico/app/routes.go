package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/contracttests/report"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A routeRow is the output of "portico routes" for one call of the contract.
type routeRow struct {
	resource string
	Method   string   `json:"method"`
	Path     string   `json:"path"`
	Roles    []string `json:"roles"`
	Format   string   `json:"format"`
	Handler  string   `json:"handler"`
	File     string   `json:"file"`
	// Rule is the file with the rules for a write that hold in every store, "none" if there are no
	// rules. It is empty for a call that reads.
	Rule string `json:"rule,omitempty"`
	// NotOffered: the adapter does not offer the resource, so that the call is answered as
	// one that is not implemented.
	NotOffered bool `json:"not_offered,omitempty"`
}

// routesCommand returns the command "routes".
func routesCommand(p *program.Program) *cobra.Command {
	var asJSON, asGaps bool
	var roleName string
	cmd := &cobra.Command{
		Use:   "routes",
		Short: "List every call of the contract",
		Long: `List every call of the contract with its method, path, roles, default format, handler,
the file of the handler, and the file of the rule: of what a write entails in every
store. Some calls serve other roles in the other dialect (--dialect). "not offered" in
place of a file marks calls that the adapter has no records for; they are answered with
405. --gaps prints the cases of the contract suite that make such calls, as a file for
"contracttest --skip". --role lists the calls that a REST role of the store allows.`,
		Example: `  portico routes --dialect magento
  portico routes --adapter warehouse --gaps > gaps.yaml
  portico routes --role guest`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			d, err := program.Dialect(cfg)
			if err != nil {
				return err
			}
			var missing []*contract.Route
			if a := p.Adapter(cfg.Adapter); a != nil {
				if missing, err = routesNotOffered(cmd, cfg, a); err != nil {
					return err
				}
			}
			if asGaps {
				return report.WriteGaps(cmd.OutOrStdout(), "Cases of the contract suite that call what the adapter does not offer.", func(r *contract.Route) string {
					if slices.ContainsFunc(missing, func(m *contract.Route) bool { return m.Path == r.Path }) {
						return fmt.Sprintf("the adapter %s does not offer %s", cfg.Adapter, r.Resource)
					}
					return ""
				})
			}
			rows := routeRows(d, missing)
			if roleName != "" {
				role, err := readRole(cmd, cfg, roleName)
				if err != nil {
					return err
				}
				rows = allowedRows(rows, role)
			}
			if asJSON {
				return program.WriteJSON(cmd.OutOrStdout(), rows)
			}
			return writeRoutes(cmd.OutOrStdout(), rows)
		},
	}
	p.AddSettingFlags(cmd, "dialect", "adapter")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&asGaps, "gaps", false, `print the cases of calls that are not offered, for "contracttest --skip"`)
	cmd.Flags().StringVar(&roleName, "role", "", "list only the calls that this REST role allows: guest, customer, or a role of administrators")
	cmd.MarkFlagsMutuallyExclusive("json", "gaps")
	cmd.MarkFlagsMutuallyExclusive("role", "gaps")
	return cmd
}

// routeRows returns a row for each call that d serves to any role. Rows of missing routes are
// marked.
func routeRows(d *contract.Dialect, missing []*contract.Route) []routeRow {
	var rows []routeRow
	sources, rules := mapping.HandlerLocations(), mapping.RuleFiles()
	for _, r := range contract.Routes(contract.StandardFields()) {
		isMissing := slices.ContainsFunc(missing, func(m *contract.Route) bool { return m.Path == r.Path })
		for _, m := range contract.Methods() {
			row := routeRow{resource: r.Resource, NotOffered: isMissing, Method: m.String(), Path: r.Path, Format: r.DefaultFormat(m).String(), Handler: r.Calls[m], File: sources[r.Calls[m]]}
			for _, role := range contract.Roles() {
				if r.Access(d, role, m) == contract.Serve {
					row.Roles = append(row.Roles, role.String())
				}
			}
			if m != contract.GET {
				row.Rule = cmp.Or(rules[row.Handler], "none")
			}
			if len(row.Roles) > 0 {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// readRole returns the role of a name from the store: guest and customer, or one of administrators.
// Guests and Customers without a role may make all calls.
func readRole(cmd *cobra.Command, cfg *config.Config, name string) (role adapter.AccessRole, err error) {
	db, err := program.OpenStore(cmd.Context(), cfg, program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg)))
	if err != nil {
		return role, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	roles, err := db.Credentials().AccessRoles(cmd.Context())
	if err != nil {
		return role, err
	}
	wanted, err := credentials.ParseRole(name, nil, true)
	if err != nil {
		return role, err
	}
	for _, role := range roles.Roles {
		if wanted.ID != 0 && role.ID == wanted.ID || adapter.Fold(role.Name) == adapter.Fold(name) {
			return role, nil
		}
	}
	if wanted.ID != 0 {
		return wanted, nil
	}
	return role, fmt.Errorf("the store has no role %q: see \"portico credentials list roles\"", name)
}

// allowedRows returns the rows of the calls that a role allows.
func allowedRows(rows []routeRow, role adapter.AccessRole) (allowed []routeRow) {
	kind, caller := contract.Admin, auth.Principal{Role: contract.Admin, AdminID: 1}
	roles := adapter.AccessRoles{Roles: []adapter.AccessRole{role}, Assigned: []adapter.RoleAssignment{{AdminID: caller.AdminID, RoleID: role.ID}}}
	switch role.ID {
	case adapter.GuestRole:
		kind = contract.Guest
	case adapter.CustomerRole:
		kind = contract.Customer
	}
	caller.Role = kind
	grants, _ := auth.NewRights(&roles).Of(caller)
	for _, row := range rows {
		method, _ := contract.ParseMethod(row.Method)
		if slices.Contains(row.Roles, kind.String()) && grants.Allow(row.resource, method) {
			row.Roles = []string{kind.String()}
			allowed = append(allowed, row)
		}
	}
	return allowed
}

// routesNotOffered opens the adapter, and returns the routes of resources that it does not
// offer.
func routesNotOffered(cmd *cobra.Command, cfg *config.Config, a *program.Adapter) (missing []*contract.Route, err error) {
	records, err := program.OpenAdapter(cmd.Context(), a, cfg, prometheus.NewRegistry(), program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	offered := func(r *contract.Route) bool { return mapping.Offers(records, r) }
	return slices.DeleteFunc(contract.Routes(contract.StandardFields()), offered), nil
}

// writeRoutes writes rows as a table.
func writeRoutes(w io.Writer, rows []routeRow) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "METHOD\tPATH\tROLES\tFORMAT\tHANDLER\tFILE\tRULE")
	for _, r := range rows {
		if r.NotOffered {
			r.File = "not offered"
		}
		columns := []string{r.Method, r.Path, strings.Join(r.Roles, ","), r.Format, r.Handler, r.File, cmp.Or(r.Rule, "-")}
		fmt.Fprintln(table, strings.Join(columns, "\t"))
	}
	return table.Flush()
}
