package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/tracing/otlp"
	"github.com/portico-commerce/portico/cache"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/httpapi"
	"github.com/portico-commerce/portico/mapping/openapi"
)

// serveCommand returns the command "serve".
func serveCommand(p *program.Program) *cobra.Command {
	var demoStore, demoPublic bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the contract",
		Long: `Serve the contract on one port, and a console, metrics, health and readiness on another.

With --demo Portico serves the demo data set from a temporary store: try anything,
and undo it with POST /demo/reset on the operators' port. Without --demo Portico
serves the configured store, by default the SQLite file portico.db.

SIGHUP, or POST /reload on the operators' port, reads the settings again. "portico
config" shows which of them can change without a restart.

Existing Magento 1 clients expect the replies of the original: use --dialect magento
for them.`,
		Example: `  portico serve --demo
  portico serve --config portico.yaml
  PORTICO_SQL_DSN=sqlite:/var/lib/portico/store.db portico serve --dialect magento`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			live := newLiveConfig(func() (*config.Config, error) { return p.LoadConfig(cmd) })
			cfg, err := live.load()
			if err != nil {
				return err
			}
			live.level.Set(cfg.LogLevel)
			if cfg.OpsPprof {
				offerMemoryProfile()
			}
			log, flush := program.NewBufferedLogger(cmd.ErrOrStderr(), cfg, live.level)
			defer flush() // also if this goroutine panics
			if demoStore {
				p.DemoPublic = demoPublic
				return serveDemo(cmd.Context(), p, cmd.OutOrStdout(), cfg, live, demoPublic, log)
			}
			db, err := program.OpenStore(cmd.Context(), cfg, log)
			if err != nil {
				return fmt.Errorf("%w\nset sql.dsn (PORTICO_SQL_DSN) to the database to use, and sql.media_dir (PORTICO_SQL_MEDIA_DIR) to the folder of its images\n\"portico doctor\" says more", err)
			}
			if err := program.CheckSecretKey(cmd.Context(), db.Credentials()); err != nil {
				return errors.Join(err, db.Close())
			}
			if err := program.ClaimMedia(cmd.Context(), db, log); err != nil {
				return errors.Join(err, db.Close())
			}
			if err := warnIfEmpty(cmd.Context(), cfg, db, log); err != nil {
				return errors.Join(err, db.Close())
			}
			return serve(cmd.Context(), p, cmd.OutOrStdout(), cfg, live, db, nil, log)
		},
	}
	p.AddSettingFlags(cmd, p.AllSettings()...)
	cmd.Flags().BoolVar(&demoStore, "demo", false, "serve the demo data set from a temporary store that keeps nothing")
	cmd.Flags().BoolVar(&demoPublic, "demo-public", false, "let --demo listen on an address that others can reach, although its credentials are public")
	return cmd
}

// warnIfEmpty logs how to fill the store if it holds no records. It does nothing for a backend,
// whose records a scan imports.
func warnIfEmpty(ctx context.Context, cfg *config.Config, db *sqlstore.DB, log *slog.Logger) error {
	if cfg.Adapter != program.SQLSection {
		return nil
	}
	empty, err := db.Empty(ctx)
	if err == nil && empty {
		log.Warn("the store is empty: fill it with portico seed or portico import, or try portico serve --demo")
	}
	return err
}

// serveDemo serves the demo data set from a database in a temporary folder, and removes
// the folder at the end.
func serveDemo(ctx context.Context, p *program.Program, out io.Writer, cfg *config.Config, live *liveConfig, public bool, log *slog.Logger) (err error) {
	for _, listen := range []string{cfg.Listen, cfg.OpsListen} {
		if !public && !config.Loopback(listen) {
			return fmt.Errorf("--demo refuses to listen on %s: its credentials are public\nadd --demo-public if everybody may change this store, or use a loopback address", listen)
		}
	}
	if cfg.Adapter != program.SQLSection {
		return fmt.Errorf("--demo has a store of its own and needs no adapter %s: leave --demo out, or set adapter (--adapter, PORTICO_ADAPTER) to %s", cfg.Adapter, program.SQLSection)
	}
	data, err := dataset.Load()
	if err != nil {
		return err
	}
	data.Stock = program.StockDefaults(cfg.Stock)
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "portico-demo-") // only its owner may enter
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := openDemo(ctx, dir, data, schemas, cfg.Tracing.Endpoint != "")
	if err != nil {
		return err
	}
	return serve(ctx, p, out, cfg, live, db, data, log)
}

