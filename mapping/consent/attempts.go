package consent

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// countedNames bounds how many accounts, and how many clients, are remembered by
	// their failed attempts. Beyond it, who has failed longest ago begins anew.
	countedNames = 10_000
	// An account takes accountBurst wrong passwords at once and one more every
	// accountPause, a client likewise.
	accountBurst, accountPause = 10, 30 * time.Second
	clientBurst, clientPause   = 30, 10 * time.Second
)

// attempts counts what was tried under each name. Its counts are those of this process
// alone.
type attempts struct {
	burst int
	pause time.Duration
	now   func() time.Time

	mu     sync.Mutex
	byName *lru.Cache[string, spent]
}

// spent is how much of a burst is used, which gets less as time passes.
type spent struct {
	tries float64
	at    time.Time
}

func newAttempts(burst int, pause time.Duration, now func() time.Time) (*attempts, error) {
	byName, err := lru.New[string, spent](countedNames)
	return &attempts{burst: burst, pause: pause, now: now, byName: byName}, err
}

// take counts an attempt and returns 0, or how long to wait for the next one.
func (a *attempts) take(name string) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	s := a.left(name, now)
	if s.tries+1 > float64(a.burst) {
		return time.Duration((s.tries + 1 - float64(a.burst)) * float64(a.pause))
	}
	a.byName.Add(name, spent{s.tries + 1, now})
	return 0
}

// forgive takes back an attempt that was right.
func (a *attempts) forgive(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if s := a.left(name, now); s.tries > 1 {
		a.byName.Add(name, spent{s.tries - 1, now})
	} else {
		a.byName.Remove(name)
	}
}

func (a *attempts) left(name string, now time.Time) spent {
	s, _ := a.byName.Get(name)
	s.tries = max(0, s.tries-float64(now.Sub(s.at))/float64(a.pause))
	return s
}
