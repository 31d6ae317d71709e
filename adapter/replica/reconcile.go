package replica

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// A reconciler makes the local replica and the backend agree, root by root.
type reconciler struct {
	*walker
	allocateIDs bool
	changed     func(context.Context, map[adapter.Resource][]adapter.Key) error // may be nil
	locks       locks
	log         *logger
	metrics     *Metrics
	refusals    reporter
	instanceID  string // identifies this process in its write intents
	hidden      hidden
	pending     pending // roots whose files a scan is to import
	clock       adapter.Clock
	// foreignIntentAge is how long a write intent of another process is left to that process.
	foreignIntentAge time.Duration
	// foreignWriteWait is how long writes wait for another process to end its write of the same
	// record, and the age of its intent from which reads no longer wait.
	foreignWriteWait time.Duration
}

// A syncState is the state of a root in the local replica compared with the backend. The package
// comment describes the states.
type syncState uint8

const (
	inSync syncState = iota
	stale
	inDoubt
	unmapped
	missing
)

// state returns the sync state of a row whose mapping and document were looked up.
func (r *row) state() syncState {
	switch {
	case r.mapping == nil:
		return unmapped
	case r.mapping.Intent != nil:
		return inDoubt
	case r.mapping.BackendID == "":
		return unmapped
	case r.doc == nil:
		return missing
	case r.mapping.Version != r.doc.Version || r.mapping.Base == nil || r.outdated:
		return stale
	default:
		return inSync
	}
}

// asUnavailable turns a refusal into kind Unavailable. It is for requests that the caller
// of the adapter did not make, so that a refusal is not mistaken for the answer to its own.
func asUnavailable(op string, err error) error {
	if adapter.IsRefusal(err) {
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: err}
	}
	return err
}

// reconcileLocked reconciles roots that the caller has locked. It returns the mappings of the roots
// that the backend has. A mapping with a write intent belongs to a root that another process is
// still writing; the root then has the values stored so far. Kinds: Unavailable, Internal.
func (rc *reconciler) reconcileLocked(ctx context.Context, root *resourcePlan, keys []adapter.Key) (map[adapter.Key]idmap.Mapping, error) {
	deadline := time.Now().Add(rc.foreignWriteWait)
	for {
		rows, err := rc.rowsOf(ctx, root, keys)
		if err != nil {
			return nil, err
		}
		// A root that is being created stays invisible until it is done; reads do not wait for it.
		busy := slices.ContainsFunc(rows, func(r row) bool {
			return rc.isForeign(r) && r.mapping.BackendID != "" && adapter.Age(rc.clock.Now(), r.mapping.ChangedAt, rc.foreignIntentAge) < rc.foreignWriteWait
		})
		last := !time.Now().Before(deadline)
		if !busy || last {
			reconciled, err := rc.reconcileRows(ctx, root, rows)
			if last || !errors.Is(err, errResolved) {
				return reconciled, err
			}
		}
		if err := wait(ctx, poll); err != nil {
			return nil, err
		}
	}
}

// reconcileRoot is reconcileLocked for one root. It returns nil for a root that the backend does
// not have.
func (rc *reconciler) reconcileRoot(ctx context.Context, root *resourcePlan, key adapter.Key) (*idmap.Mapping, error) {
	reconciled, err := rc.reconcileLocked(ctx, root, []adapter.Key{key})
	if mapping, ok := reconciled[key]; ok && err == nil {
		return &mapping, nil
	}
	return nil, err
}

// reconcileOnce is reconcileLocked without waiting for other processes.
func (rc *reconciler) reconcileOnce(ctx context.Context, root *resourcePlan, keys []adapter.Key) error {
	rows, err := rc.rowsOf(ctx, root, keys)
	if err == nil {
		_, err = rc.reconcileRows(ctx, root, rows)
	}
	return err
}

// reconcileRows is reconcileLocked for rows that have their mappings.
func (rc *reconciler) reconcileRows(ctx context.Context, root *resourcePlan, rows []row) (map[adapter.Key]idmap.Mapping, error) {
	reconciled := make(map[adapter.Key]idmap.Mapping, len(rows))
	var appearing []adapter.Key // roots that replies may still report as missing until the end
	for i := range rows {
		if m := rows[i].mapping; m != nil && (m.BackendID == "" || m.Intent != nil) && !rc.isForeign(rows[i]) {
			appearing = append(appearing, m.Key)
		}
		rc.resolveCreate(ctx, root, &rows[i])
	}
	err := cmp.Or(ctx.Err(), rc.addDocuments(ctx, root, rows))
	if err == nil {
		err = rc.noteChanged(ctx, root, keysOf(slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.doc == nil || r.state() == inSync || rc.isForeign(r) })))
	}
	for i := 0; i < len(rows) && err == nil; i++ {
		var mapping *idmap.Mapping
		if mapping, err = rc.reconcileRow(ctx, root, &rows[i]); mapping != nil {
			reconciled[mapping.Key] = *mapping
		}
	}
	if err == nil {
		err = rc.noteChanged(ctx, root, appearing)
	}
	return reconciled, asUnavailable("compare "+string(root.Resource), err)
}

// noteChanged calls Options.Changed for roots and all their parts.
func (rc *reconciler) noteChanged(ctx context.Context, root *resourcePlan, keys []adapter.Key) error {
	if rc.changed == nil || len(keys) == 0 {
		return nil
	}
	changed := map[adapter.Resource][]adapter.Key{root.Resource: keys}
	for _, part := range root.parts {
		changed[part.Resource] = keys
	}
	return rc.changed(ctx, changed)
}

