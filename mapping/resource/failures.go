package resource

import (
	"context"
	"errors"
	"log/slog"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// IsStoreError reports whether a store refused a write with an error of the given kind,
// because of the given attribute.
func IsStoreError(err error, kind adapter.ErrorKind, attribute string) bool {
	var fault *adapter.Error
	return errors.As(err, &fault) && fault.Kind == kind && fault.Field == attribute
}

// ParseKey parses an id in a path. One that is no id is not found.
func ParseKey(d *contract.Dialect, id string) (adapter.Key, error) {
	n, ok := codec.ParseID(id)
	return KeyOrNotFound(d, n, ok)
}

// ParseTruncatedKey is like [ParseKey], for calls where the original truncates a
// fractional id (wire 2).
func ParseTruncatedKey(d *contract.Dialect, id string) (adapter.Key, error) {
	if d.TruncatesIDs {
		n, ok := codec.ParseIDPart(id)
		return KeyOrNotFound(d, n, ok)
	}
	return ParseKey(d, id)
}

// KeyOrNotFound returns a parsed id as a key, or the fault for an unknown record.
func KeyOrNotFound(d *contract.Dialect, n int64, ok bool) (adapter.Key, error) {
	if !ok {
		return 0, d.Fault(contract.NotFound)
	}
	return adapter.Key(n), nil
}

// LogFailure logs the cause of a failure that the client sees only in general terms, or
// not at all. While the circuit breaker of the backend is open, thousands of calls a
// second may fail in the same way, so these failures are logged at debug level only.
func LogFailure(ctx context.Context, log *slog.Logger, call, message string, err error) {
	level := slog.LevelError
	if known, ok := errors.AsType[*adapter.Error](err); ok && known.RetryAfter > 0 {
		level = slog.LevelDebug
	}
	log.LogAttrs(ctx, level, message,
		slog.String("call", call),
		slog.String("kind", adapter.KindOf(err).String()),
		slog.Any("error", err))
}
