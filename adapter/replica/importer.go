package replica

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

// Import imports a batch as described at [adapter.Importer]. A record without a mapping is
// imported into the local replica, and created at the backend with o.Push, or else by Push. A
// record whose root has a mapping is imported on its own, and changed or deleted at the backend,
// too. If the backend refuses that, the record is restored, and [adapter.Imported.Err] holds the
// reason. The same applies to a record that takes a unique value from a later record of the
// batch. A dry run queries the local replica alone.
func (a *Adapter) Import(ctx context.Context, batch []adapter.Aggregate, o adapter.ImportOptions) ([]adapter.Imported, error) {
	mayChange := func(one adapter.Aggregate) bool {
		return one.Gone || one.PartsOnly || o.Push || o.Existing == adapter.ReplaceExisting || o.Existing == adapter.MergeExisting
	}
	if err := a.checkOpen("import records"); err != nil {
		return nil, err
	}
	if o.DryRun || !slices.ContainsFunc(batch, mayChange) {
		return a.replica.Import(ctx, batch, o)
	}
	mapped, err := a.reconcileImported(ctx, batch)
	if err != nil {
		return nil, err
	}
	last := o // with the position, unless a record is refused
	o.Position = ""
	dry := o
	dry.DryRun = true
	outcomes, err := a.replica.Import(ctx, batch, dry) // finds the records that differ
	if err != nil {
		return nil, err
	}
	var rest []adapter.Aggregate // records that only the local replica stores
	var places []int
	for i, one := range batch {
		to, known := mapped[i]
		if expected := outcomes[i].Outcome; !known || expected == adapter.ImportEqual || expected == adapter.ImportKept {
			rest, places = append(rest, one), append(places, i)
			continue
		}
		err = take(ctx, a.foreignWriteWait, func() (err error) { outcomes[i], err = to.importRecord(ctx, one, o); return err })
		switch {
		case adapter.IsRefusal(err), errors.Is(err, errResolved):
			outcomes[i].Err = err
		case err != nil:
			return nil, err
		}
	}
	stored, err := a.replica.Import(ctx, rest, o)
	for i, one := range stored {
		outcomes[places[i]] = one
	}
	if err == nil && o.Push {
		err = a.pushImported(ctx, batch, outcomes)
	}
	isRefused := func(one adapter.Imported) bool { return one.Err != nil }
	if err == nil && last.Position != "" && !slices.ContainsFunc(outcomes, isRefused) {
		_, err = a.replica.Import(ctx, nil, last)
	}
	return outcomes, err
}

// A mappedImport imports records whose root has a mapping.
type mappedImport struct {
	*store
	rootKey adapter.Key
}

