package records

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/magento1"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// importConfigCommand returns the command "import config".
func importConfigCommand(p *program.Program) *cobra.Command {
	var source importSource
	cmd := &cobra.Command{
		Use:   "config --from DSN",
		Short: "Print a configuration file from the settings of the old shop",
		Long: `Print a configuration file for Portico from the settings of a shop in a database of
Magento 1 or OpenMage: time zone, currency, where guests pay tax, defaults of stock items,
attribute sets, tax classes, the shop's address, its own attributes, and the fields that
its roles may read. A comment at each line says where the value was found; a comment
without a line names what Portico has no setting for.

Read it through, complete it, and import the shop with it: the import reads the values of
the attributes that the file adds.`,
		Example: `  portico import config --from-file old.dsn > portico.yaml
  portico config --config portico.yaml --changed
  portico import --config portico.yaml --from-file old.dsn all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printShopConfig(cmd, &source)
		},
	}
	p.AddSettingFlags(cmd)
	source.addSourceFlags(cmd)
	return cmd
}

// printShopConfig prints the settings of the old shop as a configuration file.
func printShopConfig(cmd *cobra.Command, source *importSource) (err error) {
	dsn, err := source.read(cmd)
	if err != nil {
		return err
	}
	legacyDB, err := magento1.Open(cmd.Context(), source.options(dsn, adapter.NewSchemas()))
	if err != nil {
		return source.explain(err)
	}
	defer func() { err = errors.Join(err, legacyDB.Close()) }()
	settings, err := legacyDB.Settings(cmd.Context())
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), shopConfig(settings))
	return err
}

// shopConfig returns the settings of the old shop as a configuration file.
func shopConfig(settings []magento1.Setting) string {
	f := &configWriter{}
	f.comment("What clients of the old shop expect. \"documented\" is for clients that follow the contract to the letter.")
	f.set("dialect", "magento")
	var notes []string
	for _, s := range settings {
		if s.Name == "" {
			notes = append(notes, s.Warning+" (from "+s.From+")")
			continue
		}
		f.comment("from " + s.From)
		f.comment(s.Warning)
		f.set(s.Name, s.Value)
	}
	if len(notes) > 0 {
		f.comment("Portico has no settings for these:")
	}
	for _, note := range notes {
		f.comment(note)
	}
	return "# The settings of an old shop, by \"portico import config\". Read them through.\n\n" + f.String()
}
