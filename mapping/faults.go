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

// faultsOf turns whatever stopped c into the entries its client sees. It is
// the only place where errors of other packages become the contract's texts.
// unexpected reports that the cause belongs in the log.
func (s *Service) faultsOf(c *Call, err error) (faults contract.Faults, unexpected bool) {
	var one contract.Fault
	var problem *auth.Problem
	var rate *RateLimitError
	switch {
	case errors.As(err, &rate):
		return contract.Faults{s.dialect.Fault(contract.TooManyRequests)}, false
	case errors.As(err, &faults):
		return faults, false
	case errors.As(err, &one):
		return contract.Faults{one}, false
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

// RetryAfter returns the whole seconds after which a client may try again what
// failed with err, at least 1; 0 when trying again is no remedy.
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

// failed returns the entry for what is not the client's fault.
func (s *Service) internalFault(c *Call) contract.Fault {
	if c.Route == nil {
		return s.dialect.Fault(contract.InternalError)
	}
	return s.dialect.Fault(c.Route.Failed)
}

// refusedFor reports whether a store refused a write of a kind, and for the
// attribute.
func isStoreError(err error, kind adapter.ErrorKind, attribute string) bool {
	var fault *adapter.Error
	return errors.As(err, &fault) && fault.Kind == kind && fault.Field == attribute
}

// envelope returns the body of an error reply (wire 8).
func envelope(faults contract.Faults) *codec.Node {
	entries := codec.Node{Kind: codec.Struct}
	for i, f := range faults {
		entries.Members = append(entries.Members, codec.Member{Key: strconv.Itoa(i), Value: recordNode(
			codec.Member{Key: "code", Value: codec.NumberNode(strconv.Itoa(f.Code))},
			codec.Member{Key: "message", Value: codec.TextNode(f.Message)},
		)})
	}
	node := recordNode(codec.Member{Key: "messages", Value: recordNode(codec.Member{Key: "error", Value: entries})})
	return &node
}

func recordNode(members ...codec.Member) codec.Node {
	return codec.Node{Kind: codec.Struct, Members: members}
}

// worthLogging reports whether an error says more than that the client is gone, or what
// has been logged already.
func shouldLog(err error) bool {
	return !errors.Is(err, context.Canceled) && !errors.Is(err, errPanicked)
}

// report logs the cause of what a client is told in general terms, or not at all.
// Of calls that were not sent, because the upstream is left alone, there may be
// thousands a second that say nothing new.
func (s *Service) logFailure(ctx context.Context, call, what string, err error) {
	level := slog.LevelError
	var known *adapter.Error
	if errors.As(err, &known) && known.RetryAfter > 0 {
		level = slog.LevelDebug
	}
	s.log.LogAttrs(ctx, level, what,
		slog.String("call", call),
		slog.String("kind", adapter.KindOf(err).String()),
		slog.Any("error", err))
}
