package resource

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/input"
)

const (
	// batchRows and batchBytes limit the records of a long list that are in memory at
	// once. Large records, such as products, reach the limit on bytes first.
	batchRows  = 500
	batchBytes = 512 << 10
	// maxKeysPerQuery is the number of records that one query reads by their keys: the records
	// of a full page.
	maxKeysPerQuery = 100
)

// Limits limit lists whose calls set no limit.
type Limits struct {
	Total int64 // longer lists end here
	Batch int64 // records per batch
	// refuseAbove, unless 0, is the length above which a list is refused.
	RefuseAbove int64
}

// ErrTooManyRows refuses a list that is longer than its caller may request without a
// limit.
var ErrTooManyRows = errors.New("mapping: the list has more records than the caller may ask for without a limit")

// NewLimits returns the limits of lists of at most total records.
func NewLimits(total int64) Limits { return Limits{Total: total, Batch: batchRows} }

// A RecordsHook completes the records of a batch, and returns the records that belong to the list.
type RecordsHook func(context.Context, []adapter.Record) ([]adapter.Record, error)

// NoHook returns the records unchanged.
func NoHook(_ context.Context, records []adapter.Record) ([]adapter.Record, error) {
	return records, nil
}

// Rows reads the records of one list in batches, so that a list of any length takes the
// memory of one batch. Each batch begins after the last record of the one before, not at
// an offset, which writes between two batches could shift. Therefore no record appears
// twice, and none that exists all the time is missing. The exception is a record whose
// sort value changes while the list is read: it may move across the border between
// batches in either direction.
type Rows struct {
	from   Source
	next   adapter.ListParams // selects the remaining records
	limits Limits
	hook   RecordsHook
	// buffered holds the remaining records if the store could answer the query only in
	// part and returned all of them.
	buffered    []adapter.Record
	allBuffered bool

	// keys are the remaining records of a list with an order of its own, if byKeys is
	// set. Then next selects no records itself.
	keys   []adapter.Key
	byKeys bool
	// shownNull names a field that is rendered as null in records without a value for it.
	ShownNull string

	Batch []adapter.Record // the current one
	Ended bool             // no batch follows
}

// Rows returns the requested records among the records that bounds select: a page, or without a
// limit all of them in batches. It has read the first batch, so that a fault of the list is
// known before any of it is sent. That batch is empty only if the list is.
func (s Source) Rows(ctx context.Context, wanted *input.List, bounds adapter.ListParams, limits Limits, hook RecordsHook) (*Rows, error) {
	if wanted.Paging.Limit == 0 {
		bounds.Query = wanted.Query
		r, err := s.AllRows(ctx, bounds, limits, hook)
		if r != nil {
			r.ShownNull = wanted.ShownNull
		}
		return r, err
	}
	page, more, err := s.page(ctx, wanted, bounds)
	r := &Rows{from: s, limits: limits, hook: hook, Batch: page, Ended: !more, ShownNull: wanted.ShownNull}
	if more { // the remainder of the page
		r.next = bounds
		r.next.Query = wanted.Query
		r.next.Query.After = s.mark(page[len(page)-1], wanted.Query.OrderBy)
		r.limits.Total = wanted.Paging.Limit - int64(len(page))
	}
	if err == nil && len(page) > 0 {
		r.Batch, err = hook(ctx, page)
	}
	return r, err
}

// AllRows returns all records that p selects, like [source.rows].
func (s Source) AllRows(ctx context.Context, p adapter.ListParams, limits Limits, hook RecordsHook) (*Rows, error) {
	r := &Rows{from: s, next: p, limits: limits, hook: hook}
	// The extra record shows whether a list that fills one batch ends there.
	if err := r.readBatch(ctx, limits.Batch+1); err != nil {
		return r, err
	}
	if limits.RefuseAbove > 0 && !(r.Ended && int64(len(r.Batch)) <= limits.RefuseAbove) {
		if total, err := s.count(ctx, p); err != nil || total > limits.RefuseAbove {
			return nil, cmp.Or(err, ErrTooManyRows)
		}
	}
	return r, nil
}

