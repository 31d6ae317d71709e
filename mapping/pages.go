package mapping

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/listquery"
)

// page returns the records of the wanted page, which has a limit, among those
// that bounds leave. A page beyond the end is the last page again (wire 10). more reports
// that the page goes on behind these records, which would otherwise be too large.
//
// It takes one query, unless the page lies beyond the end and nothing is remembered
// of that: then the list is counted, once in a generation of its records.
func (s source) page(ctx context.Context, wanted *listquery.List, bounds adapter.ListParams) (records []adapter.Record, more bool, err error) {
	bounds.Query = wanted.Query
	bounds.MaxBytes = pageBytes
	list := pagedList{source: s, params: bounds, limit: wanted.Paging.Limit}
	list.view = s.listCache.view(s.schema.Resource, &list.params)
	list.view.scopeToSharedGeneration(ctx)

	offset, decided := wanted.Paging.Offset()
	total, known := list.view.total()
	counted := !known && !decided
	if counted {
		if total, err = list.count(ctx, false); err != nil || total == 0 {
			return nil, false, err
		}
	}
	if known || counted {
		offset = wanted.Paging.OffsetIn(total)
	}
	for {
		records, total, more, err = list.fetch(ctx, offset)
		if err != nil || len(records) > 0 || offset == 0 || counted {
			return records, more, err
		}
		// The page is beyond the end. A total that did not say so is out of date,
		// and one that is counted now is believed.
		if counted = known || total == unknownTotal; counted {
			total, err = list.count(ctx, known)
		}
		if err != nil || total == 0 {
			return nil, false, err
		}
		known, offset = true, wanted.Paging.OffsetIn(total)
	}
}

// unknown is the number of records of a list that nobody has counted.
const unknownTotal = -1

// A pagedList is a list of which one page is fetched.
type pagedList struct {
	source
	params adapter.ListParams
	limit  int64
	view   *listView
}

// from returns the records behind the first offset ones, as many as a page has.
// total is the number of records of the list when they tell it, or else unknown; more is
// that of [source.page].
func (l *pagedList) fetch(ctx context.Context, offset int64) (records []adapter.Record, total int64, more bool, err error) {
	p := l.params
	q := &p.Query
	q.Limit = l.limit
	since := l.view.now()
	mark, markedSince, marked := l.view.position(offset)
	switch {
	case marked:
		q.After, since = mark, markedSince
	case offset > 0:
		q.Offset, q.Limit = offset-1, l.limit+1 // from the record that the page comes after
	}
	if records, total, more, err = l.query(ctx, &p); err != nil {
		return nil, 0, false, err
	}
	exact := marked || offset == 0
	if !exact && len(records) > 0 {
		before := l.mark(records[0], q.OrderBy)
		l.view.setPosition(offset, before, since)
		records, exact = records[1:], true
		if len(records) == 0 && more { // that record alone is as large as a page may be
			q.After, q.Offset, q.Limit = before, 0, l.limit
			if records, total, more, err = l.query(ctx, &p); err != nil {
				return nil, 0, false, err
			}
		}
	}
	switch n := int64(len(records)); {
	case n == l.limit:
		l.view.setPosition(offset+n, l.mark(records[n-1], q.OrderBy), since)
	case exact && total == unknownTotal && !more:
		total = offset + n
	}
	if total != unknownTotal {
		l.view.setTotal(total, since)
	}
	return records, total, more, nil
}

// count counts the list, once for all callers that ask at the same time; anew
// when the total that is remembered is wrong.
func (l *pagedList) count(ctx context.Context, recount bool) (int64, error) {
	flight := fmt.Sprintf("%x %d %t", l.view.conditionsKey, l.view.generation, recount)
	total, err, _ := l.view.counts.Do(flight, func() (any, error) {
		// The count that was under way may have ended since the caller missed.
		if total, ok := l.view.total(); ok && !recount {
			return total, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countTimeout)
		defer cancel()
		since := l.view.now()
		total, err := l.source.count(ctx, l.params)
		if err == nil {
			l.view.setTotal(total, since)
		}
		return total, err
	})
	if err != nil {
		return 0, err
	}
	return total.(int64), nil
}
