// Contracttest tests an implementation of the store REST contract over HTTP, in any
// language and on any store.
//
// This package handles flags, files, signals and exit codes. Package contracttests holds
// the test cases and runs them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/config/buildinfo"
	"github.com/portico-commerce/portico/contracttests"
)

// The exit codes.
const (
	exitFailed = 1 // cases failed
	exitError  = 2 // the suite could not run, or was interrupted
)

// memoryLimit is the soft memory limit of the Go runtime, in bytes. The program often
// runs next to the implementation on a small machine. Long reports may exceed it.
const memoryLimit = 28 << 20

// errFailed is returned by a run that has reported failures.
var errFailed = errors.New("cases failed")

// main runs the program and exits with one of the exit codes.
func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal, a second one ends the program immediately.
	context.AfterFunc(ctx, stop)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	switch {
	case errors.Is(err, errFailed):
		os.Exit(exitFailed)
	case err != nil:
		fmt.Fprintln(os.Stderr, "contracttest:", err)
		os.Exit(exitError)
	}
}

// rootCommand returns the command line of the program.
func rootCommand() *cobra.Command {
	var o runOptions
	root := &cobra.Command{
		Use:   "contracttest --url URL",
		Short: "Test an implementation of the store REST contract",
		Long: `Run the contract suite over HTTP against an implementation of the store REST
contract, in the dialect that it speaks: documented, as the contract document says,
or magento, as the original shop behaves.

--url is the address before /api/rest, with the path of a shop in a subdirectory, such as
https://shop.example/index.php; a trailing slash or /api/rest is ignored. Without a scheme
it is http for addresses of this machine and private networks and for names without a dot,
and https otherwise. The first line that a run prints says which URL is meant.

A demo store needs no other flags. For another store write files with its credentials
and its fixtures, the objects that cannot be created through the API:
  contracttest credentials > credentials.yaml
  contracttest fixtures > fixtures.yaml

The suite creates objects whose names begin with contracttest-, and deletes them, also
when it is interrupted. It changes nothing else except fixtures that are marked
writable, which it restores. With --read-only it sends only GET requests.

Declare the cases that the implementation does not support yet in a file for --skip,
each with a reason:
  - {case: "^orders/", reason: orders come with release 2}

With --reset, which restores the data of a demo store, the suite also replays the
recorded exchanges of the demo store and compares them byte for byte. The reset URL
gets the bearer token in CONTRACTTEST_RESET_TOKEN, if it is set.

Each flag can be set by an environment variable: --url by CONTRACTTEST_URL, --read-only
by CONTRACTTEST_READ_ONLY=true. Flags take precedence.

Exit codes: 0 all cases passed, 1 cases failed, 2 the suite could not run or was interrupted.`,
		Example: `  contracttest --url http://127.0.0.1:8080
  contracttest --url https://store.example --credentials credentials.yaml --fixtures fixtures.yaml --junit report.xml
  contracttest --url http://127.0.0.1:8080 --reset http://127.0.0.1:9464/demo/reset
  contracttest --url http://127.0.0.1:8080 --run '^customers/' --fail-fast --verbose`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       buildinfo.Read().Version,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setFromEnvironment(cmd.Flags(), os.Getenv); err != nil {
				return err
			}
			return runSuite(cmd, &o)
		},
	}
	o.target.addFlags(root.Flags())
	o.addFlags(root.Flags())
	root.AddCommand(recordCommand(), signCommand(), listCommand(), gapsCommand(), fixturesCommand(), credentialsCommand(), versionCommand())
	return root
}

// versionCommand returns the command "contracttest version".
func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and date of this program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return buildinfo.Read().Write(cmd.OutOrStdout(), "contracttest", asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// fixturesCommand returns the command "contracttest fixtures".
func fixturesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fixtures",
		Short: "Print a template for --fixtures: the fixtures of the demo store",
		Long: `Print the fixtures of the demo store with comments, as a template for another store.
Fixtures are objects that cannot be created through the API. Leave out the objects that
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
		Long: `Print the credentials of the demo store with comments, as a template for another
implementation: OAuth tokens, bearer tokens or other headers. Reports and logs contain
no credentials.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(contracttests.DemoCredentialsFile())
			return err
		},
	}
}
