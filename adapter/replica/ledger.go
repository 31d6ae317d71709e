package replica

import (
	"context"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// A Side is Portico's own database. It is declared here so that this package needs no
// database.
type Replica interface {
	adapter.Adapter
	Ledger
	// Adopt stores a record that the backend has, and its parts, each with its entry,
	// in one transaction. The first is the root, or all are parts of a root that is
	// there and that Entry.Root and Entry.Owner of each name; Key 0 is the next free
	// one. The attribute Owner of a part gets the root's key, and so does Entry.Owner.
	// Nothing is derived, checked or dated as in a write of a client. It returns the keys.
	// Kinds: Conflict when a key, an id or a unique value is taken, Invalid,
	// Unsupported.
	Adopt(ctx context.Context, records []Adopted) ([]adapter.Key, error)
	// Amend stores the values of a record that are not absent as they are, read-only
	// ones too, and nothing besides. Kinds: NotFound, Conflict, Invalid, Unsupported
	// for a resource whose records clients write.
	Amend(ctx context.Context, r adapter.Resource, key adapter.Key, values adapter.Record) error
	// Remove removes a record that clients cannot, as an order or its line, with what
	// belongs to it, its entry and those of its parts, in one transaction. Kinds: NotFound,
	// Conflict, Unsupported for a resource whose records clients remove.
	Remove(ctx context.Context, r adapter.Resource, key adapter.Key) error
}

// An Adopted is a record to be stored with its entry.
type Adopted struct {
	Entry  Entry
	Owner  string // the attribute that names the root; "" for the root itself
	Record adapter.Record
}

// A Ledger says which record of the backend a legacy id belongs to. Kinds, besides
// those named: Unavailable, Internal.
type Ledger interface {
	// Entries returns the entries of these keys that there are, in any order.
	Entries(ctx context.Context, r adapter.Resource, keys []adapter.Key) ([]Entry, error)
	// EntriesOf returns the entries of the backend's ids that there are.
	EntriesOf(ctx context.Context, r adapter.Resource, ids []string) ([]Entry, error)
	// Owned returns the entries of the parts of a root, of all resources.
	Owned(ctx context.Context, root adapter.Resource, owner adapter.Key) ([]Entry, error)
	// Walk returns up to limit entries of keys greater than after, by key.
	Walk(ctx context.Context, r adapter.Resource, after adapter.Key, limit int) ([]Entry, error)
	// Noted returns entries with a note, of all resources, that changed last before
	// then.
	Noted(ctx context.Context, before time.Time, limit int) ([]Entry, error)
	// Enter stores entries, in place of those of the same resource and key, all or
	// none. Kinds: Conflict when an id is another key's already, Invalid for an id of
	// more than 255 characters.
	Enter(ctx context.Context, entries ...Entry) error
	// Strike removes the entry of a root with those of its parts, or of a part.
	Strike(ctx context.Context, r adapter.Resource, key adapter.Key) error
	// Doubt empties all tags, so that every document is looked into when it is fetched
	// next: what it refers to may have a legacy id by now.
	Doubt(ctx context.Context) error
}

// An Entry ties a legacy id to a record of the backend.
type Entry struct {
	Resource adapter.Resource
	Key      adapter.Key
	ID       string // the backend's; "" while it is not known
	// Root and Owner are the resource and key of the root whose part it is; "" and 0
	// for a root.
	Root  adapter.Resource
	Owner adapter.Key
	// Tag and Base are the document's when both sides agreed last, of roots. Base is
	// JSON; nil when the sides agree and the document is not known, "{}" when the
	// backend's values are to be taken over.
	Tag  string
	Base []byte
	// Note is of a write that is not known to be done, JSON; nil for none.
	Note []byte
	// Changed is when the entry was stored last. Enter sets it.
	Changed time.Time
}
