package mapping

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
)

// faultsOf translates the error that ended c into the entries that the client sees. It is
// the only place that turns errors of other packages into messages of the contract.
// unexpected reports whether the cause belongs in the log.
func (s *Service) faultsOf(c *Call, err error) (faults contract.Faults, unexpected bool) {
	var single contract.Fault
	var problem *auth.Problem
	var rate *RateLimitError
	switch {
	case errors.As(err, &rate):
		return contract.Faults{s.dialect.Fault(contract.TooManyRequests)}, false
	case errors.As(err, &faults):
		return faults, false
	case errors.As(err, &single):
		return contract.Faults{single}, false
	case errors.As(err, &problem):
		return contract.Faults{s.dialect.Fault(contract.Unauthorized, problem.Error())}, false
	case errors.Is(err, auth.ErrUnverifiable):
		return contract.Faults{s.dialect.Fault(contract.UnverifiableSignature)}, false
	case errors.Is(err, ErrUnreadableBody):
		return contract.Faults{s.dialect.Fault(contract.RequestInvalid)}, false
	case errors.Is(err, errTooManyRows):
		return contract.Faults{s.dialect.Fault(contract.LimitError)}, false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return contract.Faults{s.dialect.Fault(contract.Unavailable)}, true
	}
	switch adapter.KindOf(err) {
	case adapter.NotFound:
		return contract.Faults{s.dialect.Fault(contract.NotFound)}, false
	case adapter.Unavailable:
		return contract.Faults{s.dialect.Fault(contract.Unavailable)}, true
	default:
		return contract.Faults{s.internalFault(c)}, true
	}
}

// RetryAfter returns the number of seconds, at least 1, after which a client may retry a
// call that failed with err, or 0 if retrying does not help.
func RetryAfter(err error) int {
	var known *adapter.Error
	var rate *RateLimitError
	switch {
	case errors.As(err, &rate):
		return rate.RetryAfter
	case errors.As(err, &known):
		if known.Kind != adapter.Unavailable {
			return 0
		}
		return int(max(1, (known.RetryAfter+time.Second-1)/time.Second))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return 1
	default:
		return 0
	}
}

// internalFault returns the entry for a failure that the client did not cause.
func (s *Service) internalFault(c *Call) contract.Fault {
	if c.Route == nil {
		return s.dialect.Fault(contract.InternalError)
	}
	return s.dialect.Fault(c.Route.Failed)
}

// isStoreError reports whether a store refused a write with an error of the given kind,
// because of the given attribute.
func isStoreError(err error, kind adapter.ErrorKind, attribute string) bool {
	var fault *adapter.Error
	return errors.As(err, &fault) && fault.Kind == kind && fault.Field == attribute
}

// envelope returns the body of an error reply (wire 8).
func envelope(faults contract.Faults) *codec.Node {
	entries := codec.Node{Kind: codec.Struct}
	for i, f := range faults {
		entries.Members = append(entries.Members, codec.Member{Key: strconv.Itoa(i), Value: codec.RecordNode(
			codec.Member{Key: "code", Value: codec.NumberNode(strconv.Itoa(f.Code))},
			codec.Member{Key: "message", Value: codec.TextNode(f.Message)},
		)})
	}
	node := codec.RecordNode(codec.Member{Key: "messages", Value: codec.RecordNode(codec.Member{Key: "error", Value: entries})})
	return &node
}

// shouldLog reports whether err is worth a log entry: a client that has gone is not, and
// neither is a panic, which has already been logged.
func shouldLog(err error) bool {
	return !errors.Is(err, context.Canceled) && !errors.Is(err, ErrPanicked)
}

// logFailure logs the cause of a failure that the client sees only in general terms, or
// not at all. While the circuit breaker of the backend is open, thousands of calls a
// second may fail in the same way, so those are logged at debug level only.
func (s *Service) logFailure(ctx context.Context, call, message string, err error) {
	level := slog.LevelError
	var known *adapter.Error
	if errors.As(err, &known) && known.RetryAfter > 0 {
		level = slog.LevelDebug
	}
	s.log.LogAttrs(ctx, level, message,
		slog.String("call", call),
		slog.String("kind", adapter.KindOf(err).String()),
		slog.Any("error", err))
}
