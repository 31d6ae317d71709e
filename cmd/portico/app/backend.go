package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
)

// A backendStore is Portico's own database together with a backend.
type backendStore struct {
	db      *sqlstore.DB
	backend replica.Backend
	adapter *replica.Adapter // serves the records of both; closing it closes the backend
}

// Close closes the backend, then the database.
func (s *backendStore) Close() error { return errors.Join(s.adapter.Close(), s.db.Close()) }

// A Backend makes a commerce system available under a name, which users give to the setting
// "adapter". Portico's own database is the local replica of its records.
type Backend struct {
	// Name is lowercase, such as "shopfiles".
	Name string
	// Settings are those of the backend. They are in the section of its name, as
	// shopfiles.folder, and so are their environment variables, as
	// PORTICO_SHOPFILES_FOLDER. Each backend has unmapped and scan_every besides, of the
	// local replica.
	Settings []config.Setting
	// Open returns the backend for settings that are valid by their kind. It should send
	// nothing to the backend, so that Portico starts while that is unavailable. Its errors
	// end the program; they should name the setting at fault.
	Open func(context.Context, *Environment) (replica.Backend, error)
}

// An Adapter makes stores available under a name, which users give to the setting
// "adapter". It holds the records of the resources that it offers whole, as the sql adapter
// does; calls for other resources are answered as methods that are not implemented.
// Credentials stay in Portico's own database.
type Adapter struct {
	// Name and Settings are as in [Backend].
	Name     string
	Settings []config.Setting
	// Open returns the adapter under the rules of [Backend.Open].
	Open func(context.Context, *Environment) (adapter.Adapter, error)
}

// An Environment is what Portico offers a backend or an adapter that it opens.
type Environment struct {
	// Settings has the values of the settings by their names in the section. A missing one
	// has its default.
	Settings map[string]string
	// Schemas describe the records, with the attributes that the configuration adds.
	Schemas *adapter.Schemas
	// IDs translates between legacy ids and those of a backend. Adapters have none.
	IDs *idmap.Cache
	// Registerer takes the backend's metrics.
	Registerer prometheus.Registerer
	// Log is the program's log. Secrets and personal data do not belong there.
	Log *slog.Logger
}

// replicaSettings are the settings of the local replica of every backend.
func replicaSettings() []config.Setting {
	return []config.Setting{
		{Name: "unmapped", Kind: config.Choice, Default: "refuse", Choices: []string{"refuse", "allocate"},
			Help: "What happens to a record of the backend without a legacy id: refuse leaves it out until portico ids import gives it one, allocate gives it the next one."},
		{Name: "scan_every", Kind: config.Duration, Default: "10s", Min: int64(time.Second), Max: int64(24 * time.Hour),
			Help: "Time between two scans for records that are new at the backend. Changes of known records are visible immediately."},
	}
}

// sections returns the settings of the database, the backends and the adapters, one
// section each.
func (p *program) sections() []config.Section {
	all := []config.Section{{Name: sqlSection, Settings: sqlSettings()}}
	for _, b := range p.backends {
		all = append(all, config.Section{Name: b.Name, Settings: slices.Concat(b.Settings, replicaSettings())})
	}
	for _, a := range p.adapters {
		all = append(all, config.Section{Name: a.Name, Settings: a.Settings})
	}
	return all
}

// checkNames checks that each section of settings has a name of its own.
func (p *program) checkNames() error {
	taken := map[string]bool{}
	for _, s := range config.Settings() {
		section, _, _ := strings.Cut(s.Name, ".")
		taken[section] = true
	}
	for _, s := range p.sections() {
		if !sectionName.MatchString(s.Name) || taken[s.Name] {
			return fmt.Errorf("no backend or adapter can be called %q: the name must be lowercase letters and digits, and neither another one's nor that of a setting or section of settings", s.Name)
		}
		taken[s.Name] = true
	}
	return nil
}

var sectionName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// backend returns the backend of that name, or nil if the adapter has none.
func (p *program) backend(name string) *Backend {
	for i := range p.backends {
		if p.backends[i].Name == name {
			return &p.backends[i]
		}
	}
	return nil
}

// adapter returns the adapter of that name, or nil if it is another kind of adapter.
func (p *program) adapter(name string) *Adapter {
	for i := range p.adapters {
		if p.adapters[i].Name == name {
			return &p.adapters[i]
		}
	}
	return nil
}

// requireOwnRecords returns an error if the records that cfg serves are not in Portico's own
// database, into which command would store them.
func (p *program) requireOwnRecords(cfg *config.Config, command string) error {
	if p.adapter(cfg.Adapter) == nil {
		return nil
	}
	return fmt.Errorf("adapter %s has stores of its own, which portico %s cannot reach: set adapter (--adapter, PORTICO_ADAPTER) to %s for Portico's own database", cfg.Adapter, command, sqlSection)
}

