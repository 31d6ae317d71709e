package replica

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// maxTold bounds what is remembered of what the log was told.
const maxWarnings = 10_000

// told remembers what the log was told, so that it is told once.
type logOnce struct {
	mu     sync.Mutex
	logged map[string]bool
}

// once tells the log of a record, unless it knows. id is the backend's, or says that
// it is not.
func (t *logOnce) warn(log *slog.Logger, message string, r adapter.Resource, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what := message + string(r) + " " + id
	if t.logged[what] || len(t.logged) >= maxWarnings {
		return
	}
	if t.logged == nil {
		t.logged = map[string]bool{}
	}
	t.logged[what] = true
	log.Warn(message, "resource", r, "record", id)
}

// legacy names the entry for the log.
func (mapping Mapping) keyForLog() string {
	return "legacy id " + strconv.FormatInt(int64(mapping.Key), 10)
}

// scanAlways scans at once, and then ever again, until ctx ends.
func (a *Adapter) scanPeriodically(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := a.Scan(ctx); err != nil && ctx.Err() == nil {
			a.log.Warn("the backend was not scanned to the end", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// overlap is how much of the time before the last scan the next one looks at again:
// the clock of the backend is another one.
const scanOverlap = 5 * time.Minute

// Scan looks once for writes that did not come to their end, and then for what is new
// or changed at the backend. It returns when all of that is done, or the first error
// of a side that does not answer.
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
	var faults []error
	for _, root := range a.rootPlans {
		begun := time.Now()
		since := a.lastScan[root.Resource]
		if !since.IsZero() {
			since = since.Add(-scanOverlap)
		}
		whole := true
		err := a.backend.Scan(ctx, root.Resource, since, func(docs []Document) error {
			all, err := a.reconcileBatch(ctx, root, docs)
			whole = whole && all
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if adapter.KindOf(err) == adapter.Unsupported && err != nil {
			continue // it cannot list them
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if whole {
			a.lastScan[root.Resource] = begun
		}
	}
	return errors.Join(faults...)
}

// settleLimit bounds how many notes one scan looks after.
const maxIntentsPerScan = 1000

// settleAll looks after the writes of a resource, or of all for "", that did not come
// to their end and that nobody is at. It returns how many are settled.
func (a *Adapter) resolveIntents(ctx context.Context, r adapter.Resource) (settled int) {
	noted, err := a.replica.MappingsWithIntent(ctx, time.Now().Add(time.Second), maxIntentsPerScan)
	if err != nil {
		a.log.Warn("notes of writes cannot be read", "error", err)
		return 0
	}
	open := 0
	for _, mapping := range noted {
		root := a.plans[mapping.Resource]
		if root == nil || !root.isRoot() || r != "" && r != mapping.Resource || ctx.Err() != nil {
			continue
		}
		done, err := a.tryResolveIntent(ctx, root, mapping.Key)
		if adapter.KindOf(err) == adapter.Unavailable {
			open = len(noted) - settled // it would be as it is with this one
			break
		}
		if done {
			settled++
		} else {
			open++
		}
	}
	if r == "" {
		a.metrics.intents.Set(float64(open))
	}
	return settled
}

// settleOne looks after the note of one root, unless its writer is still at it. It
// reports whether the note is gone.
func (a *Adapter) tryResolveIntent(ctx context.Context, root *resourcePlan, key adapter.Key) (bool, error) {
	unlock, ok := a.locks.tryLock(recordRef{root.Resource, key})
	if !ok {
		return false, nil
	}
	defer unlock()
	if _, err := a.reconcileLocked(ctx, root, []adapter.Key{key}); err != nil {
		return false, err
	}
	mappings, err := a.replica.MappingsByKey(ctx, root.Resource, []adapter.Key{key})
	return err == nil && (len(mappings) == 0 || mappings[0].Intent == nil), err
}

// meet looks at documents of the backend: what is known is brought up to date, and
// what is not is taken over. It reports whether it could decide on all of them.
func (a *Adapter) reconcileBatch(ctx context.Context, root *resourcePlan, docs []Document) (all bool, err error) {
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.ID
	}
	mappings, err := a.replica.MappingsByBackendID(ctx, root.Resource, ids)
	if err != nil {
		return false, err
	}
	known := make(map[string]Mapping, len(mappings))
	for _, mapping := range mappings {
		known[mapping.BackendID] = mapping
	}
	var late []adapter.Key
	all = true
	for _, doc := range docs {
		if mapping, ok := known[doc.ID]; ok {
			a.hidden.unhide(root.Resource, mapping.Key)
			if mapping.Version != doc.Version || mapping.Base == nil || mapping.Intent != nil {
				late = append(late, mapping.Key)
			}
			continue
		}
		decided, err := a.importUnmapped(ctx, root, doc)
		if err != nil {
			return false, err
		}
		all = all && decided
	}
	if err := a.reconcileEach(ctx, root, late); err != nil {
		return false, err
	}
	return all, nil
}

// refreshMet brings roots up to date that a scan has met. One that cannot be is said,
// and does not keep the others from it.
func (a *Adapter) reconcileEach(ctx context.Context, root *resourcePlan, late []adapter.Key) error {
	if len(late) == 0 {
		return nil
	}
	_, err := a.reconcileRoots(ctx, root, late)
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, key := range late {
		if _, err := a.reconcileRoots(ctx, root, []adapter.Key{key}); err != nil {
			a.log.Warn("a record is not brought up to date with the backend", "resource", root.Resource, "id", key, "error", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// welcome takes over a document that has no entry. It reports whether it could decide
// on it: one that may be of a record that is just being created is left to the next
// scan.
func (a *Adapter) importUnmapped(ctx context.Context, root *resourcePlan, doc Document) (decided bool, err error) {
	item, parts, err := doc.Read(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		a.warned.warn(a.log, "a record of the backend cannot be read: "+err.Error(), root.Resource, doc.ID)
		return false, nil
	}
	if item.Key != 0 {
		return a.bindByLegacyID(ctx, root, doc, item, parts)
	}
	noted, err := a.replica.MappingsWithIntent(ctx, time.Now().Add(time.Second), maxIntentsPerScan)
	if err != nil {
		return false, err
	}
	for _, mapping := range noted {
		if mapping.Resource == root.Resource && mapping.BackendID == "" {
			return false, nil
		}
	}
	// What this adapter or another one created stands in the ledger by now.
	mappings, err := a.replica.MappingsByBackendID(ctx, root.Resource, []string{doc.ID})
	if err != nil || len(mappings) > 0 {
		return true, err
	}
	if a.unmappedPolicy == RefuseUnmapped {
		a.metrics.unmapped.WithLabelValues(string(root.Resource)).Inc()
		a.warned.warn(a.log, "a record of the backend has no legacy id: import one, or have ids allocated", root.Resource, doc.ID)
		return true, nil
	}
	return true, a.importDocument(ctx, root, 0, doc, item, parts)
}

// claim takes over a document that carries a legacy id.
func (a *Adapter) bindByLegacyID(ctx context.Context, root *resourcePlan, doc Document, item Item, parts map[adapter.Resource][]Item) (decided bool, err error) {
	unlock, err := a.locks.lock(ctx, recordRef{root.Resource, item.Key})
	if err != nil {
		return false, err
	}
	defer unlock()
	mappings, err := a.replica.MappingsByKey(ctx, root.Resource, []adapter.Key{item.Key})
	switch {
	case err != nil:
		return false, err
	case len(mappings) == 0:
		_, err := root.get(ctx, item.Key)
		if adapter.KindOf(err) == adapter.NotFound {
			return true, a.importDocument(ctx, root, item.Key, doc, item, parts)
		}
		if err != nil {
			return false, err
		}
		mapping, _, err := a.reconcile(ctx, root, Mapping{Resource: root.Resource, Key: item.Key, BackendID: doc.ID, Base: []byte(emptyBase)}, doc, nil)
		if err == nil {
			a.hidden.unhide(root.Resource, mapping.Key)
		}
		return true, err
	case mappings[0].BackendID == "":
		mapping, err := a.completeCreate(ctx, root, mappings[0], doc)
		if err == nil && mapping.BackendID != "" {
			a.hidden.unhide(root.Resource, mapping.Key)
		}
		return mapping.BackendID != "", err
	case mappings[0].BackendID != doc.ID:
		a.metrics.unmapped.WithLabelValues(string(root.Resource)).Inc()
		a.warned.warn(a.log, "a record of the backend carries the legacy id of another one: correct it there", root.Resource, doc.ID)
		return true, nil
	default:
		return true, nil
	}
}

// adopt stores a record that only the backend has, with its parts, under a key, or the
// next for 0. What the side refuses is left out, and said.
func (a *Adapter) importDocument(ctx context.Context, root *resourcePlan, key adapter.Key, doc Document, item Item, parts map[adapter.Resource][]Item) error {
	is := base{item: item.Record, parts: map[adapter.Resource][]Item{}}
	records := []ImportedRecord{{Mapping: Mapping{Resource: root.Resource, Key: key, BackendID: doc.ID, Version: doc.Version}, Record: root.importedRecord(item)}}
	for _, plan := range root.parts {
		items, given := parts[plan.Resource]
		if !given {
			continue
		}
		is.parts[plan.Resource] = items
		for _, part := range items {
			if plan.ImportsParts {
				records = append(records, ImportedRecord{Mapping: Mapping{Resource: plan.Resource, Key: part.Key, BackendID: part.ID, Root: root.Resource}, RootAttribute: plan.RootAttribute, Record: plan.importedRecord(part)})
			}
		}
	}
	var err error
	if records[0].Mapping, err = withBase(records[0].Mapping, is); err != nil {
		return err
	}
	_, err = a.replica.ImportRecords(ctx, records)
	switch {
	case err == nil:
		a.metrics.countImported(root.Resource)
		if isReferenced(root.Resource) {
			return a.replica.InvalidateVersions(ctx)
		}
		return nil
	case isRefusal(err):
		a.metrics.countRefused(root.Resource)
		a.warned.warn(a.log, "a record of the backend is not taken over: "+err.Error(), root.Resource, doc.ID)
		return nil
	default:
		return err
	}
}

// referredTo reports whether documents that are known may refer to a record that has
// just got its legacy id. Customers and products, which are many, come before the
// orders that name them.
func isReferenced(r adapter.Resource) bool {
	return r == adapter.Websites || r == adapter.CustomerGroups || r == adapter.Categories
}

// nothingKnown is the base of an entry that says no more than that a document is of a
// legacy id: all that the document says is taken over.
const emptyBase = "{}"

// admit adopts a record that has an entry already, which somebody imported, if the
// side has not got it. It reports whether the side has it then. The root is locked.
func (a *Adapter) importMapped(ctx context.Context, root *resourcePlan, mapping Mapping, doc Document) (Mapping, bool, error) {
	if _, err := root.get(ctx, mapping.Key); adapter.KindOf(err) != adapter.NotFound {
		return mapping, err == nil, err
	}
	item, parts, err := doc.Read(ctx)
	if err != nil {
		return mapping, false, err
	}
	partMappings, err := a.replica.MappingsOfParts(ctx, root.Resource, mapping.Key)
	if err != nil {
		return mapping, false, err
	}
	for _, part := range partMappings {
		items := parts[part.Resource]
		for i := range items {
			if items[i].ID == part.BackendID && part.BackendID != "" {
				items[i].Key = part.Key
			}
		}
	}
	if err := a.replica.DeleteMapping(ctx, root.Resource, mapping.Key); err != nil {
		return mapping, false, err
	}
	if err := a.importDocument(ctx, root, mapping.Key, doc, item, parts); err != nil {
		return mapping, false, errors.Join(err, a.putMappingsDetached(ctx, append(partMappings, mapping)...))
	}
	mappings, err := a.replica.MappingsByKey(ctx, root.Resource, []adapter.Key{mapping.Key})
	if err != nil {
		return mapping, false, err
	}
	if len(mappings) == 1 {
		return mappings[0], true, nil
	}
	return mapping, false, a.putMappingsDetached(ctx, append(partMappings, mapping)...) // refused, so they stay as they were
}
