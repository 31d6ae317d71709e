package cache

import "sync"

// keyLocks are locks of keys.
type keyLocks struct {
	mu   sync.Mutex
	used map[[32]byte]*keyLock
}

// A keyLock is the lock of a key that somebody holds or waits for.
type keyLock struct {
	sync.Mutex
	users int
}

// lock waits for the lock of a key and takes it.
func (l *keyLocks) lock(key [32]byte) (unlock func()) {
	l.mu.Lock()
	if l.used == nil {
		l.used = map[[32]byte]*keyLock{}
	}
	one := l.used[key]
	if one == nil {
		one = &keyLock{}
		l.used[key] = one
	}
	one.users++
	l.mu.Unlock()
	one.Lock()
	return func() {
		one.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.used, key)
		}
	}
}
