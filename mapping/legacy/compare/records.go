package compare

import (
	"context"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// A recordRead reads one record of a list with everything that belongs to it.
type recordRead struct {
	sweep   *sweep
	caller  SweepCaller
	outcome SweepOutcome
	// found has the keys of lists that other lists depend on.
	found map[string][]string // by path
}

// readRecord compares the record with the given key of a list of the store, and its parts.
// It fails only when ctx ends.
func (s *sweep) readRecord(ctx context.Context, caller SweepCaller, list *contract.Route, key string) (*recordRead, error) {
	r := &recordRead{sweep: s, caller: caller, found: map[string][]string{}}
	if err := r.visit(ctx, list, []string{key}); err != nil {
		return nil, err
	}
	r.outcome.Record = true
	return r, r.again(ctx)
}

// visit compares the routes below a record of list. values are the values of the list's parameters,
// followed by the key of the record.
func (r *recordRead) visit(ctx context.Context, list *contract.Route, values []string) error {
	for _, child := range r.sweep.routes.children[list] {
		if !readable(child.route, r.caller.Role) {
			continue
		}
		key := values[len(values)-1]
		own := append(slices.Clone(values[:child.at]), key)
		for views := range r.sweep.valuesOf(make([]contract.PathParam, child.views), nil) {
			if err := r.child(ctx, child.route, own, views); err != nil {
				return err
			}
		}
	}
	return nil
}

// child compares one single record or part, and the routes below the records of a part.
func (r *recordRead) child(ctx context.Context, route *contract.Route, own, views []string) error {
	s := r.sweep
	var parts []string
	for _, format := range formats() {
		request := SweepRequest{Caller: r.caller.Name, Target: route.Expand(slices.Concat(own, views)...), Accept: accept(format), Route: route,
			Record: strings.Join(own, "/")}
		differences, err := s.asker.compareRecord(ctx, &request, func(answers [2]*Answer) {
			if format == contract.JSON && route.Shape == contract.Collection && len(views) == 0 {
				parts = commonKeys(route, answers)
			}
		})
		if err != nil {
			return err
		}
		r.outcome.Results = append(r.outcome.Results, sweepResult{request, differences})
	}
	if len(parts) >= maxParts {
		r.outcome.LeftOut = append(r.outcome.LeftOut, sweepLeftOut{"a record has too many parts to read all of them alone", route.Expand(own...), true})
	}
	if s.routes.needed[route] {
		r.found[route.Path] = append(r.found[route.Path], parts...)
	}
	for _, key := range parts {
		if err := r.visit(ctx, route, append(slices.Clone(own), key)); err != nil {
			return err
		}
	}
	return nil
}

// commonKeys returns the keys that both answers have. The others are a difference already.
func commonKeys(route *contract.Route, answers [2]*Answer) []string {
	if answers[0].equal(answers[1]) {
		return sweepKeys(route, answers[0])
	}
	candidate := map[string]bool{}
	for _, key := range sweepKeys(route, answers[1]) {
		candidate[key] = true
	}
	return slices.DeleteFunc(sweepKeys(route, answers[0]), func(key string) bool { return !candidate[key] })
}

// again repeats the requests whose answers differ, after a pause.
func (r *recordRead) again(ctx context.Context) error {
	s := r.sweep
	differs := func(result sweepResult) bool { return len(result.Differences) > 0 }
	if !slices.ContainsFunc(r.outcome.Results, differs) {
		return nil
	}
	if err := s.options.Sleep(ctx, s.options.Pause); err != nil {
		return err
	}
	for i := range r.outcome.Results {
		result := &r.outcome.Results[i]
		if !differs(*result) {
			continue
		}
		differences, err := s.asker.compareRecord(ctx, &result.Request, nil)
		if err != nil {
			return err
		}
		result.Differences = differences
	}
	return nil
}
