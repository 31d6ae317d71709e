package limits_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/limits"
)

func TestTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := limits.NewBudget("bytes", 10, time.Second)
		if err := b.Take(t.Context(), 7); err != nil {
			t.Fatal(err)
		}

		t.Log("more than is left is refused once the wait is over")
		start := time.Now()
		err := b.Take(t.Context(), 4)
		var refused *adapter.Error
		if !errors.As(err, &refused) || refused.Kind != adapter.Unavailable || !errors.Is(err, limits.ErrExhausted) || refused.RetryAfter <= 0 {
			t.Errorf("error %v, want one of kind unavailable with a time to retry after", err)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("refused after %s, want a second", waited)
		}

		t.Log("more than there ever is is refused at once")
		start = time.Now()
		if err := b.Take(t.Context(), 11); !errors.Is(err, limits.ErrExhausted) || time.Since(start) != 0 {
			t.Errorf("error %v after %s", err, time.Since(start))
		}

		t.Log("or without a wait")
		start = time.Now()
		if err := b.TryTake(4); !errors.Is(err, limits.ErrExhausted) || time.Since(start) != 0 {
			t.Errorf("error %v after %s", err, time.Since(start))
		}

		t.Log("a caller that leaves is not counted as refused")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, cancel)
		if err := b.Take(ctx, 4); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
		if got, want := b.State(), (limits.BudgetState{Name: "bytes", Limit: 10, Used: 7, Refused: 3}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}

		t.Log("what is returned in time is taken")
		time.AfterFunc(time.Second/2, func() { b.Return(7) })
		if err := b.Take(t.Context(), 10); err != nil {
			t.Error(err)
		}
	})
}

func TestPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := limits.NewBudget("whole", 10, time.Second)
		part := whole.Part("part", 6)
		if err := part.Take(t.Context(), 6); err != nil {
			t.Fatal(err)
		}
		if err := part.Take(t.Context(), 1); !errors.Is(err, limits.ErrExhausted) {
			t.Errorf("beyond the part: %v", err)
		}
		if used := whole.State().Used; used != 6 {
			t.Errorf("%d units of the whole are used, want the 6 of the part", used)
		}
		if err := whole.Take(t.Context(), 4); err != nil {
			t.Errorf("the rest of the whole: %v", err)
		}
		part.Return(6)
		if err := whole.Take(t.Context(), 6); err != nil {
			t.Errorf("what the part has returned: %v", err)
		}
		if err := part.Take(t.Context(), 1); !errors.Is(err, limits.ErrExhausted) {
			t.Errorf("beyond the whole: %v", err)
		}
		if used := part.State().Used; used != 0 {
			t.Errorf("%d units of the part are used, want none", used)
		}
	})
}

// TestLimit checks that concurrent takers never hold more than the limit.
func TestLimit(t *testing.T) {
	const limit = 5
	b := limits.NewBudget("places", limit, time.Minute)
	part := b.Part("part", 2)
	var (
		mu        sync.Mutex
		out, most int64
		group     sync.WaitGroup
	)
	hold := func(from *limits.Budget, n int64) {
		if err := from.Take(t.Context(), n); err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		out += n
		most = max(most, out)
		mu.Unlock()
		mu.Lock()
		out -= n
		mu.Unlock()
		from.Return(n)
	}
	for i := range int64(50) {
		group.Go(func() {
			for range 20 {
				hold(b, 1+i%3)
				hold(part, 1+i%2)
			}
		})
	}
	group.Wait()
	if most > limit {
		t.Errorf("%d units were out at once, of %d", most, limit)
	}
	if used := b.State().Used + part.State().Used; used != 0 {
		t.Errorf("%d units are used at the end", used)
	}
}