// reconcileRow resolves the write intent of a root, imports the root if its mapping is newer
// than the local replica, and reconciles it. It returns its mapping, nil for a root that the
// backend does not have or that must not be visible.
func (rc *reconciler) reconcileRow(ctx context.Context, root *resourcePlan, r *row) (*idmap.Mapping, error) {
	if r.mapping == nil || r.mapping.BackendID == "" {
		return nil, nil
	}
	switch isForeign := rc.isForeign(*r); {
	case isForeign && r.doc == nil:
		return nil, nil
	case isForeign:
		return r.mapping, nil
	case r.mapping.Intent != nil:
		if err := rc.claim(ctx, r.mapping); err != nil {
			return nil, err
		}
		if err := rc.resolveIntent(ctx, root, *r.mapping, r.doc); err != nil {
			return nil, err
		}
	}
	if r.doc == nil {
		return nil, nil
	}
	if string(r.mapping.Base) == idmap.EmptyBase {
		var err error
		if r.mapping, err = rc.importMapped(ctx, root, r); err != nil || r.mapping == nil {
			return nil, err
		}
	}
	if r.state() == inSync {
		return r.mapping, nil
	}
	mapping, err := rc.reconcile(ctx, root, *r.mapping, *r.doc)
	if adapter.KindOf(err) == adapter.Conflict { // its backend id belongs to another record
		rc.refusals.Duplicate(root.Resource, r.doc.ID)
		return nil, nil
	}
	return &mapping, err
}

// reconcile merges a document into the local replica, and stores the mapping with the new base and
// without its write intent. own are the writes that led to the document. If there is no intent, it
// stores one while it merges, because a concurrent write of another process would be lost
// otherwise. It returns errResolved if another process has stored the mapping since it was read.
// The caller holds the root's lock.
func (rc *reconciler) reconcile(ctx context.Context, root *resourcePlan, mapping idmap.Mapping, doc Document, own ...*Write) (merged idmap.Mapping, err error) {
	item, parts, err := doc.Read(ctx)
	if err != nil {
		return mapping, err
	}
	rc.refusals.LeftOut(root.Resource, doc.ID, item.LeftOut)
	m := merge{reconciler: rc, root: root, key: mapping.Key, own: own}
	if m.accepts = mapping.Base == nil; m.accepts {
		m.base = base{Item: item.Record, Views: item.Views, Parts: parts}
	} else if m.base, err = baseOf(root, mapping); err != nil {
		return mapping, err
	}
	if mapping.Intent != nil {
		if pending, err := decodeIntent(mapping); err == nil && pending.Op == opPush {
			m.pushed = pending
		}
	}
	if before := mapping; before.Intent == nil && !before.ChangedAt.IsZero() && !m.accepts {
		err = rc.begin(ctx, &mapping, &intent{Op: opMerge, Resource: root.Resource, Key: mapping.Key})
		if errors.Is(err, errBusy) {
			err = errResolved
		}
		if err != nil {
			return mapping, err
		}
		defer func() {
			if err != nil && !errors.Is(err, errResolved) { // so that no other process waits for it
				detached, cancel := detachedContext(ctx)
				defer cancel()
				err = errors.Join(err, rc.completeIntent(detached, mapping.Intent, before))
			}
		}()
	}
	newBase, err := m.document(ctx, item, parts)
	if err != nil {
		return mapping, err
	}
	if merged, err = withBase(mapping, newBase); err != nil {
		return mapping, err
	}
	merged.Version, merged.Intent = doc.Version, nil
	err = rc.putReconciled(ctx, mapping, merged, m.partMappings...)
	if adapter.KindOf(err) == adapter.Conflict && len(m.partMappings) > 0 {
		// A part carries the legacy id of one record and has the backend id of another.
		rc.log.WarnOnce("the ID map and the backend disagree about parts of a record: run portico ids check", root.Resource, mapping.BackendID)
		err = rc.putReconciled(ctx, mapping, merged)
	}
	merged.ChangedAt = time.Time{} // only the ID map knows it
	if err == nil {
		rc.hidden.Unhide(root.Resource, mapping.Key)
	}
	return merged, err
}

// errResolved is the error if the stored write intent of a root is no longer the one that was read.
var errResolved = &adapter.Error{Kind: adapter.Unavailable, Op: "store mappings", Err: errors.New("another process has resolved the write intent, or stored one")}

// putReconciled stores the mapping of the root and the mappings of parts, unless the intent of the
// current mapping has changed: another process that has stored an intent relies on the mapping, and
// a process that has claimed the intent of own may have rolled the write back in the local replica,
// so that the new base would hide that the backend has it.
func (rc *reconciler) putReconciled(ctx context.Context, current, root idmap.Mapping, parts ...idmap.Mapping) error {
	if current.ChangedAt.IsZero() && current.Intent == nil { // it is new
		return rc.replica.PutMappings(ctx, append(parts, root)...)
	}
	return rc.completeIntent(ctx, current.Intent, root, parts...)
}

// completeIntent is Replica.CompleteIntent with errResolved for an intent that has changed.
func (rc *reconciler) completeIntent(ctx context.Context, intent []byte, root idmap.Mapping, parts ...idmap.Mapping) error {
	completed, err := rc.replica.CompleteIntent(ctx, intent, root, parts...)
	if err == nil && !completed {
		err = errResolved
	}
	return err
}