// openDemo creates a database with the demo data set in dir. A nil schemas means
// adapter.NewSchemas. With trace, the SQL statements of traced requests are traced, too.
func openDemo(ctx context.Context, dir string, data *adapter.Dataset, schemas *adapter.Schemas, trace bool) (*sqlstore.DB, error) {
	db, err := sqlstore.Open(ctx, sqlstore.Options{
		DSN: "sqlite:" + filepath.Join(dir, "demo.db"), MediaDir: filepath.Join(dir, "media"), Migrate: true, Schemas: schemas, Trace: trace,
	})
	if err != nil {
		return nil, err
	}
	if err := db.Load(ctx, data, nil); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// serve serves the contract and the operators' port until ctx ends. It then drains, and
// waits for requests in flight unless another signal arrives. live reloads the configuration
// until then. It closes db.
func serve(ctx context.Context, p *program.Program, out io.Writer, cfg *config.Config, live *liveConfig, db *sqlstore.DB, data *adapter.Dataset, log *slog.Logger) (err error) {
	defer func() { err = errors.Join(err, db.Close()) }()
	program.LimitMemory(p.Getenv, cfg)
	a, err := newApp(ctx, p, cfg, db, data, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if a.follower != nil {
		defer startFollower(ctx, cfg, a.follower, log)()
	}
	defer startMediaCleanup(ctx, db, log)()
	defer startMirroring(context.WithoutCancel(ctx), a)() // until the last request has ended
	reloads := newReloader(live, a, cfg, log)
	a.ops.reload = reloads.reload
	ports, err := openPorts(ctx, cfg, a, log)
	if err != nil {
		return err
	}
	if data != nil {
		opsAddress := program.DialAddress(ports.opsListener.Addr())
		a.landing.SetDemo(func(base string) openapi.LandingDemo {
			return openapi.LandingDemo{Console: consoleURL(cfg, opsAddress), Examples: demoExamples(cfg, base, opsAddress, data)}
		}, a.ops.topics()...)
	}
	printStartup(p, out, cfg, ports.contractListener.Addr(), ports.opsListener.Addr(), data)
	about := log.With(programAttributes(p, cfg, data != nil)...)
	about.Info("started", "listen", ports.contractListener.Addr().String(), "ops", ports.opsListener.Addr().String(), "connections", a.connections.Limit(), "routes", strings.Join(program.DescribeRoutes(cfg.Routes), "; "))
	started := time.Now()

	failed := ports.serve()
	defer reloads.onHangup(live.hangup)()
	select {
	case <-ctx.Done():
	case err = <-failed:
	}

	// From here on a signal ends the draining and closes the connections that are left. The
	// signal after that ends the program immediately.
	forced, release := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer release()
	context.AfterFunc(forced, release)
	a.ops.draining.Store(true)
	if delay := cfg.Server.DrainDelay; err == nil && delay > 0 {
		log.Info("draining", "for", delay)
		if err = waitDraining(forced, delay, failed); err == nil {
			err = ports.ignoreHandshakes(forced, failed, log)
		}
	}
	about.Info("stopping", "wait", cfg.Server.ShutdownTimeout, "ran", time.Since(started).Round(time.Second), "routes", strings.Join(program.DescribeRoutes(reloads.inForce().Routes), "; "))
	err = errors.Join(err, ports.shutDown(forced, cfg, a.traces, log))
	if forced.Err() != nil {
		err = errors.Join(err, errors.New("a second signal ended the program before its requests were finished"))
	}
	return err
}

// ports are the servers of the two ports, with their listeners.
type ports struct {
	contract, ops                 *http.Server
	connections                   *httpapi.Connections // of the contract's port
	contractListener, opsListener net.Listener
}

// openPorts listens on both ports, and serves nothing yet.
func openPorts(ctx context.Context, cfg *config.Config, a *app, log *slog.Logger) (s *ports, err error) {
	s = &ports{contract: newServer(cfg, a.contract, log), connections: a.connections}
	s.contract.ConnContext, s.contract.ConnState = a.connections.Context, a.connections.State
	if cfg.Server.TLSCert != "" {
		reloader, err := program.NewCertificateReloader(cfg.Server.TLSCert, cfg.Server.TLSKey, log)
		if err != nil {
			return nil, err
		}
		program.RegisterCertificateExpiry(reloader, a.ops.registry)
		s.contract.TLSConfig = reloader.TLSConfig()
	}
	s.contractListener, err = httpapi.Listen(ctx, cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w\nset listen (--listen, PORTICO_LISTEN) to a free address; \"portico doctor\" says who uses it", err)
	}
	s.opsListener, err = httpapi.Listen(ctx, cfg.OpsListen)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w\nset ops.listen (--ops-listen, PORTICO_OPS_LISTEN) to a free address; \"portico doctor\" says who uses it", err), s.contractListener.Close())
	}
	a.ops.contractAddress = program.DialAddress(s.contractListener.Addr())
	s.ops = newServer(cfg, a.ops.handler(), log)
	if a.ops.console != nil {
		s.ops.RegisterOnShutdown(a.ops.console.Close) // or its streams would hold up the end
	}
	return s, nil
}

