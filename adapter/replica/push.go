package replica

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// pushBatch is how many records a push reads at a time.
const pushBatchSize = 100

// Push creates at the backend all records of the side that it has not got: those of
// kept resources without an entry, and their parts. progress, unless nil, is told
// after each root how many of them all are looked at. Push may be ended and begun
// again; it returns the first error, which names the record.
func (a *Adapter) Push(ctx context.Context, progress func(done, total int)) error {
	if err := a.checkOpen("push to " + a.Name()); err != nil {
		return err
	}
	done, total := 0, 0
	for _, root := range a.rootPlans {
		if root.Creates {
			found, err := root.store.List(ctx, &adapter.ListParams{Count: true})
			if err != nil {
				return err
			}
			total += int(found.Total)
		}
	}
	for _, root := range a.rootPlans {
		if !root.Creates {
			continue
		}
		for after := (*adapter.Mark)(nil); ; {
			records, err := root.list(ctx, &adapter.ListParams{Query: adapter.Query{After: after, Limit: pushBatchSize}})
			if err != nil {
				return err
			}
			for _, r := range records {
				if err := a.pushRoot(ctx, root, keyOf(r)); err != nil {
					return fmt.Errorf("push %s %d: %w", root.Resource, keyOf(r), err)
				}
				done++
				if progress != nil {
					progress(done, total)
				}
			}
			if len(records) < pushBatchSize {
				break
			}
			after = &adapter.Mark{Key: keyOf(records[len(records)-1])}
		}
	}
	return nil
}

// pushRoot creates one root and its parts at the backend, as far as they are missing.
func (a *Adapter) pushRoot(ctx context.Context, root *resourcePlan, key adapter.Key) error {
	unlock, err := a.locks.lock(ctx, recordRef{root.Resource, key})
	if err != nil {
		return err
	}
	defer unlock()
	mappings, err := a.replica.MappingsByKey(ctx, root.Resource, []adapter.Key{key})
	if err != nil {
		return err
	}
	if len(mappings) == 0 || mappings[0].BackendID == "" && mappings[0].Intent == nil {
		if err := a.pushNew(ctx, root, key); err != nil {
			return err
		}
	}
	reconciled, err := a.reconcileLocked(ctx, root, []adapter.Key{key})
	if err != nil {
		return err
	}
	mapping, ok := reconciled[key]
	if !ok {
		return nil // another's, who is at it
	}
	a.hidden.unhide(root.Resource, key)
	for _, plan := range root.parts {
		if err := a.pushParts(ctx, plan, mapping); err != nil {
			return err
		}
	}
	return nil
}

// pushNew creates a root at the backend, unless a document there carries its id.
func (a *Adapter) pushNew(ctx context.Context, root *resourcePlan, key adapter.Key) error {
	s := &store{a, root}
	mapping, err := a.putIntent(ctx, Mapping{Resource: root.Resource, Key: key}, writeIntent{Op: opPush, Resource: root.Resource, Key: key})
	if err != nil {
		return err
	}
	if err = s.createRootAtBackend(ctx, mapping, adapter.Record{}); !isRefusal(err) || err == nil {
		return err
	}
	if adapter.KindOf(err) == adapter.Conflict {
		// It may be there, without an entry.
		if doc, found := a.backend.FindByKey(ctx, root.Resource, key); found == nil {
			mapping.BackendID = doc.ID
			return a.completeWrite(ctx, mapping, nil)
		}
	}
	if strike := a.replica.DeleteMapping(ctx, root.Resource, key); strike != nil {
		return strike
	}
	return err
}

// pushParts creates the parts of a root at the backend that it has not got. The root
// has that entry, and is up to date.
func (a *Adapter) pushParts(ctx context.Context, plan *resourcePlan, mapping Mapping) error {
	if !plan.Creates {
		return nil
	}
	parts, err := a.loadParts(ctx, plan, mapping.Key)
	if err != nil || len(parts.records) == 0 {
		return err
	}
	known, err := baseOf(plan.root, mapping)
	if err != nil {
		return err
	}
	there := map[adapter.Key]bool{}
	for _, item := range known.parts[plan.Resource] {
		there[parts.find(item)] = true
	}
	s := &store{a, plan}
	for _, key := range sortedKeys(parts.records) {
		if there[key] || parts.ids[key] != "" {
			continue
		}
		noted, err := a.putIntent(ctx, mapping, writeIntent{Op: opPush, Resource: plan.Resource, Key: key})
		if err != nil {
			return err
		}
		if err := s.createPartAtBackend(ctx, noted, key, adapter.Record{}); err != nil {
			if isRefusal(err) {
				a.abandonIntent(ctx, mapping)
			}
			return fmt.Errorf("its %s %d: %w", plan.Resource, key, err)
		}
		mappings, err := a.replica.MappingsByKey(ctx, mapping.Resource, []adapter.Key{mapping.Key})
		if err != nil || len(mappings) == 0 {
			return err
		}
		mapping = mappings[0]
	}
	return nil
}
