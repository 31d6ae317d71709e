package adapter

import "context"

// An Importer stores records of another system under the keys and with the times that they
// have there. It derives, checks and dates nothing that a client's write would, except that
// unique values stay unique, that a customer has one default address of each kind, and that
// records without times get the present one. Keys that the store chooses later are greater.
// An [Adapter] may implement it.
type Importer interface {
	// Import stores a batch in one transaction and says what became of each record. The
	// same batch can be imported again. If it fails, nothing is stored. Kinds: NotFound
	// with Field if an owner does not exist; Conflict with Field if another record has a
	// unique value or the key of a part; Invalid; Unsupported for resources that cannot be
	// imported.
	Import(ctx context.Context, batch []Aggregate, o ImportOptions) ([]Imported, error)
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
}

// An Imported says what became of one record.
type Imported struct {
	Key     Key // 0 in a dry run if the store chooses the key
	Outcome ImportOutcome
}

// An ImportOutcome is what an import did with a record and its parts.
type ImportOutcome uint8

const (
	// ImportCreated: the record is new.
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
