package compare

import (
	"context"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/portico-commerce/portico/mapping/contract"
)

// formats returns the formats in which everything is read.
func formats() []contract.Format { return []contract.Format{contract.JSON, contract.XML} }

// accept returns the Accept header that asks for a format.
func accept(f contract.Format) string {
	if f == contract.XML {
		return "application/xml"
	}
	return "application/json"
}

// A lane is one list, as one caller sees it, in one format.
type lane struct {
	number int // in its phase
	route  *contract.Route
	values []string // of the parameters
	caller SweepCaller
	format contract.Format
	// finds: the records of the list are read one by one.
	finds bool
}

// lanes returns the lists of the current phase in an order that depends only on the options
// and the plan.
func (s *sweep) lanes() iter.Seq[*lane] {
	return func(yield func(*lane) bool) {
		number := 0
		found := sortedKeys(s.found)
		for _, list := range s.routes.lists {
			if list.phase() != s.state.Phase {
				continue
			}
			for values := range s.valuesOf(list.params, found) {
				for _, caller := range s.options.Callers {
					for _, format := range formats() {
						if !readable(list.route, caller.Role) {
							continue
						}
						l := &lane{number: number, route: list.route, values: values, caller: caller, format: format,
							finds: len(values) == 0 && format == contract.JSON}
						if number++; !yield(l) {
							return
						}
					}
				}
			}
		}
	}
}

// valuesOf returns all combinations of values of parameters.
func (s *sweep) valuesOf(params []contract.PathParam, found map[string][]string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		if len(params) == 0 {
			yield(nil)
			return
		}
		values := s.state.Stores
		if list := params[0].List; list != nil {
			values = found[list.Path]
		}
		for _, value := range values {
			if list := params[0].List; list != nil && !s.selects(list.Path, value) {
				continue
			}
			for rest := range s.valuesOf(params[1:], found) {
				if !yield(append([]string{value}, rest...)) {
					return
				}
			}
		}
	}
}

// walkLanes reads the lists of the current phase, several at a time.
func (s *sweep) walkLanes(ctx context.Context) error {
	s.mu.Lock()
	s.expectLanes()
	done := sweepLanes{Done: s.state.Lanes.Done, Above: slices.Clone(s.state.Lanes.Above)}
	s.mu.Unlock()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(s.options.Parallel)
	for l := range s.lanes() {
		if groupCtx.Err() != nil {
			break
		}
		if !done.isDone(l.number) {
			group.Go(func() error { return s.walkLane(groupCtx, l) })
		}
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// leaveOutUnlisted counts the routes of single records whose keys no list contains.
func (s *sweep) leaveOutUnlisted() {
	var outcome SweepOutcome
	for _, r := range s.routes.unlisted() {
		outcome.LeftOut = append(outcome.LeftOut, sweepLeftOut{Reason: "no list tells the ids of these records", Request: r.Path})
	}
	s.options.Commit(&outcome)
}
