package compare

import (
	"context"
	"crypto/sha256"
	"fmt"
	"github.com/portico-commerce/portico/mapping/codec"
	"maps"
	"slices"
	"sync"
)

// page returns the read of a page of the list.
func (w *laneWalk) page(number int) SweepRequest {
	target := fmt.Sprintf("%s?page=%d&limit=%d", w.route.Expand(w.values...), number, pageLimit)
	return SweepRequest{Caller: w.caller.Name, Target: target, Accept: accept(w.format), Route: w.route, Finds: w.finds}
}

// fill reads the next page of each system that has no record left. If both read the same
// page, pages holds their answers. It reports false, and adds the differences, if the list
// page is no list of records with ids.
func (w *laneWalk) fill(ctx context.Context, outcome *SweepOutcome) (pages *pair, request SweepRequest, ok bool, err error) {
	read := w.due(outcome)
	same := read[0] && read[1] && w.systems[0].next == w.systems[1].next
	for range attempts {
		p, err := w.read(ctx, read)
		if err != nil {
			return nil, request, false, err
		}
		lists, failed := w.parse(&p, read)
		if failed < 0 {
			if same && !w.systems[0].ascends(lists[0]) && !w.systems[1].ascends(lists[1]) {
				w.unordered = true
			}
			w.addPages(lists, read, outcome)
			if same && sameIDs(lists[0], lists[1]) {
				pages = &p
			}
			return pages, w.firstPage(read), true, nil
		}
		compared, err := w.compareOther(ctx, w.systems[failed].next, outcome)
		if err != nil || compared {
			return nil, request, false, err
		}
	}
	request = w.firstPage(read)
	outcome.LeftOut = append(outcome.LeftOut, sweepLeftOut{"a system answers with a list only now and then", request.Target, true})
	for i := range w.systems {
		w.systems[i] = cursor{next: w.systems[i].next, ended: true}
	}
	return nil, request, false, nil
}

// due returns which systems are to be read next.
func (w *laneWalk) due(outcome *SweepOutcome) (read [2]bool) {
	for i := range w.systems {
		c := &w.systems[i]
		read[i] = !c.ended && len(c.pending) == 0
		if read[i] && c.next > w.maxPages {
			c.ended, read[i] = true, false
			outcome.LeftOut = append(outcome.LeftOut, sweepLeftOut{"the list is more than twice as long as at the beginning", w.page(c.next).Target, true})
		}
	}
	return read
}

// firstPage returns the request for the page that the first of the systems reads that read
// one.
func (w *laneWalk) firstPage(read [2]bool) SweepRequest {
	if read[0] || !read[1] {
		return w.page(max(1, w.systems[0].next-1))
	}
	return w.page(max(1, w.systems[1].next-1))
}

// compareOther compares the answers to the request for a page that one system did not answer
// with a list of records with ids, adds them to the outcome, and moves both systems on. It
// reports false if both answer with such a list now.
func (w *laneWalk) compareOther(ctx context.Context, number int, outcome *SweepOutcome) (compared bool, err error) {
	request := w.page(number)
	var p pair
	for i := range 2 {
		if p, err = w.sweep.asker.both(ctx, &request); err != nil {
			return false, err
		}
		if _, failed := w.parse(&p, [2]bool{true, true}); failed < 0 {
			return false, nil
		}
		if i > 0 || len(w.sweep.asker.differences(&request, &p)) == 0 {
			break
		}
		if err = w.sweep.options.Sleep(ctx, w.sweep.options.Pause); err != nil {
			return false, err
		}
	}
	outcome.Results = append(outcome.Results, sweepResult{request, w.sweep.asker.differences(&request, &p)})
	records, isList := unkeyed(&p)
	reason := ""
	switch {
	case !isList && isDenied(&p) && w.position.After == 0 && !w.unordered: // the caller has no such list
	case !isList:
		reason = "the list ends early, because a system does not answer with a list"
	case w.finds || w.position.After > 0 || w.unordered:
		reason = "the records of the list have no ids"
	}
	if reason != "" {
		outcome.LeftOut = append(outcome.LeftOut, sweepLeftOut{reason, request.Target, true})
	}
	page := sha256.Sum256(slices.Concat([]byte(nil), p.body(0), []byte{0}, p.body(1)))
	ended := !isList || records < pageLimit || page == w.unkeyedPage
	w.unkeyedPage = page
	for i := range w.systems {
		w.systems[i] = cursor{next: number + 1, ended: ended}
	}
	return true, nil
}

