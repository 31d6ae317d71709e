package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/outbox"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// An Outbox has the entries that are to be delivered. Package sqlstore documents its methods.
type Outbox interface {
	Due(ctx context.Context, limit int) ([]outbox.Entry, error)
	ByID(ctx context.Context, ids ...int64) ([]outbox.Entry, error)
	EndAll(ctx context.Context) error
	Begin(ctx context.Context, e outbox.Entry, states map[string]string) (ok bool, err error)
	Failed(ctx context.Context, e outbox.Entry, f outbox.Failure) error
	Waiting(ctx context.Context, root outbox.Root) (bool, error)
	BeginCreate(ctx context.Context, c outbox.Create) (id int64, err error)
	EndCreate(ctx context.Context, id int64) error
	UnknownCreate(ctx context.Context, id int64, reason string) error
	Creates(ctx context.Context, r adapter.Resource, naturalKey string, limit int) ([]outbox.Create, error)
}

// A Source is the database of the legacy store. Package importer documents its methods.
type Source interface {
	Refresh(ctx context.Context, entries ...outbox.Entry) error
	Settle(ctx context.Context, deliveries ...outbox.Delivery) (unstored []outbox.Entry, err error)
	Await(ctx context.Context, r adapter.Resource, keys ...adapter.Key)
	FindCreated(ctx context.Context, r adapter.Record) (key adapter.Key, found bool, err error)
	HasCreated(ctx context.Context, r adapter.Record) (bool, error)
}

const (
	// deliverBatch is how many entries are delivered at the same time: each is of another
	// product or customer.
	deliverBatch = 8
	// idlePoll is the time between two looks into an empty outbox.
	idlePoll = 200 * time.Millisecond
	// An entry that cannot be delivered now is retried with exponential backoff from firstRetry to
	// lastRetry. A parked entry starts at parkedRetry.
	firstRetry, lastRetry = time.Second, outbox.MaxWait
	parkedRetry           = time.Minute
	lastParkedRetry       = outbox.MaxParkedWait
	// maxAttempts is how often the legacy store may fail with an entry before the entry is parked,
	// so that it does not block others of the same product or customer forever.
	maxAttempts = 10
)

// A Deliverer delivers entries of the outbox. Only one of several processes may do so at a time.
type Deliverer struct {
	Outbox  Outbox
	Source  Source
	Records adapter.Exporter // Portico's
	// States returns the states of attributes of a record in an aggregate.
	States   func(one adapter.Aggregate, of outbox.Record, attributes []string) map[string]string
	Requests func() *Requests // under the configuration in force
	Sender   *Sender
	// Count counts an attempt to deliver an entry, by its outcome, one of Outcomes.
	Count func(r adapter.Resource, outcome string)
	Log   *slog.Logger
	// MayDeliver reports whether no other process can have begun to deliver. It is asked
	// just before each request.
	MayDeliver func() bool
}

