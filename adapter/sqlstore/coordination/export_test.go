package coordination

import "context"

// Constants and methods for tests that use databases.
const (
	KeptGenerations = keptGenerations
	MaxChangedKeys  = maxChangedKeys
)

func (w *Watcher) Known() bool                    { return w.known() }
func (w *Watcher) Look() bool                     { return w.look() }
func (w *Watcher) Share(ctx context.Context) bool { return w.share(ctx) }

// StopLooking has a watch look no more by itself.
func (w *Watcher) StopLooking() {
	w.stop()
	w.done.Wait()
}

// Age makes an announcement due to be renewed.
func (a *Announcement) Age() { a.renewed = a.renewed.Add(-renewProcess) }
