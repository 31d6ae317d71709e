package main

import (
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/contracttests"
)

func fixturesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fixtures",
		Short: "Print a pattern for --fixtures: those of the demo store",
		Long: `Print the fixtures of the demo store, with comments, as a pattern for those of
another: what it holds that no call can create. Leave out what it has not; the cases
that need it are skipped, and say so. Nothing is changed but what is marked writable,
and that is put back.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(contracttests.DemoFixtureFile())
			return err
		},
	}
}

func credentialsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "credentials",
		Short: "Print a pattern for --credentials: those of the demo store",
		Long: `Print the credentials of the demo store, with comments, as a pattern for those of
another implementation: OAuth tokens, bearer tokens or headers of its own. Reports
and logs show none of them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(contracttests.DemoCredentialsFile())
			return err
		},
	}
}
