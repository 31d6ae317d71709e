package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/portico-commerce/portico/adapter"
)

var (
	errTouchesOwned = errors.New("the change touches a backend-owned attribute")
	errNoUpdates    = errors.New("the backend does not accept changes of this resource")
	errUndone       = errors.New("another process has rolled back the write, as if its process had ended")
)

// Update changes one record in the local replica, and at the backend if the change touches
// a backend-owned attribute. The replica's record is restored if the backend refuses the
// change.
func (s *store) Update(ctx context.Context, p *adapter.UpdateParams) error {
	op := fmt.Sprintf("update %s %d", s.Resource, p.Key)
	if err := s.checkOpen(op); err != nil {
		return err
	}
	mapping, unlock, err := s.lockRecord(ctx, "update", p.Key, p.OwnerID)
	if adapter.KindOf(err) == adapter.NotFound {
		// Where no record can be updated, the replica says that first.
		unchanged := func(r adapter.Record) (adapter.Record, error) { return r, errNoChange }
		if refused := s.store.Update(ctx, &adapter.UpdateParams{Key: p.Key, OwnerID: p.OwnerID, Change: unchanged}); adapter.KindOf(refused) == adapter.Unsupported {
			return refused
		}
	}
	if err != nil {
		return err
	}
	defer unlock()
	attributes, touchesOwned, err := s.updateUnlessOwned(ctx, p)
	if err != nil || !touchesOwned {
		return err
	}
	u, err := s.beginUpdate(ctx, op, mapping, p.Key, p.StoreID, attributes, opUpdate)
	if err != nil {
		return err
	}
	if err := u.inReplica(ctx, func() error { return s.store.Update(ctx, p) }); err != nil {
		return err
	}
	return u.finish(ctx, op)
}

// updateUnlessOwned updates the local replica if the change touches no backend-owned
// attribute. Otherwise it writes nothing and returns the attributes that the change sets.
func (s *store) updateUnlessOwned(ctx context.Context, p *adapter.UpdateParams) (attributes []string, touchesOwned bool, err error) {
	wrapped := *p
	wrapped.Change = func(current adapter.Record) (adapter.Record, error) {
		change, err := p.Change(current)
		if err != nil {
			return change, err
		}
		attributes, touchesOwned = nil, false
		for i, v := range change.Values {
			a := &s.schema.Attributes[i]
			if v.Kind() == adapter.Absent || a.WriteOnly {
				continue
			}
			attributes = append(attributes, a.Name)
			// A value of a narrower scope leaves the default scope unchanged.
			touchesOwned = touchesOwned || s.owned[i] && (p.StoreID == 0 || a.Scope == adapter.ScopeGlobal) && !sameValue(current.Values[i], v)
		}
		if touchesOwned {
			return change, errTouchesOwned
		}
		return change, nil
	}
	if err = s.store.Update(ctx, &wrapped); errors.Is(err, errTouchesOwned) {
		return attributes, true, nil
	}
	return nil, false, err
}

// A pendingUpdate is an update between storing its write intent and its end.
type pendingUpdate struct {
	*pendingWrite
	id       string         // the backend id
	onDemand []string       // on-demand attributes that the update sets
	before   adapter.Record // at the default scope
}

// beginUpdate stores the write intent of an update at a store view, before the local
// replica changes. attributes are those that the update sets.
func (s *store) beginUpdate(ctx context.Context, op string, mapping Mapping, key adapter.Key, storeID int64, attributes []string, intentOp string) (*pendingUpdate, error) {
	u := &pendingUpdate{onDemand: s.onDemandOf(attributes)}
	intent := writeIntent{Op: intentOp, Resource: s.Resource, Key: key, StoreID: storeID, Attributes: attributes}
	var err error
	if u.id, err = s.idOf(ctx, op, mapping, key); err != nil {
		return nil, err
	}
	if u.before, err = s.get(ctx, key, u.onDemand...); err != nil {
		return nil, err
	}
	atLevel := u.before
	if storeID != 0 {
		if atLevel, err = s.store.Get(ctx, &adapter.GetParams{Key: key, StoreID: storeID, With: u.onDemand}); err != nil {
			return nil, err
		}
	}
	intent.Old = s.undoValues(atLevel, u.before, storeID, attributes)
	if s.exclusive != nil {
		if intent.Siblings, err = s.siblingsBefore(ctx, mapping.Key, storeID); err != nil {
			return nil, err
		}
	}
	u.pendingWrite, err = s.begin(ctx, mapping, intent)
	return u, err
}

// finish sends the change to the backend. If the backend refuses it, finish restores the
// replica's record.
func (u *pendingUpdate) finish(ctx context.Context, op string) error {
	after, err := u.get(ctx, u.intent.Key, u.onDemand...)
	if err != nil {
		return err
	}
	changed := u.changedAttributes(u.resourcePlan, u.before, after)
	if len(changed) == 0 {
		return u.finishUnchanged(ctx, op)
	}
	sent := &Write{Resource: u.Resource, Key: u.intent.Key, ID: u.id, Old: u.before, New: after, Changed: changed}
	if err = u.addContext(ctx, sent); err != nil {
		return err
	}
	err = &adapter.Error{Kind: adapter.Unsupported, Op: op, Err: errNoUpdates}
	if u.Updates {
		err = u.backend.Update(ctx, sent)
	}
	if err == nil {
		return u.complete(ctx, &ownWrite{resource: u.Resource, key: sent.Key, attributes: changed, nested: u.nestedResources(u.resourcePlan, changed)})
	}
	if isRefusal(err) {
		u.undo(ctx)
	}
	return err
}

// finishUnchanged ends an update after which no backend-owned attribute differs. Either the
// update changed nothing, or another process resolved the write intent and rolled the
// update back.
func (u *pendingUpdate) finishUnchanged(ctx context.Context, op string) error {
	r, err := u.rowOf(ctx, u.root, u.mapping.Key)
	if err != nil {
		return err
	}
	if r.mapping == nil || !bytes.Equal(r.mapping.Intent, u.mapping.Intent) {
		return &adapter.Error{Kind: adapter.Unavailable, Op: op, Err: errUndone}
	}
	mapping := u.mapping
	mapping.Intent = nil
	return u.putMappingsDetached(ctx, mapping)
}
