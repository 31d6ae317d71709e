package main

import (
	"github.com/portico-commerce/portico/contracttests"
	"github.com/spf13/cobra"
)

// fixturesCommand returns the command "contracttest fixtures".
func fixturesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fixtures",
		Short: "Print a template for --fixtures: the fixtures of the demo store",
		Long: `Print the fixtures of the demo store with comments, as a template for those of another
store. Fixtures are objects that cannot be created through the API. Leave out those that
your store does not have: the cases that need them are skipped with that reason. The
suite changes only fixtures that are marked writable, and restores them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(contracttests.DemoFixtureFile())
			return err
		},
	}
}

// credentialsCommand returns the command "contracttest credentials".
func credentialsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "credentials",
		Short: "Print a template for --credentials: the credentials of the demo store",
		Long: `Print the credentials of the demo store with comments, as a template for those of
another implementation: OAuth tokens, bearer tokens or other headers. Reports and logs
contain none of them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(contracttests.DemoCredentialsFile())
			return err
		},
	}
}
