package adapter

import "context"

// A BatchUpdater is a [Store] that can change several records in one transaction. Callers use
// [UpdateBatch], since a store that wraps another one supports batches only if the other one
// does.
type BatchUpdater interface {
	// UpdateBatch changes records one after the other, in the order of batch, as Update does.
	// No other write of these records comes between two of them, in any process, and readers
	// see all changes or none. A record may be in the batch several times.
	//
	// failures has an element for each record: nil if it was changed, and otherwise the error of
	// its RunChange, or one of kind NotFound, Conflict, Invalid, Unsupported or Internal. A failure
	// undoes the changes of its record alone. If err is not nil, nothing was stored. Kinds:
	// Unsupported if the store does not support batches; Unavailable, Internal.
	UpdateBatch(ctx context.Context, batch []UpdateParams) (failures []error, err error)
}

// UpdateBatch changes records of s as described at [BatchUpdater]. It fails with kind
// Unsupported if s is not a BatchUpdater.
func UpdateBatch(ctx context.Context, s Store, batch []UpdateParams) (failures []error, err error) {
	if b, ok := s.(BatchUpdater); ok {
		return b.UpdateBatch(ctx, batch)
	}
	return nil, &Error{Kind: Unsupported, Op: "update a batch"}
}
