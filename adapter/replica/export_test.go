package replica

import "time"

// LeaveForeign says how long notes of other processes are left to them.
func (a *Adapter) LeaveForeign(d time.Duration) { a.foreignIntentAge = d }
