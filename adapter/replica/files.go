package replica

import (
	"context"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// importFiles imports, for the pending roots, parts with files that only the backend has. Scans do this,
// because reads do not wait for files. A failure is logged; the next scan tries again.
func (a *Adapter) importFiles(ctx context.Context, root *resourcePlan) {
	for _, key := range a.pending.Take(root.Resource) {
		complete, err := a.importFilesOf(ctx, root, key)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("files of a record cannot be imported now; the next scan tries again", "resource", root.Resource, "id", key, "error", err)
		}
		if !complete || err != nil {
			a.pending.Add(root.Resource, key)
		}
	}
}

// importFilesOf imports the files of one root. It reports whether no file is left to import.
func (a *Adapter) importFilesOf(ctx context.Context, root *resourcePlan, key adapter.Key) (complete bool, err error) {
	unlock, err := a.locks.Lock(ctx, root.Resource, key)
	if err != nil {
		return false, err
	}
	defer unlock()
	rows, err := a.rowsOf(ctx, root, []adapter.Key{key})
	if err == nil {
		err = a.addDocuments(ctx, root, rows)
	}
	r := rows[0]
	if err != nil || r.mapping == nil || r.doc == nil || r.state() != inSync {
		return r.mapping == nil || r.doc == nil, err // a root that has changed is merged first
	}
	_, parts, err := r.doc.Read(ctx)
	complete = true
	for _, plan := range root.parts {
		for _, item := range parts[plan.Resource] {
			if err == nil && plan.importsFile(item) {
				var done bool
				done, err = a.importFile(ctx, plan, key, item)
				complete = complete && done
			}
		}
	}
	if err == nil {
		err = a.noteChanged(ctx, root, []adapter.Key{key})
	}
	return complete, err
}

// importFile stores a part with its file as an upload, and maps it, unless it is known. The caller
// holds the lock of the root. It reports false for a file that cannot be read or stored.
func (a *Adapter) importFile(ctx context.Context, plan *resourcePlan, rootKey adapter.Key, item Item) (done bool, err error) {
	existing, err := a.loadParts(ctx, plan, rootKey)
	if err != nil || existing.find(item) != 0 {
		return err == nil, err
	}
	r, err := a.rowOf(ctx, plan.root, rootKey) // each file has changed the mapping
	if err != nil || r.mapping == nil {
		return false, err
	}
	agreed, err := baseOf(plan.root, *r.mapping)
	if err != nil || slices.ContainsFunc(agreed.Parts[plan.Resource], func(known Item) bool { return known.ID == item.ID }) {
		return err == nil, err // it was there before files were imported, or was deleted here
	}
	taken, err := a.replica.MappingsByBackendID(ctx, plan.Resource, []string{item.ID})
	if err != nil || len(taken) > 0 { // another record has it, and an id belongs to one record
		return err == nil, err
	}
	file, err := item.File(ctx)
	if err != nil {
		return a.refuseFile(ctx, plan, item, err)
	}
	record := plan.importedRecord(item)
	record.Set(plan.rootKey, adapter.IntegerValue(int64(rootKey)))
	for name, text := range map[string]string{"file": file.Name, "media_type": file.MediaType, "content": string(file.Content)} {
		record.Set(name, adapter.TextValue(text))
	}
	s, intent := &store{a, plan}, intent{Op: opCreate} // recovery undoes it
	if intent.Siblings, err = s.siblingsBefore(ctx, rootKey, 0); err != nil {
		return false, err
	}
	w, err := s.begin(ctx, *r.mapping, intent)
	if err != nil {
		return false, err
	}
	err = w.inReplica(ctx, func() (err error) {
		w.intent.Key, err = plan.store.Create(ctx, &adapter.CreateParams{Record: record})
		return err
	})
	if err != nil {
		return a.refuseFile(ctx, plan, item, err)
	}
	agreed.Parts[plan.Resource] = append(agreed.Parts[plan.Resource], item)
	merged, err := withBase(w.mapping, agreed)
	if err != nil {
		return false, err
	}
	merged.Intent = nil
	a.metrics.Imported.Count(plan.Resource)
	err = a.completeIntent(ctx, w.mapping.Intent, merged, partMapping(plan, w.intent.Key, item.ID, rootKey))
	return err == nil, err
}

// refuseFile logs that a file cannot be imported. Other files are still imported.
func (a *Adapter) refuseFile(ctx context.Context, plan *resourcePlan, item Item, err error) (done bool, _ error) {
	a.refusals.File(plan.Resource, item.ID, err)
	return false, ctx.Err()
}
