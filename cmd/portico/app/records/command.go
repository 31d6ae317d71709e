package records

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// MappingCommand returns the command "mapping" with its subcommands.
func MappingCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mapping",
		Short: "Write and check the mapping file of a backend",
		Long: `Write and check a mapping file, which describes the HTTP API of a backend (adapter:
rest). The order of work:

  portico mapping new shop            a file to start from
  portico mapping check ./shop.yaml   all faults of the file, with their lines
  portico mapping try ./shop.yaml --resource customers --id 12
                                      how one record is read, and what it lacks
  portico ids check                   how all records are read

The guide is adapter/README.md.`,
	}
	cmd.AddCommand(newCommand(p), checkCommand(p), tryCommand(p), schemaCommand(p))
	return cmd
}

// mappingOptions returns the options of the backend rest for the mapping file in args, or for the
// configured one.
func mappingOptions(p *program.Program, cmd *cobra.Command, args []string) (o reststore.Options, err error) {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return o, err
	}
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return o, err
	}
	section := cfg.Sections[program.RESTSection]
	if len(args) > 0 {
		section["mapping"] = args[0]
	}
	return program.RESTOptions(section, schemas)
}

// checkCommand returns the command "mapping check".
func checkCommand(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "List all faults of a mapping file, and what it lacks",
		Long: `List all faults of a mapping file, each with its line and with what would be valid. FILE
is a path with a slash or a dot in it, or the name of a mapping that is built in. Without
FILE the command checks that of rest.mapping. It sends nothing to the backend, and needs
no credentials.

A file without faults may still lack something, of which the command warns:
attributes that every record needs and that no expression gives a value, so that records
that are new at the backend cannot be imported; and references that cannot be resolved.
Notes name the records that must be in the local replica first. What expressions compute
is only known with a record: see "portico mapping try".

With --json the command prints a list of objects: level (fault, warning or note), file,
line, message.

Exit codes: 0 there is no fault, 1 there are faults, 2 the check could not be made.`,
		Example: `  portico mapping check ./shop.yaml
  portico mapping check medusa`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := mappingOptions(p, cmd, args)
			if err != nil {
				return program.CannotRun{Err: err}
			}
			return check(cmd, o)
		},
	}
	p.AddSettingFlags(cmd, "rest.vars")
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// check prints the remarks about a mapping file. It returns an error if there are faults.
func check(cmd *cobra.Command, o reststore.Options) error {
	remarks := reststore.Check(o)
	if remarks == nil {
		remarks = []reststore.Remark{}
	}
	faults := len(slices.DeleteFunc(slices.Clone(remarks), func(r reststore.Remark) bool { return r.Level != reststore.Fault }))
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		if err := program.WriteJSON(cmd.OutOrStdout(), remarks); err != nil {
			return program.CannotRun{Err: err}
		}
	} else {
		for _, r := range remarks {
			fmt.Fprintln(cmd.OutOrStdout(), r)
		}
		if faults == 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s has no faults\n", o.File)
		}
	}
	if faults > 0 {
		return fmt.Errorf("%s has faults: correct the lines above", o.File)
	}
	return nil
}
