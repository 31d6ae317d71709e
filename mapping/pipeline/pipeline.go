package pipeline

import (
	"context"
	"log/slog"
	"time"

	"github.com/portico-commerce/portico/mapping/auth"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/limits"
	"github.com/portico-commerce/portico/mapping/replycache"
	"github.com/portico-commerce/portico/mapping/resource"
)

// A Handler does the specific work of one call. It returns a reply, or an error that
// faultsOf can translate: a fault of the contract or an error of the adapter.
type Handler = func(context.Context, *resource.Call) (*resource.Reply, error)

// Settings limit the resources that calls may take.
type Settings struct {
	// BodyBytes and QueryBytes limit the body and the query string of a request, in bytes.
	// RequestBytes limits the memory for the bodies and queries of all concurrent requests,
	// including their decoded forms.
	BodyBytes    int64
	QueryBytes   int
	RequestBytes int64
	// MaxRows is the length at which a list without a limit ends. GuestMaxRows, unless 0,
	// is the length above which such a list is refused to a Guest.
	MaxRows, GuestMaxRows int64
	// BatchRows, unless 0, replaces the number of records that a long list holds at once.
	BatchRows int64
	// ListsInFlight, unless 0, limits how many lists longer than one batch are read and
	// sent at the same time.
	ListsInFlight int64
	// ConsumerRate is the number of calls per second that one consumer may send on
	// average, 0 for no limit, and ConsumerBurst the number it may send at once. Guests
	// are not consumers and not limited by it.
	ConsumerRate float64
	// SharedCounts, unless nil, adds up the calls of consumers over processes.
	SharedCounts  limits.SharedRates
	ConsumerBurst int
	// JSONWithoutAccept answers calls without an Accept header in JSON, in the dialect
	// without default formats.
	JSONWithoutAccept bool
	// Now returns the current time. It should return times with a monotonic clock
	// reading, as time.Now does.
	Now func() time.Time
	// AwaitChanges, unless nil, is called before each call that the backend answers. It
	// returns when everything that other processes have changed before has been
	// invalidated, or when that cannot be known.
	AwaitChanges func(context.Context) bool
}

// A Pipeline runs calls: the same steps in the same order for each of them, with the call's
// handler in the middle. It is safe for concurrent use.
type Pipeline struct {
	dialect    *contract.Dialect
	table      *contract.Table
	notOffered map[*contract.Route]bool // routes whose resource the adapter does not offer
	auth       *auth.Authenticator
	settings   Settings
	log        *slog.Logger
	limits     resource.Limits
	steps      []step
	handlers   map[string]Handler
	rates      *limits.Limiter[int64] // by consumer
	requests   requestBudgets
	lists      limits.BudgetPair  // of lists longer than one batch
	replyCache *replycache.Guests // nil: replies are not cached
	// limits of lists with expensive conditions, by caller
	callerFilters, guestFilters *resource.FilterLimits
}

// A step is one check of the pipeline.
type step func(context.Context, *Pipeline, *Run) error
