package adapter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An ErrorKind classifies an error for programs; messages are for the log.
type ErrorKind uint8

const (
	// Internal: any error not named below.
	Internal ErrorKind = iota
	// NotFound: no record has the key.
	NotFound
	// Conflict: the write would violate a uniqueness rule, whose attribute [Error.Field]
	// must name if a client can set it; or it lost against a concurrent write and cannot be
	// repeated.
	Conflict
	// Invalid: the backend refuses a value; [Error.Field] names its attribute if known.
	Invalid
	// Unsupported: the backend has no such resource, operation or attribute.
	Unsupported
	// Unavailable: the backend cannot be reached, is overloaded or did not answer in time.
	// The same call may succeed later.
	Unavailable
)

// errorKindNames are the names of the kinds.
var errorKindNames = [...]string{
	Internal: "internal", NotFound: "not_found", Conflict: "conflict",
	Invalid: "invalid", Unsupported: "unsupported", Unavailable: "unavailable",
}

// String returns the kind's name in lower case, usable as a metric label.
func (k ErrorKind) String() string {
	if int(k) >= len(errorKindNames) {
		return Internal.String()
	}
	return errorKindNames[k]
}

// UnmarshalText sets k to the kind with this name. Its error lists the names.
func (k *ErrorKind) UnmarshalText(name []byte) error {
	i := slices.Index(errorKindNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("must be %s or %s", strings.Join(errorKindNames[:Unavailable], ", "), Unavailable)
	}
	*k = ErrorKind(i)
	return nil
}

// An Error is the error that the methods of [Adapter] and [Store] return.
type Error struct {
	Kind  ErrorKind
	Op    string // the operation and its object, such as "update stock_items 7"
	Field string // the attribute at fault, "" if none is
	Err   error  // the cause, for the log; it is never shown to a client
	// RetryAfter, with kind Unavailable, is how long to wait before the next call, in whole
	// seconds; 0 if unknown.
	RetryAfter time.Duration
}

// Error returns the operation, the kind, the attribute and the cause.
func (e *Error) Error() string {
	s := e.Op + ": " + e.Kind.String()
	if e.Field != "" {
		s += " (" + e.Field + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the [*Error] in err's chain. It returns Internal if there is
// none, also for a nil error.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// ErrContention is in the chain of an error of kind [Unavailable] if the backend answered, but
// concurrent writes of the same records won every attempt. Nothing was written.
var ErrContention = errors.New("other writes of the same records got in the way each time: try again")

// IsRefusal reports whether err guarantees that nothing was written: it is a [*RefusedError],
// or its kind is NotFound, Conflict, Invalid or Unsupported.
func IsRefusal(err error) bool {
	if _, ok := errors.AsType[*RefusedError](err); ok {
		return true
	}
	switch KindOf(err) {
	case NotFound, Conflict, Invalid, Unsupported:
		return true
	default:
		return false
	}
}
