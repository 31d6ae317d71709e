package limits_test

import (
	"github.com/portico-commerce/portico/mapping/limits"
	"sync"
	"testing"
	"time"
)

// totals add up tokens at once, as processes would by way of Redis.
type totals struct {
	mu     sync.Mutex
	fullAt map[string]time.Time
	now    func() time.Time
	calls  int
}

func (l *totals) Add(name string, tokens int64, interval, _ time.Duration, full func(time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	at := l.fullAt[name]
	if now := l.now(); at.Before(now) {
		at = now
	}
	l.fullAt[name] = at.Add(time.Duration(tokens) * interval)
	full(l.fullAt[name])
}

// TestShared takes tokens of one caller from limiters of several processes in turn.
func TestShared(t *testing.T) {
	for _, tt := range []struct {
		name             string
		processes, burst int
		least, most      int // calls that all processes allow at once
	}{
		{"a small bucket", 4, 10, 10, 10 + 4},
		{"a large bucket", 4, 160, 160, 160 + 4*10},
		{"many processes", 20, 160, 160, 160 + 20*10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := time.Unix(1_700_000_000, 0)
			now := func() time.Time { return clock }
			all := &totals{fullAt: map[string]time.Time{}, now: now}
			var limiters []*limits.Limiter[int64]
			for range tt.processes {
				l, err := limits.NewLimiter[int64](1, tt.burst, now)
				if err != nil {
					t.Fatal(err)
				}
				limiters = append(limiters, l.Share("test", all))
			}
			takeAll := func() (allowed int) {
				for n := 0; n < tt.processes*tt.burst; n++ {
					if _, ok := limiters[n%tt.processes].Take(1); ok {
						allowed++
					}
				}
				return allowed
			}
			if allowed := takeAll(); allowed < tt.least || allowed > tt.most {
				t.Errorf("%d calls allowed, want %d to %d", allowed, tt.least, tt.most)
			}
			if most := tt.most; all.calls > most {
				t.Errorf("others were informed %d times", all.calls)
			}
			if _, ok := limiters[0].Take(2); !ok {
				t.Error("another caller is refused")
			}
		})
	}
	t.Run("given back", func(t *testing.T) {
		clock := time.Unix(1_700_000_000, 0)
		now := func() time.Time { return clock }
		all := &totals{fullAt: map[string]time.Time{}, now: now}
		one, err := limits.NewLimiter[string](1, 5, now)
		if err != nil {
			t.Fatal(err)
		}
		other, err := limits.NewLimiter[string](1, 5, now)
		if err != nil {
			t.Fatal(err)
		}
		one.Share("test", all)
		other.Share("test", all)
		for range 100 {
			if _, ok := one.Take("a"); !ok {
				t.Fatal("refused")
			}
			one.GiveBack("a")
		}
		for range 5 {
			if _, ok := other.Take("a"); !ok {
				t.Fatal("refused by what was given back")
			}
		}
		if _, ok := one.Take("a"); ok {
			one.GiveBack("a")
			if wait, ok := one.Take("a"); ok {
				t.Errorf("allowed after others took all, wait %d", wait)
			}
		}
	})
}