// importedRoots returns the roots of the records of a resource in a batch, each with the places
// of its records in the batch.
func (plan *resourcePlan) importedRoots(ctx context.Context, batch []adapter.Aggregate) (map[adapter.Key][]int, error) {
	keys := map[int]adapter.Key{}
	for i, one := range batch {
		if s := one.Record.Schema; s != nil && s.Resource == plan.Resource {
			keys[i] = one.Record.Key()
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	rootKeys, err := plan.findRecords(ctx, slices.Collect(maps.Values(keys)))
	places := map[adapter.Key][]int{}
	for i, key := range keys {
		root, exists := rootKeys[key]
		if !exists {
			root = plan.rootKeyOf(batch[i].Record)
		}
		places[root] = append(places[root], i)
	}
	return places, err
}

// reconcileImported reconciles the roots of a batch that have a mapping. It returns the
// imports of their records and parts, by their places in the batch.
func (a *Adapter) reconcileImported(ctx context.Context, batch []adapter.Aggregate) (map[int]mappedImport, error) {
	mapped := map[int]mappedImport{}
	for _, plan := range a.ordered {
		places, err := plan.importedRoots(ctx, batch)
		if err != nil {
			return nil, err
		}
		keys := slices.Collect(maps.Keys(places))
		unlock, err := a.locks.Lock(ctx, plan.root.Resource, keys...)
		if err != nil {
			return nil, err
		}
		_, err = a.reconcileLocked(ctx, plan.root, keys) // completes or undoes interrupted creations
		unlock()
		if err != nil {
			return nil, err
		}
		rows, err := a.rowsOf(ctx, plan.root, keys)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			for _, i := range places[r.key] {
				if r.mapping != nil {
					mapped[i] = mappedImport{&store{a, plan}, r.key}
				}
			}
		}
	}
	return mapped, nil
}

// pushImported creates the roots and parts of imported records that the backend lacks. A refusal
// of the backend is an error in the outcomes; a root that was only stored here before counts as
// new.
func (a *Adapter) pushImported(ctx context.Context, batch []adapter.Aggregate, outcomes []adapter.Imported) error {
	for _, plan := range a.ordered {
		places, err := plan.importedRoots(ctx, batch)
		if err != nil {
			return err
		}
		rows, err := a.rowsOf(ctx, plan.root, slices.Sorted(maps.Keys(places)))
		if err != nil {
			return err
		}
		for _, r := range rows {
			imported := slices.DeleteFunc(places[r.key], func(i int) bool {
				return batch[i].Gone || outcomes[i].Err != nil || outcomes[i].Pending && outcomes[i].Outcome == adapter.ImportKept
			})
			lacks, err := a.lacks(ctx, plan.root, r)
			if lacks && err == nil && len(imported) > 0 {
				err = a.pushBelow(ctx, plan.root, r.key)
			}
			if err != nil && !adapter.IsRefusal(err) {
				return err
			}
			for _, i := range imported {
				if outcomes[i].Err = err; lacks && r.mapping == nil && plan.isRoot() && outcomes[i].Outcome == adapter.ImportEqual {
					outcomes[i].Outcome = adapter.ImportCreated
				}
			}
		}
	}
	return nil
}

// lacks reports whether Push would create a root or a part of it at the backend.
func (a *Adapter) lacks(ctx context.Context, root *resourcePlan, r row) (bool, error) {
	if r.mapping == nil || r.mapping.BackendID == "" {
		return root.Creates, nil
	}
	for _, plan := range root.parts {
		parts, err := a.partsToPush(ctx, plan, r.key)
		if err != nil || len(parts) > 0 {
			return true, err
		}
	}
	return false, nil
}

// importRecord imports one record. Kinds: the kinds of the local replica and of the backend, and
// NotFound if the backend does not have the root, or may be about to create it.
func (m mappedImport) importRecord(ctx context.Context, one adapter.Aggregate, o adapter.ImportOptions) (done adapter.Imported, err error) {
	done.Key = one.Record.Key()
	inReplica := func(ctx context.Context) error {
		stored, err := m.replica.Import(ctx, []adapter.Aggregate{one}, o)
		if err == nil {
			done = stored[0]
		}
		return err
	}
	mapping, unlock, err := m.lockRoot(ctx, "import", m.rootKey)
	switch {
	case err == nil && one.Gone:
		defer unlock()
		err = m.remove(ctx, mapping, done.Key, inReplica)
	case err == nil:
		defer unlock()
		err = m.change(ctx, mapping, one, inReplica)
		return done, err
	case one.Gone && adapter.KindOf(err) == adapter.NotFound:
		if err = m.Forget(ctx, m.Resource, done.Key); err == nil {
			err = inReplica(ctx) // this forgets the source, too
		}
	}
	if err == nil {
		done.Outcome = adapter.ImportRemoved
	}
	return done, err
}

// remove deletes a record at the backend, if it exists there, then in the local replica.
func (m mappedImport) remove(ctx context.Context, mapping idmap.Mapping, key adapter.Key, inReplica func(context.Context) error) error {
	if m.hasMappings() {
		r, err := m.rowOf(ctx, m.resourcePlan, key)
		if err != nil {
			return err
		}
		if r.mapping == nil {
			return inReplica(ctx)
		}
	}
	if !m.schema.ReadOnly() {
		if err := m.checkDelete(ctx, &adapter.DeleteParams{Key: key}); err != nil {
			return err
		}
	}
	w, err := m.beginChange(ctx, mapping, intent{Op: opDelete, Key: key})
	if err != nil {
		return err
	}
	w.deleteHere = inReplica
	return w.send(ctx, &Write{Old: w.before})
}

// change imports a record into the local replica, and sends the changes of backend-owned
// attributes and parts to the backend.
func (m mappedImport) change(ctx context.Context, mapping idmap.Mapping, one adapter.Aggregate, inReplica func(context.Context) error) error {
	before, err := m.records(ctx)
	if err != nil {
		return err
	}
	intent := intent{Op: opImport, Key: one.Record.Key()}
	if intent.Aggregates, err = m.aggregates(ctx, one); err == nil {
		intent.Pending, err = m.replica.Pending(ctx, m.root.Resource, m.rootKey)
	}
	if err != nil {
		return err
	}
	w, err := m.begin(ctx, mapping, intent)
	if err != nil {
		return err
	}
	w.before = before[0].records[m.rootKey]
	if m.isRoot() {
		if w.viewsBefore, err = m.storedViews(ctx, m.resourcePlan, m.rootKey); err != nil {
			return w.end(ctx, err)
		}
	}
	if err := w.inReplica(ctx, func() error { return inReplica(ctx) }); err != nil {
		return err
	}
	if err = w.end(ctx, m.sendImported(ctx, w, before)); err != nil {
		return err
	}
	return m.pushParts(ctx, m.root, m.rootKey)
}

// records returns the records of the local replica that an import may change: an imported root
// with its parts, or the parts of one resource.
func (m mappedImport) records(ctx context.Context) ([]*replicaParts, error) {
	return tryConvert(append([]*resourcePlan{m.resourcePlan}, m.parts...), func(plan *resourcePlan) (*replicaParts, error) {
		if !plan.isRoot() {
			return m.loadParts(ctx, plan, m.rootKey)
		}
		r, err := plan.get(ctx, m.rootKey)
		return &replicaParts{resourcePlan: plan, records: map[adapter.Key]adapter.Record{m.rootKey: r}}, err
	})
}

// sendImported sends the differences from the records before the import to the backend, except
// new parts, and completes the write. It returns errResolved if another process has undone the
// import.
func (m mappedImport) sendImported(ctx context.Context, w *pendingWrite, before []*replicaParts) error {
	after, err := m.records(ctx)
	if err != nil {
		return err
	}
	views := Views(nil)
	if m.isRoot() {
		if views, err = m.storedViews(ctx, m.resourcePlan, m.rootKey); err != nil {
			return err
		}
	}
	var sent []*Write
	for i, old := range before {
		plan := old.resourcePlan
		for _, r := range old.sorted() {
			one := &Write{ID: old.ids[r.Key()], Old: r, New: after[i].records[r.Key()]}
			if one.New.Schema != nil {
				one.Changed = plan.changedAttributes(r, one.New)
			}
			if plan.isRoot() {
				one.Views = plan.viewWrites(w.viewsBefore, views)
			}
			isLacking := one.ID == "" && plan.HasIDs && !plan.isRoot() // pushParts creates it
			if isLacking || one.New.Schema != nil && len(one.Changed)+len(one.Views) == 0 {
				continue
			}
			if err := w.renew(ctx); err != nil {
				return err
			}
			part := &pendingWrite{store: &store{m.Adapter, plan}, mapping: w.mapping, since: w.since, intent: intent{Op: opImport, Key: r.Key()}}
			if err := part.request(ctx, one); err != nil {
				return err
			}
			sent = append(sent, one)
		}
	}
	if len(sent) == 0 {
		return w.replaceIntent(ctx, nil)
	}
	return w.complete(ctx, sent...)
}

// aggregates returns the records of the local replica that an import may change, for importing
// them again.
func (m mappedImport) aggregates(ctx context.Context, one adapter.Aggregate) ([]adapter.JSONAggregate, error) {
	if !m.isRoot() {
		q := adapter.Query{Where: []adapter.Condition{keyCondition(m.resourcePlan.rootKey, adapter.Eq, m.rootKey)}}
		records, err := m.localRecords().List(ctx, &adapter.ListParams{Query: q})
		return convert(records, func(r adapter.Record) adapter.JSONAggregate {
			return adapter.EncodeJSONAggregate(adapter.Aggregate{Record: r})
		}), err
	}
	exported, err := m.replica.Export(ctx, m.Resource, m.rootKey-1, 1)
	return convert(exported, func(old adapter.Aggregate) adapter.JSONAggregate {
		// Stock items are aggregates of their own.
		old.Parts = slices.DeleteFunc(old.Parts, func(part adapter.Record) bool { return part.Schema.Resource == adapter.StockItems })
		for _, part := range slices.Concat(old.Parts, one.Parts) {
			if r := part.Schema.Resource; !slices.Contains(old.PartsOf, r) {
				old.PartsOf = append(old.PartsOf, r)
			}
		}
		return adapter.EncodeJSONAggregate(old)
	}), err
}
