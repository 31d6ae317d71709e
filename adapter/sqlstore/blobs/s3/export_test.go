package s3

import "time"

// SetClock gives a store another clock.
func SetClock(s *Store, now func() time.Time) { s.now = now }
