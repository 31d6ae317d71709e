package compare

import (
	"context"
	"crypto/sha256"
	"math"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
)

// maxConcurrentRecords bounds the records of one list that are read at the same time.
const maxConcurrentRecords = pageLimit

// A cursor is the place of one system in a list.
type cursor struct {
	next    int   // page to read next
	last    int64 // greatest id so far
	ended   bool
	pending []entry // records that were read and are not compared yet, by ascending id
	// previous has the ids of the previous page, unless the cursor has just begun.
	previous map[int64]bool
}

// A laneWalk walks one list in both systems.
type laneWalk struct {
	*lane
	sweep    *sweep
	systems  [2]cursor
	position sweepPosition
	maxPages int
	// unordered: neither system has the list in the order of the ids. It is compared page by page.
	unordered bool
	// unkeyedPage is the checksum of the previous page of a list without ids.
	unkeyedPage [sha256.Size]byte
}

// A window is a range of ids of a list in both systems.
type window struct {
	request SweepRequest
	after   int64 // ids above it
	through int64 // and up to this one
	entries [2][]entry
	// whole: both systems were asked for the same page, and it has the same records.
	// whole holds the answers then.
	whole *pair
}

// walkLane compares a list from where the state says.
func (s *sweep) walkLane(ctx context.Context, l *lane) error {
	w := &laneWalk{lane: l, sweep: s}
	s.mu.Lock()
	position, open := s.state.Lanes.Open[l.number]
	// A list that grows while it is walked ends nevertheless.
	w.maxPages = int(2*s.counted(s.root(l.route), "")/pageLimit) + 20
	s.mu.Unlock()
	if !open {
		position.Pages = [2]int{1, 1}
	}
	position.Done = slices.Clone(position.Done)
	w.position = position
	w.unordered = position.Unordered
	for i := range w.systems {
		w.systems[i] = cursor{next: position.Pages[i], last: position.After, ended: position.Ended[i]}
		if err := w.readPrevious(ctx, i); err != nil {
			return err
		}
	}
	for !w.complete() {
		if err := w.step(ctx); err != nil {
			return err
		}
	}
	return s.commit(&SweepOutcome{}, func(state *SweepState) { state.Lanes.finish(l.number) })
}

// readPrevious reads the page of one system before the next one again, in a sweep that continues: its ids show
// whether the next one is in order, and whether it is the last. If some records of the next page may have been compared
// already, the order of that page is not checked.
func (w *laneWalk) readPrevious(ctx context.Context, system int) error {
	c := &w.systems[system]
	if c.ended || c.next == 1 || w.position.Partly[system] {
		return nil
	}
	request := w.page(c.next - 1)
	answer, _ := w.sweep.asker.one(ctx, system, &request)
	page, _ := entries(w.route, answer, c.next-1)
	c.previous = ids(page) // without the page, no id up to the last is in order
	return ctx.Err()
}

// complete reports whether the list has ended in both systems.
func (w *laneWalk) complete() bool {
	return w.systems[0].ended && w.systems[1].ended && len(w.systems[0].pending)+len(w.systems[1].pending) == 0
}

// step compares the next window: it reads a page of each system that has no record left.
func (w *laneWalk) step(ctx context.Context) error {
	var outcome SweepOutcome
	pages, request, ok, err := w.fill(ctx, &outcome)
	if err != nil {
		return err
	}
	var win *window
	if ok {
		win = w.take(request, pages)
		differences, err := w.compare(ctx, win)
		if err != nil {
			return err
		}
		outcome.Results = append(outcome.Results, sweepResult{win.request, differences})
		if err := w.readRecords(ctx, win); err != nil {
			return err
		}
		w.position.After, w.position.Unordered = win.through, w.unordered
	}
	for i := range w.systems {
		c := &w.systems[i]
		w.position.Pages[i], w.position.Ended[i], w.position.Partly[i] = c.next, c.ended, false
		if len(c.pending) > 0 { // to be read again by a sweep that continues
			w.position.Pages[i], w.position.Ended[i], w.position.Partly[i] = c.pending[0].page, false, true
		}
	}
	w.position.Done = nil
	return w.sweep.commit(&outcome, func(state *SweepState) {
		state.Pages++
		w.store(state)
	})
}

// store copies the position to the state. The caller holds the lock of the sweep.
func (w *laneWalk) store(state *SweepState) {
	if state.Lanes.Open == nil {
		state.Lanes.Open = map[int]sweepPosition{}
	}
	position := w.position
	position.Done = slices.Clone(position.Done)
	state.Lanes.Open[w.number] = position
}

// take removes the next window from the records that were read: up to the last record of
// the system that has not come as far as the other, or a page of a list in another order.
func (w *laneWalk) take(request SweepRequest, pages *pair) *window {
	win := &window{request: request, after: w.position.After, whole: pages, through: math.MaxInt64}
	if w.unordered {
		win.after, win.through = 0, 0 // a sweep that continues begins at a page, whatever its ids
		for i := range w.systems {
			win.entries[i], w.systems[i].pending = w.systems[i].pending, nil
		}
		return win
	}
	for i := range w.systems {
		if c := &w.systems[i]; !c.ended {
			win.through = min(win.through, c.last)
		}
	}
	if win.through == math.MaxInt64 { // both have ended
		win.through = max(w.systems[0].last, w.systems[1].last)
	}
	for i := range w.systems {
		c := &w.systems[i]
		n := 0
		for n < len(c.pending) && c.pending[n].id <= win.through {
			n++
		}
		win.entries[i], c.pending = c.pending[:n:n], c.pending[n:]
	}
	return win
}