// unkeyed returns the number of records of the longer of two lists without keys, such as XML lists
// without the id field, and reports whether both answers are lists.
func unkeyed(p *pair) (records int, ok bool) {
	for _, answer := range p.answers {
		list, isList := decode(answer)
		if !isList || list.Shape() == codec.Named {
			return 0, false
		}
		records = max(records, len(list.Members))
	}
	return records, true
}

// body returns the body of one answer.
func (p *pair) body(system int) []byte {
	if p.answers[system] == nil {
		return nil
	}
	return p.answers[system].Body
}

// isDenied reports whether both systems answer that the caller is in the wrong.
func isDenied(p *pair) bool {
	for _, answer := range p.answers {
		if answer == nil || answer.Status < 400 || answer.Status > 499 {
			return false
		}
	}
	return true
}

// read reads the next page of the systems for which wanted is set.
func (w *laneWalk) read(ctx context.Context, wanted [2]bool) (p pair, err error) {
	var group sync.WaitGroup
	for i := range w.systems {
		if wanted[i] {
			group.Go(func() {
				request := w.page(w.systems[i].next)
				p.answers[i], p.errs[i] = w.sweep.asker.one(ctx, i, &request)
			})
		}
	}
	group.Wait()
	return p, ctx.Err()
}

// parse returns the records of the wanted answers. failed is the first system whose answer
// is no list, or -1.
func (w *laneWalk) parse(p *pair, wanted [2]bool) (lists [2][]entry, failed int) {
	for i := range lists {
		if !wanted[i] {
			continue
		}
		if i > 0 && wanted[0] && w.systems[0].next == w.systems[1].next && p.answers[0].equal(p.answers[1]) {
			lists[i] = lists[0]
			continue
		}
		var ok bool
		if lists[i], ok = entries(w.route, p.answers[i], w.systems[i].next); !ok {
			return lists, i
		}
	}
	return lists, -1
}

// addPages adds the pages that were read.
func (w *laneWalk) addPages(lists [2][]entry, read [2]bool, outcome *SweepOutcome) {
	for i := range w.systems {
		switch c := &w.systems[i]; {
		case !read[i]:
		case w.unordered:
			c.addUnordered(lists[i])
		case !c.add(lists[i]):
			outcome.LeftOut = append(outcome.LeftOut, sweepLeftOut{"the ids of the list do not ascend", w.page(c.next - 1).Target, true})
		}
	}
}

// ascends reports whether no record of the next page is out of order: its id is greater than all ids
// before it, or it is on the previous page, since records that move by a few places are repeated.
func (c *cursor) ascends(page []entry) bool {
	return c.previous == nil || !slices.ContainsFunc(page, func(e entry) bool { return e.id <= c.last && !c.previous[e.id] })
}

// add adds the next page of c. A page without a new record, such as the last one again, or with
// fewer records than the limit ends the list. Records with the same id stay separate, so that a
// record that only one system has twice is a difference. add reports whether the page ascends.
func (c *cursor) add(page []entry) (ascends bool) {
	ascends = c.ascends(page)
	c.next++
	before, last := len(c.pending), c.last
	for _, e := range page {
		if e.id > last {
			c.last = e.id
			c.pending = append(c.pending, e)
		}
	}
	c.previous = ids(page)
	c.ended = len(page) < pageLimit || len(c.pending) == before
	return ascends
}

// addUnordered adds the next page of a list that is not in the order of the ids. The previous page again, or a page
// with fewer records than the limit, ends the list.
func (c *cursor) addUnordered(page []entry) {
	found := ids(page)
	c.next++
	repeated := maps.Equal(found, c.previous)
	if c.ended = len(page) < pageLimit || repeated; !repeated {
		c.pending = page
	}
	c.previous = found
}

// ids returns the ids of a page.
func ids(page []entry) map[int64]bool {
	found := make(map[int64]bool, len(page))
	for _, e := range page {
		found[e.id] = true
	}
	return found
}
