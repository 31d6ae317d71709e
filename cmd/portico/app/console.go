package app

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	webconsole "github.com/portico-commerce/portico/cmd/portico/console"
	"github.com/portico-commerce/portico/config"
)

// consoleParts are the parts of the program that the console shows.
type consoleParts struct {
	program  *program
	config   *config.Config // of the start
	demo     bool
	db       *sqlstore.DB
	rules    *ruleSets
	registry *prometheus.Registry
	breakers *breakerMetrics
	ops      *ops
	scheme   func(*http.Request) string
	log      *slog.Logger
}

// newConsole returns the console of the program.
func (p *consoleParts) newConsole() (*webconsole.Console, error) {
	return webconsole.New(webconsole.Options{
		Token: p.config.OpsToken, Closed: p.program.demoPublic, Scheme: p.scheme,
		Version: p.program.version, Dialect: p.config.Dialect, Adapter: p.config.Adapter, Demo: p.demo, Log: p.log,
		Gatherer: p.registry, Ready: p.ops.ready, Breakers: p.breakers.all,
		Changed: func() []config.Row { return config.Changed(p.current().Rows()) },
	})
}

// current returns the configuration in force.
func (p *consoleParts) current() *config.Config { return p.rules.current().watchers.config }
