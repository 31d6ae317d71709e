package replica

import (
	"context"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// A Backend keeps part of the records. It is safe for concurrent use. Its errors are
// those of package adapter: NotFound, Conflict, Invalid and Unsupported mean that
// nothing was done; after Unavailable and Internal of a write nobody knows.
type Backend interface {
	// Name returns the backend's name, as used in metrics and the log.
	Name() string
	// Kept says what the backend keeps, roots before their parts. What is not listed
	// is the side's alone.
	Kept() []Kept
	// Fetch returns the documents of a root resource with these ids, in any order.
	// Those that are gone are left out.
	Fetch(ctx context.Context, root adapter.Resource, ids []string) ([]Document, error)
	// Scan gives found all documents of a root resource in batches, or where the
	// backend can tell at least those that changed since then. The zero time is
	// before all. It ends at the first error of found.
	Scan(ctx context.Context, root adapter.Resource, since time.Time, found func([]Document) error) error
	// Find returns the document that carries a legacy id. Kinds: NotFound;
	// Unsupported where documents carry none.
	Find(ctx context.Context, root adapter.Resource, key adapter.Key) (Document, error)
	// Create makes a record and returns its id, "" for a part without one. Kinds:
	// Conflict, Invalid, Unsupported, NotFound when the root of the part is gone.
	Create(ctx context.Context, w *Write) (id string, err error)
	// Update changes a record. Kinds: NotFound, Conflict, Invalid, Unsupported.
	Update(ctx context.Context, w *Write) error
	// Delete removes a record. Kinds: NotFound, Conflict, Unsupported.
	Delete(ctx context.Context, w *Write) error
	// Ping tells whether the backend can answer now. Kinds: Unavailable.
	Ping(context.Context) error
	// Close releases what the backend holds.
	Close() error
}

// Kept says what a backend keeps of a resource.
type Kept struct {
	Resource adapter.Resource
	// Root is the resource whose documents hold the records: the same one, or for a
	// part that of the owner, as products for stock items.
	Root adapter.Resource
	// Owner names the attribute of a part that holds the key of its root; "" for a
	// root.
	Owner string
	// Attributes are those that the backend keeps. Only their changes are sent to it.
	Attributes []string
	// Identified: parts have ids of their own. Match otherwise names the attributes
	// by which the parts of one root are told apart, none where there is one part.
	Identified bool
	Match      []string
	// Adopts: a part that the backend has and the side has not is taken over.
	ImportsParts bool
	// Writes says which writes the backend takes; the others are refused as
	// Unsupported when they would change what the backend keeps.
	Creates, Updates, Deletes bool
}

// A Document is what a backend says of one record of a root resource, and of its
// parts. It is looked into by Read alone, as most documents are those known already.
type Document struct {
	ID string // the backend's, never ""
	// Tag is equal as long as the document is, and different afterwards.
	Version string
	// Read returns what the document says: the record, whose ID is the document's, and
	// the parts by resource. A resource that is missing says nothing; an empty list says
	// that there are none. Each call works it out anew. Kinds: Unavailable where the
	// document has not the promised form.
	Read func(context.Context) (Item, map[adapter.Resource][]Item, error)
}

// An Item is what a backend says of one record.
type Item struct {
	ID string // the backend's; "" for a part that has none
	// Key is the legacy id that the record carries, 0 without one.
	Key adapter.Key
	// Record holds what the backend says, at the default scope. What is absent it says
	// nothing of.
	Record adapter.Record
	// Rest holds, for a record that is taken over, what a new one has besides.
	Initial adapter.Record
}

// A Write is a change of one record.
type Write struct {
	Resource adapter.Resource
	Key      adapter.Key
	ID       string // the backend's; "" for a new record, and for a part without one
	// The root of a part, and its id.
	RootKey adapter.Key
	RootID  string
	// Old and New are the record at the default scope before and after, with all
	// attributes that the backend keeps. Old is empty when it is created, New when it is
	// deleted. New holds what is write-only, too.
	Old, New adapter.Record
	// Changed names the kept attributes that differ. All of them when created.
	Changed []string
	// Siblings are the records of a part's resource that its root has after the write,
	// by key, for backends that take such lists as a whole.
	Siblings []Sibling
	// Parts are those that a new root has at the side, by resource and key, for backends
	// that take a record with its parts only. Parts whose keys the document then carries
	// are created with it; the others follow one by one.
	Parts map[adapter.Resource][]Sibling
}

// A Sibling is one part of a root.
type Sibling struct {
	ID     string
	Record adapter.Record
}
