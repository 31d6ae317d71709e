package mapping

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/listquery"
)

const (
	// batchRows and batchBytes bound the records of a long list that are in memory at
	// once. Bytes bind where records are large, as products are.
	batchRows  = 500
	batchBytes = 512 << 10
	// keysAtOnce is the number of records that are read by their keys: a whole page.
	maxKeysPerQuery = 100
	// pageBytes bounds them for the list of a page, which is read in one query unless
	// its records are unusually large.
	pageBytes = 1 << 20
)

// rowLimits bound lists that have no limit of their own.
type rowLimits struct {
	total int64 // records of a list, which ends there
	batch int64 // records of a batch
	// most, unless 0, is the number of records from which on a list is refused.
	refuseAbove int64
}

// errTooManyRows refuses a list that has more records than its caller may ask for.
var errTooManyRows = errors.New("mapping: the list has more records than the caller may ask for without a limit")

// rowLimits returns what bounds a list that c asks for without a limit.
func (s *Service) rowLimits(c *Call) rowLimits {
	limits := s.limits
	if c.Principal.Role == contract.Guest {
		limits.refuseAbove = s.settings.GuestMaxRows
	}
	return limits
}

// A preparation completes the records of a batch that have been read, and
// returns those that belong to the list.
type batchHook func(context.Context, []adapter.Record) ([]adapter.Record, error)

// asRead leaves records as they are.
func noBatchHook(_ context.Context, records []adapter.Record) ([]adapter.Record, error) {
	return records, nil
}

// rows are the records of one list, read a batch at a time, so that a list of
// any length takes the memory of a batch. Each batch begins behind the record at
// which the one before ended, and not at a number of records, which writes
// between two batches would shift: no record comes twice, and none that is there
// all the while is left out. The exception is a record whose value of the
// attribute that sorts the list is changed meanwhile: it moves past the border
// of the batches one way or the other.
type rows struct {
	from   source
	next   adapter.ListParams // selects what is still to come
	limits rowLimits
	hook   batchHook
	// held is what is still to come where the store could only do the query in
	// part, and sent all of it.
	buffered    []adapter.Record
	allBuffered bool

	// keys are the records still to come where the list has an order of its own, and
	// byKeys says so: next selects none then.
	keys   []adapter.Key
	byKeys bool
	// shownNull names the field that is null in records without a value of it.
	shownNull string

	batch []adapter.Record // the latest
	ended bool             // no other follows it
}

// rows returns the wanted records among those that bounds leave: a page, or
// without a limit all of them in batches. The first batch has been read, so that
// what is wrong with the list is known before any of it is sent; it has no
// records only when the list has none.
func (s source) rows(ctx context.Context, wanted *listquery.List, bounds adapter.ListParams, limits rowLimits, hook batchHook) (*rows, error) {
	if wanted.Paging.Limit == 0 {
		bounds.Query = wanted.Query
		r, err := s.allRows(ctx, bounds, limits, hook)
		if r != nil {
			r.shownNull = wanted.ShownNull
		}
		return r, err
	}
	page, more, err := s.page(ctx, wanted, bounds)
	r := &rows{from: s, limits: limits, hook: hook, batch: page, ended: !more, shownNull: wanted.ShownNull}
	if more { // the rest of the page
		r.next = bounds
		r.next.Query = wanted.Query
		r.next.Query.After = s.mark(page[len(page)-1], wanted.Query.OrderBy)
		r.limits.total = wanted.Paging.Limit - int64(len(page))
	}
	if err == nil && len(page) > 0 {
		r.batch, err = hook(ctx, page)
	}
	return r, err
}

// allRows returns all the records p selects, as [source.rows] does.
func (s source) allRows(ctx context.Context, p adapter.ListParams, limits rowLimits, hook batchHook) (*rows, error) {
	r := &rows{from: s, next: p, limits: limits, hook: hook}
	// With one record more, a list that just fills a batch is known to be whole.
	if err := r.readBatch(ctx, limits.batch+1); err != nil {
		return r, err
	}
	if limits.refuseAbove > 0 && !(r.ended && int64(len(r.batch)) <= limits.refuseAbove) {
		if total, err := s.count(ctx, p); err != nil || total > limits.refuseAbove {
			return nil, cmp.Or(err, errTooManyRows)
		}
	}
	return r, nil
}

