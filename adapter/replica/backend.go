package replica

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// ErrChanged, in the chain of an error of kind Conflict, means that the backend has not done a write
// because the record has changed there since it was read: the write is tried once more with the record
// as it is then.
var ErrChanged = errors.New("the record has changed at the backend since it was read")

// A Backend is the commerce system that owns some attributes of the records. It is safe for concurrent
// use. Its errors are [adapter.Error] values. After kinds NotFound, Conflict, Invalid and Unsupported
// the backend has not done the write; after Unavailable and Internal the outcome is unknown.
type Backend interface {
	// Name returns the backend's name, as used in metrics and in the log.
	Name() string
	// Resources declares the resources and attributes that the backend owns, each root
	// before its parts. Everything else exists in the local replica only.
	Resources() []BackendResource
	// Fetch returns the documents of a root resource with these backend ids, in any order, without
	// documents that no longer exist. The caller ignores documents with other ids.
	Fetch(ctx context.Context, root adapter.Resource, ids []string) ([]Document, error)
	// Scan passes all documents of a root resource to found in batches, or, where the backend can
	// select them, at least the documents that changed at or after since. The zero time stands for the
	// beginning. Scan stops at the first error of found and returns it. Kinds: Unsupported where the
	// backend cannot list its documents; Unavailable, also with an [IncompleteListError].
	Scan(ctx context.Context, root adapter.Resource, since time.Time, found func([]Document) error) error
	// Find returns the document that carries a legacy id or, of a backend whose documents carry none, the one
	// that has the same identifying values as record: the record in the local replica at the default scope, with
	// all backend-owned attributes, empty if it is unknown. Kinds: NotFound; Unsupported where documents
	// cannot be found so; Unavailable if it was not found but may exist.
	Find(ctx context.Context, root adapter.Resource, key adapter.Key, record adapter.Record) (Document, error)
	// Create creates a record and returns its backend id, "" for a part without an id.
	// Kinds: Conflict, Invalid, Unsupported, NotFound when the root of the part is gone.
	Create(ctx context.Context, w *Write) (id string, err error)
	// Update changes a record. Kinds: NotFound, Conflict, Invalid, Unsupported.
	Update(ctx context.Context, w *Write) error
	// Delete deletes a record. Kinds: NotFound, Conflict, Unsupported.
	Delete(ctx context.Context, w *Write) error
	// Ping reports whether the backend can answer now. Kinds: Unavailable.
	Ping(context.Context) error
	// Close releases the backend's resources.
	Close() error
}

// A BackendResource declares the part of one resource that a backend owns.
type BackendResource struct {
	Resource adapter.Resource
	// Root is the resource whose documents contain the records: the resource itself for a
	// root, or the Root of its schema for a part, such as products for stock items.
	Root adapter.Resource
	// Attributes are the backend-owned attributes. Only changes to these are sent to the
	// backend.
	Attributes []string
	// ViewAttributes are the attributes, of a root, whose values at store views the backend owns, too. They
	// are among Attributes, and not of the global scope. Other values at store views are in the local
	// replica only.
	ViewAttributes []string
	// HasIDs: parts have backend ids of their own. Otherwise MatchBy names the attributes
	// that distinguish the parts of one root; none where a root has a single part.
	HasIDs  bool
	MatchBy []string
	// ImportsParts: a part that only the backend has is imported into the local replica. A part whose
	// resource has files is imported by a scan, and only if its Item has a File.
	ImportsParts bool
	// OrderedBy names the attribute that holds the order of parts with ids, if the items in a document
	// are in that order: when the order has changed, the attribute gets the numbers 1, 2, 3….
	OrderedBy string
	// ReadsLocally: reads of a root that has been compared once do not fetch its document, so that
	// changes that the backend makes show after the next scan, and deletions not at all. It is for few
	// records that seldom change, and to which many others refer, such as websites.
	ReadsLocally bool
	// Creates, Updates and Deletes are true for the writes that the backend accepts. Other writes are
	// refused with kind Unsupported if they would change a backend-owned attribute.
	Creates, Updates, Deletes bool
}

// A Document is the backend's representation of one root record and its parts. Most
// fetched documents are unchanged, so their content is decoded only when Read is called.
type Document struct {
	// ID is the backend's id: UTF-8 without zero bytes, at most 255 characters, never "".
	ID string
	// Version changes whenever the document's content changes, and only then, such as a
	// revision, or a hash of the content. It is UTF-8 without zero bytes, of at most 255
	// characters.
	Version string
	// Read decodes the document: the root record, whose ID is the document's, and the
	// parts by resource. A resource missing from parts is unknown to the document; an empty
	// list means that there are no such parts. Every call decodes again. Kinds: Unavailable
	// where the document does not have the expected form.
	Read func(context.Context) (item Item, parts map[adapter.Resource][]Item, err error)
}

