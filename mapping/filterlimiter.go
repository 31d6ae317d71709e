package mapping

import (
	"context"
	"errors"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/budget"
	"github.com/portico-commerce/portico/mapping/contract"
)

// A filterLimiter limits the work for lists with expensive conditions: those that match
// patterns, or compare more values than a database looks up in an index. One such list
// may scan every text of the catalog, and a Guest may request as many as they like. The
// limiter runs a few of them at a time, at most half of them for Guests, each with a
// short timeout. A timeout here says nothing about the health of the backend, so it does
// not count for the circuit breaker.
type filterLimiter struct {
	all, guests *budget.Budget
	standard    *filterLimits // of lists that are read for no call
}

// filterLimits limit the lists with expensive conditions of one call. They do not change
// while the call lasts, although those of later calls may.
type filterLimits struct {
	guest      bool          // the caller is a Guest
	timeout    time.Duration // 0 means none
	matchBytes int64         // see [adapter.Query]
}

func newFilterLimiter(settings *Settings) *filterLimiter {
	all, guests := newBudgetPair("filters", settings.FiltersInFlight)
	return &filterLimiter{all, guests, newFilterLimits(settings, false)}
}

func newFilterLimits(settings *Settings, guest bool) *filterLimits {
	return &filterLimits{guest, settings.FilterTimeout, settings.MatchBytes}
}

var errFilterTimeout = errors.New("filtering the list took too long")

// filterLimitsKey is the context key of the filterLimits of a call.
type filterLimitsKey struct{}

// withFilterLimits returns ctx with the limits of the lists that c reads, for a
// filterLimiter.
func (s *Service) withFilterLimits(ctx context.Context, c *Call) context.Context {
	limits := s.callerFilters
	if c.Principal.Role == contract.Guest {
		limits = s.guestFilters
	}
	return context.WithValue(ctx, filterLimitsKey{}, limits)
}

// run calls list, which answers q for records of the schema: immediately if q is cheap,
// otherwise in a slot of the limiter and with its timeout. It returns the error of list,
// or one of kind Unavailable if no slot was free in time or list timed out.
func (f *filterLimiter) run(ctx context.Context, schema *adapter.Schema, q *adapter.Query, list func(context.Context) error) error {
	if !isExpensive(schema, q) {
		return list(ctx)
	}
	limits, ok := ctx.Value(filterLimitsKey{}).(*filterLimits)
	if !ok {
		limits = f.standard
	}
	slots := f.all
	if limits.guest {
		slots = f.guests
	}
	if err := slots.Take(ctx, 1); err != nil {
		return err
	}
	defer slots.Return(1)
	q.MatchBytes = limits.matchBytes
	limited := ctx
	if limits.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, limits.timeout, errFilterTimeout)
		defer cancel()
	}
	err := list(limited)
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(limited), errFilterTimeout) {
		return &adapter.Error{Kind: adapter.Unavailable, Op: "list " + string(schema.Resource), Err: errFilterTimeout, RetryAfter: time.Second}
	}
	return err
}

// maxCheapOperands is the number of operands up to which conditions count as cheap.
// Databases look up that many values in an index, and compare more of them record by
// record.
const maxCheapOperands = 500

// isExpensive reports whether the backend has to look beyond an index to answer q.
func isExpensive(schema *adapter.Schema, q *adapter.Query) bool {
	isComposite := func(name string) bool {
		at, ok := schema.Index(name)
		return ok && (schema.Attributes[at].Kind == adapter.KindTexts || schema.Attributes[at].Kind == adapter.KindRecords)
	}
	operands := 0
	for _, condition := range q.Where {
		for _, test := range condition.Any {
			operands += 1 + len(test.Operands)
			if test.Op.TextOnly() || isComposite(test.Attribute) {
				return true
			}
		}
	}
	return operands > maxCheapOperands || isComposite(q.OrderBy)
}
