package outbox

import "github.com/portico-commerce/portico/adapter"

// An Owner says which system has the writes of a resource.
type Owner struct {
	Resource adapter.Resource
	// Mirrored: Portico has them, and the other system repeats them. Otherwise the other
	// system has them.
	Mirrored bool
	// Turning: it is about to change.
	Turning bool
	// Epoch grows with every change.
	Epoch int64
}

// A Process is one that clients write through.
type Process struct {
	ID string
	// Wishes has the resources whose writes the process is configured to mirror.
	Wishes map[adapter.Resource]bool
	// Known has of each resource the last epoch that the process knows. It has no writes in
	// progress that began before.
	Known map[adapter.Resource]int64
}

// A NoTurnError says why the writes of a resource cannot change sides now.
type NoTurnError struct{ Reason string }

// Error returns the reason.
func (e *NoTurnError) Error() string { return e.Reason }
