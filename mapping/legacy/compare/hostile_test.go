package compare

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// TestRecordListedTwice checks that a record that one system lists twice is a difference, wherever
// in the list it is.
func TestRecordListedTwice(t *testing.T) {
	for _, twice := range []int64{1, 40, 100, 130} {
		for which := range 2 {
			systems := [2]*system{newSystem(upTo(130)...), newSystem(upTo(130)...)}
			systems[which].before = func(r *SweepRequest, page, _ int) *Answer {
				if !strings.HasSuffix(r.Target, "limit=100") || int64(page) != (twice-1)/100+1 {
					return nil
				}
				ids := upTo(130)[(page-1)*100 : min(page*100, 130)]
				return systems[which].listOf(r, slices.Insert(slices.Clone(ids), slices.Index(ids, twice), twice))
			}
			o, got := optionsFor(systems, NewSweepState(nil))
			runSweep(t, o)
			want := oneSided([]int64{twice}, nil)
			if which == 1 {
				want = oneSided(nil, []int64{twice})
			}
			if got.sorted(); !slices.Equal(got.Found, want) {
				t.Errorf("%d twice in system %d: found %q, want %q, left out %q", twice, which, got.Found, want, got.LeftOut)
			}
		}
	}
}

// TestAnswersInMemory checks how many answers a sweep keeps of a system that answers at once, while
// the other one answers nothing.
func TestAnswersInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parallel = 3
		systems := [2]*system{newSystem(upTo(100)...), newSystem(upTo(100)...)}
		o, _ := optionsFor(systems, NewSweepState(nil))
		o.Parallel = parallel
		kept := 0
		o.Ask = func(ctx context.Context, i int, r *SweepRequest) (*Answer, error) {
			answer := systems[i].answer(r)
			if !strings.HasPrefix(r.Target, "/stockitems/") {
				return answer, nil
			}
			if i == 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			systems[0].mu.Lock()
			defer systems[0].mu.Unlock()
			kept++
			return answer, nil
		}
		s := NewSweep(o)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := s.Plan(ctx); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		if kept == 0 || kept > parallel {
			t.Errorf("%d answers are in memory, want at most %d", kept, parallel)
		}
		cancel()
		<-ended
	})
}
