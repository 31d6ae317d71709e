package program

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/buildinfo"
)

// A Program holds the parts of a process of portico that all commands share.
type Program struct {
	Build      buildinfo.Info
	Environ    []string // "NAME=value"
	Backends   []Backend
	Adapters   []Adapter // in Go, without the built-in ones
	DemoPublic bool      // others may reach the demo store
	// OuterMiddleware and Middleware are gin middleware of the contract's port, before and
	// after Portico's own.
	OuterMiddleware, Middleware []gin.HandlerFunc

	listed []config.Setting // the result of Settings; nil before its first call
	find   sync.Once        // sets found
	found  string           // file of the working folder with settings; "" if there is none
}

// New returns the program of this process with its built-in backends.
func New() *Program {
	return &Program{Build: buildinfo.Read(), Environ: os.Environ(), Backends: []Backend{restBackend()}}
}

// Getenv returns the value of an environment variable, or "" if it is not set.
func (p *Program) Getenv(name string) (value string) {
	for _, entry := range p.Environ {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			value = text
		}
	}
	return value
}

// A Backend makes a commerce system available under a name, which users give to the setting
// "adapter". Portico's own database is the local replica of its records.
type Backend struct {
	// Name is lowercase, such as "shopfiles".
	Name string
	// Settings are the settings of the backend. Their section has the name of the backend, as in
	// shopfiles.folder, and so do their environment variables, as in PORTICO_SHOPFILES_FOLDER. The
	// section also has the settings unmapped and scan_every of the local replica.
	Settings []config.Setting
	// Open returns the backend for settings that are valid by their kind. It should send
	// nothing to the backend, so that Portico starts while that is unavailable. Its errors
	// end the program; they should name the setting at fault.
	Open func(context.Context, *Environment) (replica.Backend, error)
}

// An Adapter makes stores available under a name, which users give to the setting "adapter". It
// holds all attributes of the records of its resources, like the sql adapter; calls for other
// resources are answered as methods that are not implemented. Credentials stay in Portico's own
// database.
type Adapter struct {
	// Name and Settings are as in [Backend].
	Name     string
	Settings []config.Setting
	// Open returns the adapter under the rules of [Backend.Open].
	Open func(context.Context, *Environment) (adapter.Adapter, error)
}

// An Environment holds the services that Portico offers a backend or an adapter that it opens.
type Environment struct {
	// Settings has the values of the settings by their names in the section. A missing one
	// has its default.
	Settings map[string]string
	// Schemas describe the records, with the attributes that the configuration adds.
	Schemas *adapter.Schemas
	// IDs translates between legacy ids and backend ids. It is nil for an adapter.
	IDs *idmap.Cache
	// Registerer takes the backend's metrics.
	Registerer prometheus.Registerer
	// Log is the program's log. Secrets and personal data do not belong there.
	Log *slog.Logger
}

// Backend returns the backend of that name, or nil if the adapter has none.
func (p *Program) Backend(name string) *Backend {
	for i := range p.Backends {
		if p.Backends[i].Name == name {
			return &p.Backends[i]
		}
	}
	return nil
}

// Adapter returns the adapter of that name, or nil if it is another kind of adapter.
func (p *Program) Adapter(name string) *Adapter {
	for i := range p.Adapters {
		if p.Adapters[i].Name == name {
			return &p.Adapters[i]
		}
	}
	return nil
}

// RequireOwnRecords returns an error if the records that cfg serves are not in Portico's own
// database, into which command would store them.
func (p *Program) RequireOwnRecords(cfg *config.Config, command string) error {
	if p.Adapter(cfg.Adapter) == nil {
		return nil
	}
	return fmt.Errorf("adapter %s has stores of its own, which portico %s cannot reach: set adapter (--adapter, PORTICO_ADAPTER) to %s for Portico's own database", cfg.Adapter, command, SQLSection)
}

// OpenAdapter opens an adapter with its settings in cfg, and checks what it returns (see [adapter.Checked]).
func OpenAdapter(ctx context.Context, a *Adapter, cfg *config.Config, registerer prometheus.Registerer, log *slog.Logger) (adapter.Adapter, error) {
	schemas, err := Schemas(cfg)
	if err != nil {
		return nil, err
	}
	opened, err := a.Open(ctx, &Environment{Settings: cfg.Sections[a.Name], Schemas: schemas, Registerer: registerer, Log: log})
	if err != nil {
		return nil, err
	}
	return adapter.Checked(opened, log), nil
}
