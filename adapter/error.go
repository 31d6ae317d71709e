package adapter

import (
	"errors"
	"time"
)

// An ErrorKind classifies what went wrong, for programs; texts are for the log.
type ErrorKind uint8

const (
	// Internal: anything not named below.
	Internal ErrorKind = iota
	// NotFound: no record of that key.
	NotFound
	// Conflict: the write would break a rule of uniqueness, or lost against
	// another one that cannot be repeated.
	Conflict
	// Invalid: the upstream refuses a value; [Error.Field] names it if known.
	Invalid
	// Unsupported: the upstream has no such resource, operation or attribute.
	Unsupported
	// Unavailable: the upstream cannot be reached, is overloaded or did not
	// answer in time. The same call may succeed later.
	Unavailable
)

// String returns the kind's name in lower case, fit for a label.
func (k ErrorKind) String() string {
	switch k {
	case NotFound:
		return "not_found"
	case Conflict:
		return "conflict"
	case Invalid:
		return "invalid"
	case Unsupported:
		return "unsupported"
	case Unavailable:
		return "unavailable"
	default:
		return "internal"
	}
}

// An Error is what the methods of [Adapter] and [Store] return.
type Error struct {
	Kind  ErrorKind
	Op    string // what was tried, "update stock_items 7"
	Field string // the attribute at fault, if there is one
	Err   error  // the cause, for the log; never shown to a client
	// RetryAfter, with kind Unavailable, is how long the upstream should be left
	// alone, in whole seconds; 0 when nobody knows.
	RetryAfter time.Duration
}

// Error returns the operation, the kind, the field and the cause.
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

// KindOf returns the kind of err: that of the [*Error] in its chain, or
// Internal.
func KindOf(err error) ErrorKind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
