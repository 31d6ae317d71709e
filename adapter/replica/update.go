package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/idmap"
)

var errTouchesOwned = errors.New("the change touches a backend-owned attribute")

// Update changes one record in the local replica, and at the backend if the change touches
// a backend-owned attribute. The replica's record is restored if the backend refuses the
// change.
func (s *store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	return take(ctx, s.foreignWriteWait, func() error { return s.update(ctx, p) })
}

func (s *store) update(ctx context.Context, p *adapter.UpdateParams) error {
	mapping, unlock, err := s.lockRecord(ctx, "update", p.Key, p.OwnerID)
	if adapter.KindOf(err) == adapter.NotFound {
		// Where no record can be updated, the replica's error comes first.
		unchanged := func(r adapter.Record) (adapter.Record, error) { return r, errNoChange }
		if refused := s.store.Update(ctx, &adapter.UpdateParams{Key: p.Key, OwnerID: p.OwnerID, Change: unchanged}); adapter.KindOf(refused) == adapter.Unsupported {
			return refused
		}
	}
	if err != nil {
		return err
	}
	defer unlock()
	attributes, touchesOwned, err := s.updateUnlessOwned(ctx, mapping, p)
	if err != nil || !touchesOwned {
		return err
	}
	w, err := s.beginChange(ctx, mapping, intent{Op: opUpdate, Key: p.Key, StoreID: p.StoreID, Attributes: attributes})
	if err != nil {
		return err
	}
	atScope, stored := *p, adapter.Record{}
	atScope.Everywhere = false // if the backend refuses the write, it is undone at its own scope only
	atScope.Locked = append(slices.Clip(p.Locked), func(_, change adapter.Record) error {
		stored = change.Clone()
		return nil
	})
	if err := w.inReplica(ctx, func() error { return s.writes.Update(ctx, &atScope) }); err != nil {
		return err
	}
	if err := w.sendChange(ctx, p.Everywhere); err != nil || !p.Everywhere {
		return err
	}
	return s.writes.Update(ctx, &adapter.UpdateParams{Key: p.Key, Everywhere: true, Change: func(adapter.Record) (adapter.Record, error) { return stored, nil }})
}

// updateUnlessOwned updates the local replica if the change touches no backend-owned attribute.
// Otherwise it writes nothing and returns the attributes that the change sets. It fails with
// turns.ErrBusy if another process is writing the root with this mapping, because that process may yet
// undo the values with which the change would be compared.
func (s *store) updateUnlessOwned(ctx context.Context, root idmap.Mapping, p *adapter.UpdateParams) (attributes []string, touchesOwned bool, err error) {
	observed := *p
	observed.Locked = append(slices.Clip(p.Locked), func(current, change adapter.Record) error {
		attributes, touchesOwned = nil, false
		for i, v := range change.Values {
			a := &s.schema.Attributes[i]
			if v.Kind() == adapter.Absent || a.WriteOnly || a.ReadOnly { // the local replica refuses read-only ones
				continue
			}
			attributes = append(attributes, a.Name)
			// current does not show whether a store view has a value of its own: the same value is sent, too.
			sent := !same(current.Values[i], v) || s.isViewed(a.Name) && (p.StoreID != 0 || p.Everywhere)
			touchesOwned = touchesOwned || sent && s.owns(a, p.StoreID)
		}
		if touchesOwned {
			return errTouchesOwned
		}
		return nil
	})
	idle, err := s.clientWrites.UpdateIdle(ctx, root, s.Resource, &observed)
	switch {
	case errors.Is(err, errTouchesOwned):
		return attributes, true, nil
	case err == nil && !idle:
		err = busy(fmt.Sprintf("update %s %d", s.Resource, p.Key), errBusy)
	}
	return nil, false, err
}

// sendChange sends the changes of the local replica to the backend. If no backend-owned attribute
// differs, the update changed nothing, or another process has resolved the write intent and rolled the
// update back. With everywhere, no store view keeps a value of its own.
func (w *pendingWrite) sendChange(ctx context.Context, everywhere bool) error {
	after, err := w.get(ctx, w.intent.Key, w.localRecords().OnDemand(w.intent.Attributes)...)
	if err != nil {
		return err
	}
	views, err := w.storedViews(ctx, w.resourcePlan, w.intent.Key)
	if err != nil {
		return err
	}
	if everywhere {
		views = w.inheriting(views, w.intent.Attributes)
	}
	sent := &Write{Old: w.before, New: after, Changed: w.changedAttributes(w.before, after), Views: w.viewWrites(w.viewsBefore, views)}
	if len(sent.Changed)+len(sent.Views) == 0 {
		return w.replaceIntent(ctx, nil)
	}
	return w.send(ctx, sent)
}
