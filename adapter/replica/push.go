package replica

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/portico-commerce/portico/adapter"
)

// Push creates at the backend every record of the local replica that it lacks: the roots
// without a mapping, and their parts. progress, unless nil, is called after each root with
// the number of roots done and their total. Push can be interrupted and repeated. It stops
// at the first error, which names the record.
func (a *Adapter) Push(ctx context.Context, progress func(done, total int)) error {
	roots := slices.DeleteFunc(slices.Clone(a.ordered), func(plan *resourcePlan) bool { return !plan.isRoot() || !plan.Creates })
	done, total := 0, 0
	for _, root := range roots {
		found, err := root.store.List(ctx, &adapter.ListParams{Count: true})
		if err != nil {
			return err
		}
		total += int(found.Total)
	}
	for _, root := range roots {
		err := a.walk(ctx, root, fromReplica, time.Time{}, func(rows []row) error {
			for _, r := range rows {
				if err := a.pushRoot(ctx, root, r.key); err != nil {
					return fmt.Errorf("push %s %d: %w", root.Resource, r.key, err)
				}
				if done++; progress != nil {
					progress(done, total)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pushRoot creates one root at the backend, unless the ID map has it, and then those of its
// parts that the backend lacks. It does nothing while another process creates the root.
func (a *Adapter) pushRoot(ctx context.Context, root *resourcePlan, key adapter.Key) error {
	unlock, err := a.locks.lock(ctx, root.Resource, key)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := a.rowOf(ctx, root, key)
	if err != nil {
		return err
	}
	if r.state() == unmapped {
		if err := a.pushRecord(ctx, root, Mapping{Resource: root.Resource, Key: key}, key); err != nil {
			return err
		}
	}
	reconciled, err := a.reconcileLocked(ctx, root, []adapter.Key{key})
	if err != nil {
		return err
	}
	mapping, ok := reconciled[key]
	if !ok {
		return nil // another process is creating it
	}
	for _, plan := range root.parts {
		if err := a.pushParts(ctx, plan, mapping); err != nil {
			return err
		}
	}
	return nil
}

// pushRecord creates a record at the backend, under the lock of the root with this mapping.
func (a *Adapter) pushRecord(ctx context.Context, plan *resourcePlan, mapping Mapping, key adapter.Key) error {
	w, err := (&store{a, plan}).begin(ctx, mapping, writeIntent{Op: opPush, Key: key})
	if err != nil {
		return err
	}
	return w.sendNew(ctx, adapter.Record{})
}

// pushParts creates the parts of a root that the backend lacks. mapping is the root's, just
// reconciled.
func (a *Adapter) pushParts(ctx context.Context, plan *resourcePlan, mapping Mapping) error {
	if !plan.Creates {
		return nil
	}
	parts, err := a.loadParts(ctx, plan, mapping.Key)
	if err != nil || len(parts.records) == 0 {
		return err
	}
	base, err := baseOf(plan.root, mapping)
	if err != nil {
		return err
	}
	atBackend := map[adapter.Key]bool{}
	for _, item := range base.parts[plan.Resource] {
		atBackend[parts.find(item)] = true
	}
	for _, key := range slices.Sorted(maps.Keys(parts.records)) {
		if atBackend[key] || parts.ids[key] != "" {
			continue
		}
		if err := a.pushRecord(ctx, plan, mapping, key); err != nil {
			return fmt.Errorf("its %s %d: %w", plan.Resource, key, err)
		}
		r, err := a.rowOf(ctx, plan.root, mapping.Key)
		if err != nil || r.mapping == nil {
			return err
		}
		mapping = *r.mapping
	}
	return nil
}