// open opens the adapter with its settings in cfg.
func (a *Adapter) open(ctx context.Context, cfg *config.Config, registerer prometheus.Registerer, log *slog.Logger) (adapter.Adapter, error) {
	schemas, err := storeSchemas(cfg)
	if err != nil {
		return nil, err
	}
	return a.Open(ctx, &Environment{Settings: cfg.Sections[a.Name], Schemas: schemas, Registerer: registerer, Log: log})
}

// openBackend opens the backend that cfg selects, with db as its local replica, to which clients
// write by writes.
func (p *program) openBackend(ctx context.Context, cfg *config.Config, db *sqlstore.DB, writes adapter.Adapter, registerer prometheus.Registerer, log *slog.Logger) (*backendStore, error) {
	scanInterval, err := time.ParseDuration(cfg.Sections[cfg.Adapter]["scan_every"])
	if err != nil {
		return nil, fmt.Errorf("%s.scan_every: %w", cfg.Adapter, err)
	}
	return p.joinBackend(ctx, cfg, db, replica.Options{Replica: db.Replica(), Writes: writes, ScanInterval: scanInterval, Registerer: registerer, Logger: log})
}

// joinBackend opens the backend that cfg selects, and joins it with the local replica of o,
// which is in db.
func (p *program) joinBackend(ctx context.Context, cfg *config.Config, db *sqlstore.DB, o replica.Options) (*backendStore, error) {
	var err error
	if o.Schemas, err = storeSchemas(cfg); err != nil {
		return nil, err
	}
	section := cfg.Sections[cfg.Adapter]
	o.AllocateIDs = section["unmapped"] == "allocate"
	o.Backend, err = p.backend(cfg.Adapter).Open(ctx, &Environment{
		Settings: section, Schemas: o.Schemas, IDs: idmap.NewCache(o.Replica), Registerer: o.Registerer, Log: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	records, err := replica.New(o)
	if err != nil {
		return nil, errors.Join(err, o.Backend.Close())
	}
	return &backendStore{db: db, backend: o.Backend, adapter: records}, nil
}

// joinForImport joins the backend that cfg selects with a local replica into which
// an import or a follower stores records. It does not scan: a scan would take over what the old shop
// has not brought yet.
func (p *program) joinForImport(ctx context.Context, cfg *config.Config, db *sqlstore.DB, local *sqlstore.Adapter, log *slog.Logger) (*backendStore, error) {
	return p.joinBackend(ctx, cfg, db, replica.Options{Replica: &sqlstore.Replica{Adapter: local}, Registerer: prometheus.NewRegistry(), Logger: log})
}

// openBackendStore opens the database and the backend of cfg, for commands. It fails if the
// configured adapter has no backend.
func (p *program) openBackendStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (*backendStore, error) {
	if p.backend(cfg.Adapter) == nil {
		return nil, fmt.Errorf("adapter is %s, which has no backend: set adapter (--adapter, PORTICO_ADAPTER) to %s", cfg.Adapter, restSection)
	}
	db, err := openStore(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	store, err := p.openBackend(ctx, cfg, db, db.Adapter(), prometheus.NewRegistry(), log)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return store, nil
}

// servedRecords are the records of an adapter, opened to serve clients.
type servedRecords struct {
	adapter.Adapter
	// trial fails as Adapter would fail to create a record, and stores nothing; nil: it is not
	// offered.
	trial adapter.Adapter
	close func() error // does not close the database
}

// openAdapter opens the adapter of cfg. If mirrors, clients' writes are entered in the outbox.
func (p *program) openAdapter(ctx context.Context, cfg *config.Config, db *sqlstore.DB, mirrors bool, registerer prometheus.Registerer, log *slog.Logger) (*servedRecords, error) {
	if known := p.adapter(cfg.Adapter); known != nil {
		records, err := known.open(ctx, cfg, registerer, log)
		if err != nil {
			return nil, err
		}
		return &servedRecords{Adapter: records, close: records.Close}, nil
	}
	own, trial := db.Adapter(), db.Adapter().Trial()
	if mirrors {
		own = own.Mirrored()
	}
	if p.backend(cfg.Adapter) == nil {
		return &servedRecords{own, trial, func() error { return nil }}, nil
	}
	store, err := p.openBackend(ctx, cfg, db, own, registerer, log)
	if err != nil {
		return nil, err
	}
	return &servedRecords{store.adapter, backendTrial{trial, store.backend.Resources()}, store.adapter.Close}, nil
}

// A backendTrial tries creates in a local replica. Those of resources of which the backend owns
// something and takes no new records fail, as they would there.
type backendTrial struct {
	adapter.Adapter
	resources []replica.BackendResource
}

// Store returns the store of a resource.
func (t backendTrial) Store(r adapter.Resource) (adapter.Store, error) {
	for _, owned := range t.resources {
		if owned.Resource == r && !owned.Creates {
			return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "create " + string(r), Err: errNotCreatable}
		}
	}
	return t.Adapter.Store(r)
}

var errNotCreatable = errors.New("the backend accepts no new records of this resource")