// serve serves both ports. When a server ends, it sends its error to failed.
func (s *ports) serve() (failed <-chan error) {
	ended := make(chan error, 2)
	for server, listener := range map[*http.Server]net.Listener{s.contract: s.connections.Listener(s.contractListener), s.ops: s.opsListener} {
		go func() { ended <- serveListener(server, listener) }()
	}
	return ended
}

// ignoreHandshakes lets handshakes with the contract's port end, and drops new ones.
func (s *ports) ignoreHandshakes(ctx context.Context, failed <-chan error, log *slog.Logger) error {
	if err := httpapi.IgnoreHandshakes(s.contractListener); err != nil {
		log.Warn("connections that are made while the port closes may be reset", "error", err)
		return nil
	}
	return waitDraining(ctx, httpapi.HandshakeTime, failed)
}

// waitDraining waits until the time is over or ctx ends. It returns the error of a server that fails before.
func waitDraining(ctx context.Context, delay time.Duration, failed <-chan error) error {
	select {
	case <-time.After(delay):
	case <-ctx.Done():
	case err := <-failed:
		return err
	}
	return nil
}

// shutDown waits for the requests of both ports, and sends the last traces, for at most
// server.shutdown_timeout.
func (s *ports) shutDown(ctx context.Context, cfg *config.Config, traces *otlp.Provider, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, cfg.Server.ShutdownTimeout)
	defer cancel()
	err := errors.Join(shutDown(ctx, s.contract, cfg), shutDown(ctx, s.ops, cfg))
	s.connections.Wait(ctx)
	if traces != nil {
		if lost := traces.Close(ctx); lost != nil {
			log.Warn("stopping", "error", lost)
		}
	}
	return err
}

// programAttributes returns the log attributes of the program for the lines about start and stop:
// its version, dialect, adapter, database and Redis.
func programAttributes(p *program.Program, cfg *config.Config, demoStore bool) []any {
	database := "temporary"
	if !demoStore {
		database = engine.Location(cfg.Sections[program.SQLSection]["dsn"])
	}
	about := []any{"version", p.Build.Version, "dialect", cfg.Dialect, "adapter", cfg.Adapter, "database", database}
	if cfg.Cache.RedisURL != "" {
		about = append(about, "redis", cache.Location(cfg.Cache.RedisURL))
	}
	return about
}

// serveListener serves the connections of listener, over TLS if server has a TLS
// configuration.
func serveListener(server *http.Server, listener net.Listener) error {
	if server.TLSConfig != nil {
		return server.ServeTLS(listener, "", "")
	}
	return server.Serve(listener)
}

// shutDown waits for the requests of server until ctx ends, then closes the remaining
// connections.
func shutDown(ctx context.Context, server *http.Server, cfg *config.Config) error {
	switch err := server.Shutdown(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.Join(fmt.Errorf("requests were cut off after server.shutdown_timeout, %s", cfg.Server.ShutdownTimeout), server.Close())
	case errors.Is(err, context.Canceled):
		return server.Close()
	default:
		return err
	}
}

// maxHeaderBytes is the maximum size of a request's headers without its query string, in
// bytes.
const maxHeaderBytes = 32 << 10

// newServer returns a server of handler with the configured limits and timeouts.
func newServer(cfg *config.Config, handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		MaxHeaderBytes: int(cfg.Limits.QueryBytes) + maxHeaderBytes,
		// Limits the memory that one connection can take with unread bodies.
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 64, MaxReceiveBufferPerConnection: 128 << 10, MaxReceiveBufferPerStream: 64 << 10},
		Handler:           handler,
		ReadHeaderTimeout: cfg.Server.ReadHeaderTimeout,
		ReadTimeout:       cfg.Server.ReadTimeout,
		WriteTimeout:      cfg.Server.WriteTimeout,
		IdleTimeout:       cfg.Server.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
