package replica

import "time"

// SetForeignIntentAge sets how long create intents of other processes are left to them.
func (a *Adapter) SetForeignIntentAge(d time.Duration) { a.foreignIntentAge = d }
