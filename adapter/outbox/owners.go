package outbox

import "github.com/portico-commerce/portico/adapter"

// An Owner is the system that owns the writes of a resource.
type Owner struct {
	Resource adapter.Resource
	// Mirrored: Portico owns the writes, and the other system repeats them. Otherwise the
	// other system owns them.
	Mirrored bool
	// Turning: a handover to the other owner is in progress.
	Turning bool
	// Epoch grows when a handover begins, completes or is aborted.
	Epoch int64
}

// A Process is a Portico process that accepts client writes.
type Process struct {
	ID string
	// Wishes holds the desired owner by resource: true for the resources whose writes the
	// process is configured to mirror.
	Wishes map[adapter.Resource]bool
	// Known holds, by resource, the last epoch that the process knows. It has no writes in
	// progress that began before.
	Known map[adapter.Resource]int64
}

// A NoTurnError is the reason why a handover of a resource's writes is not possible now.
type NoTurnError struct{ Reason string }

// Error returns the reason.
func (e *NoTurnError) Error() string { return e.Reason }
