package idmap

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
	"time"
)

// A Map stores the mapping of legacy ids to backend ids. Every method may also return kinds
// Unavailable and Internal.
type Map interface {
	// MappingsByKey returns the mappings that exist for these legacy ids, in any order.
	MappingsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]Mapping, error)
	// VersionsByKey is MappingsByKey for comparing versions, which reads less: a base is cut
	// to its first BaseStart bytes, and Root, RootKey and ChangedAt are not set.
	VersionsByKey(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]Mapping, error)
	// MappingsByBackendID returns the mappings that exist for these backend ids, in any
	// order.
	MappingsByBackendID(ctx context.Context, r adapter.Resource, ids []string) ([]Mapping, error)
	// MappingsOfParts returns the mappings of all parts of a root, of every resource.
	MappingsOfParts(ctx context.Context, root adapter.Resource, rootKey adapter.Key) ([]Mapping, error)
	// ListMappings returns up to limit mappings of a resource whose key is greater than
	// after, sorted by key.
	ListMappings(ctx context.Context, r adapter.Resource, after adapter.Key, limit int) ([]Mapping, error)
	// MappingsWithIntent returns up to limit mappings, of all resources, that hold a
	// write intent, the oldest first.
	MappingsWithIntent(ctx context.Context, limit int) ([]Mapping, error)
	// PutMappings inserts or replaces mappings, by resource and key, all of them or none.
	// Kinds: Conflict when another key already has the backend id, Invalid for an id of
	// more than MaxBackendID characters.
	PutMappings(ctx context.Context, mappings ...Mapping) error
	// BeginIntent is PutMappings for a root with a write intent, unless the stored mapping has an
	// intent, or was stored again since root was read, by its ChangedAt: then another writer is
	// writing the root, or has written it, and BeginIntent stores nothing and reports false. The
	// zero time stands for a mapping that was not stored.
	BeginIntent(ctx context.Context, root Mapping) (begun bool, err error)
	// CompleteIntent is PutMappings for a root and parts of it, unless the stored mapping
	// of the root no longer has the given write intent, nil for none. It then stores nothing
	// and reports false.
	CompleteIntent(ctx context.Context, intent []byte, root Mapping, parts ...Mapping) (completed bool, err error)
	// DeleteMapping deletes the mapping of a root and the mappings of its parts, or the mapping
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
	// Base is that document's content as JSON, the common ancestor that reconciling compares
	// with. nil means that both agree and the content is not known; EmptyBase means that all of
	// the backend's values are to be applied. Only roots have one.
	Base []byte
	// Intent is the write intent, as JSON: a write that may not have reached the backend.
	// nil for none. Only roots have one.
	Intent []byte
	// ChangedAt is when the mapping was last stored. PutMappings sets it.
	ChangedAt time.Time
}

// EmptyBase is the base of a mapping that only ties two ids together. Package replica encodes
// all other bases.
const EmptyBase = "{}"

// BaseStart is the number of bytes of a base that VersionsByKey returns.
const BaseStart = 16

// MaxBackendID is the greatest length of a backend id, in characters.
const MaxBackendID = 255

// ByKey returns mappings of one resource by their legacy ids.
func ByKey(mappings []Mapping) map[adapter.Key]*Mapping {
	byKey := make(map[adapter.Key]*Mapping, len(mappings))
	for i := range mappings {
		byKey[mappings[i].Key] = &mappings[i]
	}
	return byKey
}

// ByBackendID returns mappings of one resource by their backend ids.
func ByBackendID(mappings []Mapping) map[string]*Mapping {
	byID := make(map[string]*Mapping, len(mappings))
	for i := range mappings {
		byID[mappings[i].BackendID] = &mappings[i]
	}
	return byID
}
