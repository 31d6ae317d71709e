package mapping

import (
	"context"
	"errors"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/budget"
	"github.com/portico-commerce/portico/mapping/contract"
)

// filters bound the work for lists whose conditions are expensive: those that match
// patterns, or compare more than a database does with an index. One such list may look
// at every text of the catalog, and Guests may ask for as many as they like. They run
// apart from all other calls: a few at a time, of which Guests may have half, each for a
// short time. That a list takes longer says nothing about the upstream, so its breaker
// is not told.
type filterLimiter struct {
	all, guests *budget.Budget
	timeout     time.Duration // 0 is none
	matchBytes  int64         // see [adapter.Query]
}

func newFilterLimiter(settings *Settings) *filterLimiter {
	all, guests := newBudgetPair("filters", settings.FiltersInFlight)
	return &filterLimiter{all, guests, settings.FilterTimeout, settings.MatchBytes}
}

// errFilterTimeout is the cause of an error for a list whose conditions took too long.
var errFilterTimeout = errors.New("the conditions of the list took too long")

// fromGuest, in the context of a call, tells that a Guest has sent it.
type guestCallerKey struct{}

// withRole returns ctx with what the filters have to know of the caller of c.
func withCallerRole(ctx context.Context, c *Call) context.Context {
	if c.Principal.Role != contract.Guest {
		return ctx
	}
	return context.WithValue(ctx, guestCallerKey{}, true)
}

// run runs list, which answers q about records of the schema: at once where q is cheap,
// or else in a place among the filters, and until their time is over. Errors are those of
// list, and those of kind Unavailable for a place or for time that was not to be had.
func (f *filterLimiter) run(ctx context.Context, schema *adapter.Schema, q *adapter.Query, list func(context.Context) error) error {
	if !isExpensive(schema, q) {
		return list(ctx)
	}
	slots := f.all
	if ctx.Value(guestCallerKey{}) != nil {
		slots = f.guests
	}
	if err := slots.Take(ctx, 1); err != nil {
		return err
	}
	defer slots.Return(1)
	q.MatchBytes = f.matchBytes
	limited := ctx
	if f.timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, f.timeout, errFilterTimeout)
		defer cancel()
	}
	err := list(limited)
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(limited), errFilterTimeout) {
		return &adapter.Error{Kind: adapter.Unavailable, Op: "list " + string(schema.Resource), Err: errFilterTimeout, RetryAfter: time.Second}
	}
	return err
}

// manyOperands is how many operands conditions may have and be cheap. Databases look
// values up among as many; what has more is compared record by record.
const maxCheapOperands = 500

// expensive reports whether q takes a look at more than an index holds.
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