// Run delivers until ctx ends.
func (d *Deliverer) Run(ctx context.Context) {
	ended := false
	for failures := 0; ctx.Err() == nil; {
		n, err := 0, error(nil)
		if !ended {
			err = d.Outbox.EndAll(ctx) // of a process that delivered before
			ended = err == nil
		}
		if ended {
			n, err = d.deliverDue(ctx)
		}
		pause := time.Duration(0)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause = backoff(firstRetry, lastRetry, failures)
			failures++
			ended = false // some entries may still be marked as being sent
			d.Log.Warn("changes cannot be repeated at the legacy store now, and are tried again", "error", err, "in", pause)
		case n == 0:
			pause, failures = idlePoll, 0
		default:
			failures = 0
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// backoff returns the time before the next attempt.
func backoff(first, last time.Duration, failures int) time.Duration {
	return min(first<<min(failures, 16), last)
}

// deliverDue delivers some entries that are due, and returns how many there were. An error concerns
// all entries.
func (d *Deliverer) deliverDue(ctx context.Context) (n int, err error) {
	entries, err := d.Outbox.Due(ctx, deliverBatch)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	entries = onePerRoot(entries)
	if entries, err = d.refresh(ctx, entries); err != nil {
		return 0, err
	}
	attempts := make([]attempt, len(entries))
	var sending sync.WaitGroup
	for i, e := range entries {
		sending.Go(func() { attempts[i] = d.attempt(ctx, e) })
	}
	sending.Wait()
	return len(entries), d.finish(ctx, attempts)
}

// onePerRoot returns the first entry of each root, so that no two requests about one product or
// customer are in flight at the same time: a parked entry and a later one may both be due.
func onePerRoot(entries []outbox.Entry) (first []outbox.Entry) {
	seen := map[outbox.Root]bool{}
	for _, e := range entries {
		if !seen[e.Root] {
			seen[e.Root] = true
			first = append(first, e)
		}
	}
	return first
}

// refresh applies the legacy store's changes of the stock quantities to send, and returns the
// updated entries.
func (d *Deliverer) refresh(ctx context.Context, entries []outbox.Entry) ([]outbox.Entry, error) {
	stock := slices.DeleteFunc(slices.Clone(entries), func(e outbox.Entry) bool { return e.Resource != adapter.StockItems })
	if len(stock) == 0 {
		return entries, nil
	}
	if err := d.Source.Refresh(ctx, stock...); err != nil {
		return nil, err
	}
	ids := make([]int64, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return d.Outbox.ByID(ctx, ids...)
}

// An attempt is the result of sending an entry.
type attempt struct {
	entry    outbox.Entry
	delivery outbox.Delivery
	outcome  outcome
	reason   string
	unstored bool // the legacy store has certainly not stored the request
}

// An outcome is the result of an attempt to deliver an entry.
type outcome string

const (
	// accepted: the legacy store reports success, or that the record does not exist.
	accepted outcome = "accepted"
	// empty: there is nothing that could be sent.
	empty outcome = "empty"
	// refused: it would refuse the same request again.
	refused outcome = "refused"
	// failed: it has failed with this entry, or does not reply.
	failed outcome = "failed"
	// superseded: a client has changed the record before anything was sent.
	superseded outcome = "superseded"
	// unavailable: it cannot be reached, rejects Portico's credentials, or takes no requests at all
	// now.
	unavailable outcome = "unavailable"
)

// Outcomes returns the outcomes of attempts to deliver an entry.
func Outcomes() []string {
	var names []string
	for _, o := range []outcome{accepted, empty, superseded, refused, failed, unavailable} {
		names = append(names, string(o))
	}
	return names
}

// attempt sends an entry.
func (d *Deliverer) attempt(ctx context.Context, e outbox.Entry) attempt {
	a := attempt{entry: e, delivery: outbox.Delivery{Entry: e}}
	requests, err := d.requests(ctx, &a)
	switch {
	case err != nil && (ctx.Err() != nil || adapter.KindOf(err) == adapter.Unavailable):
		a.outcome, a.reason, a.unstored = unavailable, err.Error(), true
		return a
	case err != nil:
		a.outcome, a.reason, a.unstored = refused, "it cannot be said in the legacy store's form: "+err.Error(), true
		return a
	case len(requests) == 0:
		a.outcome = empty
		return a
	}
	begun, err := d.Outbox.Begin(ctx, e, d.States(a.delivery.Sent, e.Record, a.delivery.Attributes))
	switch {
	case err != nil:
		a.outcome, a.reason, a.unstored = unavailable, err.Error(), true
		return a
	case !begun: // a client has changed it: it is due again
		a.outcome = superseded
		return a
	}
	for i, request := range requests {
		if !d.MayDeliver() {
			a.outcome, a.reason, a.unstored = unavailable, "another process may deliver now", i == 0
			return a
		}
		answer, err := d.Sender.send(ctx, request)
		a.judge(request, answer, err)
		a.unstored = a.unstored && i == 0
		if a.outcome != accepted {
			break
		}
	}
	return a
}

// requests returns the requests for an entry, with its present values.
func (d *Deliverer) requests(ctx context.Context, a *attempt) (all []Request, err error) {
	e := a.entry
	if e.Removed {
		schema := d.Requests().schemas.Of(e.Resource)
		record, err := e.Identity.Decode(schema)
		if err != nil {
			return nil, err
		}
		request, err := d.Requests().Delete(record, e.StoreID)
		if err != nil || e.Gone {
			return []Request{request}, err
		}
		all = append(all, request)
	}
	if len(e.Agreed) == 0 {
		return all, nil
	}
	found, err := d.Records.Export(ctx, e.Root.Resource, e.Root.Key-1, 1)
	if err != nil || len(found) == 0 || found[0].Record.Key() != e.Root.Key {
		return all, err
	}
	a.delivery.Sent = found[0]
	if e.Resource == adapter.CustomerAddresses { // which are aggregates of their own
		if a.delivery.Sent, err = d.exportOne(ctx, e.Resource, e.Key); err != nil {
			return all, err
		}
	}
	request, ok, err := d.Requests().Update(a.delivery.Sent, e.Resource, e.Key, e.StoreID, slices.Sorted(maps.Keys(e.Agreed)))
	if adapter.KindOf(err) == adapter.NotFound { // deleted in the meantime
		return all, nil
	}
	if err == nil {
		a.delivery.Attributes, a.delivery.Held = request.Attributes, request.Omitted
	}
	if ok && err == nil {
		all = append(all, request)
	}
	return all, err
}

// exportOne returns a record of Portico's, without a schema if there is none.
func (d *Deliverer) exportOne(ctx context.Context, r adapter.Resource, key adapter.Key) (adapter.Aggregate, error) {
	found, err := d.Records.Export(ctx, r, key-1, 1)
	if err != nil || len(found) == 0 || found[0].Record.Key() != key {
		return adapter.Aggregate{}, err
	}
	return found[0], nil
}

// judge sets the outcome from the reply to a request.
func (a *attempt) judge(request Request, answer *proxy.Answer, err error) {
	var unsent *proxy.NotSentError
	switch {
	case errors.As(err, &unsent):
		a.outcome, a.reason, a.unstored = unavailable, err.Error(), true
		return
	case err != nil:
		a.outcome, a.reason = failed, err.Error()
		return
	}
	switch status := answer.Status; {
	case status >= http.StatusOK && status < http.StatusMultipleChoices:
		a.outcome = accepted
	case status == http.StatusNotFound && request.Method == contract.DELETE.String():
		a.outcome = accepted // if it is not there, the legacy store's database says so
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		a.outcome, a.reason, a.unstored = unavailable, fmt.Sprintf("the legacy store does not accept Portico's consumer: %d %s", status, messages(refusal(answer))), true
	case status == http.StatusTooManyRequests:
		a.outcome, a.reason, a.unstored = unavailable, "the legacy store has had too many requests and answers 429", true
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		a.outcome, a.reason = unavailable, fmt.Sprintf("the legacy store is being maintained or is too busy, and answers %d", status)
	case status >= http.StatusInternalServerError:
		a.outcome, a.reason = failed, fmt.Sprintf("the legacy store answers %d", status)
	case status < http.StatusBadRequest:
		a.outcome, a.reason = unavailable, fmt.Sprintf("the legacy store answers %d: is legacy.url right?", status)
	default:
		a.outcome, a.reason, a.unstored = refused, messages(refusal(answer)), true
	}
}

// finish completes accepted entries, and records the failure of the others. It returns the errors
// of failed and unavailable attempts only if the legacy store has neither accepted nor refused any
// other entry.
func (d *Deliverer) finish(ctx context.Context, attempts []attempt) error {
	var deliveries []outbox.Delivery
	var errs, failures []error
	answered := false
	for _, a := range attempts {
		d.Count(a.entry.Resource, string(a.outcome))
		f := outbox.Failure{Reason: a.reason, Unstored: a.unstored}
		switch a.outcome {
		case accepted, empty:
			deliveries = append(deliveries, a.delivery)
			answered = answered || a.outcome == accepted
			continue
		case superseded:
			continue
		case unavailable:
			f.Away = true
			failures = append(failures, errors.New(a.reason))
		case failed:
			f.Parked = a.entry.Attempts+1 >= maxAttempts
			failures = append(failures, errors.New(a.reason))
		case refused:
			f.Parked, answered = true, true
		}
		errs = append(errs, d.fail(ctx, a.entry, f))
	}
	if !answered {
		errs = append(errs, failures...)
	}
	if len(deliveries) > 0 {
		unstored, err := d.Source.Settle(ctx, deliveries...)
		errs = append(errs, err)
		for _, e := range unstored {
			errs = append(errs, d.fail(ctx, e, outbox.Failure{Reason: "the legacy store has accepted the change and not stored it", Parked: e.Attempts+1 >= maxAttempts, Unstored: true}))
		}
	}
	return errors.Join(errs...)
}

// fail notes that an entry was not delivered, and when it is tried again. If the entry is parked,
// the others need not wait for it.
func (d *Deliverer) fail(ctx context.Context, e outbox.Entry, f outbox.Failure) error {
	wait := backoff(firstRetry, lastRetry, e.Attempts)
	if f.Parked {
		if !e.Parked {
			d.Log.Warn("the legacy store refuses a change, which is parked: see portico mirror list", "resource", string(e.Resource), "id", int64(e.Key))
		}
		wait = backoff(parkedRetry, lastParkedRetry, e.Attempts)
	}
	f.Parked, f.Retry = f.Parked || e.Parked, time.Now().Add(wait)
	return d.Outbox.Failed(ctx, e, f)
}