// compare returns the differences in a window that are there twice. It leaves the records
// of the second time in the window.
func (w *laneWalk) compare(ctx context.Context, win *window) ([]Difference, error) {
	differences := w.differences(win)
	if len(differences) == 0 {
		return nil, nil
	}
	if err := w.sweep.options.Sleep(ctx, w.sweep.options.Pause); err != nil {
		return nil, err
	}
	if err := w.readAgain(ctx, win); err != nil {
		return nil, err
	}
	return w.differences(win), nil
}

// differences compares a window: whole pages byte by byte, others record by record.
func (w *laneWalk) differences(win *window) []Difference {
	if win.whole != nil {
		return w.sweep.asker.differences(&win.request, win.whole)
	}
	both, only := match(win.entries)
	var all []Difference
	for i, entries := range only {
		for _, e := range entries {
			key := strconv.FormatInt(e.id, 10)
			d := Difference{Field: "records", Record: key}
			if quoted := strconv.Quote(key); i == 0 {
				d.Legacy = &quoted
			} else {
				d.Candidate = &quoted
			}
			if !w.sweep.options.Compare.Ignores(d.Field) {
				all = append(all, d)
			}
		}
	}
	p := pair{answers: [2]*Answer{rebuilt(w.format, both[0]), rebuilt(w.format, both[1])}}
	return append(all, w.sweep.asker.differences(&win.request, &p)...)
}

// match divides the records of two systems into common records, in equal order, and records of only
// one system.
func match(entries [2][]entry) (both, only [2][]entry) {
	a, b := entries[0], entries[1]
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].id < b[0].id:
			only[0], a = append(only[0], a[0]), a[1:]
		case len(a) == 0 || b[0].id < a[0].id:
			only[1], b = append(only[1], b[0]), b[1:]
		default:
			both[0], both[1] = append(both[0], a[0]), append(both[1], b[0])
			a, b = a[1:], b[1:]
		}
	}
	return both, only
}

// readAgain reads the records of a window a second time.
func (w *laneWalk) readAgain(ctx context.Context, win *window) error {
	if win.whole != nil {
		p, err := w.sweep.asker.both(ctx, &win.request)
		if err != nil {
			return err
		}
		lists, failed := w.parse(&p, [2]bool{true, true})
		if failed >= 0 || sameIDs(lists[0], lists[1]) {
			win.whole = &p
			return nil
		}
		win.whole = nil
	}
	var errs [2]error
	var group sync.WaitGroup
	for i := range w.systems {
		group.Go(func() { win.entries[i], errs[i] = w.readRange(ctx, i, win) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readRange returns the records of one system in a window. It begins a page earlier and
// ends a page later than before, because a record that was deleted meanwhile moves those
// behind it. Of a list that is not in the order of the ids it reads the page again.
func (w *laneWalk) readRange(ctx context.Context, system int, win *window) ([]entry, error) {
	was := win.entries[system]
	if w.unordered {
		return w.readPage(ctx, system, was)
	}
	first, last := w.systems[system].next-1, w.systems[system].next
	if len(was) > 0 {
		first, last = was[0].page, was[len(was)-1].page
	}
	c := cursor{next: max(1, first-1), last: win.after}
	for !c.ended && c.next <= last+1 && c.last < win.through {
		request := w.page(c.next)
		answer, err := w.sweep.asker.one(ctx, system, &request)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		page, ok := entries(w.route, answer, c.next)
		if err != nil || !ok {
			return was, nil // its answers differ, or the next step finds that it has no list
		}
		beforeWindow := len(page) == pageLimit && page[len(page)-1].id <= win.after
		c.add(page)
		c.ended = c.ended && !beforeWindow
	}
	return slices.DeleteFunc(c.pending, func(e entry) bool { return e.id > win.through }), nil
}

// readPage reads the page of some records of one system again.
func (w *laneWalk) readPage(ctx context.Context, system int, was []entry) ([]entry, error) {
	if len(was) == 0 {
		return nil, nil
	}
	request := w.page(was[0].page)
	answer, _ := w.sweep.asker.one(ctx, system, &request)
	if page, ok := entries(w.route, answer, was[0].page); ok {
		return page, nil
	}
	return was, ctx.Err()
}

// readRecords reads the records of a window one by one, if the list is the one for that
// and the sample has them.
func (w *laneWalk) readRecords(ctx context.Context, win *window) error {
	if !w.finds {
		return nil
	}
	both, _ := match(win.entries)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentRecords)
	done := slices.Clone(w.position.Done)
	for i := range both[0] {
		id := both[0][i].id
		if slices.Contains(done, id) || !w.sweep.selects(w.route.Path, strconv.FormatInt(id, 10)) {
			continue
		}
		group.Go(func() error { return w.readRecord(ctx, id) })
	}
	return group.Wait()
}

// readRecord reads one record, and commits the outcome.
func (w *laneWalk) readRecord(ctx context.Context, id int64) error {
	s := w.sweep
	r, err := s.readRecord(ctx, w.caller, w.route, strconv.FormatInt(id, 10))
	if err != nil {
		return err
	}
	if !s.findAll(r.found) {
		r.outcome.LeftOut = append(r.outcome.LeftOut, sweepLeftOut{"there are too many records on which other lists depend", w.route.Expand() + "/" + strconv.FormatInt(id, 10), true})
	}
	return s.commit(&r.outcome, func(state *SweepState) {
		state.Records++
		state.RecordReads += int64(len(r.outcome.Results))
		w.position.Done = append(w.position.Done, id)
		w.store(state)
	})
}