// RowsByKeys returns the records with the given keys, in their order. bounds selects no records
// itself; shownNull is as in rows. It has read the first batch.
func (s Source) RowsByKeys(ctx context.Context, keys []adapter.Key, shownNull string, bounds adapter.ListParams, limits Limits, hook RecordsHook) (*Rows, error) {
	r := &Rows{from: s, next: bounds, limits: limits, hook: hook, keys: keys, byKeys: true, ShownNull: shownNull}
	return r, r.NextBatch(ctx)
}

// NextBatch reads the next batch, which is empty only at the end of the list.
func (r *Rows) NextBatch(ctx context.Context) error { return r.readBatch(ctx, r.limits.Batch) }

// ValidateRest applies hook to all remaining records and discards them. It finds a fault
// that any of them can cause, and that must be reported before the list begins.
func (r *Rows) ValidateRest(ctx context.Context, hook RecordsHook) error {
	ahead := *r
	ahead.hook = hook
	for !ahead.Ended {
		if err := ahead.NextBatch(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readBatch reads batches of at most size records until the hook leaves at least one of
// them.
func (r *Rows) readBatch(ctx context.Context, size int64) error {
	ctx = adapter.WithSharedReads(ctx)
	r.Batch = nil // frees the previous batch first
	for len(r.Batch) == 0 && !r.Ended {
		read, err := r.readNext(ctx, min(size, r.limits.Total))
		if err == nil && len(read) > 0 {
			read, err = r.hook(ctx, read)
		}
		if err != nil {
			return err
		}
		r.Batch = read
	}
	return nil
}

// readNext returns the next records of the list, at most size.
func (r *Rows) readNext(ctx context.Context, size int64) ([]adapter.Record, error) {
	switch {
	case r.allBuffered:
		return r.takeBuffered(size), nil
	case r.byKeys:
		return r.readKeys(ctx, size)
	}
	r.next.Query.Limit, r.next.MaxBytes = size, batchBytes
	var result *adapter.ListResult
	err := r.from.filters.run(ctx, r.from.Schema, &r.next.Query, func(ctx context.Context) (err error) {
		result, err = r.from.Store.List(ctx, &r.next)
		if err == nil && result.Partial {
			r.next.Query.Limit = r.limits.Total
			r.buffered, _, err = adapter.Apply(ctx, r.from.Schema, result.Records, &r.next.Query)
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
	r.limits.Total -= read
	if r.Ended = read < size && !result.More || r.limits.Total == 0; !r.Ended {
		r.next.Query.After = r.from.mark(result.Records[read-1], r.next.Query.OrderBy)
	}
	return result.Records, nil
}

// readKeys returns the records of the next keys, at most size, in the order of the keys.
// It omits records that have been deleted in the meantime.
func (r *Rows) readKeys(ctx context.Context, size int64) ([]adapter.Record, error) {
	size = min(size, maxKeysPerQuery, int64(len(r.keys)))
	if size == 0 {
		r.Ended = true
		return nil, nil
	}
	keys := r.keys[:size]
	ids := make([]string, size)
	for i, key := range keys {
		ids[i] = strconv.FormatInt(int64(key), 10)
	}
	next := r.next
	next.Query = adapter.Query{Where: []adapter.Condition{NewCondition(r.from.Schema.Key, adapter.In, ids...)}}
	records, err := r.from.All(ctx, &next)
	if err != nil {
		return nil, err
	}
	r.keys = r.keys[size:]
	r.Ended = len(r.keys) == 0
	slices.SortFunc(records, func(a, b adapter.Record) int {
		return cmp.Compare(slices.Index(keys, a.Key()), slices.Index(keys, b.Key()))
	})
	return records, nil
}

// errNoProgress reports a store that ends a batch early without any record.
var errNoProgress = errors.New("mapping: the store returned an empty batch of a list that continues")

// takeBuffered returns the next buffered records, at most size.
func (r *Rows) takeBuffered(size int64) []adapter.Record {
	size = min(size, int64(len(r.buffered)))
	taken := r.buffered[:size]
	r.buffered = r.buffered[size:]
	r.Ended = len(r.buffered) == 0
	return taken
}
