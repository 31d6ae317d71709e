package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/contracttests/report"
	"github.com/portico-commerce/portico/mapping/contract"
)

// gapsCommand returns the command "contracttest gaps".
func gapsCommand() *cobra.Command {
	var resources []string
	for _, r := range contract.Routes(contract.StandardFields()) {
		if !slices.Contains(resources, r.Resource) {
			resources = append(resources, r.Resource)
		}
	}
	return &cobra.Command{
		Use:   "gaps RESOURCE...",
		Short: "Print a file for --skip: the cases that call resources which are not built yet",
		Long: `Print the cases that call any of the named resources, as a file for --skip. The report
names the resources that do not answer at all. Replace the reasons by yours. The resources are
` + strings.Join(resources, ", ") + ".",
		Example:   "  contracttest gaps orders order_items > gaps.yaml",
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: resources,
		RunE: func(cmd *cobra.Command, named []string) error {
			for _, name := range named {
				if !slices.Contains(resources, name) {
					return fmt.Errorf("there is no resource %q: give some of %s", name, strings.Join(resources, ", "))
				}
			}
			return report.WriteGaps(cmd.OutOrStdout(), "Cases of the contract suite that call what is not built yet.", func(r *contract.Route) string {
				if slices.Contains(named, r.Resource) {
					return "no " + r.Resource + " yet"
				}
				return ""
			})
		},
	}
}
