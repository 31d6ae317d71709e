package replica

import (
	"context"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

// pushBatch is how many records a push reads at a time.
const pushBatch = 100

// Push creates at the backend all records of the side that it has not got: those of
// kept resources without an entry, and their parts. progress, unless nil, is told
// after each root how many of them all are looked at. Push may be ended and begun
// again; it returns the first error, which names the record.
func (a *Adapter) Push(ctx context.Context, progress func(done, total int)) error {
	if err := a.open("push to " + a.Name()); err != nil {
		return err
	}
	done, total := 0, 0
	for _, root := range a.roots {
		if root.Creates {
			found, err := root.store.List(ctx, &adapter.ListParams{Count: true})
			if err != nil {
				return err
			}
			total += int(found.Total)
		}
	}
	for _, root := range a.roots {
		if !root.Creates {
			continue
		}
		for after := (*adapter.Mark)(nil); ; {
			records, err := root.list(ctx, &adapter.ListParams{Query: adapter.Query{After: after, Limit: pushBatch}})
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
			if len(records) < pushBatch {
				break
			}
			after = &adapter.Mark{Key: keyOf(records[len(records)-1])}
		}
	}
	return nil
}

// pushRoot creates one root and its parts at the backend, as far as they are missing.
func (a *Adapter) pushRoot(ctx context.Context, root *keeping, key adapter.Key) error {
	unlock, err := a.locks.lock(ctx, record{root.Resource, key})
	if err != nil {
		return err
	}
	defer unlock()
	entries, err := a.side.MappingsByKey(ctx, root.Resource, []adapter.Key{key})
	if err != nil {
		return err
	}
	if len(entries) == 0 || entries[0].BackendID == "" && entries[0].Intent == nil {
		if err := a.pushNew(ctx, root, key); err != nil {
			return err
		}
	}
	there, err := a.current(ctx, root, []adapter.Key{key})
	if err != nil {
		return err
	}
	entry, ok := there[key]
	if !ok {
		return nil // another's, who is at it
	}
	a.hidden.show(root.Resource, key)
	for _, k := range root.parts {
		if err := a.pushParts(ctx, k, entry); err != nil {
			return err
		}
	}
	return nil
}

// pushNew creates a root at the backend, unless a document there carries its id.
func (a *Adapter) pushNew(ctx context.Context, root *keeping, key adapter.Key) error {
	s := &store{a, root}
	entry, err := a.enterNote(ctx, Mapping{Resource: root.Resource, Key: key}, note{Op: pushed, Resource: root.Resource, Key: key})
	if err != nil {
		return err
	}
	if err = s.createRoot(ctx, entry, adapter.Record{}); !refused(err) || err == nil {
		return err
	}
	if adapter.KindOf(err) == adapter.Conflict {
		// It may be there, without an entry.
		if doc, found := a.backend.FindByKey(ctx, root.Resource, key); found == nil {
			entry.BackendID = doc.ID
			return a.finish(ctx, entry, nil)
		}
	}
	if strike := a.side.DeleteMapping(ctx, root.Resource, key); strike != nil {
		return strike
	}
	return err
}

// pushParts creates the parts of a root at the backend that it has not got. The root
// has that entry, and is up to date.
func (a *Adapter) pushParts(ctx context.Context, k *keeping, entry Mapping) error {
	if !k.Creates {
		return nil
	}
	have, err := a.partsAt(ctx, k, entry.Key)
	if err != nil || len(have.records) == 0 {
		return err
	}
	known, err := readBase(k.root, entry)
	if err != nil {
		return err
	}
	there := map[adapter.Key]bool{}
	for _, item := range known.parts[k.Resource] {
		there[have.find(item)] = true
	}
	s := &store{a, k}
	for _, key := range sorted(have.records) {
		if there[key] || have.ids[key] != "" {
			continue
		}
		noted, err := a.enterNote(ctx, entry, note{Op: pushed, Resource: k.Resource, Key: key})
		if err != nil {
			return err
		}
		if err := s.createPartOf(ctx, noted, key, adapter.Record{}); err != nil {
			if refused(err) {
				a.forget(ctx, entry)
			}
			return fmt.Errorf("its %s %d: %w", k.Resource, key, err)
		}
		entries, err := a.side.MappingsByKey(ctx, entry.Resource, []adapter.Key{entry.Key})
		if err != nil || len(entries) == 0 {
			return err
		}
		entry = entries[0]
	}
	return nil
}
