package sqlstore

import (
	"context"
	"errors"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
	"github.com/portico-commerce/portico/adapter/rules"
	"github.com/portico-commerce/portico/adapter/rules/imports"
	"github.com/portico-commerce/portico/adapter/sqlstore/coordination"
	"github.com/portico-commerce/portico/adapter/sqlstore/engine"
	"github.com/portico-commerce/portico/adapter/sqlstore/media"
)

// newRecordAdapter returns an adapter that serves the records of a database.
func newRecordAdapter(db *Database) *RecordAdapter {
	return &RecordAdapter{db: db, Stores: rules.Stores(ruled{DB: db}, db.ReaderOf)}
}

// A RecordAdapter serves the records of a DB. It implements adapter.Adapter, adapter.Importer,
// adapter.Noter and adapter.Exporter.
type RecordAdapter struct {
	db     *Database
	Stores map[adapter.Resource]adapter.Store
	// for writes and imports, as in [Ruled]
	lease        *coordination.Lease
	announcement *coordination.Announcement
	mirrors      bool
	trial        bool // see Trial
}

// rules returns the database in the form that package rules uses.
func (a *RecordAdapter) rules() ruled {
	return ruled{DB: a.db, lease: a.lease, announcement: a.announcement, mirrors: a.mirrors, trial: a.trial}
}

var (
	_ adapter.Adapter  = (*RecordAdapter)(nil)
	_ adapter.Importer = (*RecordAdapter)(nil)
	_ adapter.Noter    = (*RecordAdapter)(nil)
	_ adapter.Exporter = (*RecordAdapter)(nil)
)

// Name returns "sqlstore".
func (a *RecordAdapter) Name() string { return "sqlstore" }

// Store returns the store of a resource. Kinds: Unsupported.
func (a *RecordAdapter) Store(r adapter.Resource) (adapter.Store, error) {
	if s, ok := a.Stores[r]; ok {
		return s, nil
	}
	return nil, &adapter.Error{Kind: adapter.Unsupported, Op: "store " + string(r)}
}

// Import implements adapter.Importer.
func (a *RecordAdapter) Import(ctx context.Context, batch []adapter.Aggregate, o adapter.ImportOptions) ([]adapter.Imported, error) {
	if !o.DryRun && !a.trial {
		if err := a.db.passOutside(ctx, o.Passed); err != nil {
			return nil, a.db.WrapError(ctx, "import records", err)
		}
	}
	outcomes, err := a.importAnnounced(ctx, batch, o)
	if err == nil && !o.DryRun && !a.trial {
		a.db.statistics.Renew(ctx, a.db.DB, batch, outcomes)
	}
	return outcomes, err
}

// CheckImport returns the error with which Import refuses a record, whatever is stored: nil if it may
// store it. It asks no database.
func (a *RecordAdapter) CheckImport(one adapter.Aggregate, o adapter.ImportOptions) error {
	return imports.Check(a.db.Schemas, one, o)
}

// Export reads records as an import stores them, as described at [adapter.Exporter].
func (a *RecordAdapter) Export(ctx context.Context, r adapter.Resource, after adapter.Key, limit int) ([]adapter.Aggregate, error) {
	return imports.Export(ctx, a.rules(), a.Stores[r], r, after, limit)
}

// Ping checks that the database answers. Kinds: Unavailable.
func (a *RecordAdapter) Ping(ctx context.Context) error { return a.db.Ping(ctx) }

// Close closes the database, as a DB does.
func (a *RecordAdapter) Close() error { return a.db.Close() }

// Fenced returns an adapter each of whose write transactions fails with coordination.ErrLeaseLost, and
// stores nothing, if the holder of a lease has lost it. An expired lease that no other process has
// taken is not lost.
func (a *RecordAdapter) Fenced(lease coordination.Lease) *RecordAdapter {
	fenced := *a
	fenced.lease = &lease
	fenced.Stores = rules.Stores(fenced.rules(), a.db.ReaderOf)
	return &fenced
}

