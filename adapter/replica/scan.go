package replica

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"time"
)

// scanPeriodically scans immediately, then on every tick, until ctx ends.
func (a *Adapter) scanPeriodically(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := a.Scan(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("scanning the backend failed; the next scan tries again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Scan reconciles the local replica with the backend once: it first resolves pending write intents, then
// imports new documents and applies changed ones. It returns after all resources have been scanned, with the
// errors of the resources that failed. A list that may lack records is not an error: it is logged once and
// counted, and the next scan reads it again. As no scan proves that a record does not exist, none deletes
// one. Scans do not overlap: a second call waits for the first. Kinds: Unavailable, Internal.
func (a *Adapter) Scan(ctx context.Context) error {
	if err := a.checkOpen("scan " + a.Name()); err != nil {
		return err
	}
	select {
	case a.scanSlot <- struct{}{}:
		defer func() { <-a.scanSlot }()
	case <-ctx.Done():
		return ctx.Err()
	}
	a.resolveIntents(ctx, "")
	var errs []error
	for _, root := range a.ordered {
		if !root.isRoot() {
			continue
		}
		if err := a.scanRoot(ctx, root); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(errs...)
}

// scanRoot is Scan for one root resource, without its pending write intents. The caller holds the
// scan slot.
func (a *Adapter) scanRoot(ctx context.Context, root *resourcePlan) error {
	started := a.clock.Read()
	complete := true
	err := a.walk(ctx, root, fromBackend, started.ChangesFrom(a.scans[root.Resource]), func(rows []row) error {
		ok, err := a.reconcileBatch(ctx, root, rows)
		complete = complete && ok
		return err
	})
	a.importFiles(ctx, root)
	incomplete, isIncomplete := errors.AsType[*IncompleteListError](err)
	switch {
	case isIncomplete: // the next scan begins where this one has
		a.refusals.IncompleteScan(root.Resource, incomplete)
	case adapter.KindOf(err) == adapter.Unsupported: // the backend cannot list these documents
	case err != nil:
		return err
	case complete:
		a.scans[root.Resource] = started
	}
	return nil
}

// ResolveIntents resolves the pending write intents of processes that have ended, as a scan does
// before it reads the backend. It is for processes that do not scan. A write of another process
// counts as ended a minute after it began.
func (a *Adapter) ResolveIntents(ctx context.Context) { a.resolveIntents(ctx, "") }

// maxIntentsPerScan bounds the number of write intents that one scan resolves.
const maxIntentsPerScan = 1000

// resolveIntents resolves the pending write intents of a resource, or of all resources for "",
// except intents whose writers are still running. It returns the number of resolved ones.
func (a *Adapter) resolveIntents(ctx context.Context, r adapter.Resource) (resolved int) {
	withIntent, err := a.replica.MappingsWithIntent(ctx, maxIntentsPerScan)
	if err != nil {
		a.log.Warn("write intents cannot be read", "error", err)
		return 0
	}
	for _, mapping := range withIntent {
		root := a.plans[mapping.Resource]
		if root == nil || !root.isRoot() || r != "" && r != mapping.Resource {
			continue
		}
		done, err := a.tryResolveIntent(ctx, root, mapping.Key)
		if adapter.KindOf(err) == adapter.Unavailable || ctx.Err() != nil {
			break // the remaining ones would fail in the same way
		}
		if done {
			resolved++
		}
	}
	if r == "" {
		a.metrics.Intents.Set(float64(len(withIntent) - resolved))
	}
	return resolved
}

// tryResolveIntent reconciles one root with the backend, which completes or drops a write
// that was interrupted and deletes its intent. It does nothing while a writer of this
// process holds the root's lock, or while another process is writing: the writer deletes
// its intent itself. It reports whether no intent is left.
func (a *Adapter) tryResolveIntent(ctx context.Context, root *resourcePlan, key adapter.Key) (bool, error) {
	unlock, _ := a.locks.TryLock(root.Resource, key)
	if unlock == nil {
		return false, nil
	}
	defer unlock()
	if err := a.reconcileOnce(ctx, root, []adapter.Key{key}); err != nil {
		return false, err
	}
	r, err := a.rowOf(ctx, root, key)
	return err == nil && (r.mapping == nil || r.mapping.Intent == nil), err
}

// reconcileBatch reconciles known documents and imports unknown ones. It reports whether every
// document was handled.
func (a *Adapter) reconcileBatch(ctx context.Context, root *resourcePlan, rows []row) (complete bool, err error) {
	var outdated, shown []adapter.Key
	complete = true
	for _, r := range rows {
		if r.mapping != nil {
			shown = append(shown, a.hidden.Unhide(root.Resource, r.key)...)
			if r.state() != inSync {
				outdated = append(outdated, r.key)
			}
			continue
		}
		decided, err := a.importUnmapped(ctx, root, *r.doc)
		if err != nil {
			return false, err
		}
		complete = complete && decided
	}
	if err := a.noteChanged(ctx, root, shown); err != nil {
		return false, err
	}
	return complete, a.reconcileEach(ctx, root, outdated)
}

// reconcileEach reconciles stale roots that a scan found. If that fails, it reconciles them one
// by one, and logs the roots that fail again.
func (a *Adapter) reconcileEach(ctx context.Context, root *resourcePlan, keys []adapter.Key) error {
	reconcile := func(keys ...adapter.Key) error {
		unlock, err := a.locks.Lock(ctx, root.Resource, keys...)
		if err != nil {
			return err
		}
		defer unlock()
		return a.reconcileOnce(ctx, root, keys)
	}
	if reconcile(keys...) == nil {
		return nil
	}
	for _, key := range keys {
		// Another process that has just written a record compares it itself.
		if err := reconcile(key); err != nil && !errors.Is(err, errResolved) && ctx.Err() == nil {
			a.log.Warn("a record cannot be reconciled with the backend", "resource", root.Resource, "id", key, "error", err)
		}
	}
	return ctx.Err()
}
