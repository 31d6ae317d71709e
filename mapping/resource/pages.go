package resource

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/input"
)

// page returns the records of the requested page among the records that bounds select; the
// page must have a limit. A page beyond the end is the last page (wire 10). more reports
// that the page continues after these records, because it would be too large for one query.
//
// It takes one query unless the page lies beyond the end and the cache does not say so:
// then it also counts the list, once for each generation of its records.
func (s Source) page(ctx context.Context, wanted *input.List, bounds adapter.ListParams) (records []adapter.Record, more bool, err error) {
	bounds.Query = wanted.Query
	bounds.MaxBytes = pageBytes
	list := pagedList{Source: s, params: bounds, limit: wanted.Paging.Limit}
	list.view = s.listCache.view(s.Schema.Resource, &list.params)
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
		// The page is beyond the end, so the cached total, if any, was stale. A fresh
		// count is final.
		if counted = known || total == unknownTotal; counted {
			total, err = list.count(ctx, known)
		}
		if err != nil || total == 0 {
			return nil, false, err
		}
		known, offset = true, wanted.Paging.OffsetIn(total)
	}
}

// A pagedList fetches one page of a list.
type pagedList struct {
	Source
	params adapter.ListParams
	limit  int64
	view   *listView
}

// fetch returns one page of records after the first offset ones. total is the length of the
// list if the records reveal it, otherwise unknownTotal. more is as in [source.page].
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
		// Begin with the record before the page, to get its mark.
		q.Offset, q.Limit = offset-1, l.limit+1
		if q.OrderBy == "" { // by the key, which stores seek
			if near, nearSince, ok := l.view.before(q.Offset); ok {
				q.After, q.Offset, since = near.mark, q.Offset-near.offset, nearSince
			}
		}
	}
	if records, total, more, err = l.query(ctx, &p); err != nil {
		return nil, 0, false, err
	}
	exact := marked || offset == 0
	if !exact && len(records) > 0 {
		before := l.mark(records[0], q.OrderBy)
		l.view.setPosition(offset, before, since)
		records, exact = records[1:], true
		if len(records) == 0 && more { // that record alone reaches the size limit
			q.After, q.Offset, q.Limit = before, 0, l.limit
			if records, total, more, err = l.query(ctx, &p); err != nil {
				return nil, 0, false, err
			}
		}
	}
	if offset == 0 && !marked && q.Ranks != nil && len(records) > 0 {
		// To find that no product sorts before the first option, a store may have to read them all.
		first := l.mark(records[0], q.OrderBy)
		l.view.setPosition(0, &adapter.Cursor{Value: first.Value, Key: first.Key - 1}, since)
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

// count counts the list, once for all concurrent callers. With recount it ignores a
// cached total.
func (l *pagedList) count(ctx context.Context, recount bool) (int64, error) {
	flight := fmt.Sprintf("%x %d %t", l.view.conditionsKey, l.view.generation, recount)
	total, err, _ := l.view.counts.Do(flight, func() (any, error) {
		// Another caller's count may have ended since this one missed the cache.
		if total, ok := l.view.total(); ok && !recount {
			return total, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countTimeout)
		defer cancel()
		since := l.view.now()
		total, err := l.Source.count(ctx, l.params)
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

// pageBytes limits the records that one query reads for a page. Only unusually large records
// reach it.
const pageBytes = 1 << 20