// following reads the next batch. It has no records only at the end of the list.
func (r *rows) nextBatch(ctx context.Context) error { return r.readBatch(ctx, r.limits.batch) }

// readAhead prepares all that follows, and forgets it: for a fault that any record
// of the list may bring and that has to be told before the list begins.
func (r *rows) validateRest(ctx context.Context, hook batchHook) error {
	ahead := *r
	ahead.hook = hook
	for !ahead.ended {
		if err := ahead.nextBatch(ctx); err != nil {
			return err
		}
	}
	return nil
}

// advance reads batches of at most size records until one has any left.
func (r *rows) readBatch(ctx context.Context, size int64) error {
	r.batch = nil // no two batches are kept at a time
	for len(r.batch) == 0 && !r.ended {
		read, err := r.readNext(ctx, min(size, r.limits.total))
		if err == nil && len(read) > 0 {
			read, err = r.hook(ctx, read)
		}
		if err != nil {
			return err
		}
		r.batch = read
	}
	return nil
}

// read returns the next records of the list, at most size.
func (r *rows) readNext(ctx context.Context, size int64) ([]adapter.Record, error) {
	switch {
	case r.allBuffered:
		return r.takeBuffered(size), nil
	case r.byKeys:
		return r.readKeys(ctx, size)
	}
	r.next.Query.Limit, r.next.MaxBytes = size, batchBytes
	var result *adapter.ListResult
	err := r.from.filters.run(ctx, r.from.schema, &r.next.Query, func(ctx context.Context) (err error) {
		result, err = r.from.store.List(ctx, &r.next)
		if err == nil && result.Partial {
			r.next.Query.Limit = r.limits.total
			r.buffered, _, err = adapter.Apply(ctx, r.from.schema, result.Records, &r.next.Query)
			r.allBuffered = true
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case r.allBuffered:
		return r.takeBuffered(size), nil
	}
	read := int64(len(result.Records))
	if result.More && read == 0 {
		return nil, errNoProgress
	}
	r.limits.total -= read
	if r.ended = read < size && !result.More || r.limits.total == 0; !r.ended {
		r.next.Query.After = r.from.mark(result.Records[read-1], r.next.Query.OrderBy)
	}
	return result.Records, nil
}

// readKeys reads the records of the next keys, at most size, in the order of the keys.
// One that is gone meanwhile is left out.
func (r *rows) readKeys(ctx context.Context, size int64) ([]adapter.Record, error) {
	size = min(size, maxKeysPerQuery, int64(len(r.keys)))
	if size == 0 {
		r.ended = true
		return nil, nil
	}
	keys := r.keys[:size]
	ids := make([]string, size)
	for i, key := range keys {
		ids[i] = strconv.FormatInt(int64(key), 10)
	}
	next := r.next
	next.Query = adapter.Query{Where: []adapter.Condition{condition(r.from.schema.Key, adapter.In, ids...)}}
	records, err := r.from.all(ctx, &next)
	if err != nil {
		return nil, err
	}
	r.keys = r.keys[size:]
	r.ended = len(r.keys) == 0
	slices.SortFunc(records, func(a, b adapter.Record) int {
		return cmp.Compare(slices.Index(keys, keyOf(a)), slices.Index(keys, keyOf(b)))
	})
	return records, nil
}

// errNoProgress is for a store that ends a list early without a record.
var errNoProgress = errors.New("mapping: the store ended a list before its first record")

// take returns the next of the records that are held.
func (r *rows) takeBuffered(size int64) []adapter.Record {
	size = min(size, int64(len(r.buffered)))
	taken := r.buffered[:size]
	r.buffered = r.buffered[size:]
	r.ended = len(r.buffered) == 0
	return taken
}

// mark returns the place of rec in a list that is sorted by an attribute.
func (s source) mark(rec adapter.Record, orderBy string) *adapter.Mark {
	return &adapter.Mark{Value: rec.Get(orderBy), Key: adapter.Key(rec.Get(s.schema.Key).Int())}
}
