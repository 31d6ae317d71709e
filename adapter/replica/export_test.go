package replica

import "time"

// SetForeignIntentAge sets how long write intents of other processes are left to them.
func (a *Adapter) SetForeignIntentAge(d time.Duration) { a.foreignIntentAge = d }
