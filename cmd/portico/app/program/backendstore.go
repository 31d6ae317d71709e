package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/config"
)

// A BackendStore is Portico's own database together with a backend.
type BackendStore struct {
	db      *sqlstore.DB
	Backend replica.Backend
	Adapter *replica.Adapter // serves the records of both; closing it closes the backend
}

// Close closes the backend, then the database.
func (s *BackendStore) Close() error { return errors.Join(s.Adapter.Close(), s.db.Close()) }

// ChangeBehindCaches runs change, which changes the ID map or the records while other processes
// run.
func (s *BackendStore) ChangeBehindCaches(ctx context.Context, change func() error) error {
	return s.db.Changes().Around(ctx, change)
}

// OpenBackend opens the backend that cfg selects, with db as its local replica. Clients' writes go
// through writes.
func (p *Program) OpenBackend(ctx context.Context, cfg *config.Config, db *sqlstore.DB, writes replica.Writes, registerer prometheus.Registerer, log *slog.Logger) (*BackendStore, error) {
	scanInterval, err := time.ParseDuration(cfg.Sections[cfg.Adapter]["scan_every"])
	if err != nil {
		return nil, fmt.Errorf("%s.scan_every: %w", cfg.Adapter, err)
	}
	return p.joinBackend(ctx, cfg, db, replica.Options{Replica: db.Replica(), Writes: writes, Changed: db.Changes().Changed, ScanInterval: scanInterval, Registerer: registerer, Logger: log})
}

// joinBackend opens the backend that cfg selects, and joins it with the local replica of o,
// which is in db.
func (p *Program) joinBackend(ctx context.Context, cfg *config.Config, db *sqlstore.DB, o replica.Options) (*BackendStore, error) {
	var err error
	if o.Schemas, err = Schemas(cfg); err != nil {
		return nil, err
	}
	section := cfg.Sections[cfg.Adapter]
	o.AllocateIDs = section["unmapped"] == "allocate"
	o.Backend, err = p.Backend(cfg.Adapter).Open(ctx, &Environment{
		Settings: section, Schemas: o.Schemas, IDs: idmap.NewCache(o.Replica), Registerer: o.Registerer, Log: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	records, err := replica.New(o)
	if err != nil {
		return nil, errors.Join(err, o.Backend.Close())
	}
	return &BackendStore{db: db, Backend: o.Backend, Adapter: records}, nil
}

// AskBackend asks a backend for a record that does not exist, which takes the credentials, and returns the
// resource that it asked for: "" if the backend owns none.
func AskBackend(ctx context.Context, backend replica.Backend) (asked adapter.Resource, err error) {
	for _, r := range backend.Resources() {
		if r.Resource == r.Root {
			const noRecord = "portico-probe"
			if _, err = backend.Fetch(ctx, r.Root, []string{noRecord}); adapter.KindOf(err) == adapter.NotFound {
				err = nil
			}
			return r.Root, err
		}
	}
	return "", nil
}

// CheckLogin fails if the backend that cfg selects refuses the credentials: the store would be empty. A
// backend that does not answer is no reason to fail, because it may come back.
func CheckLogin(ctx context.Context, cfg *config.Config, backend replica.Backend) error {
	ctx, cancel := context.WithTimeout(ctx, cfg.Upstream.Timeout)
	defer cancel()
	asked, err := AskBackend(ctx, backend)
	if !errors.Is(err, reststore.ErrRefused) {
		return nil
	}
	return fmt.Errorf("the backend refuses Portico when it is asked for %s: %w\ncorrect the section %s, such as rest.url, rest.user and rest.secret, so that they name a user who may read everything; \"portico doctor\" says more", asked, err, cfg.Adapter)
}

// JoinForImport joins the backend that cfg selects with a local replica into which an import or a
// follower stores records. It does not scan: a scan would import records that the legacy store has
// not delivered yet.
func (p *Program) JoinForImport(ctx context.Context, cfg *config.Config, db *sqlstore.DB, local *sqlstore.RecordAdapter, log *slog.Logger) (*BackendStore, error) {
	records := db.Replica()
	records.RecordAdapter = local
	return p.joinBackend(ctx, cfg, db, replica.Options{Replica: records, Changed: db.Changes().Changed, Registerer: prometheus.NewRegistry(), Logger: log})
}

// OpenBackendStore opens the database and the backend of cfg, for commands. It fails if the
// configured adapter has no backend.
func (p *Program) OpenBackendStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (*BackendStore, error) {
	if p.Backend(cfg.Adapter) == nil {
		return nil, fmt.Errorf("adapter is %s, which has no backend: set adapter (--adapter, PORTICO_ADAPTER) to %s", cfg.Adapter, RESTSection)
	}
	db, err := OpenStore(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	store, err := p.OpenBackend(ctx, cfg, db, db.Adapter(), prometheus.NewRegistry(), log)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return store, nil
}
