package memstore

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/crypto/bcrypt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/rules/imports"
)

// Options are the settings of an adapter.
type Options struct {
	// Schemas describe the records; nil means [adapter.NewSchemas].
	Schemas *adapter.Schemas
}

// An Adapter holds a shop in memory. It implements [adapter.Adapter], [adapter.Importer],
// [adapter.Noter] and [adapter.Exporter].
type Adapter struct {
	db     *database
	stores map[adapter.Resource]adapter.Store
}

var (
	_ adapter.Adapter  = (*Adapter)(nil)
	_ adapter.Importer = (*Adapter)(nil)
	_ adapter.Noter    = (*Adapter)(nil)
	_ adapter.Exporter = (*Adapter)(nil)
)

// New returns an adapter without records.
func New(o Options) *Adapter {
	if o.Schemas == nil {
		o.Schemas = adapter.NewSchemas()
	}
	db := &database{schemas: o.Schemas, writing: make(chan struct{}, 1)}
	db.current.Store(newState(o.Schemas))
	readers := map[adapter.Resource]rules.Reader{}
	for _, r := range adapter.Resources() {
		readers[r] = reader{db, o.Schemas.Of(r)}
	}
	return &Adapter{db, rules.Stores(db, readers)}
}

// Name returns "memory".
func (a *Adapter) Name() string { return "memory" }

// Store returns the store of a resource. Kinds: Unsupported.
func (a *Adapter) Store(r adapter.Resource) (adapter.Store, error) {
	if store, ok := a.stores[r]; ok {
		return store, nil
	}
	return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "store " + string(r)}
}

// Ping fails after Close. Kinds: Unavailable.
func (a *Adapter) Ping(ctx context.Context) error {
	_, err := a.db.read(ctx, "ping")
	return err
}

// Close waits for a running write and discards all records. Later calls fail with kind
// Unavailable.
func (a *Adapter) Close() error {
	a.db.writing <- struct{}{}
	defer a.db.unlock()
	a.db.current.Store(nil)
	return nil
}

// A Snapshot is the whole content of an adapter at one moment. It may be restored any
// number of times, also in other adapters with the same schemas.
type Snapshot struct {
	schemas *adapter.Schemas
	state   *state
}

// Snapshot returns the current content of the adapter. It copies nothing. Kinds:
// Unavailable.
func (a *Adapter) Snapshot() (Snapshot, error) {
	s, err := a.db.read(context.Background(), "snapshot")
	return Snapshot{a.db.schemas, s}, err
}

// Restore replaces the content of the adapter, after a running write has ended. It copies
// nothing. Keys that were used since are used again. Kinds: Invalid for a snapshot of
// records with other schemas; Unavailable.
func (a *Adapter) Restore(ctx context.Context, s Snapshot) error {
	const op = "restore"
	if s.schemas != a.db.schemas {
		return &adapter.Error{Kind: adapter.Invalid, Op: op, Err: errSchemas}
	}
	if _, err := a.db.lock(ctx, op); err != nil {
		return err
	}
	defer a.db.unlock()
	a.db.current.Store(s.state)
	return nil
}

var (
	errClosed  = errors.New("the adapter is closed")
	errSchemas = errors.New("the snapshot is of records with other schemas")
)

// A database holds the current state. Its methods are safe for concurrent use. It
// implements [rules.Database].
type database struct {
	schemas *adapter.Schemas
	current atomic.Pointer[state] // nil after Close
	writing chan struct{}         // a lock: holds a value while a write runs
}

// read returns the current state.
func (db *database) read(ctx context.Context, op string) (*state, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := db.current.Load()
	if s == nil {
		return nil, &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: errClosed}
	}
	return s, nil
}

// lock waits until no other write runs, and returns the current state. Unless it fails,
// the caller must call unlock.
func (db *database) lock(ctx context.Context, op string) (*state, error) {
	select {
	case db.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := db.read(ctx, op)
	if err != nil {
		db.unlock()
	}
	return s, err
}

func (db *database) unlock() { <-db.writing }

// Schemas returns the schemas of the records.
func (db *database) Schemas() *adapter.Schemas { return db.schemas }

// Write runs f on a new version of the current state, which becomes the current one if f
// returns nil and ctx has not ended. Writes run one after the other.
func (db *database) Write(ctx context.Context, op string, f func(rules.Tx) error) error {
	present, err := db.lock(ctx, op)
	if err != nil {
		return err
	}
	defer db.unlock()
	next := present.next()
	err = f(tx{next})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	db.current.Store(next)
	return nil
}

var errNotEmpty = errors.New("there are records already")

// Load fills an adapter without records with a data set: its records and the passwords of
// its customers. It leaves out the credentials, which are not records. If it fails,
// nothing is stored. Kinds: Conflict if there are records, or if two records exclude each
// other; Invalid for a record that lacks something; Unavailable.
func (a *Adapter) Load(ctx context.Context, data *adapter.Dataset) error {
	const op = "load data"
	hashes, err := data.HashPasswords(ctx, bcrypt.DefaultCost, nil)
	if err != nil {
		return err
	}
	return a.db.Write(ctx, op, func(to rules.Tx) error {
		for _, t := range to.(tx).tables {
			if len(t.rows.chunks) > 0 {
				return &adapter.Error{Kind: adapter.Conflict, Op: op, Err: errNotEmpty}
			}
		}
		return imports.Load(ctx, a.db, to, data, hashes, 1, nil)
	})
}

// Import stores records of another system, as described at [adapter.Importer].
func (a *Adapter) Import(ctx context.Context, batch []adapter.Aggregate, o adapter.ImportOptions) ([]adapter.Imported, error) {
	return imports.Import(ctx, a.db, batch, o)
}

// Export reads records as an import stores them, as described at [adapter.Exporter].
func (a *Adapter) Export(ctx context.Context, r adapter.Resource, after adapter.Key, limit int) ([]adapter.Aggregate, error) {
	return imports.Export(ctx, a.db, a.stores[r], r, after, limit)
}
