package compare

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestContinues kills a sweep after every commit, as it were: it continues from the state at
// that moment, and must report the same as one that runs through.
func TestContinues(t *testing.T) {
	systems := func() [2]*system {
		legacy, candidate := newSystem(upTo(230)...), newSystem(upTo(240, 3, 120)...)
		candidate.qty[77] = "changed"
		return [2]*system{legacy, candidate}
	}
	var states [][]byte
	whole := systems()
	o, want := optionsFor(whole, NewSweepState(nil))
	o.Save = func(s *SweepState) error {
		data, err := json.Marshal(s)
		states = append(states, data)
		return err
	}
	runSweep(t, o)
	want.sorted()
	if len(states) < 230 || len(want.Found) < 10 {
		t.Fatalf("%d states, %d differences", len(states), len(want.Found))
	}
	for i := 0; i < len(states); i += 7 {
		var state SweepState
		if err := json.Unmarshal(states[i], &state); err != nil {
			t.Fatal(err)
		}
		rest := systems()
		o, got := optionsFor(rest, &state)
		runSweep(t, o)
		if got.sorted(); !reflect.DeepEqual(got, want) {
			t.Fatalf("continued after %d of %d commits: %d answers and %d differences, want %d and %d",
				i, len(states), len(got.Compared), len(got.Found), len(want.Compared), len(want.Found))
		}
		if i > len(states)/2 && len(rest[0].asked) > len(whole[0].asked)*2/3 {
			t.Errorf("continued after %d of %d commits with %d of %d requests", i, len(states), len(rest[0].asked), len(whole[0].asked))
		}
	}
}

// TestSample checks that a sample has the same records in every run with one seed, whatever
// else there is, and others with another seed.
func TestSample(t *testing.T) {
	read := func(seed uint64, ids ...int64) (found []string) {
		legacy := newSystem(ids...)
		o, filled := optionsFor([2]*system{legacy, newSystem(ids...)}, NewSweepState(nil))
		o.Sample, o.Seed = 0.1, seed
		runSweep(t, o)
		for request := range filled.Compared {
			if strings.Contains(request, "/stockitems/") && strings.HasSuffix(request, "json") {
				found = append(found, request)
			}
		}
		slices.Sort(found)
		return found
	}
	first := read(1, upTo(1000)...)
	if len(first) < 60 || len(first) > 140 {
		t.Errorf("%d of 1000 records in a sample of 10%%", len(first))
	}
	if again := read(1, upTo(1000)...); !slices.Equal(first, again) {
		t.Error("the same seed selects other records")
	}
	more := slices.DeleteFunc(read(1, upTo(1500, 3, 5, 7)...), func(request string) bool { return !slices.Contains(first, request) })
	less := slices.DeleteFunc(slices.Clone(first), func(request string) bool {
		return slices.Contains([]string{"admin /stockitems/3 json", "admin /stockitems/5 json", "admin /stockitems/7 json"}, request)
	})
	if !slices.Equal(more, less) {
		t.Error("other records of the store change the selection")
	}
	if other := read(2, upTo(1000)...); slices.Equal(first, other) {
		t.Error("another seed selects the same records")
	}
}

// TestPlan checks the lengths that are counted, and the requests that are foreseen.
func TestPlan(t *testing.T) {
	noClamp := func(s *system) {
		s.before = func(r *SweepRequest, page, _ int) *Answer {
			if page > len(s.qty) {
				return s.listOf(r, nil)
			}
			return nil
		}
	}
	for _, n := range []int64{0, 1, 2, 99, 100, 101, 3333} {
		legacy, candidate := newSystem(upTo(n)...), newSystem(upTo(n)...)
		noClamp(candidate)
		o, _ := optionsFor([2]*system{legacy, candidate}, NewSweepState(nil))
		s := NewSweep(o)
		p, err := s.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := s.state.Lists; len(got) != 1 || got[0] != (sweepLength{"/stockitems", "admin", [2]int64{n, n}}) {
			t.Errorf("%d records: counted %v", n, got)
		}
		// Pages and single records in two formats.
		if want := 2*(n/100+1) + 2*n; p.Total-p.Asked != want {
			t.Errorf("%d records: %d requests, want %d", n, p.Total-p.Asked, want)
		}
	}
}

// TestPlanRefusesCredentials checks that the plan fails if a system rejects a caller.
func TestPlanRefusesCredentials(t *testing.T) {
	legacy, candidate := newSystem(1), newSystem(1)
	candidate.before = func(r *SweepRequest, _, _ int) *Answer { return refusal(r, http.StatusUnauthorized) }
	o, _ := optionsFor([2]*system{legacy, candidate}, NewSweepState(nil))
	if _, err := NewSweep(o).Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "the candidate answers 401 to admin") {
		t.Errorf("error %v", err)
	}
}

// TestEndsWithContext checks that a sweep ends with the cause of its context, and saves its
// state first; and that it ends if the state cannot be saved.
func TestEndsWithContext(t *testing.T) {
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	legacy := newSystem(upTo(250)...)
	o, _ := optionsFor([2]*system{legacy, newSystem(upTo(250)...)}, NewSweepState(nil))
	saved := 0
	o.SaveEvery = time.Hour
	o.Save = func(*SweepState) error { saved++; return nil }
	s := NewSweep(o)
	if _, err := s.Plan(ctx); err != nil {
		t.Fatal(err)
	}
	legacy.before = func(*SweepRequest, int, int) *Answer { cancel(cause); return nil }
	before := saved
	if err := s.Run(ctx); !errors.Is(err, cause) || saved == before {
		t.Errorf("error %v, saved %d times", err, saved-before)
	}

	full := errors.New("no space")
	o, _ = optionsFor([2]*system{newSystem(upTo(250)...), newSystem(upTo(250)...)}, NewSweepState(nil))
	s = NewSweep(o)
	if _, err := s.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.options.Save = func(*SweepState) error { return full }
	if err := s.Run(t.Context()); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// TestRate checks the times of requests by a clock that only the sweep itself moves on.
func TestRate(t *testing.T) {
	const rate = 10
	legacy, candidate := newSystem(upTo(30)...), newSystem(upTo(30)...)
	o, _ := optionsFor([2]*system{legacy, candidate}, NewSweepState(nil))
	// Every request of a sweep waits for its turn.
	o.Rate = rate
	waits := make(chan time.Duration, 10_000)
	o.Now = func() time.Time { return time.Unix(1, 0) }
	o.Sleep = func(_ context.Context, d time.Duration) error { waits <- d; return nil }
	runSweep(t, o)
	close(waits)
	longest, n := time.Duration(0), 0
	for d := range waits {
		longest, n = max(longest, d), n+1
	}
	if asked := len(legacy.asked); n != asked+len(candidate.asked) || longest.Round(time.Millisecond) != time.Duration(asked-1)*time.Second/rate {
		t.Errorf("%d waits up to %v for %d requests", n, longest, asked)
	}
}
