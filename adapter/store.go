package adapter

import "context"

// An Adapter gives access to one upstream.
type Adapter interface {
	// Name returns the adapter's name, as used in settings and metrics.
	Name() string
	// Store returns the store of r's records. Kinds: Unsupported.
	Store(r Resource) (Store, error)
	// Ping tells whether the upstream can answer now. Kinds: Unavailable.
	Ping(context.Context) error
	// Close releases what the adapter holds; its stores fail afterwards.
	Close() error
}

// A Store reads and writes the records of one resource. It is safe for
// concurrent use. Besides the kinds named at each method any of them may return
// Unavailable and Internal, and the context's error when that ends first.
type Store interface {
	// List returns the records a query selects. Kinds: Unsupported.
	List(context.Context, *ListParams) (*ListResult, error)
	// Get returns one record. Kinds: NotFound, Unsupported.
	Get(context.Context, *GetParams) (Record, error)
	// Create stores a new record and returns its key. Kinds: Conflict, Invalid,
	// Unsupported.
	Create(context.Context, *CreateParams) (Key, error)
	// Update changes one record. Kinds: NotFound, Conflict, Invalid, Unsupported.
	Update(context.Context, *UpdateParams) error
	// Delete removes one record and all that belongs to it. Kinds: NotFound,
	// Conflict, Invalid, Unsupported.
	Delete(context.Context, *DeleteParams) error
}

// ListParams selects records.
type ListParams struct {
	Query Query
	// OwnerID, unless 0, keeps the list to the records of one customer. Kinds:
	// Unsupported where records belong to nobody.
	OwnerID int64
	// StoreID is the store view whose scoped values are read; 0 is the default
	// scope, which shows through where a view has no value. It means nothing where
	// no attribute is scoped.
	StoreID int64
	// Count asks for [ListResult.Total] instead of records.
	Count bool
	// With names attributes on demand that the records have to hold.
	With []string
	// Only, unless nil, names the others that the records have to hold, besides the
	// key and what Query names. A store may leave out the rest, which is then
	// absent; each it reads all the same costs time.
	Only []string
	// MaxBytes, unless 0, is the [Record.Size] of all records together at which a
	// store may end the list early, with [ListResult.More]. It then ends with the
	// record that reaches it. A store that returns Partial ignores it.
	MaxBytes int64
	// Products says which products.
	Products ProductParams
}

// ProductParams bound a list of products. The zero value means all products,
// with all values of the store view. Stores of other resources ignore it.
type ProductParams struct {
	// WebsiteScope keeps attributes of [ScopeStore] at the default scope, so that
	// of the store view only the values of its website are read.
	WebsiteScope bool
	// WebsiteID, unless 0, keeps to the products of one website, and
	// [AnyWebsite] to those that are in one at all.
	WebsiteID int64
	// Listed keeps to the products that shoppers may list at the store view: those
	// that its website sells, that are enabled both in the default scope and in the
	// website, and that are visible on their own in the default scope, which is
	// every visibility but 1. At the default scope itself there are none.
	Listed bool
	// CategoryID, unless 0, keeps to the products that stand in one category
	// themselves, and gives them their category_position.
	CategoryID int64
}

// AnyWebsite, as [ProductParams.WebsiteID], is whatever website there is.
const AnyWebsite = -1

// ListResult is what a list returns.
type ListResult struct {
	Records []Record
	// Total is the number of records the conditions select, whatever the page.
	// Set only when ListParams.Count asked for it, and never with Partial.
	Total int64
	// Partial: the store could not do the whole query. Records then holds every
	// record that [Apply] may select, in any order and more besides.
	Partial bool
	// More: the list was ended early, because of ListParams.MaxBytes. A query for what
	// comes after the last of Records, which has some, continues it.
	More bool
}

// GetParams names one record.
type GetParams struct {
	Key Key
	// OwnerID, unless 0, makes the records of other customers not found.
	OwnerID int64
	// StoreID is as in [ListParams].
	StoreID int64
	// With names attributes on demand that the record has to hold, and Only, unless
	// nil, the others it has to hold, as in [ListParams].
	With, Only []string
	// Products: a product that these leave out of a list is not found.
	Products ProductParams
}

// CreateParams describes a new record. Record leaves absent what the store
// fills in by itself. Check, if set, runs inside the transaction before
// anything is written.
type CreateParams struct {
	Record Record
	// StoreID is the store view whose scoped values Record holds; 0 is the default
	// scope.
	StoreID int64
	Check   func() error
}

// UpdateParams describes a change. Change gets the current record, locked until
// the write is done, and returns the new values: those it leaves absent stay as
// they are. An error of Change is returned unchanged and nothing is written. It
// must be pure: it may run again after a conflict.
type UpdateParams struct {
	Key Key
	// OwnerID, unless 0, makes the records of other customers not found.
	OwnerID int64
	// StoreID is the store view whose scoped values Change sees, as in
	// [GetParams], and returns: a value reaches as far as the scope of its
	// attribute does. 0 is the default scope.
	StoreID int64
	// With names attributes on demand that the current record has to hold.
	With   []string
	Change func(current Record) (Record, error)
}

// DeleteParams names a record to remove. Check, if set, sees the locked current
// record first, with the rules of UpdateParams.Change.
type DeleteParams struct {
	Key Key
	// OwnerID is as in [UpdateParams].
	OwnerID int64
	// StoreID is the level at which an image is removed; it means nothing to
	// other records.
	StoreID int64
	// OnlyLevel keeps an image that no other level uses: it only loses its types
	// at the level.
	OnlyLevel bool
	Check     func(current Record) error
}