// An Item is the backend's representation of one record.
type Item struct {
	ID string // the backend's id; "" for a part that has none
	// Key is the legacy id that the record carries, 0 for none.
	Key adapter.Key
	// Record holds the backend's values at the default scope. Attributes that the backend
	// does not return are absent.
	Record adapter.Record
	// Views holds, for a root with ViewAttributes, the values at the store views that the backend knows,
	// also where all of them are inherited; nil if the context says so: see ReadsViews.
	Views Views
	// Unresolved holds, for a root, the backend ids by resource to which the document and its parts
	// refer and that have no legacy id yet. Once one has, the document is read again.
	Unresolved map[adapter.Resource][]string
	// Initial holds further values that a record gets when it is imported. They are not
	// compared afterwards.
	Initial adapter.Record
	// LeftOut names the values that do not fit their attributes, such as "weight of products is not a
	// number". These attributes are absent. The list of a root includes the values of its parts.
	LeftOut []string
	// File reads the file of a part whose resource has files, from the backend's storage; nil if it is
	// not to be read. Kinds: Unavailable, Invalid for a file that is not an image.
	File func(context.Context) (File, error)
}

// A File is the file of a part.
type File struct {
	Name      string // without a folder
	MediaType string
	Content   []byte
}

// A Write is a change of one record, to be made at the backend.
type Write struct {
	Resource adapter.Resource
	Key      adapter.Key
	ID       string // the backend's id; "" for a new record, and for a part without one
	// RootKey and RootID are the legacy id and the backend id of a part's root.
	RootKey adapter.Key
	RootID  string
	// Root is the record of a part's root at the default scope, with all backend-owned attributes, as the
	// local replica has it during the write: the backend has the same, if all earlier writes have reached it.
	// It is empty for a root.
	Root adapter.Record
	// Old and New are the record at the default scope before and after the write, with all
	// backend-owned attributes. Old is empty for Create, New for Delete. New includes
	// write-only attributes.
	Old, New adapter.Record
	// Changed names the backend-owned attributes that differ; for Create, all of them.
	Changed []string
	// Views are the changes at store views, of a root with ViewAttributes. An update may have nothing
	// else: then Changed is empty.
	Views []ViewWrite
	// Siblings are all parts of the same resource that the root has after the write, sorted
	// by key, for backends that replace such lists as a whole.
	Siblings []Sibling
	// Parts are the parts of a new root in the local replica, by resource and key, for
	// backends that only accept a record together with its parts. Parts whose keys the
	// document then carries count as created; the others are created one by one.
	Parts map[adapter.Resource][]Sibling
}

// A Sibling is one part of a root.
type Sibling struct {
	ID     string // the backend's id, "" for a part without one
	Record adapter.Record
}

// maxListedIDs bounds the number of ids of a list that are compared with earlier ones. In a longer list, ids
// that are repeated later are not noticed unless the total differs.
const maxListedIDs = 4 << 20

// A Listing determines whether the pages of a list have all documents, each once. Where the order of the
// list has ties, such as a time that the products of one batch share, a backend may return one document on
// two pages, and another one on none.
type Listing struct {
	seed     maphash.Seed
	seen     map[uint64]struct{} // hashes of ids: eight bytes for each document
	most     int                 // the greatest length of seen
	listed   int
	repeated int
	total    int64 // total of the last page; -1 before
	greatest int64 // the greatest total
}

// NewListing returns an empty Listing, for a list that begins.
func NewListing() *Listing {
	return &Listing{seed: maphash.MakeSeed(), seen: map[uint64]struct{}{}, most: maxListedIDs, total: -1, greatest: -1}
}

// Add counts the documents of a page.
func (l *Listing) Add(ids []string) {
	l.listed += len(ids)
	for _, id := range ids {
		hash := maphash.String(l.seed, id)
		if _, before := l.seen[hash]; before {
			l.repeated++
		} else if len(l.seen) < l.most {
			l.seen[hash] = struct{}{}
		}
	}
}

// SetTotal stores the number of all documents that a page names.
func (l *Listing) SetTotal(total int64) { l.total, l.greatest = total, max(l.greatest, total) }

// Total returns the number of all documents that the last page named, -1 if none has.
func (l *Listing) Total() int64 { return l.total }

// Err returns an [IncompleteListError] if documents may be missing from the list, which has ended.
func (l *Listing) Err() error {
	e := &IncompleteListError{Listed: l.listed, Distinct: l.listed - l.repeated, Total: l.total, Fell: l.total < l.greatest}
	if l.repeated == 0 && !e.Fell && (l.total < 0 || int64(e.Distinct) == l.total) {
		return nil
	}
	return e
}

// An IncompleteListError, in the chain of an error of kind Unavailable, means that a scan has passed on all
// documents that the backend listed, but that records may be missing among them. A record that is not listed
// may still exist.
type IncompleteListError struct {
	Listed   int   // documents, repeated ones included
	Distinct int   // documents with different ids
	Total    int64 // the last number of all documents that the backend named; -1 if it names none
	// Fell: the backend named a greater total before, so that pages by offset have moved.
	Fell bool
}

// Error returns the signs that records may be missing.
func (e *IncompleteListError) Error() string {
	text := fmt.Sprintf("%d records are listed", e.Listed)
	if e.Distinct < e.Listed {
		text += fmt.Sprintf(", %d of them twice", e.Listed-e.Distinct)
	}
	if e.Total >= 0 && int64(e.Distinct) != e.Total {
		text += fmt.Sprintf(", and the backend says that there are %d", e.Total)
	}
	if e.Fell {
		text += ", and records were deleted meanwhile, which moves the pages"
	}
	return text + ": others may be missing"
}