// Mirrored returns an adapter whose writes are entered in the outbox if, according to the table
// write_owner, another system is to repeat them. Its writes of resources that the other system owns,
// or for which a handover is in progress, fail with kind Unavailable.
func (a *RecordAdapter) Mirrored() *RecordAdapter {
	mirrored := *a
	mirrored.mirrors = true
	mirrored.Stores = rules.Stores(mirrored.rules(), a.db.ReaderOf)
	return &mirrored
}

// CreateWithIntent creates a record of a local replica's backend, and in the same transaction its
// mapping with the write intent that intent returns for its key. A transaction that is repeated calls
// intent again. Kinds: the kinds of [adapter.Store.Create], and the kinds of intent.
func (a *RecordAdapter) CreateWithIntent(ctx context.Context, p *adapter.CreateParams, intent func(adapter.Key) ([]byte, error)) (adapter.Key, error) {
	r, d := p.Record.Schema.Resource, a.rules()
	d.intent = &newIntent{r, intent}
	return rules.Stores(d, map[adapter.Resource]rules.Reader{r: a.db.ReaderOf[r]})[r].Create(ctx, p)
}

// UpdateIdle updates a record of a local replica's backend, unless the mapping of its root holds a
// write intent: it then writes nothing and reports false. Kinds: the kinds of [adapter.Store.Update].
func (a *RecordAdapter) UpdateIdle(ctx context.Context, root idmap.Mapping, r adapter.Resource, p *adapter.UpdateParams) (idle bool, err error) {
	d := a.rules()
	d.root = &root
	err = rules.Stores(d, map[adapter.Resource]rules.Reader{r: a.db.ReaderOf[r]})[r].Update(ctx, p)
	if errors.Is(err, errNotIdle) {
		return false, nil
	}
	return true, err
}

// errNotIdle ends a transaction because another process is writing the root.
var errNotIdle = errors.New("the root has a write intent")

// Announced returns an adapter whose imports are announced. Processes that cache records notice these
// imports immediately, and imports of other adapters within two seconds.
func (a *RecordAdapter) Announced(to *coordination.Announcement) *RecordAdapter {
	announced := *a
	announced.announcement = to
	return &announced
}

// importAnnounced imports a batch, after announcing it again if the announcement has expired.
func (a *RecordAdapter) importAnnounced(ctx context.Context, batch []adapter.Aggregate, o adapter.ImportOptions) ([]adapter.Imported, error) {
	d := a.rules()
	d.long = true
	if a.announcement == nil || o.DryRun {
		return imports.Import(ctx, d, batch, o)
	}
	if err := a.announcement.Renew(ctx); err != nil {
		return nil, err
	}
	outcomes, err := imports.Import(ctx, d, batch, o)
	if !errors.Is(err, coordination.ErrUnannounced) {
		return outcomes, err
	}
	if err := a.announcement.Repeat(ctx); err != nil {
		return nil, err
	}
	return imports.Import(ctx, d, batch, o)
}

// Trial returns an adapter whose writes and imports fail like the writes of a, and change nothing if
// they do not fail. It must not create images with bytes, which have files.
func (a *RecordAdapter) Trial() *RecordAdapter {
	trial := *a
	trial.trial, trial.announcement = true, nil // nothing is stored that others could notice
	trial.Stores = rules.Stores(trial.rules(), a.db.ReaderOf)
	return &trial
}

// A Database is the database to which transactions of records write.
type Database struct {
	*engine.DB
	*RecordSet
	media           media.Store // nil: images cannot be stored
	mediaTable      media.Table
	hasListingTable bool // product_listing is a table, which needs updates, not a view
	statistics      coordination.Statistics
}

// newDatabase wraps db with the record layout and media store. Kinds: Unavailable, Internal.
func newDatabase(ctx context.Context, db *engine.DB, records *RecordSet, files media.Store) (*Database, error) {
	isTable, err := db.IsTable(ctx, "product_listing")
	if err == nil {
		records.Products.counted, err = countsProducts(ctx, db)
	}
	return &Database{DB: db, RecordSet: records, media: files, mediaTable: media.Table{HasObjects: files != nil && files.HasObjects()}, hasListingTable: isTable}, err
}

// Media returns the media store, or nil if there is none.
func (db *Database) Media() media.Store { return db.media }
