package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// ErrUnreadableBody is the error of a request whose body cannot be read.
var ErrUnreadableBody = errors.New("mapping: the body of the request cannot be read")

// faultsOf translates the error that ended c into the entries that the client sees. It is
// the only place that turns errors of other packages into messages of the contract.
// unexpected reports whether the cause belongs in the log.
func (s *Pipeline) faultsOf(c *Run, err error) (faults contract.Faults, unexpected bool) {
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
	case errors.Is(err, resource.ErrTooManyRows):
		return contract.Faults{s.dialect.Fault(contract.LimitError)}, false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return contract.Faults{s.dialect.Fault(contract.Unavailable)}, true
	}
	known, _ := errors.AsType[*adapter.Error](err)
	switch kind := adapter.KindOf(err); {
	case kind == adapter.Unsupported && known.Field == "" && c.Route != nil && c.Method != contract.GET: // the store takes no writes
		return contract.Faults{s.dialect.Fault(c.Route.Unimplemented)}, false
	case kind == adapter.NotFound:
		return contract.Faults{s.dialect.Fault(contract.NotFound)}, false
	case kind == adapter.Unavailable:
		return contract.Faults{s.dialect.Fault(contract.Unavailable)}, true
	default:
		return contract.Faults{s.internalFault(c)}, true
	}
}

// A RateLimitError reports that a caller has exceeded its rate.
type RateLimitError struct {
	RetryAfter int // in seconds
}

// Error names the number of seconds after which the caller may call again.
func (e *RateLimitError) Error() string {
	return "mapping: too many calls; the next may be sent in " + strconv.Itoa(e.RetryAfter) + " s"
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
func (s *Pipeline) internalFault(c *Run) contract.Fault {
	if c.Route == nil {
		return s.dialect.Fault(contract.InternalError)
	}
	return s.dialect.Fault(c.Route.Failed)
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

// ErrPanicked is the error of a call whose handler has panicked. The panic has been logged.
var ErrPanicked = errors.New("panic")

// LogPanic logs a panic with its stack trace.
func (s *Pipeline) LogPanic(ctx context.Context, c *Run, p any) {
	s.log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("call", c.Name()), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}
