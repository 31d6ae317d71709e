package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// servedRecords are the records of an adapter, opened to serve clients.
type servedRecords struct {
	adapter.Adapter
	// trial fails if Adapter would fail to create a record, and stores nothing; nil: not offered.
	trial adapter.Adapter
	close func() error // does not close the database
}

// openAdapter opens the adapter of cfg. With mirrors, clients' writes are added to the outbox.
func openAdapter(ctx context.Context, p *program.Program, cfg *config.Config, db *sqlstore.DB, mirrors bool, registerer prometheus.Registerer, log *slog.Logger) (*servedRecords, error) {
	if known := p.Adapter(cfg.Adapter); known != nil {
		records, err := program.OpenAdapter(ctx, known, cfg, registerer, log)
		if err != nil {
			return nil, err
		}
		return &servedRecords{Adapter: records, close: records.Close}, nil
	}
	own, trial := db.Adapter(), db.Adapter().Trial()
	if mirrors {
		own = own.Mirrored()
	}
	if p.Backend(cfg.Adapter) == nil {
		return &servedRecords{own, trial, func() error { return nil }}, nil
	}
	store, err := p.OpenBackend(ctx, cfg, db, own, registerer, log)
	if err != nil {
		return nil, err
	}
	if err := program.CheckLogin(ctx, cfg, store.Backend); err != nil {
		return nil, errors.Join(err, store.Adapter.Close())
	}
	return &servedRecords{store.Adapter, backendTrial{trial, store.Backend.Resources()}, store.Adapter.Close}, nil
}

// A backendTrial tries creates in a local replica. A create fails, as in the backend, if the
// backend owns attributes of the resource and accepts no new records.
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
