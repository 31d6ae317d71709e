// Package app is the program portico: its command line, and its server, whose parts are wired
// together in one place (wire.go). Other commands are in the packages below; the work itself is
// done by other packages.
//
// [Main] runs it. A program of your own that calls Main with [WithBackend] or [WithAdapter] is
// Portico in front of a backend that is written in Go: it has the same commands, metrics and help,
// and the settings of the backend besides Portico's own. With [WithMiddleware] it adds gin
// middleware to the port of the contract.
//
// # How it is tested
//
// As users see it: the test binary runs as the program, with real databases, Redis,
// Prometheus and browsers. The contract suite and the recorded exchanges run against it in
// all dialects, and every command of the guides is executed.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/gin-gonic/gin"
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/cmd/portico/app/client"
	"github.com/portico-commerce/portico/cmd/portico/app/credentials"
	"github.com/portico-commerce/portico/cmd/portico/app/doctor"
	"github.com/portico-commerce/portico/cmd/portico/app/migrate"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/cmd/portico/app/records"
)

// newProgram returns the program with its built-in backends and the backends that options add.
func newProgram(options ...Option) *program.Program {
	p := program.New()
	for _, option := range options {
		option(p)
	}
	return p
}

// An Option changes the program that [Main] runs.
type Option func(*program.Program)

// WithBackend adds a backend, which the setting "adapter" can then name. Its name must differ from
// the names of the other backends and of the sections of Portico's own settings.
func WithBackend(b program.Backend) Option {
	return func(p *program.Program) { p.Backends = append(p.Backends, b) }
}

// WithAdapter adds an adapter, which the setting "adapter" can then name. The rule for names of
// backends applies to its name.
func WithAdapter(a program.Adapter) Option {
	return func(p *program.Program) { p.Adapters = append(p.Adapters, a) }
}

// WithOuterMiddleware adds middleware to the port of the contract that runs before Portico's
// own, and sees every request: see [httpapi.Mount]. Each reload of the configuration gives it
// to another engine.
func WithOuterMiddleware(handlers ...gin.HandlerFunc) Option {
	return func(p *program.Program) { p.OuterMiddleware = append(p.OuterMiddleware, handlers...) }
}

// WithMiddleware adds middleware to the port of the contract that runs between Portico's own and
// the handler. [httpapi.AddressOf] returns the route and the parameters of a request.
func WithMiddleware(handlers ...gin.HandlerFunc) Option {
	return func(p *program.Program) { p.Middleware = append(p.Middleware, handlers...) }
}

// Main runs the command that the arguments of the process name, and ends the process if the command
// fails. It returns when the command has succeeded. The first SIGINT or SIGTERM ends a command in
// order, and the second one immediately.
func Main(options ...Option) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal is no longer held back from ending the program, unless the
	// command has a use for it.
	context.AfterFunc(ctx, stop)
	self := &exec.Cmd{Args: os.Args, Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if code := Run(ctx, self, options...); code != 0 {
		stop()
		os.Exit(code)
	}
}

// Run runs the command that c describes within this process, and returns its exit code. It uses
// the arguments, the environment and the three streams of c. Tests run commands with it, since a
// process of its own takes longer to start than most commands take.
func Run(ctx context.Context, c *exec.Cmd, options ...Option) (exitCode int) {
	p := newProgram(options...)
	p.Environ = c.Environ()
	err := p.CheckNames()
	if err == nil {
		root := rootCommand(p)
		root.SetArgs(c.Args[1:])
		root.SetIn(c.Stdin)
		root.SetOut(c.Stdout)
		root.SetErr(c.Stderr)
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(c.Stderr, "portico:", err)
	if errors.As(err, new(program.CannotRun)) {
		return program.ExitCannotRun
	}
	return 1
}

func rootCommand(p *program.Program) *cobra.Command {
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
		Version:       p.Build.Version,
	}
	root.PersistentFlags().String("config", "", "YAML file with settings (or PORTICO_CONFIG; default: portico.yaml in this folder, if it is there)")
	keys := credentials.Command(p)
	keys.AddCommand(records.CredentialsImportCommand(p))
	root.AddCommand(serveCommand(p), routesCommand(p), openapiCommand(p), configCommand(p), migrateCommand(p), records.BackupCommand(p), records.RestoreCommand(p), records.EraseCommand(p), records.SeedCommand(p), records.ExportCommand(p), records.ImportCommand(p), records.FollowCommand(p), migrate.MirrorCommand(p), keys, records.IDsCommand(p), records.MappingCommand(p), client.ReadyCommand(p),
		doctor.Command(p), client.CallCommand(p), client.OAuthCommand(p), migrate.ReportCommand(p), migrate.Command(p), migrate.PlanCommand(p), versionCommand(p))
	return root
}

// versionCommand returns the command "version".
func versionCommand(p *program.Program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and date of this program",
		Long: `Print the version of this program, the commit that it was built from and its date,
the version of Go, and the platform. A program that was built from sources without
their repository does not know its commit, and its version is "dev".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.Build.Write(cmd.OutOrStdout(), "portico", asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
