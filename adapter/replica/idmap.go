package replica

import (
	"context"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// A Replica is the local replica: Portico's own database with a copy of the backend's
// records, the attributes that the backend cannot hold, and the ID map. The interface is
// declared here so that this package depends on no database.
type Replica interface {
	adapter.Adapter
	IDMap
	// ImportRecords inserts a record of the backend and its parts, each with its mapping,
	// in one transaction. The first record is the root; or all are parts of an existing
	// root, which Mapping.Root and Mapping.RootKey of each name. Key 0 stands for the next
	// free key. A mapping of the same key and backend id is replaced. A part's
	// Mapping.RootKey, and the attribute with the key of its root, are set. Unlike a client's write
	// it derives, checks and dates nothing. It returns the keys.
	// Kinds: Conflict when a key, a backend id or a unique value is taken, Invalid,
	// Unsupported.
	ImportRecords(ctx context.Context, records []ImportedRecord) ([]adapter.Key, error)
	// UpdateReadOnly changes a record of a resource that clients cannot write, such as an
	// order. It stores all values that are not absent as given, and nothing else. Kinds:
	// NotFound, Conflict, Invalid, Unsupported for a resource that clients can write.
	UpdateReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key, values adapter.Record) error
	// DeleteReadOnly deletes a record that clients cannot delete, such as an order or one
	// of its lines, with everything that belongs to it, its mapping and those of its
	// parts, in one transaction. Kinds: NotFound, Conflict, Unsupported for a resource
	// whose records clients can delete.
	DeleteReadOnly(ctx context.Context, r adapter.Resource, key adapter.Key) error
	// FileContent returns the bytes of a record's file, by the value of its attribute file.
	// Records are read without them. Kinds: NotFound where there are none, because the record
	// was imported without its file; Unavailable, Internal.
	FileContent(ctx context.Context, file string) ([]byte, error)
}

// An ImportedRecord is a record to be imported into the local replica, with its mapping.
type ImportedRecord struct {
	Mapping Mapping
	Record  adapter.Record
}

// An IDMap stores which backend id each legacy id belongs to. Every method may also
// return kinds Unavailable and Internal.
type IDMap interface {
	// MappingsByKey returns the mappings that exist for these legacy ids, in any order.
	MappingsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]Mapping, error)
	// MappingsByBackendID returns the mappings that exist for these backend ids, in any
	// order.
	MappingsByBackendID(ctx context.Context, r adapter.Resource, ids []string) ([]Mapping, error)
	// MappingsOfParts returns the mappings of all parts of a root, of every resource.
	MappingsOfParts(ctx context.Context, root adapter.Resource, rootKey adapter.Key) ([]Mapping, error)
	// ListMappings returns up to limit mappings of a resource whose key is greater than
	// after, sorted by key.
	ListMappings(ctx context.Context, r adapter.Resource, after adapter.Key, limit int) ([]Mapping, error)
	// MappingsWithIntent returns up to limit mappings, of all resources, that hold a
	// write intent and were last stored before the given time.
	MappingsWithIntent(ctx context.Context, before time.Time, limit int) ([]Mapping, error)
	// PutMappings inserts or replaces mappings, by resource and key, all of them or none.
	// Kinds: Conflict when another key already has the backend id, Invalid for an id of
	// more than 255 characters.
	PutMappings(ctx context.Context, mappings ...Mapping) error
	// CompleteIntent is PutMappings for a root and parts of it, unless the stored mapping
	// of the root no longer has the given write intent, nil for none. It then stores nothing
	// and reports false.
	CompleteIntent(ctx context.Context, intent []byte, root Mapping, parts ...Mapping) (completed bool, err error)
	// DeleteMapping deletes the mapping of a root and those of its parts, or the mapping
	// of a part. It succeeds when there is none.
	DeleteMapping(ctx context.Context, r adapter.Resource, key adapter.Key) error
}

// A Mapping is one row of the ID map: it ties a legacy id to a record of the backend.
type Mapping struct {
	Resource  adapter.Resource
	Key       adapter.Key // the legacy id
	BackendID string      // "" while the backend's id is not known
	// Root and RootKey are the resource and key of the root that a part belongs to; ""
	// and 0 for a root.
	Root    adapter.Resource
	RootKey adapter.Key
	// Version is the version of the document with which the local replica was last
	// reconciled; "" makes the next read reconcile it again. Only roots have one.
	Version string
	// Base is that document's content as JSON, the common ancestor that reconciling
	// compares with. nil means that both agree and the content is not known; "{}" means
	// that all of the backend's values are to be taken over. Only roots have one.
	Base []byte
	// Intent is the write intent, as JSON: a write that may not have reached the backend.
	// nil for none. Only roots have one.
	Intent []byte
	// ChangedAt is when the mapping was last stored. PutMappings sets it.
	ChangedAt time.Time
}
