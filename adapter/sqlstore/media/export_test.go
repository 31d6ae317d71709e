package media

import "time"

// SetClock gives a store another clock.
func SetClock(s *Bucket, now func() time.Time) { s.now = now }
