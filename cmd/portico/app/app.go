// Package app is the program portico: its commands, and the one function that wires the
// parts together (wire.go). Everything that the program does is done elsewhere.
//
// [Main] runs it. A program of your own that calls Main with [WithBackend] or
// [WithAdapter] is Portico in front of a backend that is written in Go: it has the same
// commands, settings, metrics and help, with those of the backend among them. With
// [WithMiddleware] it adds gin middleware to the port of the contract.
//
// # How it is tested
//
// As users see it: the test binary runs as the program, with real databases, Redis,
// Prometheus and browsers. The contract suite and the recorded exchanges run against it in
// both dialects, and every command of the guides is executed.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/gin-gonic/gin"
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/buildinfo"
)

// A program is what Main runs.
type program struct {
	build      buildinfo.Info
	environ    []string // "NAME=value"
	backends   []Backend
	adapters   []Adapter
	demoPublic bool // others may reach the demo store
	// gin middleware of the contract's port, before and after Portico's own
	outerMiddleware, middleware []gin.HandlerFunc
}

// newProgram returns the program with its built-in backends and those of the options.
func newProgram(options ...Option) *program {
	p := &program{build: buildinfo.Read(), environ: os.Environ(), backends: []Backend{restBackend()}}
	for _, option := range options {
		option(p)
	}
	return p
}

// getenv returns the value of an environment variable, or "" if it is not set.
func (p *program) getenv(name string) (value string) {
	for _, entry := range p.environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			value = text
		}
	}
	return value
}

// An Option changes the program that [Main] runs.
type Option func(*program)

// WithBackend adds a backend to those that the setting "adapter" can name. Its name must
// be neither that of another one nor that of a section of Portico's own settings.
func WithBackend(b Backend) Option {
	return func(p *program) { p.backends = append(p.backends, b) }
}

// WithAdapter adds an adapter to those that the setting "adapter" can name. The name is
// under the same rule as that of a backend.
func WithAdapter(a Adapter) Option {
	return func(p *program) { p.adapters = append(p.adapters, a) }
}

// WithOuterMiddleware adds middleware to the port of the contract that runs before Portico's
// own, and sees every request: see [httpapi.Mount]. Each reload of the configuration gives it
// to another engine.
func WithOuterMiddleware(handlers ...gin.HandlerFunc) Option {
	return func(p *program) { p.outerMiddleware = append(p.outerMiddleware, handlers...) }
}

// WithMiddleware adds middleware to the port of the contract that runs between Portico's own
// and the handler. [httpapi.AddressOf] tells it what a request is addressed to.
func WithMiddleware(handlers ...gin.HandlerFunc) Option {
	return func(p *program) { p.middleware = append(p.middleware, handlers...) }
}

// Main runs the command that the arguments of the process name, and ends the process if the
// command fails. It returns when the command has succeeded. SIGINT and SIGTERM end a
// command in order, and a second one at once.
func Main(options ...Option) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal is no longer held back from ending the program, unless the
	// command has a use for it.
	context.AfterFunc(ctx, stop)
	p := newProgram(options...)
	err := p.checkNames()
	if err == nil {
		err = p.rootCommand().ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "portico:", err)
		stop()
		if errors.As(err, new(cannotRun)) {
			os.Exit(exitCannotRun)
		}
		os.Exit(1)
	}
}

func (p *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "portico",
		Short: "Serve the legacy store REST contract in front of another backend",
		Long: `Portico answers the REST interface of a legacy online store (/api/rest, XML and
JSON, OAuth 1.0a) exactly as its clients expect it, and maps each call onto
another backend.

Start here:
  portico serve --demo        a store with demo data on http://127.0.0.1:8080
  portico routes              every call: path, roles, format and where it is handled
  portico config              every setting with its value, its source and its default
  portico doctor              whether Portico would run well with the configuration`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       p.build.Version,
	}
	root.PersistentFlags().String("config", "", "YAML file with settings (or PORTICO_CONFIG)")
	root.AddCommand(p.serveCommand(), p.routesCommand(), p.openapiCommand(), p.configCommand(), p.migrateCommand(), p.seedCommand(), p.exportCommand(), p.importCommand(), p.followCommand(), p.mirrorCommand(), p.credentialsCommand(), p.idsCommand(), p.readyCommand(),
		p.doctorCommand(), p.callCommand(), p.oauthCommand(), p.reportCommand(), p.compareCommand(), p.planCommand(), p.versionCommand())
	return root
}

// versionCommand returns the command "version".
func (p *program) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and date of this program",
		Long: `Print the version of this program, the commit that it was built from and its date,
the version of Go, and the platform. A program that was built from sources without
their repository does not know its commit, and its version is "dev".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.build.Write(cmd.OutOrStdout(), "portico", asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// settings returns all settings, including those of the backends.
func (p *program) settings() []config.Setting { return config.Settings(p.sections()...) }

// addSettingFlags gives cmd a flag for every setting that has one, so that all commands
// accept the same flags. Help shows only the flags of the settings named in uses.
func (p *program) addSettingFlags(cmd *cobra.Command, uses ...string) {
	all := p.settings()
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

// allSettings returns the names of all settings, for commands that use all of them.
func (p *program) allSettings() []string {
	var names []string
	for _, s := range p.settings() {
		names = append(names, s.Name)
	}
	return names
}

// loadConfig reads the configuration of cmd from file, environment and flags.
func (p *program) loadConfig(cmd *cobra.Command) (*config.Config, error) {
	file, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(config.Sources{
		Sections: p.sections(), File: file, Environ: p.environ, Flags: cmd.Flags(),
		Attribute: checkAttribute, Fields: checkFieldList, Routes: checkRoutes,
	})
	var faults config.Faults
	if errors.As(err, &faults) {
		return nil, fmt.Errorf("%w\n\"portico config\" lists every setting with its default", faults)
	}
	return cfg, err
}
