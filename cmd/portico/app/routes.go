package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A routeRow is the output of "portico routes" for one call of the contract.
type routeRow struct {
	Method  string   `json:"method"`
	Path    string   `json:"path"`
	Roles   []string `json:"roles"`
	Format  string   `json:"format"`
	Handler string   `json:"handler"`
	File    string   `json:"file"`
	// NotOffered: the adapter does not offer the resource, so that the call is answered as
	// one that is not implemented.
	NotOffered bool `json:"not_offered,omitempty"`
}

// routesCommand returns the command "routes".
func (p *program) routesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "routes",
		Short: "List every call of the contract",
		Long: `List every call of the contract with its method, path, roles, default format, handler,
and the file of the handler. Some calls serve other roles in the other dialect
(--dialect). "not offered" in place of a file marks calls that the adapter has no
records for; they are answered with 405.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.loadConfig(cmd)
			if err != nil {
				return err
			}
			d, err := dialect(cfg.Dialect)
			if err != nil {
				return err
			}
			rows := routeRows(d)
			if a := p.adapter(cfg.Adapter); a != nil {
				if err := markNotOffered(cmd, cfg, a, rows); err != nil {
					return err
				}
			}
			if asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(rows)
			}
			return writeRoutes(cmd.OutOrStdout(), rows)
		},
	}
	p.addSettingFlags(cmd, "dialect", "adapter")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// dialect returns the dialect with the given name.
func dialect(name string) (*contract.Dialect, error) {
	for _, d := range contract.Dialects() {
		if d.Name == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("there is no dialect %q: use documented or magento", name)
}

// routeRows returns a row for each call that d serves to any role.
func routeRows(d *contract.Dialect) []routeRow {
	var rows []routeRow
	sources := mapping.HandlerLocations()
	for _, r := range contract.Routes(contract.StandardFields()) {
		for _, m := range contract.Methods() {
			row := routeRow{Method: m.String(), Path: r.Path, Format: r.DefaultFormat(m).String(), Handler: r.Calls[m], File: sources[r.Calls[m]]}
			for _, role := range contract.Roles() {
				if r.Access(d, role, m) == contract.Serve {
					row.Roles = append(row.Roles, role.String())
				}
			}
			if len(row.Roles) > 0 {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// markNotOffered opens the adapter, and marks the rows of resources that it does not offer.
func markNotOffered(cmd *cobra.Command, cfg *config.Config, a *Adapter, rows []routeRow) (err error) {
	records, err := a.open(cmd.Context(), cfg, prometheus.NewRegistry(), newLogger(cmd.ErrOrStderr(), warningsOnly(cfg)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	for _, r := range contract.Routes(contract.StandardFields()) {
		if mapping.Offers(records, r) {
			continue
		}
		for i := range rows {
			rows[i].NotOffered = rows[i].NotOffered || rows[i].Path == r.Path
		}
	}
	return nil
}

// writeRoutes writes rows as a table.
func writeRoutes(w io.Writer, rows []routeRow) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "METHOD\tPATH\tROLES\tFORMAT\tHANDLER\tFILE")
	for _, r := range rows {
		if r.NotOffered {
			r.File = "not offered"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Method, r.Path, strings.Join(r.Roles, ","), r.Format, r.Handler, r.File)
	}
	return table.Flush()
}
