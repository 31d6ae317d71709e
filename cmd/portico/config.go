package main

import (
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/config"
)

func configCommand() *cobra.Command {
	var asJSON, example bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "List every setting with its default, environment name and present value",
		Long: `List every setting: its present value and where that came from, its default, its
environment name and its flag. Secrets are only shown as set or not set.

Settings are read from a YAML file (--config or PORTICO_CONFIG), then from the
environment, then from flags; the later one wins.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if example {
				return config.WriteExample(cmd.OutOrStdout(), settings())
			}
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return config.WriteJSON(cmd.OutOrStdout(), cfg.Rows())
			}
			return config.WriteTable(cmd.OutOrStdout(), cfg.Rows())
		},
	}
	addSettingFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&example, "example", false, "print an example file with every setting instead")
	return cmd
}
