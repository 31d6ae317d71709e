package replica

import (
	"context"
	"encoding/json"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// A Replica is the local replica: Portico's own database with a copy of the backend's
// records, the attributes that the backend cannot hold, and the ID map. The interface is
// declared here so that this package depends on no database.
type Replica interface {
	Writes
	adapter.Importer
	adapter.Noter
	adapter.Exporter
	idmap.Map
	// ImportRecords inserts a record of the backend and its parts, each with its mapping, in one
	// transaction. The first record is the root; or all are parts of an existing root, which
	// Mapping.Root and Mapping.RootKey of each name. Key 0 stands for the next free key. A mapping
	// of the same key and backend id is replaced. A part's Mapping.RootKey, and the attribute with
	// the key of its root, are set. Unlike a client's write it derives, checks and dates nothing.
	// It returns the keys. Kinds: Conflict when a key, a backend id or a unique value is taken,
	// Invalid, Unsupported.
	ImportRecords(ctx context.Context, records []ImportedRecord) ([]adapter.Key, error)
	// UpdateReadOnly changes a record of a resource that clients cannot write, such as an order. It
	// stores all values that are not absent unchanged, and nothing else. Kinds: NotFound, Conflict,
	// Invalid, Unsupported for a resource that clients can write.
	UpdateReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key, values adapter.Record) error
	// DeleteReadOnly deletes a record that clients cannot delete, such as an order or one of its
	// lines, with everything that belongs to it, its mapping and the mappings of its parts, in one
	// transaction. Kinds: NotFound, Conflict, Unsupported for a resource whose records clients can
	// delete.
	DeleteReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key) error
	// FileContent returns the bytes of a record's file, by the value of its attribute file.
	// Records are read without them. Kinds: NotFound where there are none, because the record
	// was imported without its file; Unavailable, Internal.
	FileContent(ctx context.Context, file string) ([]byte, error)
	// Pending returns the part of a root's outbox entries that an import may change, as JSON;
	// nil if the root has no entries. RestorePending puts it back after the import was undone.
	// Kinds: Unavailable, Internal.
	Pending(ctx context.Context, root adapter.Resource, key adapter.Key) (json.RawMessage, error)
	RestorePending(ctx context.Context, before json.RawMessage) error
}

// Writes stores client writes in the local replica.
type Writes interface {
	adapter.Adapter
	// CreateWithIntent creates a root as its store does. In the same transaction it stores the
	// mapping of the new record, with the write intent that intent returns for its key, so that
	// recovery finds the record whenever the process ends. A transaction that is repeated calls
	// intent again. Kinds: the kinds of adapter.Store.Create, and the kinds of intent.
	CreateWithIntent(ctx context.Context, p *adapter.CreateParams, intent func(adapter.Key) ([]byte, error)) (adapter.Key, error)
	// UpdateIdle updates a record as its store does, unless the mapping of its root holds a write
	// intent: it then writes nothing and reports false. BeginIntent refuses a mapping that was read
	// before. Kinds: the kinds of adapter.Store.Update.
	UpdateIdle(ctx context.Context, root idmap.Mapping, r adapter.Resource, p *adapter.UpdateParams) (idle bool, err error)
}

// An ImportedRecord is a record to be imported into the local replica, with its mapping.
type ImportedRecord struct {
	Mapping idmap.Mapping
	Record  adapter.Record
}
