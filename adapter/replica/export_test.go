package replica

import "time"

// SetForeignWriteWait sets how long reads wait for the writes of other processes.
func (a *Adapter) SetForeignWriteWait(d time.Duration) { a.foreignWriteWait = d }

// SetForeignIntentAge sets how long a process leaves write intents of other processes to
// them.
func (a *Adapter) SetForeignIntentAge(d time.Duration) { a.foreignIntentAge = d }

// SetNow replaces the clock whose times processes compare.
func (a *Adapter) SetNow(now func() time.Time) { a.clock.Now = now }
