package adapter

import "context"

// An Importer stores records of another system under the keys and with the times that they
// have there. It derives, checks and dates nothing that a client's write would, except that
// unique values stay unique, that a customer has one default address of each kind, and that
// records without times get the present one. Keys that the store chooses later are greater.
// An [Adapter] may implement it.
type Importer interface {
	// Import stores a batch in one transaction and says what became of each record. The
	// same batch can be imported again. If it fails, nothing is stored. An importer with a
	// backend stores the records that this has one by one, so that some may be stored even
	// if it fails. Kinds: NotFound with Field if an owner does not exist; Conflict with
	// Field if another record has a unique value or the key of a part; Invalid, with Field
	// store_id for values at a store view that does not exist; Unsupported for resources
	// that cannot be imported. An error of o.Content is in the chain of the error.
	Import(ctx context.Context, batch []Aggregate, o ImportOptions) ([]Imported, error)
}

// A Noter tells which records came from another system, and how far its changes have come.
// An [Importer] that supports [ImportOptions.Source] implements it.
type Noter interface {
	// Noted returns the keys of records of a resource that came from a source, above a
	// key, in ascending order, at most limit. The records of parts are not noted.
	Noted(ctx context.Context, source string, r Resource, after Key, limit int) ([]Key, error)
	// Position returns the last position that was stored for a source, or "".
	Position(ctx context.Context, source string) (string, error)
}

// An ExistingPolicy says what an import does with a record whose key exists.
type ExistingPolicy uint8

const (
	// KeepExisting leaves it alone.
	KeepExisting ExistingPolicy = iota
	// ReplaceExisting replaces all its values and parts.
	ReplaceExisting
	// MergeExisting stores the values that are not absent from the imported record, and
	// leaves its parts alone.
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
	// Push has an importer with a backend create there at once what that lacks of the records
	// and their parts. Otherwise clients do not see these until they are pushed.
	Push bool
	// Source names the system that the records come from, at most 64 characters. The
	// store notes it for each record that the import creates or finds equal, changed or
	// kept. "": the import notes nothing.
	Source string
	// Position, if not "", says how far the changes of the source have come with this
	// import, in a text of the caller's, at most 32 KiB. It is stored in the transaction of
	// the import, also of an empty batch, unless an [Imported.Err] says that the source's
	// changes are not all here.
	Position string
	// Passed holds keys of the other system's: those that the store chooses later are
	// greater, even if it holds no such record.
	Passed map[Resource]Key
	// Content returns the bytes of an image by the value of its attribute file. The import
	// asks for those of new images that bring none and whose file it does not have. An
	// error that is [fs.ErrNotExist] stores the image without bytes. nil: none have any.
	Content func(ctx context.Context, file string) ([]byte, error)
}

// An Imported says what became of one record.
type Imported struct {
	Key     Key // 0 in a dry run if the store chooses the key
	Outcome ImportOutcome
	// Pending: some values are not those that were given, as clients have changed them here
	// and the source does not know that yet.
	Pending bool
	// Err, if not nil, says why the record stays as it was while the rest of the batch is
	// imported, or which new parts the backend lacks: the backend refuses the change, or
	// another process writes the record now. Kinds: those of Import and of the writes of a
	// [Store].
	Err error
}

// An ImportOutcome is what an import did with a record and its parts.
type ImportOutcome uint8

const (
	// ImportCreated: the record is new, or was stored here and is new at the backend.
	ImportCreated ImportOutcome = iota
	// ImportChanged: the record or a part of it was changed.
	ImportChanged
	// ImportEqual: the record and its parts were the same already, or were gone already.
	ImportEqual
	// ImportKept: a record with the key exists and was left alone.
	ImportKept
	// ImportRemoved: the record was removed.
	ImportRemoved
)

// An Exporter reads records as an [Importer] stores them. An [Adapter] may implement it.
type Exporter interface {
	// Export returns the records of a resource whose keys are above a key, in ascending
	// order, at most limit; -1 is below all keys. A record comes with all its parts, a product
	// with its stock item and images, too, and with all values at store views. Kinds:
	// Unsupported for the parts of products and orders.
	Export(ctx context.Context, r Resource, after Key, limit int) ([]Aggregate, error)
}
