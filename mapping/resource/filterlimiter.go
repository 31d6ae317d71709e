package resource

import (
	"context"
	"errors"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/limits"
)

// A FilterLimiter limits the work for lists with expensive conditions: conditions that
// match patterns, or compare more values than a database looks up in an index. One such
// list may scan every text of the catalog, and a Guest may request as many as they like.
// The limiter runs a few of them at a time, at most half of them for Guests, each with a
// short timeout. A timeout here says nothing about the health of the backend, so it does
// not count for the circuit breaker.
type FilterLimiter struct {
	slots    limits.BudgetPair
	standard *FilterLimits // of lists that are read for no call
}

// FilterSettings limit the work for lists with expensive conditions.
type FilterSettings struct {
	// FiltersInFlight, unless 0, limits how many such lists are read from the store at the
	// same time. FilterTimeout, unless 0, limits the time for one batch of such a list.
	// MatchBytes, unless 0, limits the text that is matched with patterns for it outside a
	// database, in bytes.
	FiltersInFlight, MatchBytes int64
	FilterTimeout               time.Duration
}

// FilterLimits limit the lists with expensive conditions of one call. They do not change
// while the call lasts, although later calls may have others.
type FilterLimits struct {
	guest      bool          // the caller is a Guest
	timeout    time.Duration // 0 means none
	matchBytes int64         // see [adapter.Query]
}

// NewFilterLimiter returns a limiter with slots of its own.
func NewFilterLimiter(settings FilterSettings) *FilterLimiter {
	return &FilterLimiter{limits.NewBudgetPair("filters", settings.FiltersInFlight), NewFilterLimits(settings, false)}
}

// NewFilterLimits returns the limits of the lists of one call.
func NewFilterLimits(settings FilterSettings, guest bool) *FilterLimits {
	return &FilterLimits{guest, settings.FilterTimeout, settings.MatchBytes}
}

// Budgets returns the budget of lists in flight.
func (f *FilterLimiter) Budgets() limits.BudgetPair { return f.slots }

var errFilterTimeout = errors.New("filtering the list took too long")

// filterLimitsKey is the context key of the filterLimits of a call.
type filterLimitsKey struct{}

// WithFilterLimits returns ctx with the limits of the lists that a call reads, for a
// filterLimiter.
func WithFilterLimits(ctx context.Context, limits *FilterLimits) context.Context {
	return context.WithValue(ctx, filterLimitsKey{}, limits)
}

// run calls list, which answers q for records of the schema: immediately if q is cheap,
// otherwise in a slot of the limiter and with its timeout. It returns the error of list,
// or one of kind Unavailable if no slot was free in time or list timed out.
func (f *FilterLimiter) run(ctx context.Context, schema *adapter.Schema, q *adapter.Query, list func(context.Context) error) error {
	if !isExpensive(schema, q) {
		return list(ctx)
	}
	limits, ok := ctx.Value(filterLimitsKey{}).(*FilterLimits)
	if !ok {
		limits = f.standard
	}
	slots := f.slots.For(limits.guest)
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
