package app

import (
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// configCommand returns the command "config".
func configCommand(p *program.Program) *cobra.Command {
	var asJSON, example, changed bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "List every setting with its present value, its source and its default",
		Long: `List every setting with its present value, the source of the value, and its default.
Secrets are shown only as set or not set. The environment variable of a setting is
PORTICO_ and its name in capitals, with an underscore for each dot; --json also
shows the variable and the flag.

Settings are read from a YAML file (--config, PORTICO_CONFIG, or else portico.yaml in
the working folder), then from the environment, then from flags; the later one wins.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if example {
				return config.WriteExample(cmd.OutOrStdout(), p.Settings())
			}
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			rows := cfg.Rows()
			if changed {
				rows = config.Changed(rows)
			}
			if asJSON {
				return program.WriteJSON(cmd.OutOrStdout(), rows)
			}
			return config.WriteTable(cmd.OutOrStdout(), rows)
		},
	}
	p.AddSettingFlags(cmd, p.AllSettings()...)
	cmd.Flags().BoolVar(&changed, "changed", false, "leave out the settings that have their default")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&example, "example", false, "print an example file with every setting instead")
	return cmd
}
