// Portico serves the legacy store REST contract in front of another backend.
//
// This package is the program: its commands, and the one function that wires
// the parts together (wire.go). Everything the program does is done elsewhere.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/config"
)

// version is set when a release is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal is no longer held back from ending the program, unless the
	// command has a use for it.
	context.AfterFunc(ctx, stop)
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "portico:", err)
		stop()
		if errors.As(err, new(cannotRun)) {
			os.Exit(exitCannotRun)
		}
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "portico",
		Short: "Serve the legacy store REST contract in front of another backend",
		Long: `Portico answers the REST interface of a legacy online store (/api/rest, XML and
JSON, OAuth 1.0a) exactly as its clients expect it, and maps each call onto
another backend.

Start here:
  portico serve --demo        a store with demo data on http://127.0.0.1:8080
  portico routes              every call: path, roles, format and where it is handled
  portico config              every setting: its value, where that came from, and its default`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	root.PersistentFlags().String("config", "", "YAML file with settings (or PORTICO_CONFIG)")
	root.AddCommand(serveCommand(), routesCommand(), configCommand(), seedCommand(), importCommand(), credentialsCommand(), idsCommand(), readyCommand(),
		reportCommand(), compareCommand(), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "portico", version) },
	}
}

// settings returns the whole table of settings, those of the adapters included.
func settings() []config.Setting { return config.Settings(sections()...) }

// addSettingFlags gives cmd a flag for each setting that has one. Help shows those of
// the settings that the command uses; the others are accepted, so that all commands
// can be called alike.
func addSettingFlags(cmd *cobra.Command, uses ...string) {
	all := settings()
	config.AddFlags(cmd.Flags(), all)
	for _, s := range all {
		flag := cmd.Flags().Lookup(s.Flag)
		if s.Flag == "" || flag == nil {
			continue
		}
		flag.Hidden = !slices.Contains(uses, s.Name)
		if len(s.Choices) == 0 {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(s.Flag, cobra.FixedCompletions(s.Choices, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // the flag is the one defined above
		}
	}
}

// allSettings names every setting, for commands that use all.
func allSettings() []string {
	var names []string
	for _, s := range settings() {
		names = append(names, s.Name)
	}
	return names
}

// loadConfig reads the configuration of cmd: file, environment, flags.
func loadConfig(cmd *cobra.Command) (*config.Config, error) {
	file, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(config.Sources{
		Sections: sections(), File: file, Environ: os.Environ(), Flags: cmd.Flags(),
		Attribute: checkAttribute, Fields: checkFieldList,
	})
	var faults config.Faults
	if errors.As(err, &faults) {
		return nil, fmt.Errorf("%w\n\"portico config\" lists every setting with its default", faults)
	}
	return cfg, err
}
