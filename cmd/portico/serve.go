package main

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
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
)

func serveCommand() *cobra.Command {
	var demoStore, demoPublic bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the contract",
		Long: `Serve the contract on one port and metrics, health and readiness on another.

With --demo the store holds the demo data set and keeps nothing: try anything,
and take it back with POST /demo/reset on the operators' port. Without it the
store is the one of the configuration, by default a SQLite file portico.db.

Existing Magento 1 clients expect what the original put on the wire: give them
--dialect magento.`,
		Example: `  portico serve --demo
  portico serve --config portico.yaml
  PORTICO_SQL_DSN=sqlite:/var/lib/portico/store.db portico serve --dialect magento`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			log := newLogger(cmd.ErrOrStderr(), cfg)
			if demoStore {
				return serveDemo(cmd.Context(), cmd.OutOrStdout(), cfg, demoPublic, log)
			}
			db, err := openStore(cmd.Context(), cfg, log)
			if err != nil {
				return fmt.Errorf("%w\nset sql.dsn (PORTICO_SQL_DSN) to the database to use, and sql.media_dir (PORTICO_SQL_MEDIA_DIR) to the folder of its images", err)
			}
			if err := checkSecretKey(cmd.Context(), db.Credentials()); err != nil {
				return errors.Join(err, db.Close())
			}
			return serve(cmd.Context(), cmd.OutOrStdout(), cfg, db, nil, log)
		},
	}
	addSettingFlags(cmd, allSettings()...)
	cmd.Flags().BoolVar(&demoStore, "demo", false, "serve the demo data set from a temporary store that keeps nothing")
	cmd.Flags().BoolVar(&demoPublic, "demo-public", false, "let --demo listen on an address others can reach, although its credentials are public")
	return cmd
}

func newLogger(w io.Writer, cfg *config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// serveDemo serves the demo data set from a database in a private folder, which
// is removed at the end.
func serveDemo(ctx context.Context, out io.Writer, cfg *config.Config, public bool, log *slog.Logger) (err error) {
	for _, listen := range []string{cfg.Listen, cfg.OpsListen} {
		if !public && !config.Loopback(listen) {
			return fmt.Errorf("--demo refuses to listen on %s: its credentials are public\nadd --demo-public if everybody may change this store, or use a loopback address", listen)
		}
	}
	if cfg.Adapter != sqlSection {
		return fmt.Errorf("--demo has a store of its own and needs no adapter %s: leave --demo out, or set adapter (--adapter, PORTICO_ADAPTER) to %s", cfg.Adapter, sqlSection)
	}
	data, err := demo.Load()
	if err != nil {
		return err
	}
	data.Stock = stockDefaults(cfg.Stock)
	schemas, err := storeSchemas(cfg)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "portico-demo-") // only its owner may enter
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := openDemo(ctx, dir, data, schemas)
	if err != nil {
		return err
	}
	return serve(ctx, out, cfg, db, data, log)
}

// openDemo makes a database of the demo data set in dir, for records of schemas, nil for
// those of adapter.NewSchemas.
func openDemo(ctx context.Context, dir string, data *adapter.Dataset, schemas *adapter.Schemas) (*sqlstore.DB, error) {
	db, err := sqlstore.Open(ctx, sqlstore.Options{
		DSN: "sqlite:" + filepath.Join(dir, "demo.db"), MediaDir: filepath.Join(dir, "media"), Migrate: true, Schemas: schemas,
	})
	if err != nil {
		return nil, err
	}
	if err := db.Load(ctx, data, nil); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// otherMemory is what the program takes besides what settings bound, in bytes. Beyond the
// sum the garbage collector works harder, so that what attackers leave behind does not
// add up.
const otherMemory = 32 << 20

// serve serves the contract and the operators' port until ctx ends, then drains and
// lets the requests in flight finish, unless a signal comes meanwhile. It closes db.
func serve(ctx context.Context, out io.Writer, cfg *config.Config, db *sqlstore.DB, data *adapter.Dataset, log *slog.Logger) (err error) {
	defer func() { err = errors.Join(err, db.Close()) }()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(cfg.Limits.RequestsBytes + cfg.Limits.RepliesBytes + cfg.Cache.MemoryBytes + otherMemory)
	}
	a, err := newApp(cfg, db, data, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	contractServer := newServer(cfg, a.connections.Handler(a.ops.closing(a.contract)), log)
	contractServer.ConnContext, contractServer.ConnState = a.connections.Context, a.connections.State
	if cfg.Server.TLSCert != "" {
		pair, err := newCertificate(cfg.Server.TLSCert, cfg.Server.TLSKey, log)
		if err != nil {
			return err
		}
		contractServer.TLSConfig = pair.tlsConfig()
	}
	contractListener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("%w\nset listen (--listen, PORTICO_LISTEN) to a free address", err)
	}
	opsListener, err := net.Listen("tcp", cfg.OpsListen)
	if err != nil {
		return errors.Join(fmt.Errorf("%w\nset ops.listen (--ops-listen, PORTICO_OPS_LISTEN) to a free address", err), contractListener.Close())
	}
	opsServer := newServer(cfg, a.ops.handler(), log)
	announce(out, cfg, contractListener.Addr(), opsListener.Addr(), data)

	contractListener = a.connections.Listener(netutil.LimitListener(contractListener, cfg.Server.MaxConnections))
	failed := make(chan error, 2)
	for server, listener := range map[*http.Server]net.Listener{contractServer: contractListener, opsServer: opsListener} {
		go func() { failed <- accept(server, listener) }()
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}

	// From here on a signal ends the draining and cuts off what is left, and the one
	// after it ends the program where it stands.
	hurry, release := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer release()
	context.AfterFunc(hurry, release)
	a.ops.draining.Store(true)
	if delay := cfg.Server.DrainDelay; err == nil && delay > 0 {
		log.Info("draining", "for", delay)
		select {
		case <-time.After(delay):
		case <-hurry.Done():
		case err = <-failed:
		}
	}
	log.Info("stopping", "wait", cfg.Server.ShutdownTimeout)
	stopping, cancel := context.WithTimeout(hurry, cfg.Server.ShutdownTimeout)
	defer cancel()
	err = errors.Join(err, shutDown(stopping, contractServer, cfg), shutDown(stopping, opsServer, cfg))
	if hurry.Err() != nil {
		err = errors.Join(err, errors.New("a second signal ended the program before its requests were finished"))
	}
	return err
}

// accept serves what reaches listener, over TLS if server has a certificate.
func accept(server *http.Server, listener net.Listener) error {
	if server.TLSConfig != nil {
		return server.ServeTLS(listener, "", "")
	}
	return server.Serve(listener)
}

// shutDown lets the requests of server finish until ctx ends, and cuts off what
// is left then.
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

// maxHeaders is the greatest size of a request's headers besides its query string, in
// bytes.
const maxHeaders = 32 << 10

func newServer(cfg *config.Config, handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		MaxHeaderBytes: int(cfg.Limits.QueryBytes) + maxHeaders,
		// What a connection may make the server hold of bodies that nobody has read yet.
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 64, MaxReceiveBufferPerConnection: 128 << 10, MaxReceiveBufferPerStream: 64 << 10},
		Handler:           handler,
		ReadHeaderTimeout: cfg.Server.ReadHeaderTimeout,
		ReadTimeout:       cfg.Server.ReadTimeout,
		WriteTimeout:      cfg.Server.WriteTimeout,
		IdleTimeout:       cfg.Server.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
