package adapter

import "context"

// An Importer stores records of another system under the keys and with the times that they
// have there. Unlike a client's write, an import derives, checks and dates nothing, except
// that unique values stay unique, that a customer has one default address of each kind, and
// that records without times get the current time. Keys that the store chooses later are
// greater. An [Adapter] may implement it.
type Importer interface {
	// Import stores a batch in one transaction and returns the outcome for each record. The
	// same batch can be imported again. If Import fails, nothing is stored, except that an
	// importer with a backend stores the backend's records one by one, so that some may be
	// stored even then. Kinds: NotFound with Field if an owner does not exist; Conflict with
	// Field if another record has a unique value or the key of a part; Invalid, with Field
	// store_id for values at a store view that does not exist; Unsupported for resources that
	// cannot be imported. An error of o.Content is in the chain of the error.
	Import(ctx context.Context, batch []Aggregate, o ImportOptions) ([]Imported, error)
}

// A Noter lists the records that came from another system, and returns how far the changes of
// that system have been imported. An [Importer] that supports [ImportOptions.Source]
// implements it.
type Noter interface {
	// Noted returns the keys of records of a resource that came from a source, above a key, in
	// ascending order, at most limit. Records that are parts are not noted.
	Noted(ctx context.Context, source string, r Resource, after Key, limit int) ([]Key, error)
	// Position returns the last position that was stored for a source, or "".
	Position(ctx context.Context, source string) (string, error)
}

// An ExistingPolicy determines how an import treats a record whose key exists.
type ExistingPolicy uint8

const (
	// KeepExisting leaves it unchanged.
	KeepExisting ExistingPolicy = iota
	// ReplaceExisting replaces all its values and parts.
	ReplaceExisting
	// MergeExisting stores the values that are not absent from the imported record, and leaves
	// its parts unchanged.
	MergeExisting
	// RefuseExisting fails with kind Conflict.
	RefuseExisting
)

// ImportOptions control an import.
type ImportOptions struct {
	Existing ExistingPolicy
	// DryRun reports the outcomes without storing anything.
	DryRun bool
	// Expected, if not nil, reports in a dry run whether a record that does not exist
	// would have been stored by now.
	Expected func(Resource, Key) bool
	// Push makes an importer with a backend create at once the records and parts that the
	// backend lacks. Otherwise clients do not see these until they are pushed.
	Push bool
	// Source names the system that the records come from, at most 64 characters. The store
	// notes it for each record that the import creates or finds equal, changed or kept. If
	// Source is "", the import notes nothing.
	Source string
	// Position, if not "", is how far the changes of the source have been imported with this
	// batch, in a text of the caller's, at most 32 KiB. It is stored in the transaction of the
	// import, even if the batch is empty, unless an [Imported.Err] reports that some of the
	// source's changes are missing.
	Position string
	// Passed holds keys that the other system has assigned: the keys that the store chooses
	// later are greater, even if it holds no such record.
	Passed map[Resource]Key
	// Content returns the bytes of an image by the value of its attribute file. The import
	// calls it for new images that come without bytes and whose file it does not have. An
	// error that is [fs.ErrNotExist] stores the image without bytes. If Content is nil, no
	// image has bytes.
	Content func(ctx context.Context, file string) ([]byte, error)
}

// An Imported is the outcome of the import of one record.
type Imported struct {
	Key     Key // 0 in a dry run if the store chooses the key
	Outcome ImportOutcome
	// Pending: some stored values differ from the imported ones, as clients have changed them
	// here and the source does not have these changes yet.
	Pending bool
	// Err, if not nil, is the reason why the record stayed unchanged while the rest of the
	// batch was imported, or why the backend lacks some new parts: the backend refused the
	// change, or another process is writing the record. Kinds: the kinds of Import and of the
	// writes of a [Store].
	Err error
}

// An ImportOutcome is the effect of an import on a record and its parts.
type ImportOutcome uint8

const (
	// ImportCreated: the record is new, or was stored here and is new at the backend.
	ImportCreated ImportOutcome = iota
	// ImportChanged: the record or a part of it was changed.
	ImportChanged
	// ImportEqual: the record and its parts were the same already, or were gone already.
	ImportEqual
	// ImportKept: a record with the key exists and was left unchanged.
	ImportKept
	// ImportRemoved: the record was removed.
	ImportRemoved
)

// An Exporter reads records as an [Importer] stores them. An [Adapter] may implement it.
type Exporter interface {
	// Export returns the records of a resource whose keys are above a key, in ascending order,
	// at most limit; -1 is below all keys. A record comes with all its parts, a product also
	// with its stock item and images, and with all scoped values. Kinds: Unsupported for the
	// parts of products and orders.
	Export(ctx context.Context, r Resource, after Key, limit int) ([]Aggregate, error)
}
