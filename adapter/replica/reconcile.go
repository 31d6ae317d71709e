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
	locks       rootLocks
	log         *logOnce
	metrics     *metrics
	instanceID  string // identifies this process in its write intents
	hidden      hiddenRoots
	// foreignIntentAge is how long scans leave a write intent of another process to that
	// process, and how long reads do so with a record that the backend does not have yet.
	foreignIntentAge time.Duration
	// foreignWriteWait is how long reads and writes wait for another process to end its write
	// of the same record.
	foreignWriteWait time.Duration
}

// A syncState says how a root in the local replica compares with the backend.
type syncState uint8

const (
	// inSync: the document has the version that was last reconciled.
	inSync syncState = iota
	// stale: the document has another version, or refers to a record that has got its legacy
	// id since.
	stale
	// inDoubt: a write intent must be resolved.
	inDoubt
	// unmapped: the record has no mapping, or one without a backend id.
	unmapped
	// missing: the backend no longer has the record.
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

// reconcileLocked reconciles roots that the caller has locked. It returns the mappings of
// those that the backend has, none of them with a write intent. Kinds: Unavailable,
// Internal.
func (rc *reconciler) reconcileLocked(ctx context.Context, root *resourcePlan, keys []adapter.Key) (map[adapter.Key]idmap.Mapping, error) {
	deadline := time.Now().Add(rc.foreignWriteWait)
	for {
		rows, err := rc.rowsOf(ctx, root, keys)
		if err != nil {
			return nil, err
		}
		// Resolving the intent of a process that is still at work would undo its write. A root
		// that is being created stays invisible until it is done, and nobody waits for it.
		busy := slices.ContainsFunc(rows, func(r row) bool { return rc.isForeign(r) && r.mapping.BackendID != "" })
		last := !time.Now().Before(deadline)
		if !busy || last {
			reconciled, err := rc.reconcileRows(ctx, root, rows)
			if last || !errors.Is(err, errResolved) {
				return reconciled, err
			}
		}
		select {
		case <-time.After(foreignWritePoll):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reconcileRoot is reconcileLocked for one root. It returns nil for one that the backend does
// not have.
func (rc *reconciler) reconcileRoot(ctx context.Context, root *resourcePlan, key adapter.Key) (*idmap.Mapping, error) {
	reconciled, err := rc.reconcileLocked(ctx, root, []adapter.Key{key})
	if mapping, ok := reconciled[key]; ok && err == nil {
		return &mapping, nil
	}
	return nil, err
}

// foreignWritePoll is the time between two looks at an intent of another process, whose end
// the ID map does not announce.
const foreignWritePoll = 20 * time.Millisecond

// reconcileIdle reconciles roots that the caller has locked, except those that another
// process is writing now, for which it would have to guess whether the write will be done.
func (rc *reconciler) reconcileIdle(ctx context.Context, root *resourcePlan, keys []adapter.Key) error {
	rows, err := rc.rowsOf(ctx, root, keys)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, rc.isForeign)
	_, err = rc.reconcileRows(ctx, root, rows)
	return err
}

// reconcileRows is reconcileLocked for rows that have their mappings.
func (rc *reconciler) reconcileRows(ctx context.Context, root *resourcePlan, rows []row) (map[adapter.Key]idmap.Mapping, error) {
	reconciled := make(map[adapter.Key]idmap.Mapping, len(rows))
	for i := range rows {
		rc.resolveCreate(ctx, root, &rows[i])
	}
	err := cmp.Or(ctx.Err(), rc.addDocuments(ctx, root, rows))
	for i := 0; i < len(rows) && err == nil; i++ {
		var mapping *idmap.Mapping
		if mapping, err = rc.reconcileRow(ctx, root, &rows[i]); mapping != nil {
			reconciled[mapping.Key] = *mapping
		}
	}
	return reconciled, asUnavailable("compare "+string(root.Resource), err)
}

// reconcileRow resolves the write intent of a root, imports the root if its mapping is newer
// than the local replica, and reconciles it. It returns its mapping, nil for a root that the
// backend does not have or that must not be visible.
func (rc *reconciler) reconcileRow(ctx context.Context, root *resourcePlan, r *row) (*idmap.Mapping, error) {
	if r.mapping == nil || r.mapping.BackendID == "" {
		return nil, nil
	}
	if r.mapping.Intent != nil {
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
	if adapter.KindOf(err) == adapter.Conflict { // its backend id is that of another record
		rc.warnDuplicate(root, r.doc.ID)
		return nil, nil
	}
	return &mapping, err
}

// warnDuplicate reports a document that carries another record's legacy id.
func (rc *reconciler) warnDuplicate(root *resourcePlan, id string) {
	rc.metrics.unmapped.count(root.Resource)
	rc.log.warnOnce("a record of the backend carries another record's legacy id: correct it at the backend", root.Resource, id)
}

// reconcile merges a document into the local replica, and stores the mapping with the new
// base and without its write intent. own are the writes that led to the document. It returns
// errResolved if another process has changed the intent meanwhile. The
// caller holds the root's lock.
func (rc *reconciler) reconcile(ctx context.Context, root *resourcePlan, mapping idmap.Mapping, doc Document, own ...*Write) (idmap.Mapping, error) {
	item, parts, err := doc.Read(ctx)
	if err != nil {
		return mapping, err
	}
	m := merge{reconciler: rc, root: root, key: mapping.Key, own: own}
	if m.accepts = mapping.Base == nil; m.accepts {
		m.base = base{item: item.Record, parts: parts}
	} else if m.base, err = baseOf(root, mapping); err != nil {
		return mapping, err
	}
	newBase, err := m.document(ctx, item, parts)
	if err != nil {
		return mapping, err
	}
	merged, err := withBase(mapping, newBase)
	if err != nil {
		return mapping, err
	}
	merged.Version, merged.Intent = doc.Version, nil
	err = rc.putReconciled(ctx, mapping, own, merged, m.partMappings...)
	if adapter.KindOf(err) == adapter.Conflict && len(m.partMappings) > 0 {
		// A part carries the legacy id of one record and has the backend id of another.
		rc.log.warnOnce("the ID map and the backend disagree about parts of a record: run portico ids check", root.Resource, mapping.BackendID)
		err = rc.putReconciled(ctx, mapping, own, merged)
	}
	if err == nil {
		rc.hidden.unhide(root.Resource, mapping.Key)
	}
	return merged, err
}

// errResolved says that the stored write intent of a root is no longer the one that was read.
var errResolved = &adapter.Error{Kind: adapter.Unavailable, Op: "store mappings", Err: errors.New("another process has resolved the write intent, or stored one")}

// putReconciled stores the mapping of the root and those of parts, unless the intent of the
// current mapping has changed: another process that found the intent of own before the
// backend had the write has rolled the write back in the local replica, so the new base
// would hide that the backend has it; and another process that stored an intent relies on
// it. A process that resolves an intent stores its result in any case, with the old base, so
// that the next comparison takes over what the writer did.
func (rc *reconciler) putReconciled(ctx context.Context, current idmap.Mapping, own []*Write, root idmap.Mapping, parts ...idmap.Mapping) error {
	isNew, resolves := current.ChangedAt.IsZero(), current.Intent != nil
	if own == nil && (isNew || resolves) {
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
